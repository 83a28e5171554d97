"""symm-learning's projection of a 256 x 256 map between 64 regular fields of C4: milliseconds on one thread and on all.

    peers/.venv/bin/python peers/symm_learning_projection.py [--json] [--repeats N]
"""

import argparse
import statistics
import time

import report

FIELDS = 64


def median_seconds(project, weight, repeats):
    for _ in range(max(3, repeats // 10)):
        project(weight)
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        project(weight)
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true", help="one JSON line per row instead of text")
    parser.add_argument("--repeats", type=int, default=200)
    options = parser.parse_args()

    import torch
    from escnn.group import cyclic_group
    from symm_learning.representation_theory import GroupHomomorphismBasis, direct_sum

    rep = direct_sum([cyclic_group(4).regular_representation] * FIELDS)
    basis = GroupHomomorphismBasis(rep, rep)
    weight = torch.randn(rep.size, rep.size, generator=torch.Generator().manual_seed(0))
    versions = report.versions("symm-learning", "escnn", "torch")
    default = torch.get_num_threads()

    # What is timed must be the projection: against the average over the four turns.
    blocks = weight.reshape(FIELDS, 4, FIELDS, 4)
    average = sum(blocks.roll((r, r), (1, 3)) for r in range(4)).reshape(rep.size, rep.size) / 4
    error = (basis.orthogonal_projection(weight) - average).norm() / average.norm()
    assert error < 1e-5, f"symm-learning's projection is off by {error:.1e}"

    with torch.no_grad():
        for threads in dict.fromkeys((1, default)):
            torch.set_num_threads(threads)
            seconds = median_seconds(basis.orthogonal_projection, weight, options.repeats)
            report.row(f"symm-learning: C4 regular 256x256 projection, f32, {threads} thread{'s' * (threads > 1)}",
                       seconds, versions, options.json)
            seconds = median_seconds(four_turns, weight, options.repeats)
            report.row(f"PyTorch: the same as four rolls, {threads} thread{'s' * (threads > 1)}", seconds, versions, options.json)


def four_turns(weight):
    """The average as one would write it by hand in PyTorch: for scale."""
    blocks = weight.reshape(FIELDS, 4, FIELDS, 4)
    return sum(blocks.roll((r, r), (1, 3)) for r in range(4)) / 4


if __name__ == "__main__":
    main()
