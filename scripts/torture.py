#!/usr/bin/env python3
"""Attacks the built programs for some minutes: kills, full disks, damaged folders, a hostile server, mutated inputs.

    make torture MINUTES=60 [SEED=1]

A round is drawn from the seed and its number, though moments of kills depend on the clock. The last line holds the figures. Exit code 1 if a
round found something: a run that did not go on to the same bytes, a file lost, left behind or written elsewhere, an exit code other than 0,
1, 2 and 130, a panic, a hang, memory without bound. What it found is kept in target/torture.
"""

import argparse
import collections
import contextlib
import http.server
import itertools
import json
import os
import pathlib
import random
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
SMALL = {"data.points": 24, "data.turns": 4, "model.so2.hidden_channels": 2, "train.threads": 1,
         "train.early_stopping.metric": "loss", "train.epochs": 60, "train.checkpoint_every": 2}
VARIANTS = [
    {"penalty.lambda_perp": 0.1},
    {"penalty.lambda_perp": 0.1, "penalty.step": "decoupled", "train.epochs": 40, "train.checkpoint_every": 3},
    {"penalty.target": 0.2, "penalty.target_by": "dual", "penalty.step": "decoupled", "train.epochs": 40},
]
# What two runs with the same settings have in common to the last byte.
SAME = ["config.toml", "metrics.jsonl", "summary.json", "checkpoints/last.safetensors", "checkpoints/best.safetensors"]
SUFFIXES = (".safetensors", ".npz", ".pt", ".pth", ".onnx", ".h5")
HANG = 120  # seconds
MEMORY = 1 << 20  # KiB that an audit of a few kilobytes may take
figures = collections.Counter()


class Finding(Exception):
    pass


def expect(holds, message):
    if not holds:
        raise Finding(message)


def options(settings):
    return [word for key, value in settings.items() for word in ("--set", f"{key}={value}")]


class Programs:
    def __init__(self, folder):
        self.reynolds, self.paper = folder / "reynolds", folder / "reynolds-paper"

    def start(self, arguments, cwd, limits=(), environment=None):
        """A process whose standard error goes to a file beside its folder."""
        program = self.reynolds if arguments[0] in ("audit", "plan", "project") else self.paper

        def prepare():
            # A write beyond a limit shall fail, not kill.
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            for limit, value in limits:
                resource.setrlimit(limit, (value, value))

        said = tempfile.TemporaryFile()
        process = subprocess.Popen([program, *map(str, arguments)], cwd=cwd, stdin=subprocess.DEVNULL, stdout=said, stderr=said,
                                   preexec_fn=prepare, env={**os.environ, **(environment or {})})
        process.said, process.words = said, " ".join(map(str, arguments))
        return process

    def wait(self, process, allowed=(0, 1, 2, 130), seconds=HANG):
        """Exit code, what it said, and the most memory it took in KiB."""
        end = time.monotonic() + seconds
        while True:
            pid, status, usage = os.wait4(process.pid, os.WNOHANG)
            if pid:
                break
            if time.monotonic() > end:
                process.kill()
                process.wait()
                raise Finding(f"{process.words}: not done after {seconds} s")
            time.sleep(0.003)
        process.returncode = os.waitstatus_to_exitcode(status)
        process.said.seek(0)
        text = process.said.read().decode(errors="replace")
        process.said.close()
        expect(process.returncode in allowed, f"{process.words}: exit code {process.returncode}: {text[-2000:]}")
        expect("panicked" not in text and "fault of reynolds" not in text, f"{process.words}: {text[-2000:]}")
        if process.returncode == 2:
            expect("error: " in text, f"{process.words}: exit code 2 without a word")
        return process.returncode, text, usage.ru_maxrss

    def run(self, arguments, cwd, **more):
        wait = {key: more.pop(key) for key in ("allowed", "seconds") if key in more}
        return self.wait(self.start(arguments, cwd, **more), **wait)


def contents(folder, names=None):
    paths = [folder / name for name in names] if names else sorted(path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): path.read_bytes() if path.is_file() else None for path in paths}


def same(found, expected, what):
    differing = [name for name in expected if found.get(name) != expected[name]]
    expect(not differing, f"{what}: {', '.join(differing)} differ")


def mutated(data, dice):
    """One to four small damages."""
    data = bytearray(data)
    for _ in range(dice.randint(1, 4)):
        at = dice.randrange(len(data) + 1)
        kind = dice.randrange(7)
        if kind <= 1 and at < len(data):
            data[at] ^= 1 << dice.randrange(8)
        elif kind == 2:
            data[at:at + dice.choice([1, 2, 4, 8])] = dice.choice([b"\0", b"\xff" * 8, b"\x7f" + b"\xff" * 7, b"9" * 19, b"-1"])
        elif kind == 3:
            del data[at:at + dice.randrange(64)]
        elif kind == 4:
            start = dice.randrange(len(data) + 1)
            data[at:at] = data[start:start + dice.randrange(64)]
        elif kind == 5:
            digits = [place for place, byte in enumerate(data) if 48 <= byte < 58]
            if digits:
                data[dice.choice(digits)] = dice.randrange(48, 58)
        elif dice.randrange(4) == 0:
            del data[at:]
    return bytes(data)


class Torture:
    def __init__(self, programs, place):
        self.programs, self.place = programs, place
        self.expected, self.killed = [], []
        for number, variant in enumerate(VARIANTS):
            folder = place / f"whole{number}"
            start = time.monotonic()
            programs.run(["run", "so2", "--folder", folder, *options({**SMALL, **variant})], place, allowed=(0,))
            self.expected.append((contents(folder, SAME), time.monotonic() - start))
            # The same run, killed once it has a checkpoint and the one before it.
            folder = place / f"killed{number}"
            process = programs.start(["run", "so2", "--folder", folder, *options({**SMALL, **variant})], place)
            while not (folder / "checkpoints/previous.safetensors").exists() and process.poll() is None:
                time.sleep(0.001)
            process.kill()
            process.wait()
            expect(not (folder / "summary.json").exists(), "a run was finished before it could be killed")
            self.killed.append(folder)
        self.sweep = ["sweep", "so2", "--grid", "penalty.lambda_perp=0,0.1", "--seeds", 2, "--jobs", 2, *options({**SMALL, "train.epochs": 20})]
        programs.run([*self.sweep, "--runs", "sweep"], place, allowed=(0,))
        self.table = ["reproduce", "fig-so2", "--jobs", 2, *options({"seeds": 1, "train.epochs": 8})]
        programs.run([*self.table, "--runs", "table"], place)
        dice = random.Random(0)
        header = {f"c{n}.weight": {"dtype": "F32", "shape": [64, 64, 3, 3], "data_offsets": [n * 147456, (n + 1) * 147456]} for n in range(40)}
        text = json.dumps(header).encode()
        numbers = b"".join(dice.randrange(0x3f000000, 0x40000000).to_bytes(4, "little") for _ in range(36864)) * 40
        (place / "model.safetensors").write_bytes(len(text).to_bytes(8, "little") + text + numbers)
        self.project = ["project", place / "model.safetensors", "out.safetensors", "--group", "C4", "--fields", "trivial"]
        programs.run(self.project, place, allowed=(0,))
        self.projected = (place / "out.safetensors").read_bytes()
        self.seeds = sorted(path for path in (ROOT / "golden/checkpoints").iterdir() if path.suffix in SUFFIXES)
        self.plan = subprocess.check_output([programs.reynolds, "plan", place / "model.safetensors", "--group", "C4"])
        self.settings = (place / "whole0/config.toml").read_bytes()

    def kills(self, dice, folder):
        """A run that is killed again and again ends in the same bytes."""
        number = dice.randrange(len(VARIANTS))
        expected, seconds = self.expected[number]
        begin = ["run", "so2", "--folder", "here", *options({**SMALL, **VARIANTS[number]})]
        self.until_done(dice, folder, seconds, lambda: ["run", "so2", "--resume", "here"] if (folder / "here/config.toml").exists() else begin)
        same(contents(folder / "here", SAME), expected, "run after kills")
        left = {path.name for path in (folder / "here").rglob("*") if path.name.startswith(".")}
        expect(len(left) <= 1, f"temporary files left: {left}")
        figures["runs that were killed"] += 1

    def until_done(self, dice, folder, seconds, command, kills=12):
        for kill in itertools.count():
            process = self.programs.start(command(), folder)
            if kill < kills:
                with contextlib.suppress(subprocess.TimeoutExpired):
                    process.wait(timeout=seconds * dice.uniform(0, 1 if kill % 3 else 0.3))
                if process.poll() is None:
                    process.send_signal(dice.choice([signal.SIGKILL] * 4 + [signal.SIGTERM, signal.SIGINT]))
                    figures["kills"] += 1
            # A child of a killed sweep may still hold its lock: that run fails, and the next round trains it.
            try:
                code = process.wait(timeout=HANG)
            except subprocess.TimeoutExpired:
                process.kill()
                raise Finding(f"{process.words}: not done {HANG} s after a signal")
            process.said.seek(0)
            text = process.said.read().decode(errors="replace")
            process.said.close()
            expect(code in (0, 1, 130, -signal.SIGKILL, -signal.SIGTERM, -signal.SIGINT), f"{process.words}: {code}: {text}")
            expect("panicked" not in text and kill < 60, f"{process.words}: {text}")
            if code == 0:
                return

    def sweeps(self, dice, folder):
        self.until_done(dice, folder, 3, lambda: [*self.sweep, "--runs", "sweep"], kills=6)
        for whole in (self.place / "sweep").rglob("*"):
            if whole.is_file() and (whole.name in ("sweep.csv", "sweep.toml", "settings.toml") or str(whole).endswith(tuple(SAME))):
                found = folder / whole.relative_to(self.place)
                expect(found.is_file() and found.read_bytes() == whole.read_bytes(), f"sweep after kills: {found.name} differs")
        figures["sweeps that were killed"] += 1

    def tables(self, dice, folder):
        """A reproduction that is killed, and one with a damaged model: the same table, or a refusal."""
        made = lambda: next((folder / "table/reproduce/fig-so2").glob("*/config.toml"), None)
        command = lambda: ["reproduce", "fig-so2", "--resume", made().parent] if made() else [*self.table, "--runs", "table"]
        whole = next((self.place / "table/reproduce/fig-so2").iterdir()) / "table.csv"
        self.until_done(dice, folder, 3, command, kills=4)
        table = made().parent / "table.csv"
        expect(table.read_bytes() == whole.read_bytes(), "table.csv after kills differs")
        model = dice.choice(sorted(made().parent.glob("points/*/summary.json")))
        before = model.read_bytes()
        model.write_bytes(mutated(before, dice))
        code, said, _ = self.programs.run(command(), folder, allowed=(0, 2))
        expect(code == 2 or table.read_bytes() == whole.read_bytes(), "table.csv of a damaged model differs")
        figures["damaged files"] += 1
        figures["of them refused"] += code == 2

    def files(self, dice, folder):
        """A command that writes one file, killed: it is there whole or not at all, with nothing beside it."""
        for _ in range(4):
            process = self.programs.start(self.project, folder)
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(timeout=dice.uniform(0, 0.5))
            process.send_signal(dice.choice([signal.SIGKILL, signal.SIGTERM, signal.SIGINT]))
            process.wait(timeout=HANG)
            figures["kills"] += 1
            left = contents(folder)
            # Linux replaces a file only by one with a name: a kill in that moment leaves the whole new one under a hidden name.
            hidden = [name for name in left if name != "out.safetensors"]
            moment = all(name.startswith(".out.safetensors.") for name in hidden) and "out.safetensors" in left
            expect(not hidden or moment, f"project after a kill left {hidden}")
            expect(all(data == self.projected for data in left.values()), "project after a kill left half a file")
            for name in hidden:
                (folder / name).unlink()
            figures["whole files under hidden names"] += len(hidden)

    def disks(self, dice, folder):
        """A run on a disk that is full, or with files that may not grow, goes on to the same bytes when there is room."""
        number = dice.randrange(len(VARIANTS))
        disk = folder / "disk"
        disk.mkdir()
        begin = ["run", "so2", "--folder", "here", *options({**SMALL, **VARIANTS[number]})]
        command = lambda: ["run", "so2", "--resume", "here"] if (disk / "here/config.toml").exists() else begin
        mount = ["mount", "-t", "tmpfs", "-o", f"size={dice.randint(8, 400)}k", "torture", disk]
        mounted = dice.random() < 0.6 and subprocess.run(mount, capture_output=True).returncode == 0
        try:
            limits = [] if mounted else [(resource.RLIMIT_FSIZE, dice.randint(0, 60_000))]
            code, _, _ = self.programs.run(command(), disk, limits=limits)
            figures["full disks"] += code == 2
            if mounted:
                subprocess.run(["mount", "-o", "remount,size=64m", disk], check=True)
            self.programs.run(command(), disk, allowed=(0,))
            same(contents(disk / "here", SAME), self.expected[number][0], f"run after a full disk ({limits or mount[4]})")
        finally:
            if mounted:
                subprocess.run(["umount", "--lazy", disk], check=True)

    def damages(self, dice, folder):
        """A run folder with a damaged file: it goes on to the same bytes, or it is refused and nothing is touched."""
        number = dice.randrange(len(VARIANTS))
        here = folder / "here"
        shutil.copytree(self.killed[number], here)
        file = dice.choice(sorted(path for path in here.rglob("*") if path.is_file()))
        name = str(file.relative_to(here))
        damage = dice.choice(["mutated", "mutated", "empty", "removed", "link"])
        match damage:
            case "mutated":
                file.write_bytes(mutated(file.read_bytes(), dice))
            case "empty":
                file.write_bytes(b"")
            case "removed":
                file.unlink()
            case "link":
                (folder / "precious").write_bytes(b"kept")
                file.unlink()
                file.symlink_to(folder / "precious")
        before = contents(here, [*SAME, "checkpoints/previous.safetensors"])
        code, said, _ = self.programs.run(["run", "so2", "--resume", "here"], folder, allowed=(0, 2))
        what = f"{name}, {damage}: {said[-400:]}"
        figures["damaged files"] += 1
        figures["of them refused"] += code == 2
        if damage == "link":
            expect((folder / "precious").read_bytes() == b"kept", f"{what}: the file that it led to was written")
        if code == 2:
            # What can be done without never keeps a run from going on.
            expect(damage == "link" or name in ("config.toml", "metrics.jsonl", "environment.json"), f"refused: {what}")
            expect(name != "environment.json" or "of version" in said, f"refused: {what}")
            # A missing file may be there again, empty.
            same(contents(here, before), {file: data for file, data in before.items() if data is not None}, f"refused: {what}")
        else:
            expected = dict(self.expected[number][0])
            if name == "config.toml":
                expected.pop(name)
            same(contents(here, SAME), expected, what)

    def server(self, dice, folder):
        """Downloads from a server that answers anything."""
        length = lambda n: f"Content-Length: {n}\r\n"
        blob = dice.randbytes(dice.randrange(100_000))
        answers = {
            "garbage": blob,
            "another file": f"HTTP/1.1 200 OK\r\n{length(len(blob))}\r\n".encode() + blob,
            "half": f"HTTP/1.1 200 OK\r\n{length(len(blob) + 1000)}\r\n".encode() + blob,
            "huge": f"HTTP/1.1 200 OK\r\n{length(1 << 62)}\r\n".encode(),
            "negative": f"HTTP/1.1 200 OK\r\n{length(-1)}\r\n".encode() + blob,
            "range": f"HTTP/1.1 206 Partial Content\r\nContent-Range: bytes 7-9/3\r\n{length(len(blob))}\r\n".encode() + blob,
            "redirected": b"HTTP/1.1 302 Found\r\nLocation: file:///etc/passwd\r\nContent-Length: 0\r\n\r\n",
            "loop": b"HTTP/1.1 302 Found\r\nLocation: /organmnist3d.npz\r\nContent-Length: 0\r\n\r\n",
            "headers": b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * 100_000,
            "error": b"HTTP/1.1 500 No\r\nContent-Length: 0\r\n\r\n",
            "escape": b"HTTP/1.1 404 \x1b[31m\xff\r\nContent-Length: 0\r\n\r\n",
        }
        which = "slow" if dice.random() < 0.03 else dice.choice(sorted(answers))
        over = threading.Event()

        class Answer(http.server.BaseHTTPRequestHandler):
            def handle(self):
                with contextlib.suppress(OSError):
                    self.request.recv(65536)
                    if which != "slow":
                        return self.request.sendall(answers[which])
                    self.request.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n")
                    while not over.wait(1):
                        self.request.sendall(b"x")

        part, precious = folder / "organmnist3d.npz.part", folder / "precious"
        precious.write_bytes(b"kept")
        before = dice.randrange(4)
        if before == 1:
            part.write_bytes(blob[:dice.randrange(1000)])
        elif before == 2:
            part.symlink_to(precious)
        with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Answer) as server:
            server.daemon_threads = True
            threading.Thread(target=server.serve_forever, daemon=True).start()
            try:
                url = f"http://127.0.0.1:{server.server_address[1]}"
                no_proxy = {"no_proxy": "*", "NO_PROXY": "*"}
                command = ["data", "medmnist", "--set", "organ", "--out", ".", "--url", url]
                _, said, _ = self.programs.run(command, folder, allowed=(2,), environment=no_proxy)
            finally:
                over.set()
                server.shutdown()
        expect(precious.read_bytes() == b"kept", f"{which}: the file that .part led to was written")
        expect("\x1b" not in said, f"{which}: an escape sequence reached the terminal")
        left = {path.name for path in folder.iterdir()} - {"precious", part.name}
        expect(not left, f"{which}: left {left}")
        figures["answers of a hostile server"] += 1

    def inputs(self, dice, folder):
        """Mutated checkpoints, plans and settings."""
        memory = [(resource.RLIMIT_AS, 4 << 30)]
        for _ in range(12):
            kind, group = dice.randrange(6), dice.choice(["C4", "D4", "O", "SO2", "C8"])
            seed = dice.choice(self.seeds)
            model = folder / f"model{seed.suffix}"
            model.write_bytes(mutated(seed.read_bytes(), dice) if kind < 4 else (self.place / "model.safetensors").read_bytes())
            (folder / "plan.toml").write_bytes(mutated(self.plan, dice))
            (folder / "settings.toml").write_bytes(mutated(self.settings, dice))
            out = folder / f"out{seed.suffix}"
            command = [
                ["audit", model], ["audit", model, "--group", group, "--fields", "regular", "--json"], ["plan", model, "--group", group],
                ["project", model, out, "--group", group, "--fields", dice.choice(["trivial", "regular"])],
                ["audit", model, "--plan", "plan.toml"], ["run", "so2", "--config", "settings.toml", "--show"],
            ][kind]
            before = contents(folder)
            code, said, most = self.programs.run(command, folder, allowed=(0, 2), limits=memory if kind < 5 else (), seconds=30)
            expect(kind > 3 or most < MEMORY, f"{command}: {most} KiB")
            expect(kind == 5 or not any(c in said for c in "\x1b\u202e\x9b"), f"{command}: an escape sequence reached the terminal")
            after = contents(folder)
            written = {str(out.relative_to(folder))} if kind == 3 and code == 0 else set()
            expect(set(after) == set(before) | written, f"{command}: left {set(after) - set(before)}")
            same(after, {name: data for name, data in before.items() if name not in written}, "inputs")
            if written:
                self.programs.run(["audit", out, "--group", group, "--fields", "trivial"], folder, allowed=(0, 2), seconds=30)
            for path in folder.iterdir():
                path.unlink()
            figures["mutated inputs"] += 1


KINDS = ["kills", "inputs", "damages", "damages", "disks", "inputs", "server", "damages", "files", "sweeps", "inputs", "tables", "damages", "server"]


def worker(torture, numbers, arguments, end, findings):
    for number in numbers:
        if time.monotonic() > end:
            return
        kind = KINDS[number % len(KINDS)]
        folder = torture.place / f"round{number}"
        folder.mkdir()
        try:
            getattr(torture, kind)(random.Random(f"{arguments.seed} {number}"), folder)
        except Exception as finding:
            message = f"seed {arguments.seed}, round {number} ({kind}): {finding if isinstance(finding, Finding) else repr(finding)}"
            findings.append(message)
            print(message, f"  kept in {folder}", sep="\n", flush=True)
            continue
        finally:
            figures["rounds"] += 1
        shutil.rmtree(folder)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--round", type=int, help="only this round")
    parser.add_argument("--workers", type=int, default=os.cpu_count())
    parser.add_argument("--programs", type=pathlib.Path, default=ROOT / "target/release", help="folder with reynolds and reynolds-paper")
    arguments = parser.parse_args()
    start = time.monotonic()
    place = ROOT / f"target/torture/{time.strftime('%Y%m%d-%H%M%S')}-{os.getpid()}"
    place.mkdir(parents=True)
    print(f"torture: {arguments.minutes:g} min, seed {arguments.seed}, {arguments.workers} workers, in {place}", flush=True)
    torture, findings = Torture(Programs(arguments.programs.resolve()), place), []
    lock, counter = threading.Lock(), iter([arguments.round] if arguments.round is not None else itertools.count())

    def numbers():
        while True:
            with lock:
                number = next(counter, None)
            if number is None:
                return
            yield number

    end = start + 60 * arguments.minutes
    threads = [threading.Thread(target=worker, args=(torture, numbers(), arguments, end, findings)) for _ in range(arguments.workers)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    counted = ", ".join(f"{count} {what}" for what, count in sorted(figures.items()))
    print(f"torture: {(time.monotonic() - start) / 60:.1f} min, seed {arguments.seed}: {counted}; found: {len(findings)}")
    if not findings:
        shutil.rmtree(place)
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
