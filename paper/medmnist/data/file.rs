//! Reads a file of MedMNIST and checks it against what its publisher says.

use std::fs::File;
use std::io;
use std::path::Path;

use md5::{Digest, Md5};

use super::{MedSet, Size};
use crate::data::error::{Error, Result};
use crate::medmnist::data::volumes::{VolumeSet, Volumes};
use reynolds_checkpoint::Checkpoint;

const PARTS: [&str; 3] = ["train", "val", "test"];

/// Whether a file must be the publisher's own, to the bit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Checked {
    Yes,
    /// Types, shapes and labels are checked; the MD5 and the number of volumes are not.
    No,
}

pub fn open(folder: impl AsRef<Path>, set: MedSet, size: Size, checked: Checked) -> Result<VolumeSet> {
    let path = folder.as_ref().join(set.file_name(size));
    let counts = match checked {
        Checked::Yes => {
            // A file may hold the publisher's arrays and yet not be the publisher's file.
            let hint = format!(
                ": reynolds data medmnist --set {set} --size {size} --force fetches the published file; one that was saved again is \
                 another, even if its arrays are equal"
            );
            has_md5(&path, set.md5(size), &hint)?;
            Some(set.counts())
        }
        Checked::No => None,
    };
    read(&path, set, size, counts)
}

/// Refuses a file of another MD5.
pub fn verify(path: impl AsRef<Path>, expected: &str) -> Result<()> {
    has_md5(path.as_ref(), expected, "")
}

fn has_md5(path: &Path, expected: &str, hint: &str) -> Result<()> {
    match md5_of_file(path)? {
        found if found == expected => Ok(()),
        found => Err(Error::malformed(path, format!("the MD5 {expected}"), found + hint)),
    }
}

/// In hexadecimal; detects damage, not malice.
pub fn md5_of_file(path: impl AsRef<Path>) -> Result<String> {
    let path = path.as_ref();
    let (mut file, mut hasher) = (File::open(path).map_err(Error::io(path, "open"))?, Md5::new());
    io::copy(&mut file, &mut hasher).map_err(Error::io(path, "read"))?;
    Ok(format!("{:x}", hasher.finalize()))
}

/// `counts`: how many volumes each part must have.
fn read(path: &Path, set: MedSet, size: Size, counts: Option<[usize; 3]>) -> Result<VolumeSet> {
    let checkpoint = Checkpoint::open(path)?;
    let part =
        |n: usize| volumes(&checkpoint, PARTS[n], size.side(), set.classes().len(), counts.map(|counts| counts[n]));
    Ok(VolumeSet {
        name: if size == Size::Small { set.title() } else { format!("{} {size}³", set.title()) },
        classes: set.classes().iter().map(|&class| class.into()).collect(),
        train: part(0)?,
        validation: part(1)?,
        test: part(2)?,
    })
}

fn volumes(checkpoint: &Checkpoint, part: &str, side: usize, classes: usize, count: Option<usize>) -> Result<Volumes> {
    let (images, labels) = (format!("{part}_images"), format!("{part}_labels"));
    let wrong = |tensor: &str, expected: &str, found: &dyn ToString| {
        Error::tensor(checkpoint.path(), tensor, expected, found.to_string())
    };
    let member = |name: &str| checkpoint.entry(name).ok_or_else(|| wrong(name, "an array of this name", &"none"));
    let (image_entry, label_entry) = (member(&images)?, member(&labels)?);
    let expected = count.map_or_else(|| "n".into(), |count| count.to_string());
    let number = match image_entry.shape[..] {
        [number, x, y, z] if number > 0 && [x, y, z] == [side; 3] && count.is_none_or(|count| count == number) => {
            number
        }
        _ => {
            let expected = format!("[{expected}, {side}, {side}, {side}]");
            return Err(wrong(&images, &expected, &format!("{:?}", image_entry.shape)));
        }
    };
    if label_entry.shape != [number, 1] {
        return Err(wrong(&labels, &format!("[{number}, 1]"), &format!("{:?}", label_entry.shape)));
    }
    let bytes = |entry| checkpoint.read_plain(entry, "|u1", 1).map(|bytes| bytes.into_owned());
    let values = bytes(label_entry)?;
    if let Some(label) = values.iter().find(|&&label| usize::from(label) >= classes) {
        return Err(wrong(&labels, &format!("labels below {classes}"), label));
    }
    Ok(Volumes { side, images: bytes(image_entry)?, labels: values })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checksums_are_those_of_rfc_1321() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("text");
        std::fs::write(&path, "abc").unwrap();
        assert_eq!(md5_of_file(&path).unwrap(), "900150983cd24fb0d6963f7d28e17f72");
        assert!(md5_of_file(folder.path().join("none")).is_err());
    }

    #[test]
    fn parts_of_another_size_than_the_publishers_are_refused() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../golden/medmnist/fracturemnist3d.npz");
        let right = read(&path, MedSet::Fracture, Size::Small, Some([4, 2, 3])).unwrap();
        assert_eq!([right.train.count(), right.validation.count(), right.test.count()], [4, 2, 3]);
        let error = read(&path, MedSet::Fracture, Size::Small, Some([4, 2, 4])).unwrap_err().to_string();
        assert!(error.ends_with("\"test_images\": expected [4, 28, 28, 28], found [3, 28, 28, 28]"), "{error}");
    }
}
