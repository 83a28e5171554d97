"""The networks of smoke.py and the dense one of medmnist_networks.py, in double precision, against golden/, which writes their equations another way.

    peers/.venv/bin/python peers/networks_check.py

Ours are held against the same tensors by paper/tests/networks (smoke_forward.rs, volume_forward.rs). Smoke: the forecasts of RSteer and
RGroup for rotations; of RSteer also that both bases span the same kernels. MedMNIST: logits, loss, gradients and running statistics. Prints the
largest relative difference of each and fails where one is above 1e-10. Needs escnn, for the scripts of golden/.
"""

import pathlib
import sys

import numpy
import torch
from safetensors.numpy import load_file

import medmnist_networks as medmnist
import smoke

GOLDEN = pathlib.Path(__file__).resolve().parent.parent / "golden"
sys.path.insert(0, str(GOLDEN))
import medmnist_forward as volumes_there  # noqa: E402
import smoke_forward as smoke_there  # noqa: E402

TOLERANCE = 1e-10


def off(found, expected):
    found, expected = (torch.as_tensor(x).detach() for x in (found, expected))
    assert found.shape == expected.shape, f"expected {list(expected.shape)}, found {list(found.shape)}"
    return ((found - expected).abs().max() / expected.abs().max()).item()


def stacked(name, parts):
    """Weights of the golden network by layer: those of its first layer, of the hidden ones, of the last; `parts` are their shapes."""
    hidden = smoke_there.LAYERS - 2
    counts = {"first": 1, "hidden": hidden, "last": 1}
    return [layer for part, count in counts.items() for layer in smoke_there.values(f"{part}.{name}", (count, *parts[part]))]


def steered():
    """RSteer with the golden weights, each layer in the golden basis, and how far its own basis is from spanning the same."""
    network = smoke.Network("rsteer-rotation", smoke_there.HIDDEN, smoke_there.LAYERS, 1, smoke_there.SIDE)
    places = ["first", *["hidden"] * (smoke_there.LAYERS - 2), "last"]
    shapes = {place: (layer.mixing.shape, layer.sizes[0]) for place, layer in zip(places, network.layers)}
    weights = stacked("weight", {place: (out, into, points, basis) for place, ((out, basis, into, points), _) in shapes.items()})
    biases = stacked("bias", {place: (mixing[0] * codomain,) for place, (mixing, codomain) in shapes.items()})
    spans = []
    for layer, weight, bias in zip(network.layers, weights, biases):
        codomain, domain = layer.sizes
        golden = smoke_there.BASES[domain, codomain].flatten(3)
        here, there = (torch.linalg.qr(basis.flatten(1).T).Q for basis in (layer.basis, golden))
        spans.append(off(here @ here.T, there @ there.T))
        layer.basis = golden
        layer.mixing.data, layer.bias.data = weight.permute(0, 3, 1, 2), bias
    return network, max(spans)


def grouped():
    """RGroup with the golden weights."""
    hidden, banks = smoke_there.HIDDEN, smoke_there.BANKS
    network = smoke.Network("rgroup-rotation", hidden, smoke_there.LAYERS, banks, smoke_there.SIDE)
    sizes = {"first": (hidden, smoke_there.FRAMES), "hidden": (hidden, hidden), "last": (1, hidden)}
    filters = stacked("filters", {place: (out, banks, into, 4, 3, 3) for place, (out, into) in sizes.items()})
    mixing = smoke_there.values("mixing", (smoke_there.LAYERS, 4, banks))
    for layer, psi, mixed in zip(network.layers, filters, mixing):
        layer.filters.data, layer.mixing.data = psi.transpose(0, 1), mixed
    return network


@torch.no_grad()
def check_smoke():
    golden = load_file(GOLDEN / "smoke_forward.safetensors")
    frames = torch.from_numpy(golden["frames"])
    smoke.FRAMES = smoke_there.FRAMES
    steerable, span = steered()
    found = {"rotation.rsteer.basis": span}
    for name, network in (("rotation.rsteer", steerable), ("rotation.rgroup", grouped())):
        found[f"{name}.forecast"] = off(network(frames), golden[f"{name}.forecast"])
    return found


def check_medmnist():
    """The CNN of width 1, which at width 2 is the network of ours; its modules go by the golden names."""
    golden = load_file(GOLDEN / "medmnist_forward.safetensors")
    case, values = "dense.SO3", volumes_there.values
    volumes = values("volumes", (volumes_there.SAMPLES, 1, *(volumes_there.SIDE,) * 3))
    network = medmnist.Dense("so3", volumes_there.C, volumes_there.CLASSES)
    modules = {key.replace("_", "."): module for key, module in network.convs.items()}
    modules |= {key.replace("_conv", ".norm"): module for key, module in network.norms.items()}
    modules |= {"head.norm": network.head_norm, "head": network.head}
    named = {f"{key}.{part}": tensor for key, module in modules.items() for part, tensor in module.state_dict(keep_vars=True).items()}
    named = {name: tensor for name, tensor in named.items() if not name.endswith("num_batches_tracked")}
    with torch.no_grad():
        for name, tensor in named.items():
            tensor.copy_(values(name, tuple(tensor.shape)))
        network.eval()
        found = {f"{case}.evaluate.logits": off(network(volumes[:1]), golden[f"{case}.evaluate.logits"])}
    network.train()
    logits = network(volumes)
    loss = torch.nn.functional.cross_entropy(logits, volumes_there.LABELS)
    loss.backward()
    rows = []
    for name, tensor in sorted(item for item in named.items() if "running" not in item[0]):
        rows.append([tensor.grad.norm().item(), (tensor.grad * values(f"probe.{name}", tuple(tensor.shape))).sum().item()])
    outcome = {"logits": logits, "loss": [loss.item()], "gradients": numpy.array(rows)}
    found |= {f"{case}.train.{part}": off(value, golden[f"{case}.train.{part}"]) for part, value in outcome.items()}
    running = [off(tensor, golden[f"{case}.{name}"]) for name, tensor in named.items() if "running" in name]
    return found | {f"{case}.running": max(running)}


def main():
    torch.set_num_threads(1)
    torch.set_default_dtype(torch.float64)
    for key, difference in (check_smoke() | check_medmnist()).items():
        print(f"{key:40} {difference:.1e}")
        assert difference < TOLERANCE, key


if __name__ == "__main__":
    main()
