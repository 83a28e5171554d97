"""results/compare-*.json: read, merged row by row, written whole. Standard library only."""

import datetime
import json
import os
import pathlib
import platform
import subprocess

HERE = pathlib.Path(__file__).resolve().parent


def commit():
    """The commit that is measured, with + if programs differ from it; REYNOLDS_COMMIT where there is no repository."""
    if os.environ.get("REYNOLDS_COMMIT"):
        return os.environ["REYNOLDS_COMMIT"][:7]
    try:
        name = git("rev-parse", "--short=7", "HEAD")
        return name + ("+" if git("status", "--porcelain", "--", "crates", "peers", "Cargo.lock", "Cargo.toml") else "")
    except (OSError, subprocess.CalledProcessError):
        return "unknown"


def git(*arguments):
    return subprocess.run(["git", *arguments], cwd=HERE.parent, capture_output=True, text=True, check=True).stdout.strip()


def machine(device):
    """Processor, cores, memory, and the GPU if one is asked for."""
    found = {"system": f"{platform.system()} {platform.machine()}", "cores": os.cpu_count(), "processor": platform.processor() or "unknown"}
    for line in lines_of("/proc/cpuinfo"):
        if line.startswith("model name"):
            found["processor"] = line.split(":", 1)[1].strip()
            break
    for line in lines_of("/proc/meminfo"):
        if line.startswith("MemTotal"):
            found["memory_gib"] = round(int(line.split()[1]) / 2**20, 1)
    if device != "cpu":
        query = ["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"]
        try:
            found["gpu"] = subprocess.run(query, capture_output=True, text=True, check=True).stdout.strip()
        except (OSError, subprocess.CalledProcessError):
            found["gpu"] = "unknown"
    return found


def lines_of(path):
    try:
        return pathlib.Path(path).read_text().splitlines()
    except OSError:
        return []


class Results:
    """The rows measured so far, in the order in which they are known."""

    def __init__(self, path, top):
        self.path, self.top, self.rows = pathlib.Path(path), top, {}

    @classmethod
    def open(cls, path, top=None):
        """What the file holds; `top` (machine, commit, date, …) replaces what stands above its rows."""
        results = cls(path, top or {})
        if results.path.exists():
            found = json.loads(results.path.read_text())
            results.rows = {row["row"]: row for row in found.pop("rows")}
            results.top = found | results.top
        return results

    def put(self, row):
        self.rows[row["row"]] = row

    def keep(self, known):
        """Forgets the rows that are not among `known`, and puts the others in that order."""
        self.rows = {name: self.rows[name] for name in known if name in self.rows}

    def save(self):
        """Written beside and moved into place: a reader finds the old file or the new one."""
        versions = {}
        for row in self.rows.values():
            for side in (row["ours"], *row["peers"]):
                for package, version in side.get("versions", {}).items():
                    versions.setdefault(package, set()).add(version)
        self.top["versions"] = {package: " and ".join(sorted(found)) for package, found in sorted(versions.items())}
        whole = self.top | {"rows": list(self.rows.values())}
        self.path.parent.mkdir(parents=True, exist_ok=True)
        beside = self.path.with_name(f".{self.path.name}.{os.getpid()}")
        beside.write_text(json.dumps(whole, indent=1, ensure_ascii=False) + "\n")
        beside.replace(self.path)


def now():
    return datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d %H:%M UTC")
