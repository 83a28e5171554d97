"""How the programs that are compared are run: one at a time, on as many threads as the other, their JSON lines read.

A side is one program of a comparison, ours or a peer's. Standard library only.
"""

import dataclasses
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
PROCESS = "process"  # the row of the line that `run` adds itself
# What `reynolds` sets for itself where it trains: large blocks stay with the process. Without it PyTorch is slower on large tensors too.
ALLOCATOR = {"MALLOC_MMAP_MAX_": "0", "MALLOC_TRIM_THRESHOLD_": "1099511627776"}


@dataclasses.dataclass
class Outcome:
    """What one run of a program left: its lines, all of what it printed, the folder it could write to, and what went wrong."""

    lines: list
    text: str = ""
    folder: pathlib.Path = pathlib.Path()
    failure: str = ""


def allocator():
    """The settings of the allocator that all sides have: ours, unless the user has set others."""
    return {name: os.environ.get(name, value) for name, value in ALLOCATOR.items()}


def environment(threads):
    """That of this process, with every thread pool that either side uses of one size, and one allocator."""
    pools = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "RAYON_NUM_THREADS")
    return os.environ | allocator() | {pool: str(threads) for pool in pools}


def objects(text):
    """The JSON objects among lines of text."""
    found = []
    for line in text.splitlines():
        if line.startswith("{"):
            try:
                found.append(json.loads(line))
            except json.JSONDecodeError:
                pass  # an object over several lines, or a line that only looks like one
    return found


def complaint(said):
    """The line that says what was wrong: the first that begins so, else the last."""
    lines = said.splitlines() or ["it said nothing"]
    return next((line for line in lines if line.lower().startswith("error")), lines[-1])


def run(command, threads, folder):
    """Runs a program to its end; the last line says how long the process took, its processor time and its largest memory."""
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as errors:
        begin = time.perf_counter()
        try:
            child = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=out, stderr=errors, env=environment(threads))
        except OSError as error:
            return Outcome([], folder=folder, failure=f"{command[0]}: {error.strerror}")
        try:
            _, status, used = os.wait4(child.pid, 0)
        except BaseException:
            child.kill()
            child.wait()
            raise
        child.returncode = os.waitstatus_to_exitcode(status)
        seconds = time.perf_counter() - begin
        out.seek(0)
        errors.seek(0)
        text, said = out.read(), errors.read().strip()
    if child.returncode:
        return Outcome(objects(text), text, folder, f"ended with {child.returncode}: {complaint(said)[:300]}")
    whole = {"row": PROCESS, "seconds": seconds, "processor_seconds": used.ru_utime + used.ru_stime, "memory_mib": used.ru_maxrss / 1024}
    return Outcome([*objects(text), whole], text, folder)


def lines(command):
    """The objects that a program prints; what it says when it fails goes to standard error, and what it had printed still counts."""
    done = subprocess.run(command, capture_output=True, text=True, env=os.environ | allocator())
    if done.returncode:
        print(f"{' '.join(map(str, command))} ended with {done.returncode}: {done.stderr[-2000:]}", file=sys.stderr, flush=True)
    return objects(done.stdout)


def bench_program(package, name):
    """The program of `cargo bench -p PACKAGE --bench NAME`, built if it is not."""
    command = ["cargo", "bench", "--no-run", "-p", package, "--bench", name, "--message-format=json"]
    built = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, cwd=HERE.parent).stdout
    return next(found["executable"] for found in objects(built) if found.get("executable") and found["target"]["name"] == name)
