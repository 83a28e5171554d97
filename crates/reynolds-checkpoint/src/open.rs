//! Opening a checkpoint: which format it is, by its first bytes.

use super::map::Bytes;
use super::whole_file::{Identity, Origin, expect_ordinary};
use super::{Checkpoint, Contents, Format, Input, Storage, hdf5, npz, onnx, safetensors, torch, zip};
use crate::error::{Error, Result};
use std::collections::HashMap;
use std::fs::{File, Metadata};
use std::path::{Path, PathBuf};

impl Checkpoint {
    /// Opens a checkpoint: maps the file, reads its headers and checks them.
    ///
    /// # Errors
    /// When the file cannot be opened or mapped, is none of the formats, is damaged, or is a PyTorch file whose pickle asks for
    /// anything but tensors in plain containers.
    pub fn open(path: impl AsRef<Path>) -> Result<Checkpoint> {
        let path = path.as_ref();
        let (metadata, bytes) = map(path)?;
        let permissions = metadata.permissions();
        let origin = Identity::of(path, &metadata).map(|identity| Origin { identity, permissions });
        Checkpoint::build(path.into(), bytes, origin, map)
    }

    /// As [`Checkpoint::open`], with the whole file read into memory instead of mapped: for processes that must not end when another one
    /// shortens the file.
    pub fn load(path: impl AsRef<Path>) -> Result<Checkpoint> {
        let read = |path: &Path| -> Result<(Metadata, Bytes)> {
            let metadata = std::fs::metadata(path).map_err(Error::io(path, "open"))?;
            expect_ordinary(path, &metadata, "a checkpoint file")?;
            Ok((metadata, Bytes::Owned(std::fs::read(path).map_err(Error::io(path, "read"))?)))
        };
        let path = path.as_ref();
        let (metadata, bytes) = read(path)?;
        let permissions = metadata.permissions();
        let origin = Identity::of(path, &metadata).map(|identity| Origin { identity, permissions });
        Checkpoint::build(path.into(), bytes, origin, read)
    }

    /// A checkpoint from bytes in memory; `label` stands for the path in messages and gives the extension.
    pub fn from_bytes(label: impl Into<PathBuf>, bytes: Vec<u8>) -> Result<Checkpoint> {
        let label = label.into();
        let file = label.clone();
        let nowhere = |path: &Path| {
            Err(Error::malformed(&file, "one file with all tensors", format!("tensors in {}", path.display())))
        };
        Checkpoint::build(label, Bytes::Owned(bytes), None, nowhere)
    }

    /// `open` gives the metadata and the bytes of a file beside it.
    fn build(
        path: PathBuf,
        bytes: Bytes,
        origin: Option<Origin>,
        open: impl Fn(&Path) -> Result<(Metadata, Bytes)>,
    ) -> Result<Checkpoint> {
        let input = Input { path: &path, bytes: &bytes };
        let (format, contents) = parse(input)?;
        let mut numbers = HashMap::with_capacity(contents.entries.len());
        for (number, entry) in contents.entries.iter().enumerate() {
            if numbers.insert(entry.name.clone(), number).is_some() {
                return Err(input.duplicate(&entry.name));
            }
        }
        let Contents { entries, storages, archive, outside, convolutions } = contents;
        let beside = |name: String| -> Result<(PathBuf, Bytes)> {
            let path = path.with_file_name(name);
            open(&path).map(|(_, bytes)| (path, bytes))
        };
        let outside = outside.into_iter().map(beside).collect::<Result<Vec<_>>>()?;
        for entry in &entries {
            if let Storage::Outside(file, range) = &storages[entry.storage.0]
                && range.end > outside[*file].1.len()
            {
                let found = format!("{} bytes in {}", outside[*file].1.len(), outside[*file].0.display());
                return Err(input.bad_tensor(&entry.name, format!("data at {range:?}"), found));
            }
        }
        Ok(Checkpoint { path, format, bytes, entries, numbers, storages, archive, outside, convolutions, origin })
    }
}

/// Metadata and bytes of an ordinary file.
fn map(path: &Path) -> Result<(Metadata, Bytes)> {
    // Before it is opened: opening a pipe waits for its writer.
    let metadata = std::fs::metadata(path).map_err(Error::io(path, "open"))?;
    expect_ordinary(path, &metadata, "a checkpoint file")?;
    let file = File::open(path).map_err(Error::io(path, "open"))?;
    let metadata = file.metadata().map_err(Error::io(path, "inspect"))?;
    let bytes = Bytes::map(&file).map_err(Error::io(path, "map into memory"))?;
    Ok((metadata, bytes))
}

fn parse(input: Input<'_>) -> Result<(Format, Contents)> {
    const EXPECTED: &str = "a .safetensors, .npz, PyTorch, ONNX or HDF5 file";
    let bytes = input.bytes;
    if bytes.starts_with(b"PK\x03\x04") || bytes.starts_with(b"PK\x05\x06") {
        let archive = zip::Archive::parse(input)?;
        return match torch::pickle_of(&archive) {
            Some(pickle) => Ok((Format::Torch, torch::parse(input, archive, pickle)?)),
            None => Ok((Format::Npz, npz::parse(input, archive)?)),
        };
    }
    if bytes.starts_with(b"\x93NUMPY") {
        return Err(input.malformed(EXPECTED, "a single .npy array (numpy.savez writes an archive)"));
    }
    if bytes.len() < 8 {
        return Err(input.malformed(EXPECTED, format!("a file of {} bytes", bytes.len())));
    }
    let named_safetensors =
        input.path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("safetensors"));
    if bytes.get(8) == Some(&b'{') || named_safetensors {
        return Ok((Format::Safetensors, safetensors::parse(input)?));
    }
    if bytes[0] == 0x80 && bytes[2..].starts_with(torch::MAGIC) {
        return Ok((Format::LegacyTorch, torch::parse_legacy(input)?));
    }
    if bytes.starts_with(hdf5::MAGIC) {
        return Ok((Format::Hdf5, hdf5::parse(input)?));
    }
    let named_onnx = input.path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("onnx"));
    if named_onnx || onnx::is_model(bytes) {
        return Ok((Format::Onnx, onnx::parse(input)?));
    }
    let found = known_by_name(bytes)
        .map_or_else(|| format!("a file that begins with the bytes {:02x?}", &bytes[..8]), str::to_owned);
    Err(input.malformed(EXPECTED, found))
}

/// Formats that are not read, by their first bytes.
fn known_by_name(bytes: &[u8]) -> Option<&'static str> {
    let at = |place: usize, magic: &[u8]| bytes.get(place..).is_some_and(|rest| rest.starts_with(magic));
    Some(match bytes {
        [0x80, 1..=5, ..] => "a bare pickle (load it in Python and torch.save its tensors)",
        _ if at(0, b"GGUF") => "a GGUF file (convert it to .safetensors)",
        _ if at(4, b"TFL3") => "a TensorFlow Lite file (convert it to .onnx)",
        _ if at(257, b"ustar") => "a tar archive (PyTorch 0.1 or NeMo: unpack it, or save it again with torch.save)",
        _ if at(0, b"\x1f\x8b") => "a gzip file (unpack it first)",
        _ if at(0, b"\x28\xb5\x2f\xfd") => "a Zstandard file (unpack it first)",
        _ if at(0, b"BZh") => "a bzip2 file (unpack it first)",
        _ if at(0, b"PAR1") => "a Parquet file",
        _ if at(0, b"MATLAB") => "a MATLAB file",
        _ if at(0, b"{") || at(0, b"[") => "a JSON or text file",
        _ if at(0, b"version https://git-lfs") => "a Git LFS pointer (git lfs pull fetches the file)",
        _ if at(0, b"<!DOC") || at(0, b"<html") => "a web page, not the file that was to be downloaded",
        _ => return None,
    })
}
