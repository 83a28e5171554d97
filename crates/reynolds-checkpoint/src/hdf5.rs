//! HDF5 files, as Keras writes them: every data set of numbers, under its path.
//!
//! ```text
//! /model_weights/conv2d/kernel:0   ─▶  model_weights/conv2d/kernel:0        contiguous: read in place      chunked: unpacked at opening
//! ```

use super::entry::row_major;
use super::{Contents, Dtype, Entry, Input, Storage, StorageId};
use crate::error::Result;
use hdf5_pure::{DType, Dataset, Datatype, DatatypeByteOrder, File, Group, Layout};

/// How the file begins.
pub(super) const MAGIC: &[u8] = b"\x89HDF\r\n\x1a\n";
/// Groups in groups.
const DEPTH_LIMIT: usize = 32;
/// Groups and data sets together.
const COUNT_LIMIT: usize = 1 << 16;
/// Bytes of all data sets that are unpacked at opening.
const UNPACKED_LIMIT: usize = 1 << 30;

/// Walks over all groups and checks every data set against the file.
pub(super) fn parse(input: Input<'_>) -> Result<Contents> {
    let file =
        File::from_bytes(input.bytes.to_vec()).map_err(|error| input.malformed("an HDF5 file", error.to_string()))?;
    let end = file.superblock().eof_address;
    if end > input.bytes.len() as u64 {
        return Err(input.malformed(format!("{end} bytes"), format!("{} (truncated?)", input.bytes.len())));
    }
    let mut walk = Walk { input, contents: Contents::default(), visited: 0, unpacked: 0 };
    walk.group(&file.root(), "", 0)?;
    Ok(walk.contents)
}

struct Walk<'a> {
    input: Input<'a>,
    contents: Contents,
    visited: usize,
    unpacked: usize,
}

impl Walk<'_> {
    fn group(&mut self, group: &Group, path: &str, depth: usize) -> Result<()> {
        let whole = group.datasets().and_then(|sets| Ok((sets, group.groups()?)));
        let (sets, groups) = self.read(path, whole)?;
        self.visited += 1 + sets.len() + groups.len();
        if depth > DEPTH_LIMIT || self.visited > COUNT_LIMIT {
            let expected = format!("at most {COUNT_LIMIT} groups and data sets, {DEPTH_LIMIT} deep");
            return Err(self.input.malformed(expected, "more"));
        }
        let under = |name: &str| if path.is_empty() { name.to_owned() } else { format!("{path}/{name}") };
        for name in &sets {
            let set = self.read(&under(name), group.dataset(name))?;
            self.tensor(&set, under(name))?;
        }
        for name in &groups {
            let inner = self.read(&under(name), group.group(name))?;
            self.group(&inner, &under(name), depth + 1)?;
        }
        Ok(())
    }

    fn read<T>(&self, name: &str, result: Result<T, hdf5_pure::Error>) -> Result<T> {
        result.map_err(|error| self.input.bad_tensor(name, "readable data", error.to_string()))
    }

    fn tensor(&mut self, set: &Dataset, name: String) -> Result<()> {
        let whole = set.shape().and_then(|shape| Ok((shape, set.dtype()?, set.datatype()?, set.layout()?)));
        let (shape, kind, datatype, layout) = self.read(&name, whole)?;
        let sizes: Option<Vec<usize>> = shape.iter().map(|&size| usize::try_from(size).ok()).collect();
        let shape = sizes.unwrap_or_else(|| vec![usize::MAX]);
        let elements = self.input.elements(&name, &shape)?;
        let little = matches!(datatype, Datatype::FloatingPoint { byte_order: DatatypeByteOrder::LittleEndian, .. });
        let (dtype, storage) = match (kind, little) {
            (DType::F32, true) => (Dtype::F32, self.storage(set, &name, layout, 4 * elements)?),
            (DType::F64, true) => (Dtype::F64, self.storage(set, &name, layout, 8 * elements)?),
            (DType::F32 | DType::F64, false) => {
                return Err(self.input.bad_tensor(&name, "little-endian numbers", "others"));
            }
            (other, _) => (Dtype::Other(other.to_string()), Storage::Plain(0..0)),
        };
        let (start, strides) = (0, row_major(&shape));
        let id = StorageId(self.contents.storages.len());
        self.contents.entries.push(Entry { name, shape, dtype, storage: id, start, strides });
        self.contents.storages.push(storage);
        Ok(())
    }

    /// Where the numbers lie, or what they are where they are in chunks.
    fn storage(&mut self, set: &Dataset, name: &str, layout: Layout, bytes: usize) -> Result<Storage> {
        if let Layout::Contiguous { address: Some(start), size } = layout {
            let range = usize::try_from(start).ok().and_then(|start| Some(start..start.checked_add(bytes)?));
            let range = range.filter(|range| size == bytes as u64 && range.end <= self.input.bytes.len());
            let found =
                || self.input.bad_tensor(name, format!("{bytes} bytes in the file"), format!("{size} at {start}"));
            return range.map(Storage::Plain).ok_or_else(found);
        }
        self.unpacked = self.unpacked.saturating_add(bytes);
        // Deflate cannot expand beyond 1032:1.
        if self.unpacked > UNPACKED_LIMIT.min(self.input.bytes.len().saturating_mul(1032)) {
            let expected = format!("data sets in chunks of at most {UNPACKED_LIMIT} bytes, or 1032 times the file");
            return Err(self.input.bad_tensor(name, expected, format!("{}", self.unpacked)));
        }
        let held = self.read(name, set.read_raw())?;
        if held.len() != bytes {
            return Err(self.input.bad_tensor(name, format!("{bytes} bytes"), held.len().to_string()));
        }
        Ok(Storage::Held(held))
    }
}
