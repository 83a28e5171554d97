//! The .safetensors format.
//!
//! ```text
//! n: u64 little-endian · n bytes of JSON {name: {dtype, shape, data_offsets: [begin, end]}, "__metadata__": …} · buffer
//! ```
//!
//! The ranges must cover the buffer without overlap or hole, which leaves no room for hidden bytes.

use super::entry::row_major;
use super::{Contents, Dtype, Entry, Input, Storage, StorageId};
use crate::error::Result;
use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny, MapAccess, Visitor};
use std::fmt;

/// The specification's limit on the JSON header.
const HEADER_LIMIT: u64 = 100_000_000;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Info {
    dtype: String,
    shape: Vec<usize>,
    data_offsets: (usize, usize),
}

/// The header's tensors in the order of the header, duplicates kept so that they can be named.
struct Header(Vec<(String, Info)>);

impl<'de> Deserialize<'de> for Header {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Header, D::Error> {
        struct Tensors;
        impl<'de> Visitor<'de> for Tensors {
            type Value = Header;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object of tensors")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> std::result::Result<Header, A::Error> {
                let mut tensors = Vec::new();
                while let Some(name) = map.next_key::<String>()? {
                    match name.as_str() {
                        "__metadata__" => drop(map.next_value::<IgnoredAny>()?),
                        _ => tensors.push((name, map.next_value()?)),
                    }
                }
                Ok(Header(tensors))
            }
        }
        deserializer.deserialize_map(Tensors)
    }
}

/// Bits of one element, for every type of the specification.
fn bits(dtype: &str) -> Option<usize> {
    Some(match dtype {
        "F4" => 4,
        "F6_E2M3" | "F6_E3M2" => 6,
        "BOOL" | "U8" | "I8" | "F8_E5M2" | "F8_E4M3" | "F8_E8M0" | "F8_E4M3FNUZ" | "F8_E5M2FNUZ" => 8,
        "I16" | "U16" | "F16" | "BF16" => 16,
        "I32" | "U32" | "F32" => 32,
        "I64" | "U64" | "F64" | "C64" => 64,
        _ => return None,
    })
}

/// Reads and checks the header.
pub(super) fn parse(input: Input<'_>) -> Result<Contents> {
    let (length, rest) =
        input.bytes.split_first_chunk::<8>().ok_or_else(|| input.malformed("8 bytes of length", "fewer"))?;
    let length = u64::from_le_bytes(*length);
    if length > HEADER_LIMIT || length > rest.len() as u64 {
        let expected = format!("a header of at most {} bytes", HEADER_LIMIT.min(rest.len() as u64));
        return Err(input.malformed(expected, format!("one that claims {length} bytes")));
    }
    let (header, buffer) = rest.split_at(length as usize);
    let header: Header = serde_json::from_slice(header)
        .map_err(|error| input.malformed("a safetensors header (JSON)", error.to_string()))?;

    let mut entries = Vec::with_capacity(header.0.len());
    let mut storages = Vec::with_capacity(header.0.len());
    let mut ranges = Vec::with_capacity(header.0.len());
    for (name, info) in header.0 {
        let elements = input.elements(&name, &info.shape)?;
        let bits = bits(&info.dtype)
            .ok_or_else(|| input.bad_tensor(&name, "a type of safetensors", format!("{:?}", info.dtype)))?;
        let (begin, end) = info.data_offsets;
        if begin > end || end > buffer.len() {
            let expected = format!("a range within the buffer of {} bytes", buffer.len());
            return Err(input.bad_tensor(&name, expected, format!("{begin}..{end}")));
        }
        if elements.checked_mul(bits) != (end - begin).checked_mul(8) {
            let expected =
                format!("{} of shape {:?} ({} bits)", info.dtype, info.shape, elements as u128 * bits as u128);
            return Err(input.bad_tensor(&name, expected, format!("{} bytes", end - begin)));
        }
        let offset = input.bytes.len() - buffer.len();
        ranges.push((begin, end, entries.len()));
        entries.push(Entry {
            name,
            strides: row_major(&info.shape),
            shape: info.shape,
            dtype: dtype(info.dtype),
            storage: StorageId(storages.len()),
            start: 0,
        });
        storages.push(Storage::Plain(offset + begin..offset + end));
    }
    check_cover(input, &entries, ranges, buffer.len())?;
    Ok(Contents { entries, storages, ..Contents::default() })
}

/// Overlaps and holes.
fn check_cover(
    input: Input<'_>,
    entries: &[Entry],
    mut ranges: Vec<(usize, usize, usize)>,
    length: usize,
) -> Result<()> {
    ranges.sort_unstable();
    let (mut covered, mut last) = (0, None::<usize>);
    for (begin, end, entry) in ranges {
        let name = &entries[entry].name;
        if begin < covered {
            let first = last.map_or("", |last| entries[last].name.as_str());
            return Err(input.overlap(first, name));
        }
        if begin > covered {
            let expected = format!("a range that begins at {covered}");
            return Err(input.bad_tensor(name, expected, format!("a hole up to {begin}")));
        }
        (covered, last) = (end, Some(entry));
    }
    match covered == length {
        true => Ok(()),
        false => Err(input.malformed(format!("a buffer of {covered} bytes"), format!("{length} bytes"))),
    }
}

fn dtype(name: String) -> Dtype {
    match name.as_str() {
        "F32" => Dtype::F32,
        "F64" => Dtype::F64,
        "F16" => Dtype::F16,
        "BF16" => Dtype::BF16,
        "C64" => Dtype::C64,
        _ => Dtype::Other(name),
    }
}
