"""Forecasts of every network of the smoke experiment, written from its equations in plain PyTorch.

All weights, running statistics and frames come from one formula of their name and place (`values`), so that only outcomes and shapes are
stored. Networks see 2 frames of side 6, have 4 layers, `hidden` = 4 and 2 banks. Where layers are steerable the basis is rebuilt here from
the span of band.py: columns of its projector, orthogonalised in order, those even under the half turn of the codomain first.
"""

import itertools
import math

import numpy
import torch
import torch.nn.functional as F
from numpy.polynomial.hermite_e import hermeval

import band
from conventions import close, write

torch.set_default_dtype(torch.float64)
SIDE, FRAMES, SAMPLES, HIDDEN, LAYERS, BANKS, RANK = 6, 2, 3, 4, 4, 2, 32
WIDTHS = [2 * FRAMES, *[HIDDEN] * (LAYERS - 1), 2]
PAIRS = list(itertools.pairwise(WIDTHS))


def values(name, shape):
    """((37 i^2 + 6185 i + 611 t) mod 10007) / 10007 - 1/2 at place i, with t = sum (place + 1) * byte of the name; variances 1 more."""
    tag = sum((place + 1) * byte for place, byte in enumerate(name.encode()))
    i = numpy.arange(math.prod(shape), dtype=numpy.int64)
    numbers = (37 * i * i + 6185 * i + 611 * tag) % 10007 / 10007 - 0.5
    return torch.from_numpy(numbers + (1.0 if name.endswith("running_var") else 0.0)).reshape(shape)


class Weights:
    """Hands out weights by name and remembers what was asked for."""

    def __init__(self, training):
        self.training, self.shapes, self.after = training, {}, {}

    def __call__(self, name, *shape):
        assert self.shapes.setdefault(name, shape) == shape, name
        return values(name, shape)

    def norm(self, name, x, fields, dim=1):
        """Statistics over all but the fields; the running ones follow by a tenth, with the unbiased variance."""
        running = {part: self(f"{name}.{part}", fields) for part in ("running_mean", "running_var")}
        y = x.reshape(x.shape[0], fields, -1)
        mean, variance = running.values()
        if self.training:
            count = y.shape[0] * y.shape[2]
            mean = y.sum((0, 2)) / count
            squares = ((y - mean[:, None]) ** 2).sum((0, 2))
            variance = squares / count
            self.after[f"{name}.running_mean"] = 0.9 * running["running_mean"] + 0.1 * mean
            self.after[f"{name}.running_var"] = 0.9 * running["running_var"] + 0.1 * squares / (count - 1)
        gamma, beta = self(f"{name}.weight", fields), self(f"{name}.bias", fields)
        y = (y - mean[:, None]) / torch.sqrt(variance + 1e-5)[:, None] * gamma[:, None] + beta[:, None]
        assert x.shape[1] == fields * dim
        return y.reshape(x.shape)

    def conv(self, name, x, outputs, side=3):
        inputs = x.shape[1]
        return conv(x, self(f"{name}.weight", outputs, inputs, side, side), self(f"{name}.bias", outputs))

    def linear(self, name, x, outputs):
        return x @ self(f"{name}.weight", outputs, x.shape[1]).T + self(f"{name}.bias", outputs)


def conv(x, kernel, bias=None, groups=1):
    return F.conv2d(x, kernel, bias, padding=kernel.shape[-1] // 2, groups=groups)


def relu(x):
    return x.clamp(min=0)


def everywhere(vector):
    return vector[:, :, None, None].expand(-1, -1, SIDE, SIDE)


# --- plain, locally connected ----------------------------------------------------------------------------------------


def plain(w, x, normalised):
    for l, (_, outputs) in enumerate(PAIRS):
        x = w.conv(f"layers.{l}", x, outputs)
        if l < LAYERS - 1:
            x = relu(w.norm(f"norms.{l}", x, outputs) if normalised else x)
    return x


def local(w, x, activation):
    """Every pixel has a kernel of its own."""
    for l, (inputs, outputs) in enumerate(PAIRS):
        weight = w(f"layers.{l}.weight", SIDE, SIDE, outputs, 3, 3, inputs)
        padded, y = F.pad(x, (1, 1, 1, 1)), torch.zeros(SAMPLES, outputs, SIDE, SIDE)
        for row, column in itertools.product(range(SIDE), repeat=2):
            patch = padded[:, :, row : row + 3, column : column + 3]
            y[:, :, row, column] = torch.einsum("oabi,niab->no", weight[row, column], patch)
        x = activation(y) if l < LAYERS - 1 else y
    return x


# --- translation -----------------------------------------------------------------------------------------------------


def translation_rpp(w, x):
    for l, (_, outputs) in enumerate(PAIRS):
        narrow = w.linear(f"down.{l}", x.flatten(1), RANK)
        dense = w.linear(f"up.{l}", narrow, outputs * SIDE * SIDE).reshape(SAMPLES, outputs, SIDE, SIDE)
        x = w.conv(f"layers.{l}", x, outputs) + dense
        if l < LAYERS - 1:
            x = relu(w.norm(f"norms.{l}", x, outputs))
    return x


def encoder(w, x, norms, outputs):
    z = x.flatten(1)
    for l in range(2):
        z = w.linear(f"encoder.{l}", z, HIDDEN)
        z = relu(w.norm(f"{norms}.{l}", z, HIDDEN) if norms else z)
    return everywhere(w.linear("encoder.2", z, outputs))


def translation_lift(w, x):
    z = encoder(w, x, "encoder_norms", HIDDEN)
    for l, (_, outputs) in enumerate(PAIRS):
        x = w.conv(f"layers.{l}", torch.cat([x, z], 1) if l == 2 else x, outputs)
        if l < LAYERS - 1:
            x = relu(w.norm(f"norms.{l}", x, outputs))
    return x


def translation_rgroup(w, x):
    """y(p) = sum_r w_r(p) (psi_r * x + b_r)(p)."""
    first = w("first.weight", 1, 2 * FRAMES, BANKS, HIDDEN, 3, 3)[0]  # [in, r, out]
    hidden = w("hidden.weight", LAYERS - 2, HIDDEN, BANKS, HIDDEN, 3, 3)  # [layer, out, r, in]
    last = w("last.weight", 1, 2, BANKS, HIDDEN, 3, 3)[0]  # [out, r, in]
    biases = [*w("bias", LAYERS - 1, HIDDEN, BANKS), w("last.bias", 1, 2, BANKS)[0]]
    mixing = w("mixing", LAYERS, BANKS, SIDE, SIDE)
    for l in range(LAYERS):
        bank = lambda r: first[:, r].transpose(0, 1) if l == 0 else (hidden[l - 1] if l < LAYERS - 1 else last)[:, r]  # noqa: E731
        x = sum(mixing[l, r] * conv(x, bank(r), biases[l][:, r]) for r in range(BANKS))
        x = relu(x) if l < LAYERS - 1 else x
    return x


# --- rotation: +90 degrees is (x, y) -> (-y, x), rot90(-1), channel n -> n + 1 ---------------------------------------

TURN = numpy.array([[0.0, -1.0], [1.0, 0.0]])
ACTIONS = {2: TURN, 4: numpy.roll(numpy.eye(4), 1, axis=0)}


def basis(domain, codomain):
    """The band-limited C4-steerable kernels [b, codomain, domain, 3, 3]; squared norm 2 where they map into the vector irrep."""
    elements = band.span(3, 2, [(ACTIONS[codomain], ACTIONS[domain], TURN)])
    shape = elements.shape[1:]
    frame, _ = numpy.linalg.qr(elements.reshape(len(elements), -1).T)
    projector = frame @ frame.T
    half = numpy.kron(ACTIONS[codomain] @ ACTIONS[codomain], numpy.eye(domain * 9))
    parts = [(-1, 2)] if codomain == 2 else [(1, 1), (-1, 2)]
    out = []
    for parity, square in parts:
        columns = (projector + parity * half @ projector) / 2
        kept = numpy.zeros((0, len(half)))
        for column in columns.T:
            rest = column - kept.T @ (kept @ column)
            rest = rest - kept.T @ (kept @ rest)
            if numpy.linalg.norm(rest) > 1e-6:
                kept = numpy.vstack([kept, rest / numpy.linalg.norm(rest)])
        out.append(math.sqrt(square) * kept)
    out = numpy.concatenate(out).reshape(-1, *shape)
    assert len(out) == domain * codomain * 6 // 4, len(out)
    for element in out:
        turned = numpy.einsum("ac,cdxy,bd->abxy", ACTIONS[codomain], numpy.rot90(element, -1, (2, 3)), ACTIONS[domain])
        close(turned, element, 1e-13, "equivariant")
    return torch.from_numpy(out)


FIELDS = [(FRAMES, 2), *[(HIDDEN, 4)] * (LAYERS - 1), (1, 2)]
BASES = {(d, c): basis(d, c) for d, c in ((2, 4), (4, 4), (4, 2))}


def steerable_kernel(w, name, domain, codomain):
    (inputs, d), (outputs, c) = domain, codomain
    elements = BASES[d, c]
    weight = w(name, outputs, inputs, len(elements))
    return torch.einsum("oib,bcdxy->ocidxy", weight, elements).reshape(outputs * c, inputs * d, 3, 3)


def rotation_equiv(w, x, lift=False):
    z = encoder(w, x, "encoder.norms", HIDDEN) if lift else None
    for l, (domain, codomain) in enumerate(itertools.pairwise(FIELDS)):
        if lift and l == 2:
            x, domain = torch.cat([x, z], 1), (domain[0] + HIDDEN // 4, 4)
        x = conv(x, steerable_kernel(w, f"layers.{l}.weight", domain, codomain))
        if l < LAYERS - 1:
            x = relu(w.norm(f"norms.{l}", x, *codomain))
    return x


def rotation_rpp(w, x):
    for l, (domain, codomain) in enumerate(itertools.pairwise(FIELDS)):
        channels = codomain[0] * codomain[1]
        steerable = conv(x, steerable_kernel(w, f"steerable.{l}.weight", domain, codomain))
        x = steerable + w.conv(f"dense.{l}", x, channels)
        if l < LAYERS - 1:
            x = relu(w.norm(f"norms.{l}", x, channels))
    return x


def rotation_rsteer(w, x):
    """K[o, i](k) = sum_b w[o, i, k, b] K_b(k)."""
    sides = {"first": (1, FRAMES, HIDDEN, 2, 4), "hidden": (LAYERS - 2, HIDDEN, HIDDEN, 4, 4), "last": (1, HIDDEN, 1, 4, 2)}
    layers = []
    for name, (count, inputs, outputs, d, c) in sides.items():
        elements = BASES[d, c]
        weight = w(f"{name}.weight", count, outputs, inputs, 9, len(elements)).unflatten(3, (3, 3))
        bias = w(f"{name}.bias", count, outputs * c)
        kernels = torch.einsum("loixyb,bcdxy->locidxy", weight, elements)
        layers += [(k.reshape(outputs * c, inputs * d, 3, 3), b) for k, b in zip(kernels, bias)]
    for l, (kernel, bias) in enumerate(layers):
        x = conv(x, kernel, bias)
        x = relu(x) if l < LAYERS - 1 else x
    return x


def rotation_rgroup(w, x):
    """Lift f(n) = u . e_n, relaxed group convolutions, read out u = sum_n f(n) e_n."""
    e = torch.tensor([[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0], [0.0, -1.0]])
    mixing = w("mixing", LAYERS, 4, BANKS)
    filters = [*w("first.filters", 1, HIDDEN, BANKS, FRAMES, 4, 3, 3), *w("hidden.filters", LAYERS - 2, HIDDEN, BANKS, HIDDEN, 4, 3, 3)]
    filters += [*w("last.filters", 1, 1, BANKS, HIDDEN, 4, 3, 3)]
    f = torch.einsum("ntcyx,mc->ntmyx", x.unflatten(1, (FRAMES, 2)), e)
    for l, psi in enumerate(filters):
        outputs, _, inputs = psi.shape[:3]
        y = torch.zeros(SAMPLES, outputs, 4, SIDE, SIDE)
        for n, m, a in itertools.product(range(4), range(4), range(BANKS)):
            y[:, :, n] += mixing[l, n, a] * conv(f[:, :, m], torch.rot90(psi[:, a, :, (m - n) % 4], -n, (2, 3)))
        f = relu(y) if l < LAYERS - 1 else y
    return torch.einsum("nomyx,mc->nocyx", f, e).flatten(1, 2)


# --- scaling ---------------------------------------------------------------------------------------------------------

SCALES = (1.0, 1.5, 2.0, 2.5)


def hermite_gauss(scales):
    """[7 n_x + n_y, scale, y, x] on 5x5, divided by the norm at the first scale; windows grow with the scale."""
    out = numpy.zeros((7, 7, len(scales), 5, 5))
    for s, scale in enumerate(scales):
        reach = int(5 * scale / max(scales)) // 2
        points = numpy.arange(-reach, reach + 1)
        line = numpy.stack([numpy.exp(-((points / scale) ** 2) / 2) * hermeval(points / scale, numpy.eye(7)[n]) / scale for n in range(7)])
        inside = slice(2 - reach, 3 + reach)
        out[:, :, s, inside, inside] = numpy.einsum("ax,by->abyx", line, line)
    norms = numpy.sqrt((out[:, :, 0] ** 2).sum((2, 3)))
    return torch.from_numpy((out / norms[:, :, None, None, None]).reshape(49, len(scales), 5, 5))


MANY, ONE = hermite_gauss(SCALES), hermite_gauss((1.0,))


def sesn(w, name, features, outputs, last, relaxed=False):
    """features: one tensor a scale; all scales are computed, the last layer has scale 1 alone and reads the first."""
    functions = ONE if last else MANY
    inputs = features[0].shape[1]
    weight = w(f"{name}.weight", *([5, 5] if relaxed else []), 49, outputs, inputs)
    bias = w(f"{name}.bias", outputs)
    equation = "yxfoi,fyx->oiyx" if relaxed else "foi,fyx->oiyx"
    return [conv(features[s], torch.einsum(equation, weight, functions[:, s]), bias) for s in range(functions.shape[1])]


def scaling_steerable(w, x, relaxed, lift=False):
    z = encoder(w, x, None, HIDDEN // 2) if lift else None
    features = [x] * len(SCALES)
    for l, (_, outputs) in enumerate(PAIRS):
        if lift and l == 2:
            features = [torch.cat([z, f], 1) for f in features]
        features = sesn(w, f"layers.{l}", features, outputs, l == LAYERS - 1, relaxed)
        features = [relu(f) for f in features] if l < LAYERS - 1 else features
    return features[0]


def scaling_rpp(w, x):
    features = [x] * len(SCALES)
    for l, (_, outputs) in enumerate(PAIRS):
        joined = x if l == 0 else torch.cat(features, 1)
        last = l == LAYERS - 1
        dense = w.conv(f"dense.{l}", joined, outputs * (1 if last else len(SCALES)), 5)
        inside = sesn(w, f"layers.{l}", features, outputs, last)
        if last:
            return dense + inside[0]
        features = [relu(d + relu(f)) for d, f in zip(dense.chunk(len(SCALES), 1), inside)]


def resized(kernel, shift):
    """The tap at offset t goes to (1 + shift) t, shared out linearly among the points around it."""
    reach = max(1, math.ceil(1 + shift))
    out = torch.zeros(*kernel.shape[:2], 2 * reach + 1, 2 * reach + 1)
    for row, column in itertools.product((-1, 0, 1), repeat=2):
        y, x = (1 + shift) * row, (1 + shift) * column
        for v, u in itertools.product((math.floor(y), math.floor(y) + 1), (math.floor(x), math.floor(x) + 1)):
            share = (1 - abs(y - v)) * (1 - abs(x - u))
            if share > 0:
                out[:, :, v + reach, u + reach] += share * kernel[:, :, row + 1, column + 1]
    return out


def scaling_rgroup(w, x):
    """Copies x / 2, x and 2 G * x; at each size mixed filters, resized; one normalisation for all sizes."""
    bell = torch.exp(-(torch.arange(-1, 2) ** 2) / 2)
    bell = torch.outer(bell, bell) / bell.sum() ** 2
    blurred = conv(x, bell.expand(x.shape[1], 1, 3, 3), groups=x.shape[1])
    copies = [x / 2, x, 2 * blurred]
    for l, (inputs, outputs) in enumerate(PAIRS[:-1]):
        filters, mixing = w(f"layers.{l}.filters", outputs, inputs, BANKS, 3, 3), w(f"layers.{l}.mixing", 3, BANKS)
        mixed = [sum(mixing[s, f] * filters[:, :, f] for f in range(BANKS)) for s in range(3)]
        copies = [conv(copies[s], resized(mixed[s], (s - 1) / 2)) for s in range(3)]
        copies = relu(w.norm(f"norms.{l}", torch.cat(copies, 0), outputs)).chunk(3, 0)
    return w.conv("last", torch.cat(copies, 1), 2)


NETWORKS = {
    "translation.equiv": lambda w, x: plain(w, x, True),
    "translation.rpp": translation_rpp,
    "translation.clcnn": lambda w, x: local(w, x, F.elu),
    "translation.lift": translation_lift,
    "translation.rgroup": translation_rgroup,
    "rotation.conv": lambda w, x: plain(w, x, True),
    "rotation.equiv": rotation_equiv,
    "rotation.rpp": rotation_rpp,
    "rotation.clcnn": lambda w, x: local(w, x, relu),
    "rotation.lift": lambda w, x: rotation_equiv(w, x, lift=True),
    "rotation.rgroup": rotation_rgroup,
    "rotation.rsteer": rotation_rsteer,
    "scaling.conv": lambda w, x: plain(w, x, False),
    "scaling.equiv": lambda w, x: scaling_steerable(w, x, False),
    "scaling.rpp": scaling_rpp,
    "scaling.clcnn": lambda w, x: local(w, x, relu),
    "scaling.lift": lambda w, x: scaling_steerable(w, x, False, lift=True),
    "scaling.rgroup": scaling_rgroup,
    "scaling.rsteer": lambda w, x: scaling_steerable(w, x, True),
}


def main():
    torch.set_num_threads(1)
    x = 4 * values("frames", (SAMPLES, 2 * FRAMES, SIDE, SIDE))
    tensors = {"frames": x}
    for name, network in NETWORKS.items():
        evaluated, trained = Weights(False), Weights(True)
        tensors[f"{name}.forecast"] = network(evaluated, x)
        outcome = network(trained, x)
        assert tensors[f"{name}.forecast"].shape == outcome.shape == (SAMPLES, 2, SIDE, SIDE), name
        if trained.after:
            tensors[f"{name}.trained"] = outcome
        tensors |= {f"{name}.after.{key}": value for key, value in trained.after.items()}
        tensors |= {f"{name}.shape.{key}": numpy.array(shape) for key, shape in evaluated.shapes.items()}
        print(f"{name}: {sum(map(math.prod, evaluated.shapes.values()))} numbers, forecast up to {outcome.abs().max():.2e}")
    write("smoke_forward", tensors, """
        frames [3, 4, 6, 6]; symmetry.architecture.forecast [3, 2, 6, 6] with the running statistics, .trained with those of the minibatch,
        .after.NAME the running statistics after it, .shape.NAME the shape of every weight and statistic, whose value at place i is
        ((37 i^2 + 6185 i + 611 t) mod 10007) / 10007 - 1/2, t = sum (place + 1) byte of NAME, and 1 more for running_var; frames four times
        that of "frames"
        """, 0, ["torch", "numpy"])


if __name__ == "__main__":
    main()
