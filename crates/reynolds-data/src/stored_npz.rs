//! Arrays in one stored .npz: of single precision, or of bytes, with `setting`, the bytes, in JSON, of what they follow from; or of any
//! caller, as they are.
//!
//! Members begin where a memory map can hand them out as f32 without a copy. NumPy reads them:
//!
//! ```text
//! archive = numpy.load("rotation_k05_j0.npz");  archive["velocity"];  json.loads(archive["setting"].tobytes())
//! ```

use std::borrow::Cow;
use std::path::Path;

use serde::Serialize;

use crate::checkpoint::{Checkpoint, Entry, Values, write_parts};
use crate::error::{Error, Result};

/// Data of a member begin at a multiple of this.
const ALIGNMENT: usize = 64;

/// Bytes of a local header before its name.
const LOCAL: usize = 30;

/// A name, a shape, and the values row by row.
pub(crate) type Array<'a> = (&'a str, &'a [usize], &'a [f32]);

/// As [`Array`], of bytes.
pub(crate) type Bytes<'a> = (&'a str, &'a [usize], &'a [u8]);

/// The settings as they are stored.
fn json(setting: &impl Serialize) -> String {
    serde_json::to_string(setting).expect("numbers and texts are always valid JSON")
}

/// The first setting that differs, as expected and as found.
fn difference(expected: &str, found: &[u8]) -> Option<(String, String)> {
    if found == expected.as_bytes() {
        return None;
    }
    type Map = serde_json::Map<String, serde_json::Value>;
    let whole = || (expected.to_owned(), String::from_utf8_lossy(found).into_owned());
    let (Ok(one), Ok(other)) = (serde_json::from_str::<Map>(expected), serde_json::from_slice::<Map>(found)) else {
        return Some(whole());
    };
    let differs = one.iter().find(|(key, value)| other.get(*key) != Some(value));
    Some(differs.map_or_else(whole, |(key, value)| {
        let found = other.get(key).map_or_else(|| "nothing".into(), ToString::to_string);
        (format!("{key} {value}"), format!("{key} {found}"))
    }))
}

/// A file that was opened and whose settings were found to be the expected ones.
#[derive(Debug)]
pub(crate) struct StoredNpz {
    checkpoint: Checkpoint,
}

impl StoredNpz {
    /// Opens a file and compares its settings.
    pub(crate) fn open(path: &Path, setting: &impl Serialize) -> Result<StoredNpz> {
        let file = StoredNpz { checkpoint: Checkpoint::open(path)? };
        let text = file.member("setting")?;
        let (found, expected) = (file.checkpoint.read_plain(&text, "|u1", 1)?, json(setting));
        match difference(&expected, &found) {
            Some((expected, found)) => Err(file.wrong("setting", expected, found)),
            None => {
                drop(found);
                Ok(file)
            }
        }
    }

    /// The array of that name, of that shape.
    pub(crate) fn array(&self, name: &str, shape: &[usize]) -> Result<Entry> {
        let entry = self.member(name)?;
        if entry.shape != shape || entry.dtype.to_string() != "f32" {
            let found = format!("{} {:?}", entry.dtype, entry.shape);
            return Err(self.wrong(name, format!("f32 {shape:?}"), found));
        }
        Ok(entry)
    }

    /// The values of an array of this file, borrowed from the memory map after verifying their checksum.
    pub(crate) fn values(&self, array: &Entry) -> Result<Cow<'_, [f32]>> {
        match self.checkpoint.read(array)? {
            Values::F32(values) => Ok(values),
            Values::F64(_) => unreachable!("the type was checked when the array was found"),
        }
    }

    /// Says that the values are not needed for now: their pages of the map can go.
    pub(crate) fn release(&self, array: &Entry) {
        self.checkpoint.release(array);
    }

    fn member(&self, name: &str) -> Result<Entry> {
        let missing = || self.wrong(name, "an array of this name".into(), "none".into());
        self.checkpoint.entry(name).cloned().ok_or_else(missing)
    }

    fn wrong(&self, tensor: &str, expected: String, found: String) -> Error {
        Error::Tensor { file: self.checkpoint.path().into(), tensor: tensor.into(), expected, found }
    }
}

/// Writes arrays and what they follow from, whole or not at all.
pub(crate) fn write(path: &Path, setting: &impl Serialize, arrays: &[Array<'_>]) -> Result<()> {
    fn member<'a>(&(name, shape, values): &Array<'a>) -> Member<'a> {
        debug_assert_eq!(values.len(), shape.iter().product::<usize>());
        let bytes = match cfg!(target_endian = "little") {
            true => Cow::Borrowed(bytemuck::cast_slice(values)),
            false => values.iter().flat_map(|v| v.to_le_bytes()).collect(),
        };
        (name, npy("<f4", shape), bytes)
    }
    write_members(path, setting, arrays.iter().map(member).collect())
}

/// As [`write`], for arrays of bytes.
pub(crate) fn write_bytes(path: &Path, setting: &impl Serialize, arrays: &[Bytes<'_>]) -> Result<()> {
    fn member<'a>(&(name, shape, values): &Bytes<'a>) -> Member<'a> {
        debug_assert_eq!(values.len(), shape.iter().product::<usize>());
        (name, npy("|u1", shape), Cow::Borrowed(values))
    }
    write_members(path, setting, arrays.iter().map(member).collect())
}

/// Writes named arrays of single or double precision, row by row, as a .npz that NumPy and [`Checkpoint::open`] read: whole or not at all.
///
/// ```
/// use reynolds_data::checkpoint::{Checkpoint, Values};
/// let file = std::env::temp_dir().join(format!("reynolds-doc-{}.npz", std::process::id()));
/// reynolds_data::write_arrays(&file, &[("x", &[2, 1], Values::F64(vec![1.0, 2.0].into()))])?;
/// let archive = Checkpoint::open(&file)?;
/// assert_eq!(archive.entry("x").map(|x| x.shape.clone()), Some(vec![2, 1]));
/// # drop(archive);
/// # std::fs::remove_file(file).expect("it was written");
/// # Ok::<(), reynolds_data::Error>(())
/// ```
///
/// # Errors
/// [`Error::Tensor`] if an array has not as many values as its shape says, or there are 4 GiB of them in all; if the system refuses.
pub fn write_arrays(path: &Path, arrays: &[(&str, &[usize], Values<'_>)]) -> Result<()> {
    let mut bytes_left = (u32::MAX as usize) - (1 << 20);
    let mut members: Vec<Member<'_>> = Vec::with_capacity(arrays.len());
    for (name, shape, values) in arrays {
        let (descr, bytes): (_, Cow<'_, [u8]>) = match values {
            Values::F32(values) if cfg!(target_endian = "little") => ("<f4", bytemuck::cast_slice(values).into()),
            Values::F64(values) if cfg!(target_endian = "little") => ("<f8", bytemuck::cast_slice(values).into()),
            Values::F32(values) => ("<f4", values.iter().flat_map(|v| v.to_le_bytes()).collect()),
            Values::F64(values) => ("<f8", values.iter().flat_map(|v| v.to_le_bytes()).collect()),
        };
        let wrong = |expected: String, found: String| {
            Err(Error::Tensor { file: path.into(), tensor: (*name).into(), expected, found })
        };
        if shape.iter().try_fold(1_usize, |product, &size| product.checked_mul(size)) != Some(values.len()) {
            return wrong(format!("values of shape {shape:?}"), format!("{} values", values.len()));
        }
        bytes_left = match bytes_left.checked_sub(bytes.len()) {
            Some(left) => left,
            None => return wrong("less than 4 GiB of arrays".into(), format!("{} bytes more", bytes.len())),
        };
        members.push((name, npy(descr, shape), bytes));
    }
    write_archive(path, members)
}

/// A name, the header of a .npy, and the bytes after it.
type Member<'a> = (&'a str, Vec<u8>, Cow<'a, [u8]>);

fn write_members(path: &Path, setting: &impl Serialize, members: Vec<Member<'_>>) -> Result<()> {
    let text = json(setting);
    let setting = ("setting", npy("|u1", &[text.len()]), Cow::Borrowed(text.as_bytes()));
    write_archive(path, std::iter::once(setting).chain(members).collect())
}

fn write_archive(path: &Path, members: Vec<Member<'_>>) -> Result<()> {
    let mut archive = Archive::default();
    let mut parts: Vec<Cow<'_, [u8]>> = Vec::new();
    for (name, header, bytes) in members {
        parts.push(archive.member(&format!("{name}.npy"), &header, &bytes).into());
        parts.push(bytes);
    }
    parts.push(archive.end().into());
    write_parts(path, &parts.iter().map(AsRef::as_ref).collect::<Vec<_>>())
}

/// The header of a .npy array, a multiple of 64 bytes.
fn npy(descr: &str, shape: &[usize]) -> Vec<u8> {
    let comma = if shape.len() == 1 { "," } else { "" };
    let shape = shape.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
    let text = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': ({shape}{comma}), }}");
    let length = (10 + text.len() + 1).next_multiple_of(64) - 10;
    let mut header = b"\x93NUMPY\x01\x00".to_vec();
    header.extend((length as u16).to_le_bytes());
    header.extend(text.as_bytes());
    header.resize(10 + length - 1, b' ');
    header.push(b'\n');
    header
}

/// A zip archive of stored members, written front to back.
#[derive(Default)]
struct Archive {
    written: usize,
    members: u16,
    directory: Vec<u8>,
}

impl Archive {
    /// Everything before the data of a member: local header, name, padding, .npy header.
    fn member(&mut self, name: &str, header: &[u8], data: &[u8]) -> Vec<u8> {
        let mut crc = crc32fast::Hasher::new();
        crc.update(header);
        crc.update(data);
        let size = u32::try_from(header.len() + data.len()).expect("what is stored is far smaller than 4 GiB");
        // An extra field of id and length, and zeros, moves the contents to the next multiple of the alignment.
        let start = (self.written + LOCAL + name.len() + 4).next_multiple_of(ALIGNMENT);
        let padding = (start - self.written - LOCAL - name.len()) as u16;
        // Version 2.0 · no flags · stored · 1980-01-01 00:00, so that equal values are equal files · checksum · sizes · length of the name.
        let mut common = Vec::new();
        for number in [20_u16, 0, 0, 0, 0x21] {
            common.extend(number.to_le_bytes());
        }
        for number in [crc.finalize(), size, size] {
            common.extend(number.to_le_bytes());
        }
        common.extend((name.len() as u16).to_le_bytes());
        let mut out = b"PK\x03\x04".to_vec();
        out.extend(&common);
        out.extend(padding.to_le_bytes());
        out.extend(name.as_bytes());
        out.extend([0x52, 0x59]);
        out.extend((padding - 4).to_le_bytes());
        out.resize(start - self.written, 0);
        out.extend(header);
        self.directory.extend(b"PK\x01\x02\x14\x00");
        self.directory.extend(&common);
        // No extra field, no comment, first disk, no attributes; then where the local header begins.
        self.directory.extend([0; 12]);
        self.directory.extend((self.written as u32).to_le_bytes());
        self.directory.extend(name.as_bytes());
        self.members += 1;
        self.written = start + size as usize;
        out
    }

    /// The directory and the end record.
    fn end(self) -> Vec<u8> {
        let mut out = self.directory;
        let length = out.len() as u32;
        out.extend(b"PK\x05\x06\0\0\0\0");
        out.extend(self.members.to_le_bytes());
        out.extend(self.members.to_le_bytes());
        out.extend(length.to_le_bytes());
        out.extend((self.written as u32).to_le_bytes());
        out.extend([0; 2]);
        out
    }
}
