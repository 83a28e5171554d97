//! ONNX models: initialisers and constants of the graph, read where they lie, and what the nodes say of convolutions.
//!
//! ```text
//! model ─▶ graph ─▶ initialisers: name · shape · type · data (in the file, or in another beside it)
//!                └─▶ nodes: strides, paddings, groups; names where the initialisers' are numbers
//! ```

mod geometry;
mod model;
mod names;
mod wire;

use std::collections::HashMap;

use super::entry::row_major;
use super::{Contents, Dtype, Entry, Input, Storage, StorageId};
use crate::error::Result;
use model::{Data, Tensor};

/// Elements of a constant whose integers are looked at, as paddings.
const CONSTANT_LIMIT: usize = 64;

/// Whether the bytes are an ONNX model: there is no magic number, so all fields are walked over.
pub(super) fn is_model(bytes: &[u8]) -> bool {
    bytes.first() == Some(&0x08) && model::is_model(bytes)
}

/// Reads the graph and checks every tensor against its data.
pub(super) fn parse(input: Input<'_>) -> Result<Contents> {
    let graph = model::graph(input)?;
    let (mut entries, mut storages, mut outside) = (Vec::new(), Vec::new(), Vec::new());
    let mut shapes = HashMap::new();
    for (tensor, name) in graph.tensors.iter().zip(names::of(&graph)) {
        let (shape, storage, dtype) = place(input, tensor, &name, &mut outside)?;
        shapes.insert(tensor.name, shape.clone());
        let (start, strides) = (0, row_major(&shape));
        entries.push(Entry { name, shape, dtype, storage: StorageId(storages.len()), start, strides });
        storages.push(storage);
    }
    let constant = |name: &str| {
        let tensor = graph.tensors.iter().find(|tensor| tensor.name == name)?;
        let Data::Plain(range) = &tensor.data else { return None };
        let bytes = input.bytes.get(range.clone()).filter(|bytes| bytes.len() <= 8 * CONSTANT_LIMIT)?;
        let integers = bytes.as_chunks::<8>().0.iter().map(|bytes| i64::from_le_bytes(*bytes)).collect();
        (tensor.kind == 7).then_some(integers)
    };
    let by_own_name = geometry::convolutions(&graph, &shapes, constant);
    let named = graph.tensors.iter().zip(&entries);
    let convolutions =
        named.filter_map(|(tensor, entry)| Some((entry.name.clone(), by_own_name.get(tensor.name)?.clone())));
    let convolutions = convolutions.collect();
    Ok(Contents { entries, storages, outside, convolutions, ..Contents::default() })
}

/// Shape, storage and type of a tensor; a file beside the model is noted in `outside`.
fn place(
    input: Input<'_>,
    tensor: &Tensor<'_>,
    name: &str,
    outside: &mut Vec<String>,
) -> Result<(Vec<usize>, Storage, Dtype)> {
    let bad = |expected: String, found: String| Err(input.bad_tensor(name, expected, found));
    let Some(shape) = tensor.dims.iter().map(|&size| usize::try_from(size).ok()).collect::<Option<Vec<_>>>() else {
        return bad("sizes of at least 0".into(), format!("{:?}", tensor.dims));
    };
    let elements = input.elements(name, &shape)?;
    let (dtype, item) = dtype(tensor.kind);
    let Some(bytes) = item.and_then(|item| elements.checked_mul(item)) else {
        return Ok((shape, Storage::Plain(0..0), dtype));
    };
    if tensor.is_outside {
        let of = |key: &str| tensor.outside.iter().find(|(found, _)| *found == key).map(|(_, value)| *value);
        let number = |key: &str, default: usize| of(key).map_or(Some(default), |text| text.parse().ok());
        let location = of("location").unwrap_or_default();
        let (Some(start), Some(length)) = (number("offset", 0), number("length", bytes)) else {
            return bad("an offset and a length of external data".into(), format!("{:?}", tensor.outside));
        };
        if length != bytes {
            return bad(format!("{bytes} bytes"), format!("{length} in \"{location}\""));
        }
        // A name and nothing else: no folder above the model's, no link of a drive.
        if location.is_empty() || location.contains(['/', '\\', ':', '\0']) || location.starts_with("..") {
            return bad("external data in a file beside the model".into(), format!("{location:?}"));
        }
        let file = outside.iter().position(|known| known == location).unwrap_or_else(|| {
            outside.push(location.to_owned());
            outside.len() - 1
        });
        let Some(end) = start.checked_add(length) else {
            return bad("an offset in the file".into(), start.to_string());
        };
        return Ok((shape, Storage::Outside(file, start..end), dtype));
    }
    match &tensor.data {
        Data::Other(form) => Ok((shape, Storage::Plain(0..0), Dtype::Other(format!("{dtype} as {form}")))),
        Data::Plain(range) if range.len() != bytes => bad(format!("{bytes} bytes of data"), range.len().to_string()),
        Data::Plain(range) => Ok((shape, Storage::Plain(range.clone()), dtype)),
        Data::None if bytes == 0 => Ok((shape, Storage::Plain(0..0), dtype)),
        Data::None => bad(format!("{bytes} bytes of data"), "none".into()),
    }
}

/// The type of that number, and bytes of one element.
fn dtype(kind: u64) -> (Dtype, Option<usize>) {
    let (name, size) = match kind {
        1 => return (Dtype::F32, Some(4)),
        10 => return (Dtype::F16, Some(2)),
        11 => return (Dtype::F64, Some(8)),
        14 => return (Dtype::C64, Some(8)),
        15 => return (Dtype::C128, Some(16)),
        16 => return (Dtype::BF16, Some(2)),
        2 => ("uint8", None),
        3 => ("int8", None),
        6 => ("int32", None),
        7 => ("int64", None),
        8 => ("string", None),
        9 => ("bool", None),
        _ => return (Dtype::Other(format!("type {kind} of ONNX")), None),
    };
    (Dtype::Other(name.into()), size)
}
