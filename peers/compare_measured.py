"""The numbers of README.md, from results/compare-*.json. Standard library only."""

import compare_table

# What was measured, the row, the usual way of doing it (the fastest peer is quoted beside it), and the device.
ROWS = (
    ("P(W) of a 256 × 256 map between C4 regular fields", "dense-c4", "symm-learning", "cpu"),
    ("gradient of the penalty for 10 million weights", "penalty-1e7", "PyTorch, layer by layer on the tape", "cpu"),
    ("training step of the MedMNIST network with the penalty, batch 32", "medmnist-ours", "PyTorch as it comes, penalty on the tape", "gpu"),
    ("audit of a 400 MB checkpoint", "audit-400mb", "PyTorch, the process", "cpu"),
)
COMMANDS = {"cpu": "make compare", "gpu": "scripts/gpu.sh run compare"}

# Peers as a reader of the README knows them, where results/ have other words.
NAMES = {
    "PyTorch, layer by layer on the tape": "PyTorch autograd, layer by layer (computes the value too)",
    "PyTorch as it comes, penalty on the tape": "PyTorch with default settings, penalty by autograd",
    "PyTorch, channels last and cudnn.benchmark, penalty on the tape": "PyTorch, channels last, cudnn.benchmark, penalty by autograd",
    "PyTorch, the process": "PyTorch script, start of Python included",
    "PyTorch, without its start": "PyTorch script, start of Python not counted",
}


def cells(results, name, who):
    """Our number, the usual way's and that of the fastest peer, as cells."""
    row = results.rows.get(name) if results else None
    peers = [peer for peer in row["peers"] if "ratio" in peer and not peer.get("reference")] if row else []
    if not peers:
        return ["not measured", "–", "–"]
    best = min(peers, key=lambda peer: peer["ratio"])
    usual = next((peer for peer in peers if peer["who"] == who and peer is not best), None)
    unit = row["unit"]
    return [compare_table.amount(row["ours"]["seconds"], unit), theirs(usual, unit) if usual else "–", theirs(best, unit)]


def theirs(peer, unit):
    """"109 µs, 2.94 × ours: PyTorch, orbit index"."""
    loses = f" ({compare_table.LOSES})" if peer["ratio"] < 1 else ""
    amount = compare_table.amount(peer["seconds"], unit)
    return f"{amount}, {compare_table.digits(peer['ratio'])} × ours{loses}: {NAMES.get(peer['who'], peer['who'])}"


def lines(files):
    """The table, with what `files` (results by cpu and gpu, None where there are none) hold."""
    found = ["| what | reynolds | usual way | fastest alternative | command |", "|---|---|---|---|---|"]
    for what, name, who, where in ROWS:
        on = "one core" if name.startswith(("dense", "conv")) else {"cpu": "processor", "gpu": "GPU"}[where]
        found.append(f"| {what} ({on}) | {' | '.join(cells(files.get(where), name, who))} | `{COMMANDS[where]}` |")
    return found
