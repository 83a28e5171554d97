"""The five numbers of README.md, from results/compare-*.json. Standard library only."""

import compare_table

# What a reader is told, the row, the peer it is held against, and where it was measured.
FIVE = (
    ("P(W) of a 256 × 256 map between C4 regular fields", "dense-c4", "symm-learning", "cpu"),
    ("steerable kernels of the octahedral group, 5³, from their names to a projector", "conv-oct-band-build", "escnn, cold cache", "cpu"),
    ("the penalty's gradient on 10 million weights", "penalty-1e7", "PyTorch, layer by layer on the tape", "cpu"),
    ("a training step of ours for MedMNIST with the penalty, batch 32", "medmnist-ours", "PyTorch, penalty on the tape", "gpu"),
    ("audit of a 400 MB checkpoint", "audit-400mb", "PyTorch, the process", "cpu"),
)
COMMANDS = {"cpu": "make compare", "gpu": "scripts/gpu.sh run compare"}


def number(results, name, who):
    """Our number, how many times as much a peer takes, and what of the step it is where that was measured."""
    row = results.rows.get(name) if results else None
    peer = next((peer for peer in row["peers"] if peer["who"] == who), None) if row else None
    if not peer or "ratio" not in peer:
        return "not measured yet"
    text = f"{compare_table.amount(row['ours']['seconds'], row['unit'])}; {who}: {compare_table.digits(peer['ratio'])} × that"
    return text + (f" ({compare_table.LOSES})" if peer["ratio"] < 1 else "")


def lines(files):
    """The table, with what `files` (results by cpu and gpu, None where there are none) hold."""
    found = ["| what | measured | command |", "|---|---|---|"]
    for what, name, who, where in FIVE:
        on = "one core" if name.startswith(("dense", "conv")) else {"cpu": "processor", "gpu": "GPU"}[where]
        found.append(f"| {what} ({on}) | {number(files.get(where), name, who)} | `{COMMANDS[where]}` |")
    return found
