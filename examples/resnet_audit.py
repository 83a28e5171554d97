"""How equivariant is a ResNet-18, and what keeps it from being more?

    pip install ./python torch torchvision && python examples/resnet_audit.py [--weights resnet18.pth] [--out audit.html]

Audits the weights (torchvision's file of weights, or random ones), types the network by its graph, and projects it: at 224 pixels its
strides leak, at 225 they do not. Nothing is downloaded.
"""

from __future__ import annotations

import argparse
import pathlib

import torch
from torchvision.models import resnet18  # type: ignore[import-untyped,unused-ignore]

import reynolds as rn


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--weights", type=pathlib.Path, help="a state_dict of torchvision's resnet18")
    parser.add_argument("--group", default="C4")
    parser.add_argument("--sides", type=int, nargs="+", default=[224, 225])
    parser.add_argument("--out", type=pathlib.Path, help="the audit as a page")
    options = parser.parse_args()
    torch.manual_seed(1)
    model = resnet18(weights=None).eval()
    if options.weights is not None:
        model.load_state_dict(torch.load(options.weights, weights_only=True))

    found = rn.audit(model, group=options.group, fields="trivial", rank=True)
    print(found)
    if options.out is not None:
        found.to_html(options.out)

    plan = rn.Plan.infer(model, options.group, "3 trivial", output="1000 trivial", example=torch.rand(1, 3, options.sides[-1], options.sides[-1]))
    print(f"\ntyped: {len(plan.resolve(model.state_dict()).describe())} tensors; left alone: {len(plan.warnings)}")
    rn.project_(model, plan)
    rn.settle_(model, [torch.rand(4, 3, options.sides[-1], options.sides[-1])], plan)
    for side in options.sides:
        print(f"\nprojected, {side} pixels: {rn.equivariance_error(model, torch.rand(1, 3, side, side), options.group, plan=plan, trace=True)}")


if __name__ == "__main__":
    main()
