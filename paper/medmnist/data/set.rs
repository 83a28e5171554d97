//! The six sets: classes, numbers of volumes, and the MD5 of each file.

use std::fmt;
use std::str::FromStr;

use crate::data::error::{Error, Result};

/// Where the publisher keeps the files: `PUBLISHER/organmnist3d.npz` and the like.
pub const PUBLISHER: &str = "https://zenodo.org/records/10519652/files";

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum MedSet {
    Organ,
    Nodule,
    Adrenal,
    Fracture,
    Vessel,
    Synapse,
}

/// Voxels along an edge: 28 or 64.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Size {
    #[default]
    Small,
    Large,
}

struct Facts {
    name: &'static str,
    /// Volumes of train, val and test.
    counts: [usize; 3],
    /// At 28 and at 64.
    md5: [&'static str; 2],
    classes: &'static [&'static str],
}

/// In the order of [`MedSet::ALL`].
const FACTS: [Facts; 6] = [
    Facts {
        name: "Organ",
        counts: [971, 161, 610],
        md5: ["a0c5a1ff56af4f155c46d46fbb45a2fe", "58a2205adf14a9d0a189cb06dc78bf10"],
        #[rustfmt::skip]
        classes: &[
            "liver", "kidney-right", "kidney-left", "femur-right", "femur-left", "bladder", "heart", "lung-right", "lung-left",
            "spleen", "pancreas",
        ],
    },
    Facts {
        name: "Nodule",
        counts: [1158, 165, 310],
        md5: ["8755a7e9e05a4d9ce80a24c3e7a256f3", "c47c5b7d457bf6332200d2ea6d64ecd8"],
        classes: &["benign", "malignant"],
    },
    Facts {
        name: "Adrenal",
        counts: [1188, 98, 298],
        md5: ["bbd3c5a5576322bc4cdfea780653b1ce", "17721accfe9fb005146a47d33bc54b2f"],
        classes: &["normal", "hyperplasia"],
    },
    Facts {
        name: "Fracture",
        counts: [1027, 103, 240],
        md5: ["6aa7b0143a6b42da40027a9dda61302f", "f01d7e6316aedf4210da0da5b7437b42"],
        classes: &["buckle rib fracture", "nondisplaced rib fracture", "displaced rib fracture"],
    },
    Facts {
        name: "Vessel",
        counts: [1335, 191, 382],
        md5: ["b41fd4f7e7e2feedddb201585ecafa1b", "6bb274a8846e1097066dcd64e2c4520f"],
        classes: &["vessel", "aneurysm"],
    },
    Facts {
        name: "Synapse",
        counts: [1230, 177, 352],
        md5: ["1235b78a3cd6280881dd7850a78eadb6", "43bd14ebf3af9d3dd072446fedc14d5e"],
        classes: &["inhibitory synapse", "excitatory synapse"],
    },
];

impl MedSet {
    /// In the publisher's order.
    pub const ALL: [Self; 6] = [Self::Organ, Self::Nodule, Self::Adrenal, Self::Fracture, Self::Vessel, Self::Synapse];

    fn facts(self) -> &'static Facts {
        &FACTS[self as usize]
    }

    pub fn head(self) -> &'static str {
        self.facts().name
    }

    pub fn title(self) -> String {
        format!("{}MNIST3D", self.head())
    }

    pub fn classes(self) -> &'static [&'static str] {
        self.facts().classes
    }

    /// Volumes of train, validation and test.
    pub fn counts(self) -> [usize; 3] {
        self.facts().counts
    }

    pub fn md5(self, size: Size) -> &'static str {
        self.facts().md5[size as usize]
    }

    pub fn file_name(self, size: Size) -> String {
        match size {
            Size::Small => format!("{self}mnist3d.npz"),
            Size::Large => format!("{self}mnist3d_64.npz"),
        }
    }
}

impl fmt::Display for MedSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.head().to_lowercase())
    }
}

impl FromStr for MedSet {
    type Err = Error;

    /// Reads `organ`, `organmnist3d` or `OrganMNIST3D`.
    fn from_str(text: &str) -> Result<Self> {
        let lower = text.to_lowercase();
        let short = lower.strip_suffix("mnist3d").unwrap_or(&lower);
        let found = MedSet::ALL.into_iter().find(|set| set.to_string() == short);
        let expected = "organ, nodule, adrenal, fracture, vessel or synapse";
        found.ok_or_else(|| Error::setting("set", expected, text))
    }
}

impl Size {
    pub const ALL: [Self; 2] = [Self::Small, Self::Large];

    pub fn side(self) -> usize {
        [28, 64][self as usize]
    }
}

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.side())
    }
}

impl FromStr for Size {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let found = Size::ALL.into_iter().find(|size| size.to_string() == text);
        found.ok_or_else(|| Error::setting("size", "28 or 64", text))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn names_are_read_as_they_are_printed_and_as_the_publisher_writes_them() {
        for set in MedSet::ALL {
            for text in [set.to_string(), set.title().to_string(), format!("{set}mnist3d")] {
                assert_eq!(text.parse::<MedSet>().unwrap(), set);
            }
            assert_eq!(set.title().to_lowercase() + ".npz", set.file_name(Size::Small));
        }
        assert_eq!(["28", "64"].map(|side| side.parse::<Size>().unwrap()), Size::ALL);
        let message = "set: expected organ, nodule, adrenal, fracture, vessel or synapse, found brain";
        assert_eq!("brain".parse::<MedSet>().unwrap_err().to_string(), message);
        assert!("mnist3d".parse::<MedSet>().is_err() && "028".parse::<Size>().is_err());
    }

    #[test]
    fn every_file_has_its_own_checksum_and_every_class_its_own_name() {
        let sums: HashSet<&str> = MedSet::ALL.iter().flat_map(|set| Size::ALL.map(|size| set.md5(size))).collect();
        assert_eq!(sums.len(), 12);
        for set in MedSet::ALL {
            assert_eq!(set.classes().iter().collect::<HashSet<_>>().len(), set.classes().len());
        }
        // Both glands of 792 patients.
        assert_eq!(MedSet::Adrenal.counts().iter().sum::<usize>(), 2 * 792);
    }
}
