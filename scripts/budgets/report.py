"""From the learning curves of main.py to results/budgets/*.json and the tables of docs/results/budgets.md.

    python3 scripts/budgets/report.py json CALL1/budgets.jsonl CALL2/budgets.jsonl … --date 2026-11-18
    python3 scripts/budgets/report.py tables

A group is the networks that differ in their seed alone; its curve is their mean. It is flat from the first point on from which validation
accuracy stays within half a standard error of where it ends (mean of the last three points).
"""

import argparse
import json
import math
import pathlib

ROOT = pathlib.Path(__file__).resolve().parents[2]
RESULTS, PAGE = ROOT / "results" / "budgets", ROOT / "docs" / "results" / "budgets.md"
KEYS = ("train", "channels", "norm", "row", "weight_decay", "augmentation", "upright", "rate", "schedule", "steps")
ORIGIN = ("command", "commit", "device", "torch")
VALIDATION = {"mnist": 5000, "modelnet10": 369}
USUAL = {"mnist": {500: 3_000, 5_000: 6_000, 50_000: 15_000}, "modelnet10": {400: 3_000, 3_361: 6_000}}  # steps by training images
ROWS = ("none", "weight decay", "augmentation", "strict")
SEED_FACTOR = 2.8  # z(0.975) + z(0.8): power 80 % at 5 %, two-sided; the difference of two means of two seeds has the variance of one seed


def mean(values):
    values = list(values)
    return sum(values) / len(values)


def group(records):
    """One entry of the JSON."""
    first = records[0]
    steps = first["curve"]["step"]
    accuracy, loss = ([mean(values) for values in zip(*(record["curve"][name] for record in records))] for name in ("validation_accuracy", "validation_loss"))
    end = mean(accuracy[-3:])
    tolerance = 0.5 * math.sqrt(end * (1 - end) / VALIDATION[first["data"]])
    flat = next(at for at in range(len(steps)) if all(abs(value - end) <= tolerance for value in accuracy[at:-3]))
    tests = [record["test_accuracy"] for record in records]
    found = {key: first[key] for key in KEYS}
    if steps[-1] < first["steps"]:
        found["stopped_at"] = steps[-1]
    found |= {
        "cohort": first.get("cohort", 0),
        "seeds": [record["seed"] for record in records],
        "validation_best": max(accuracy),
        "validation_last": accuracy[-1],
        "flat_at": steps[flat],
        "loss_least_at": steps[loss.index(min(loss))],
        "train_loss": mean(record["curve"]["train_loss"][-1] for record in records),
        "test": mean(tests),
        "test_half_range": (max(tests) - min(tests)) / 2,
        "agreement": mean(min(record["agreement_by_turn"]) for record in records),
        "residual": mean(record["residual"] for record in records),
    }
    if "test_errors_6_9" in first:
        found["test_errors_6_9"] = mean(record["test_errors_6_9"] for record in records)
    return {key: float(f"{value:.4g}") if isinstance(value, float) else value for key, value in found.items()}


def summarise(paths, date):
    calls = [[json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()] for path in paths]
    for data in USUAL:
        written = {"data": data, "validation_images": VALIDATION[data], "calls": []}
        for records in calls:
            here = [record for record in records if record.get("data") == data]
            curves = [record for record in here if record["kind"] == "curve"]
            if not curves:
                continue
            groups, cohorts = {}, {}
            for record in curves:
                groups.setdefault(tuple(record[key] for key in KEYS), []).append(record)
                cohorts.setdefault(record.get("cohort", 0), record)
            speeds = [{key: record[key] for key in ("channels", "models", "precision", "model_steps_per_second", "command")}
                      for record in here if record["kind"] == "throughput"]
            written["calls"].append({
                **{key: curves[0][key] for key in ORIGIN}, "date": date, "precision": curves[0]["precision"],
                "throughput": speeds,
                "cohorts": [{"cohort": number, "models": one["models"], "seconds": one["seconds"],
                             "model_steps_per_second": round(one["models"] * one["curve"]["step"][-1] / one["seconds"])} for number, one in cohorts.items()],
                "groups": [group(records) for records in groups.values()],
            })
        both = twice(calls, data)
        if both:
            written["trained_in_two_calls"] = both
        RESULTS.mkdir(parents=True, exist_ok=True)
        (RESULTS / f"{data}.json").write_text(lines(written), encoding="utf-8")


def twice(calls, data):
    """How far validation accuracy differs between calls (other precision, graph or none) at the common points of the same trainings."""
    curves = [{tuple(record[key] for key in (*KEYS, "seed")): dict(zip(record["curve"]["step"], record["curve"]["validation_accuracy"]))
               for record in records if record["kind"] == "curve" and record["data"] == data} for records in calls]
    common = [(job, earlier, later) for at, earlier in enumerate(curves) for later in curves[at + 1 :] for job in earlier if job in later]
    differences = [later[job][step] - earlier[job][step] for job, earlier, later in common for step in earlier[job] if step in later[job]]
    return {"networks": len(common), "points": len(differences), "mean": round(mean(differences), 5),
            "largest": round(max(map(abs, differences)), 5)} if differences else None


def lines(written):
    """JSON with a line a group, cohort and speed."""
    calls = []
    for call in written["calls"]:
        fields = [f"{json.dumps(key)}: " + ("[\n    " + ",\n    ".join(json.dumps(entry) for entry in value) + "]" if isinstance(value, list) and value else json.dumps(value))
                  for key, value in call.items()]
        calls.append("{\n   " + ",\n   ".join(fields) + "}")
    head = "".join(f" {json.dumps(key)}: {json.dumps(value)},\n" for key, value in written.items() if key != "calls")
    return "{\n" + head + ' "calls": [' + ", ".join(calls) + "]\n}\n"


def name(entry):
    """The row with its strength."""
    strength = entry["weight_decay"] or entry["augmentation"]
    return f"{entry['row']} {strength:g}" if strength else entry["row"]


def points(value, digits=1):
    return f"{100 * value:.{digits}f}"


def finished(data):
    """All groups of a data set that were trained to the end, in the order of the tables."""
    written = json.loads((RESULTS / f"{data}.json").read_text(encoding="utf-8"))
    entries = [entry for call in written["calls"] for entry in call["groups"] if "stopped_at" not in entry]
    return sorted(entries, key=lambda entry: (entry["train"], entry["channels"], -entry["upright"], ROWS.index(entry["row"]), entry["weight_decay"],
                                              entry["augmentation"], entry["rate"], entry["steps"]))


def plain(entry):
    return entry["norm"] == "none" and entry["schedule"] == "cosine"


def rates(data):
    """Networks down, learning rates across, at the usual number of steps."""
    chosen = [entry for entry in finished(data) if plain(entry) and entry["steps"] == USUAL[data][entry["train"]]]
    columns = sorted({entry["rate"] for entry in chosen})
    yield f"| images | channels | steps | b | row | {' | '.join(f'{rate:g}' for rate in columns)} | agreement |"
    yield "|---" * (6 + len(columns)) + "|"
    rows = {}
    for entry in chosen:
        rows.setdefault((entry["train"], entry["channels"], entry["steps"], entry["upright"], name(entry)), {})[entry["rate"]] = entry
    for (train, channels, steps, upright, row), found in rows.items():
        best = max(found.values(), key=lambda entry: entry["validation_last"])
        cells = [cell(found[rate], found[rate] is best and len(found) > 1) if rate in found else "" for rate in columns]
        yield f"| {train:,} | {channels} | {steps:,} | {upright:g} | {row} | {' | '.join(cells)} | {best['agreement']:.2f} |"


def cell(entry, bold=False):
    text = f"{points(entry['validation_last'])} / {points(entry['test'])}"
    return (f"**{text}**" if bold else text) + f", {100 * entry['flat_at'] / entry['steps']:.0f} %"


def contests(data):
    """Entries of each row by images, channels and b, where every row was trained at three learning rates or more."""
    found = {}
    for entry in filter(plain, finished(data)):
        usual = USUAL[data][entry["train"]]
        if entry["steps"] == usual or (entry["row"] == "augmentation" and entry["steps"] == 3 * usual):
            rows = found.setdefault((entry["train"], entry["channels"], entry["upright"]), {})
            rows.setdefault((ROWS.index(entry["row"]), entry["steps"]), []).append(entry)
    tried = {place: [len({entry["rate"] for at, entries in rows.items() if at[0] == row for entry in entries}) for row in range(len(ROWS))]
             for place, rows in found.items()}
    for place, rows in found.items():
        if min(tried[place]) >= 3:
            yield place, {at: entries for at, entries in sorted(rows.items()) if len({entry["rate"] for entry in entries}) >= 3}


def edge(best, entries):
    """Where the best setting is the highest or the lowest that was tried."""
    rates = {entry["rate"] for entry in entries if name(entry) == name(best)}
    strengths = {entry["weight_decay"] or entry["augmentation"] for entry in entries}
    strength = best["weight_decay"] or best["augmentation"]
    at_end = strength in (min(strengths), max(strengths)) and len(strengths) > 1 and best["augmentation"] != 1
    return ("†" if best["rate"] in (min(rates), max(rates)) else "") + ("‡" if at_end else "")


def tuned(data):
    """Every row at the learning rate and strength that are best on validation."""
    yield "| images | channels | b | row | learning rate | steps | settings tried | validation | test | agreement |"
    yield "|---|---|---|---|---|---|---|---|---|---|"
    for (train, channels, upright), rows in contests(data):
        for entries in rows.values():
            best = max(entries, key=lambda entry: entry["validation_last"])
            rate = f"{best['rate']:g} {edge(best, entries)}".strip()
            yield (f"| {train:,} | {channels} | {upright:g} | {name(best)} | {rate} | {best['steps']:,} | {len(entries)} | "
                   f"{points(best['validation_last'])} | {points(best['test'])} ± {points(best['test_half_range'])} | {best['agreement']:.2f} |")


def spread(data):
    """What differs between seeds at the chosen settings, and which difference of two rows two seeds can show."""
    yield "| images | channels | networks | standard deviation of a seed, test | difference that is seen with power 80 % |"
    yield "|---|---|---|---|---|"
    squares = {}
    for (train, channels, _), rows in contests(data):
        chosen = (max(entries, key=lambda entry: entry["validation_last"]) for entries in rows.values())
        squares.setdefault((train, channels), []).extend(2 * entry["test_half_range"] ** 2 for entry in chosen)
    for (train, channels), values in squares.items():
        deviation = math.sqrt(mean(values))
        yield f"| {train:,} | {channels} | {2 * len(values)} | {points(deviation, 2)} | {points(SEED_FACTOR * deviation)} |"


def facts(data):
    """Settings with a network that never learned, and settings whose validation loss is least within the first quarter of the steps."""
    yield "| images | settings | validation loss least in the first quarter of the steps | settings with a network below 20 % on test |"
    yield "|---|---|---|---|"
    for train in USUAL[data]:
        here = [entry for entry in finished(data) if entry["train"] == train]
        early = sum(4 * entry["loss_least_at"] <= entry["steps"] for entry in here)
        collapsed = {}
        for entry in here:
            if entry["test"] - entry["test_half_range"] < 0.2:
                key = f"{name(entry)} at {entry['rate']:g}"
                collapsed[key] = collapsed.get(key, 0) + 1
        tried = {key: sum(f"{name(entry)} at {entry['rate']:g}" == key for entry in here) for key in collapsed}
        listed = "; ".join(f"{key}: {count} of {tried[key]}" for key, count in collapsed.items())
        yield f"| {train:,} | {len(here)} | {early} | {listed} |"


def lengths(data):
    """The same network trained for other numbers of steps."""
    rows = {}
    for entry in finished(data):
        if plain(entry):
            rows.setdefault((entry["train"], entry["channels"], entry["upright"], name(entry), entry["rate"]), []).append(entry)
    yield "| images | channels | b | row | learning rate | steps: validation / test, flat at |"
    yield "|---|---|---|---|---|---|"
    for (train, channels, upright, row, rate), found in rows.items():
        if len(found) > 1:
            cells = "; ".join(f"{entry['steps']:,}: {cell(entry)}" for entry in found)
            yield f"| {train:,} | {channels} | {upright:g} | {row} | {rate:g} | {cells} |"


def speeds(data):
    """Throughput: measured alone, and of whole cohorts with their validations."""
    written = json.loads((RESULTS / f"{data}.json").read_text(encoding="utf-8"))
    yield "| channels | networks side by side | precision | CUDA graph | steps a second, all networks together |"
    yield "|---|---|---|---|---|"
    found = {}
    for call in written["calls"]:
        for speed in call["throughput"]:
            found[speed["channels"], speed["models"], speed["precision"], "yes"] = [speed["model_steps_per_second"]]
        channels = {entry["cohort"]: entry["channels"] for entry in call["groups"]}
        graph = "no" if "--eager" in call["command"] else "yes"
        for cohort in call["cohorts"]:
            found.setdefault((channels[cohort["cohort"]], cohort["models"], call["precision"], graph), []).append(cohort["model_steps_per_second"])
    for (channels, models, precision, graph), values in sorted(found.items()):
        span = f"{min(values):,.0f}" + (f" to {max(values):,.0f}" if len(values) > 1 else "")
        yield f"| {channels} | {models} | {precision} | {graph} | {span} |"


def tables():
    """Replaces what stands between the page's markers."""
    page = PAGE.read_text(encoding="utf-8")
    for data in USUAL:
        for make in (tuned, spread, facts, rates, lengths, speeds):
            start, end = f"<!-- {data} {make.__name__} -->\n", f"<!-- end of {data} {make.__name__} -->"
            before, rest = page.split(start)
            page = before + start + "\n".join(make(data)) + "\n" + end + rest.split(end)[1]
    PAGE.write_text(page, encoding="utf-8")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    commands = parser.add_subparsers(required=True, dest="command")
    summary = commands.add_parser("json")
    summary.add_argument("curves", type=pathlib.Path, nargs="+")
    summary.add_argument("--date", required=True)
    commands.add_parser("tables")
    arguments = parser.parse_args()
    if arguments.command == "json":
        summarise(arguments.curves, arguments.date)
    else:
        tables()


if __name__ == "__main__":
    main()
