"""Does the penalty pay on digits whose orientation matters only partly?

    pip install ./python torch scikit-learn && python examples/digits.py

Every image of scikit-learn's digits is turned by a random quarter turn with probability 1 − b: at b = 0 all orientations are equally
likely, at b = 1 all digits are upright. A small network of C4 regular fields is trained on a few hundred of them: without a penalty, with
weight decay, with augmentation by turns, strictly equivariant, and with the penalty as a gradient and as a step of its own. Strengths are
chosen on validation. Prints a row for each method, writes digits.json and, where matplotlib is installed, digits.svg.
"""

from __future__ import annotations

import argparse
import json
import pathlib
import statistics

import torch
from torch import Tensor, nn

import reynolds as rn

STRENGTHS = {
    "none": [0.0],
    "weight decay": [1e-4, 1e-3, 1e-2],
    "augmentation": [0.25, 0.5, 0.75],
    "strict": [0.0],
    "gradient": [0.01, 0.1, 1.0],
    "decoupled": [0.3, 3.0, 30.0],
}


def digits(b: float, seed: int, file: pathlib.Path | None) -> list[tuple[Tensor, Tensor]]:
    """Training, validation and test, drawn alike: images [N, 1, k, k] and labels."""
    if file is not None:
        import numpy

        stored = numpy.load(file, allow_pickle=False)
        images, labels = torch.tensor(stored["x_train"][:6000]).float() / 255, torch.tensor(stored["y_train"][:6000]).long()
    else:
        from sklearn.datasets import load_digits  # type: ignore[import-untyped,unused-ignore]

        stored = load_digits()
        images, labels = torch.tensor(stored.images).float() / 16, torch.tensor(stored.target).long()
    random = torch.Generator().manual_seed(seed)
    order = torch.randperm(len(images), generator=random)
    images, labels = images[order, None], labels[order]
    turned = torch.rand(len(images), generator=random) >= b
    quarters = torch.randint(4, (len(images),), generator=random) * turned
    images = turns(images, quarters)
    train, validation = 500, (len(images) - 500) // 3
    ends = [0, train, train + validation, len(images)]
    return [(images[start:end], labels[start:end]) for start, end in zip(ends, ends[1:])]


def turns(images: Tensor, quarters: Tensor) -> Tensor:
    """Each image turned by so many quarters."""
    out = images.clone()
    for count in (1, 2, 3):
        out[quarters == count] = torch.rot90(images[quarters == count], count, (2, 3))
    return out


def network(channels: int) -> nn.Sequential:
    """Convolutions whose normalisation and pooling treat all channels and quarter turns alike: only the weights decide."""
    layers: list[nn.Module] = []
    for before, after in ((1, channels), (channels, channels), (channels, channels)):
        layers += [nn.Conv2d(before, after, 3, padding=1), nn.GroupNorm(1, after, affine=False), nn.ReLU()]
    layers.insert(6, nn.MaxPool2d(2))
    return nn.Sequential(*layers, nn.AdaptiveMaxPool2d(1), nn.Flatten(), nn.Linear(channels, 10))


def train(row: str, strength: float, data: list[tuple[Tensor, Tensor]], seed: int, options: argparse.Namespace) -> dict[str, float]:
    """Trains one network; its accuracy on validation and test, and how far it is from equivariance."""
    torch.manual_seed(seed)
    model = network(options.channels).to(options.device)
    (images, labels), validation, test = [(x.to(options.device), y.to(options.device)) for x, y in data]
    plan = rn.Plan.infer(model, "C4", "1 trivial", output="10 trivial", example=images[:1])
    if row == "strict":
        rn.constrain_(model, plan)
    decay = strength if row == "weight decay" else 0.0
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2, weight_decay=decay)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, options.steps)
    if row in ("gradient", "decoupled"):
        rn.Penalty(model, plan, lambda_perp=strength, step=row).attach(optimizer)
    for _ in range(options.steps):
        batch = torch.randint(len(images), (64,), device=options.device)
        x = images[batch]
        if row == "augmentation":
            x = turns(x, torch.randint(4, (64,), device=x.device) * (torch.rand(64, device=x.device) < strength))
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(x), labels[batch]).backward()
        optimizer.step()
        schedule.step()
    rn.bake_(model)
    model.eval()
    with torch.no_grad():
        accuracies = [float((model(x).argmax(1) == y).float().mean()) for x, y in (validation, test)]
    residual = rn.Penalty(model, plan, lambda_perp=0.0).residual()
    return {"validation": accuracies[0], "test": accuracies[1], "residual": residual}


def study(b: float, options: argparse.Namespace) -> list[dict[str, object]]:
    """For each method the strength that is best on validation, and its networks."""
    rows: list[dict[str, object]] = []
    for row, strengths in STRENGTHS.items():
        found = {}
        for strength in strengths:
            seeds = range(options.seeds)
            found[strength] = [train(row, strength, digits(b, seed, options.data), seed, options) for seed in seeds]
        best = max(found, key=lambda strength: statistics.mean(model["validation"] for model in found[strength]))
        tests = [100 * model["test"] for model in found[best]]
        residual = statistics.mean(model["residual"] for model in found[best])
        spread = statistics.stdev(tests) if len(tests) > 1 else float("nan")
        print(f"b = {b:<4} {row:13} strength {best:<7g} test {statistics.mean(tests):.2f} ± {spread:.2f} %   residual {residual:.3f}", flush=True)
        rows.append({"b": b, "row": row, "strength": best, "test": tests, "residual": residual})
    return rows


def draw(rows: list[dict[str, object]], path: pathlib.Path) -> None:
    """Test accuracy against b, a line for each method."""
    try:
        import matplotlib.pyplot as plt
    except ImportError:
        return
    for row in STRENGTHS:
        mine = [found for found in rows if found["row"] == row]
        plt.plot([found["b"] for found in mine], [statistics.mean(found["test"]) for found in mine], marker="o", label=row)  # type: ignore[arg-type]
    plt.xlabel("share of digits that are upright, b")
    plt.ylabel("test accuracy, %")
    plt.legend()
    plt.savefig(path)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--data", type=pathlib.Path, help="MNIST as an .npz with x_train and y_train, in place of scikit-learn's digits")
    parser.add_argument("--b", type=float, nargs="+", default=[0.0, 0.5, 0.9, 1.0], help="shares of upright digits")
    parser.add_argument("--channels", type=int, default=32)
    parser.add_argument("--steps", type=int, default=1000)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path("."))
    options = parser.parse_args()
    rows = [found for b in options.b for found in study(b, options)]
    (options.out / "digits.json").write_text(json.dumps({"settings": vars(options) | {"data": str(options.data), "out": ""}, "rows": rows}, indent=1))
    draw(rows, options.out / "digits.svg")


if __name__ == "__main__":
    main()
