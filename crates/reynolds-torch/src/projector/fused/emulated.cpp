// The kernel on a processor, for tests: a thread of the system for each of a block, one block after the other.

#include <atomic>
#include <barrier>
#include <thread>
#include <vector>

#define BLOCK 8
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

#include "kernel.cu"

// One launch; energies are measured if there is a value.
extern "C" void emulated(
    unsigned blocks, const number* w, number* sum, const int* members, int count, double a, double b, number* value, double* partial,
    unsigned* done, unsigned first, unsigned all
) {
    gridDim.x = blocks;
    for (blockIdx.x = 0; blockIdx.x < blocks; blockIdx.x++) {
        std::barrier<> barrier(BLOCK);
        team = &barrier;
        std::vector<std::thread> threads;
        for (unsigned thread = 0; thread < BLOCK; thread++) {
            threads.emplace_back([=] {
                threadIdx.x = thread;
                if (value) {
                    measured(w, sum, members, count, a, b, value, partial, done, first, all);
                } else {
                    added(w, sum, members, count, a, b);
                }
            });
        }
        for (auto& thread : threads) thread.join();
    }
}
