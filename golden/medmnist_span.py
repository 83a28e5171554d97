"""Kernels of the layers of the MedMNIST networks, split by escnn's steerable bases for SO(3) and O(3).

One field to one field, with and without gates (a scalar for each irrep, after them), at the sides 1, 3, 5, 7 that the layers have. A kernel W
comes from one formula of its name and place (`values`), so that only its projection is stored: every entry of small ones, every 11th of
others, and the squares of both. escnn computes in f64 here (escnn_basis.py); band.py gives the second opinion on every block.
"""

import math

import numpy

import band
from conventions import close, write
from escnn_basis import align, escnn, project, sampled
from escnn_spatial import degree, random_rotations, their_element

SEED = 29
STRIDE = 11
# Degree of the input field, of the output field, side of the kernel: every layer of the networks.
LAYERS = {
    "SO3": [(0, 2, 7), (2, 3, 5), (0, 3, 7), (3, 3, 3), (3, 2, 3), (2, 0, 1), (3, 0, 3)],
    "O3": [(0, 2, 7), (2, 2, 5), (2, 2, 3), (2, 0, 1), (2, 0, 3)],
}


def values(name, shape):
    """(((37 i^2 + 6185 i + 611 t) mod 10007) / 10007 - 1/2) at place i, t = sum (place + 1) * byte of the name."""
    tag = sum((place + 1) * byte for place, byte in enumerate(name.encode()))
    i = numpy.arange(math.prod(shape), dtype=numpy.int64)
    return ((37 * i * i + 6185 * i + 611 * tag) % 10007 / 10007 - 0.5).reshape(shape)


def irreps_of(group, largest, gates=False):
    """(degree, parity) of one field: 0..L, for O(3) the even ones before the odd ones; gates are even scalars after them."""
    parities = [1, -1] if group == "O3" and largest else [1]
    irreps = [(l, parity) for parity in parities for l in range(largest + 1)]
    return irreps + [(0, 1)] * (len(irreps) if gates else 0)


class Spans:
    """Orthonormal bases of escnn's spans, irrep pair by irrep pair, in our conventions; each is made once."""

    def __init__(self, group):
        rng = numpy.random.default_rng(SEED)
        self.group, self.made = group, {}
        make = escnn.gspaces.rot3dOnR3 if group == "SO3" else escnn.gspaces.flipRot3dOnR3
        self.space = make(maximum_frequency=6)
        self.elements = random_rotations(rng, 3) + ([-numpy.eye(3)] if group == "O3" else [])
        self.changes = {}

    def theirs(self, l, parity):
        return self.space.irrep(l) if self.group == "SO3" else self.space.irrep(int(parity < 0), l)

    def change(self, l, parity):
        if (l, parity) not in self.changes:
            ours = [degree(l, parity)(m) for m in self.elements]
            self.changes[l, parity] = align(ours, [self.theirs(l, parity)(their_element(self.space, m)) for m in self.elements])
        return self.changes[l, parity]

    def __call__(self, out, into, size):
        """Elements [n, 2 l_out + 1, 2 l_in + 1, k, k, k], or None."""
        key = out, into, size
        if key not in self.made:
            try:
                basis = sampled(self.space, self.theirs(*into), self.theirs(*out), size, 3)
            except Exception as error:  # escnn raises for an empty basis
                assert "mpty" in type(error).__name__, error
                basis = []
            generators = [(degree(*out)(m), degree(*into)(m), m) for m in self.elements]
            kernels = band.span(size, 3, generators)
            assert len(basis) == len(kernels), (key, len(basis), len(kernels))
            if len(basis):
                basis = numpy.einsum("ao,noixyz,bi->nabxyz", self.change(*out), basis, self.change(*into))
                test = values("test", basis.shape[1:])
                close(project(basis, test)[0], project(kernels, test)[0], 1e-9, f"escnn against plain NumPy, {key}")
            self.made[key] = basis if len(basis) else None
        return self.made[key]

    def split(self, weight, into, out):
        """P(W) and the dimensions [irreps out, irreps in] for a kernel of one field to one field."""
        fixed, counts = numpy.zeros_like(weight), numpy.zeros((len(out), len(into)))
        rows = numpy.cumsum([0, *(2 * l + 1 for l, _ in out)])
        columns = numpy.cumsum([0, *(2 * l + 1 for l, _ in into)])
        for a, b in numpy.ndindex(counts.shape):
            basis = self(out[a], into[b], weight.shape[2])
            if basis is not None:
                place = slice(rows[a], rows[a + 1]), slice(columns[b], columns[b + 1])
                fixed[place], counts[a, b] = project(basis, weight[place])
        return fixed, counts


def main():
    tensors = {}
    for group, layers in LAYERS.items():
        spans = Spans(group)
        for low, high, size in layers:
            for gates in (False, True):
                if gates and not high:
                    continue
                into, out = irreps_of(group, low), irreps_of(group, high, gates)
                shape = (*(sum(2 * l + 1 for l, _ in field) for field in (out, into)), size, size, size)
                name = f"{group}.{low}.{high}{'g' if gates else ''}.{size}"
                weight = values(name, shape)
                fixed, counts = spans.split(weight, into, out)
                stride = STRIDE if weight.size > 2500 else 1
                print(f"{name}: {int(counts.sum())} of {weight.size}, energy {(fixed**2).sum() / (weight**2).sum():.4f}")
                tensors[f"{name}.projected"] = fixed.ravel()[::stride]
                tensors[f"{name}.dims"] = counts
                tensors[f"{name}.squares"] = [(weight**2).sum(), (fixed**2).sum()]
    write("medmnist_span", tensors, """
        G.in.out.k: one field of degrees 0..in to one of 0..out (O3: even then odd; g: then a scalar gate for each irrep) on k^3, axes
        (z, y, x); W from the formula of `values` by this name; projected = P(W) on escnn's span, flat, every 11th entry where W has more
        than 2500; dims [irreps out, irreps in]; squares = |W|^2, |P(W)|^2
        """, SEED, ["escnn", "torch", "numpy"])


if __name__ == "__main__":
    main()
