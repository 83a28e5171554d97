"""ACDNet, DICDNet and OSCNet with 36 channels and 5x5 convolutions in plain PyTorch, as one would write them; loss and training modes.

Y corrupted, L interpolated, I = 1 outside the metal; images are [batch, 1, y, x] from 0 to 255. Parameters have the names of reynolds
(`named`), so that weights go from one program to the other. P means the average over C4 of a kernel between regular fields, channel
4 p + a, whose generator turns by rot90(+1) and takes a to a + 1.
"""

import math

import numpy
import torch
from torch import nn
from torch.nn import functional

CHANNELS, MAPS, ATOMS = 36, 8, 32  # of an X-net; ACDNet's maps N and atoms d
COUNTS = {"acdnet": 4_169_814, "dicdnet": 4_300_175, "oscnet": 4_293_209}
RPP_COUNTS = {"acdnet": 6_891_414, "dicdnet": 6_632_975, "oscnet": 6_626_009}


def project(kernel):
    """P of kernels [..., out, in, k, k]: P(K)[p,a;q,b] = 1/4 sum over r of (rot_r K)[p,a-r;q,b-r]."""
    fields = kernel.unflatten(-4, (-1, 4)).unflatten(-3, (-1, 4))
    turns = [fields.roll((r, r), (-5, -3)).rot90(r, (-2, -1)) for r in range(4)]
    return (sum(turns) / 4).reshape(kernel.shape)


# --- blocks ------------------------------------------------------------------------------------------------------------


class PathwayConv(nn.Conv2d):
    """A residual pathway prior: the convolution by P(W1) and that by W2, or their kernels added first."""

    def __init__(self, inputs, outputs, size, padding, added=False):
        super().__init__(inputs, outputs, size, padding=padding)
        self.equivariant, self.added = nn.Parameter(torch.empty_like(self.weight)), added
        nn.init.kaiming_uniform_(self.equivariant, a=math.sqrt(5))

    def forward(self, x):
        if self.added:
            return functional.conv2d(x, project(self.equivariant) + self.weight, self.bias, padding=self.padding)
        return functional.conv2d(x, project(self.equivariant), padding=self.padding) + super().forward(x)


class Block(nn.Module):
    """x <- ReLU(x + BN(conv(ReLU(BN(conv x)))))."""

    def __init__(self, channels, conv):
        super().__init__()
        self.conv1, self.norm1 = conv(channels, channels, 5, padding=2), nn.BatchNorm2d(channels)
        self.conv2, self.norm2 = conv(channels, channels, 5, padding=2), nn.BatchNorm2d(channels)

    def forward(self, x):
        y = functional.relu(self.norm1(self.conv1(x)))
        return functional.relu(x + self.norm2(self.conv2(y)))


class XNet(nn.Sequential):
    def __init__(self, blocks, conv):
        super().__init__(*(Block(CHANNELS, conv) for _ in range(blocks)))

    def forward(self, image, others):
        both = torch.cat([image, others], 1)
        # An image of one channel has no layout that cat could follow, and NCHW would stay for the whole net.
        if others.stride(1) == 1 and others.size(1) > 1:
            both = both.contiguous(memory_format=torch.channels_last)
        both = super().forward(both)
        return both[:, :1], both[:, 1:]


class MNet(nn.Sequential):
    def __init__(self, blocks, maps):
        super().__init__(*(Block(maps, nn.Conv2d) for _ in range(blocks)))
        self.threshold = nn.Parameter(torch.full((maps,), 1.5))

    def forward(self, maps):
        return functional.relu(super().forward(maps) - self.threshold.view(1, -1, 1, 1))


class KNet(nn.Sequential):
    """The threshold exists in the published network and nothing reads it."""

    def __init__(self):
        size = MAPS * ATOMS
        super().__init__(nn.Linear(size, size), nn.Linear(size, size))
        self.threshold = nn.Parameter(torch.full((size,), 1.5))

    def forward(self, k):
        """[batch, N d] to rows [batch, N, d] of length 1."""
        k = functional.relu(k + self[1](functional.relu(self[0](k)))).unflatten(1, (MAPS, ATOMS))
        return k / (k.norm(dim=2, keepdim=True) + 1e-6)


def blobs(count):
    """Elongated Gaussians close to vertical, each of sum 1: [count, 9, 9]."""
    y, x = torch.meshgrid(torch.arange(-4.0, 5), torch.arange(-4.0, 5), indexing="ij")
    angle = torch.linspace(-0.7, 0.5, count)[:, None, None]
    long, short = torch.linspace(1.2, 3.0, count)[:, None, None], 0.9
    along, across = x * angle.sin() + y * angle.cos(), x * angle.cos() - y * angle.sin()
    bells = (-((along / long) ** 2 + (across / short) ** 2) / 2).exp()
    return bells / bells.sum((1, 2), keepdim=True)


def turning_basis(side=9, waves=9, turns=4):
    """Orthonormal functions on (pixel, orientation), [c, orientation, y, x]; column scales are 1 where turns map the grid to itself."""
    assert turns == 4, "the variation over orientations, which scales the columns, is 0 for quarter turns only"
    y, x = numpy.meshgrid(numpy.linspace(-1, 1, side), numpy.linspace(-1, 1, side), indexing="ij")
    disk = numpy.exp(-numpy.maximum(x**2 + y**2 - 1, 0) / 0.2)
    k = numpy.arange(waves)
    k = (k - waves * (k > waves / 2)) * numpy.pi * (waves - 1) / waves
    rows = []
    for angle in 2 * numpy.pi * numpy.arange(turns) / turns:
        u, v = numpy.cos(angle) * x - numpy.sin(angle) * y, numpy.sin(angle) * x + numpy.cos(angle) * y
        phase = k[:, None, None, None] * u + k[None, :, None, None] * v
        rows.append(numpy.concatenate([f(phase).reshape(-1, side, side) * disk for f in (numpy.cos, numpy.sin)]))
    functions = numpy.stack(rows, 1).reshape(2 * waves**2, -1)
    values, vectors = numpy.linalg.eigh(functions @ functions.T)
    kept = values > 1e-4
    return torch.from_numpy(((vectors[:, kept] / numpy.sqrt(values[kept])).T @ functions).reshape(-1, turns, side, side))


# --- networks ----------------------------------------------------------------------------------------------------------


class Network(nn.Module):
    """What the three have in common. `forward` gives X0, images, artefacts, early images, early artefacts."""

    def __init__(self, stages, blocks, x_nets, m_nets, maps, conv):
        super().__init__()
        self.stages = stages
        self.auxiliary = nn.Parameter(torch.full((CHANNELS - 1, 1, 3, 3), 1 / 9))
        self.x = nn.ModuleList(XNet(blocks, conv) for _ in range(x_nets))
        self.m = nn.ModuleList(MNet(blocks, maps) for _ in range(m_nets))
        self.threshold = nn.Parameter(torch.ones(1))

    def begin(self, interpolated):
        return self.x[0](interpolated, functional.conv2d(interpolated, self.auxiliary, padding=1))

    def first_maps(self, net, kernel, image, start, keep):
        residual = functional.relu(keep * (image - start) - self.threshold)
        return net(functional.conv_transpose2d(residual, kernel, padding=4))

    def mixed(self, maps):
        for kernel, before in zip(self.mix, (functional.relu, lambda m: m)):
            maps = functional.conv2d(before(maps), kernel)
        return maps

    def held(self):
        """The convolutions held against C4, in the order of use."""
        return [conv for net in self.x for block in net for conv in (block.conv1, block.conv2)]


class DICDNet(Network):
    def __init__(self, stages=10, blocks=3, conv=nn.Conv2d):
        super().__init__(stages, blocks, stages + 2, stages, CHANNELS, conv)
        self.dictionaries()
        self.step = nn.ParameterDict({"x": torch.full((stages,), 5.0), "m": torch.ones(stages - 1)})

    def dictionaries(self):
        self.dictionary_start = nn.Parameter(blobs(CHANNELS)[None])
        self.dictionary = nn.Parameter(blobs(CHANNELS)[None])
        self.mix = nn.ParameterList(torch.eye(CHANNELS)[:, :, None, None].clone() for _ in range(2))

    def kernels(self):
        return self.dictionary_start / 10, self.dictionary / 10

    def between(self, maps):
        return self.mixed(maps)

    def forward(self, y, interpolated, keep):
        first, kernel = self.kernels()
        x, p = self.begin(interpolated)
        start, images, artefacts = x, [], []
        for stage in range(self.stages):
            if stage == 0:
                maps = self.first_maps(self.m[0], first, y, x, keep)
            else:
                residual = keep * (artefact - (y - x))
                slope = functional.conv_transpose2d(residual, kernel, padding=4)
                maps = self.m[stage](maps - self.step["m"][stage - 1] / 10 * slope)
            artefact = functional.conv2d(maps, kernel, padding=4)
            x = x - self.step["x"][stage] / 10 * keep * (x - (y - artefact))
            x, p = self.x[stage + 1](x, p)
            if 0 < stage < self.stages - 1:  # after the last stage nothing reads the maps
                maps = self.between(maps)
            images.append(x)
            artefacts.append(artefact)
        x, _ = self.x[self.stages + 1](x, p)
        return start, [*images, x], artefacts, [], []


class OSCNet(DICDNet):
    """DICDNet whose kernels are turned copies, orientation fastest, and whose maps are not mixed."""

    def dictionaries(self):
        self.register_buffer("basis", turning_basis().to(torch.get_default_dtype()), persistent=False)
        bound = math.sqrt(6 / len(self.basis))
        for name in ("dictionary_start", "dictionary"):
            setattr(self, name, nn.Parameter(torch.empty(CHANNELS // 4, len(self.basis)).uniform_(-bound, bound)))

    def kernels(self):
        weights = self.dictionary_start, self.dictionary
        return [torch.einsum("mc,coyx->moyx", weight, self.basis).flatten(0, 1)[None] / 10 for weight in weights]

    def between(self, maps):
        return maps


class ACDNet(Network):
    """Kernels of its own for each image, mixed from D. `responses` computes all N d of them, as published, or their sums directly."""

    def __init__(self, stages=10, blocks=3, conv=nn.Conv2d, responses="all"):
        super().__init__(stages, blocks, stages + 4, stages + 2, MAPS, conv)
        self.responses = responses
        self.k = nn.ModuleList(KNet() for _ in range(stages))
        self.dictionary_start, self.dictionary = nn.Parameter(blobs(MAPS)[None]), nn.Parameter(blobs(ATOMS)[:, None])
        self.mix = nn.ParameterList(torch.eye(MAPS)[:, :, None, None].clone() for _ in range(2))
        sizes = {"x": (stages + 2, 5.0), "m": (stages + 2, 1.0), "k": (stages, 5.0)}
        self.step = nn.ParameterDict({name: torch.full((size,), value) for name, (size, value) in sizes.items()})

    def correlations(self, maps, residual):
        """G[n,j] = sum over pixels of ((D_j / 10) * M_n) residual."""
        if self.responses == "all":
            kernel = (self.dictionary / 10).repeat(MAPS, 1, 1, 1)
            responses = functional.conv2d(maps, kernel, padding=4, groups=MAPS)
            return (responses * residual).sum((2, 3))
        patches = functional.unfold(residual, 9, padding=4)  # q -> r(q + v - 4); M is read at p + u - 4 = q, so v = 8 - u
        overlaps = patches @ maps.flatten(2).transpose(1, 2)
        atoms = self.dictionary.flatten(1).flip(1) / 10
        return (atoms @ overlaps).transpose(1, 2).flatten(1)

    def forward(self, y, interpolated, keep):
        batch, _, height, width = y.shape
        eta = {name: steps / 10 for name, steps in self.step.items()}
        kernel = self.dictionary_start / 10
        x, p = self.begin(interpolated)
        start, early, early_artefacts, images, artefacts = x, [], [], [], []
        for stage in range(2):
            if stage == 0:
                maps = self.first_maps(self.m[0], kernel, y, x, keep)
            else:
                slope = functional.conv_transpose2d(keep * (artefact - (y - x)), kernel, padding=4)
                maps = self.m[stage](maps - eta["m"][stage] * slope)
            artefact = functional.conv2d(maps, kernel, padding=4)
            x = x - eta["x"][stage] * keep * (x - (y - artefact))
            x, p = self.x[stage + 1](x, p)
            early.append(x)
            early_artefacts.append(artefact)
        maps = self.mixed(maps)
        for stage in range(self.stages):
            if stage == 0:
                k = self.correlations(maps, keep * (y - x))
            else:
                slope = self.correlations(maps, keep * (y - x - artefact))
                k = k.flatten(1) + self.step["k"][stage] / (50 * height * width) * slope
            k = self.k[stage](k)
            kernels = torch.einsum("bnj,jyx->bnyx", k, self.dictionary[:, 0] / 10)
            artefact = per_image(maps, kernels)
            slope = functional.conv_transpose2d(
                (keep * (y - x - artefact)).transpose(0, 1), kernels, padding=4, groups=batch
            ).unflatten(1, (batch, -1))[0]
            maps = self.m[stage + 2](maps + eta["m"][stage + 2] * slope)
            artefact = per_image(maps, kernels)
            x = (1 - eta["x"][stage + 2] * keep) * x + eta["x"][stage + 2] * keep * (y - artefact)
            x, p = self.x[stage + 3](x, p)
            images.append(x)
            artefacts.append(artefact)
        x, _ = self.x[self.stages + 3](x, p)
        return start, [*images, x], artefacts, early, early_artefacts


def per_image(maps, kernels):
    """sum over n of C_n * M_n, each image with kernels of its own."""
    batch = len(maps)
    return functional.conv2d(maps.flatten(0, 1)[None], kernels, padding=4, groups=batch).transpose(0, 1)


NETWORKS = {"acdnet": ACDNet, "dicdnet": DICDNet, "oscnet": OSCNet}


def named(network):
    """Parameters and running statistics by the names of reynolds; the second kernel of a pathway convolution has `.equivariant`."""
    both = [*network.named_parameters(), *(item for item in network.named_buffers() if "running" in item[0])]
    return {name.replace("dictionary_start", "dictionary.start"): tensor for name, tensor in both}


# --- loss, modes -------------------------------------------------------------------------------------------------------


def loss_of(outcome, y, keep, truth):
    """Squares by their mean, absolute values by their sum; all stages send gradient."""
    start, images, artefacts, early, early_artefacts = outcome
    inside, outside = keep * truth, keep * (y - truth)
    weighted = [(0.1, start), *((0.1, image) for image in images[:-1]), (1, images[-1]), *zip((0.1, 1), early)]
    squares = sum(weight * functional.mse_loss(keep * image, inside) for weight, image in weighted)
    absolute = sum(weight * functional.l1_loss(keep * image, inside, reduction="sum") for weight, image in weighted)
    weighted = [*((0.1, artefact) for artefact in artefacts), (1, artefacts[-1]), *zip((0.1, 1), early_artefacts)]
    streaks = sum(weight * functional.l1_loss(keep * artefact, outside, reduction="sum") for weight, artefact in weighted)
    return squares + 5e-4 * absolute + 5e-4 * streaks


class SamplePenalty:
    """Sum over layers of |rot_r(y0) - shift_r(y1)|, y0 and y1 the halves of a doubled batch, seen by hooks."""

    def __init__(self, network):
        self.r, self.total, self.seeing = 0, 0, False
        for conv in network.held():
            conv.register_forward_hook(self.see)

    def see(self, _module, _inputs, output):
        if self.seeing:
            own, turned = output.chunk(2)
            shifted = turned.unflatten(1, (-1, 4)).roll(-self.r, 2).flatten(1, 2)
            self.total = self.total + (own.rot90(self.r, (2, 3)) - shifted).norm()

    def loss(self, network, batch, r):
        y, interpolated, keep, truth = (torch.cat([image, image.rot90(r, (2, 3))]) for image in batch)
        self.r, self.total, self.seeing = r, 0, True
        task = loss_of(network(y, interpolated, keep), y, keep, truth)
        self.seeing = False
        return task, self.total


def projection_penalty(network):
    """Sum over layers of |W - P(W)|^2, one layer after the other on the tape."""
    return sum((conv.weight - project(conv.weight)).square().sum() for conv in network.held())


@torch.no_grad()
def add_penalty_gradient(network, strength):
    """Adds 2 strength (W - P(W)) to the gradients of all layers at once, without the tape; gives the penalty."""
    weights = [conv.weight for conv in network.held()]
    stacked = torch.stack(weights)
    off = stacked - project(stacked)
    torch._foreach_add_([weight.grad for weight in weights], list(off.unbind()), alpha=2 * strength)
    return off.square().sum()
