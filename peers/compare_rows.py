"""The rows of `compare.py`: what is compared with whom, section by section. To add one, add it here. Standard library only."""

import dataclasses

import compare_agreement as agreement
import compare_inputs as inputs
import compare_networks
import compare_projections
from compare_row import COMPILING, Batch, Row, Side, process

PENALTY = "Penalty"
STARTUP = "Start-up"
AUDIT = "Audit of a checkpoint"
SMOKE = "Smoke simulation"
METRICS = "Image metrics"
CLONE = "From clone to first result"


def batches(quick, device, threads, compiled=False):
    """All rows in the order of the table; on a GPU only those that use it. `compiled`: training steps by torch.compile too."""
    networks = [*penalties(quick, device), *compare_networks.batches(quick, device, threads, compiled)]
    if device != "cpu":
        return networks
    projections = compare_projections.batches(quick)
    return [*projections, *networks, *audits(quick), *simulations(), *metrics(quick), *startup(quick), *clones()]


def penalties(quick, device):
    """Up to 10⁷ both sides have the same weights and their gradients are compared, a process a form; larger ones, and on a GPU, where
    processes begin slowly, all above 10⁶, are drawn by each."""
    forms = {
        "tape": "PyTorch, layer by layer on the tape",
        "closed": "PyTorch, layer by layer, closed form",
        "stacked": "PyTorch, equal layers stacked, closed form",
        "flat": "PyTorch, one flat index, closed form",
        "orbits": "PyTorch, orbit index, closed form",
        "flat-compiled": "PyTorch, one flat index, torch.compile",
        "orbits-compiled": "PyTorch, orbit index, torch.compile",
    }
    layers = {"1e6": 31} if quick else {"1e6": 31, "1e7": 309 if device == "cpu" else 0, "1e8": 0}
    compared = max(layers, key=layers.get).replace("1e6", "10⁶").replace("1e7", "10⁷")
    note = (
        "The gradient of λ_G‖P(W)‖² + λ_⊥‖W−P(W)‖² (on the tape with its value) of convolutions 36 → 36, 5 × 5, under C4, added to one that is there. "
        "The floor is 1.5 × copying: weights read, gradient read and written. Copied are the same weights into an array of their size, over and over as "
        "the gradient is computed over and over: arrays that fit into the processor's cache stay there in both. "
        "torch.compile begins with an empty cache, and its seconds are not in the number."
    )
    found = []
    for size, given in layers.items():
        repeats = ("--repeats", "5" if quick else "31" if size == "1e6" or device != "cpu" else "5")
        more = (*repeats, "--threads", "{threads}", "--device", "{device}", "--json")
        what = ("--weights-file", f"{{work}}/penalty-{size}.npz", "--out", "{fresh}/gradient.npz") if given else ("--weights", size)
        kept = ("copy_seconds", "adam_seconds", "plain_seconds", "operations", "weights")
        ours = Side("reynolds", ("{reynolds}", "bench", "penalty", *what, *more), also=kept)
        script = ("{python}", "{peers}/penalty.py", *what, "--limit", "5", *more)
        named, checked = ",".join(forms), "" if given else f"as at {compared}: the same code"
        peers = tuple(Side(who, (*script, "--forms", form if given else named), {"form": form}, also=COMPILING, checked=checked) for form, who in forms.items())
        agree = agreement.arrays("gradient.npz", "gradient") if given else None
        row = Row(f"penalty-{size}", PENALTY, f"{float(size):,.0f} weights", ours, peers, agree, note=note)
        weights = (inputs.weights(f"penalty-{size}", (given, 36, 36, 5, 5)),) if given else ()
        value = Row(
            f"penalty-{size}-value", PENALTY, f"{float(size):,.0f} weights, the gradient with its value", dataclasses.replace(ours, number="with_value", also=()),
            tuple(dataclasses.replace(peer, number="with_value", also=()) for peer in peers),
            agreement.values("value") if given else None, note=note,
        )
        found.append(Batch((row, value), weights, rounds=1 if size == "1e8" and device == "cpu" else 0))
    return found + (package(quick) if device == "cpu" else [package_in_a_graph()])


def package_in_a_graph():
    """10⁷ weights of a PyTorch module, replayed from a CUDA graph with a λ_⊥ that may change in between."""
    script = ("{python}", "{peers}/penalty.py", "--weights", "1e7", "--limit", "5", "--repeats", "31", "--device", "{device}", "--graph", "--json", "--forms")
    peers = {"flat-compiled": "PyTorch, one flat index, torch.compile", "orbits-compiled": "PyTorch, orbit index, torch.compile"}
    checked = "as at 10⁶: the same code"
    theirs = tuple(Side(who, (*script, ",".join(peers)), {"form": form}, also=COMPILING, checked=checked) for form, who in peers.items())
    rows = []
    for form, words, compared in (("package", "the gradient", theirs), ("package-decoupled", "the decoupled step", ())):
        title = f"10,000,000 weights of a PyTorch module, by the Python package: {words}, in a CUDA graph"
        rows.append(Row(f"penalty-{form}-graph", PENALTY, title, Side("reynolds", (*script, form), {"form": form}), compared))
    return Batch(tuple(rows))


def package(quick):
    """The Python package in a PyTorch loop: 10⁷ weights, and 60 small layers, where calls take longer than arithmetic."""
    forms = {
        "closed": "PyTorch, layer by layer, closed form",
        "flat-compiled": "PyTorch, one flat index, torch.compile",
        "orbits-compiled": "PyTorch, orbit index, torch.compile",
    }
    large = "1e6" if quick else "1e7"
    sizes = {
        "penalty-package": (f"{float(large):,.0f} weights of a PyTorch module, by the Python package", ("--weights", large)),
        "penalty-package-60": ("60 layers 4 → 4, 1 × 1, of a PyTorch module, by the Python package", ("--weights", "960", "--channels", "4", "--kernel", "1")),
    }
    found = []
    for name, (title, what) in sizes.items():
        script = ("{python}", "{peers}/penalty.py", *what, "--limit", "5", "--repeats", "5" if quick else "31", "--threads", "{threads}", "--json", "--forms")
        ours, checked = Side("reynolds", (*script, "package"), {"form": "package"}), "as at 10⁷: the same code"
        peers = tuple(Side(who, (*script, ",".join(forms)), {"form": form}, also=COMPILING, checked=checked) for form, who in forms.items())
        found.append(Batch((Row(name, PENALTY, title, ours, peers),)))
    return found


def metrics(quick):
    count, side = (2, 64) if quick else (32, 256)
    more = ("--images", "{work}/slices.npz", "--repeats", "3", "--threads", "{threads}", "--json")
    ours = Side("reynolds", ("{reynolds}", "bench", "metrics", *more))
    peer = Side("scikit-image", ("{python}", "{peers}/metrics_skimage.py", *more))
    title = f"PSNR and SSIM of {count} slices of {side}², as the CT experiment has them, 1 thread"
    row = Row("metrics", METRICS, title, ours, (peer,), agreement.values("psnr", "ssim"))
    return [Batch((row,), (inputs.images("slices", count, side),), threads=1)]


def audits(quick):
    layers = 4 if quick else inputs.LAYERS
    name, weights = f"checkpoint-{layers}", layers * 512 * 512 * 9
    file = f"{{work}}/{name}.safetensors"
    script = ("{python}", "{peers}/audit_torch.py", file, "--threads", "{threads}", "--json")
    ours = process("reynolds", "{reynolds}", "audit", file, "--group", "C4", "--fields", "trivial", "--json")
    peers = (
        process("PyTorch, the process", *script),
        Side("PyTorch, without its start", script, {"row": "audit"}),
        Side("PyTorch summing the file, without its start", (*script, "--sum"), {"row": "sum"}, reference=True),
    )
    title = f"{weights * 4 / 1e6:.0f} MB of f32 under C4, {layers} layers, the process"
    note = (
        "Both read the file from the page cache. reynolds reports energies, chance, isotypic parts and worst-case defects, the script energies alone; "
        "its memory is mostly the mapped file."
    )
    memory = Row(
        "audit-400mb-memory", AUDIT, "– its peak memory", process("reynolds", *ours.command, number="memory_mib"),
        (process("PyTorch", *script, number="memory_mib"),), unit="MiB",
    )
    row = Row("audit-400mb", AUDIT, title, ours, peers, agreement.energies, note=note)
    return [Batch((row, memory), (inputs.checkpoint(name, layers),), warm=True)]


def simulations():
    """309 frames are kept of the 310 that are simulated; PhiFlow simulates as many as it is asked for."""
    command = ("{reynolds}", "data", "smoke", "--kind", "rotation", "--simulation", "rotation_k05_j0", "--out", "{fresh}", "--threads", "1")
    ours = process("reynolds", *command, scale=1 / 310)
    there = ("{python}", "{peers}/smoke_phiflow.py", "--frames", "50", "--out", "{fresh}/rotation_k05_j0.npz", "--json")
    peer = Side("PhiFlow 2.1.4 on NumPy", there, venv="phiflow")
    title = "rising smoke, 64², rotation k = 5: a frame (ours: the process over its 310 frames, the file written)"
    agree = agreement.arrays("rotation_k05_j0.npz", "velocity", lambda frames: frames[49])
    note = (
        "Ours is the mean over all 310 frames, process and file included; PhiFlow's over its first 51, without its start or the file. "
        "The largest difference is that of the velocity at frame 50, over the largest velocity."
    )
    return [Batch((Row("smoke-simulation", SMOKE, title, ours, (peer,), agree, note=note),), threads=1)]


def startup(quick):
    audit = ("{reynolds}", "audit", "{work}/small.safetensors", "--group", "C4", "--fields", "trivial")
    small = ("{python}", "{peers}/audit_torch.py", "{work}/small.safetensors", "--threads", "{threads}")
    torch = process("python -c 'import torch'", "{python}", "-c", "import torch")
    escnn = process("python -c 'import escnn.nn'", "{python}", "-c", "import escnn.nn")
    script = process("PyTorch, the same file", *small)
    note = "Whole processes, files in the page cache. `reynolds --version` loads no libtorch; `reynolds run list` does."

    def row(name, title, command, *peers):
        return Row(f"startup-{name}", STARTUP, title, process("reynolds", *command), peers, note=note)

    rows = (
        row("version", "`reynolds --version`", ("{reynolds}", "--version"), torch, escnn),
        row("audit", "`reynolds audit` of a small file", audit, script, torch),
        row("list", "`reynolds run list`, which loads libtorch", ("{reynolds}", "run", "list"), torch, escnn),
    )
    return [Batch(rows, (inputs.checkpoint("small", 2, (16, 16, 3, 3)),), rounds=1 if quick else 11, warm=True)]


def clones():
    """Minutes and gigabytes: only with --clone, once."""
    script = ("bash", "{peers}/first_result.sh")
    projection = process("reynolds", *script, "reynolds-projection", "{fresh}")
    audit = process("reynolds", *script, "reynolds-audit", "{fresh}")
    peers = (
        process("symm-learning: venv, pip, a projection", *script, "symm-learning", "{fresh}"),
        process("escnn: venv, pip, a layer", *script, "escnn", "{fresh}"),
    )
    note = "cargo's registry and pip's cache as they are on the machine: little is downloaded. One run each. No peer audits a checkpoint."
    rows = (
        Row("clone-projection", CLONE, "clone and `make demo-project` in an empty folder, to its projections", projection, peers, note=note),
        Row("clone", CLONE, "clone and `make demo-audit` in an empty folder, to its audit tables", audit, (), note=note),
    )
    return [Batch(rows, rounds=1, clone=True)]
