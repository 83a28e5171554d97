"""Training steps and inference of ACDNet, DICDNet and OSCNet in plain PyTorch, on random slices; one row a line.

    python ct.py --network dicdnet --mode plain --batch 4 --side 256 --precision tf32 --layout default --device cuda:0 --json
    python ct.py --network oscnet --row plain:4:tf32:default --row plain:12:bf16:channels-last --device cuda:0 --json

A row is mode:batch:precision:layout; several go through one process, whose start costs more than a row. Modes: plain; sample, the penalty of
Bai et al. on a doubled batch; rpp, two convolutions (rpp-added: their kernels added first); penalty, the projection penalty as one would
write it (penalty-flat: in closed form for all layers at once). Memory is what a row adds on the device, and the context of an empty process;
kernels that an earlier row loaded are not counted again. "default" is PyTorch as it comes, "channels-last" has cudnn.benchmark too.
tf32 is PyTorch's default for convolutions, bf16 is autocast, bf16-pure casts the parameters themselves. Needs torch and NumPy only.
"""

import argparse
import contextlib
import gc
import json
import random
import subprocess
import time

import torch

import ct_networks as nets
import report

MODES = ("plain", "sample", "rpp", "rpp-added", "penalty", "penalty-flat")
PRECISIONS = ("tf32", "f32", "bf16", "bf16-pure")
LAYOUTS = ("default", "channels-last")
SAMPLE_WEIGHT = {"acdnet": 1e-6, "dicdnet": 1e-8, "oscnet": 1e-8}


def device_memory(device):
    """Mebibytes in use on the device by NVML, or by nvidia-smi where its package is missing."""
    number = torch.device(device).index or 0
    try:
        import pynvml
    except ImportError:
        command = ["nvidia-smi", "--query-gpu=memory.used", "--format=csv,noheader,nounits", f"--id={number}"]
        return float(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    pynvml.nvmlInit()
    return pynvml.nvmlDeviceGetMemoryInfo(pynvml.nvmlDeviceGetHandleByIndex(number)).used / 2**20


def build(name, mode, stages, blocks, responses="all"):
    conv = torch.nn.Conv2d
    if mode in ("rpp", "rpp-added"):
        def conv(*sizes, padding):
            return nets.PathwayConv(*sizes, padding, added=mode == "rpp-added")
    more = {"responses": responses} if name == "acdnet" else {}
    network = nets.NETWORKS[name](stages, blocks, conv, **more)
    found = sum(parameter.numel() for parameter in network.parameters())
    expected = (nets.RPP_COUNTS if "rpp" in mode else nets.COUNTS)[name]
    assert (stages, blocks) != (10, 3) or found == expected, f"{name}, {mode}: expected {expected} parameters, found {found}"
    return network, found


class Step:
    """One training step in a mode."""

    def __init__(self, network, call, mode, weight, strength):
        self.network, self.call, self.mode, self.weight, self.strength = network, call, mode, weight, strength
        self.sample = nets.SamplePenalty(network) if mode == "sample" else None

    def loss(self, batch, r):
        if self.mode == "sample":
            task, penalty = self.sample.loss(self.call, batch, r)
            return task + self.weight * penalty
        y, interpolated, keep, truth = batch
        loss = nets.loss_of(self.call(y, interpolated, keep), y, keep, truth)
        return loss + self.strength * nets.projection_penalty(self.network) if self.mode == "penalty" else loss

    def __call__(self, optimiser, batch, autocast):
        optimiser.zero_grad()
        with autocast():
            loss = self.loss(batch, random.randrange(4))
        loss.backward()
        if self.mode == "penalty-flat":
            nets.add_penalty_gradient(self.network, self.strength)
        optimiser.step()
        return loss.detach()


def slices(options, batch, dtype, memory):
    shape = batch, 1, options.side, options.side
    y, interpolated, truth = (255 * torch.rand(shape) for _ in range(3))
    keep = (torch.rand(shape) > 0.02).float()
    return [image.to(options.device, dtype).contiguous(memory_format=memory) for image in (y, interpolated, keep, truth)]


def measure(options, mode, batch_size, precision, layout, context):
    torch.manual_seed(0)
    random.seed(0)
    cuda = options.device.startswith("cuda")
    synchronise = torch.cuda.synchronize if cuda else lambda: None
    torch.backends.cudnn.benchmark = layout == "channels-last"
    torch.backends.cudnn.allow_tf32 = precision != "f32"
    memory = torch.channels_last if layout == "channels-last" else torch.contiguous_format
    before = device_memory(options.device) if cuda else 0.0
    network, parameters = build(options.network, mode, options.stages, options.blocks, options.responses)
    dtype = torch.bfloat16 if precision == "bf16-pure" else torch.float32
    network = network.to(options.device, dtype, memory_format=memory)
    batch = slices(options, batch_size, dtype, memory)
    more = ({"fused": True} if options.fused else {}) | ({"capturable": True} if options.graph else {})
    optimiser = torch.optim.Adam(network.parameters(), lr=2e-4, betas=(0.5, 0.999), **more)

    def autocast():
        on = torch.autocast(torch.device(options.device).type, torch.bfloat16)
        return on if precision == "bf16" else contextlib.nullcontext()

    if cuda:
        torch.cuda.reset_peak_memory_stats()
    call = report.compiled(network, options)
    step = Step(network, call, mode, SAMPLE_WEIGHT[options.network], options.strength)
    peak, compiling = 0.0, time.perf_counter()
    first = step(optimiser, batch, autocast).item()
    compiling = time.perf_counter() - compiling
    again = lambda: step(optimiser, batch, autocast)  # noqa: E731
    if options.graph:
        again = report.graphed(again)
    train = report.timed(again, options, synchronise)
    last = again().item()
    if cuda:  # what PyTorch has once taken it keeps
        peak = device_memory(options.device) - before + context
    infer = None
    if not options.no_inference:
        network.eval()

        def predict():
            with torch.no_grad(), autocast():
                call(*batch[:3])

        infer = report.timed(predict, options, synchronise)
    return {
        "program": "PyTorch",
        "architecture": options.network,
        "mode": mode,
        "batch": batch_size,
        "side": options.side,
        "precision": precision,
        "layout": layout,
        "compiled": bool(options.compile),
        "compile_mode": options.compile,
        "graph": options.graph,
        "device": options.device,
        "train_ms": train,
        "train_images_per_s": batch_size / train * 1e3,
        "inference_ms": infer,
        "inference_images_per_s": infer and batch_size / infer * 1e3,
        "peak_memory_mib": peak,
        "reserved_memory_mib": torch.cuda.max_memory_reserved() / 2**20 if cuda else 0,
        "parameters": parameters,
        "first_step_s": compiling,
        "first_loss": first,
        "last_loss": last,
        "steps": options.steps,
        "versions": report.versions("torch"),
    }


def rows(options):
    if not options.row:
        return [(options.mode, options.batch, options.precision, options.layout)]
    given = []
    for row in options.row:
        mode, batch, precision, layout = row.split(":")
        for value, allowed in ((mode, MODES), (precision, PRECISIONS), (layout, LAYOUTS)):
            if value not in allowed:
                raise SystemExit(f"--row {row}: expected one of {', '.join(allowed)}, found {value}")
        given.append((mode, int(batch), precision, layout))
    return given


def reason(error):
    return str(error).splitlines()[0] if isinstance(error, torch.OutOfMemoryError) else report.cannot_compile(error)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--network", choices=nets.NETWORKS, default="dicdnet")
    parser.add_argument("--row", action="append", help="mode:batch:precision:layout, any number of times")
    parser.add_argument("--mode", choices=MODES, default="plain")
    parser.add_argument("--batch", type=int, default=4)
    parser.add_argument("--precision", choices=PRECISIONS, default="tf32")
    parser.add_argument("--layout", choices=LAYOUTS, default="default")
    parser.add_argument("--side", type=int, default=256)
    parser.add_argument("--stages", type=int, default=10)
    parser.add_argument("--blocks", type=int, default=3)
    parser.add_argument("--responses", choices=("all", "sums"), default="all", help="of ACDNet: all 256, as published, or their sums alone")
    parser.add_argument("--strength", type=float, default=1.0, help="of the projection penalty")
    report.compiling(parser)
    parser.add_argument("--fused", action="store_true", help="the fused Adam; PyTorch's default is the other")
    parser.add_argument("--graph", action="store_true", help="the whole step, Adam included, in a CUDA graph, captured after the first; not timed")
    parser.add_argument("--no-inference", action="store_true")
    parser.add_argument("--steps", type=int, default=8)
    parser.add_argument("--warmup", type=int, default=3)
    parser.add_argument("--group-steps", type=int, default=2, help="steps between synchronisations")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--json", action="store_true", help="one JSON object a row instead of text")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    context = 0.0
    if options.device.startswith("cuda"):
        before = device_memory(options.device)
        torch.zeros(1, device=options.device)
        torch.cuda.synchronize()
        context = device_memory(options.device) - before
    for row in rows(options):
        try:
            found = measure(options, *row, context)
        except RuntimeError as error:
            if not (options.compile or isinstance(error, torch.OutOfMemoryError)):
                raise
            names = dict(zip(("mode", "batch", "precision", "layout"), row))
            found = {"program": "PyTorch", "architecture": options.network, **names, "error": reason(error)}
        gc.collect()
        if options.device.startswith("cuda"):
            torch.cuda.empty_cache()
        if options.json:
            print(json.dumps(found), flush=True)
        else:
            print("  ".join(f"{key} {value:.2f}" if isinstance(value, float) else f"{key} {value}" for key, value in found.items()), flush=True)


if __name__ == "__main__":
    main()
