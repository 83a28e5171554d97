"""The numbers of README.md, from results/compare-*.json. Standard library only."""

import compare_table

# What a reader is told, the row, the usual peer (the best of the row is quoted beside it), and where it was measured.
ROWS = (
    ("P(W) of a 256 × 256 map between C4 regular fields", "dense-c4", "symm-learning", "cpu"),
    ("the penalty's gradient on 10 million weights (the tape's with its value)", "penalty-1e7", "PyTorch, layer by layer on the tape", "cpu"),
    ("a training step of ours for MedMNIST with the penalty, batch 32", "medmnist-ours", "PyTorch as it comes, penalty on the tape", "gpu"),
    ("audit of a 400 MB checkpoint", "audit-400mb", "PyTorch, the process", "cpu"),
)
COMMANDS = {"cpu": "make compare", "gpu": "scripts/gpu.sh run compare"}


def number(results, name, who):
    """Our number, and how many times as much the usual peer and the best one of the row take."""
    row = results.rows.get(name) if results else None
    peers = [peer for peer in row["peers"] if "ratio" in peer and not peer.get("reference")] if row else []
    if not peers:
        return "not measured yet"
    best = min(peers, key=lambda peer: peer["ratio"])
    usual = [f"{who}: {times(peer)}" for peer in peers if peer["who"] == who and peer is not best]
    quoted = [*usual, f"{'best peer: ' if len(peers) > 1 else ''}{best['who']}: {times(best)}"]
    return "; ".join([compare_table.amount(row["ours"]["seconds"], row["unit"]), *quoted])


def times(peer):
    return f"{compare_table.digits(peer['ratio'])} × that" + (f" ({compare_table.LOSES})" if peer["ratio"] < 1 else "")


def lines(files):
    """The table, with what `files` (results by cpu and gpu, None where there are none) hold."""
    found = ["| what | measured | command |", "|---|---|---|"]
    for what, name, who, where in ROWS:
        on = "one core" if name.startswith(("dense", "conv")) else {"cpu": "processor", "gpu": "GPU"}[where]
        found.append(f"| {what} ({on}) | {number(files.get(where), name, who)} | `{COMMANDS[where]}` |")
    return found
