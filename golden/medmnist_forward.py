"""The networks of the MedMNIST experiment written from their equations in PyTorch: logits, loss, gradients, running statistics.

Weights, running statistics and volumes come from one formula of their name and place (`values`), so that only outcomes are stored. Width
c = 1, three volumes of side 29, three classes. A steerable kernel is 12 P(W), P the projection on escnn's span (medmnist_span.py) of the W that
the formula gives to its name: whatever basis a program expands, this kernel has coefficients in it. Of each gradient two numbers are stored:
its norm and its product with the numbers of "probe.NAME"; for a steerable kernel K both are those of P(dL/dK).

Channels go by irrep, component, copy; gates, a scalar for each, after all of them by irrep and copy. Numbers of scalars are in the order of
channels, those of fields in the order of copies.
Statistics of a field are those of escnn's IIDBatchNorm3d: unbiased variance of each channel, averaged; means of scalars alone; both constants
of the tape. The gradient of dense batch normalisation is the usual one. "gated" has dense kernels and the rest of the SCNN but for its pools.
"""

import math

import numpy
import torch
import torch.nn.functional as F

from conventions import write
from medmnist_span import Spans, irreps_of
from medmnist_span import values as numbers

torch.set_default_dtype(torch.float64)
C, SAMPLES, SIDE, CLASSES, GAIN = 1, 3, 29, 3, 12.0
LABELS = torch.tensor([0, 2, 1])
CASES = {"SO3": ("dense", "scnn", "rpp", "gated"), "O3": ("scnn",)}
# Copies and degree of the fields that each convolution makes; scalars have degree 0.
COPIES = {"r1.conv1": 1, "r1.conv2": 2, "r2.conv1": 4, "r2.conv2": 6, "r3.conv1": 6, "r3.conv2": 8}
LOW = {"SO3": ("r1.conv1", "r3.conv1"), "O3": tuple(COPIES)}


def values(name, shape):
    """Centre and width by kind: about 1 for scales and variances, ±1.7/sqrt(fan in) for weights, ±1/4 for biases, ±1 for volumes."""
    last = name.rsplit(".", 1)[-1]
    centre, width = 0.0, 0.5
    if last == "running_var" or "norm" in name and last == "weight":
        centre, width = 1.0, 1.0
    elif last == "weight" and not name.startswith("probe."):
        width = 3.4 / math.sqrt(math.prod(shape[1:]))
    elif name == "volumes" or name.startswith("probe."):
        width = 2.0
    return torch.from_numpy(centre + width * numbers(name, shape))


class Field:
    """`copies` fields: channels (irrep, component, copy), then, if gated, gates (irrep, copy)."""

    def __init__(self, group, layer, gates):
        kind = layer.replace("skip", "conv2")
        self.copies = C * COPIES[kind]
        degree = 0 if kind == "r3.conv2" else 2 if kind in LOW[group] else 3
        self.irreps = irreps_of(group, degree)
        self.gated = irreps_of(group, degree, gates and degree > 0)
        channels = [(number, copy) for number, (l, _) in enumerate(self.gated) for _ in range(2 * l + 1) for copy in range(self.copies)]
        self.size, self.dim = len(channels), self.copies * sum(2 * l + 1 for l, _ in self.irreps)
        self.copy_of = torch.tensor([copy for _, copy in channels])
        self.scalars = torch.tensor([place for place, (number, _) in enumerate(channels) if self.gated[number] == (0, 1)])
        # Of every channel that is gated, which gate: they go by irrep and copy.
        self.gate_of = torch.tensor([number * self.copies + copy for number, copy in channels[: self.dim]])

        # Place of each channel among (irrep, copy, component), then gates: how dense kernels are stored.
        self.stored, start = [], 0
        for l, _ in self.gated:
            self.stored += [start + copy * (2 * l + 1) + component for component in range(2 * l + 1) for copy in range(self.copies)]
            start += self.copies * (2 * l + 1)

    def slices(self, parts):
        """(irrep, its channels) in order."""
        start = 0
        for l, parity in parts:
            yield (l, parity), slice(start, start + self.copies * (2 * l + 1))
            start += self.copies * (2 * l + 1)


class Network:
    """Hands out weights by name as leaves of the tape and remembers them."""

    def __init__(self, group, kind, training, spans):
        self.group, self.kind, self.training, self.spans = group, kind, training, spans
        self.leaves, self.after, self.steerable = {}, {}, {}

    def leaf(self, name, *shape):
        if name not in self.leaves:
            self.leaves[name] = values(name, shape).requires_grad_()
        assert self.leaves[name].shape == shape, name
        return self.leaves[name]

    def project(self, kernel, into, out):
        """P on a kernel [channels and gates, channels, k, k, k], block by block of irreps."""
        fixed, k = torch.zeros_like(kernel), kernel.shape[2]
        for a, rows in out.slices(out.gated):
            for b, columns in into.slices(into.irreps):
                basis = self.spans(a, b, k)
                if basis is not None:
                    frame, _ = numpy.linalg.qr(basis.reshape(len(basis), -1).T)
                    frame = torch.from_numpy(frame).reshape(2 * a[0] + 1, 2 * b[0] + 1, k, k, k, -1)
                    block = kernel[rows, columns].reshape(2 * a[0] + 1, out.copies, 2 * b[0] + 1, into.copies, k, k, k)
                    found = torch.einsum("mcndxyz,mnxyze->cde", block, frame)
                    fixed[rows, columns] = torch.einsum("cde,mnxyze->mcndxyz", found, frame).reshape(kernel[rows, columns].shape)
        return fixed

    def kernel(self, name, into, out, k):
        if name not in self.leaves:
            shape = out.size, into.dim, k, k, k
            self.leaves[name] = (GAIN * self.project(values(name, shape), into, out)).requires_grad_()
            self.steerable[name] = into, out
        return self.leaves[name]

    # --- steerable: escnn's convolution, IID normalisation and gates ---

    def spread(self, numbers, out):
        """Numbers of scalars → numbers of channels, 0 elsewhere."""
        return torch.zeros(out.size).index_copy(0, out.scalars, numbers)

    def steerable_conv(self, name, x, into, k, stride, padding, bias=True):
        out = Field(self.group, name, gates=True)
        if self.kind == "gated":
            kernel = self.leaf(f"{name}.weight", out.size, into.dim, k, k, k)[out.stored][:, into.stored[: into.dim]]
            return F.conv3d(x, kernel, self.leaf(f"{name}.bias", out.size)[out.stored], stride, padding), out
        kernel = self.kernel(f"{name}.weight", into, out, k)
        offset = self.spread(self.leaf(f"{name}.bias", len(out.scalars)), out) if bias else None
        return F.conv3d(x, kernel, offset, stride, padding), out

    def iid_norm(self, name, x, out):
        mean, variance = values(f"{name}.running_mean", (len(out.scalars),)), values(f"{name}.running_var", (out.copies,))
        if self.training:
            found = x.detach().transpose(0, 1).flatten(1)
            means = found.mean(1)
            variances = ((found - means[:, None]) ** 2).sum(1) / (found.shape[1] - 1)
            of_fields = torch.stack([variances[out.copy_of == copy].mean() for copy in range(out.copies)])
            self.after[f"{name}.running_mean"] = 0.9 * mean + 0.1 * means[out.scalars]
            self.after[f"{name}.running_var"] = 0.9 * variance + 0.1 * of_fields
            mean, variance = means[out.scalars], of_fields
        one = (1, out.size, 1, 1, 1)
        scale = (self.leaf(f"{name}.weight", out.copies) / torch.sqrt(variance + 1e-5))[out.copy_of]
        offset = self.spread(self.leaf(f"{name}.bias", len(out.scalars)), out)
        return (x - self.spread(mean, out).reshape(one)) * scale.reshape(one) + offset.reshape(one)

    def gate(self, name, x, out):
        bias = self.leaf(f"{name}.bias", out.copies * len(out.irreps)).reshape(1, -1, 1, 1, 1)
        return x[:, : out.dim] * torch.sigmoid(x[:, out.dim :] - bias)[:, out.gate_of]

    def steerable_layer(self, block, number, x, into, k, stride, padding):
        y, out = self.steerable_conv(f"{block}.conv{number}", x, into, k, stride, padding)
        y = self.iid_norm(f"{block}.norm{number}", y, out)
        return self.gate(f"{block}.gate{number}", y, out), out

    def steerable_block(self, block, x, into):
        if block == "r1":
            y, middle = self.steerable_layer(block, 1, x, into, 7, 1, 2)
            y, out = self.steerable_layer(block, 2, y, middle, 5, 1, 2)
            skip, out = self.steerable_conv("r1.skip", x, into, 7, 1, 2)
            return y + self.gate("r1.gate2", skip, out), out
        if block == "r2":
            y, middle = self.steerable_layer(block, 1, x, into, 3, 2, 1)
            y, out = self.steerable_layer(block, 2, self.pool(y, 2, 1), middle, 3, 2, 2)
            skip, out = self.steerable_conv("r2.skip", self.pool(x, 2, 0), into, 3, 1, 0)
            return y + self.gate("r2.gate2", skip, out), out
        y, middle = self.steerable_layer(block, 1, x, into, 3, 1, 1)
        y, _ = self.steerable_conv("r3.conv2", self.pool(y, 1, 1), middle, 1, 1, 0, bias=False)
        skip, out = self.steerable_conv("r3.skip", x, into, 3, 1, 0)
        return y + skip, out

    def pool(self, x, stride, padding):
        """Blurred in steerable networks, of the mean in dense ones, where the last window, of stride 1, has side 3 and no padding."""
        if self.kind in ("scnn", "rpp"):
            return blur(x, stride, padding)
        return F.avg_pool3d(x, 5, stride, padding) if stride == 2 else F.avg_pool3d(x, 3)

    # --- dense: convolution, batch normalisation, ELU ---

    def dense_conv(self, name, x, k, stride, padding):
        out = Field(self.group, name.removeprefix("dense."), gates=False)
        kernel = self.leaf(f"{name}.weight", out.dim, x.shape[1], k, k, k)
        return F.conv3d(x, kernel, self.leaf(f"{name}.bias", len(kernel)), stride, padding)

    def norm(self, name, x):
        channels, axes = x.shape[1], [0, *range(2, x.dim())]
        mean, variance = (values(f"{name}.{part}", (channels,)) for part in ("running_mean", "running_var"))
        one = (1, channels, *(1 for _ in axes[1:]))
        if self.training:
            count = x.numel() // channels
            before = mean, variance
            mean = x.sum(axes) / count
            squares = ((x - mean.reshape(one)) ** 2).sum(axes)
            variance = squares / count
            self.after[f"{name}.running_mean"] = (0.9 * before[0] + 0.1 * mean).detach()
            self.after[f"{name}.running_var"] = (0.9 * before[1] + 0.1 * squares / (count - 1)).detach()
        scale = self.leaf(f"{name}.weight", channels) / torch.sqrt(variance + 1e-5)
        return (x - mean.reshape(one)) * scale.reshape(one) + self.leaf(f"{name}.bias", channels).reshape(one)

    def dense_layer(self, block, number, x, k, stride, padding):
        return F.elu(self.norm(f"{block}.norm{number}", self.dense_conv(f"{block}.conv{number}", x, k, stride, padding)))

    def dense_block(self, block, x):
        if block.endswith("r1"):
            y = self.dense_layer(block, 2, self.dense_layer(block, 1, x, 7, 1, 2), 5, 1, 2)
            return y + F.elu(self.dense_conv(f"{block}.skip", x, 7, 1, 2))
        if block.endswith("r2"):
            y = F.avg_pool3d(self.dense_layer(block, 1, x, 3, 2, 1), 5, 2, 1)
            y = self.dense_layer(block, 2, y, 3, 2, 2)
            return y + F.elu(self.dense_conv(f"{block}.skip", F.avg_pool3d(x, 5, 2, 0), 3, 1, 0))
        y = F.avg_pool3d(self.dense_layer(block, 1, x, 3, 1, 1), 3, 1, 0)
        return self.dense_conv(f"{block}.conv2", y, 1, 1, 0) + self.dense_conv(f"{block}.skip", x, 3, 1, 0)

    def forward(self, x):
        into = Field(self.group, "r3.conv2", False)
        into.copies = into.dim = 1
        for block in ("r1", "r2", "r3"):
            if self.kind == "dense":
                x = self.dense_block(block, x)
            else:
                y, out = self.steerable_block(block, x, into)
                x, into = (y + self.dense_block(f"dense.{block}", x) if self.kind == "rpp" else y), out
            if block == "r1":
                x = self.pool(x, 2, 1)
        x = F.elu(self.norm("head.norm", x.flatten(1)))
        return x @ self.leaf("head.weight", CLASSES, x.shape[1]).T + self.leaf("head.bias", CLASSES)


def blur(x, stride, padding, sigma=0.66):
    """A Gaussian on 5^3 points that sums to 1, every `stride`-th place of what `padding` zeros surround, one axis after the other."""
    line = torch.exp(-((torch.arange(5.0) - 2) ** 2) / (2 * sigma**2))
    line = line / line.sum()
    for axis in (2, 3, 4):
        x = F.pad(x.transpose(axis, 4), (padding, padding)).unfold(4, 5, stride) @ line
        x = x.transpose(axis, 4)
    return x


def gradients(network, loss):
    """[parameters, 2] in the order of their names: norm and product with the probe."""
    names = sorted(network.leaves)
    rows = []
    for name, gradient in zip(names, torch.autograd.grad(loss, [network.leaves[name] for name in names])):
        if name in network.steerable:
            gradient = network.project(gradient, *network.steerable[name])
        rows.append([gradient.norm().item(), (gradient * values(f"probe.{name}", gradient.shape)).sum().item()])
    return numpy.array(rows)


def main():
    torch.set_num_threads(1)
    volumes = values("volumes", (SAMPLES, 1, SIDE, SIDE, SIDE))
    tensors = {}
    for group, kinds in CASES.items():
        spans = Spans(group)
        for kind in kinds:
            case = f"{kind}.{group}"
            with torch.no_grad():
                logits = Network(group, kind, False, spans).forward(volumes[:1])
            tensors[f"{case}.evaluate.logits"] = logits
            network = Network(group, kind, True, spans)
            logits = network.forward(volumes)
            loss = F.cross_entropy(logits, LABELS)
            tensors[f"{case}.train.logits"] = logits.detach()
            tensors[f"{case}.train.loss"] = [loss.item()]
            tensors[f"{case}.train.gradients"] = gradients(network, loss)
            for name in sorted(network.after):
                tensors[f"{case}.{name}"] = network.after[name]
            print(f"{case}: loss {loss.item():.4f}, logits up to {logits.abs().max():.2f}", flush=True)
    write("medmnist_forward", tensors, """
        MODEL.GROUP.evaluate.logits [1, 3] of the first volume, .train.logits [3, 3], .loss and .gradients [parameters, 2] in the order of names (norm, product with the probe; of a
        steerable kernel those of P of the gradient by the kernel); MODEL.GROUP.NAME: running statistics after one step; c = 1, labels 0 2 1;
        channels (irrep, component, copy), irreps of O3 even then odd, then gates (irrep, copy); steerable kernels are 12 P(W)
        """, 29, ["escnn", "torch", "numpy"])


if __name__ == "__main__":
    main()
