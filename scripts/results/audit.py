"""docs/results/audit.md: error rates of the ranking, from results/audit/ranking.jsonl."""

import json

from table import markdown


def page(root):
    rows = [json.loads(line) for line in (root / "results/audit/ranking.jsonl").read_text().splitlines()]
    shape = lambda row: " × ".join(map(str, row["shape"]))  # noqa: E731
    rate = lambda found: f"{100 * sum(row['named'] for row in found) / sum(row['tensors'] for row in found):.1f} %"  # noqa: E731
    noise = [row for row in rows if row["planted"] is None]
    planted = [row for row in rows if row["planted"]]
    shapes = list(dict.fromkeys(map(shape, planted)))
    of = lambda group: [next(rate([row]) for row in planted if (row["planted"], shape(row)) == (group, s)) for s in shapes]  # noqa: E731
    groups = list(dict.fromkeys(row["planted"] for row in planted))
    total = sum(row["tensors"] for row in noise)
    return "\n".join([
        "# Error rates of the audit", "", "Made from `results/` by `make results`. `cargo run --release --example ranking_errors`, fixed seeds, trivial fields.", "",
        "## Noise that is named", "", f"Independent weights (normal, uniform, cubes of normal ones in turn): a group is named for {rate(noise)} of {total:,} tensors.", "",
        *markdown(["shape", "tensors", "named"], [[shape(row), row["tensors"], row["named"]] for row in noise]), "",
        "## Planted groups that are named exactly", "",
        f"Weights invariant under the group plus noise of 0.3 of their standard deviation, {planted[0]['tensors']:,} tensors each. On 3 × 3 kernels C4 and D4 "
        "have the same orbits and are named together.", "",
        *markdown(["planted", *shapes], [[group, *of(group)] for group in groups]), "",
    ])
