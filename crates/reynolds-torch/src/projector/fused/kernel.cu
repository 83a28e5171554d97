// sum ← sum + a P(w) + b (w − P(w))   and   (a ‖P(w)‖² + b ‖w − P(w)‖²) / 2   of orbits of one size, a thread an orbit.
//
// Every number is in one orbit at most and so in the hands of one thread. Energies are added in double precision, in an order that the
// launches alone decide: thread, block, blocks.
//
// Defined from outside: NUMBER, float or double; BLOCK, threads of a block, a power of two; SIZE, of the orbits, 0 for single numbers that
// P makes 0 of. A program a size: what is not known beforehand costs registers, and those cost threads.

typedef NUMBER number;

constexpr int LEN = SIZE > 0 ? SIZE : 1;
// Members of an orbit that are on their way at a time; those of longer ones are loaded twice.
constexpr int CHUNK = LEN < 8 ? LEN : 8;

// Some members of an orbit, i or ~i for −w_i, and their values.
struct Members {
    int member[CHUNK];
    number value[CHUNK];

    __device__ int place(int j) const { return member[j] < 0 ? ~member[j] : member[j]; }
    __device__ number with_sign(int j, number of) const { return member[j] < 0 ? -of : of; }

    // The first `len` of them from `members` on, `count` apart.
    __device__ Members(const number* w, const int* members, int count, int len) {
#pragma unroll
        for (int j = 0; j < CHUNK; j++) {
            if (j < len) member[j] = members[(long long)j * count];
        }
#pragma unroll
        for (int j = 0; j < CHUNK; j++) {
            if (j < len) value[j] = with_sign(j, w[place(j)]);
        }
    }

    // Σ (w_j − one).
    __device__ number beside(number one, int len) const {
        number more = 0;
#pragma unroll
        for (int j = 0; j < CHUNK; j++) {
            if (j < len) more += value[j] - one;
        }
        return more;
    }

    // ‖w − P(w)‖².
    __device__ number rest(number mean, int len) const {
        number sum = 0;
#pragma unroll
        for (int j = 0; j < CHUNK; j++) {
            if (j < len) sum += (value[j] - mean) * (value[j] - mean);
        }
        return sum;
    }

    // Adds on_w w + on_mean P(w) + on_rest (w − P(w)). All that is added to is loaded before the first of it is written.
    __device__ void add(number* sum, number mean, number on_w, number on_mean, number on_rest, int len) const {
        number old[CHUNK];
#pragma unroll
        for (int j = 0; j < CHUNK; j++) {
            if (j < len) old[j] = sum[place(j)];
        }
#pragma unroll
        for (int j = 0; j < CHUNK; j++) {
            if (j < len) sum[place(j)] = old[j] + with_sign(j, on_w * value[j] + on_mean * mean + on_rest * (value[j] - mean));
        }
    }
};

// The mean of an orbit, beside its first number: that of equal numbers is that number to the last bit.
static __device__ number mean_of(const number* w, const int* members, int count, const Members& first) {
    if (SIZE == 0) return 0;
    const number one = first.value[0];
    number more = first.beside(one, LEN);
#pragma unroll 1
    for (int j = CHUNK; j < LEN; j += CHUNK) {
        more += Members(w, members + (long long)j * count, count, LEN - j).beside(one, LEN - j);
    }
    return one + more / LEN;
}

// The sum of `both` over a block.
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

// Where energies are added up: two for each of `blocks` of all launches, of which those of this one begin at `first`; `done` counts those
// that are done, 0 before and after.
struct Total {
    number* value;
    volatile double* partial;
    unsigned* done;
    unsigned first, blocks;
};

// Adds up what all blocks have, in the one that is the last to be done.
static __device__ void finish(double energies[2], Total total, double a, double b) {
    __shared__ bool last;
    block_sum(energies);
    if (threadIdx.x == 0) {
        for (int i = 0; i < 2; i++) total.partial[2 * (total.first + blockIdx.x) + i] = energies[i];
        __threadfence();
        last = atomicAdd(total.done, 1u) == total.blocks - 1;
    }
    __syncthreads();
    if (!last) return;
    __threadfence();
    energies[0] = energies[1] = 0;
    for (unsigned block = threadIdx.x; block < total.blocks; block += BLOCK) {
        for (int i = 0; i < 2; i++) energies[i] += total.partial[2 * block + i];
    }
    block_sum(energies);
    if (threadIdx.x == 0) {
        // A part that is not asked for may be no number.
        *total.value = (number)(((a > 0 ? a * energies[0] : 0) + (b > 0 ? b * energies[1] : 0)) / 2);
        *total.done = 0;
    }
}

// Member j of orbit i of `count` is members[j * count + i]. Without `sum` nothing is added to; energies only if they are measured.
template <bool MEASURED>
static __device__ void orbits(const number* w, number* sum, const int* members, int count, double a, double b, Total total) {
    // The smaller factor on w, the difference on one part: nothing cancels, and a = b is weight decay to the last bit.
    const number on_w = a < b ? a : b, on_mean = a > b ? a - b : 0, on_rest = b > a ? b - a : 0;
    double energies[2] = {0, 0};
#pragma unroll 1
    for (long long i = (long long)blockIdx.x * BLOCK + threadIdx.x; i < count; i += (long long)gridDim.x * BLOCK) {
        const Members first(w, members + i, count, LEN);
        const number mean = mean_of(w, members + i, count, first);
        number rest = MEASURED ? first.rest(mean, LEN) : 0;
        if (sum) first.add(sum, mean, on_w, on_mean, on_rest, LEN);
#pragma unroll 1
        for (int j = CHUNK; j < LEN; j += CHUNK) {
            const Members more(w, members + i + (long long)j * count, count, LEN - j);
            if (MEASURED) rest += more.rest(mean, LEN - j);
            if (sum) more.add(sum, mean, on_w, on_mean, on_rest, LEN - j);
        }
        if (MEASURED) {
            energies[0] += SIZE * mean * mean;
            energies[1] += rest;
        }
    }
    if (MEASURED) finish(energies, total, a, b);
}

extern "C" __global__ void __launch_bounds__(BLOCK) added(
    const number* __restrict__ w, number* sum, const int* __restrict__ members, int count, double a, double b
) {
    orbits<false>(w, sum, members, count, a, b, Total());
}

extern "C" __global__ void __launch_bounds__(BLOCK) measured(
    const number* __restrict__ w, number* sum, const int* __restrict__ members, int count, double a, double b, number* value, double* partial,
    unsigned* done, unsigned first, unsigned blocks
) {
    orbits<true>(w, sum, members, count, a, b, {value, partial, done, first, blocks});
}
