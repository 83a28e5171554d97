"""Complex character tables of S4, S5, T, O and I.

S_n comes from the Murnaghan-Nakayama rule, its classes from SymPy; T, O and I are the tables of the textbooks (A4, S4 and A5),
their classes counted over the rotation matrices themselves. Every table is checked by both orthogonality relations, and those
of T, O and I by decomposing the rotations of space of degree l = 0..6 into non-negative whole multiplicities.
"""

import itertools
import math

import numpy
from sympy.combinatorics.named_groups import SymmetricGroup

from conventions import close, close_group, quarter_turn, write

GOLDEN_RATIO = (1 + math.sqrt(5)) / 2


def partitions(n, largest=None):
    largest = n if largest is None else largest
    if n == 0:
        yield ()
    for first in range(min(n, largest), 0, -1):
        for rest in partitions(n - first, first):
            yield (first, *rest)


def murnaghan_nakayama(shape, cycles):
    """chi^shape at cycle type `cycles`: strip border strips of the first cycle length, with signs, by beta numbers."""
    if not cycles:
        return 1
    length, rest = cycles[0], cycles[1:]
    rows = len(shape)
    beta = [part + rows - 1 - i for i, part in enumerate(shape)]
    total = 0
    for i, b in enumerate(beta):
        if b - length < 0 or b - length in beta:
            continue
        height = sum(1 for other in beta if b - length < other < b)
        moved = sorted([*beta[:i], b - length, *beta[i + 1:]], reverse=True)
        smaller = tuple(v - (rows - 1 - j) for j, v in enumerate(moved))
        total += (-1) ** height * murnaghan_nakayama(smaller, rest)
    return total


def symmetric(n):
    """(table, class sizes, cycle types as rows padded with zeros); rows are shapes, both in reverse lexicographic order."""
    shapes = list(partitions(n))
    counts = {}
    for g in SymmetricGroup(n).elements:
        cycle_type = tuple(sorted((len(c) for c in g.cyclic_form), reverse=True))
        cycle_type += (1,) * (n - sum(cycle_type))
        counts[cycle_type] = counts.get(cycle_type, 0) + 1
    table = numpy.array([[murnaghan_nakayama(s, c) for c in shapes] for s in shapes], dtype=float)
    padded = numpy.array([c + (0,) * (n - len(c)) for c in shapes], dtype=float)
    return table, numpy.array([counts[c] for c in shapes], dtype=float), padded


def check(name, table, sizes):
    order = sizes.sum()
    rows = (table * sizes) @ table.conj().T / order
    close(rows, numpy.eye(len(table)), 1e-12, f"{name}: rows")
    close(table.conj().T @ table, numpy.diag(order / sizes), 1e-10, f"{name}: columns")


def icosahedral_generators():
    """A fifth of a turn about (0, 1, phi) and a third of a turn about (1, 1, 1)."""
    axis = numpy.array([0.0, 1.0, GOLDEN_RATIO])
    axis /= numpy.linalg.norm(axis)
    cross = numpy.array([[0, -axis[2], axis[1]], [axis[2], 0, -axis[0]], [-axis[1], axis[0], 0]])
    angle = 2 * math.pi / 5
    fifth = numpy.eye(3) + math.sin(angle) * cross + (1 - math.cos(angle)) * cross @ cross
    third = numpy.array([[0.0, 0, 1], [1, 0, 0], [0, 1, 0]])
    return [fifth, third]


def polyhedral():
    """name -> (table, sizes, order of the elements, their trace on space)."""
    w = numpy.exp(2j * math.pi / 3)
    p, q = GOLDEN_RATIO, 1 - GOLDEN_RATIO
    half = numpy.diag([-1.0, -1.0, 1.0])
    third = numpy.array([[0.0, 0, 1], [1, 0, 0], [0, 1, 0]])
    return {
        # classes E, 4 C3, 4 C3^2, 3 C2
        "T": ([[1, 1, 1, 1], [1, w, w**2, 1], [1, w**2, w, 1], [3, 0, 0, -1]], [1, 4, 4, 3], [1, 3, 3, 2], [3, 0, 0, -1],
              [half, third]),
        # classes E, 8 C3, 3 C2 (= C4^2), 6 C4, 6 C2'
        "O": ([[1, 1, 1, 1, 1], [1, 1, 1, -1, -1], [2, -1, 2, 0, 0], [3, 0, -1, 1, -1], [3, 0, -1, -1, 1]],
              [1, 8, 3, 6, 6], [1, 3, 2, 4, 2], [3, 0, -1, 1, -1], [quarter_turn(0), quarter_turn(2)]),
        # classes E, 12 C5, 12 C5^2, 20 C3, 15 C2
        "I": ([[1, 1, 1, 1, 1], [3, p, q, 0, -1], [3, q, p, 0, -1], [4, -1, -1, 1, 0], [5, 0, 0, -1, 1]],
              [1, 12, 12, 20, 15], [1, 5, 5, 3, 2], [3, p, q, 0, -1], icosahedral_generators()),
    }


def count_matrices(generators):
    """(order, trace) -> number of rotations of the group that the generators close to."""
    counts = {}
    for m in close_group(generators):
        power, order = m, 1
        while numpy.abs(power - numpy.eye(3)).max() > 1e-8:
            power, order = power @ m, order + 1
        key = (order, round(float(numpy.trace(m)), 6) + 0.0)
        counts[key] = counts.get(key, 0) + 1
    return counts


def main():
    tensors = {}
    for n in (4, 5):
        table, sizes, types = symmetric(n)
        assert sizes.sum() == math.factorial(n)
        check(f"S{n}", table, sizes)
        tensors[f"S{n}.re"], tensors[f"S{n}.sizes"], tensors[f"S{n}.cycle_types"] = table, sizes, types
    for name, (table, sizes, orders, traces, generators) in polyhedral().items():
        table, sizes = numpy.array(table, dtype=complex), numpy.array(sizes, dtype=float)
        check(name, table, sizes)
        expected = {}
        for size, order, trace in zip(sizes, orders, traces):
            key = (order, round(float(trace), 6) + 0.0)
            expected[key] = expected.get(key, 0) + int(size)
        assert count_matrices(generators) == expected, f"{name}: classes of the matrices"
        for l in range(7):
            angles = numpy.arccos(numpy.clip((numpy.array(traces, dtype=float) - 1) / 2, -1, 1))
            chi = 1 + 2 * sum(numpy.cos(m * angles) for m in range(1, l + 1)) if l else numpy.ones(len(sizes))
            multiplicity = (table.conj() * sizes) @ chi / sizes.sum()
            close(multiplicity, numpy.rint(multiplicity.real), 1e-12, f"{name}: degree {l}")
            assert multiplicity.real.min() > -1e-9
        tensors[f"{name}.re"], tensors[f"{name}.im"], tensors[f"{name}.sizes"] = table.real, table.imag, sizes
        tensors[f"{name}.orders"], tensors[f"{name}.traces"] = orders, traces
    # O is S4: the same table up to the order of rows and columns.
    s4, o = tensors["S4.re"], tensors["O.re"]
    assert any(
        sorted(map(tuple, s4[:, list(c)].tolist())) == sorted(map(tuple, o.tolist()))
        for c in itertools.permutations(range(5))
    )
    write("characters", tensors, """
        G.re (and G.im where complex) [irreps, classes] with G.sizes [classes]; S_n: rows are partitions and G.cycle_types the
        columns, both in reverse lexicographic order: row 0 is trivial, the
        last column the identity; T, O, I: G.orders is the order of the elements of a class, G.traces their trace on (x, y, z);
        the two classes of thirds of T are inverse to each other and may be exchanged with two rows
        """, "none", ["sympy", "numpy"])


if __name__ == "__main__":
    main()
