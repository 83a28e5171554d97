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


def run(command, threads, folder, compiled=None):
    """Runs a program to its end; the last line says how long the process took, its processor time and its largest memory, none of them with
    any of this process's own (launch.py). Into the folder `compiled` goes what torch.compile makes."""
    variables = environment(threads) | ({"TORCHINDUCTOR_CACHE_DIR": str(compiled)} if compiled else {})
    files = (tempfile.TemporaryFile("w+") for _ in range(3))
    with next(files) as out, next(files) as errors, next(files) as report:
        launch = [sys.executable, "-I", "-S", str(HERE / "launch.py"), str(report.fileno()), *map(str, command)]
        places = {"stdin": subprocess.DEVNULL, "stdout": out, "stderr": errors}
        with subprocess.Popen(launch, **places, env=variables, pass_fds=(report.fileno(),)) as child:
            try:
                child.wait()
            except BaseException:
                child.terminate()  # it ends the program
                raise
        text, said, found = (whole(file) for file in (out, errors, report))
    took = json.loads(found.splitlines()[0]) if found else {"code": child.returncode}
    if "error" in took:
        return Outcome([], folder=folder, failure=f"{command[0]}: {took['error']}")
    code = took.pop("code")
    if code:
        return Outcome(objects(text), text, folder, f"ended with {code}: {complaint(said.strip())[:300]}")
    return Outcome([*objects(text), {"row": PROCESS, **took}], text, folder)


def whole(file):
    file.seek(0)
    return file.read()


def lines(command):
    """The objects that a program prints; what it says when it fails goes to standard error, and what it had printed still counts."""
    done = subprocess.run(command, capture_output=True, text=True, env=os.environ | allocator())
    if done.returncode:
        print(f"{' '.join(map(str, command))} ended with {done.returncode}: {done.stderr[-2000:]}", file=sys.stderr, flush=True)
    return objects(done.stdout)


def step_command(reynolds, experiment, settings, *more):
    """`reynolds bench step` of an experiment with these settings, in JSON."""
    return [reynolds, "bench", "step", experiment, *(word for setting in settings for word in ("--set", setting)), *map(str, more), "--json"]


def bench_program(package, name):
    """The program of `cargo bench -p PACKAGE --bench NAME`, built if it is not."""
    command = ["cargo", "bench", "--no-run", "-p", package, "--bench", name, "--message-format=json"]
    built = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, cwd=HERE.parent).stdout
    return next(found["executable"] for found in objects(built) if found.get("executable") and found["target"]["name"] == name)
