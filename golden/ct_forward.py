"""ACDNet, DICDNet and OSCNet written from their equations in PyTorch: images, loss, gradients, running statistics, penalties.

All weights, running statistics and images come from one formula of their name and place (`values`), so that only outcomes are stored.
Networks have 3 stages (with 2 nothing would read what DICDNet's mixing makes) and 1 block; two slices of side 10. Of each gradient two
numbers are stored: its norm and its product with the numbers that the formula gives to the name "probe.NAME".

P is the average over C4 of a kernel between regular fields, channel 4 p + a, whose generator turns by rot90(+1) and takes a to a + 1.
OSCNet's kernels are turned copies too: filter[4 m + o] = rot90(base[m], o), and `dictionary` here is the base [9, 9, 9], not its coefficients.
"""

import math

import numpy
import torch
import torch.nn.functional as F

from conventions import write

torch.set_default_dtype(torch.float64)
STAGES, SAMPLES, SIDE, CHANNELS, MAPS, ATOMS = 3, 2, 10, 36, 8, 32
WEIGHT = 0.02  # of the sample-based penalty


def centre_and_width(name):
    last = name.rsplit(".", 1)[-1]
    if last == "running_var" or ".norm" in name and last == "weight" or name == "threshold":
        return 1.0, 1.0
    if name.startswith("step."):
        return (1.0, 1.0) if last == "m" else (5.0, 2.0)
    if ".conv" in name and last in ("weight", "equivariant"):
        return 0.0, 0.12
    if name.startswith("dictionary"):
        return 0.02, 0.4
    if name == "auxiliary" or name.startswith("k.") and last == "weight":
        return 0.02, 0.2
    return 0.0, 1.0


def values(name, shape):
    """c + w (((37 i^2 + 6185 i + 611 t) mod 10007) / 10007 - 1/2) at place i, t = sum (place + 1) * byte of the name, c and w by its kind."""
    tag = sum((place + 1) * byte for place, byte in enumerate(name.encode()))
    i = numpy.arange(math.prod(shape), dtype=numpy.int64)
    centre, width = centre_and_width(name)
    return torch.from_numpy(centre + width * ((37 * i * i + 6185 * i + 611 * tag) % 10007 / 10007 - 0.5)).reshape(shape)


def average(kernel):
    """P(K)[p,a;q,b] = 1/4 sum over r of (rot_r K)[p,a-r;q,b-r], entry by entry of the group axes."""
    fields = kernel.reshape(kernel.shape[0] // 4, 4, kernel.shape[1] // 4, 4, *kernel.shape[2:])
    out = []
    for a in range(4):
        row = []
        for b in range(4):
            row.append(sum(torch.rot90(fields[:, (a - r) % 4, :, (b - r) % 4], r, (2, 3)) for r in range(4)) / 4)
        out.append(torch.stack(row, 2))
    return torch.stack(out, 1).reshape(kernel.shape)


class Weights:
    """Hands out weights by name as leaves of the tape, remembers them, and keeps what the held convolutions put out."""

    def __init__(self, training, pathway=False):
        self.training, self.pathway, self.leaves, self.after, self.seen = training, pathway, {}, {}, []

    def __call__(self, name, *shape):
        if name not in self.leaves:
            self.leaves[name] = values(name, shape).requires_grad_()
        assert self.leaves[name].shape == shape, name
        return self.leaves[name]

    def norm(self, name, x):
        """Statistics over all but the channels; the running ones follow by a tenth, with the unbiased variance."""
        channels, count = x.shape[1], x.numel() // x.shape[1]
        mean, variance = (values(f"{name}.{part}", (channels,)) for part in ("running_mean", "running_var"))
        if self.training:
            before = mean, variance
            mean = x.sum((0, 2, 3)) / count
            squares = ((x - mean[:, None, None]) ** 2).sum((0, 2, 3))
            variance = squares / count
            self.after[f"{name}.running_mean"] = (0.9 * before[0] + 0.1 * mean).detach()
            self.after[f"{name}.running_var"] = (0.9 * before[1] + 0.1 * squares / (count - 1)).detach()
        gamma, beta = self(f"{name}.weight", channels), self(f"{name}.bias", channels)
        scale = (gamma / torch.sqrt(variance + 1e-5))[:, None, None]
        return (x - mean[:, None, None]) * scale + beta[:, None, None]

    def conv(self, name, x, held):
        channels = x.shape[1]
        kernel = self(f"{name}.weight", channels, channels, 5, 5)
        if held and self.pathway:
            kernel = kernel + average(self(f"{name}.equivariant", channels, channels, 5, 5))
        y = F.conv2d(x, kernel, self(f"{name}.bias", channels), padding=2)
        if held:
            self.seen.append(y)
        return y

    def block(self, name, x, held):
        y = F.relu(self.norm(f"{name}.norm1", self.conv(f"{name}.conv1", x, held)))
        return F.relu(x + self.norm(f"{name}.norm2", self.conv(f"{name}.conv2", y, held)))

    def x_net(self, number, x, p):
        both = self.block(f"x.{number}.0", torch.cat([x, p], 1), True)
        return both.split([1, CHANNELS - 1], 1)

    def m_net(self, number, m):
        threshold = self(f"m.{number}.threshold", m.shape[1])
        return F.relu(self.block(f"m.{number}.0", m, False) - threshold[:, None, None])

    def k_net(self, number, k):
        size = MAPS * ATOMS
        self(f"k.{number}.threshold", size)
        for layer in range(2):
            weight, bias = self(f"k.{number}.{layer}.weight", size, size), self(f"k.{number}.{layer}.bias", size)
            y = (F.relu(y) if layer else k) @ weight.T + bias
        k = F.relu(k + y).reshape(-1, MAPS, ATOMS)
        return k / (torch.sqrt((k**2).sum(2, keepdim=True)) + 1e-6)

    def mixed(self, m):
        channels = m.shape[1]
        first, second = (self(f"mix.{number}", channels, channels, 1, 1)[:, :, 0, 0] for number in range(2))
        return torch.einsum("ij,njyx->niyx", second @ first, F.relu(m))


def spread(image, kernel):
    """C^T * image: out[n](p) = sum over q of C[n](q) image(p - q), q from -4 to 4 read as rows and columns 8 to 0 of a correlation."""
    return F.conv2d(image, kernel.transpose(0, 1).flip(2, 3), padding=4)


def gather(m, kernel):
    return F.conv2d(m, kernel, padding=4)


def beginning(w, li):
    p = F.conv2d(li, w("auxiliary", CHANNELS - 1, 1, 3, 3), padding=1)
    return w.x_net(0, li, p)


def turned(w, name):
    base = w(name, CHANNELS // 4, 9, 9)
    return torch.stack([torch.rot90(base, o, (1, 2)) for o in range(4)], 1).reshape(1, CHANNELS, 9, 9)


def dicdnet(w, y, li, keep, turns=False):
    free = lambda name: w(name, 1, CHANNELS, 9, 9)  # noqa: E731
    c0, c = (turned(w, name) if turns else free(name) for name in ("dictionary.start", "dictionary"))
    c0, c = c0 / 10, c / 10
    eta_x, eta_m = w("step.x", STAGES) / 10, w("step.m", STAGES - 1) / 10
    x, p = beginning(w, li)
    out = {"start": x, "images": [], "artefacts": []}
    m = w.m_net(0, spread(F.relu(keep * (y - x) - w("threshold", 1)), c0))
    for t in range(1, STAGES + 1):
        if t > 1:
            m = w.m_net(t - 1, m - eta_m[t - 2] * spread(keep * (a - (y - x)), c))
        a = gather(m, c)
        x = x - eta_x[t - 1] * keep * (x - (y - a))
        x, p = w.x_net(t, x, p)
        if t > 1 and not turns:
            m = w.mixed(m)
        out["images"].append(x)
        out["artefacts"].append(a)
    out["images"].append(w.x_net(STAGES + 1, x, p)[0])
    return out


def oscnet(w, y, li, keep):
    return dicdnet(w, y, li, keep, turns=True)


def acdnet(w, y, li, keep):
    """step.x and step.m have the two early stages first; the first entries of step.m and step.k are read by nothing."""
    c0, d = w("dictionary.start", 1, MAPS, 9, 9) / 10, w("dictionary", ATOMS, 1, 9, 9) / 10
    eta_x, eta_m, eta_k = w("step.x", STAGES + 2) / 10, w("step.m", STAGES + 2) / 10, w("step.k", STAGES)
    x, p = beginning(w, li)
    out = {"start": x, "images": [], "artefacts": [], "early_images": [], "early_artefacts": []}
    m = w.m_net(0, spread(F.relu(keep * (y - x) - w("threshold", 1)), c0))
    for t in range(2):
        if t == 1:
            m = w.m_net(1, m - eta_m[1] * spread(keep * (a - (y - x)), c0))
        a = gather(m, c0)
        x = x - eta_x[t] * keep * (x - (y - a))
        x, p = w.x_net(t + 1, x, p)
        out["early_images"].append(x)
        out["early_artefacts"].append(a)
    m = w.mixed(m)
    for t in range(STAGES):
        residual = keep * (y - x) if t == 0 else keep * (y - x - a)
        responses = torch.stack([F.conv2d(m[:, n : n + 1], d, padding=4) for n in range(MAPS)], 1)
        g = torch.einsum("bnjyx,byx->bnj", responses, residual[:, 0])
        k = g if t == 0 else k + eta_k[t] / (50 * SIDE * SIDE) * g
        k = w.k_net(t, k.reshape(len(y), -1))
        c = torch.einsum("bnj,jyx->bnyx", k, d[:, 0])
        every = range(len(y))
        a = torch.cat([gather(m[b : b + 1], c[b : b + 1]) for b in every])
        residual = keep * (y - x - a)
        m = w.m_net(t + 2, m + eta_m[t + 2] * torch.cat([spread(residual[b : b + 1], c[b : b + 1]) for b in every]))
        a = torch.cat([gather(m[b : b + 1], c[b : b + 1]) for b in every])
        x = (1 - eta_x[t + 2] * keep) * x + eta_x[t + 2] * keep * (y - a)
        x, p = w.x_net(t + 3, x, p)
        out["images"].append(x)
        out["artefacts"].append(a)
    out["images"].append(w.x_net(STAGES + 3, x, p)[0])
    return out


def rotated_kernels(side, waves, turns):
    """Kernels in `turns` orientations, [m turns, side, side], from weights "rotated.side.waves.turns" [2, functions].

    The functions, cosines before sines and l fastest, are taken in order if they are new by more than 1e-4 of a square; orthonormal over
    points and orientations; divided by 25 max(v, 0.04), v = (std s^2 + std e) / mean(s^2 + e) over orientations, s their sum, e side^2 their energy.
    """
    line = numpy.linspace(-1, 1, side)
    y, x = numpy.meshgrid(line, line, indexing="ij")
    disk = numpy.exp(-numpy.maximum(x**2 + y**2 - 1, 0) / 0.2)
    folded = [k - waves if k > waves / 2 else k for k in range(waves)]
    columns = []
    for wave in (numpy.cos, numpy.sin):
        for k in folded:
            for l in folded:
                angles = [2 * math.pi * o / turns for o in range(turns)]
                grids = [(math.cos(a) * x - math.sin(a) * y, math.sin(a) * x + math.cos(a) * y) for a in angles]
                speed = math.pi * (waves - 1) / waves
                columns.append(numpy.stack([disk * wave(speed * (k * u + l * v)) for u, v in grids]).ravel())
    kept = []
    for column in columns:
        if not kept or numpy.linalg.lstsq(numpy.stack(kept, 1), column, rcond=1e-14)[1].sum() > 1e-4:
            kept.append(column)
    frame, triangle = numpy.linalg.qr(numpy.stack(kept, 1))
    frame = (frame * numpy.sign(numpy.diag(triangle))).reshape(turns, side * side, -1)
    sums, energies = frame.sum(1) ** 2, (frame**2).sum(1) * side**2
    variation = (sums.std(0) + energies.std(0)) / (sums + energies).mean(0)
    frame = torch.from_numpy(frame / (25 * numpy.maximum(variation, 0.04)))
    print(f"{turns} orientations of {side}x{side}, {waves} waves: {len(kept)} functions, variation up to {variation.max():.2f}")
    weights = values(f"rotated.{side}.{waves}.{turns}", (2, len(kept)))
    return torch.einsum("mc,opc->mop", weights, frame).reshape(2 * turns, side, side)


NETWORKS = {"acdnet": acdnet, "dicdnet": dicdnet, "oscnet": oscnet}


def loss_of(out, y, keep, truth):
    """Squares by their mean over samples and pixels, absolute values by their sum."""
    u, v = keep * truth, keep * (y - truth)
    images = [(0.1, out["start"]), *((0.1, x) for x in out["images"][:-1]), (1.0, out["images"][-1])]
    images += zip((0.1, 1.0), out.get("early_images", ()))
    artefacts = [*((0.1, a) for a in out["artefacts"]), (1.0, out["artefacts"][-1])]
    artefacts += zip((0.1, 1.0), out.get("early_artefacts", ()))
    loss = sum(weight * ((keep * x - u) ** 2).mean() for weight, x in images)
    loss = loss + 5e-4 * sum(weight * (keep * x - u).abs().sum() for weight, x in images)
    return loss + 5e-4 * sum(weight * (keep * a - v).abs().sum() for weight, a in artefacts)


def images():
    shape = SAMPLES, 1, SIDE, SIDE
    # Brighter than what the first X-net makes in about half of the pixels, in metal and at its edge too.
    y = 160 + 255 * values("corrupted", shape)
    li, truth = (127.5 + 255 * values(name, shape) for name in ("interpolated", "truth"))
    # In metal 0, at its edge in between.
    keep = (4 * values("keep", shape) + 1.5).clamp(0, 1)
    return y, li, keep, truth


def gradients(w, loss):
    """[parameters, 2] in the order of their names: the norm and the product with the probe."""
    names = sorted(w.leaves)
    found = torch.autograd.grad(loss, [w.leaves[name] for name in names], allow_unused=True)
    rows = []
    for name, gradient in zip(names, found):
        gradient = torch.zeros_like(w.leaves[name]) if gradient is None else gradient
        rows.append([gradient.norm().item(), (gradient * values(f"probe.{name}", gradient.shape)).sum().item()])
    return numpy.array(rows)


def main():
    torch.set_num_threads(1)
    y, li, keep, truth = images()
    tensors = dict(corrupted=y, interpolated=li, keep=keep, truth=truth)
    for sizes in ((9, 9, 4), (9, 5, 8)):
        tensors["rotated." + ".".join(map(str, sizes))] = rotated_kernels(*sizes)
    for name, network in NETWORKS.items():
        for training in (False, True):
            w = Weights(training)
            out = network(w, y, li, keep)
            case = f"{name}.{'train' if training else 'evaluate'}"
            for part, found in out.items():
                tensors[f"{case}.{part}"] = (found if part == "start" else torch.stack(found)).detach()
            above = (y - out["start"] > 1).detach()
            assert above[keep == 0].any() and above[(keep > 0) & (keep < 1)].any(), f"{case}: the mask of the first maps does nothing"
            loss = loss_of(out, y, keep, truth)
            tensors[f"{case}.loss"] = [loss.item()]
            tensors[f"{case}.gradients"] = gradients(w, loss)
            ranges = ", ".join(f"{part} {tensors[f'{case}.{part}'].abs().max():.1e}" for part in out)
            print(f"{case}: loss {loss.item():.3e}, {ranges}")
        tensors[f"{name}.after"] = torch.cat([w.after[key] for key in sorted(w.after)])
        tensors[f"{name}.numbers"] = [sum(leaf.numel() for leaf in w.leaves.values())]

        for r in range(4):
            w = Weights(True)
            double = [torch.cat([image, torch.rot90(image, r, (2, 3))]) for image in (y, li, keep, truth)]
            task = loss_of(network(w, *double[:3]), double[0], double[2], double[3])
            penalty = 0
            for seen in w.seen:
                own, other = seen.chunk(2)
                other = other.reshape(SAMPLES, -1, 4, SIDE, SIDE)[:, :, [(k + r) % 4 for k in range(4)]].reshape(own.shape)
                penalty = penalty + torch.sqrt(((torch.rot90(own, r, (2, 3)) - other) ** 2).sum()) if r else penalty
            tensors[f"{name}.sample.{r}"] = [task.item(), penalty.item() if r else 0.0]
            if r == 1:
                tensors[f"{name}.sample.gradients"] = gradients(w, task + WEIGHT * penalty)
        print(f"{name}: task and penalty by samples {tensors[f'{name}.sample.1']}")

        w = Weights(True, pathway=True)
        loss = loss_of(network(w, y, li, keep), y, keep, truth)
        tensors[f"{name}.pathway.loss"] = [loss.item()]
        tensors[f"{name}.pathway.gradients"] = gradients(w, loss)

        w = Weights(True)
        network(w, y, li, keep)
        held = [leaf for key, leaf in w.leaves.items() if key.startswith("x.") and leaf.dim() == 4]
        off = sum(((kernel - average(kernel)) ** 2).sum() for kernel in held)
        tensors[f"{name}.off"] = [off.item(), sum((kernel**2).sum() for kernel in held).item()]
        tensors[f"{name}.off.gradients"] = gradients(w, off)
    write("ct_forward", tensors, """
        corrupted, interpolated, keep, truth [2, 1, 10, 10]; NETWORK.train and .evaluate .start [2, 1, 10, 10], .images and .artefacts (and
        .early_images, .early_artefacts) [n, 2, 1, 10, 10], .loss, .gradients [names in order, (norm, product with probe.NAME)]; NETWORK.after
        running statistics after training, names in order; NETWORK.numbers how many weights; NETWORK.sample.r (task loss, sum over held layers of
        |rot_r(y0) - shift_r(y1)|) on the doubled batch; .sample.gradients of task + 0.02 penalty at r = 1; .pathway with W + P(equivariant);
        .off (sum |W - P(W)|^2, sum |W|^2) and its gradients; rotated.side.waves.turns [2 turns, side, side], orientation fastest. Weights by the formula of golden/ct_forward.py
        """, 0, ["torch", "numpy"])


if __name__ == "__main__":
    main()
