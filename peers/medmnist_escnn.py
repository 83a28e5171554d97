"""escnn's own SCNN of the MedMNIST experiment: how long it takes to build, its basis tensors, and how far medmnist_networks.py is from it.

    peers/.venv/bin/python peers/medmnist_escnn.py --build [--width 6] [--group so3]   # seconds until the network stands, cold and warm cache
    peers/.venv/bin/python peers/medmnist_escnn.py --save                              # writes medmnist_basis.npz: both groups, every layer
    peers/.venv/bin/python peers/medmnist_escnn.py --check [--group o3]                # width 1, CPU: the largest relative differences

The check gives both the same weights and compares, layer by layer and for the whole network: outputs in training and evaluation, gradients of
a loss, running statistics. escnn is as it comes, in single precision.
"""

import argparse
import pathlib
import subprocess
import sys
import tempfile
import warnings

import report


def escnn_network(group, width, classes):
    """R3Conv, IIDBatchNorm3d, GatedNonLinearityUniform, PointwiseAvgPoolAntialiased3D, as the published network puts them together."""
    import torch
    from escnn import gspaces
    from escnn import group as groups
    from escnn import nn as enn

    import medmnist_networks as nets

    largest = max(nets.DEGREES[group])
    make = gspaces.rot3dOnR3 if group == "so3" else gspaces.flipRot3dOnR3
    space = make(maximum_frequency=largest)

    def irreps(degree):
        if group == "so3":
            return [space.irrep(l) for l in range(degree + 1)]
        return [space.irrep(parity, l) for parity in ((0, 1) if degree else (0,)) for l in range(degree + 1)]

    def field(degree, gated):
        parts = irreps(degree)
        parts = [space.trivial_repr] * (len(parts) if gated and degree else 0) + parts
        return groups.directsum(parts) if len(parts) > 1 else parts[0]

    class Network(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.fields = [nets.Fields(group, width, place) for place in range(7)]
            plain = [enn.FieldType(space, [field(f.degree, False)] * f.copies) for f in self.fields]
            gated = [enn.FieldType(space, [field(f.degree, True)] * f.copies) for f in self.fields]
            self.plain = plain
            self.convs, self.norms, self.gates, self.pools = (torch.nn.ModuleDict() for _ in range(4))
            for name, before, after, side, stride, padding in nets.LAYERS:
                key = name.replace(".", "_")
                self.convs[key] = enn.R3Conv(
                    plain[before], gated[after], side, stride=stride, padding=padding, bias=name != "r3.conv2"
                )
                if "conv" in name and name != "r3.conv2":
                    self.norms[key] = enn.IIDBatchNorm3d(gated[after])
                    self.gates[key] = enn.GatedNonLinearityUniform(gated[after])
            for key, place, stride, padding in (("r1", 2, 2, 1), ("r2", 3, 2, 1), ("r2_skip", 2, 2, 0), ("r3", 5, 1, 1)):
                self.pools[key] = enn.PointwiseAvgPoolAntialiased3D(plain[place], 0.66, stride, padding)
            self.head_norm = torch.nn.BatchNorm1d(self.fields[6].activations)
            self.head = torch.nn.Linear(self.fields[6].activations, classes)

        def stage(self, name, x):
            return self.gates[name](self.norms[name](self.convs[name](x)))

        def forward(self, x):
            x = enn.GeometricTensor(x, self.plain[0])
            y = self.stage("r1_conv2", self.stage("r1_conv1", x))
            x = self.pools["r1"](y + self.gates["r1_conv2"](self.convs["r1_skip"](x)))
            y = self.stage("r2_conv2", self.pools["r2"](self.stage("r2_conv1", x)))
            x = y + self.gates["r2_conv2"](self.convs["r2_skip"](self.pools["r2_skip"](x)))
            y = self.convs["r3_conv2"](self.pools["r3"](self.stage("r3_conv1", x)))
            x = (y + self.convs["r3_skip"](x)).tensor.flatten(1)
            return self.head(torch.nn.functional.elu(self.head_norm(x)))

    return Network()


def block_of(conv):
    """The one pair of fields of a convolution."""
    expansion = conv.basisexpansion
    (pair,) = expansion._representations_pairs
    return getattr(expansion, f"block_expansion_{expansion._escape_pair(pair)}")


def save():
    import numpy
    import torch

    import medmnist_networks as nets

    tensors = {}
    for group in nets.DEGREES:
        network = escnn_network(group, 1, 3)
        for name, before, after, side, *_ in nets.LAYERS:
            block = block_of(network.convs[name.replace(".", "_")])
            key = f"{group}.{network.fields[before].degree}.{network.fields[after].degree}.{side}"
            pairs = [(a["out_irrep_idx"], a["in_irrep_idx"]) for a in block.get_basis_info()]
            basis = block.sampled_basis.numpy().copy()
            basis[numpy.abs(basis) < 1e-6] = 0.0  # what rounding left; the archive is smaller for it
            tensors[key], tensors[f"{key}.pairs"] = basis, numpy.array(pairs, dtype=numpy.int64)
    numpy.savez_compressed(nets.BASIS, **tensors)
    print(f"{nets.BASIS.name}: {len(tensors) // 2} bases, {nets.BASIS.stat().st_size / 1024:.0f} KB, torch {torch.__version__}")


def copy_weights(source, target):
    """From escnn's network to ours: coefficients, biases, normalisations, gates, head."""
    import torch

    def copy(to, value):
        with torch.no_grad():
            to.copy_(value.reshape(to.shape))

    for key, conv in source.convs.items():
        copy(target.convs[key].weights, conv.weights)
        if conv.bias is not None:
            torch.nn.init.normal_(conv.bias, std=0.3)
            copy(target.convs[key].bias, conv.bias)
    for key, norm in source.norms.items():
        ((name, _),) = norm._sizes
        for part in ("weight", "bias"):
            value = getattr(norm, f"{norm._escape_name(name)}_{part}")
            torch.nn.init.normal_(value, mean=1.0 if part == "weight" else 0.0, std=0.3)
            copy(getattr(target.norms[key], part), value)
        copy(target.gates[key].bias, source.gates[key].bias)
    target.head_norm.load_state_dict(source.head_norm.state_dict())
    target.head.load_state_dict(source.head.state_dict())


def difference(a, b):
    return ((a - b).abs().max() / b.abs().max()).item()


def check(group):
    """The largest differences relative to the largest entry; fails above 1e-4."""
    import torch
    from escnn import nn as enn

    import medmnist_networks as nets

    torch.manual_seed(1)
    theirs = escnn_network(group, 1, 3)
    ours = nets.Steerable(group, 1, 3)
    copy_weights(theirs, ours)
    found = {}
    assert nets.parameters(theirs) == nets.parameters(ours)

    # One convolution, norm, gate and pool.
    fields = ours.fields[0]
    volumes = torch.randn(4, fields.activations, 29, 29, 29)
    x = enn.GeometricTensor(volumes, theirs.plain[0])
    y_there, y_here = theirs.convs["r1_conv1"](x), ours.convs["r1_conv1"](volumes)
    found["conv"] = difference(y_here, y_there.tensor)
    y_there, y_here = theirs.norms["r1_conv1"](y_there), ours.norms["r1_conv1"](y_here)
    found["norm"] = difference(y_here, y_there.tensor)
    y_there, y_here = theirs.gates["r1_conv1"](y_there), ours.gates["r1_conv1"](y_here)
    found["gate"] = difference(y_here, y_there.tensor)
    y_there, y_here = theirs.stage("r1_conv2", y_there), ours.stage("r1_conv2", y_here)
    found["pool"] = difference(ours.pool(y_here, 2, 1), theirs.pools["r1"](y_there).tensor)

    labels = torch.tensor([0, 2, 1, 1])
    logits = [network(volumes) for network in (ours, theirs)]
    found["logits, training"] = difference(*logits)
    for output in logits:
        torch.nn.functional.cross_entropy(output, labels).backward()
    pairs = []
    for key, conv in theirs.convs.items():
        pairs.append((ours.convs[key].weights.grad.flatten(), conv.weights.grad))
    for key, gate in theirs.gates.items():
        pairs.append((ours.gates[key].bias.grad, gate.bias.grad))
    found["gradients"] = max(difference(a, b) for a, b in pairs)
    running = []
    for key, norm in theirs.norms.items():
        ((name, _),) = norm._sizes
        for part in ("running_mean", "running_var"):
            running.append(difference(getattr(ours.norms[key], part), getattr(norm, f"{norm._escape_name(name)}_{part}")))
    found["running statistics"] = max(running)
    theirs.eval(), ours.eval()
    with torch.no_grad():
        found["logits, evaluation"] = difference(ours(volumes), theirs(volumes))
    for what, value in found.items():
        print(f"{group}: {what:<20} {value:.1e}")
        assert value < 1e-4, f"{group}, {what}: {value}"
    # The numbers of the published table, at 11 classes.
    count = nets.parameters(nets.Steerable(group, 6, 11))
    assert count == {"so3": 128_891, "o3": 193_241}[group], count
    print(f"{group}: {count} parameters at width 6")


def in_a_process(group, width, cache):
    """Seconds to build the network in a new interpreter whose escnn caches under `cache`: by the clock, of the processor."""
    code = f"""
import sys, time; sys.path.insert(0, {str(pathlib.Path(__file__).parent)!r})
import escnn_cache; escnn_cache.elsewhere({str(cache)!r})
import warnings; warnings.filterwarnings('ignore')
import escnn.nn, medmnist_escnn
start = time.perf_counter(), time.process_time()
medmnist_escnn.escnn_network({group!r}, {width}, 11)
print('seconds', time.perf_counter() - start[0], time.process_time() - start[1])
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"escnn failed:\n{done.stderr}")
    return [float(word) for line in done.stdout.splitlines() if line.startswith("seconds ") for word in line.split()[1:]]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for flag in ("--build", "--save", "--check", "--json"):
        parser.add_argument(flag, action="store_true")
    parser.add_argument("--group", choices=("so3", "o3"), action="append")
    parser.add_argument("--width", type=int, default=6)
    options = parser.parse_args()
    warnings.filterwarnings("ignore")
    if options.save:
        save()
    for group in options.group or ("so3", "o3"):
        if options.check:
            check(group)
        if options.build:
            with tempfile.TemporaryDirectory() as cache:
                for state in ("cold cache", "warm cache"):
                    seconds = in_a_process(group, options.width, cache)
                    for clock, found in zip(("", ", of the processor"), seconds):
                        name = f"escnn: {group} SCNN of width {options.width}, {state}{clock}"
                        report.row(name, found, report.versions("escnn", "torch"), options.json)


if __name__ == "__main__":
    main()
