//! Files that PyTorch, numpy and safetensors wrote (golden/checkpoints.py) are read with equal values.

use reynolds_checkpoint::{Checkpoint, Entry, Values};
use serde_json::Value;

use crate::{golden, open};

fn assert_as_described(file: &str, checkpoint: &Checkpoint, entry: &Entry, described: &Value) {
    let at = format!("{file}: {}", entry.name);
    let shape: Vec<usize> =
        described["shape"].as_array().unwrap().iter().map(|n| n.as_u64().unwrap() as usize).collect();
    assert_eq!(entry.shape, shape, "{at}");
    match described["values"].as_str() {
        None => {
            assert!(!entry.is_float(), "{at}");
            assert!(checkpoint.read(entry).unwrap_err().to_string().contains(&entry.name), "{at}");
        }
        Some(_) if entry.name == "expanded" => {
            assert!(checkpoint.read(entry).unwrap_err().to_string().contains("expanded view"), "{at}");
        }
        Some(values) => {
            assert_eq!(entry.dtype.to_string(), described["dtype"].as_str().unwrap(), "{at}");
            let values: Vec<f64> = values.split_whitespace().map(|x| x.parse().unwrap()).collect();
            assert_eq!(*checkpoint.read(entry).unwrap().to_f64(), values, "{at}");
        }
    }
}

#[test]
fn files_written_by_python_are_read_equal() {
    let expected = |name: &str| -> Value { serde_json::from_slice(&std::fs::read(golden(name)).unwrap()).unwrap() };
    let [python, graphs] = ["expected.json", "expected_onnx_hdf5.json"].map(expected);
    let [python, graphs] = [&python, &graphs].map(|expected| expected["files"].as_object().unwrap());
    assert_eq!((python.len(), graphs.len()), (17, 3));
    let outside = ("outside.onnx", &graphs["network.onnx"]);
    for (file, tensors) in python.iter().chain(graphs).map(|(file, tensors)| (&**file, tensors)).chain([outside]) {
        let (checkpoint, tensors) = (open(file), tensors.as_array().unwrap());
        assert_eq!(checkpoint.entries().len(), tensors.len(), "{file}");
        for described in tensors {
            let entry = checkpoint.entry(described["name"].as_str().unwrap()).expect(file);
            assert_as_described(file, &checkpoint, entry, described);
        }
    }
}

#[test]
fn entries_keep_the_order_of_the_file() {
    let checkpoint = open("nested.pth");
    let names: Vec<&str> = checkpoint.entries().iter().map(|entry| entry.name.as_str()).collect();
    assert_eq!(names[..2], ["state_dict.conv.weight", "state_dict.conv.bias"]);
    assert!(names.contains(&"optimizer.state.0.exp_avg"));
    assert_eq!(names[names.len() - 2..], ["pair.0", "pair.1.0"]);
}

#[test]
fn tied_weights_share_storage_and_bytes() {
    let tied = open("tied.pt");
    let entry = |name: &str| tied.entry(name).unwrap();
    let (embedding, decoder) = (entry("embedding.weight"), entry("decoder.weight"));
    assert_eq!(embedding.storage, decoder.storage);
    assert!(embedding.overlaps(decoder) && !embedding.overlaps(entry("other")));

    let views = open("views.pt");
    let entry = |name: &str| views.entry(name).unwrap();
    assert_eq!(entry("left").storage, entry("right").storage);
    assert!(!entry("left").overlaps(entry("right")));
    assert!(entry("left").overlaps(entry("transposed")) && !entry("transposed").is_contiguous());
}

#[test]
fn contiguous_tensors_are_borrowed_from_the_map() {
    for (file, name) in [("state_dict.pt", "conv.weight"), ("stored.npz", "single"), ("plain.safetensors", "single")] {
        let checkpoint = open(file);
        let values = checkpoint.read(checkpoint.entry(name).unwrap()).unwrap();
        // A member of an .npz archive begins where its name and headers end, which may not be a multiple of four.
        let borrowed = matches!(values, Values::F32(std::borrow::Cow::Borrowed(_)));
        assert!(borrowed || file == "stored.npz", "{file}");
    }
}

#[test]
fn a_module_has_the_names_of_its_state_dict_and_a_shared_part_both_of_its_own() {
    let module = open("module.pt");
    let entry = |name: &str| module.entry(name).expect(name);
    assert_eq!(entry("head.weight").storage, entry("body.2.weight").storage);
    assert!(module.entry("owner.net.head.weight").is_none() && module.entry("norm.num_batches_tracked").is_some());
}

#[test]
fn nodes_say_strides_paddings_groups_and_sizes_of_convolutions() {
    let network = open("network.onnx");
    let found = |name: &str| {
        let convolution = &network.convolutions()[name];
        let axis = convolution.axes[0];
        (convolution.transposed, convolution.groups, axis.stride, axis.padding, axis.input)
    };
    assert_eq!(network.convolutions().len(), 5);
    assert_eq!(found("stem.weight"), (false, 1, 2, [1, 1], Some(33)));
    // The padding that a node before it adds at one end.
    assert_eq!(found("layer.0.conv.weight"), (false, 1, 2, [0, 1], Some(17)));
    assert_eq!(found("group.weight"), (false, 8, 1, [1, 1], Some(8)));
    assert_eq!(found("up.weight"), (true, 1, 2, [0, 0], Some(8)));
    // "SAME_UPPER": an even input needs one more behind it.
    assert_eq!(found("same.weight"), (false, 1, 2, [0, 1], Some(16)));
    assert_eq!(open("outside.onnx").convolutions(), network.convolutions());
}
