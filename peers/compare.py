"""Measures reynolds and other programs: runs both sides of every row in turn, takes medians, writes results/compare-*.json.

    peers/.venv/bin/python peers/compare.py --reynolds target/release/reynolds      # what `make compare` does; minutes
    python3 peers/compare.py --reynolds carry/reynolds --device cuda:0 --out DIR    # the rows of a GPU
    python3 peers/compare.py --list                                                 # the rows

The rows are in compare_rows.py. A round runs ours, then each peer, one process at a time, on the same number of threads; a number is the
median over rounds. Ratios are theirs / ours, more is better for us; differences are relative to the largest value. The file is written after
every batch of rows: --resume continues a run that was stopped. Rows that are not measured again stay, with their own commit and date; --only
measures the rows whose names match. A file of another machine is overwritten, or refused with --only and --resume; a file of another device
or size is always refused; --fresh starts a new one. --quick has small sizes and one round, and writes to target/compare.
"""

import argparse
import fnmatch
import os
import pathlib
import shutil
import signal
import sys
import tempfile
import time

import compare_rows
import compare_table
import sides
from compare_results import Results, commit, machine, now
from compare_row import entry

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent
BENCHES = {"bench-so2": ("reynolds-paper", "so2")}


class Places(dict):
    """What {…} in a command stands for; the programs of `cargo bench` lie beside reynolds, or are built when they are first wanted."""

    def __missing__(self, name):
        beside = pathlib.Path(self["reynolds"]).with_name(name)
        self[name] = str(beside) if beside.exists() else sides.bench_program(*BENCHES[name])
        return self[name]


class Runner:
    """Runs the commands of a batch, each in an empty folder of its own."""

    def __init__(self, options, work):
        self.options, self.work = options, work
        self.places = Places(reynolds=str(options.reynolds), peers=str(HERE), work=str(work), device=options.device)

    def python(self, side):
        """The interpreter of a side: this one, or that of an environment of its own."""
        return str(HERE / f".venv-{side.venv}" / "bin" / "python") if side.venv else sys.executable

    def run(self, side, threads, compiled):
        fresh = pathlib.Path(tempfile.mkdtemp(dir=self.work))
        if side.venv and not pathlib.Path(self.python(side)).exists():
            return sides.Outcome([], folder=fresh, failure=f"peers/.venv-{side.venv} is not there: make peers")
        self.places |= {"fresh": str(fresh), "threads": threads, "python": self.python(side)}
        try:
            command = [part.format_map(self.places) for part in side.command]
        except (OSError, sides.subprocess.CalledProcessError, StopIteration) as error:
            return sides.Outcome([], folder=fresh, failure=f"could not be built: {error}")
        return sides.run(command, threads, fresh, compiled)

    def shown(self, side):
        """A command as people would type it in the repository: no path of this machine."""
        names = {sys.executable: "python", self.python(side): "python", str(HERE): "peers"}
        text = " ".join(f"'{part}'" if " " in part else part for part in side.command)
        for path, name in names.items():
            text = text.replace(path, name)
        places = {"reynolds": "reynolds", "python": "python", "peers": "peers", "work": "IN", "fresh": "OUT", "device": self.options.device}
        for name, (package, bench) in BENCHES.items():
            places[name] = f"cargo bench -p {package} --bench {bench} --"
        return text.format_map(places | {"threads": "N"})

    def batch(self, batch):
        """The rows of a batch as the file has them."""
        for make in batch.inputs:
            make(self.work)
        rounds = batch.rounds or self.options.rounds
        threads = batch.threads or self.options.threads
        key = lambda side: (side.command, side.venv)  # noqa: E731
        programs = {}
        for side in batch.sides():
            programs.setdefault(key(side), side)
        outcomes = {program: [] for program in programs}
        for number in range(0 if batch.warm else 1, rounds + 1):
            for place, (program, side) in enumerate(programs.items()):
                if outcomes[program] and hopeless(outcomes[program][0]):
                    continue
                begin = time.monotonic()
                outcome = self.run(side, threads, self.work / f"compiled-{place}")  # empty in its first round
                if number:
                    outcomes[program].append(outcome)
                say(f"  round {number} of {rounds}: {side.who}: {time.monotonic() - begin:.1f} s {outcome.failure}")
        found = [entry(row, lambda side: outcomes[key(side)], self.shown) for row in batch.rows]
        for name in os.listdir(self.work):
            path = self.work / name
            shutil.rmtree(path) if path.is_dir() else path.unlink()
        stamp = {"rounds": rounds, "threads": threads, "commit": self.options.commit, "date": now(), "quick": self.options.quick}
        return [row | stamp for row in found]


def hopeless(outcome):
    """Nothing was measured: another round would not either."""
    said = [line for line in outcome.lines if line.get("row") != sides.PROCESS]
    return outcome.failure or (said and all(line.get("missing") for line in said))


def say(text):
    print(text, file=sys.stderr, flush=True)


def refuse(text):
    """One line, and the end."""
    say(f"compare.py: error: {text}")
    sys.exit(2)


def wanted(batches, options, results):
    """The batches to run: matching, not there yet if --resume, the slow ones only if asked for."""
    for batch in batches:
        names = [row.id for row in batch.rows]
        matches = not options.only or any(fnmatch.fnmatch(name, options.only) for name in names)
        rows = [results.rows.get(name) for name in names]
        same = {"commit": options.commit, "quick": options.quick}
        there = all(row and same.items() <= row.items() and "seconds" in row["ours"] for row in rows)
        if matches and (not batch.clone or options.clone) and not (options.resume and there):
            yield batch


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--reynolds", type=pathlib.Path, default=ROOT / "target/release/reynolds", help="the program")
    parser.add_argument("--device", default="cpu", help="cpu or cuda:N")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=os.cpu_count(), help="of both sides")
    parser.add_argument("--only", metavar="PATTERN", help="rows whose names match, such as 'conv-*'")
    parser.add_argument("--quick", action="store_true", help="small sizes, one round, into target/compare")
    parser.add_argument("--clone", action="store_true", help="also from clone to first result: minutes and gigabytes")
    parser.add_argument("--compile", action="store_true", help="also torch.compile in training steps on a processor: minutes of compiling a network")
    begin = parser.add_mutually_exclusive_group()
    begin.add_argument("--resume", action="store_true", help="skip the rows that were measured at this commit")
    begin.add_argument("--fresh", action="store_true", help="start a new file")
    parser.add_argument("--list", action="store_true", help="list the rows")
    parser.add_argument("--out", type=pathlib.Path, help="where compare-cpu.json or compare-gpu.json goes [results]")
    options = parser.parse_args()
    options.out = options.out or (ROOT / "target/compare" if options.quick else ROOT / "results")
    options.rounds = 1 if options.quick else options.rounds
    options.reynolds = options.reynolds.absolute()
    options.commit = commit()
    for name, value in (("--rounds", options.rounds), ("--threads", options.threads)):
        if value < 1:
            refuse(f"{name}: expected at least 1, found {value}")
    return options


def stop(*_):
    raise KeyboardInterrupt


def check_place(name, options):
    """Refuses before the first batch what would fail after it: a folder that cannot be written to, a file that is none of ours."""
    opened(options.out / f"compare-{name}.json")
    try:
        options.out.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=options.out).close()
    except OSError as error:
        refuse(f"--out: {options.out}: expected a folder that can be written to, found {error.strerror}")


def main():
    options = arguments()
    name = "cpu" if options.device == "cpu" else "gpu"
    path = options.out / f"compare-{name}.json"
    batches = compare_rows.batches(options.quick, options.device, options.threads, options.compile)
    known = [row.id for batch in batches for row in batch.rows]
    if options.list:
        for row in (row for batch in batches for row in batch.rows):
            print(f"{row.id:24} {row.section:40} {row.title}")
        return 0
    if options.only and not fnmatch.filter(known, options.only):
        refuse(f"--only: expected the name of a row, found {options.only}; --list says which there are")
    quick_ones = [row.id for batch in batches for row in batch.rows if not batch.clone]
    if options.only and not options.clone and not fnmatch.filter(quick_ones, options.only):
        refuse(f"--only {options.only}: expected --clone beside it, as its rows take minutes and gigabytes, found none")
    if not options.reynolds.exists():
        refuse(f"--reynolds: expected the program, found no {options.reynolds}; make compare builds it")
    check_place(name, options)
    results = begun(path, options)
    results.keep(known)
    chosen = list(wanted(batches, options, results))
    with tempfile.TemporaryDirectory(prefix="compare-") as work:
        runner = Runner(options, pathlib.Path(work))
        for number, batch in enumerate(chosen):
            say(f"{number + 1} of {len(chosen)}: {', '.join(row.id for row in batch.rows)}")
            for row in runner.batch(batch):
                results.put(row)
            results.keep(known)
            results.save()
    print("\n".join(compare_table.table(results)))
    names = {row.id for batch in chosen for row in batch.rows}
    failed = [name for name in names if "seconds" not in results.rows[name]["ours"]]
    if failed:
        say(f"our side of {', '.join(sorted(failed))} was not measured")
    return 1 if failed else 0


def begun(path, options):
    """The rows that are there, under the head of this run; none with --fresh, nor of another machine where all are measured. Refuses those that
    cannot stand beside new ones."""
    top = {key: getattr(options, key) for key in ("commit", "device", "rounds", "threads", "quick")}
    top |= {"date": now(), "machine": machine(options.device), "allocator": sides.allocator()}
    if options.fresh:
        return Results(path, top)
    results = opened(path)
    shown = {"machine": compare_table.machine, "device": str, "quick": lambda quick: "small sizes (--quick)" if quick else "whole sizes"}
    for key, text in shown.items():
        if results.top.get(key, top[key]) != top[key]:
            here, there = text(top[key]), text(results.top[key])
            if key == "machine" and not (options.only or options.resume):
                say(f"{path}: rows of another machine ({there}): begun anew")
                return Results(path, top)
            refuse(f"{path}: expected rows of {here}, found {there}; --out gives another folder, --fresh begins anew")
    results.top |= top
    return results


def opened(path):
    """What a file holds, or why it is none of ours."""
    try:
        results = Results.open(path)
        if results.rows:
            compare_table.table(results)
        return results
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        refuse(f"{path}: expected rows as this script writes them, found something else ({type(error).__name__}: {error})")


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, stop)  # so that the program that runs is ended, and the folder taken away
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        say("stopped; what was measured is kept, and --resume goes on")
        sys.exit(130)
