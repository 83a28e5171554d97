"""How far two programs' results are apart: the largest difference over the largest value. NumPy where arrays are compared."""

import json


def apart(ours, theirs):
    """max |ours - theirs| / max |ours| of two arrays of one shape."""
    import numpy

    ours, theirs = numpy.asarray(ours, "float64"), numpy.asarray(theirs, "float64")
    if ours.shape != theirs.shape:
        raise ValueError(f"expected an array {list(ours.shape)}, found {list(theirs.shape)}")
    if not (numpy.isfinite(ours).all() and numpy.isfinite(theirs).all()):
        raise ValueError("expected finite numbers")
    return float(abs(ours - theirs).max() / max(abs(ours).max(), 1e-300))


def arrays(file, name="projected", part=lambda array: array):
    """Of the array `name` in FILE, which both left in their folders; `part` takes what is compared."""

    def agree(ours, theirs):
        import numpy

        with numpy.load(ours.folder / file) as here, numpy.load(theirs.folder / file) as there:
            return apart(part(here[name]), part(there[name]))

    return agree


def values(*keys):
    """Of lists of numbers in the first line that has them."""

    def agree(ours, theirs):
        found = []
        for outcome in (ours, theirs):
            line = next((line for line in outcome.lines if all(key in line for key in keys)), None)
            if line is None:
                raise ValueError(f"expected a line with {', '.join(keys)}")
            found.append(line)
        return max(apart(found[0][key], found[1][key]) for key in keys)

    return agree


def energies(ours, theirs):
    """Of the energies by layer: `reynolds audit --json` beside the line of audit_torch.py; they are at most 1, so absolute."""
    layers = json.loads(ours.text)["audits"][0]["layers"]
    found = next(line["energies"] for line in theirs.lines if "energies" in line)
    if {layer["name"] for layer in layers} != set(found):
        raise ValueError(f"expected {len(layers)} layers of equal names, found {len(found)}")
    return max(abs(layer["energy"] - found[layer["name"]]) for layer in layers)
