"""The projection penalty on a stack of convolutions between regular fields of C4, in plain PyTorch: value and gradient, one row a form.

    python penalty.py --weights 1e6,1e7,1e8 --device cpu --json
    python penalty.py --weights-file in.npz --out gradient.npz --forms tape,flat --repeats 3
    python penalty.py --weights 1e5 --check

    penalty  λ_G ‖P(W)‖² + λ_⊥ ‖W − P(W)‖², summed over layers [channels, channels, kernel, kernel];  gradient  2λ_G P(W) + 2λ_⊥ (W − P(W))

Forms: tape, layer by layer as one would write it (rot90 and roll, mean, one backward pass for all); closed, layer by layer, the gradient
written down and added to each parameter's; stacked, the closed form on one tensor of all layers, which equal layers alone allow; flat, one
index for all layers, closed form added to a flat gradient; flat-tape, the same index on the tape; orbits, what reynolds does: the members of each
orbit gathered, their mean, and that gathered back, closed form; flat-compiled and orbits-compiled, those by torch.compile, which fuses what it
can (`compile_seconds`, of both functions, are not in the others; less where its cache has them); package, our Python package on a module, and
package-decoupled, its step of its own. --graph replays the gradient from a CUDA graph, for the package with a λ_⊥ that lies on the device. `seconds` is the gradient alone, `with_value` both; the tape has no gradient
without a value. --check compares the gradients and values of the forms instead of timing them. Channel 4p + α of a regular field is its
orientation α. --weights-file has an array `weights` [layers, c, c, k, k], and --out takes `gradient` of the last form. Beside them a step of
Adam on as many numbers and a copy of them. Needs torch and NumPy only.
"""

import argparse
import gc
import json
import pathlib
import statistics
import time

import report

try:
    import numpy
    import torch
except ImportError as error:
    MISSING = str(error)
else:
    MISSING = None

LAMBDA_G, LAMBDA_PERP = 1e-3, 1e-1
"""Those of `reynolds bench penalty`."""

BYTES = {"tape": 40, "closed": 12, "stacked": 24, "flat": 48, "flat-tape": 60, "orbits": 40, "flat-compiled": 48, "orbits-compiled": 40, "package": 12, "package-decoupled": 12}
"""Bytes a weight that a form has in use at most, weights and gradient included (measured at 1e7 on the CPU, rounded up)."""


def turned(weight, r):
    """Kernels [..., 4p, 4q, k, k] turned r times: orientations and points."""
    *more, out, into, height, width = weight.shape
    fields = weight.reshape(*more, out // 4, 4, into // 4, 4, height, width)
    return fields.roll((r, r), (-5, -3)).rot90(r, (-2, -1))


def turned_mean(weight):
    """P: the mean of the four turns."""
    return (sum(turned(weight, r) for r in range(4)) / 4).reshape(weight.shape)


def energy(part):
    return (part * part).sum()


def add_slope(gradient, weight, projected):
    """gradient += 2λ_G P(W) + 2λ_⊥ (W − P(W))."""
    gradient.add_(weight, alpha=2 * LAMBDA_PERP).add_(projected, alpha=2 * (LAMBDA_G - LAMBDA_PERP))


def penalty(weight, projected):
    return LAMBDA_G * energy(projected) + LAMBDA_PERP * energy(weight - projected)


class Tape:
    """Layer by layer on the tape."""

    tape, compiled = True, False

    def __init__(self, weights):
        self.layers = [layer.clone().requires_grad_() for layer in weights]
        for layer in self.layers:
            layer.grad = torch.zeros_like(layer)

    def __call__(self):
        value = 0
        for weight in self.layers:
            value = value + penalty(weight, turned_mean(weight))
        value.backward()
        return value.detach()

    def gradient(self):
        return torch.stack([layer.grad for layer in self.layers])


class Closed:
    """Layer by layer, closed form."""

    tape, compiled = False, False

    def __init__(self, weights):
        self.weights, self.gradients = weights, torch.zeros_like(weights)

    def __call__(self, wanted=True):
        value = 0
        for weight, gradient in zip(self.weights, self.gradients):
            projected = turned_mean(weight)
            add_slope(gradient, weight, projected)
            if wanted:
                value = value + penalty(weight, projected)
        return value

    def gradient(self):
        return self.gradients


class Stacked(Closed):
    """The closed form on all layers at once."""

    def __call__(self, wanted=True):
        projected = turned_mean(self.weights)
        add_slope(self.gradients, self.weights, projected)
        return penalty(self.weights, projected) if wanted else 0


class Flat:
    """One index of the four turns of every number, closed form."""

    tape, compiled = False, False

    def __init__(self, weights):
        self.shape, self.flat = weights.shape, weights.reshape(-1)
        self.gradients = torch.zeros_like(self.flat)
        numbers = torch.arange(len(self.flat), dtype=torch.int32, device=weights.device)
        self.index = torch.empty(4, len(self.flat), dtype=torch.int32, device=weights.device)
        for r in range(4):
            self.index[r] = turned(numbers.reshape(weights.shape), r).reshape(-1)
        self.index = self.index.reshape(-1)

    def project(self, flat):
        return flat.index_select(0, self.index).reshape(4, -1).mean(0)

    def __call__(self, wanted=True):
        projected = self.project(self.flat)
        add_slope(self.gradients, self.flat, projected)
        return penalty(self.flat, projected) if wanted else 0

    def gradient(self):
        return self.gradients.reshape(self.shape)


class FlatTape(Flat):
    """The same index, on the tape."""

    tape = True

    def __init__(self, weights):
        super().__init__(weights)
        self.flat = self.flat.clone().requires_grad_()
        self.flat.grad = self.gradients

    def __call__(self):
        value = penalty(self.flat, self.project(self.flat))
        value.backward()
        return value.detach()

    def gradient(self):
        return self.flat.grad.reshape(self.shape)


class Orbits(Flat):
    """The four members of each orbit gathered, their mean gathered back, closed form."""

    def __init__(self, weights):
        self.shape, self.flat = weights.shape, weights.reshape(-1)
        self.gradients = torch.zeros_like(self.flat)
        numbers = torch.arange(len(self.flat), dtype=torch.int32, device=weights.device)
        turn = lambda r: turned(numbers.reshape(weights.shape), r).reshape(-1)  # noqa: E731
        first = numbers.clone()
        for r in range(1, 4):
            torch.minimum(first, turn(r), out=first)
        alone = first == numbers  # one number of each orbit; all have four, as the orientations are turned too
        self.members = torch.cat([turn(r)[alone] for r in range(4)])
        self.orbit = (alone.cumsum(0, dtype=torch.int32) - 1).index_select(0, first)

    def project(self, flat):
        return flat.index_select(0, self.members).reshape(4, -1).mean(0).index_select(0, self.orbit)


class Package(Closed):
    """Our own Python package, on the parameters of a module."""

    step = "gradient"

    def __init__(self, weights):
        import reynolds

        out, kernel = weights.shape[1], weights.shape[-1]
        self.model = torch.nn.ModuleList(torch.nn.Conv2d(out, out, kernel, bias=False, device=weights.device) for _ in weights)
        for layer, values in zip(self.model, weights):
            layer.weight.data.copy_(values)
            layer.weight.grad = torch.zeros_like(layer.weight)
        on_device = weights.is_cuda
        strengths = {"lambda_g": LAMBDA_G, "lambda_perp": weights.new_tensor(LAMBDA_PERP, dtype=torch.float64) if on_device else LAMBDA_PERP}
        self.penalty = reynolds.Penalty(self.model, reynolds.Plan.uniform("C4", "regular"), step=self.step, **strengths)
        self.rate = weights.new_tensor(1e-9, dtype=torch.float64) if on_device else 1e-9

    def __call__(self, wanted=True):
        self.penalty.add_grad_()
        return self.penalty.value() if wanted else 0

    def gradient(self):
        return torch.stack([layer.weight.grad for layer in self.model])


class PackageDecoupled(Package):
    """The same, its step in place of the gradient."""

    step = "decoupled"

    def __call__(self, wanted=True):
        self.penalty.step_(self.rate)
        return self.penalty.value() if wanted else 0


class Compiled:
    """A form by torch.compile; both of its functions are compiled when it is first called."""

    tape, compiled = False, True

    def __init__(self, form):
        self.form, self.fused = form, torch.compile(form.__call__, dynamic=False, fullgraph=True)

    def __call__(self, wanted=True):
        return self.fused(wanted=wanted)

    def gradient(self):
        return self.form.gradient()


FORMS = {
    "tape": Tape,
    "closed": Closed,
    "stacked": Stacked,
    "flat": Flat,
    "flat-tape": FlatTape,
    "orbits": Orbits,
    "flat-compiled": lambda weights: Compiled(Flat(weights)),
    "orbits-compiled": lambda weights: Compiled(Orbits(weights)),
    "package": Package,
    "package-decoupled": PackageDecoupled,
}


def timed(call, options, wait):
    """Median seconds of a call, in ten groups that are waited for, and how many there were: fewer where time runs out, three at least."""
    for _ in range(2):
        call()
    group = -(-options.repeats // 10)
    times, begin = [], time.perf_counter()
    while len(times) * group < options.repeats and (len(times) < 3 or time.perf_counter() - begin < options.limit):
        wait()
        start = time.perf_counter()
        for _ in range(group):
            call()
        wait()
        times.append((time.perf_counter() - start) / group)
    return statistics.median(times), len(times) * group


def scale(weights, options, wait):
    """Seconds of a step of Adam on as many numbers, and of a copy."""
    flat = torch.nn.Parameter(weights.reshape(-1).clone())
    flat.grad = torch.zeros_like(flat)
    adam = torch.optim.Adam([flat], lr=1e-9)
    step, _ = timed(adam.step, options, wait)
    target = torch.empty_like(weights)
    copy, _ = timed(lambda: target.copy_(weights), options, wait)
    return {"adam_seconds": step, "copy_seconds": copy}


def stack(options, count):
    """Random kernels, as many as make `count` numbers."""
    shape = options.channels, options.channels, options.kernel, options.kernel
    layers = max(1, round(count / (shape[0] * shape[1] * shape[2] * shape[3])))
    torch.manual_seed(1)
    weights = torch.empty(layers, *shape, device=options.device)
    return weights.normal_(std=(2 / (shape[1] * shape[2] * shape[3])) ** 0.5)


def given(options):
    weights = numpy.load(options.weights_file)["weights"].astype(numpy.float32)
    return torch.from_numpy(weights).to(options.device)


def measure(name, weights, options, wait):
    """One form on one size."""
    names = {"row": f"penalty/{weights.numel()}", "who": f"PyTorch {torch.__version__}, {name}", "form": name, "weights": weights.numel()}
    needed = BYTES[name] * weights.numel()
    if options.device == "cpu" and needed > options.memory * 1e9:
        return names | {"missing": f"not run: memory (about {needed / 1e9:.0f} GB)"}
    begin = time.perf_counter()
    form = FORMS[name](weights)
    wait()
    build = time.perf_counter() - begin
    begin = time.perf_counter()
    try:
        value = float(form())
    except RuntimeError as error:
        if not form.compiled:
            raise
        return names | {"missing": report.cannot_compile(error)}
    gradient = form.gradient().cpu().numpy().copy() if options.out else None
    if form.compiled:
        form(wanted=False)
        wait()
        names["compile_seconds"] = time.perf_counter() - begin
    if options.out:
        numpy.savez(options.out, gradient=gradient)
    with_value, repeats = timed(form, options, wait)
    alone = (lambda: form()) if form.tape else (lambda: form(wanted=False))
    if options.graph:
        alone = report.graphed(alone)
    seconds = with_value if form.tape and not options.graph else timed(alone, options, wait)[0]
    more = {"with_value": with_value, "build_seconds": build, "repeats": repeats, "device": options.device, "threads": torch.get_num_threads()}
    return names | {"seconds": seconds, "value": value} | more | {"versions": report.versions("torch")}


def check(weights, forms):
    """The largest differences of the gradients and values of forms from those of the tape, over the largest; or SystemExit."""
    tape = Tape(weights)
    value, slope = float(tape()), tape.gradient()
    for name in forms:
        form = FORMS[name](weights)
        off = abs(float(form()) / value - 1), float((form.gradient() - slope).abs().max() / slope.abs().max())
        print(f"{name:<10} value {off[0]:.0e}, gradient {off[1]:.0e}", flush=True)
        if not max(off) < 1e-5:
            raise SystemExit(f"{name}: expected the gradient and value of tape, found others")


def show(found, options):
    if options.json:
        print(json.dumps(found), flush=True)
    elif "missing" in found:
        print(f"{found['weights']:>11,} {found['form']:<10} {found['missing']}", flush=True)
    else:
        times = f"{found['seconds'] * 1e3:>12.3f} ms   Adam {found['adam_seconds'] * 1e3:.3f} ms   copy {found['copy_seconds'] * 1e3:.3f} ms"
        print(f"{found['weights']:>11,} {found['form']:<10} {times}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--weights", default="1e6", help="sizes, with commas between them")
    parser.add_argument("--weights-file", type=pathlib.Path, help="an .npz instead")
    parser.add_argument("--out", type=pathlib.Path, help="an .npz for the gradient")
    parser.add_argument("--forms", default=",".join(name for name in FORMS if not name.startswith("package")), help="some of them, with commas between them")
    parser.add_argument("--channels", type=int, default=36)
    parser.add_argument("--kernel", type=int, default=5)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--repeats", type=int, default=31)
    parser.add_argument("--limit", type=float, default=20.0, help="seconds for the calls of a row")
    parser.add_argument("--memory", type=float, default=12.0, help="GB on the CPU that a form may take")
    parser.add_argument("--threads", type=int, default=0, help="0: as PyTorch likes")
    parser.add_argument("--graph", action="store_true", help="the gradient without the value replayed from a CUDA graph")
    parser.add_argument("--check", action="store_true", help="compare the forms with the tape and time nothing")
    parser.add_argument("--json", action="store_true", help="one JSON object a row instead of text")
    options = parser.parse_args()
    forms = options.forms.split(",")
    for name in forms:
        if name not in FORMS:
            parser.error(f"--forms: expected some of {', '.join(FORMS)}, found {name}")
    if MISSING:
        for name in forms:
            print(json.dumps({"row": "penalty", "who": f"PyTorch, {name}", "form": name, "missing": MISSING}), flush=True)
        return
    if options.threads:
        torch.set_num_threads(options.threads)
    wait = torch.cuda.synchronize if options.device.startswith("cuda") else lambda: None
    sizes = [None] if options.weights_file else [float(size) for size in options.weights.split(",")]
    for size in sizes:
        weights = given(options) if size is None else stack(options, size)
        if options.check:
            check(weights, forms)
            continue
        beside = scale(weights, options, wait)
        for name in forms:
            gc.collect()
            show(measure(name, weights, options, wait) | beside, options)


if __name__ == "__main__":
    main()
