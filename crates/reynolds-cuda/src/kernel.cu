// What the penalty does to orbits of one size, a thread an orbit, or to tiles, a block a tile:
//
//   added, measured   sum ← sum + a P(w) + b (w − P(w)),   and (a ‖P(w)‖² + b ‖w − P(w)‖²) / 2
//   rescaled          w ← a P(w) + b (w − P(w)), with the same a and b for all numbers or some for each layer
//   summed, …_factors ‖P(w)‖² and ‖w − P(w)‖² of each layer, and a and b from them
//   …_apart           added and rescaled for layers that lie apart, each with its own a and b
//
// a and b, and other numbers that change from step to step, are read from the device's memory: a captured launch is replayed with other ones.
// Every number is in at most one orbit or tile and is written by one thread. Sums are in an order that follows from the launches alone;
// energies are summed in double precision.
//
// Macros: NUMBER, float or double; BLOCK, threads of a block, a power of two; SIZE, of the orbits, 0 for single numbers that P sets to 0.
// Each size is a program of its own: a size that is known only at run time costs registers, and those cost threads. TILE and COLUMNS in
// place of SIZE: the most numbers and columns of E that a tile has.

typedef NUMBER number;

// Layers that lie apart in one launch, at most.
#define APART 128

// Threads that sum the energies of one layer, or a column of a tile.
#ifndef LANES
#define LANES 32
#endif

// a P(w) + b (w − P(w)): the smaller factor times w, the difference times one part, so that nothing cancels, a = b scales w to the last
// bit and b = 0 leaves exactly a P(w). A factor that is no number makes all of it none.
struct Factors {
    number on_w, on_mean, on_rest;

    __device__ Factors(double a, double b) : on_w(a < b ? a : b), on_mean(a <= b ? 0 : a - b), on_rest(b <= a ? 0 : b - a) {}
    __device__ number of(number value, number mean) const { return on_w * value + on_mean * mean + on_rest * (value - mean); }
};

#ifdef TILE
// Tiles that a block takes at a time.
constexpr int UNITS = 1;

// One tile, P(w) = E Eᵀ w with a sparse E of few numbers that all tiles of its kind share. The table begins with what each tile is:
//
//   tile    place of its kind in the table, first number, distance of its rows
//   kind    numbers, columns of E, where its entries begin in `values` by column and by number, then the row of each number · 65536 + its
//           place there, where the entries of each column end, where those of each number end, numbers of the entries by column, columns of
//           the entries by number
//
// Written to `to` if there is one, which may be `w`; its energies are added if MEASURED. All threads of a block take it together.
template <bool ADDED, bool MEASURED>
static __device__ void units(
    const number* w, number* to, const int* table, int, const number* values, long long nth, long long, const Factors& factors, double energies[2]
) {
    __shared__ number weight[TILE], coefficient[COLUMNS];
    const int first = table[3 * nth + 1], stride = table[3 * nth + 2];
    const int* kind = table + table[3 * nth];
    const int len = kind[0], columns = kind[1];
    const int *places = kind + 4, *column_ends = places + len, *number_ends = column_ends + columns;
    const int *of_columns = number_ends + len, *of_numbers = of_columns + number_ends[len - 1];
    const number *by_column = values + kind[2], *by_number = values + kind[3];
    const auto place_of = [=](int i) { return (long long)first + (places[i] >> 16) * stride + (places[i] & 65535); };
    for (int i = threadIdx.x; i < len; i += BLOCK) weight[i] = w[place_of(i)];
    __syncthreads();
    for (int base = 0; base < columns; base += BLOCK / LANES) {
        const int column = base + threadIdx.x / LANES;
        number sum = 0;
        if (column < columns) {
            const int end = column_ends[column];
            for (int at = (column ? column_ends[column - 1] : 0) + threadIdx.x % LANES; at < end; at += LANES) {
                sum += by_column[at] * weight[of_columns[at]];
            }
        }
        for (int half = LANES / 2; half > 0; half /= 2) sum += __shfl_xor_sync(~0u, sum, half);
        if (column < columns && threadIdx.x % LANES == 0) coefficient[column] = sum;
    }
    __syncthreads();
    for (int i = threadIdx.x; i < len; i += BLOCK) {
        const long long place = place_of(i);
        const number old = ADDED && to ? to[place] : 0;
        number projected = 0;
        for (int at = i ? number_ends[i - 1] : 0; at < number_ends[i]; at++) projected += by_number[at] * coefficient[of_numbers[at]];
        if (to) to[place] = old + factors.of(weight[i], projected);
        if (MEASURED) {
            energies[0] += (double)projected * projected;
            energies[1] += (double)(weight[i] - projected) * (weight[i] - projected);
        }
    }
    __syncthreads();
}
#else
// Orbits that a block takes at a time.
constexpr int UNITS = BLOCK;
constexpr int LEN = SIZE > 0 ? SIZE : 1;
// Members of an orbit that are loaded at a time; those of longer orbits are loaded twice.
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

    // Adds a P(w) + b (w − P(w)) to `to`, or overwrites it. What is added to is loaded before the first number is written.
    template <bool ADDED> __device__ void write(number* to, const Factors& factors, number mean, int len) const {
        number old[CHUNK];
#pragma unroll
        for (int j = 0; j < CHUNK; j++) {
            if (j < len) old[j] = ADDED ? to[place(j)] : 0;
        }
#pragma unroll
        for (int j = 0; j < CHUNK; j++) {
            if (j < len) {
                const number part = with_sign(j, factors.of(value[j], mean));
                to[place(j)] = ADDED ? old[j] + part : part;
            }
        }
    }
};

// The mean of an orbit, as a difference from its first number: that of equal numbers is that number to the last bit.
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

// One orbit, whose member j is members[j * count]: written if there is a `to`, which may be `w`; its energies are added if MEASURED.
template <bool ADDED, bool MEASURED>
static __device__ void orbit(const number* w, number* to, const int* members, int count, const Factors& factors, double energies[2]) {
    const Members first(w, members, count, LEN);
    const number mean = mean_of(w, members, count, first);
    number rest = MEASURED ? first.rest(mean, LEN) : 0;
    if (to) first.write<ADDED>(to, factors, mean, LEN);
#pragma unroll 1
    for (int j = CHUNK; j < LEN; j += CHUNK) {
        const Members more(w, members + (long long)j * count, count, LEN - j);
        if (MEASURED) rest += more.rest(mean, LEN - j);
        if (to) more.write<ADDED>(to, factors, mean, LEN - j);
    }
    if (MEASURED) {
        energies[0] += SIZE * mean * mean;
        energies[1] += rest;
    }
}

// The orbit of each thread, from the first on and before `end`.
template <bool ADDED, bool MEASURED>
static __device__ void units(
    const number* w, number* to, const int* members, int count, const number*, long long first, long long end, const Factors& factors,
    double energies[2]
) {
    const long long mine = first + threadIdx.x;
    if (mine < end) orbit<ADDED, MEASURED>(w, to, members + mine, count, factors, energies);
}
#endif

// The sum of `both` over each group of so many threads in a row.
template <unsigned GROUP> static __device__ void sum_over(double both[2]) {
    __shared__ double shared[2][BLOCK];
    const unsigned lane = threadIdx.x % GROUP;
    for (int i = 0; i < 2; i++) shared[i][threadIdx.x] = both[i];
    __syncthreads();
    for (unsigned half = GROUP / 2; half > 0; half /= 2) {
        if (lane < half) {
            for (int i = 0; i < 2; i++) shared[i][threadIdx.x] += shared[i][threadIdx.x + half];
        }
        __syncthreads();
    }
    for (int i = 0; i < 2; i++) both[i] = shared[i][threadIdx.x - lane];
    __syncthreads();
}

extern "C" __global__ void __launch_bounds__(BLOCK) added(
    const number* __restrict__ w, number* sum, const int* __restrict__ members, int count, const number* __restrict__ values,
    const double* __restrict__ slopes
) {
    units<true, false>(w, sum, members, count, values, (long long)blockIdx.x * UNITS, count, Factors(slopes[0], slopes[1]), nullptr);
}

// `sum` may be null. `partial` takes two energies from each of `blocks` blocks of all launches, the first of this launch at `first`; `done`
// counts blocks and is 0 before and after. The last block to finish adds up and writes `value`.
extern "C" __global__ void __launch_bounds__(BLOCK) measured(
    const number* __restrict__ w, number* sum, const int* __restrict__ members, int count, const number* __restrict__ values,
    const double* __restrict__ slopes, number* value, volatile double* partial, unsigned* done, unsigned first, unsigned blocks
) {
    const double a = slopes[0], b = slopes[1];
    const Factors factors(a, b);
    double energies[2] = {0, 0};
#pragma unroll 1
    for (long long i = (long long)blockIdx.x * UNITS; i < count; i += (long long)gridDim.x * UNITS) {
        units<true, true>(w, sum, members, count, values, i, count, factors, energies);
    }
    __shared__ bool last;
    sum_over<BLOCK>(energies);
    if (threadIdx.x == 0) {
        for (int i = 0; i < 2; i++) partial[2 * (first + blockIdx.x) + i] = energies[i];
        __threadfence();
        last = atomicAdd(done, 1u) == blocks - 1;
    }
    __syncthreads();
    if (!last) return;
    __threadfence();
    energies[0] = energies[1] = 0;
    for (unsigned block = threadIdx.x; block < blocks; block += BLOCK) {
        for (int i = 0; i < 2; i++) energies[i] += partial[2 * block + i];
    }
    sum_over<BLOCK>(energies);
    if (threadIdx.x == 0) {
        // A part that is not asked for may be no number.
        *value = (number)(((a > 0 ? a * energies[0] : 0) + (b > 0 ? b * energies[1] : 0)) / 2);
        *done = 0;
    }
}

// Orbits or tiles first..end of one layer, for one block; `slot` is where their energies go.
struct Share {
    int first, end, layer, slot;
};

// In place, with `factors` [2, layers]: those of each layer, block after block of `shares`; without shares one pair for all.
extern "C" __global__ void __launch_bounds__(BLOCK) rescaled(
    number* w, const int* __restrict__ members, int count, const number* __restrict__ values, const double* __restrict__ factors, int layers,
    const Share* __restrict__ shares
) {
    int layer = 0;
    long long i = (long long)blockIdx.x * UNITS, end = i + UNITS < count ? i + UNITS : count;
    if (shares) {
        const Share share = shares[blockIdx.x];
        layer = share.layer, i = share.first, end = share.end;
    }
    const double a = factors[layer], b = factors[layers + layer];
    if (a == 1 && b == 1) return;
    const Factors by(a, b);
#pragma unroll 1
    for (; i < end; i += UNITS) units<false, false>(w, w, members, count, values, i, end, by, nullptr);
}

// Where each of some layers begins, and what is added to: an argument by value, so that a captured launch has it.
struct Places {
    number *w[APART], *sum[APART];
};

extern "C" __global__ void __launch_bounds__(BLOCK) added_apart(
    const Places places, const int* __restrict__ members, int count, const number* __restrict__ values, const double* __restrict__ slopes,
    int layers, const Share* __restrict__ shares
) {
    const Share share = shares[blockIdx.x];
    const Factors by(slopes[share.layer], slopes[layers + share.layer]);
    for (long long i = share.first; i < share.end; i += UNITS) {
        units<true, false>(places.w[share.layer], places.sum[share.layer], members, count, values, i, share.end, by, nullptr);
    }
}

extern "C" __global__ void __launch_bounds__(BLOCK) rescaled_apart(
    const Places places, const int* __restrict__ members, int count, const number* __restrict__ values, const double* __restrict__ factors,
    int layers, const Share* __restrict__ shares
) {
    const Share share = shares[blockIdx.x];
    const double a = factors[share.layer], b = factors[layers + share.layer];
    if (a == 1 && b == 1) return;
    const Factors by(a, b);
    number* w = places.w[share.layer];
    for (long long i = share.first; i < share.end; i += UNITS) units<false, false>(w, w, members, count, values, i, share.end, by, nullptr);
}

// Energies of each share, [slots, 2].
extern "C" __global__ void __launch_bounds__(BLOCK) summed(
    const number* __restrict__ w, const int* __restrict__ members, int count, const number* __restrict__ values, double* partial,
    const Share* __restrict__ shares
) {
    const Share share = shares[blockIdx.x];
    const Factors none(1, 1);
    double energies[2] = {0, 0};
#pragma unroll 1
    for (long long i = share.first; i < share.end; i += UNITS) {
        units<false, true>(w, nullptr, members, count, values, i, share.end, none, energies);
    }
    sum_over<BLOCK>(energies);
    if (threadIdx.x == 0) {
        for (int i = 0; i < 2; i++) partial[2 * share.slot + i] = energies[i];
    }
}

// Energies of each layer, [2, layers], from those of its slots, which end at ends[layer]; by one block, LANES threads a layer. With
// `network` every layer gets the sum over all.
static __device__ void energies_of(const double* partial, const int* ends, int layers, int network, double* energies) {
    for (int base = 0; base < layers; base += BLOCK / LANES) {
        const int layer = base + threadIdx.x / LANES;
        double both[2] = {0, 0};
        if (layer < layers) {
            for (int slot = (layer ? ends[layer - 1] : 0) + threadIdx.x % LANES; slot < ends[layer]; slot += LANES) {
                for (int i = 0; i < 2; i++) both[i] += partial[2 * slot + i];
            }
        }
        sum_over<LANES>(both);
        if (layer < layers && threadIdx.x % LANES == 0) {
            for (int i = 0; i < 2; i++) energies[i * layers + layer] = both[i];
        }
    }
    __syncthreads();
    if (!network) return;
    double both[2] = {0, 0};
    for (int layer = threadIdx.x; layer < layers; layer += BLOCK) {
        for (int i = 0; i < 2; i++) both[i] += energies[i * layers + layer];
    }
    sum_over<BLOCK>(both);
    for (int layer = threadIdx.x; layer < layers; layer += BLOCK) {
        for (int i = 0; i < 2; i++) energies[i * layers + layer] = both[i];
    }
}

// max(0, x); what is no number stays none.
static __device__ double at_least_zero(double x) { return x < 0 ? 0 : x; }

// max(0, 1 − t/n) at n² = `energy`; 1 at t = 0.
static __device__ double threshold(double energy, double by) { return by == 0 ? 1 : at_least_zero(1 - by / sqrt(energy)); }

// proximal/rule.rs of reynolds-torch has the same rules as operations of libtorch. `factors` [2, layers] is written by one block. `by` holds
// ηλ_G, ηλ_⊥ and the number of this call.
extern "C" __global__ void __launch_bounds__(BLOCK) plain_factors(
    const double* partial, const int* ends, int layers, const double* by, const double* scales, int whole, long long* exact_since, double* factors
) {
    const double on_g = by[0], on_perp = by[1];
    const long long call = (long long)by[2];
    energies_of(partial, ends, layers, 0, factors);
    for (int layer = threadIdx.x; layer < layers; layer += BLOCK) {
        const double equivariant = factors[layer], perp = factors[layers + layer];
        double b = threshold(perp, on_perp * scales[layers + layer]);
        const double a = threshold(whole ? equivariant + perp * b * b : equivariant, on_g * scales[layer]);
        const bool exact = b == 0 && a * equivariant > 0;
        exact_since[layer] = !exact ? -1 : exact_since[layer] < 0 ? call : exact_since[layer];
        if (whole) b *= a;
        factors[layer] = a, factors[layers + layer] = b;
    }
}

extern "C" __global__ void __launch_bounds__(BLOCK) target_factors(
    const double* partial, const int* ends, int layers, double slope, const double* step, int network, double* strengths, double* factors
) {
    energies_of(partial, ends, layers, network, factors);
    for (int layer = threadIdx.x; layer < layers; layer += BLOCK) {
        const double most = slope * sqrt(factors[layer]), perp = sqrt(factors[layers + layer]);
        const double s = perp <= most ? 1 : most / perp;
        strengths[layer] = (1 / s - 1) / (2 * *step);
        factors[layer] = 1, factors[layers + layer] = s;
    }
}

extern "C" __global__ void __launch_bounds__(BLOCK) dual_factors(
    const double* partial, const int* ends, int layers, double tau, double rate, const double* step, int network, double* strengths, double* factors
) {
    energies_of(partial, ends, layers, network, factors);
    for (int layer = threadIdx.x; layer < layers; layer += BLOCK) {
        const double perp = factors[layers + layer], total = factors[layer] + perp;
        const double residual = sqrt(perp / (total == 0 ? 1 : total));
        strengths[layer] = at_least_zero(strengths[layer] + rate * (residual - tau));
        factors[layer] = 1, factors[layers + layer] = 1 / (1 + 2 * *step * strengths[layer]);
    }
}
