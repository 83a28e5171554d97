//! MD5, by which the publisher tells that a file arrived as it was sent.

use std::fmt;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use std::str::FromStr;

use md5::Digest;

use crate::data::error::{Error, Result};

const CHUNK: usize = 1 << 18;

/// The MD5 of some bytes, which tells damage, not malice.
///
/// ```
/// use reynolds_paper::medmnist::data::Md5;
/// assert_eq!(Md5::of(b"").to_string(), "d41d8cd98f00b204e9800998ecf8427e");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Md5([u8; 16]);

impl Md5 {
    pub fn of(bytes: &[u8]) -> Md5 {
        Md5(md5::Md5::digest(bytes).into())
    }

    pub fn of_file(path: impl AsRef<Path>) -> Result<Md5> {
        let path = path.as_ref();
        let io = |action| move |source| Error::Io { file: path.into(), action, source };
        let mut file = File::open(path).map_err(io("open"))?;
        let (mut hasher, mut buffer) = (md5::Md5::new(), vec![0; CHUNK]);
        loop {
            match file.read(&mut buffer) {
                Ok(0) => return Ok(Md5(hasher.finalize().into())),
                Ok(count) => hasher.update(&buffer[..count]),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(io("read")(error)),
            }
        }
    }
}

impl fmt::Display for Md5 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl FromStr for Md5 {
    type Err = Error;

    fn from_str(text: &str) -> Result<Md5> {
        let digits: Option<Vec<u8>> = text.chars().map(|c| c.to_digit(16).map(|digit| digit as u8)).collect();
        match digits.as_deref() {
            Some(digits) if digits.len() == 32 => {
                Ok(Md5(std::array::from_fn(|n| digits[2 * n] << 4 | digits[2 * n + 1])))
            }
            _ => Err(Error::setting("MD5", "32 hexadecimal digits", text)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checksums_are_those_of_rfc_1321_in_memory_and_in_files() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("text");
        for (text, expected) in [
            ("abc", "900150983cd24fb0d6963f7d28e17f72"),
            ("abcdefghijklmnopqrstuvwxyz", "c3fcd3d76192e4007dfb496cca67e13b"),
        ] {
            std::fs::write(&path, text).unwrap();
            assert_eq!(Md5::of(text.as_bytes()).to_string(), expected);
            assert_eq!(Md5::of_file(&path).unwrap(), expected.parse().unwrap());
        }
        let long = vec![7; 3 * CHUNK + 5];
        std::fs::write(&path, &long).unwrap();
        assert_eq!(Md5::of_file(&path).unwrap(), Md5::of(&long));
        assert!(Md5::of_file(folder.path().join("none")).is_err());
    }

    #[test]
    fn texts_that_are_no_checksum_are_refused() {
        for text in ["", "900150983cd24fb0d6963f7d28e17f7", "900150983cd24fb0d6963f7d28e17f72 ", "é"] {
            assert!(text.parse::<Md5>().is_err(), "{text}");
        }
    }
}
