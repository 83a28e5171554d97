//! The .npz format: a zip archive whose members `name.npy` are arrays. Other members are kept and not reported.

use super::entry::row_major;
use super::npy;
use super::{Contents, Dtype, Entry, Input, Storage, StorageId, zip};
use crate::error::Result;

/// Reads the header of every array and checks it against the member's size.
pub(super) fn parse(input: Input<'_>, archive: zip::Archive) -> Result<Contents> {
    let (mut entries, mut storages) = (Vec::new(), Vec::new());
    for (number, member) in archive.members.iter().enumerate() {
        let Some(name) = member.name.strip_suffix(".npy") else { continue };
        // Nearly all headers have 128 bytes, and inflating enough for the longest would dominate the cost of opening.
        let parse = |limit: usize| member.beginning(input, limit).map(|beginning| npy::parse(&beginning));
        let header = match parse(1024)? {
            Ok(header) => header,
            Err(_) => parse(npy::HEADER_LIMIT + 12)?.map_err(|found| input.bad_tensor(name, "a .npy header", found))?,
        };
        let elements = input.elements(name, &header.shape)?;
        let data = member.size - header.length;
        if let Some(size) = item_size(&header.descr)
            && elements.checked_mul(size) != Some(data)
        {
            let expected =
                format!("{} of shape {:?} ({} bytes)", header.descr, header.shape, elements as u128 * size as u128);
            return Err(input.bad_tensor(name, expected, format!("{data} bytes")));
        }
        if matches!(header.descr.as_str(), ">f2" | ">f4" | ">f8" | ">c8" | ">c16") {
            let found = format!("{} (save array.astype(array.dtype.newbyteorder('<')))", header.descr);
            return Err(input.bad_tensor(name, "little-endian numbers", found));
        }
        let mut shape = header.shape;
        if header.fortran_order {
            shape.reverse();
        }
        let mut strides = row_major(&shape);
        if header.fortran_order {
            shape.reverse();
            strides.reverse();
        }
        entries.push(Entry {
            name: name.into(),
            shape,
            strides,
            dtype: dtype(header.descr),
            storage: StorageId(storages.len()),
            start: header.length,
        });
        storages.push(Storage::Member(number));
    }
    if archive.members.iter().any(|member| member.name == "model.weights.h5") {
        return Err(
            input.malformed("a PyTorch or .npz archive", "a Keras archive (unzip it: model.weights.h5 is read)")
        );
    }
    if entries.is_empty() && !archive.members.is_empty() {
        return Err(
            input.malformed("a PyTorch or .npz archive", "a zip archive without data.pkl and without .npy members")
        );
    }
    Ok(Contents { entries, storages, archive, ..Contents::default() })
}

/// Bytes of one element, for types whose text says so.
fn item_size(descr: &str) -> Option<usize> {
    let mut symbols = descr.chars();
    let (order, kind) = (symbols.next()?, symbols.next()?);
    let digits: String = symbols.take_while(char::is_ascii_digit).collect();
    let size: usize = digits.parse().ok().filter(|&size| size < 1 << 32)?;
    match (order, kind) {
        ('<' | '>' | '|' | '=', 'b' | 'i' | 'u' | 'f' | 'c' | 'S' | 'V' | 'm' | 'M') => Some(size),
        ('<' | '>' | '|' | '=', 'U') => Some(4 * size),
        _ => None,
    }
}

fn dtype(descr: String) -> Dtype {
    match descr.as_str() {
        "<f2" => Dtype::F16,
        "<f4" => Dtype::F32,
        "<f8" => Dtype::F64,
        "<c8" => Dtype::C64,
        "<c16" => Dtype::C128,
        _ => Dtype::Other(descr),
    }
}
