"""The networks of ct_networks.py, in double precision, against golden/ct_forward, which writes their equations in another way.

Images, loss, gradients and running statistics in every mode; both ways of ACDNet's responses, of the pathway prior and of the projection
penalty; parameter counts at full size. Prints the largest relative difference of each and fails where one is above 1e-10.
"""

import pathlib
import sys

import numpy
import torch
from safetensors.numpy import load_file

import ct
import ct_networks as nets

GOLDEN = pathlib.Path(__file__).resolve().parent.parent / "golden"
sys.path.insert(0, str(GOLDEN))
from ct_forward import WEIGHT, values  # noqa: E402


def filled(name, mode="plain", **more):
    """A small network with the golden weights; OSCNet's coefficients are those whose kernels are the turned copies of the golden base."""
    network, _ = ct.build(name, mode, 3, 1, **more)
    with torch.no_grad():
        for key, tensor in nets.named(network).items():
            if name == "oscnet" and key.startswith("dictionary"):
                base = values(key, (9, 9, 9))
                turned = torch.stack([base.rot90(o, (1, 2)) for o in range(4)], 1)
                tensor.copy_(torch.einsum("moyx,coyx->mc", turned, network.basis))
            else:
                tensor.copy_(values(key, tuple(tensor.shape)))
    return network


def probes(network):
    """Norm of each gradient and its product with the probe, by name; OSCNet's by the base kernel, which is half the coefficients."""
    rows = []
    for key, tensor in sorted(item for item in nets.named(network).items() if "running" not in item[0]):
        slope = torch.zeros_like(tensor) if tensor.grad is None else tensor.grad
        if isinstance(network, nets.OSCNet) and key.startswith("dictionary"):
            slope = 4 * torch.einsum("mc,cyx->myx", slope, network.basis[:, 0])
        rows.append([slope.norm().item(), (slope * values(f"probe.{key}", tuple(slope.shape))).sum().item()])
    return numpy.array(rows)


def compare(golden, key, found):
    expected = golden[key]
    found = numpy.asarray(found)
    assert found.shape == expected.shape, f"{key}: expected {expected.shape}, found {found.shape}"
    if key.endswith("gradients"):
        allowed = expected[:, :1] + 1e-4 * numpy.linalg.norm(expected[:, 0])
        return (numpy.abs(found - expected) / allowed).max()
    return numpy.abs(found - expected).max() / numpy.abs(expected).max()


def check(name, golden):
    off = {}
    batch = [torch.from_numpy(golden[key]) for key in ("corrupted", "interpolated", "keep", "truth")]
    y, interpolated, keep, truth = batch
    variants = [dict(responses=way) for way in ("all", "sums")] if name == "acdnet" else [{}]
    for more in variants:
        for training in (False, True):
            network = filled(name, **more).train(training)
            outcome = network(y, interpolated, keep)
            loss = nets.loss_of(outcome, y, keep, truth)
            loss.backward()
            case = f"{name}.{'train' if training else 'evaluate'}"
            parts = dict(zip(("start", "images", "artefacts", "early_images", "early_artefacts"), outcome))
            found = {f"{case}.{part}": x.detach() if part == "start" else torch.stack(x).detach() for part, x in parts.items() if len(x)}
            found |= {f"{case}.loss": [loss.item()], f"{case}.gradients": probes(network)}
            off |= {key: max(compare(golden, key, value), off.get(key, 0)) for key, value in found.items()}
        running = {key: tensor for key, tensor in nets.named(network).items() if "running" in key}
        off[f"{name}.after"] = compare(golden, f"{name}.after", torch.cat([running[key] for key in sorted(running)]))
    for r in range(4):
        network = filled(name)
        task, penalty = nets.SamplePenalty(network).loss(network, batch, r)
        off[f"{name}.sample.{r}"] = compare(golden, f"{name}.sample.{r}", [task.item(), penalty.item()])
        if r == 1:
            (task + WEIGHT * penalty).backward()
            off[f"{name}.sample.gradients"] = compare(golden, f"{name}.sample.gradients", probes(network))
    for mode in ("rpp", "rpp-added"):
        network = filled(name, mode)
        loss = nets.loss_of(network(y, interpolated, keep), y, keep, truth)
        loss.backward()
        off[f"{name}.pathway.loss"] = compare(golden, f"{name}.pathway.loss", [loss.item()])
        off[f"{name}.pathway.gradients ({mode})"] = compare(golden, f"{name}.pathway.gradients", probes(network))
    for mode in ("penalty", "penalty-flat"):
        network = filled(name)
        squares = sum(conv.weight.square().sum() for conv in network.held()).item()
        if mode == "penalty":
            penalty = nets.projection_penalty(network)
            penalty.backward()
        else:
            for conv in network.held():
                conv.weight.grad = torch.zeros_like(conv.weight)
            penalty = nets.add_penalty_gradient(network, 1.0)
        off[f"{name}.off ({mode})"] = compare(golden, f"{name}.off", [penalty.item(), squares])
        off[f"{name}.off.gradients ({mode})"] = compare(golden, f"{name}.off.gradients", probes(network))
    return off


def main():
    torch.set_num_threads(1)
    torch.set_default_dtype(torch.float64)
    golden = load_file(GOLDEN / "ct_forward.safetensors")
    for name in nets.NETWORKS:
        for mode in ("plain", "rpp"):
            ct.build(name, mode, 10, 3)  # asserts the count
        for key, difference in check(name, golden).items():
            print(f"{key:40} {difference:.1e}")
            assert difference < 1e-10, key


if __name__ == "__main__":
    main()
