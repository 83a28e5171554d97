//! Model checkpoints: .safetensors, .npz, PyTorch .pt/.pth (zip and legacy), ONNX and HDF5, read and rewritten without running any code they carry.
//!
//! ```text
//! name ↦ (shape, type, storage, place in it)      read: storage ─▶ row-major values      write: values ─▶ storage, all else kept
//! ```
//!
//! The format is told by content, not by extension. Files are memory-mapped, so that opening reads only headers, and reading a
//! contiguous little-endian f32 or f64 tensor copies nothing. Everything a header claims is checked against the file before
//! anything is allocated by it.
//!
//! **Names** are the file's own. PyTorch files may nest dictionaries, lists and tuples, as in `{"state_dict": …, "epoch": 3}`: tensors
//! are reported under their keys and indices joined with ".", with nothing stripped: `state_dict.conv1.weight`. Numbers, texts and
//! the `_metadata` of modules are kept and not reported; so are objects of other classes. A whole module gives the names of its state_dict.
//!
//! ```
//! use reynolds_checkpoint::{Checkpoint, Format, Values};
//! let header = br#"{"w":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}"#;
//! let mut file = (header.len() as u64).to_le_bytes().to_vec();
//! file.extend_from_slice(header);
//! file.extend([1.0_f32, 2.0].iter().flat_map(|x| x.to_le_bytes()));
//!
//! let checkpoint = Checkpoint::from_bytes("model.safetensors", file)?;
//! assert_eq!(checkpoint.format(), Format::Safetensors);
//! let w = &checkpoint.entries()[0];
//! assert_eq!((w.name.as_str(), w.shape.as_slice()), ("w", &[2][..]));
//! assert_eq!(checkpoint.read(w)?, Values::F32(vec![1.0, 2.0].into()));
//! # Ok::<(), reynolds_checkpoint::Error>(())
//! ```

mod convert;
mod entry;
pub mod error;
mod hdf5;
mod map;
mod npy;
mod npz;
mod onnx;
mod open;
mod pickle;
mod read;
mod safetensors;
mod torch;
mod values;
pub mod whole_file;
mod write;
mod write_npz;
mod zip;

pub use entry::{Dtype, Entry, StorageId};
pub use error::{Error, Result};
pub use reynolds::Values;
pub use write_npz::{Numbers, write_npz};

pub use map::say_when_shortened;

use map::Bytes;
use reynolds::plan::Convolution;
use std::collections::HashMap;
use std::fmt;
use std::ops::Range;
use std::path::{Path, PathBuf};

/// File format of a checkpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Format {
    /// A JSON header and one buffer.
    Safetensors,
    /// A zip archive of .npy arrays, as `numpy.savez` and `numpy.savez_compressed` write.
    Npz,
    /// A zip archive of a pickle and its storages, as `torch.save` writes since PyTorch 1.6.
    Torch,
    /// A pickle and its storages one after the other, as `torch.save` wrote before PyTorch 1.6.
    LegacyTorch,
    /// A graph of operations and its weights, in the wire format of protocol buffers.
    Onnx,
    /// Data sets in groups, as Keras writes weights.
    Hdf5,
}

impl Format {
    const ALL: [Format; 6] =
        [Format::Safetensors, Format::Npz, Format::Torch, Format::LegacyTorch, Format::Onnx, Format::Hdf5];

    fn extensions(self) -> &'static [&'static str] {
        match self {
            Format::Safetensors => &["safetensors"],
            Format::Npz => &["npz"],
            Format::Torch | Format::LegacyTorch => &["pt", "pth", "bin", "ckpt"],
            Format::Onnx => &["onnx"],
            Format::Hdf5 => &["h5", "hdf5"],
        }
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Format::Safetensors => "safetensors",
            Format::Npz => "npz",
            Format::Torch => "PyTorch",
            Format::LegacyTorch => "legacy PyTorch",
            Format::Onnx => "ONNX",
            Format::Hdf5 => "HDF5",
        })
    }
}

/// Where the bytes of a storage come from.
#[derive(Debug, Clone)]
enum Storage {
    /// These bytes of the file.
    Plain(Range<usize>),
    /// A member of the zip archive, by its number.
    Member(usize),
    /// These bytes of a file beside the model, by its number.
    Outside(usize, Range<usize>),
    /// Unpacked at opening.
    Held(Vec<u8>),
}

/// An open checkpoint. See the [module](self) for an example.
#[derive(Debug)]
pub struct Checkpoint {
    path: PathBuf,
    format: Format,
    bytes: Bytes,
    /// In the order of the file.
    entries: Vec<Entry>,
    /// Place in `entries` by name.
    numbers: HashMap<String, usize>,
    /// By [`StorageId`].
    storages: Vec<Storage>,
    /// The archive of the zip formats; empty for the other.
    archive: zip::Archive,
    /// The files beside it that hold tensors.
    outside: Vec<(PathBuf, Bytes)>,
    convolutions: HashMap<String, Convolution>,
    /// The file it came from, if any.
    origin: Option<whole_file::Origin>,
}

impl Checkpoint {
    /// The path it was opened by.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The format, by content.
    pub fn format(&self) -> Format {
        self.format
    }

    /// All tensors, in the order of the file.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// The tensor of that name.
    pub fn entry(&self, name: &str) -> Option<&Entry> {
        self.numbers.get(name).map(|&number| &self.entries[number])
    }

    /// Convolutions by the names of their weights, where the format has operations (ONNX).
    pub fn convolutions(&self) -> &HashMap<String, Convolution> {
        &self.convolutions
    }
}

/// A file under inspection: its path, for messages, and its bytes.
#[derive(Clone, Copy)]
struct Input<'a> {
    path: &'a Path,
    bytes: &'a [u8],
}

/// What a parser finds in a file.
#[derive(Default)]
struct Contents {
    entries: Vec<Entry>,
    storages: Vec<Storage>,
    archive: zip::Archive,
    /// Names of files beside the model.
    outside: Vec<String>,
    convolutions: HashMap<String, Convolution>,
}

impl Input<'_> {
    /// The file does not follow its format.
    fn malformed(&self, expected: impl Into<String>, found: impl Into<String>) -> Error {
        Error::malformed(self.path, expected, found)
    }

    /// A name that comes twice.
    fn duplicate(&self, name: &str) -> Error {
        self.malformed("every name once", format!("\"{name}\" twice"))
    }

    /// Tensors or members that share bytes.
    fn overlap(&self, first: &str, second: &str) -> Error {
        self.malformed("disjoint tensors", format!("\"{first}\" and \"{second}\" overlapping"))
    }

    /// A tensor or member does not follow its format.
    fn bad_tensor(&self, tensor: &str, expected: impl Into<String>, found: impl Into<String>) -> Error {
        Error::Tensor { file: self.path.into(), tensor: tensor.into(), expected: expected.into(), found: found.into() }
    }

    /// Number of elements of a shape.
    fn elements(&self, tensor: &str, shape: &[usize]) -> Result<usize> {
        // The others must not overflow even if one is zero: the check of strides multiplies some of them.
        let product =
            shape.iter().filter(|&&size| size > 0).try_fold(1_usize, |product, &size| product.checked_mul(size));
        match product {
            Some(_) if shape.contains(&0) => Ok(0),
            Some(product) if product <= isize::MAX as usize / 16 => Ok(product),
            _ => Err(self.bad_tensor(tensor, "a shape that fits in memory", format!("{shape:?}"))),
        }
    }
}
