"""Orbits of S_n on the weights of DeepSets and tensor layers, by SymPy's permutation groups.

S_n acts on tensors of order k by (g A)[g i1, ..., g ik] = A[i1, ..., ik], and so on a map from order a to order b through its a + b
indices. Equivariant maps are constant on orbits of index tuples; for n >= a + b there are Bell(a + b) of them.
"""

import itertools
import math

import numpy
from sympy.combinatorics import Permutation, PermutationGroup

from conventions import close, write

SEED = 23


def induced(images, order):
    """The permutation of index tuples, row-major, that a permutation of points gives."""
    n = len(images)
    weights = [n ** (order - 1 - p) for p in range(order)]
    return Permutation([sum(images[i] * w for i, w in zip(t, weights)) for t in itertools.product(range(n), repeat=order)])


def orbit_labels(n, order):
    """Orbit numbers in the order of first appearance, [n^order]."""
    cycle, swap = [*range(1, n), 0], [1, 0, *range(2, n)]
    group = PermutationGroup([induced(cycle, order), induced(swap, order)])
    labels = numpy.full(n**order, -1)
    for number, orbit in enumerate(sorted(group.orbits(), key=min)):
        labels[sorted(orbit)] = number
    assert labels.min() >= 0
    return labels


def main():
    rng = numpy.random.default_rng(SEED)
    tensors = {}
    for n, order_in, order_out, expected in [(4, 1, 1, 2), (5, 1, 1, 2), (4, 2, 1, 5), (4, 1, 2, 5), (4, 2, 2, 15), (3, 2, 2, 14)]:
        labels = orbit_labels(n, order_in + order_out)
        assert labels.max() + 1 == expected, (n, order_in, order_out, labels.max() + 1)
        weight = rng.standard_normal(labels.shape)
        sums = numpy.bincount(labels, weights=weight)
        fixed = (sums / numpy.bincount(labels))[labels]
        brute = numpy.zeros_like(weight)
        for g in itertools.permutations(range(n)):
            moved = induced(list(g), order_in + order_out).array_form
            brute[moved] += weight
        close(fixed, brute / math.factorial(n), 1e-13, "orbit means against the average over S_n")
        name, shape = f"S{n}.{order_out}.{order_in}", (n**order_out, n**order_in)
        tensors[f"{name}.orbits"] = labels.reshape(shape)
        tensors[f"{name}.weight"] = weight.reshape(shape)
        tensors[f"{name}.projected"] = fixed.reshape(shape)
        print(f"{name}: {expected} orbits of {labels.size} weights")
    write("permutation_orbits", tensors, """
        Sn.b.a.orbits, .weight and .projected [n^b, n^a] for maps from order a to order b, indices row-major; orbits are numbered in
        the order of first appearance
        """, SEED, ["sympy", "numpy"])


if __name__ == "__main__":
    main()
