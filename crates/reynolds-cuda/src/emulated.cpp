// The kernels on a processor, for tests: a thread of the system for each thread of a block, one block after the other.

#include <atomic>
#include <barrier>
#include <cmath>
#include <thread>
#include <utility>
#include <vector>

#define BLOCK 8
#define LANES 4
#define __global__
#define __device__
#define __shared__ static
#define __launch_bounds__(threads)
#define __syncthreads() team->arrive_and_wait()
#define __threadfence() std::atomic_thread_fence(std::memory_order_seq_cst)

struct Index {
    unsigned x;
};
static thread_local Index threadIdx;
static Index blockIdx, gridDim;
static std::barrier<>* team;

static unsigned atomicAdd(unsigned* number, unsigned more) { return __atomic_fetch_add(number, more, __ATOMIC_SEQ_CST); }

// The value of another thread; every thread of the block takes part.
template <class T> static T __shfl_xor_sync(unsigned, T value, int mask) {
    static T shared[BLOCK];
    shared[threadIdx.x] = value;
    __syncthreads();
    const T other = shared[threadIdx.x ^ mask];
    __syncthreads();
    return other;
}

#include "kernel.cu"

template <class... A, size_t... I> static void call(void (*kernel)(A...), void** arguments, std::index_sequence<I...>) {
    kernel(*static_cast<A*>(arguments[I])...);
}

// As cuLaunchKernel does it: the address of each argument.
template <class... A> static void launch(void (*kernel)(A...), unsigned blocks, void** arguments) {
    gridDim.x = blocks;
    for (blockIdx.x = 0; blockIdx.x < blocks; blockIdx.x++) {
        std::barrier<> barrier(BLOCK);
        team = &barrier;
        std::vector<std::thread> threads;
        for (unsigned thread = 0; thread < BLOCK; thread++) {
            threads.emplace_back([=] {
                threadIdx.x = thread;
                call(kernel, arguments, std::index_sequence_for<A...>());
            });
        }
        for (auto& thread : threads) thread.join();
    }
}

// The kernels in the order of program.rs.
extern "C" void emulated(int kernel, unsigned blocks, void** arguments) {
    switch (kernel) {
        case 0: return launch(added, blocks, arguments);
        case 1: return launch(measured, blocks, arguments);
        case 2: return launch(rescaled, blocks, arguments);
        case 3: return launch(summed, blocks, arguments);
        case 4: return launch(plain_factors, blocks, arguments);
        case 5: return launch(target_factors, blocks, arguments);
        case 6: return launch(dual_factors, blocks, arguments);
        case 7: return launch(added_apart, blocks, arguments);
        case 8: return launch(rescaled_apart, blocks, arguments);
    }
}
