"""The projection rows that every side measures on the same weights, and what the peers' scripts share. Standard library and NumPy only.

A script `projection_PEER.py` names the rows it can do and gives a function that builds the projection; this module reads the arguments, times
and prints. Conventions are those of golden/conventions.py: channel = |G| * copy + element, r = rot90(+1), axes (z, y, x), copies outermost.

    python peers/projection_rows.py             # the rows, with the options of `reynolds bench projection` for each
"""

import argparse
import dataclasses
import json
import math
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from typing import Callable

import report


@dataclasses.dataclass(frozen=True)
class Row:
    """One projection: from `copies` fields to as many, all alike. `parts` are the dimensions of the pieces of one field."""

    group: str
    fields: str  # in the grammar of reynolds, for domain and codomain
    copies: int
    parts: tuple
    kernel: int = 1
    dimensions: int = 0  # of the grid; 0 is a dense map
    band: bool = False  # band-limited kernels with escnn's rings and frequencies, instead of the exact average
    power: int = 1  # of the field, as a tensor

    @property
    def field(self):
        return sum(self.parts)

    @property
    def channels(self):
        return (self.copies * self.field) ** self.power

    @property
    def shape(self):
        """Of the weights: [out, in, k, ...]."""
        return (self.channels, self.channels, *(self.kernel,) * self.dimensions)

    @property
    def options(self):
        """What `reynolds bench projection` is given."""
        kernel = ["--kernel", str(self.kernel), "--dimensions", str(self.dimensions)] if self.dimensions else []
        band = ["--band"] if self.band else []
        return ["--group", self.group, "--domain", self.fields, "--codomain", self.fields, *kernel, *band]


def planar(*frequencies):
    return tuple(1 if k == 0 else 2 for k in frequencies)


ROWS = {
    "dense-c4": Row("C4", "64 regular", 64, (4,)),
    "dense-c4-small": Row("C4", "4 regular", 4, (4,)),
    "dense-d4": Row("D4", "32 regular", 32, (8,)),
    "dense-oct": Row("O", "10 regular", 10, (24,)),
    "dense-s5": Row("S5", "permutation^2", 1, (5,), power=2),
    "dense-s6": Row("S6", "permutation^2", 1, (6,), power=2),
    "dense-so2": Row("SO2", "16x(0..4)", 16, planar(0, 1, 2, 3, 4)),
    "dense-so2-small": Row("SO2", "8x1", 8, planar(1)),
    "dense-so3": Row("SO3", "64x0 + 32x1 + 16x2", 1, (1,) * 64 + (3,) * 32 + (5,) * 16),
    "dense-so3-small": Row("SO3", "4x1", 4, (3,)),
    "conv-c4": Row("C4", "9 regular", 9, (4,), 5, 2),
    "conv-d4": Row("D4", "4 regular", 4, (8,), 5, 2),
    "conv-oct": Row("O", "2 regular", 2, (24,), 5, 3),
    "conv-c4-band": Row("C4", "9 regular", 9, (4,), 5, 2, band=True),
    "conv-d4-band": Row("D4", "4 regular", 4, (8,), 5, 2, band=True),
    "conv-oct-band": Row("O", "2 regular", 2, (24,), 5, 3, band=True),
    "conv-so2": Row("SO2", "4x(0..2)", 4, planar(0, 1, 2), 7, 2, band=True),
    "conv-so3": Row("SO3", "4x(0..2)", 4, (1, 3, 5), 5, 3, band=True),
}


@dataclasses.dataclass
class Projection:
    """A peer's projection, ready: `load` and `save` change from and to NumPy in our conventions and are not timed."""

    load: Callable
    project: Callable
    save: Callable
    build_seconds: float
    rank: int = None
    more: dict = dataclasses.field(default_factory=dict)


def arguments(description, rows, more):
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--row", choices=rows, help="one row; all without it")
    parser.add_argument("--weights", metavar="IN.npz", help="array `weights` [out, in, k, ...]; random without it")
    parser.add_argument("--out", metavar="OUT.npz", help="where to write the array `projected`")
    parser.add_argument("--repeats", type=int, default=31)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--precision", choices=["f32", "f64"], default="f32")
    parser.add_argument("--json", action="store_true", help="one object a line instead of text")
    for name, settings in more.items():
        parser.add_argument(name, **settings)
    options = parser.parse_args()
    if (options.weights or options.out) and not options.row:
        parser.error("--weights and --out need --row")
    return options


def run(description, who, packages, rows, build, more={}):
    """The whole script of a peer. `build(name, row, options)` imports the peer and returns a `Projection`; `more` are options of its own."""
    options = arguments(description, rows, more)
    if not options.row:  # a process for each, so that every one is built from nothing
        for name in rows:
            subprocess.run([sys.executable, *sys.argv, "--row", name], check=True)
        return
    # Before anything numerical is imported.
    for variable in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
        os.environ.setdefault(variable, str(options.threads))
    measure(options.row, ROWS[options.row], options, who, packages, build)


def measure(name, row, options, who, packages, build):
    try:
        versions = report.versions(*packages)
        full = f"{who} {versions[packages[0]]}"
        projection = build(name, row, options)
    except ImportError as error:  # importlib.metadata.PackageNotFoundError is one
        say({"row": name, "who": who, "missing": f"{type(error).__name__}: {error}"}, options.json)
        return
    given = weights(row, options)
    loaded = projection.load(given)
    seconds = median_seconds(lambda: projection.project(loaded), options.repeats)
    fixed = projection.save(projection.project(loaded))
    if fixed.shape != given.shape:
        sys.exit(f"{full}, {name}: expected a projection of shape {given.shape}, found {fixed.shape}")
    if options.out:
        write(options.out, projected=fixed)
    say({"row": name, "who": full, "seconds": seconds, "build_seconds": projection.build_seconds, "threads": options.threads,
         "precision": options.precision, "weights": given.size, "rank": projection.rank, **projection.more, "versions": versions}, options.json)


def weights(row, options):
    import numpy

    kind = {"f32": numpy.float32, "f64": numpy.float64}[options.precision]
    if options.weights:
        found = numpy.load(options.weights)["weights"]
    else:
        found = numpy.random.default_rng(0).standard_normal(row.shape)
    if found.size != math.prod(row.shape):
        sys.exit(f"{options.weights}: expected weights of shape {row.shape}, found {found.shape}")
    return found.reshape(row.shape).astype(kind)


def write(path, **arrays):
    """An npz, whole or not at all."""
    import numpy

    folder = os.path.dirname(os.path.abspath(path))
    with tempfile.NamedTemporaryFile(dir=folder, suffix=".npz", delete=False) as file:
        numpy.savez(file, **arrays)
    os.replace(file.name, path)


def median_seconds(work, repeats, warm=3):
    for _ in range(max(warm, repeats // 10)):
        work()
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def say(found, as_json):
    if as_json:
        print(json.dumps(found), flush=True)
    elif "missing" in found:
        print(f"{found['row']:<16} {found['who']:<22} missing: {found['missing']}", flush=True)
    else:
        print(f"{found['row']:<16} {found['who']:<22} P {found['seconds'] * 1e3:10.4f} ms   built in {found['build_seconds'] * 1e3:10.2f} ms"
              f"   rank {found['rank']}", flush=True)


# --- finite groups, numbered as reynolds numbers them --------------------------------------------------------------


def elements(group):
    """Matrices as tuples of rows, in our order: on (x, y) for C_N and D_N with N = 4, on (x, y, z) for O, on points for S_n."""
    if group in ("C4", "D4"):
        turns = [((c, s), (-s, c)) for c, s in [(1, 0), (0, 1), (-1, 0), (0, -1)]]
        return turns if group == "C4" else turns + [tuple((-a, b) for a, b in turn) for turn in turns]
    if group == "O":
        return octahedral()
    raise ValueError(f"no elements for {group}")


def octahedral():
    """Row i is ±e_σ(i): σ in lexicographic order, and for each the signs +++, ++-, +-+, ... of determinant one."""
    found = []
    for axes in [(0, 1, 2), (0, 2, 1), (1, 0, 2), (1, 2, 0), (2, 0, 1), (2, 1, 0)]:
        even = (axes[0] + 1) % 3 == axes[1]
        for pattern in range(8):
            signs = [-1 if pattern >> (2 - i) & 1 else 1 for i in range(3)]
            if (signs.count(-1) % 2 == 0) == even:
                found.append(tuple(tuple(signs[i] if axes[i] == j else 0 for j in range(3)) for i in range(3)))
    return found


def product(a, b):
    return tuple(tuple(sum(x * y for x, y in zip(row, column)) for column in zip(*b)) for row in a)


def inverse(a):
    return tuple(zip(*a))


def regular(group):
    """For each g the list p with (rho(g) f)[h] = f[p[h]], p[h] = g^-1 h."""
    all_of_them = elements(group)
    number = {g: i for i, g in enumerate(all_of_them)}
    return [[number[product(inverse(g), h)] for h in all_of_them] for g in all_of_them]


def main():
    for name, row in ROWS.items():
        quoted = " ".join(f'"{o}"' if re.search(r"[ (]", o) else o for o in row.options)
        print(f"{name:<16} {math.prod(row.shape):>8} weights   {quoted}")


if __name__ == "__main__":
    main()
