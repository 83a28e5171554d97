"""What a row of the comparison is: one task, our program, and the peers' programs that do the same. Standard library only.

A number comes from one of the lines that a program prints, or from the line about its process that `sides.run` adds. Rows of one batch
that name the same command share its runs.
"""

import dataclasses
import pathlib
import statistics
import typing

import sides

# Seconds of torch.compile, which are not in the number, or of the step that they are most of: of the first round, later ones have a cache.
COMPILING = ("compile_seconds", "first_step_s")


@dataclasses.dataclass(frozen=True)
class Side:
    """One program of a row.

    In `command` {reynolds}, {python}, {peers}, {work} (inputs), {fresh} (an empty folder for every run), {threads} and {device} are filled in.
    `where` says which of its lines counts, `number` which of its keys, times `scale`. A reference, such as summing a file, is drawn beside
    ours and cannot be lost against. `also` are further keys that are kept. `checked` says where its result is compared with ours if the row
    does not do it.
    """

    who: str
    command: tuple
    where: dict = dataclasses.field(default_factory=dict)
    number: str = "seconds"
    scale: float = 1.0
    also: tuple = ()
    reference: bool = False
    venv: str = ""
    checked: str = ""

    def line(self, outcome):
        """The line of a run that counts, or the reason why there is none."""
        if outcome.failure:
            return None, outcome.failure
        reasons = []
        for line in outcome.lines:
            if any(key in line and line[key] != value for key, value in self.where.items()):
                continue
            if line.get("row") == sides.PROCESS and self.where.get("row") != sides.PROCESS:
                continue  # the time of a process is never taken for a number that its program did not print
            if line.get("missing") or line.get("error"):
                reasons.append(line.get("missing") or line["error"])
            elif all(key in line for key in self.where) and isinstance(line.get(self.number), (int, float)):
                return line, ""
        wanted = ", ".join([self.number, *(f"{key} = {value}" for key, value in self.where.items())])
        return None, reasons[0] if reasons else f"printed no line with {wanted}"


@dataclasses.dataclass(frozen=True)
class Row:
    """A task. `agree` measures how far a peer's result is from ours; `unit` is s or MiB."""

    id: str
    section: str
    title: str
    ours: Side
    peers: tuple
    agree: typing.Callable | None = None
    unit: str = "s"
    note: str = ""


@dataclasses.dataclass(frozen=True)
class Batch:
    """Rows that are measured together.

    `inputs` are called with the folder {work} before. Rounds and threads that are 0 are the driver's. A warm batch has a round more, which
    brings the files into the page cache and is not counted. A clone batch is run only if it is asked for.
    """

    rows: tuple
    inputs: tuple = ()
    rounds: int = 0
    threads: int = 0
    warm: bool = False
    clone: bool = False

    def sides(self):
        return [side for row in self.rows for side in (row.ours, *row.peers)]


def process(who, *command, **more):
    """A side whose number is the time of its whole process, its memory kept beside."""
    return Side(who, command, where={"row": sides.PROCESS}, also=("memory_mib",), **more)


def measured(side, outcomes):
    """The medians of a side over its runs: its number, further keys, and the versions that its lines name."""
    lines, missing = [], "it was not run"
    for outcome in outcomes:
        line, reason = side.line(outcome)
        if line is None:
            missing = reason
        else:
            lines.append(line)
    if not lines:
        return {"missing": missing}
    numbers = [side.scale * line[side.number] for line in lines]
    found = {"seconds": statistics.median(numbers), "all": numbers}
    for key in side.also:
        kept = [line[key] for line in lines if isinstance(line.get(key), (int, float))]
        if kept:
            found[key] = (max if key in COMPILING else statistics.median)(kept)
    if lines[-1].get("versions"):
        found["versions"] = lines[-1]["versions"]
    return found


def last(outcomes):
    """The last run that did not fail, of which there is one where there is a number."""
    return next(outcome for outcome in reversed(outcomes) if not outcome.failure)


def entry(row, outcomes, shown):
    """The row as results/compare-*.json has it: `outcomes` are the runs by side, `shown` writes a command for people."""
    ours = measured(row.ours, outcomes(row.ours)) | {"command": shown(row.ours)}
    peers = []
    for side in row.peers:
        found = {"who": side.who, **measured(side, outcomes(side)), "command": shown(side)}
        if side.reference:
            found["reference"] = True
        if "seconds" in found and "seconds" in ours:
            found["ratio"] = found["seconds"] / ours["seconds"]
            if row.agree and not side.reference:
                try:
                    found["agreement"] = row.agree(last(outcomes(row.ours)), last(outcomes(side)))
                except OSError as error:
                    found["agreement_missing"] = f"{pathlib.Path(error.filename or '').name}: {error.strerror}"
                except (KeyError, ValueError, IndexError) as error:
                    found["agreement_missing"] = f"{type(error).__name__}: {error}"
            elif side.checked and not side.reference:
                found["checked"] = side.checked
        peers.append(found)
    found = {"row": row.id, "title": row.title, "group": row.section, "unit": row.unit, "ours": ours, "peers": peers}
    return found | ({"note": row.note} if row.note else {})
