"""Training steps and inference of the MedMNIST networks in plain PyTorch, on random volumes; one row a line.

    python medmnist.py --row cnn:so3:32:tf32:default --row escnn:so3:32:bf16:channels-last --device cuda:0 --json
    python medmnist.py --row plain:so3:2:tf32:default --width 1 --steps 1 --warmup 0

A row is model:group:batch:precision:layout; several go through one process, whose start costs more than a row. Models (medmnist_networks.py):

    cnn            dense convolutions with the activations of the SCNN
    plain          Conv3d with the channels of the SCNN, gates included
    escnn          escnn's step: basis expansion from its own tensors, conv, IID norm, gates, blurred pools; escnn-lean: without what it
                   copies and checks besides
    ours           dense convolutions at width 2; ours-penalty: with the projection penalty as one would write it, layer by layer on the tape,
                   ours-energies: the same by the sums of squares alone

"default" is PyTorch as it comes, "channels-last" has cudnn.benchmark too. tf32 is PyTorch's default for convolutions; f32 is without; bf16 and
fp16 are autocast, fp16 with scaled gradients. Needs torch and NumPy only.
"""

import argparse
import contextlib
import gc
import json
import time

import torch

import medmnist_networks as nets
import report

MODELS = ("cnn", "plain", "escnn", "escnn-lean", "ours", "ours-penalty", "ours-energies")
PRECISIONS = ("tf32", "f32", "bf16", "fp16")
LAYOUTS = ("default", "channels-last")
SIDE = 29
COUNTS = {("cnn", "so3", 11): 18_135_971, ("escnn", "so3", 11): 128_891, ("escnn", "o3", 11): 193_241, ("ours", "so3", 2): 2_035_066}


def build(model, group, options):
    name = model.split("-")[0]
    width = options.width or (2 if name == "ours" else 6)
    if name == "escnn":
        network = nets.Steerable(group, width, options.classes, literal=model == "escnn")
    else:
        network = (nets.Plain if name == "plain" else nets.Dense)(group, width, options.classes)
    found = nets.parameters(network)
    expected = None if options.width else COUNTS.get((name, group, options.classes))
    assert expected in (None, found), f"{model}: expected {expected} parameters, found {found}"
    return network, found


class Step:
    """One training step: forward, cross entropy, penalty, backward, Adam."""

    def __init__(self, network, call, penalty, precision, options):
        self.network, self.call, self.penalty = network, call, penalty
        device = options.device
        self.kind = torch.device(device).type
        self.dtype = {"bf16": torch.bfloat16, "fp16": torch.float16}.get(precision)
        self.scaler = torch.amp.GradScaler(self.kind) if precision == "fp16" else None
        self.optimiser = torch.optim.Adam(network.parameters(), lr=1e-4, capturable=options.graph)

    def autocast(self):
        return torch.autocast(self.kind, self.dtype) if self.dtype else contextlib.nullcontext()

    def __call__(self, volumes, labels):
        self.optimiser.zero_grad()
        with self.autocast():
            loss = torch.nn.functional.cross_entropy(self.call(volumes), labels)
        if self.penalty:
            loss = loss + self.penalty()
        if self.scaler:
            self.scaler.scale(loss).backward()
            self.scaler.step(self.optimiser)
            self.scaler.update()
        else:
            loss.backward()
            self.optimiser.step()
        return loss.detach()


def measure(options, model, group, batch, precision, layout):
    torch.manual_seed(0)
    cuda = options.device.startswith("cuda")
    synchronise = torch.cuda.synchronize if cuda else lambda: None
    torch.backends.cudnn.benchmark = layout == "channels-last"
    torch.backends.cudnn.allow_tf32 = precision != "f32"
    memory = torch.channels_last_3d if layout == "channels-last" else torch.contiguous_format
    begin = time.perf_counter()
    network, parameters = build(model, group, options)
    building = time.perf_counter() - begin
    network = network.to(options.device)
    for module in network.modules():
        if isinstance(module, torch.nn.Conv3d):
            module.to(memory_format=memory)
    penalty = None
    if model in ("ours-penalty", "ours-energies"):
        strengths = (options.lambda_g, options.lambda_perp)
        penalty = nets.Penalty(network, group, strengths, energies=model == "ours-energies").to(options.device)

    def volumes(count):
        return torch.randn(count, 1, SIDE, SIDE, SIDE, device=options.device).contiguous(memory_format=memory)

    inputs, labels = volumes(batch), torch.randint(options.classes, (batch,), device=options.device)
    if cuda:
        torch.cuda.reset_peak_memory_stats()
    call = report.compiled(network, options)
    step = Step(network, call, penalty, precision, options)
    compiling = time.perf_counter()
    first = step(inputs, labels).item()
    compiling = time.perf_counter() - compiling
    again = lambda: step(inputs, labels)  # noqa: E731
    if options.graph:
        again = report.graphed(again)
    train = report.timed(again, options, synchronise)
    last = again().item()
    peak = torch.cuda.max_memory_reserved() / 2**20 if cuda else 0.0
    infer, many = None, options.inference_batch or batch
    if not options.no_inference:
        with step.autocast():
            network.eval()
        others = volumes(many)

        def predict():
            with torch.no_grad(), step.autocast():
                call(others)

        infer = report.timed(predict, options, synchronise)
    return {
        "program": "PyTorch",
        "model": model,
        "group": group,
        "batch": batch,
        "precision": precision,
        "layout": layout,
        "compiled": bool(options.compile),
        "compile_mode": options.compile,
        "graph": options.graph,
        "device": options.device,
        "train_ms": train,
        "train_samples_per_s": batch / train * 1e3,
        "inference_batch": many,
        "inference_ms": infer,
        "inference_samples_per_s": infer and many / infer * 1e3,
        "peak_memory_mib": peak,
        "parameters": parameters,
        "build_s": building,
        "first_step_s": compiling,
        "first_loss": first,
        "last_loss": last,
        "steps": options.steps,
        "versions": report.versions("torch"),
    }


def rows(given):
    found = []
    for row in given:
        model, group, batch, precision, layout = row.split(":")
        for value, allowed in ((model, MODELS), (group, nets.DEGREES), (precision, PRECISIONS), (layout, LAYOUTS)):
            if value not in allowed:
                raise SystemExit(f"--row {row}: expected one of {', '.join(allowed)}, found {value}")
        found.append((model, group, int(batch), precision, layout))
    return found


def reason(error):
    return str(error).splitlines()[0] if isinstance(error, torch.OutOfMemoryError) else report.cannot_compile(error)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--row", action="append", required=True, help="model:group:batch:precision:layout, any number of times")
    parser.add_argument("--width", type=int, default=0, help="c; 0: 2 for ours, 6 for the others")
    parser.add_argument("--classes", type=int, default=2)
    parser.add_argument("--inference-batch", type=int, default=0, help="0: that of the row")
    parser.add_argument("--no-inference", action="store_true")
    parser.add_argument("--lambda-g", type=float, default=1e-3)
    parser.add_argument("--lambda-perp", type=float, default=1.0)
    report.compiling(parser)
    parser.add_argument("--graph", action="store_true", help="the whole step, Adam included, in a CUDA graph, captured after the first; not timed")
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--warmup", type=int, default=5)
    parser.add_argument("--group-steps", type=int, default=5, help="steps between synchronisations")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--json", action="store_true", help="one JSON object a row instead of text")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    for row in rows(options.row):
        try:
            found = measure(options, *row)
        except RuntimeError as error:
            if not (options.compile or isinstance(error, torch.OutOfMemoryError)):
                raise
            names = dict(zip(("model", "group", "batch", "precision", "layout"), row))
            found = {"program": "PyTorch", **names, "error": reason(error)}
        gc.collect()
        if options.device.startswith("cuda"):
            torch.cuda.empty_cache()
        if options.json:
            print(json.dumps(found), flush=True)
        else:
            print("  ".join(f"{key} {value:.2f}" if isinstance(value, float) else f"{key} {value}" for key, value in found.items()), flush=True)


if __name__ == "__main__":
    main()
