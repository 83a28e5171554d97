"""The inputs of the comparison, the same for both sides: seeded, made once, in the folder of the run. Needs NumPy."""

import json
import zlib

LAYERS, SHAPE = 42, (512, 512, 3, 3)  # 99,090,432 weights, as crates/reynolds-cli/benches/audit.rs has them


def generator(name):
    import numpy

    return numpy.random.default_rng(zlib.crc32(name.encode()))


def weights(name, shape, dtype="float32"):
    """An array `weights` of normal numbers in NAME.npz."""

    def make(folder):
        import numpy

        numpy.savez(folder / f"{name}.npz", weights=generator(name).standard_normal(shape).astype(dtype))

    return make


def checkpoint(name, layers=LAYERS, shape=SHAPE):
    """NAME.safetensors with single-precision tensors layer0.weight, layer1.weight, …"""

    def make(folder):
        size = 4
        for side in shape:
            size *= side
        header = {
            f"layer{n}.weight": {"dtype": "F32", "shape": list(shape), "data_offsets": [n * size, (n + 1) * size]} for n in range(layers)
        }
        text = json.dumps(header).encode()
        text += b" " * (-len(text) % 8)
        random = generator(name)
        with open(folder / f"{name}.safetensors", "wb") as file:
            file.write(len(text).to_bytes(8, "little") + text)
            for _ in range(layers):
                file.write((random.random(shape, dtype="float32") - 0.5).tobytes())

    return make


def images(name, count, side):
    """Arrays `truth` and `image` f32 [count, side, side] in NAME.npz: smooth slices, and the same with noise, mostly below half of 255."""

    def make(folder):
        import numpy

        random = generator(name)
        y, x = numpy.mgrid[0:side, 0:side] / side
        waves = random.uniform(1, 6, (count, 4, 2))
        planes = numpy.sin(2 * numpy.pi * (waves[..., :1, None] * x + waves[..., 1:, None] * y)).mean(1)
        truth = 64 * (1 + planes)
        image = numpy.clip(truth + 4 * random.standard_normal(truth.shape), 0, 255)
        numpy.savez(folder / f"{name}.npz", truth=truth.astype("float32"), image=image.astype("float32"))

    return make
