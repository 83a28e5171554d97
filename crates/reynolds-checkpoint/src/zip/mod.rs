//! Zip archives, as numpy and PyTorch write them: stored or deflated members, zip64, data descriptors.
//!
//! ```text
//! (local header · name · extra · data · [descriptor])* · central directory · [zip64 end · locator] · end record
//! ```
//!
//! Every local header must agree with the central directory, and members must not overlap. Nothing is inflated beyond the size that the
//! directory states.

mod directory;
mod rewrite;

use super::Input;
use crate::error::Result;
use flate2::bufread::DeflateDecoder;
use std::borrow::Cow;
use std::io::Read;
use std::ops::Range;

/// The members of an archive, in the order of the central directory.
#[derive(Debug, Default)]
pub(super) struct Archive {
    pub(super) members: Vec<Member>,
    /// Where the central directory begins.
    directory: usize,
    /// Where the zip64 end record begins, if there is one.
    end64: Option<usize>,
    /// Where the end record begins.
    end: usize,
}

/// One member.
#[derive(Debug)]
pub(super) struct Member {
    pub(super) name: String,
    /// Size of the contents.
    pub(super) size: usize,
    /// Whether the checksum is verified at reading: numpy does, PyTorch does not and may be told not to compute it.
    pub(super) verify: bool,
    crc: u32,
    deflated: bool,
    /// Whether sizes and checksum follow the data.
    has_descriptor: bool,
    /// Where the central record begins.
    record: usize,
    /// Where the local header begins.
    local: usize,
    /// The bytes as they lie in the file.
    data: Range<usize>,
}

impl Member {
    /// The contents: borrowed where stored, inflated where deflated.
    pub(super) fn contents<'a>(&self, input: Input<'a>) -> Result<Cow<'a, [u8]>> {
        let data = &input.bytes[self.data.clone()];
        let contents = match self.deflated {
            false => Cow::Borrowed(data),
            true => {
                // Deflate cannot expand beyond 1032:1, so more room than that is never needed, whatever the directory claims.
                let mut contents = Vec::with_capacity(self.size.min(data.len().saturating_mul(1032)));
                let mut limited = DeflateDecoder::new(data).take(self.size as u64 + 1);
                limited.read_to_end(&mut contents).map_err(|error| self.bad_data(input, &error.to_string()))?;
                if contents.len() != self.size {
                    let found = if contents.len() > self.size { "more" } else { "fewer" };
                    let expected = format!("{} bytes when inflated", self.size);
                    return Err(input.bad_tensor(&self.name, expected, found));
                }
                Cow::Owned(contents)
            }
        };
        let crc = if self.verify { crc32fast::hash(&contents) } else { self.crc };
        match crc == self.crc {
            true => Ok(contents),
            false => Err(input.bad_tensor(&self.name, format!("checksum {:08x}", self.crc), format!("{crc:08x}"))),
        }
    }

    /// At most the first `limit` bytes of the contents, unverified: enough for a header.
    pub(super) fn beginning<'a>(&self, input: Input<'a>, limit: usize) -> Result<Cow<'a, [u8]>> {
        let data = &input.bytes[self.data.clone()];
        let limit = limit.min(self.size);
        if !self.deflated {
            return Ok(Cow::Borrowed(&data[..limit]));
        }
        let mut contents = Vec::new();
        let mut limited = DeflateDecoder::new(data).take(limit as u64);
        limited.read_to_end(&mut contents).map_err(|error| self.bad_data(input, &error.to_string()))?;
        Ok(Cow::Owned(contents))
    }

    /// Where in the file the data lie.
    pub(super) fn data(&self) -> Range<usize> {
        self.data.clone()
    }

    fn bad_data(&self, input: Input<'_>, found: &str) -> crate::Error {
        input.bad_tensor(&self.name, "deflated data", found)
    }
}

/// A little-endian number of `N` bytes at `at`, if it is there.
fn number<const N: usize>(bytes: &[u8], at: usize) -> Option<u64> {
    let field = bytes.get(at..at.checked_add(N)?)?;
    Some(field.iter().rev().fold(0, |number, &byte| number << 8 | u64::from(byte)))
}
