"""The rows of whole networks: training steps with and without the penalty, and the sample-based penalty beside the projection.

The sizes are small on a processor and those of the papers on a GPU. The commands are those of the *_side_by_side.py scripts. Standard
library only.
"""

import dataclasses
import types

import ct_side_by_side as ct
import medmnist_side_by_side as medmnist
import smoke_side_by_side as smoke
import so2_side_by_side as so2
from compare_row import COMPILING, Batch, Row, Side
from sides import PROCESS

TRAINING = "Training steps"
SAMPLE = "Sample-based versus projection penalty"
SO2_MODELS = 16
# Both networks are held against the same tensors of golden/, on small sizes; peers/README.md says by which test and script.
GOLDEN = "golden test"
COMPILED = ", torch.compile"
# How PyTorch hides launches on a GPU; compiled DICDNet fails with channels last in torch 2.11 (an assertion on strides), so that compiled
# networks of CT have the default layout.
FAST = {COMPILED: ("--compile",), f"{COMPILED} reduce-overhead": ("--compile", "reduce-overhead"), ", the whole step in a CUDA graph": ("--graph",)}


def kinds(cpu):
    """The kinds of PyTorch that are measured, and what is added to its name."""
    return {"default": "", "tuned": ", channels last"} if cpu else {"default": " as it comes", "tuned": ", channels last and cudnn.benchmark"}


def batches(quick, device, threads, compiled=False):
    """`compiled`: the networks of MedMNIST and CT also by torch.compile, PyTorch's layout else as it comes; minutes a network on a processor."""
    found = [] if device != "cpu" else [so2_batch(quick)]
    found += [smoke_batch(model, quick, device, threads) for model in ("rsteer-rotation", "rgroup-rotation")[: 1 if quick else 2]]
    found.append(medmnist_batch(quick, device, threads, compiled))
    return [*found, *ct_batches(quick, device, threads, compiled)]


def so2_batch(quick):
    """Both on one thread: ours would train a model a thread, PyTorch one model on all."""
    epochs = 4 if quick else 100  # evaluation at the end, of which we do more, is then a thirtieth
    rows = []
    scale = 1 / (SO2_MODELS * epochs)
    for form in ("literal", "collapsed")[: 1 if quick else 2]:
        for name, words, more in ((f"so2-{form}", "with", ()), (f"so2-{form}-plain", "without", ("--without-penalty",))):
            ours = Side("reynolds", (*so2.our_command("{bench-so2}", form, 1, epochs), *more), scale=scale)
            command = (*so2.their_command("{python}", form, 1, epochs), *more)
            peers = tuple(
                Side(who, (*command, *how), scale=scale, checked="not compared: each has its own random numbers")
                for who, how in (("PyTorch", ()), ("PyTorch, points innermost", ("--points-innermost",)))
            )
            title = f"SO(2) network {words} the penalty, 700 points, {form} form: a step (mean over {SO2_MODELS} models of {epochs} epochs, 1 thread)"
            rows.append(Row(name, TRAINING, title, ours, peers))
    return Batch(tuple(rows), threads=1)


def smoke_batch(model, quick, device, threads):
    rows = []
    cpu = device == "cpu"
    name = {"rsteer-rotation": "RSteer", "rgroup-rotation": "RGroup"}[model]
    sizes = "16 fields, batch 4" if cpu else "published size"
    for reg in (0, 1):
        commands = smoke.commands("{reynolds}", model, reg, device, 2 if quick else 4 if cpu else 10, threads, cpu)
        ours, default, tuned = (tuple(commands[kind]) for kind in ("ours", "default", "tuned"))
        checked = f"{GOLDEN} of the forecast"
        once = "PyTorch, kernels assembled once a step" + ("" if cpu else ", channels last")
        peers = [Side("PyTorch", default, checked=checked), Side(once, tuned, checked=checked)]
        if cpu:
            peers.append(Side(f"{once}, channels last", (*tuned, "--channels-last", "1"), checked=checked))
        else:
            # Kernels are assembled outside of what is compiled, once a step.
            peers += [Side(once + how, (*tuned, *more), also=COMPILING, checked=checked) for how, more in FAST.items()]
        title = f"smoke {name} (rotation, {sizes}, 64², 6 frames), {'with' if reg else 'without'} the penalty"
        rows.append(Row(f"smoke-{name.lower()}{'-penalty' if reg else ''}", TRAINING, title, Side("reynolds", ours, {}, "train_ms", 1e-3), tuple(peers)))
    return Batch(tuple(rows))


def medmnist_batch(quick, device, threads, compiled):
    cpu = device == "cpu"
    batch = 2 if cpu else 32
    options = types.SimpleNamespace(
        reynolds="{reynolds}", device=device, steps=1 if quick else 2 if cpu else 10, warmup=1 if cpu else 5, width=1 if cpu else 0,
        threads=threads, groups=["so3"], batches=[batch], precisions=["f32"], kinds=list(kinds(cpu)),
    )
    there = tuple(medmnist.their_command(options, ["ours-penalty", "ours", "escnn", "plain"]))

    def alone(kind, model, *more):
        """A process for one network in one layout."""
        return (*medmnist.their_command(types.SimpleNamespace(**vars(options) | {"kinds": [kind]}), [model]), *more, "--no-inference")

    fused = alone("default", "ours-penalty", "--compile")
    sizes = f"{'width 1' if cpu else 'published width'}, batch {batch} of 29³{'' if cpu else ', TF32'}"

    def ours(model, penalty=True):
        command = tuple(medmnist.our_command(options, model, "so3", "f32", penalty))
        return Side("reynolds", command, {}, "train_ms", 1e-3, ("peak_memory_mib",))

    def peers(who, model, more="", reference=False, checked=GOLDEN):
        for kind, name in kinds(cpu).items():
            where = {"model": model, "layout": medmnist.LAYOUTS[kind]}
            yield Side(who + name + more, there, where, "train_ms", 1e-3, ("peak_memory_mib",), reference, checked=checked)

    def fast(model, more="", checked=GOLDEN):
        """In the layout that runs best eagerly."""
        if not cpu:
            for how, words in FAST.items():
                command = alone("tuned", model, *words)
                yield Side(f"PyTorch, channels last{how}{more}", command, {"model": model}, "train_ms", 1e-3, COMPILING, checked=checked)

    tape = f"{GOLDEN} without the penalty"
    compiler = Side(f"PyTorch{COMPILED}, penalty on the tape", fused, {"model": "ours-penalty"}, "train_ms", 1e-3, COMPILING, checked=tape)
    rows = (
        Row(
            "medmnist-ours", TRAINING, f"MedMNIST ours (SO(3), {sizes}), with the penalty", ours("ours"),
            (
                *peers("PyTorch", "ours-penalty", ", penalty on the tape", checked=tape),
                *([compiler] if compiled and cpu else []),
                *fast("ours-penalty", ", penalty on the tape", tape),
            ),
        ),
        Row(
            "medmnist-ours-plain", TRAINING, f"MedMNIST ours (SO(3), {sizes}), without the penalty", ours("ours", False),
            (*peers("PyTorch", "ours"), *fast("ours")),
        ),
        Row(
            "medmnist-scnn", TRAINING, f"MedMNIST SO(3)-SCNN ({sizes})", ours("scnn"),
            (*peers("escnn's step", "escnn"), *peers("PyTorch", "plain", ", plain Conv3d of the same channels", True)),
        ),
    )
    return Batch(rows)


def ct_batches(quick, device, threads, compiled):
    """A process for each mode and side, so that their memory can be told apart."""
    cpu = device == "cpu"
    side, batch = (16 if quick else 32, 2) if cpu else (256, 4)
    options = types.SimpleNamespace(
        reynolds="{reynolds}", device=device, side=side, steps=1 if quick else 2 if cpu else 8, warmup=1 if cpu else 3, threads=threads
    )
    commands = {}
    for mode in ("plain", "sample", "penalty"):
        measured = [(mode, batch, "f32")]
        here = tuple(ct.our_command(options, "dicdnet", mode, "f32", [batch]))
        commands[mode] = {"reynolds": here}
        for kind, name in kinds(cpu).items():
            commands[mode]["PyTorch" + name] = tuple(ct.their_command(options, "dicdnet", measured, [kind], ["--no-inference"]))
    torches = ["PyTorch" + name for name in kinds(cpu).values()]

    def fast():
        for how, words in FAST.items() if not cpu else [(COMPILED, FAST[COMPILED])] if compiled else []:
            kind = "tuned" if "--graph" in words else "default"
            layout = ", channels last" if kind == "tuned" else ""
            command = ct.their_command(options, "dicdnet", [("plain", batch, "f32")], [kind], ["--no-inference"])
            yield Side(f"PyTorch{layout}{how}", (*command, *words), {"mode": "plain"}, "train_ms", 1e-3, COMPILING, checked=GOLDEN)

    where = f"DICDNet, batch {batch} of {side}²{'' if cpu else ', TF32'}"

    def step(who, mode, label="", reference=False):
        """Held against the same golden tensors as ours in the same mode."""
        where = {} if who == "reynolds" else {"mode": mode}
        return Side(label or who, commands[mode][who], where, "train_ms", 1e-3, (), reference, checked=GOLDEN)

    def memory(who, mode, label="", reference=False):
        found = {} if who == "reynolds" else {"mode": mode}, "peak_memory_mib"
        return Side(label or who, commands[mode][who], *(({"row": PROCESS}, "memory_mib") if cpu else found), 1.0, (), reference)

    def versus(number):
        """The same task by PyTorch; then another penalty, whose results are none to compare."""
        others = [number(who, "sample", f"{who}, sample-based") for who in ("reynolds", *torches)]
        return (
            *(number(who, "penalty", f"{who}, projection on the tape") for who in torches),
            *(dataclasses.replace(other, checked="") for other in others),
            number("reynolds", "plain", "reynolds without a penalty", True),
        )

    rows = (
        Row(
            "ct-dicdnet", TRAINING, f"CT {where}, without a penalty", step("reynolds", "plain"),
            (*(step(who, "plain") for who in torches), *fast()),
        ),
        Row("ct-dicdnet-penalty", SAMPLE, f"{where}: a step with the projection penalty", step("reynolds", "penalty"), versus(step)),
        Row(
            "ct-dicdnet-sample", SAMPLE, f"{where}: a step with the sample-based penalty", step("reynolds", "sample"),
            tuple(step(who, "sample") for who in torches),
        ),
        Row(
            "ct-dicdnet-memory", SAMPLE, f"{where}: {'peak memory of the process' if cpu else 'memory of the device'} with the projection penalty",
            memory("reynolds", "penalty"), versus(memory), unit="MiB",
        ),
    )
    return [Batch(rows)]
