"""Files that our writer wrote load in PyTorch, numpy and safetensors: changed tensors doubled, all others bit for bit.

Takes every golden checkpoint and a few larger ones made here, lets the example `rewrite` double half of the floating-point tensors, and
compares what the packages load from both files. Run by hand, after `cargo build --release -p reynolds-checkpoint --example rewrite`:

    peers/.venv/bin/python golden/check_written.py
"""

import pathlib
import subprocess
import sys
import tempfile
import zipfile

import numpy as np
import safetensors
import safetensors.torch
import torch

# The classes are those of the pickles, which were made by checkpoints.py as a program.
from checkpoints import FOLDER, NAMES, Net, Options, Scale, Settings  # noqa: F401

ROOT = pathlib.Path(__file__).parent.parent
REWRITE = ROOT / "target/release/examples/rewrite"


def leaves(value, path=()):
    if isinstance(value, torch.nn.Module):
        value = dict(value.state_dict())
    if isinstance(value, torch.Tensor):
        yield ".".join(path) or "tensor", value
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from leaves(item, (*path, str(key)))
    elif isinstance(value, (list, tuple)):
        for index, item in enumerate(value):
            yield from leaves(item, (*path, str(index)))


def load(path):
    """Tensors by name as numpy arrays of their bytes, whether floating-point, and whatever else the file holds."""
    if path.suffix == ".npz":
        with np.load(path) as file:
            arrays = {name: np.asarray(array) for name, array in file.items()}
        return {name: (array, array.dtype.str in ("<f2", "<f4", "<f8")) for name, array in arrays.items()}, None
    if path.suffix == ".safetensors":
        with safetensors.safe_open(path, "pt") as file:
            rest = file.metadata()
        tensors = safetensors.torch.load_file(path)
    else:
        # PyTorch's own restricted reader does not know protocol 4, nor numpy's numbers.
        restricted = not any(word in path.name for word in ("protocol4", "scored", "surrounded", "module"))
        value = torch.load(path, weights_only=restricted)
        tensors = dict(leaves(value))
        rest = repr(value.keys()) if isinstance(value, dict) else None
    return {name: (tensor.detach(), tensor.dtype in NAMES) for name, tensor in tensors.items()}, rest


def same(left, right):
    """Bit for bit, of one type and shape."""
    if left.dtype != right.dtype or left.shape != right.shape:
        return False
    if isinstance(left, torch.Tensor):
        left, right = (t.contiguous().reshape(-1).view(torch.uint8).numpy() for t in (left, right))
    return left.tobytes() == right.tobytes()


def shared(left, right):
    """Whether two torch tensors live in one storage."""
    return isinstance(left, torch.Tensor) and left.untyped_storage().data_ptr() == right.untyped_storage().data_ptr()


def larger_files(folder):
    """A network of the usual shape in every format, and an archive with zip64 fields and descriptors throughout."""
    torch.manual_seed(1)
    net = torch.nn.Sequential(torch.nn.Conv2d(3, 64, 7), torch.nn.BatchNorm2d(64), torch.nn.Conv2d(64, 128, 3), torch.nn.Linear(512, 1000))
    state = net.state_dict()
    torch.save({"state_dict": state, "epoch": 7}, folder / "network.pth")
    torch.save({name: tensor.half() if tensor.is_floating_point() else tensor for name, tensor in state.items()}, folder / "half.pt")
    torch.serialization.set_crc32_options(False)
    torch.save(state, folder / "no_checksums.pt")
    torch.serialization.set_crc32_options(True)
    safetensors.torch.save_file(state, folder / "network.safetensors", metadata={"format": "pt"})
    arrays = {name: tensor.numpy() for name, tensor in state.items()}
    np.savez(folder / "network.npz", **arrays)
    np.savez_compressed(folder / "network_deflated.npz", **arrays)
    with open(folder / "unseekable.npz", "wb") as file, zipfile.ZipFile(Unseekable(file), "w", zipfile.ZIP_DEFLATED) as archive:
        for name, array in arrays.items():
            with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
                np.lib.format.write_array(member, array)
        archive.writestr("note.txt", "not an array")
        archive.comment = b"a comment"


class Unseekable:
    """A file that cannot be rewound, as a pipe: zipfile then writes data descriptors."""

    def __init__(self, file):
        self.write, self.flush = file.write, file.flush


def check(path, folder):
    before, rest = load(path)
    floats = [name for name, (value, floating) in before.items() if floating and name != "expanded"]
    # Tensors of one storage go together: the first of each second storage, and all that share it.
    changed = set()
    for number, name in enumerate(floats):
        if number % 2 == 0:
            changed |= {other for other in floats if other == name or shared(before[name][0], before[other][0])}
    out = folder / f"written_{path.name}"
    subprocess.run([REWRITE, path, out, *sorted(changed)], check=True)
    after, rest_after = load(out)
    assert list(before) == list(after) and rest == rest_after, path
    for name, (value, _) in before.items():
        assert same(after[name][0], value * 2 if name in changed else value), (path, name)
    if zipfile.is_zipfile(path):
        bad = zipfile.ZipFile(out).testzip()
        assert bad is None or path.name == "no_checksums.pt", (path, bad)
    print(f"{path.name}: {len(changed)} of {len(before)} tensors changed, the others equal, {path.stat().st_size} -> {out.stat().st_size} bytes")


def main():
    if not REWRITE.exists():
        sys.exit(f"{REWRITE} is missing: cargo build --release -p reynolds-checkpoint --example rewrite")
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        larger_files(folder)
        golden = [path for path in sorted(FOLDER.iterdir()) if path.suffix in (".pt", ".pth", ".npz", ".safetensors")]
        for path in golden + sorted(folder.iterdir()):
            check(path, folder)


if __name__ == "__main__":
    main()
