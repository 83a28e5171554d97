"""The SO(2) grid of 16 models in reynolds and in PyTorch, alternating: models per second of both, and their ratio.

    python3 peers/so2_side_by_side.py [--rounds N] [--epochs N] [--threads N ...]

Runs `cargo bench -p reynolds-paper --bench so2` and peers/so2.py (in peers/.venv) in turn, both with the same number of threads, and takes
medians over the rounds. reynolds trains as many models at a time as there are threads, one thread each; PyTorch one model at a time with
all threads, as its users do, and, as a second row, as many processes as threads with one thread each.
"""

import argparse
import json
import pathlib
import statistics
import subprocess
import time

from sides import bench_program, lines

HERE = pathlib.Path(__file__).resolve().parent
PYTHON = HERE / ".venv" / "bin" / "python"


def our_command(binary, form, threads, epochs):
    return [str(binary), "--bench", "--form", form, "--threads", str(threads), "--epochs", str(epochs)]


def their_command(python, form, threads, epochs):
    return [str(python), str(HERE / "so2.py"), "--json", "--form", form, "--threads", str(threads), "--epochs", str(epochs)]


def seconds_of(command):
    """Seconds of the 16 models."""
    return lines(command)[0]["seconds"]


def theirs_in_processes(form, threads, epochs):
    """As many processes as threads, each with all 16 models: the time of one grid is that of the slowest over their number."""
    command = their_command(PYTHON, form, 1, epochs)
    running = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(threads)]
    return max(json.loads(process.communicate()[0])["seconds"] for process in running) / threads


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--epochs", type=int, default=200)
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    options = parser.parse_args()
    binary = bench_program("reynolds-paper", "so2")
    print(f"{'form':<10} {'threads':>7} {'reynolds':>10} {'PyTorch':>10} {'ratio':>6}   models/s, medians of {options.rounds}")
    for threads in options.threads:
        for form in ("literal", "collapsed"):
            kinds = {"reynolds": lambda: seconds_of(our_command(binary, form, threads, options.epochs))}
            kinds["PyTorch"] = lambda: seconds_of(their_command(PYTHON, form, threads, options.epochs))
            if threads > 1:
                kinds[f"PyTorch x {threads}"] = lambda: theirs_in_processes(form, threads, options.epochs)
            seconds = {kind: [] for kind in kinds}
            for _ in range(options.rounds):
                for kind, run in kinds.items():
                    seconds[kind].append(run())
                    time.sleep(0.2)
            rate = {kind: 16 / statistics.median(values) for kind, values in seconds.items()}
            for kind in list(kinds)[1:]:
                ratio = rate["reynolds"] / rate[kind]
                name = form if kind == "PyTorch" else "processes"
                print(f"{name:<10} {threads:>7} {rate['reynolds']:>10.2f} {rate[kind]:>10.2f} {ratio:>6.2f}", flush=True)


if __name__ == "__main__":
    main()
