//! Opening a checkpoint: which format it is, by its first bytes.

use super::map::Bytes;
use super::whole_file::{Identity, Origin, expect_ordinary};
use super::{Checkpoint, Contents, Format, Input, npz, safetensors, torch, zip};
use crate::error::{Error, Result};
use std::collections::HashMap;
use std::fs::File;
use std::path::{Path, PathBuf};

impl Checkpoint {
    /// Opens a checkpoint: maps the file, reads its headers and checks them.
    ///
    /// # Errors
    /// When the file cannot be opened or mapped, is none of the formats, is damaged, or is a PyTorch file whose pickle asks for
    /// anything but tensors in plain containers.
    pub fn open(path: impl AsRef<Path>) -> Result<Checkpoint> {
        let path = path.as_ref();
        // Before it is opened: opening a pipe waits for its writer.
        let metadata = std::fs::metadata(path).map_err(Error::io(path, "open"))?;
        expect_ordinary(path, &metadata, "a checkpoint file")?;
        let file = File::open(path).map_err(Error::io(path, "open"))?;
        let metadata = file.metadata().map_err(Error::io(path, "inspect"))?;
        let bytes = Bytes::map(&file).map_err(Error::io(path, "map into memory"))?;
        let permissions = metadata.permissions();
        let origin = Identity::of(path, &metadata).map(|identity| Origin { identity, permissions });
        Checkpoint::build(path.into(), bytes, origin)
    }

    /// A checkpoint from bytes in memory; `label` stands for the path in messages and gives the extension.
    pub fn from_bytes(label: impl Into<PathBuf>, bytes: Vec<u8>) -> Result<Checkpoint> {
        Checkpoint::build(label.into(), Bytes::Owned(bytes), None)
    }

    fn build(path: PathBuf, bytes: Bytes, origin: Option<Origin>) -> Result<Checkpoint> {
        let input = Input { path: &path, bytes: &bytes };
        let (format, contents) = parse(input)?;
        let mut numbers = HashMap::with_capacity(contents.entries.len());
        for (number, entry) in contents.entries.iter().enumerate() {
            if numbers.insert(entry.name.clone(), number).is_some() {
                return Err(input.duplicate(&entry.name));
            }
        }
        let Contents { entries, storages, archive } = contents;
        Ok(Checkpoint { path, format, bytes, entries, numbers, storages, archive, origin })
    }
}

fn parse(input: Input<'_>) -> Result<(Format, Contents)> {
    const EXPECTED: &str = "a .safetensors, .npz or PyTorch zip file";
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
    if bytes[0] == 0x80 && (1..=5).contains(&bytes[1]) {
        let found = "a legacy PyTorch file or a bare pickle (load it in PyTorch 1.6 or later and torch.save it again)";
        return Err(input.malformed(EXPECTED, found));
    }
    Err(input.malformed(EXPECTED, format!("a file that begins with the bytes {:02x?}", &bytes[..8])))
}
