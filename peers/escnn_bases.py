"""Seconds escnn takes until a steerable 3-D convolution is ready, with a cold cache and with a warm one.

    peers/.venv/bin/python peers/escnn_bases.py [--json]

Each row runs in a process of its own. escnn keeps coefficients on disk inside its package; for the cold rows it is given an empty
folder instead, so nothing installed is touched. The time is that of building the convolution, not of importing escnn.
"""

import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

import report

ROWS = {
    "so3": "escnn: SO(3), one field of l <= 2 to itself, k = 5",
    "octahedral": "escnn: octahedral, 2 -> 2 regular fields, k = 5",
}


def build(which):
    """Builds one convolution and returns the seconds it took."""
    import time
    import warnings

    warnings.filterwarnings("ignore")
    import escnn.nn
    from escnn import gspaces

    start = time.perf_counter()
    if which == "so3":
        space = gspaces.rot3dOnR3(maximum_frequency=2)
        field = escnn.nn.FieldType(space, [space.irrep(l) for l in range(3)])
    else:
        space = gspaces.octaOnR3()
        field = escnn.nn.FieldType(space, [space.regular_repr] * 2)
    escnn.nn.R3Conv(field, field, kernel_size=5, padding=2, initialize=False)
    return time.perf_counter() - start


def in_a_process(which, cache):
    """The seconds of `build` in a new interpreter whose escnn caches under `cache`."""
    code = f"""
import sys; sys.path.insert(0, {str(pathlib.Path(__file__).parent)!r})
import escnn_bases; escnn_bases.use_cache({str(cache)!r})
print('seconds', escnn_bases.build({which!r}))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"escnn failed:\n{done.stderr}")
    return float(next(line.split()[1] for line in done.stdout.splitlines() if line.startswith("seconds ")))


def use_cache(folder):
    """Sends every joblib.Memory that escnn makes to `folder`; call it before escnn is imported."""
    import joblib

    class Elsewhere(joblib.Memory):
        def __init__(self, location, *args, **keywords):
            super().__init__(folder, *args, **keywords)

    joblib.Memory = Elsewhere


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true", help="one JSON line per row instead of text")
    options = parser.parse_args()
    versions = report.versions("escnn", "torch")
    for which, name in ROWS.items():
        with tempfile.TemporaryDirectory() as cache:
            for state in ("cold cache", "warm cache"):
                report.row(f"{name}, {state}", in_a_process(which, cache), versions, options.json)


if __name__ == "__main__":
    main()
