"""Fine-tunes a trained network towards equivariance, at no cost in accuracy.

    pip install ./python torch scikit-learn && pip install --no-deps facenet-pytorch && python examples/finetune.py

The network is ONet of MTCNN, which finds eyes, noses and mouths in faces; its weights come with the PyPI package facenet-pytorch (MIT).
Its convolutions are fine-tuned on a few hundred of scikit-learn's digits, once as they are and once with a target: how far the layers are
from C4-equivariant weights falls to 5 %. Prints the accuracy on upright and on turned digits, and the equivariance error.
"""

from __future__ import annotations

import argparse
import importlib.util
import pathlib

import torch
from torch import Tensor, nn

import reynolds as rn

#: Every pooling window of the network is centred on images of so many pixels, so that they leak nothing.
SIDE = 49


def onet() -> nn.Sequential:
    """The trained convolutions of ONet, and a new head for ten classes."""
    package = importlib.util.find_spec("facenet_pytorch")
    if package is None or not package.submodule_search_locations:
        raise SystemExit("finetune: expected facenet-pytorch, found none; pip install --no-deps facenet-pytorch")
    stored = torch.load(pathlib.Path(package.submodule_search_locations[0]) / "data" / "onet.pt", weights_only=True)
    layers: list[nn.Module] = []
    pools = [nn.MaxPool2d(3, 2), nn.MaxPool2d(3, 2), nn.MaxPool2d(2, 2), nn.AdaptiveAvgPool2d(1)]
    for number, pool in enumerate(pools, 1):
        weight = stored[f"conv{number}.weight"]
        convolution, slope = nn.Conv2d(weight.shape[1], weight.shape[0], weight.shape[2]), nn.PReLU(len(weight))
        with torch.no_grad():
            convolution.weight.copy_(weight)
            convolution.bias.copy_(stored[f"conv{number}.bias"])  # type: ignore[union-attr]
            slope.weight.copy_(stored[f"prelu{number}.weight"])
        layers += [convolution, slope, pool]
    return nn.Sequential(*layers, nn.Flatten(), nn.Linear(128, 10))


def digits() -> tuple[Tensor, Tensor]:
    """scikit-learn's digits as colour images of `SIDE` pixels, in a random order, and their labels."""
    from sklearn.datasets import load_digits  # type: ignore[import-untyped,unused-ignore]

    stored = load_digits()
    images = torch.tensor(stored.images).float()[:, None] / 8 - 1
    order = torch.randperm(len(images), generator=torch.Generator().manual_seed(1))
    images = nn.functional.interpolate(images[order], (SIDE, SIDE), mode="bilinear", align_corners=True)
    return images.expand(-1, 3, -1, -1), torch.tensor(stored.target).long()[order]


def finetune(target: float | None, steps: int, train: int) -> dict[str, float]:
    """Fine-tunes once; with a target, ‖W − P(W)‖/‖W‖ of all layers falls to it along the first half of the steps."""
    images, labels = digits()
    torch.manual_seed(1)
    model = onet()
    plan = rn.Plan.infer(model, "C4", "3 trivial", output="10 trivial", example=images[:1])
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    penalty = rn.Penalty(model, plan, target=0.99, target_scope="network")
    start = penalty.residual()
    if target is not None:
        penalty.attach(optimizer)
    for step in range(steps):
        if target is not None:
            penalty.target = max(target, start + (target - start) * 2 * step / steps)
        batch = torch.randint(train, (64,))
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(images[batch]), labels[batch]).backward()
        optimizer.step()
    model.eval()
    test, answers = images[train:], labels[train:]
    with torch.no_grad():
        upright = float((model(test).argmax(1) == answers).float().mean())
        turned = float((model(torch.rot90(test, 1, (2, 3))).argmax(1) == answers).float().mean())
    error = rn.equivariance_error(model, test[:64], "C4").worst
    return {"before": start, "after": penalty.residual(), "upright": upright, "turned": turned, "error": error}


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--target", type=float, default=0.05)
    parser.add_argument("--steps", type=int, default=300)
    parser.add_argument("--images", type=int, default=500, help="training images")
    options = parser.parse_args()
    for target in (None, options.target):
        found = finetune(target, options.steps, options.images)
        print(
            f"{'as it is' if target is None else f'target {target:g}':12} residual {found['before']:.3f} → {found['after']:.3f}  equivariance error "
            f"{found['error']:.3f}  accuracy {100 * found['upright']:.1f} %, on turned digits {100 * found['turned']:.1f} %",
            flush=True,
        )


if __name__ == "__main__":
    main()
