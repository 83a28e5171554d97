"""docs/results/performance.md: beside the peers, growth, and what the penalty adds to a training step."""

import json

import compare_table
from compare_results import Results
from table import markdown, number

COMMANDS = {"cpu": ("On a processor", "make compare"), "gpu": ("On a GPU", "scripts/gpu.sh run compare")}


def scaling(root, folder):
    """Fitted exponents of how cost grows."""
    path = root / "results" / folder / "scaling.json"
    found = json.loads(path.read_text())
    where = found["environment"]
    rows = []
    for plot in found["plots"]:
        for panel in plot["panels"]:
            for series in panel["series"]:
                fit = series.get("fit")
                if fit:
                    exponent = f"{fit['exponent']:.2f} ± {fit['standard_error']:.2f}"
                    rows.append([panel["title"], series["name"], exponent, number(series["claimed"], None)])
    lines = [f"`reynolds bench scaling`, commit {where['commit'][:7]}, {where['processor']}, {where['device']}. Exponents of cost, fitted over the "
             "upper half of the sizes; results were compared with the Haar average first.", ""]
    figures = ", ".join(f"[{figure.stem}](../../results/{folder}/{figure.name})" for figure in sorted(path.parent.glob("*.svg")))
    return [*lines, f"Figures: {figures}.", "", *markdown(["cost against", "form", "exponent", "claimed"], rows), ""]


def jsonl(path):
    return [json.loads(line) for line in path.read_text().splitlines() if line.strip()]


def origin(root, *names):
    """Device, and the command and commit of files of results/gpu."""
    runs = json.loads((root / "results/gpu/runs.json").read_text())
    files = [runs["files"][f"{name}.jsonl"] for name in names]
    return f"{runs['device']}; " + ", ".join(f"`{file['command']}` at commit {file['commit']}" for file in files) + "."


def pairs(root):
    """What the penalty adds to a step, over interleaved pairs of steps with and without it."""
    rows = []
    for name in ("ct-penalty", "medmnist-penalty"):
        for found in jsonl(root / f"results/gpu/{name}.jsonl"):
            added, what = found["pairs"], found.get("architecture") or f"{found['model']} {found['group']}"
            share = added["added_us"] / added["without_us"]
            rows.append([what, found["batch"], found["precision"], f"{added['without_us'] / 1000:.2f} ms", f"{added['added_us']:.0f} µs ({share:.2%})",
                         f"[{added['low_us']:.0f}, {added['high_us']:.0f}]", added["pairs"]])
    return markdown(["network", "batch", "precision", "step without", "added", "95 % interval, µs", "pairs"], rows)


def graphs(root):
    """Steps with and without a CUDA graph beside PyTorch's in one, in its better layout; and what the penalty adds to a step in a graph."""
    groups, added = [], []
    for found in jsonl(root / "results/gpu/graphs.jsonl"):
        if found.get("row") != "step":
            groups[-1]["theirs"].append(found.get("train_ms") or 1e3 * found["seconds"])
        elif "pairs" in found:
            pairs, step = found["pairs"], found["settings"].get("penalty.step", "gradient").strip('"')
            share = pairs["added_us"] / pairs["without_us"]
            added.append([network(found), step, f"{pairs['without_us'] / 1000:.2f} ms", f"{pairs['added_us']:.0f} µs ({share:.2%})",
                          f"[{pairs['low_us']:.0f}, {pairs['high_us']:.0f}]", pairs["pairs"]])
        elif found["graph"]:
            groups.append({"found": found, "ours": found["train_ms"], "theirs": []})
        else:
            groups[-1]["without"] = found["train_ms"]
    rows = []
    for group in groups:
        theirs = min(group["theirs"], default=None)
        rows.append([network(group["found"]), f"{group['ours']:.2f} ms", f"{group['without']:.2f} ms", f"{theirs:.2f} ms" if theirs else "–",
                     f"{theirs / group['ours']:.2f}" if theirs else "–"])
    return [*markdown(["network", "in a graph", "without", "PyTorch in a graph", "theirs / ours"], rows), "",
            *markdown(["network", "penalty", "step without", "added", "95 % interval, µs", "pairs"], added)]


def overheads(root):
    """What the penalty adds to steps of the smoke networks, and in the spectral norm."""
    rows = []
    for found in jsonl(root / "results/gpu/overheads.jsonl"):
        added = found["pairs"]
        share = added["added_us"] / added["without_us"]
        rows.append([network(found), found["norm"], f"{added['without_us'] / 1000:.2f} ms", f"{added['added_us']:.0f} µs ({share:.2%})",
                     f"[{added['low_us']:.0f}, {added['high_us']:.0f}]", added["pairs"]])
    return markdown(["network", "norm", "step without", "added", "95 % interval, µs", "pairs"], rows)


def network(found):
    """Network and minibatch of a row of `bench step`."""
    settings = {key.split(".")[-1]: value.strip('"') for key, value in found["settings"].items()}
    what = {"ct": "DICDNet", "smoke": {"rgroup": "RGroup"}.get(settings.get("architecture"), "RSteer") + " " + settings.get("kind", ""), "medmnist": "MedMNIST ours"}
    size = f", {settings['stages']} stages, {settings['blocks']} blocks" if "stages" in settings else ""
    side = f" × {settings.get('patch', 256)}²" if found["experiment"] == "ct" else ""
    return f"{what[found['experiment']]}{size}, {found['batch']}{side}, {found['precision']}"


def decoupled(measured):
    """The decoupled steps by themselves, beside what they have to move and beside plain operations."""
    rows = []
    for found in measured:
        size = [number(found["layers"], 0), number(found["weights"], 0)]
        gradient = found["seconds"]
        rows.append([*size, "gradient, squared", f"{1e6 * gradient:.1f} µs", "1" if found["one_pass"] else "–", "–", "–", "–"])
        for step in found["decoupled"]:
            plain = step.get("operations_seconds")
            rows.append([*size, f"decoupled, {step['step']}", f"{1e6 * step['seconds']:.1f} µs", step.get("launches", "–"),
                         f"{step['bytes_at_copy_speed']:.1f}" + (f" ({step['indexed_bytes']})" if "indexed_bytes" in step else ""),
                         f"{step['seconds'] / step['floor_seconds']:.2f}",
                         f"{plain / step['seconds']:.1f}" if plain else "–"])
    return markdown(["layers", "weights", "step", "time", "launches", "bytes a weight (moved)", "time / floor", "plain operations / ours"], rows)


def efficiency(root):
    """Throughput of the MedMNIST networks, each measured in a process of its own."""
    rows = []
    for path in sorted((root / "results/medmnist/efficiency").glob("*.json")):
        metrics = json.loads(path.read_text())["trained"]["metrics"]
        rows.append([path.stem.removeprefix("measured-"), number(metrics["parameters"], 0), number(metrics["train_samples_per_s"], 0),
                     number(metrics["inference_samples_per_s"], 0), number(metrics["peak_memory_mib"] / 1024, 1), number(metrics["build_ms"], 0)])
    return markdown(["network", "parameters", "training, samples/s", "inference, samples/s", "memory, GiB", "build, ms"], rows)


def page(root):
    lines = ["# Performance", "", "Made from `results/` by `make results`. reynolds and its peers on the same inputs, one process at a time, in turn, on the same "
             "number of threads; *theirs / ours* above 1: ours is faster or smaller. results/compare-*.json hold every round and every command.", ""]
    for device, (title, command) in COMMANDS.items():
        results = Results.open(root / f"results/compare-{device}.json")
        lines += [f"## {title}", "", f"`{command}`", "", *compare_table.table(results), ""]
    lines += ["## How cost grows", "", *scaling(root, "scaling"), "### The penalty on a GPU", "", *scaling(root, "scaling-gpu")]
    lines += ["## What the penalty adds to a training step", "", origin(root, "ct-penalty", "medmnist-penalty"), "", *pairs(root), ""]
    if (root / "results/gpu/overheads.jsonl").exists():
        lines += [origin(root, "overheads"), "", *overheads(root), ""]
    if (root / "results/gpu/graphs.jsonl").exists():
        lines += ["## Steps in CUDA graphs", "", origin(root, "graphs") + " PyTorch: the whole step, Adam included, in one graph, in the better of its two layouts.", "",
                  *graphs(root), ""]
    if (root / "results/gpu/penalty.jsonl").exists():
        lines += ["## The penalty as a step of its own", "", origin(root, "penalty") + " In f32. Layers are equal convolutions between regular fields of C4. Bytes a weight: what a copy "
                  "moves in that time, and what the step moves with its index. Launches are those of our kernels: operations of libtorch are not counted (six more a "
                  "squared step where each layer has a strength of its own; all of a step for forms without a kernel), nor does their number grow with layers. The floor has no index; plain operations are those one would write in "
                  "PyTorch for all layers at once. The gradient's time is that of the call; a decoupled step changes the weights, so each is timed behind a "
                  "fresh copy, whose time is taken off: its weights lie in the cache, and its launch is hidden. Up to about a million weights a copy takes what its launch takes, and so does a step.", "", *decoupled(jsonl(root / "results/gpu/penalty.jsonl")), ""]
        cpu = json.loads((root / "results/cpu/penalty.json").read_text())
        lines += [f"On {cpu['threads']} cores of a processor: `{cpu['command'].split(',')[0]}` at commit {cpu['commit']},{cpu['command'].split(',')[1]}.", "",
                  *decoupled([cpu]), ""]
    lines += ["## Networks of MedMNIST", "", "NVIDIA H200, f32, training at batch 32, inference at 48; `reynolds reproduce table-medmnist-efficiency`, commit 5788cbc.", "",
              *efficiency(root), ""]
    return "\n".join(lines)
