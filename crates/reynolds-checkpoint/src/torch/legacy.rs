//! The format of torch.save before PyTorch 1.6, or with `_use_new_zipfile_serialization=False`.

use super::super::pickle::{Pickle, Value};
use super::super::{Contents, Input, Storage};
use crate::error::Result;
use std::collections::HashMap;
use std::ops::Range;

/// How the file begins, after the opcode and the version of the protocol: the number 0x1950a86a20f9469cfc6c.
pub(in super::super) const MAGIC: &[u8] = b"\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19.";

/// Reads the pickles one after the other, finds the storages behind them, and checks each tensor against its own.
pub(in super::super) fn parse(input: Input<'_>) -> Result<Contents> {
    let mut at = 2 + MAGIC.len();
    let mut next = |what: &str| -> Result<(Pickle<'_>, usize)> {
        let pickle = super::read(input, what, &input.bytes[at..])?;
        at += pickle.length;
        let length = pickle.length;
        Ok((pickle, length))
    };
    let (version, _) = next("version")?;
    if version.values[version.root] != Value::Int(1001) {
        return Err(input.malformed("version 1001 of the legacy PyTorch format", "another"));
    }
    let (system, _) = next("system")?;
    if flag(&system, "little_endian") == Some(false) {
        return Err(
            input.malformed("little-endian numbers", "a file of a big-endian machine (save it again on this one)")
        );
    }
    let (object, length) = next("object")?;
    let (keys, _) = next("keys")?;
    let places = places(input, at, &object, &keys)?;
    let (entries, storages) = super::contents(input, (&object, length), |name, storage| {
        let missing = || input.bad_tensor(name, format!("its storage {}", storage.key), "none of that key");
        let place = places.get(storage.key).ok_or_else(missing)?;
        Ok((Storage::Plain(place.clone()), place.len()))
    })?;
    Ok(Contents { entries, storages, ..Contents::default() })
}

/// A truth value of a dictionary.
fn flag(pickle: &Pickle<'_>, name: &str) -> Option<bool> {
    let Value::Dict(items) = &pickle.values[pickle.root] else { return None };
    let (_, value) = items.iter().find(|(key, _)| pickle.values[*key] == Value::Text(name))?;
    match pickle.values[*value] {
        Value::Bool(flag) => Some(flag),
        _ => None,
    }
}

/// Where each storage lies: its number of elements, then its data, in the order of the keys.
fn places<'a>(
    input: Input<'_>,
    mut at: usize,
    object: &Pickle<'a>,
    keys: &Pickle<'a>,
) -> Result<HashMap<&'a str, Range<usize>>> {
    // A storage says only in the pickle how long an element is.
    let mut items: HashMap<&str, (usize, usize)> = HashMap::new();
    for value in &object.values {
        let Value::Storage(storage) = value else { continue };
        let known = *items.entry(storage.key).or_insert((storage.item, storage.elements));
        if known != (storage.item, storage.elements) {
            return Err(input.malformed("one length of a storage", format!("two of storage {}", storage.key)));
        }
    }
    let unusable = || input.malformed("a list of the storages' keys", "something else");
    let Value::List(list) = &keys.values[keys.root] else { return Err(unusable()) };
    let mut places = HashMap::with_capacity(list.len());
    for &key in list {
        let Value::Text(key) = keys.values[key] else { return Err(unusable()) };
        let place = format!("storage {key}");
        let unknown = || input.bad_tensor(&place, "a storage that the pickle names", "one that it does not");
        let (item, elements) = *items.get(key).ok_or_else(unknown)?;
        let cut = || input.bad_tensor(&place, format!("{elements} × {item} bytes"), "the end of the file (truncated?)");
        let (count, data) = input.bytes.get(at..).and_then(|rest| rest.split_first_chunk::<8>()).ok_or_else(cut)?;
        if u64::from_le_bytes(*count) != elements as u64 {
            let found = format!("{}", u64::from_le_bytes(*count));
            return Err(input.bad_tensor(&place, format!("{elements} elements"), found));
        }
        let bytes = elements.checked_mul(item).filter(|&bytes| bytes <= data.len()).ok_or_else(cut)?;
        if places.insert(key, at + 8..at + 8 + bytes).is_some() {
            return Err(input.duplicate(key));
        }
        at += 8 + bytes;
    }
    Ok(places)
}
