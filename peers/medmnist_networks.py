"""The networks of the MedMNIST experiment in plain PyTorch, for medmnist.py. Needs torch and NumPy only.

    Dense          conv, BatchNorm3d, ELU, average pools: the CNN (width 6) and, at width 2, the network of ours
    Plain          Conv3d with the channels of the SCNN, gates included, BatchNorm3d, sigmoid gates, average pools
    Steerable      the step of escnn: kernels expanded from its own basis tensors (medmnist_basis.npz), then conv, IIDBatchNorm3d, gates,
                   blurred pools; `literal` also copies and checks what escnn copies and checks. Kernels are kept in evaluation

All have the blocks R1, R2, R3 and the head:

    R1   conv7 p2, conv5 p2           + conv7 p2              29 -> 27, pool -> 13
    R2   conv3 s2 p1, pool, conv3 s2 p2   + pool, conv3       13 -> 7 -> 3 -> 3
    R3   conv3 p1, pool, conv1        + conv3                 3 -> 3 -> 1 -> 1

Channels of a Steerable field are in escnn's order: gates, then irreps. medmnist_escnn.py makes the basis tensors and compares with escnn.
"""

import math
import pathlib

import numpy
import torch
import torch.nn.functional as F
from torch import nn

BASIS = pathlib.Path(__file__).with_name("medmnist_basis.npz")
COPIES = (1, 2, 4, 6, 6, 8)
DEGREES = {"so3": (2, 3, 3, 3, 2, 0), "o3": (2, 2, 2, 2, 2, 0)}
# Of every convolution: name, fields before and after it (0 is the volume), side, stride, padding.
LAYERS = (
    ("r1.conv1", 0, 1, 7, 1, 2), ("r1.conv2", 1, 2, 5, 1, 2), ("r1.skip", 0, 2, 7, 1, 2),
    ("r2.conv1", 2, 3, 3, 2, 1), ("r2.conv2", 3, 4, 3, 2, 2), ("r2.skip", 2, 4, 3, 1, 0),
    ("r3.conv1", 4, 5, 3, 1, 1), ("r3.conv2", 5, 6, 1, 1, 0), ("r3.skip", 4, 6, 3, 1, 0),
)


def irreps(group, degree):
    """Dimensions of the irreps of one field."""
    odd = [2 * l + 1 for l in range(degree + 1)]
    return odd + odd if group == "o3" and degree else odd


class Fields:
    """Copies of a field at place 0 (the volume) to 6."""

    def __init__(self, group, width, place):
        self.degree = DEGREES[group][place - 1] if place else 0
        self.copies = width * COPIES[place - 1] if place else 1
        self.irreps = irreps(group, self.degree)
        self.dim = sum(self.irreps)
        self.gates = len(self.irreps) if self.degree else 0
        self.activations = self.copies * self.dim
        self.channels = self.copies * (self.dim + self.gates)


class Blocks(nn.Module):
    """What all networks share: subclasses say what a convolution, a stage after it, and a pool are."""

    def __init__(self, group, width, classes):
        super().__init__()
        self.fields = [Fields(group, width, place) for place in range(7)]
        self.convs, self.norms, self.gates = nn.ModuleDict(), nn.ModuleDict(), nn.ModuleDict()
        for name, before, after, side, stride, padding in LAYERS:
            key = name.replace(".", "_")
            self.convs[key] = self.conv(self.fields[before], self.fields[after], side, stride, padding, name)
            if "conv" in name and name != "r3.conv2":
                self.norms[key], self.gates[key] = self.norm(self.fields[after]), self.gate(self.fields[after])
        self.head_norm = nn.BatchNorm1d(self.fields[6].activations)
        self.head = nn.Linear(self.fields[6].activations, classes)

    def stage(self, name, x):
        return self.gates[name](self.norms[name](self.convs[name](x)))

    def forward(self, x):
        y = self.stage("r1_conv2", self.stage("r1_conv1", x))
        x = self.pool(y + self.gates["r1_conv2"](self.convs["r1_skip"](x)), 2, 1)
        y = self.stage("r2_conv2", self.pool(self.stage("r2_conv1", x), 2, 1))
        x = y + self.gates["r2_conv2"](self.convs["r2_skip"](self.pool(x, 2, 0)))
        y = self.convs["r3_conv2"](self.pool(self.stage("r3_conv1", x), 1, None))
        x = (y + self.convs["r3_skip"](x)).flatten(1)
        return self.head(F.elu(self.head_norm(x)))


class Dense(Blocks):
    def conv(self, before, after, side, stride, padding, _):
        return nn.Conv3d(before.activations, after.activations, side, stride, padding)

    def norm(self, fields):
        return nn.BatchNorm3d(fields.activations)

    def gate(self, _):
        return nn.ELU()

    @staticmethod
    def pool(x, stride, padding):
        return F.avg_pool3d(x, 3, 1, 0) if padding is None else F.avg_pool3d(x, 5, stride, padding)


class SimpleGate(nn.Module):
    """All features, then all gates; each irrep times the sigmoid of its gate."""

    def __init__(self, fields):
        super().__init__()
        self.features = fields.activations
        of = [number for number, dim in enumerate(fields.irreps) for _ in range(dim)]
        gates = [copy * fields.gates + gate for copy in range(fields.copies) for gate in of]
        self.register_buffer("gate_of", torch.tensor(gates))

    def forward(self, x):
        return x[:, : self.features] * torch.sigmoid(x[:, self.features :]).index_select(1, self.gate_of)


class Plain(Blocks):
    def conv(self, before, after, side, stride, padding, _):
        return nn.Conv3d(before.activations, after.channels, side, stride, padding)

    def norm(self, fields):
        return nn.BatchNorm3d(fields.channels)

    def gate(self, fields):
        return SimpleGate(fields)

    pool = staticmethod(Dense.pool)


class SteerableConv(nn.Module):
    """escnn's R3Conv between equal fields: one einsum with the basis of a pair of fields, then a copy into the kernel."""

    def __init__(self, basis, pairs, before, after, stride, padding, bias):
        super().__init__()
        count, self.out, self.into, points = basis.shape
        self.copies, self.side = (after.copies, before.copies), round(points ** (1 / 3))
        self.stride, self.padding = stride, padding
        self.register_buffer("basis", basis)
        self.weights = nn.Parameter(self.deviations(pairs, before.copies).repeat(after.copies * before.copies, 1))
        with torch.no_grad():
            self.weights *= torch.randn_like(self.weights)
        places = scalar_places(after)
        self.bias = nn.Parameter(torch.zeros(len(places))) if bias else None
        spread = torch.zeros(after.channels, len(places))
        spread[places, range(len(places))] = 1.0
        self.register_buffer("spread", spread)
        self.kept = None

    @staticmethod
    def deviations(pairs, copies):
        """(distinct input irreps of this output · basis elements of (input irrep, output))^-1/2; rows of `pairs` are (out, in)."""
        rows = [tuple(row) for row in pairs.tolist()]
        seen = {out: {into for o, into in rows if o == out} for out, _ in rows}
        return torch.tensor([[1 / math.sqrt(len(seen[row[0]]) * rows.count(row) * copies) for row in rows]])

    def expanded(self):
        kernel = torch.einsum("boi...,kb->koi...", self.basis, self.weights)
        kernel = kernel.view(*self.copies, self.out, self.into, -1).transpose(1, 2)
        shape = (self.copies[0] * self.out, self.copies[1] * self.into, *(self.side,) * 3)
        return kernel.reshape(shape), None if self.bias is None else self.spread @ self.bias

    def train(self, mode=True):
        self.kept = None
        if not mode:
            with torch.no_grad():
                self.kept = self.expanded()
        return super().train(mode)

    def forward(self, x):
        kernel, bias = self.kept or self.expanded()
        return F.conv3d(x, kernel, bias, self.stride, self.padding)


def scalar_places(fields):
    """Channels with a trivial irrep: gates and the first irrep of each field."""
    size = fields.dim + fields.gates
    return [copy * size + place for copy in range(fields.copies) for place in range(fields.gates + 1)]


class IidNorm(nn.Module):
    """escnn's IIDBatchNorm3d: one variance a field, means of scalars; statistics are constants of the tape."""

    def __init__(self, fields, literal):
        super().__init__()
        self.copies, self.size, self.literal = fields.copies, fields.dim + fields.gates, literal
        scalars = fields.gates + 1
        average = torch.zeros(self.size, self.size)
        average[range(scalars), range(scalars)] = 1.0
        self.register_buffer("average", average)
        self.register_buffer("spread", average[:, :scalars].clone())
        self.register_buffer("running_mean", torch.zeros(self.copies, self.size))
        self.register_buffer("running_var", torch.ones(self.copies, 1))
        self.weight = nn.Parameter(torch.ones(self.copies, 1))
        self.bias = nn.Parameter(torch.zeros(self.copies, scalars))

    def statistics(self, x):
        axes = (0, *range(3, x.dim()))
        means = torch.einsum("ij,bcj...->bci...", self.average, x.mean(axes, keepdim=True).detach())
        variances = (x - means).var(axes, unbiased=True).mean(1, keepdim=True).detach()
        means = means.reshape(self.copies, self.size)
        for running, new in ((self.running_var, variances), (self.running_mean, means)):
            running *= 0.9
            running += 0.1 * new
            assert not self.literal or torch.allclose(running, running), "escnn waits for the device here"
        return means, variances

    def forward(self, x):
        one = (1, 1, 1)
        y = x.view(len(x), self.copies, self.size, *x.shape[2:])
        means, variances = self.statistics(y) if self.training else (self.running_mean, self.running_var)
        y = y - means.view(1, self.copies, self.size, *one)
        y = y * (self.weight / (variances + 1e-5).sqrt()).view(1, self.copies, 1, *one)
        y = y + torch.einsum("ij,cj->ci", self.spread, self.bias).view(1, self.copies, self.size, *one)
        if not self.literal:
            return y.view(x.shape)
        output = torch.empty_like(x)
        output[:, 0 : x.shape[1], ...] = y.view(x.shape)
        return output


class Gate(nn.Module):
    """escnn's GatedNonLinearityUniform."""

    def __init__(self, fields):
        super().__init__()
        self.copies, self.gates, self.size = fields.copies, fields.gates, fields.dim + fields.gates
        self.bias = nn.Parameter(torch.randn(1, fields.copies, fields.gates))
        of = [number for number, dim in enumerate(fields.irreps) for _ in range(dim)]
        self.register_buffer("expansion", F.one_hot(torch.tensor(of), fields.gates).float())

    def forward(self, x):
        y = x.view(len(x), self.copies, self.size, *x.shape[2:])
        gates = torch.sigmoid(y[:, :, : self.gates] - self.bias.view(1, self.copies, self.gates, 1, 1, 1))
        gates = torch.einsum("oi,bci...->bco...", self.expansion, gates)
        return (gates * y[:, :, self.gates :]).reshape(len(x), -1, *x.shape[2:])


class Steerable(Blocks):
    def __init__(self, group, width, classes, literal=True, path=BASIS):
        self.group, self.literal, self.tensors = group, literal, numpy.load(path)
        super().__init__(group, width, classes)
        line = torch.exp(-((torch.arange(5.0) - 2) ** 2) / (2 * 0.66**2))
        window = torch.einsum("i,j,k->ijk", line, line, line)
        self.register_buffer("window", window / window.sum())

    def conv(self, before, after, side, stride, padding, name):
        key = f"{self.group}.{before.degree}.{after.degree}.{side}"
        basis, pairs = torch.from_numpy(self.tensors[key]), torch.from_numpy(self.tensors[f"{key}.pairs"])
        return SteerableConv(basis, pairs, before, after, stride, padding, name != "r3.conv2")

    def norm(self, fields):
        return IidNorm(fields, self.literal)

    def gate(self, fields):
        return Gate(fields)

    def pool(self, x, stride, padding):
        window = self.window.to(x.dtype).expand(x.shape[1], 1, 5, 5, 5)
        return F.conv3d(x, window, stride=stride, padding=1 if padding is None else padding, groups=x.shape[1])


class Penalty(nn.Module):
    """λ_G |P(W)|² + λ_⊥ |W − P(W)|² over the kernels of a Dense network, P = E Eᵀ for each pair of fields, on the tape."""

    def __init__(self, network, group, strengths, energies=False, path=BASIS):
        super().__init__()
        tensors = numpy.load(path)
        self.strengths, self.energies, self.sizes = strengths, energies, []
        self.kernels = [network.convs[name.replace(".", "_")].weight for name, *_ in LAYERS]
        for number, (_, before, after, side, *_) in enumerate(LAYERS):
            before, after = network.fields[before], network.fields[after]
            key = f"{group}.{before.degree}.{after.degree}.{side}"
            basis = tensors[key][tensors[f"{key}.pairs"][:, 0] >= after.gates, after.gates :]
            frame, _ = numpy.linalg.qr(basis.reshape(len(basis), -1).T.astype(numpy.float64))
            self.register_buffer(f"frame{number}", torch.from_numpy(frame.astype(numpy.float32)))
            self.sizes.append((after.copies, after.dim, before.copies, before.dim, side**3))

    def forward(self):
        equivariant = rest = 0.0
        for number, (kernel, sizes) in enumerate(zip(self.kernels, self.sizes)):
            frame = getattr(self, f"frame{number}")
            blocks = kernel.view(sizes).transpose(1, 2).reshape(sizes[0] * sizes[2], -1)
            found = blocks @ frame
            if self.energies:
                inside = found.square().sum()
                equivariant, rest = equivariant + inside, rest + kernel.square().sum() - inside
            else:
                projected = found @ frame.T
                equivariant = equivariant + projected.square().sum()
                rest = rest + (blocks - projected).square().sum()
        return self.strengths[0] * equivariant + self.strengths[1] * rest


def parameters(network):
    return sum(parameter.numel() for parameter in network.parameters())
