"""What each row of the study does to a training: to what is trained, to the gradient, and after the optimiser's step.

    gradient     loss + λ ‖w − P(w)‖²                                         by way of the optimiser
    squared      w ← P(w) + (w − P(w)) / (1 + 2ηλ)                            after it, η its learning rate
    plain        w ← P(w) + (w − P(w)) · max(0, 1 − ηλ√d / ‖w − P(w)‖)        a layer at a time, d its free dimensions outside of P
    target       w ← P(w) + (w − P(w)) · min(1, τ‖P(w)‖ / (√(1−τ²)‖w − P(w)‖))
    rpp          w = P(a) + r, loss + λ ‖r‖²
    sampled      loss + λ mean ‖f(gx) − f(x)‖² over drawn turns g, on logits: a second forward pass
    strict       w ← P(w)

Steps are out of place and read the learning rate from the device, so that they can be captured in a CUDA graph.
"""

import torch

from fields import project


class Spaces:
    """P on the flat weights of a network, and its layers."""

    def __init__(self, network, table):
        self.table = table
        self.sizes = [part.size for part in network.parts()]
        sizes = torch.tensor(self.sizes)
        self.layer = torch.repeat_interleave(torch.arange(len(sizes)), sizes).to(table.device)
        first = table.min(0).values.cpu() == torch.arange(table.shape[1])  # one weight of each orbit
        rank = torch.zeros(len(sizes)).index_add_(0, self.layer.cpu(), first.float())
        self.outside = (sizes - rank).to(table.device)

    def project(self, weights):
        return project(weights, self.table)

    def norms(self, weights):
        """Norm of each layer `[layers]`."""
        return torch.stack(torch._foreach_norm(weights.split(self.sizes)))


class Method:
    """Nothing but the loss."""

    turns = False

    def __init__(self, strength, spaces):
        self.strength, self.spaces = strength, spaces

    def initial(self, weights):
        return weights

    def weights(self, trained):
        return trained

    def gradient(self, trained, gradient):
        return gradient

    def after(self, trained, rate):
        pass


class Strict(Method):
    def initial(self, weights):
        # The mean of four independent weights has a quarter of their variance: twice the projection keeps it.
        return 2 * self.spaces.project(weights)

    def gradient(self, trained, gradient):
        return self.spaces.project(gradient)

    def after(self, trained, rate):
        trained.copy_(self.spaces.project(trained))


class Gradient(Method):
    def gradient(self, trained, gradient):
        return gradient + 2 * self.strength * (trained - self.spaces.project(trained))


class Squared(Method):
    def after(self, trained, rate):
        projected = self.spaces.project(trained)
        trained.copy_(projected + (trained - projected) / (1 + 2 * self.strength * rate))


class Scaled(Method):
    """w − P(w) of each layer times a factor."""

    def after(self, trained, rate):
        projected = self.spaces.project(trained)
        rest = trained - projected
        factors = self.factors(self.spaces.norms(projected), self.spaces.norms(rest).clamp_min(1e-30), rate)
        trained.copy_(projected + rest * factors[self.spaces.layer])


class Plain(Scaled):
    def factors(self, projected, rest, rate):
        return (1 - rate * self.strength * self.spaces.outside.sqrt() / rest).clamp_min(0)


class Target(Scaled):
    def factors(self, projected, rest, rate):
        return (self.strength / (1 - self.strength**2) ** 0.5 * projected / rest).clamp_max(1)


class ResidualPathway(Method):
    """An equivariant and a free copy of every weight; half of the network's variance in each at the start."""

    def initial(self, weights):
        signs = torch.rand(weights.shape, generator=torch.Generator().manual_seed(1)).to(weights.device) < 0.5  # no correlation of the two
        return torch.cat([2 * self.spaces.project(weights), torch.where(signs, weights, -weights)]) * 0.5**0.5

    def weights(self, trained):
        equivariant, free = trained.chunk(2)
        return self.spaces.project(equivariant) + free

    def gradient(self, trained, gradient):
        return torch.cat([self.spaces.project(gradient), gradient + 2 * self.strength * trained.chunk(2)[1]])


class Sampled(Method):
    turns = True

    def on_outputs(self, logits, turned):
        return self.strength * (turned - logits).square().sum(1).mean()


METHODS = {"none": Method, "weight decay": Method, "augmentation": Method, "strict": Strict, "gradient": Gradient, "squared": Squared,
           "plain": Plain, "target": Target, "squared and augmentation": Squared, "rpp": ResidualPathway, "sampled": Sampled}


def method(row, strength, spaces):
    return METHODS[row](strength, spaces)
