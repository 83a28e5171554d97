"""Tiny ONNX and HDF5 files as the packages onnx and h5py write them, and what they hold.

Writes golden/checkpoints/*.{onnx,h5,data} and golden/checkpoints/expected_onnx_hdf5.json, as checkpoints.py does for its files; with what
the nodes say of convolutions. Needs onnx, h5py, numpy.
"""

import json
import pathlib

import h5py
import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

FOLDER = pathlib.Path(__file__).parent / "checkpoints"
NAMES = {"float32": "f32", "float64": "f64", "float16": "f16", "complex64": "c64"}
generator = np.random.default_rng(20261119)


def normal(*shape, dtype=np.float32):
    return generator.standard_normal(shape).astype(dtype)


def described(name, array):
    kind = NAMES.get(str(array.dtype), "other")
    real = array.view(np.float32) if kind == "c64" else array
    values = " ".join(map(repr, real.astype(np.float64).reshape(-1).tolist())) if kind != "other" else None
    return {"name": name, "shape": list(array.shape), "dtype": kind, "values": values}


def raw(name, array):
    return numpy_helper.from_array(array, name)


def typed(name, array):
    """Numbers in the field of their type, not as bytes."""
    return helper.make_tensor(name, helper.np_dtype_to_tensor_dtype(array.dtype), array.shape, array.reshape(-1).tolist())


def network():
    """A stem with TensorFlow's transposition and padding, a strided, a grouped and a transposed convolution."""
    tensors = {
        "Conv__23_weights_fused_bn": normal(8, 3, 3, 3), "Conv__23_bias_fused_bn": normal(8), "onnx::Conv_7": normal(8, 8, 3, 3),
        "group.weight": normal(8, 1, 3, 3), "up.weight": normal(8, 4, 2, 2), "321": normal(4, dtype=np.float64),
        "same.weight": normal(4, 4, 3, 3, dtype=np.float16),
    }
    pads = np.array([0, 0, 0, 0, 0, 0, 1, 1], np.int64)
    conv = lambda name, inputs, output, **of: helper.make_node("Conv", inputs, [output], name=name, **of)
    nodes = [
        helper.make_node("Transpose", ["image"], ["nchw"], perm=[0, 3, 1, 2]),
        conv("Conv__23", ["nchw", "Conv__23_weights_fused_bn", "Conv__23_bias_fused_bn"], "stem/BatchNorm:0", strides=[2, 2], pads=[1, 1, 1, 1]),
        helper.make_node("Relu", ["stem/BatchNorm:0"], ["r"]),
        helper.make_node("Pad", ["r", "pads"], ["padded"]),
        conv("/layer/layer.0/conv/Conv", ["padded", "onnx::Conv_7"], "c", strides=[2, 2]),
        conv("depthwise", ["c", "group.weight"], "d", group=8, pads=[1, 1, 1, 1]),
        helper.make_node("ConvTranspose", ["d", "up.weight"], ["u"], strides=[2, 2], name="up"),
        helper.make_node("Constant", [], ["constant"], value=raw("", normal(4, 1, 1))),
        helper.make_node("Mul", ["u", "constant"], ["m"]),
        conv("same", ["m", "same.weight"], "out", auto_pad="SAME_UPPER", strides=[2, 2]),
    ]
    initialisers = [raw(name, array) for name, array in tensors.items()] + [raw("pads", pads)]
    initialisers[3] = typed("group.weight", tensors["group.weight"])
    initialisers[5] = typed("321", tensors["321"])
    image = helper.make_tensor_value_info("image", TensorProto.FLOAT, ["n", 33, 33, 3])
    out = helper.make_tensor_value_info("out", TensorProto.FLOAT, None)
    model = helper.make_model(helper.make_graph(nodes, "network", [image], [out], initialisers), producer_name="golden")
    constant = numpy_helper.to_array(nodes[7].attribute[0].t)
    names = {"Conv__23_weights_fused_bn": "stem.weight", "Conv__23_bias_fused_bn": "stem.bias", "onnx::Conv_7": "layer.0.conv.weight"}
    expected = [described("constant", constant)]
    expected += [described(names.get(name, name), array) for name, array in tensors.items()] + [described("pads", pads)]
    return model, expected


def main():
    files = {}
    model, files["network.onnx"] = network()
    onnx.save(model, FOLDER / "network.onnx")
    (FOLDER / "outside.data").unlink(missing_ok=True)
    onnx.save(model, FOLDER / "outside.onnx", save_as_external_data=True, location="outside.data", size_threshold=100)
    (FOLDER / "outside.data").chmod(0o644)
    arrays = {
        "model_weights/conv/conv/kernel:0": normal(3, 3, 2, 4), "model_weights/conv/conv/bias:0": normal(4),
        "model_weights/dense/kernel:0": normal(6, 2, dtype=np.float64), "optimizer_weights/step:0": np.array(3),
    }
    for name, options in [("weights.h5", {}), ("chunked.h5", {"chunks": True, "compression": "gzip"})]:
        with h5py.File(FOLDER / name, "w") as file:
            file.attrs["layer_names"] = ["conv", "dense"]
            for path, array in arrays.items():
                file.create_dataset(path, data=array, **(options if array.ndim else {}))
        files[name] = [described(*item) for item in sorted(arrays.items())]
    versions = {"onnx": onnx.__version__, "h5py": h5py.__version__, "numpy": np.__version__}
    (FOLDER / "expected_onnx_hdf5.json").write_text(json.dumps(versions | {"files": files}, separators=(",", ":")) + "\n")


if __name__ == "__main__":
    main()
