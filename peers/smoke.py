"""Training steps of four relaxed networks of the smoke experiment in plain PyTorch, as one would write them.

    rgroup-translation   y(p) = sum_r w_r(p) (psi_r * x + b_r)(p)
    rgroup-rotation      K[o,n; i,m](x) = sum_a w[n,a] psi_a[o,i,(m - n) mod 4](R_n^-1 x)
    rsteer-rotation      K(k) = sum_b w[o,b,i,k] K_b(k) at each position k of a 3x3 kernel, K_b a basis of C4-steerable kernels
    rsteer-scale         kappa_s(p) = sum_n w[o,i,n,p] psi_{n,s}(p), psi Hermite-Gauss functions at four scales s

Ten frames of two components go in (20 channels), the next one comes out; a step unrolls the network over --out-length frames,
sums the mean squared errors and takes one step of Adam. --reg 1 adds strength * sum over layers of |W - P(W)|^2, W the assembled
operator and P its projection onto what shared weights give. Needs torch and numpy only; the data are random.

Frames are [batch, channel, y, x], y growing with the row: a turn by +90 degrees is rot90(-1), (vx, vy) -> (-vy, vx), n -> n + 1.
"""

import argparse
import json
import math
import statistics
import time

import numpy
import torch
from torch import nn
from torch.nn import functional

import report

FRAMES = 10
DEFAULTS = {  # hidden, banks, batch
    "rgroup-translation": (128, 2, 8),
    "rgroup-rotation": (130, 3, 16),
    "rsteer-rotation": (92, 1, 16),
    "rsteer-scale": (48, 1, 8),
}
COUNTS = {  # parameters at five layers and a side of 64
    ("rgroup-translation", 128): 977_412,
    ("rgroup-rotation", 130): 5_630_100,
    ("rsteer-rotation", 92): 5_595_442,
    ("rsteer-scale", 40): 6_958_162,
    ("rsteer-scale", 48): 9_760_994,
}


# --- layers: `kernel` assembles, `forward` applies, `penalty` is |W - P(W)|^2, `share` makes the weights symmetric ------


class TranslationLayer(nn.Module):
    """R ordinary convolutions mixed by weights that depend on the place."""

    def __init__(self, inputs, outputs, banks, side):
        super().__init__()
        self.convolutions = nn.Conv2d(inputs, banks * outputs, 3, padding=1)
        self.mixing = nn.Parameter(torch.full((banks, 1, side, side), 1 / banks))

    def kernel(self):
        return self.convolutions.weight

    def forward(self, x, kernel):
        y = functional.conv2d(x, kernel, self.convolutions.bias, padding=1)
        return (y.unflatten(1, (len(self.mixing), -1)) * self.mixing).sum(1)

    def penalty(self, kernel):
        banks = len(self.mixing)
        filters = torch.cat([kernel.reshape(banks, -1), self.convolutions.bias.reshape(banks, -1)], 1)
        deviation = (self.mixing - self.mixing.mean((2, 3), keepdim=True)).reshape(banks, -1)
        return ((deviation @ deviation.T) * (filters @ filters.T)).sum()

    def share(self):
        self.mixing.data[:] = self.mixing.data.mean((2, 3), keepdim=True)


def turn(kernel, codomain, domain):
    """One quarter turn of a kernel [out, in, k, k]; a field of 4 channels is regular, one of 2 is a vector."""
    turned = kernel.rot90(-1, (2, 3))
    for axis, size in enumerate((codomain, domain)):
        fields = turned.unflatten(axis, (-1, size))
        if size == 4:
            fields = fields.roll(1, axis + 1)
        else:  # (vx, vy) -> (-vy, vx)
            x, y = fields.unbind(axis + 1)
            fields = torch.stack([-y, x], axis + 1)
        turned = fields.flatten(axis, axis + 1)
    return turned


def off_average(kernel, codomain, domain):
    """|K - P(K)|^2 with P the mean over the four turns."""
    turned, total = kernel, kernel
    for _ in range(3):
        turned = turn(turned, codomain, domain)
        total = total + turned
    return (kernel - total / 4).square().sum()


class RotationLayer(nn.Module):
    """A group convolution over C4 between regular fields, its filters mixed by weights that depend on the rotation."""

    def __init__(self, inputs, outputs, banks):
        super().__init__()
        bound = 1 / math.sqrt(inputs * 9)
        self.filters = nn.Parameter(torch.empty(banks, outputs, inputs, 4, 3, 3).uniform_(-bound, bound))
        self.mixing = nn.Parameter(torch.full((4, banks), 1 / (4 * banks)))

    def kernel(self):
        mixed = torch.einsum("na,aoimyx->noimyx", self.mixing, self.filters)
        turned = [mixed[n].roll(n, 2).rot90(-n, (3, 4)) for n in range(4)]
        return torch.stack(turned, 1).flatten(2, 3).flatten(0, 1)

    def forward(self, x, kernel):
        return functional.conv2d(x, kernel, padding=1)

    def penalty(self, kernel):
        return off_average(kernel, 4, 4)

    def share(self):
        self.mixing.data[:] = self.mixing.data.mean(0)


def steerable_basis(codomain, domain):
    """An orthonormal basis [b, codomain, domain, 9] of the band-limited C4-steerable 3x3 kernels between two fields."""
    y, x = numpy.mgrid[-1:2, -1:2]
    radius, angle = numpy.hypot(x, y), numpy.arctan2(y, x)
    ring = numpy.exp(-((radius - 1) ** 2) / (2 * 0.4**2))
    centre = numpy.exp(-(radius**2) / (2 * 0.005**2))
    away = (radius > 0) * ring
    waves = [wave(m * angle) * away for m in (1, 2) for wave in (numpy.cos, numpy.sin)]
    functions = numpy.stack([centre, ring, *waves])
    units = numpy.eye(codomain * domain).reshape(-1, codomain, domain, 1, 1)
    kernels = torch.from_numpy((units[:, None] * functions[:, None, None]).reshape(-1, codomain, domain, 3, 3))
    average = torch.zeros_like(kernels)
    for number, kernel in enumerate(kernels):
        for _ in range(4):
            average[number] += kernel / 4
            kernel = turn(kernel, codomain, domain)
    _, lengths, directions = torch.linalg.svd(average.flatten(1), full_matrices=False)
    kept = directions[lengths > 1e-6 * lengths[0]]
    return kept.view(-1, codomain, domain, 9)


class SteerableLayer(nn.Module):
    """A C4-steerable convolution, its coefficients free at each position of the kernel."""

    def __init__(self, inputs, outputs, domain, codomain):
        super().__init__()
        self.sizes = codomain, domain
        self.register_buffer("basis", steerable_basis(codomain, domain).to(torch.get_default_dtype()))
        bound = 1 / math.sqrt(9 * inputs)
        self.mixing = nn.Parameter(torch.empty(outputs, len(self.basis), inputs, 9).uniform_(-bound, bound))
        self.bias = nn.Parameter(torch.zeros(outputs * codomain))

    def kernel(self):
        kernel = torch.einsum("obik,bvwk->oviwk", self.mixing, self.basis)
        return kernel.flatten(2, 3).flatten(0, 1).unflatten(2, (3, 3))

    def forward(self, x, kernel):
        return functional.conv2d(x, kernel, self.bias, padding=1)

    def penalty(self, kernel):
        return off_average(kernel, *self.sizes)

    def share(self):
        self.mixing.data[:] = self.mixing.data.mean(3, keepdim=True)
        fields = self.bias.data.view(-1, self.sizes[0])
        fields[:] = fields.mean(1, keepdim=True) if self.sizes[0] == 4 else 0  # no vector is invariant


def hermite_gauss(scales=(1, 1.5, 2, 2.5), size=5, orders=7):
    """The functions psi_{n,s} on size x size points, [orders^2, scales, size^2]; n = (n_x, n_y), n_y fastest."""
    half = size // 2
    functions = numpy.zeros((orders, orders, len(scales), size, size))
    for number, scale in enumerate(scales):
        reach = int(size * scale / max(scales)) // 2
        points = numpy.arange(-reach, reach + 1) / scale
        polynomials = numpy.polynomial.hermite_e.hermevander(points, orders - 1).T
        line = polynomials * numpy.exp(-(points**2) / 2) / scale
        inside = slice(half - reach, half + reach + 1)
        functions[:, :, number, inside, inside] = numpy.einsum("ax,by->abyx", line, line)
    functions /= numpy.sqrt((functions[:, :, :1] ** 2).sum((3, 4), keepdims=True))
    return torch.from_numpy(functions.reshape(orders**2, len(scales), size**2))


class ScaleLayer(nn.Module):
    """A convolution inside each of the scales, its coefficients free at each position of the kernel."""

    def __init__(self, inputs, outputs, scales, lifts):
        super().__init__()
        self.groups = 1 if lifts else scales
        self.register_buffer("basis", hermite_gauss((1, 1.5, 2, 2.5)[:scales]).to(torch.get_default_dtype()))
        self.mixing = nn.Parameter(torch.empty(outputs, inputs, len(self.basis), 25))
        # Kaiming-uniform of slope sqrt(5) / 25 and the fan in of a [out, in, functions, positions] tensor.
        nn.init.kaiming_uniform_(self.mixing, a=math.sqrt(5) / 25)
        self.bias = nn.Parameter(torch.zeros(outputs))

    def kernel(self, mixing=None):
        mixing = self.mixing if mixing is None else mixing
        kernel = torch.einsum("oinp,nsp->soip", mixing, self.basis)
        return kernel.flatten(0, 1).unflatten(2, (5, 5))

    def forward(self, x, kernel):
        channels = self.groups * kernel.shape[1]
        bias = self.bias.repeat(self.basis.shape[1])
        return functional.conv2d(x[:, :channels], kernel, bias, padding=2, groups=self.groups)

    def penalty(self, kernel):
        shared = self.mixing.mean(3, keepdim=True).expand_as(self.mixing)
        return (kernel - self.kernel(shared)).square().sum()

    def share(self):
        self.mixing.data[:] = self.mixing.data.mean(3, keepdim=True)


# --- the network, the step -------------------------------------------------------------------------------------------


class Network(nn.Module):
    """Layers with ReLU between them, from ten frames to the next."""

    def __init__(self, model, hidden, layers, banks, side):
        super().__init__()
        self.lifts = model == "rgroup-rotation"
        vectors = "rotation" in model
        widths = [FRAMES, *[hidden] * (layers - 1), 1] if vectors else [2 * FRAMES, *[hidden] * (layers - 1), 2]
        self.layers = nn.ModuleList()
        for number, (inputs, outputs) in enumerate(zip(widths, widths[1:])):
            first, last = number == 0, number == layers - 1
            if model == "rgroup-translation":
                layer = TranslationLayer(inputs, outputs, banks, side)
            elif model == "rgroup-rotation":
                layer = RotationLayer(inputs, outputs, banks)
            elif model == "rsteer-rotation":
                layer = SteerableLayer(inputs, outputs, 2 if first else 4, 2 if last else 4)
            else:
                layer = ScaleLayer(inputs, outputs, 1 if last else 4, first)
            self.layers.append(layer)

    def kernels(self):
        return [layer.kernel() for layer in self.layers]

    def forward(self, x, kernels=None):
        if self.lifts:  # f(n) = v . e_n, e_n = (1, 0), (0, 1), (-1, 0), (0, -1)
            vectors = x.unflatten(1, (-1, 2))
            x = torch.cat([vectors, -vectors], 2).flatten(1, 2)
        for number, layer in enumerate(self.layers):
            x = layer(x, layer.kernel() if kernels is None else kernels[number])
            if number < len(self.layers) - 1:
                x = functional.relu(x)
        if self.lifts:  # v = sum over n of f(n) e_n
            x = x[:, :2] - x[:, 2:]
        return x

    def penalty(self, kernels=None):
        kernels = self.kernels() if kernels is None else kernels
        return sum(layer.penalty(kernel) for layer, kernel in zip(self.layers, kernels))


def rollout(network, frames, targets, kernels):
    """The sum over time of the mean squared errors, each prediction fed back as the newest frame."""
    loss = 0
    for target in targets.unbind(1):
        prediction = network(frames, kernels)
        loss = loss + functional.mse_loss(prediction, target)
        frames = torch.cat([frames[:, 2:], prediction], 1)
    return loss


def train_step(network, call, optimiser, frames, targets, options):
    optimiser.zero_grad()
    kernels = network.kernels() if options.assemble == "once" else None
    loss = rollout(call, frames, targets, kernels)
    if options.reg:
        loss = loss + options.strength * network.penalty(kernels)
    loss.backward()
    optimiser.step()
    return loss.detach()


def measure(options):
    torch.manual_seed(0)
    cuda = options.device.startswith("cuda")
    memory = torch.channels_last if options.channels_last else torch.contiguous_format
    network = Network(options.model, options.hidden, options.layers, options.banks, options.side)
    network = network.to(options.device, memory_format=memory)
    optimiser = torch.optim.Adam(network.parameters(), lr=1e-3, weight_decay=4e-4, capturable=options.graph)
    shape = options.batch, 2 * FRAMES, options.side, options.side
    frames = torch.randn(shape, device=options.device).contiguous(memory_format=memory)
    targets = torch.randn(options.batch, options.out_length, 2, *shape[2:], device=options.device)
    synchronise = torch.cuda.synchronize if cuda else lambda: None
    call = report.compiled(network, options)
    step = lambda: train_step(network, call, optimiser, frames, targets, options)  # noqa: E731
    first = step().item()
    if options.graph:
        step = report.graphed(step)
    times = []
    for number in range(options.warmup + options.steps):
        if cuda and number == options.warmup:
            torch.cuda.reset_peak_memory_stats()
        synchronise()
        start = time.perf_counter()
        loss = step()
        synchronise()
        times.append(time.perf_counter() - start)
    seconds = statistics.median(times[options.warmup :])
    result = {
        "row": f"PyTorch: {options.model}, hidden {options.hidden}, batch {options.batch}, reg {options.reg}, {options.device}, "
        f"assembled {options.assemble}",
        "seconds": seconds,
        "versions": report.versions("torch"),
        "samples_per_second": options.batch / seconds,
        "parameters": sum(p.numel() for p in network.parameters()),
        "peak_cuda_bytes": torch.cuda.max_memory_allocated() if cuda else 0,
        "first_loss": first,
        "last_loss": loss.item(),
        "fastest": min(times[options.warmup :]),
        "slowest": max(times[options.warmup :]),
        "options": vars(options),
    }
    if options.json:
        print(json.dumps(result), flush=True)
        return
    report.row(result["row"], seconds, result["versions"], False)
    print(
        f"{result['samples_per_second']:.2f} samples/s, {result['parameters']:,} parameters, "
        f"{result['peak_cuda_bytes'] / 2**20:.0f} MiB of CUDA memory, loss {first:.3f} to {result['last_loss']:.3f}, "
        f"steps of {result['fastest'] * 1e3:.2f} to {result['slowest'] * 1e3:.2f} ms"
    )


# --- truths about the networks -----------------------------------------------------------------------------------------


def turn_frames(x):
    """Frames of vectors turned by +90 degrees."""
    vectors = x.rot90(-1, (2, 3)).unflatten(1, (-1, 2))
    return torch.stack([-vectors[:, :, 1], vectors[:, :, 0]], 2).flatten(1, 2)


def check():
    for (model, hidden), expected in COUNTS.items():
        network = Network(model, hidden, 5, DEFAULTS[model][1], 64)
        found = sum(p.numel() for p in network.parameters())
        assert found == expected, f"{model} {hidden}: expected {expected} parameters, found {found}"
    torch.set_default_dtype(torch.float64)
    torch.manual_seed(0)
    for model, banks in (("rgroup-translation", 2), ("rgroup-rotation", 3), ("rsteer-rotation", 1), ("rsteer-scale", 1)):
        network = Network(model, 3, 3, banks, 12)
        with torch.no_grad():
            for parameter in network.parameters():
                parameter += 0.1 * torch.randn_like(parameter)
        x = torch.randn(2, 2 * FRAMES, 12, 12)
        free = broken(network, model, x)
        penalty = network.penalty()
        penalty.backward()
        for name, parameter in network.named_parameters():
            slope = 0 if parameter.grad is None else parameter.grad.norm()
            assert slope > 1e-6 or "bias" in name, f"{model}: no gradient of {name}"
        agrees_with_closed_form(network, model, penalty)
        together = network(x, network.kernels())
        assert torch.equal(together, network(x)), f"{model}: kernels assembled before differ"
        for layer in network.layers:
            layer.share()
        zero, shared = network.penalty().item(), broken(network, model, x)
        assert zero < 1e-20 < 1e-3 < penalty.item(), f"{model}: {penalty.item()}, with shared weights {zero}"
        if free is not None:
            assert shared < 1e-12 < 1e-3 < free, f"{model}: equivariant to {free}, with shared weights {shared}"
        text = "" if free is None else f", symmetry broken by {free:.1e}, with shared weights {shared:.0e}"
        print(f"{model}: penalty {penalty.item():.3f}, with shared weights {zero:.0e}{text}")


@torch.no_grad()
def broken(network, model, x):
    """How far the output is from commuting with a turn, or with a shift away from the border; scales have no exact action."""
    if "scale" in model:
        return None
    if "rotation" in model:
        one, other = network(turn_frames(x)), turn_frames(network(x))
    else:
        crop = (..., slice(4, 8), slice(4, 8))
        one, other = network(x.roll((1, 1), (2, 3)))[crop], network(x).roll((1, 1), (2, 3))[crop]
    return ((one - other).norm() / other.norm()).item()


@torch.no_grad()
def agrees_with_closed_form(network, model, penalty):
    """The penalty is what the deviations of the mixing weights from their means give."""
    total = 0
    for layer in network.layers:
        if model == "rgroup-translation":  # the field of local filters, biases among them, less its mean
            banks = len(layer.mixing)
            filters = torch.cat([layer.kernel().reshape(banks, -1), layer.convolutions.bias.reshape(banks, -1)], 1)
            field = layer.mixing.reshape(banks, -1).T @ filters
            total += (field - field.mean(0)).square().sum()
        elif model == "rgroup-rotation":
            deviation, filters = layer.mixing - layer.mixing.mean(0), layer.filters.flatten(1)
            total += ((deviation.T @ deviation) * (filters @ filters.T)).sum()
        elif model == "rsteer-rotation":  # means over the centre, the edges, the corners
            mixing = layer.mixing.clone()
            for orbit in ([4], [1, 3, 5, 7], [0, 2, 6, 8]):
                mixing[..., orbit] -= mixing[..., orbit].mean(3, keepdim=True)
            total += torch.einsum("obik,bvwk->oviwk", mixing, layer.basis).square().sum()
        else:
            total += layer.kernel(layer.mixing - layer.mixing.mean(3, keepdim=True)).square().sum()
    assert abs(total - penalty) < 1e-10 * total, f"{model}: expected {total}, found {penalty}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    switch = dict(type=int, choices=(0, 1))
    parser.add_argument("--model", choices=DEFAULTS, default="rsteer-rotation")
    parser.add_argument("--hidden", type=int)
    parser.add_argument("--layers", type=int, default=5)
    parser.add_argument("--banks", type=int)
    parser.add_argument("--batch", type=int)
    parser.add_argument("--side", type=int, default=64)
    parser.add_argument("--out-length", type=int, default=6)
    parser.add_argument("--reg", default=0, **switch, help="1 adds the projection penalty")
    parser.add_argument("--strength", type=float, default=1e-4, help="of the penalty")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--warmup", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--assemble", choices=("each", "once"), default="each", help="kernels in each forward call, or once a step")
    parser.add_argument("--channels-last", default=0, **switch)
    parser.add_argument("--cudnn-benchmark", default=0, **switch)
    parser.add_argument("--tf32-matmul", default=0, **switch, help="convolutions use TF32 by PyTorch's default, products do not")
    report.compiling(parser)
    parser.add_argument("--graph", action="store_true", help="the whole step, Adam included, in a CUDA graph, captured after the first; not timed")
    parser.add_argument("--json", action="store_true", help="one JSON line instead of text")
    parser.add_argument("--check", action="store_true", help="assert parameter counts, symmetry and penalties; measure nothing")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    if options.check:
        check()
        return
    hidden, banks, batch = DEFAULTS[options.model]
    options.hidden, options.banks, options.batch = options.hidden or hidden, options.banks or banks, options.batch or batch
    torch.backends.cudnn.benchmark = bool(options.cudnn_benchmark)
    torch.backends.cuda.matmul.allow_tf32 = bool(options.tf32_matmul)
    try:
        measure(options)
    except RuntimeError as error:
        if not options.compile:
            raise
        print(json.dumps({"row": f"PyTorch: {options.model}", "error": report.cannot_compile(error)}), flush=True)


if __name__ == "__main__":
    main()
