//! PyTorch's two formats: a pickle that names the tensors, and their storages.
//!
//! ```text
//! archive   zip: <archive>/data.pkl · <archive>/data/<key> …                              torch.save since PyTorch 1.6
//! legacy    pickles: magic number · version · system · object · keys, then for each key: elements: u64 · data
//! ```

mod archive;
mod legacy;
mod walk;

pub(super) use archive::{parse, pickle_of};
pub(super) use legacy::{MAGIC, parse as parse_legacy};

use super::pickle::{self, Fault, Pickle, StorageName, Value, View};
use super::{Entry, Input, Storage, StorageId};
use crate::error::{Error, Result};
use std::collections::HashMap;

/// What to do about a pickle that is refused.
const HINT: &str = "save model.state_dict() with torch.save, or convert to .safetensors";

/// Reads a pickle that lies in `member` of the file.
fn read<'a>(input: Input<'_>, member: &str, bytes: &'a [u8]) -> Result<Pickle<'a>> {
    pickle::read(bytes).map_err(|fault| match fault {
        Fault::Refused(what) => Error::Refused { file: input.path.into(), what, hint: HINT },
        Fault::Malformed(found) => input.bad_tensor(member, "a pickle of tensors", found),
    })
}

/// The tensors of a pickle of so many bytes, and their storages; `find` gives the storage of a name, and its length in bytes.
fn contents(
    input: Input<'_>,
    (pickle, length): (&Pickle<'_>, usize),
    find: impl Fn(&str, &StorageName<'_>) -> Result<(Storage, usize)>,
) -> Result<(Vec<Entry>, Vec<Storage>)> {
    let found = walk::tensors(input, pickle, length)?;
    let (mut entries, mut storages, mut known) = (Vec::with_capacity(found.len()), Vec::new(), HashMap::new());
    for (name, view) in found {
        let Value::Storage(storage) = &pickle.values[view.storage] else { continue };
        let (id, bytes) = match known.get(storage.key) {
            Some(&known) => known,
            None => {
                let (place, bytes) = find(&name, storage)?;
                storages.push(place);
                *known.entry(storage.key).or_insert((StorageId(storages.len() - 1), bytes))
            }
        };
        entries.push(entry(input, name, view, storage, bytes, id)?);
    }
    Ok((entries, storages))
}

/// One tensor, checked against its storage of `bytes` bytes.
fn entry(
    input: Input<'_>,
    name: String,
    view: &View,
    storage: &StorageName<'_>,
    bytes: usize,
    id: StorageId,
) -> Result<Entry> {
    if storage.elements.checked_mul(storage.item) != Some(bytes) {
        let expected = format!("a storage of {} × {} bytes", storage.elements, storage.item);
        return Err(input.bad_tensor(&name, expected, format!("{bytes} bytes")));
    }
    let (dtype, item) = match &view.dtype {
        Some((dtype, item)) => (dtype.clone(), *item),
        None => (storage.dtype.clone(), storage.item),
    };
    let empty = input.elements(&name, &view.shape)? == 0;
    let steps = view.shape.iter().zip(&view.strides);
    let last = steps.filter(|_| !empty).try_fold(view.offset, |last, (&size, &stride)| {
        (size - 1).checked_mul(stride).and_then(|step| last.checked_add(step))
    });
    let end = match empty {
        true => view.offset.checked_mul(item),
        false => last.and_then(|last| last.checked_add(1)).and_then(|end| end.checked_mul(item)),
    };
    if end.is_none_or(|end| end > bytes) {
        let found = format!("offset {}, shape {:?}, strides {:?}", view.offset, view.shape, view.strides);
        return Err(input.bad_tensor(&name, format!("a view within its storage of {} elements", bytes / item), found));
    }
    let (shape, strides) = (view.shape.clone(), view.strides.clone());
    let start = view.offset * item;
    Ok(Entry { name, shape, dtype, storage: id, start, strides })
}
