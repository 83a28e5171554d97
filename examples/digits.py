"""Does the penalty pay on digits whose orientation matters only partly?

    pip install ./python torch scikit-learn && python examples/digits.py

Every image of scikit-learn's digits is turned by a random quarter turn with probability 1 − b: at b = 0 all orientations are equally
likely, at b = 1 all digits are upright. Small networks of C4 regular fields are trained on a few hundred of them until the accuracy on
validation is flat: without a penalty, with weight decay, with augmentation by turns, strictly equivariant, with the penalty as a gradient and
as a step of its own. All of them, every strength and every seed, are one stack of models (torch.func) with one optimiser. Strengths are
chosen on validation. Prints a row for each method, writes digits.json and, where matplotlib is installed, digits.svg: test accuracy by λ_⊥.
"""

from __future__ import annotations

import argparse
import itertools
import json
import pathlib
import statistics
import time
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.func import functional_call, stack_module_state, vmap

import reynolds as rn

STRENGTHS = {
    "none": [0.0],
    "weight decay": [0.01, 0.1, 1.0],
    "augmentation": [0.25, 0.5, 0.75],
    "gradient": [0.001, 0.01, 0.1, 1.0],
    "decoupled": [0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0],
    "augmentation, decoupled": [1.0, 3.0, 10.0],
    "strict": [0.0],
}


@dataclass(frozen=True)
class Model:
    """One network of the stack."""

    row: str
    strength: float
    b: float
    seed: int


def digits(b: float, seed: int, train: int, file: pathlib.Path | None) -> list[Tensor]:
    """Images [N, 1, k, k] and labels of training, validation and test, drawn alike."""
    if file is not None:
        import numpy

        stored = numpy.load(file, allow_pickle=False)
        images, labels = torch.tensor(stored["x_train"][:6000]).float(), torch.tensor(stored["y_train"][:6000]).long()
        images = images / images.max()
    else:
        from sklearn.datasets import load_digits  # type: ignore[import-untyped,unused-ignore]

        stored = load_digits()
        images, labels = torch.tensor(stored.images).float() / 16, torch.tensor(stored.target).long()
    random = torch.Generator().manual_seed(seed)
    order = torch.randperm(len(images), generator=random)
    images, labels = images[order, None], labels[order]
    turned = torch.rand(len(images), generator=random) >= b
    images = turns(images, torch.randint(4, (len(images),), generator=random) * turned)
    validation = train + (len(images) - train) // 3
    return [part for both in zip(images.tensor_split([train, validation]), labels.tensor_split([train, validation])) for part in both]


def turns(images: Tensor, quarters: Tensor) -> Tensor:
    """Each image turned by so many quarters."""
    for count in (1, 2, 3):
        images = torch.where((quarters == count)[..., None, None, None], torch.rot90(images, count, (-2, -1)), images)
    return images


class Normalisation(nn.GroupNorm):
    """All channels and pixels of an image as one group; torch.func knows it as a layer normalisation."""

    def forward(self, x: Tensor) -> Tensor:
        return nn.functional.layer_norm(x, x.shape[1:])


def network(channels: int) -> nn.Sequential:
    """Convolutions whose normalisation and pooling treat all channels and quarter turns alike: only the weights decide."""
    layers: list[nn.Module] = []
    for before, after in ((1, channels), (channels, channels), (channels, channels)):
        layers += [nn.Conv2d(before, after, 3, padding=1), Normalisation(1, after, affine=False), nn.GELU()]
    layers.insert(6, nn.MaxPool2d(2))
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(channels, 10))


def train(models: list[Model], channels: int, options: argparse.Namespace) -> list[dict[str, Any]]:
    """Trains all these networks at once; what each of them reached."""
    device, began = torch.device(options.device), time.time()
    sets = {key: digits(*key, options.images, options.data) for key in {(model.b, model.seed) for model in models}}
    data = [torch.stack([sets[model.b, model.seed][part] for model in models]).to(device) for part in range(6)]

    def numbers(*rows: str) -> Tensor:
        """The strength of every model of these rows, 0 for the others."""
        return torch.tensor([model.strength if model.row in rows else 0.0 for model in models], device=device)

    started = []
    for model in models:
        torch.manual_seed(model.seed)
        started.append(network(channels).to(device))
    plan = rn.Plan.infer(started[0], "C4", "1 trivial", output="10 trivial", example=data[0][0, :1])
    for model, one in zip(models, started):
        if model.row == "strict":
            rn.constrain_(one, plan)
    base = started[0]
    weights, _ = stack_module_state(started)
    optimizer = torch.optim.Adam(weights.values(), lr=options.lr)
    if models[0].row != "strict":
        rn.Penalty(weights, plan, lambda_perp=numbers("gradient"), step="gradient", stacked=True).attach(optimizer)
        rn.Penalty(weights, plan, lambda_perp=numbers("decoupled", "augmentation, decoupled"), stacked=True).attach(optimizer)
    decay = numbers("weight decay")
    augmented = torch.where(numbers("augmentation, decoupled") > 0, 0.5, numbers("augmentation"))

    def outputs(one: dict[str, Tensor], x: Tensor) -> Tensor:
        found: Tensor = functional_call(base, one, (x,))
        return found

    def loss(one: dict[str, Tensor], x: Tensor, y: Tensor) -> Tensor:
        return nn.functional.cross_entropy(outputs(one, x), y)

    @torch.no_grad()
    def answers(images: Tensor) -> Tensor:
        return torch.cat([vmap(outputs)(weights, part).argmax(2) for part in images.split(128, 1)], 1)

    def accuracy(part: int) -> Tensor:
        return (answers(data[part]) == data[part + 1]).float().mean(1)

    each = torch.arange(len(models), device=device)[:, None]
    curve, step, cooling = [0.0], 0, 0
    torch.manual_seed(0)
    while cooling < options.chunk or cooling % options.chunk:
        batch = torch.randint(options.images, (len(models), 64), device=device)
        x, y = data[0][each, batch], data[1][each, batch]
        x = turns(x, torch.randint(4, batch.shape, device=device) * (torch.rand(batch.shape, device=device) < augmented[:, None]))
        # Flat at a constant learning rate; then the rate falls to 0, and the models settle.
        rate = options.lr * (1 - cooling / options.chunk) if cooling else options.lr
        optimizer.param_groups[0]["lr"] = rate
        optimizer.zero_grad()
        vmap(loss)(weights, x, y).sum().backward()
        optimizer.step()
        with torch.no_grad():
            for value in weights.values():
                value.mul_(1 - rate * decay.view(-1, *[1] * (value.dim() - 1)))
        step += 1
        cooling += cooling > 0
        if step % options.chunk == 0 and not cooling:
            curve.append(float(accuracy(2).mean()))
            print(f"{channels} channels, {len(models)} models, step {step}: validation {100 * curve[-1]:.2f} %  {time.time() - began:.0f} s", flush=True)
            if step >= options.steps or len(curve) > 3 and curve[-1] < max(curve[:-2]) + 0.002:
                cooling = 1
    validation, test = accuracy(2).tolist(), accuracy(4).tolist()
    unturned = answers(data[4])
    kept = [(answers(torch.rot90(data[4], count, (-2, -1))) == unturned).float().mean(1) for count in (1, 2, 3)]
    stays = torch.stack(kept).mean(0).tolist()
    found: list[dict[str, Any]] = []
    for number, (model, one) in enumerate(zip(models, started)):
        one.load_state_dict({name: value[number].detach() for name, value in weights.items()})
        rn.bake_(one)
        residual = rn.Penalty(one, plan, lambda_perp=0.0).residual()
        reached = {"validation": validation[number], "test": test[number], "stays": stays[number], "residual": residual, "steps": step}
        found.append({"channels": channels, **vars(model), **reached})
    return found


def table(found: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """For each method the strength that is best on validation."""

    def mean(models: list[dict[str, Any]], what: str) -> float:
        return statistics.mean([float(model[what]) for model in models])

    rows: list[dict[str, Any]] = []
    key = ("channels", "b", "row")
    for (channels, b, row), group in itertools.groupby(sorted(found, key=lambda one: [one[k] for k in key]), lambda one: [one[k] for k in key]):
        by_strength: dict[float, list[dict[str, Any]]] = {}
        for model in group:
            by_strength.setdefault(model["strength"], []).append(model)
        best = max(by_strength.values(), key=lambda models: mean(models, "validation"))
        tests = [100 * model["test"] for model in best]
        error = statistics.stdev(tests) / len(tests) ** 0.5 if len(tests) > 1 else float("nan")
        chosen = {"strength": best[0]["strength"], "residual": mean(best, "residual"), "stays": mean(best, "stays")}
        rows.append({"channels": channels, "b": b, "row": row, "test": statistics.mean(tests), "error": error, **chosen})
    rows.sort(key=lambda one: (one["channels"], one["b"], list(STRENGTHS).index(one["row"])))
    for one in rows:
        print("{channels} channels, b = {b:<4} {row:24} {strength:<6g} test {test:.2f} ± {error:.2f} %  residual {residual:.3f}  same answer when turned {stays:.3f}".format(**one))
    return rows


def draw(found: list[dict[str, Any]], path: pathlib.Path) -> None:
    """Test accuracy against λ_⊥ of the decoupled step, a line for each b; no penalty at the left end, strict at the right."""
    try:
        import matplotlib.pyplot as plt
    except ImportError:
        return
    widths = sorted({one["channels"] for one in found})
    figure, axes = plt.subplots(1, len(widths), figsize=(5 * len(widths), 4), sharey=True, squeeze=False)
    strengths = STRENGTHS["decoupled"]
    ends = [strengths[0] / 10, *strengths, strengths[-1] * 10]
    for axis, channels in zip(axes[0], widths):
        for b in sorted({one["b"] for one in found}):
            places = [("none", 0.0), *(("decoupled", strength) for strength in strengths), ("strict", 0.0)]
            by_place = [
                [100 * one["test"] for one in found if (one["channels"], one["b"], one["row"], one["strength"]) == (channels, b, *place)]
                for place in places
            ]
            errors = [statistics.stdev(tests) / len(tests) ** 0.5 if len(tests) > 1 else 0.0 for tests in by_place]
            axis.errorbar(ends, [statistics.mean(tests) for tests in by_place], errors, marker="o", markersize=3, capsize=2, label=f"b = {b:g}")
        axis.set(title=f"{channels} channels", xscale="log", xlabel="λ⊥")
        axis.set_xticks(ends, ["0", *(f"{strength:g}" for strength in strengths), "strict"])
        axis.minorticks_off()
    axes[0][0].set_ylabel("test accuracy, %")
    axes[0][0].legend()
    figure.tight_layout()
    figure.savefig(path)
    plt.close(figure)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--data", type=pathlib.Path, help="MNIST as an .npz with x_train and y_train, in place of scikit-learn's digits")
    parser.add_argument("--b", type=float, nargs="+", default=[0.0, 0.5, 0.9, 1.0], help="shares of upright digits")
    parser.add_argument("--channels", type=int, nargs="+", default=[32])
    parser.add_argument("--images", type=int, default=200, help="training images")
    parser.add_argument("--steps", type=int, default=3000, help="at most so many steps at a constant learning rate")
    parser.add_argument("--chunk", type=int, default=250, help="steps between two looks at validation")
    parser.add_argument("--lr", type=float, default=5e-3)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--together", type=int, default=64, help="models that are trained as one stack")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path("."))
    options = parser.parse_args()
    torch.set_float32_matmul_precision("high")
    grid = [Model(row, strength, b, seed) for row, values in STRENGTHS.items() for strength in values for b in options.b for seed in range(options.seeds)]
    found: list[dict[str, Any]] = []
    for channels in options.channels:
        for strict in (False, True):  # parametrised layers are a stack of their own
            models = [model for model in grid if (model.row == "strict") == strict]
            for start in range(0, len(models), options.together):
                found += train(models[start : start + options.together], channels, options)
    rows = table(found)
    settings = {key: value if isinstance(value, (int, float, list)) else str(value) for key, value in vars(options).items() if key != "out"}
    (options.out / "digits.json").write_text(json.dumps({"settings": settings, "rows": rows, "models": found}, indent=1))
    draw(found, options.out / "digits.svg")


if __name__ == "__main__":
    main()
