"""A plain convolutional network whose channels can be read as regular fields of C4.

Padding, pooling and grid sizes are chosen such that every layer commutes with quarter turns of the input if its weights do
(w = P(w)); the head maps regular fields to trivial ones. Convolution → max pooling → (layer norm) → GELU until the grid is one point, then
a dense layer. All weights and biases of a network are one flat vector, weights first.
"""

import math
from dataclasses import dataclass

import torch
import torch.nn.functional as F


@dataclass(frozen=True)
class Part:
    """One weight or bias in the flat vector, and how a quarter turn acts on it."""

    shape: tuple
    plane: tuple | None = None
    fields_out: bool = False
    fields_in: bool = False

    @property
    def size(self):
        return math.prod(self.shape)


@dataclass(frozen=True)
class Layer:
    kernel: int
    stride: int = 1
    padding: int = 1
    pool: int = 1


@dataclass(frozen=True)
class Architecture:
    dimensions: int  # of the grid; quarter turns act in the first two
    channels: int
    layers: tuple
    norm: str = "none"  # "none" or "layer": over channels and positions, without affine part, hence equivariant
    classes: int = 10

    def weights(self):
        wide = [Part((self.channels,) + (layer.kernel,) * self.dimensions + (self.channels if depth else 1,),
                     plane=(1, 2), fields_out=True, fields_in=depth > 0) for depth, layer in enumerate(self.layers)]
        return wide + [Part((self.classes, self.channels), fields_in=True)]

    def biases(self):
        return [Part((self.channels,), fields_out=True) for _ in self.layers] + [Part((self.classes,))]

    def parts(self):
        return self.weights() + self.biases()

    def initial(self, generator):
        """He's initialisation; biases are zero."""
        flat = [torch.randn(part.shape, generator=generator).flatten() * math.sqrt(2 / math.prod(part.shape[1:])) for part in self.weights()]
        return torch.cat(flat + [torch.zeros(part.size) for part in self.biases()])

    def split(self, flat):
        """Views of the flat vector, a leaf of autograd each."""
        parts = self.parts()
        return [piece.view(part.shape).detach().requires_grad_() for piece, part in zip(flat.split([part.size for part in parts]), parts)]

    def logits(self, parameters, images):
        """Logits `[batch, classes]`, float32, of images `[batch, *grid, 1]`: channels last, as the weights are."""
        convolve, pool = (F.conv2d, F.max_pool2d) if self.dimensions == 2 else (F.conv3d, F.max_pool3d)
        depth = len(self.layers)
        x = images.movedim(-1, 1)
        for layer, weight, bias in zip(self.layers, parameters, parameters[depth + 1 :]):
            x = convolve(x, weight.movedim(-1, 1), bias, layer.stride, layer.padding)
            if layer.pool > 1:
                x = pool(x, layer.pool)
            if self.norm == "layer":
                x = x.movedim(1, -1)
                x = F.layer_norm(x, x.shape[1:]).movedim(-1, 1)
            x = F.gelu(x, approximate="tanh")
        return F.linear(x.flatten(1).float(), parameters[depth].float(), parameters[-1].float())


LAST = (Layer(3, stride=2, padding=0), Layer(3, padding=0))  # 7 → 3 → 1 along each axis; a stride of two commutes with turns of an odd grid


def mnist_network(channels, norm="none"):
    """28² → 14² → 7² → 3² → 1."""
    return Architecture(2, channels, (Layer(5, padding=2, pool=2), Layer(3), Layer(3, pool=2), *LAST), norm)


def modelnet_network(channels, norm="none"):
    """28³ → 14³ → 7³ → 3³ → 1. A kernel of four with stride two commutes with turns of an even grid."""
    return Architecture(3, channels, (Layer(4, stride=2), Layer(3, pool=2), Layer(3), *LAST), norm)
