"""The rows of projections: P(W) of dense maps and of kernels, and how long its construction takes. Standard library only.

What is projected, and who can do it, is said in projection_rows.py and by the ROWS of the peers' scripts.
"""

import compare_agreement as agreement
import compare_inputs as inputs
import projection_e3nn
import projection_emlp
import projection_escnn
import projection_rows
import projection_symm_learning
import projection_torch
from compare_row import Batch, Row, Side

PROJECTION = "Projection"
BUILDING = "Construction of projectors and bases"
# Name, rows, script and its options, environment of its own.
PEERS = (
    ("escnn", projection_escnn.ROWS, ("projection_escnn.py",), ""),
    ("symm-learning", projection_symm_learning.ROWS, ("projection_symm_learning.py",), ""),
    ("EMLP", projection_emlp.ROWS, ("projection_emlp.py",), "emlp"),
    ("e3nn", projection_e3nn.ROWS, ("projection_e3nn.py",), ""),
    ("PyTorch by hand", projection_torch.ROWS, ("projection_torch.py",), ""),
    ("PyTorch, orbit index", projection_torch.ORBIT_ROWS, ("projection_torch.py", "--form", "orbits"), ""),
)
QUICK = ("dense-c4", "conv-c4", "conv-c4-band")
# Who has the small rows, which are for the sake of a peer that can do no larger ones.
SMALL = ("EMLP", "e3nn", "PyTorch, orbit index")
NOTES = {
    PROJECTION: "One thread, single precision; ours computes both energies in the same pass. -band: onto the span of escnn's basis with its default "
    "rings and frequencies; escnn has no projection, so its basis is made orthonormal for it. "
    "By hand is the sum over the group; the orbit index is our own algorithm in PyTorch.",
    BUILDING: "From the names of group and fields to a projector, the first in its process; imports are not counted. "
    "escnn builds a whole convolution with its basis and parameters, e3nn an o3.Linear, EMLP a basis and a projector of the maps, symm-learning a basis. "
    "escnn begins with an empty cache on disk, or, warm, with a full one.",
}


def batches(quick):
    """A batch a row: both numbers are of the same runs."""
    return [batch(name, row, quick) for name, row in projection_rows.ROWS.items() if not quick or name in QUICK]


def batch(name, row, quick):
    repeats = "5" if quick else "31"
    more = ("--weights", f"{{work}}/{name}.npz", "--out", "{fresh}/projected.npz", "--repeats", repeats, "--threads", "{threads}", "--json")
    here = ("{reynolds}", "bench", "projection", *row.options, *more)
    sides, builds = [], []
    for who, rows, (script, *form), venv in PEERS:
        if name not in rows or (name.endswith("-small") and who not in SMALL):
            continue
        command = ("{python}", f"{{peers}}/{script}", "--row", name, *form, *more)
        sides.append(Side(who, command, venv=venv))
        if not who.startswith("PyTorch"):
            cold = ", cold cache" if who == "escnn" else ""
            builds.append(Side(who + cold, command, number="build_seconds", venv=venv))
        if who == "escnn":
            builds.append(Side("escnn, warm cache", command, number="warm_build_seconds", venv=venv))
    ours = Side("reynolds", here, also=("copy_seconds", "rank", "weights"))
    title = f"{name}: {text(row)}"
    agree = agreement.arrays("projected.npz")
    rows = [Row(name, PROJECTION, title, ours, tuple(sides), agree, note=NOTES[PROJECTION])]
    if builds:
        first = Side("reynolds", here, number="first_build_seconds", also=("build_seconds",))
        rows.append(Row(f"{name}-build", BUILDING, title, first, tuple(builds), note=NOTES[BUILDING]))
    rounds = 2 if any(side.who in ("escnn", "EMLP") for side in sides) else 0
    return Batch(tuple(rows), (inputs.weights(name, row.shape),), rounds=rounds, threads=1)


def text(row):
    """`256 × 256 under C4, 64 regular` or `36 × 36 × 5² under C4, 9 regular`."""
    kernel = f" × {row.kernel}{'²³'[row.dimensions - 2]}" if row.dimensions else ""
    return f"{row.channels} × {row.channels}{kernel} under {row.group}, {row.options[row.options.index('--domain') + 1]}"
