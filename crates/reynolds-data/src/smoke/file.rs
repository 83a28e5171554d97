//! One simulation in one .npz: `velocity` f32 [frames, 2, 64, 64], and `setting`, the bytes of its settings in JSON.
//!
//! Members are stored, and begin where a memory map can hand them out as f32 without a copy. NumPy reads them:
//!
//! ```text
//! archive = numpy.load("rotation_k05_j0.npz");  archive["velocity"];  json.loads(archive["setting"].tobytes())
//! ```

use std::borrow::Cow;
use std::path::{Path, PathBuf};

use super::frame::FRAME;
use super::setting::{SIDE, Setting};
use crate::checkpoint::{Checkpoint, Entry, Values, write_parts};
use crate::error::{Error, Result};

/// Data of a member begin at a multiple of this.
const ALIGNMENT: usize = 64;

/// Bytes of a local header before its name.
const LOCAL: usize = 30;

/// Where a simulation's file lies.
pub(super) fn path(folder: &Path, setting: &Setting) -> PathBuf {
    folder.join(format!("{}.npz", setting.name))
}

/// The settings as they are stored.
fn json(setting: &Setting) -> String {
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

/// A simulation whose file was opened and whose settings were found to be the expected ones.
#[derive(Debug)]
pub struct SmokeFile {
    checkpoint: Checkpoint,
    velocity: Entry,
}

impl SmokeFile {
    /// Opens the file of a simulation in `folder` and checks everything but the velocities themselves.
    ///
    /// # Errors
    /// When it is missing or damaged, or was made with other settings: which file, what was expected and what was found.
    pub fn open(folder: impl AsRef<Path>, setting: &Setting) -> Result<SmokeFile> {
        let path = path(folder.as_ref(), setting);
        let checkpoint = Checkpoint::open(&path)?;
        let wrong = |tensor: &str, expected: String, found: String| Error::Tensor {
            file: path.clone(),
            tensor: tensor.into(),
            expected,
            found,
        };
        let member = |name: &str| {
            let missing = || wrong(name, "an array of this name".into(), "none".into());
            checkpoint.entry(name).cloned().ok_or_else(missing)
        };
        let (velocity, text) = (member("velocity")?, member("setting")?);
        let (found, expected) = (checkpoint.read_bytes(&text)?, json(setting));
        if let Some((expected, found)) = difference(&expected, &found) {
            return Err(wrong("setting", expected, found));
        }
        let shape = [setting.frames(), 2, SIDE, SIDE];
        if velocity.shape != shape || velocity.dtype.to_string() != "f32" {
            let found = format!("{} {:?}", velocity.dtype, velocity.shape);
            return Err(wrong("velocity", format!("f32 {shape:?}"), found));
        }
        Ok(SmokeFile { checkpoint, velocity })
    }

    /// All frames, [frames, 2, 64, 64], borrowed from the memory map after verifying their checksum.
    ///
    /// # Errors
    /// When the file is damaged.
    pub fn frames(&self) -> Result<Cow<'_, [f32]>> {
        match self.checkpoint.read(&self.velocity)? {
            Values::F32(frames) => Ok(frames),
            Values::F64(_) => unreachable!("the type was checked at opening"),
        }
    }

    /// Says that the frames are not needed for now: their pages of the map can go.
    pub fn release(&self) {
        self.checkpoint.release(&self.velocity);
    }
}

/// Writes a simulation, whole or not at all.
pub(super) fn write(folder: &Path, setting: &Setting, frames: &[f32]) -> Result<()> {
    debug_assert_eq!(frames.len(), setting.frames() * FRAME);
    let text = json(setting);
    let shape = format!("({}, 2, {SIDE}, {SIDE})", setting.frames());
    let values: Cow<'_, [u8]> = match cfg!(target_endian = "little") {
        true => Cow::Borrowed(bytemuck::cast_slice(frames)),
        false => frames.iter().flat_map(|v| v.to_le_bytes()).collect(),
    };
    let mut archive = Archive::default();
    let first = archive.member("setting.npy", &npy("|u1", &format!("({},)", text.len())), text.as_bytes());
    let second = archive.member("velocity.npy", &npy("<f4", &shape), &values);
    let end = archive.end();
    write_parts(&path(folder, setting), &[&first, text.as_bytes(), &second, &values, &end])
}

/// The header of a .npy array, a multiple of 64 bytes.
fn npy(descr: &str, shape: &str) -> Vec<u8> {
    let text = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}");
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
        let size = u32::try_from(header.len() + data.len()).expect("a simulation is far smaller than 4 GiB");
        // An extra field of id and length, and zeros, moves the contents to the next multiple of the alignment.
        let start = (self.written + LOCAL + name.len() + 4).next_multiple_of(ALIGNMENT);
        let padding = (start - self.written - LOCAL - name.len()) as u16;
        // Version 2.0 · no flags · stored · 1980-01-01 00:00, so that equal frames are equal files · checksum · sizes · length of the name.
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
