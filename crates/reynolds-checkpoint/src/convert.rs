//! Any checkpoint as a safetensors file: all tensors, row-major, of the types that safetensors has.

use super::whole_file::write_whole;
use super::write::{Changes, Source};
use super::{Checkpoint, Dtype, Entry};
use crate::error::{Error, Result};
use serde_json::json;
use std::collections::HashMap;
use std::path::Path;

/// What safetensors calls a type, and bytes of one element.
fn name(dtype: &Dtype) -> Option<(&'static str, usize)> {
    let other = match dtype {
        Dtype::F32 => return Some(("F32", 4)),
        Dtype::F64 => return Some(("F64", 8)),
        Dtype::F16 => return Some(("F16", 2)),
        Dtype::BF16 => return Some(("BF16", 2)),
        Dtype::C64 => return Some(("C64", 8)),
        Dtype::C128 => return None,
        Dtype::Other(name) => name,
    };
    Some(match &**other {
        "bool" | "|b1" => ("BOOL", 1),
        "uint8" | "|u1" => ("U8", 1),
        "int8" | "|i1" => ("I8", 1),
        "int16" | "<i2" => ("I16", 2),
        "uint16" | "<u2" => ("U16", 2),
        "int32" | "<i4" => ("I32", 4),
        "uint32" | "<u4" => ("U32", 4),
        "int64" | "<i8" => ("I64", 8),
        "uint64" | "<u8" => ("U64", 8),
        _ => return None,
    })
}

impl Checkpoint {
    /// Tensors that [`Checkpoint::write`] leaves out where it writes safetensors in place of the model's format, because safetensors has no
    /// such type, or the file only repeats one number.
    pub fn left_out_of_safetensors(&self) -> Vec<&str> {
        self.entries().iter().filter(|entry| !self.fits(entry)).map(|entry| entry.name.as_str()).collect()
    }

    fn fits(&self, entry: &Entry) -> bool {
        // Of the types that are only listed some formats do not say where the numbers are.
        let held = |size: usize| entry.span(size).end <= self.storage_length(entry.storage);
        name(&entry.dtype).is_some_and(|(_, size)| held(size) && !entry.repeats())
    }

    /// Writes all tensors as safetensors, with changed ones replaced.
    pub(super) fn convert(&self, out: &Path, plan: &Changes<'_>, values: &mut Source<'_, '_>) -> Result<()> {
        let (mut header, mut at) = (serde_json::Map::new(), 0_usize);
        let mut order = Vec::new();
        for entry in self.entries() {
            let Some((dtype, size)) = name(&entry.dtype).filter(|_| self.fits(entry)) else { continue };
            let end = at + entry.len() * size;
            header
                .insert(entry.name.clone(), json!({ "dtype": dtype, "shape": entry.shape, "data_offsets": [at, end] }));
            order.push((entry, size));
            at = end;
        }
        let json = |error: serde_json::Error| Error::malformed(out, "names that JSON can hold", error.to_string());
        let mut header = serde_json::to_vec(&header).map_err(json)?;
        header.resize(header.len().next_multiple_of(8), b' ');
        write_whole(out, &self.bytes, self.origin.as_ref(), |sink| {
            sink.write(&(header.len() as u64).to_le_bytes())?;
            sink.write(&header)?;
            // Tensors of one storage are changed together.
            let mut changed = HashMap::new();
            for (entry, size) in order {
                let storage = match plan.get(&entry.storage) {
                    Some(entries) => {
                        if !changed.contains_key(&entry.storage) {
                            changed.clear();
                            changed.insert(entry.storage, self.changed_storage(entry.storage, entries, values)?);
                        }
                        std::borrow::Cow::Borrowed(&changed[&entry.storage][..])
                    }
                    None => self.storage(entry.storage.0)?,
                };
                if entry.is_contiguous() {
                    sink.write(&storage[entry.span(size)])?;
                } else {
                    let mut bytes = Vec::with_capacity(entry.len() * size);
                    entry.for_each_element(size, |at| bytes.extend_from_slice(&storage[at..at + size]));
                    sink.write(&bytes)?;
                }
            }
            Ok(())
        })
    }
}
