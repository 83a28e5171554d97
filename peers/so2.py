"""The SO(2) experiment of the paper's section 4.1 in PyTorch, as one would write it: the 16 models of the grid of penalties.

    peers/.venv/bin/python peers/so2.py [--form literal|collapsed] [--points-innermost] [--threads N] [--epochs N] [--without-penalty] [--json]

Disk and arc, full batch, two complex linear layers, the invariant part of the tensor product, a real head; Adam; the penalty
lambda_G sum |W| + lambda_perp sum |W - M W| on the tape. `literal` applies the two layers one after the other, `collapsed` multiplies
their matrices first. --points-innermost has the batch as the last dimension, as ours has it: faster, and not how one writes it. Prints models per second, the mean test accuracy and the mean task loss at the end, which must agree with ours.
"""

import argparse
import itertools
import math
import statistics
import time

import report
import torch

DEGREE, RADIAL, HIDDEN, WIDTH = 4, 4, 16, 0.5
ORDERS = 2 * DEGREE + 1
STRENGTHS = (0.0, 0.001, 0.01, 0.1)


def disk_and_arc(per_class, generator):
    """Points [2 * per_class, 2] and labels; every fifth point is for testing."""
    uniform = lambda low, high: low + (high - low) * torch.rand(per_class, generator=generator)
    radius = torch.cat([uniform(0, 1), uniform(2.3, 3)])
    angle = torch.cat([uniform(0, 2 * math.pi), uniform(-math.pi / 4, math.pi / 4)])
    points = torch.stack([radius * angle.cos(), radius * angle.sin()], 1)
    return points, torch.cat([torch.ones(per_class), torch.zeros(per_class)])


def harmonics(points):
    """b_n(r) z^m, [batch, orders * radial]."""
    z = torch.complex(points[:, 0], points[:, 1])
    radius = z.abs()
    unit = torch.where(radius > 0, z / radius.clamp_min(1e-30), torch.ones_like(z))
    centres = torch.linspace(0, 4, RADIAL)
    radial = torch.exp(-((radius[:, None] - centres) ** 2) / (2 * WIDTH**2))
    orders = torch.stack([unit**m for m in range(-DEGREE, DEGREE + 1)], 1)
    return (orders[:, :, None] * radial[:, None, :]).flatten(1)


class Net(torch.nn.Module):
    def __init__(self, form, generator):
        super().__init__()
        self.form = form
        self.first = self.complex(ORDERS * HIDDEN, ORDERS * RADIAL, generator)
        self.second = self.complex(ORDERS * HIDDEN, ORDERS * HIDDEN, generator)
        self.head = torch.nn.Linear(HIDDEN, 1)

    @staticmethod
    def complex(rows, columns, generator):
        scale = math.sqrt(1 / (2 * columns))
        parts = scale * torch.randn(rows, columns, 2, generator=generator)
        return torch.nn.Parameter(torch.view_as_complex(parts))

    def forward(self, features):
        if self.form == "literal":
            h = features @ self.first.T @ self.second.T
        else:
            h = features @ (self.second @ self.first).T
        h = h.view(-1, ORDERS, HIDDEN)
        invariant = (h * h.flip(1)).sum(1).real
        return self.head(invariant).squeeze(1)


class PointsInnermost(Net):
    """The same network on features [orders * radial, batch]."""

    def forward(self, features):
        if self.form == "literal":
            h = self.second @ (self.first @ features)
        else:
            h = (self.second @ self.first) @ features
        h = h.view(ORDERS, HIDDEN, -1)
        invariant = (h * h.flip(0)).sum(0).real
        return self.head(invariant.T).squeeze(1)


def mask(rows, columns):
    """Keeps what couples equal orders."""
    order = lambda channels: torch.arange(ORDERS).repeat_interleave(channels)
    return (order(rows)[:, None] == order(columns)[None, :]).to(torch.complex64)


def train(strengths, network, form, epochs, data, masks, seed):
    generator = torch.Generator().manual_seed(seed)
    (features, labels), (test_features, test_labels) = data
    net = network(form, generator)
    optimiser = torch.optim.Adam(net.parameters(), lr=0.003)
    lambda_g, lambda_perp = strengths or (0, 0)
    for _ in range(epochs):
        optimiser.zero_grad()
        task = torch.nn.functional.binary_cross_entropy_with_logits(net(features), labels)
        loss = task
        for weight, kept in zip((net.first, net.second), masks) if strengths else ():
            loss = loss + lambda_g * weight.norm() + lambda_perp * (weight - kept * weight).norm()
        loss.backward()
        optimiser.step()
    with torch.no_grad():
        right = ((net(test_features) > 0) == (test_labels > 0.5)).float().mean().item()
    return right, task.item()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--form", choices=("literal", "collapsed"), default="literal")
    parser.add_argument("--points-innermost", action="store_true")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--epochs", type=int, default=200)
    parser.add_argument("--without-penalty", action="store_true", help="the same model 16 times, without the penalty")
    parser.add_argument("--json", action="store_true", help="one JSON line instead of text")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    points, labels = disk_and_arc(350, torch.Generator().manual_seed(0))
    test = torch.arange(len(points)) % 5 == 0
    features = harmonics(points)
    network, lay = Net, lambda features: features
    if options.points_innermost:
        network, lay = PointsInnermost, lambda features: features.T.contiguous()
    data = (lay(features[~test]), labels[~test]), (lay(features[test]), labels[test])
    masks = mask(HIDDEN, RADIAL), mask(HIDDEN, HIDDEN)
    train((0.1, 0.1), network, options.form, 5, data, masks, 0)  # warm
    grid = [None] * 16 if options.without_penalty else list(itertools.product(STRENGTHS, STRENGTHS))
    start = time.perf_counter()
    results = [train(strengths, network, options.form, options.epochs, data, masks, 0) for strengths in grid]
    seconds = time.perf_counter() - start
    accuracy, loss = (statistics.mean(column) for column in zip(*results))
    penalty = ", without the penalty" if options.without_penalty else ""
    name = f"PyTorch: SO(2) grid of 16 models, {options.form}{penalty}, {options.threads} threads, {options.epochs} epochs"
    report.row(name, seconds, report.versions("torch"), options.json)
    if not options.json:
        print(f"{16 / seconds:.2f} models/s, test accuracy {accuracy:.3f}, task loss {loss:.4f}")


if __name__ == "__main__":
    main()
