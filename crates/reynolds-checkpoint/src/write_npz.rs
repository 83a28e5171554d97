//! Writing a .npz: arrays in a stored zip archive, whole or not at all.

use std::borrow::Cow;
use std::path::Path;

use crate::error::{Error, Result};
use crate::whole_file::write_parts;

/// Alignment of the data of a member, so that a memory map can lend them without a copy.
const ALIGNMENT: usize = 64;

/// Bytes of a local header before its name.
const LOCAL: usize = 30;

/// Row-major values of an array to be written.
#[derive(Debug, Clone, Copy)]
pub enum Numbers<'a> {
    /// Bytes.
    U8(&'a [u8]),
    /// Single precision.
    F32(&'a [f32]),
    /// Double precision.
    F64(&'a [f64]),
}

impl<'a> Numbers<'a> {
    fn len(self) -> usize {
        match self {
            Numbers::U8(values) => values.len(),
            Numbers::F32(values) => values.len(),
            Numbers::F64(values) => values.len(),
        }
    }

    /// The type as NumPy writes it, and the little-endian bytes.
    fn stored(self) -> (&'static str, Cow<'a, [u8]>) {
        match self {
            Numbers::U8(values) => ("|u1", values.into()),
            Numbers::F32(values) if cfg!(target_endian = "little") => ("<f4", bytemuck::cast_slice(values).into()),
            Numbers::F64(values) if cfg!(target_endian = "little") => ("<f8", bytemuck::cast_slice(values).into()),
            Numbers::F32(values) => ("<f4", values.iter().flat_map(|v| v.to_le_bytes()).collect()),
            Numbers::F64(values) => ("<f8", values.iter().flat_map(|v| v.to_le_bytes()).collect()),
        }
    }
}

/// Writes named arrays as a .npz that NumPy and [`Checkpoint::open`](crate::Checkpoint::open) read: whole or not at all.
///
/// ```
/// use reynolds_checkpoint::{Checkpoint, Numbers, write_npz};
/// let file = std::env::temp_dir().join(format!("reynolds-doc-{}.npz", std::process::id()));
/// write_npz(&file, &[("x", &[2, 1], Numbers::F64(&[1.0, 2.0]))])?;
/// let archive = Checkpoint::open(&file)?;
/// assert_eq!(archive.entry("x").map(|x| x.shape.clone()), Some(vec![2, 1]));
/// # drop(archive);
/// # std::fs::remove_file(file).expect("it was written");
/// # Ok::<(), reynolds_checkpoint::Error>(())
/// ```
///
/// # Errors
/// [`Error::Tensor`] if the number of values does not fit a shape, or all arrays together have 4 GiB or more.
pub fn write_npz(path: &Path, arrays: &[(&str, &[usize], Numbers<'_>)]) -> Result<()> {
    let mut bytes_left = (u32::MAX as usize) - (1 << 20);
    let mut archive = Archive::default();
    let mut parts: Vec<Cow<'_, [u8]>> = Vec::with_capacity(2 * arrays.len() + 1);
    for &(name, shape, numbers) in arrays {
        let wrong = |expected: String, found: String| {
            Err(Error::Tensor { file: path.into(), tensor: name.into(), expected, found })
        };
        if shape.iter().try_fold(1_usize, |product, &size| product.checked_mul(size)) != Some(numbers.len()) {
            return wrong(format!("values of shape {shape:?}"), format!("{} values", numbers.len()));
        }
        let (descr, bytes) = numbers.stored();
        bytes_left = match bytes_left.checked_sub(bytes.len()) {
            Some(left) => left,
            None => return wrong("less than 4 GiB of arrays".into(), format!("{} bytes more", bytes.len())),
        };
        parts.push(archive.member(&format!("{name}.npy"), &npy(descr, shape), &bytes).into());
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
