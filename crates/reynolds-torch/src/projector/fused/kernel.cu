// sum ← sum + a P(w) + b (w − P(w))   and   (a ‖P(w)‖² + b ‖w − P(w)‖²) / 2,   a thread an orbit.
//
// Every number is in one orbit at most and so in the hands of one thread. Energies are added in double precision, in an order that the
// launch alone decides: thread, block, blocks.
//
// Defined from outside: NUMBER, float or double, and BLOCK, threads of a block (a power of two).

typedef NUMBER number;

// Members of orbits that are on their way at a time: enough for the memory, few enough for the registers.
#define CHUNK 4

// Orbits of one size: member j of orbit i, of all orbits before `end`, is members[start + j * count + i]. Size 0: P makes 0 of a number.
struct Run {
    int size, count, start, end;
};

// Some members of an orbit: i, or ~i for −w_i.
struct Members {
    int member[CHUNK];
    number value[CHUNK];
};

static __device__ number with_sign(int member, number value) { return member < 0 ? -value : value; }
static __device__ int place_of(int member) { return member < 0 ? ~member : member; }

static __device__ Members loaded(const number* w, const int* members, int count, int left) {
    Members found;
#pragma unroll
    for (int j = 0; j < CHUNK; j++) {
        if (j < left) found.member[j] = members[(long long)j * count];
    }
#pragma unroll
    for (int j = 0; j < CHUNK; j++) {
        found.value[j] = j < left ? with_sign(found.member[j], w[place_of(found.member[j])]) : 0;
    }
    return found;
}

// a P(w) + b (w − P(w)) of one number: the smaller factor on w, so that nothing cancels and a = b is weight decay to the last bit.
static __device__ number slope(number value, number mean, number a, number b) {
    return a < b ? a * value + (b - a) * (value - mean) : b * value + (a - b) * mean;
}

// The sum of `both` over a block, for its first thread.
static __device__ void block_sum(double both[2]) {
    __shared__ double shared[2][BLOCK];
    for (int i = 0; i < 2; i++) shared[i][threadIdx.x] = both[i];
    __syncthreads();
    for (unsigned half = BLOCK / 2; half > 0; half /= 2) {
        if (threadIdx.x < half) {
            for (int i = 0; i < 2; i++) shared[i][threadIdx.x] += shared[i][threadIdx.x + half];
        }
        __syncthreads();
    }
    for (int i = 0; i < 2; i++) both[i] = shared[i][0];
    __syncthreads();
}

// Adds up the energies of all blocks, in the block that is the last to be done; `done` is 0 before and after.
static __device__ void finish(double energies[2], volatile double* partial, unsigned* done, number* value, double a, double b) {
    __shared__ bool last;
    block_sum(energies);
    if (threadIdx.x == 0) {
        for (int i = 0; i < 2; i++) partial[2 * blockIdx.x + i] = energies[i];
        __threadfence();
        last = atomicAdd(done, 1u) == gridDim.x - 1;
    }
    __syncthreads();
    if (!last) return;
    __threadfence();
    energies[0] = energies[1] = 0;
    for (unsigned block = threadIdx.x; block < gridDim.x; block += BLOCK) {
        for (int i = 0; i < 2; i++) energies[i] += partial[2 * block + i];
    }
    block_sum(energies);
    if (threadIdx.x == 0) {
        // A part that is not asked for may be no number.
        *value = (number)(((a > 0 ? a * energies[0] : 0) + (b > 0 ? b * energies[1] : 0)) / 2);
        *done = 0;
    }
}

// `sum` may be null, and `value`, with `partial` [2 · blocks] and `done`, may be null.
extern "C" __global__ void __launch_bounds__(BLOCK) fused(
    const number* __restrict__ w, number* sum, const int* __restrict__ members, const Run* __restrict__ runs, int orbits, double a, double b,
    double* partial, unsigned* done, number* value
) {
    double energies[2] = {0, 0};
    int before = 0;
    for (long long orbit = (long long)blockIdx.x * BLOCK + threadIdx.x; orbit < orbits; orbit += (long long)gridDim.x * BLOCK) {
        while (orbit >= runs->end) before = runs++->end;
        const int size = runs->size, count = runs->count, len = size > 0 ? size : 1;
        const int* first = members + runs->start + (orbit - before);
        Members some = loaded(w, first, count, len);
        number mean = 0;
        if (size > 0) {
            // Beside the first member, so that the mean of equal numbers is that number to the last bit.
            const number one = some.value[0];
            number more = 0;
            for (int start = 0; start < len; start += CHUNK) {
                if (start > 0) some = loaded(w, first + (long long)start * count, count, len - start);
#pragma unroll
                for (int j = 0; j < CHUNK; j++) {
                    if (start + j < len) more += some.value[j] - one;
                }
            }
            mean = one + more / size;
        }
        number rest = 0;
        for (int start = 0; start < len; start += CHUNK) {
            if (len > CHUNK) some = loaded(w, first + (long long)start * count, count, len - start);
            number old[CHUNK];
#pragma unroll
            for (int j = 0; j < CHUNK; j++) {
                if (sum && start + j < len) old[j] = sum[place_of(some.member[j])];
            }
#pragma unroll
            for (int j = 0; j < CHUNK; j++) {
                if (start + j >= len) continue;
                const number off = some.value[j] - mean;
                rest += off * off;
                if (sum) {
                    sum[place_of(some.member[j])] = old[j] + with_sign(some.member[j], slope(some.value[j], mean, (number)a, (number)b));
                }
            }
        }
        energies[0] += size * mean * mean;
        energies[1] += rest;
    }
    if (value) finish(energies, partial, done, value, a, b);
}
