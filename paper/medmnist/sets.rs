//! The sets of volumes by name: MedMNIST's and generated shapes.

use std::path::Path;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error};

use crate::medmnist::data::{MedSet, Size, shapes};
use crate::targets::Named;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Set {
    #[default]
    Shapes,
    File(MedSet),
}

impl Set {
    pub const NODULE: Self = Self::File(MedSet::Nodule);
    pub const SYNAPSE: Self = Self::File(MedSet::Synapse);
    pub const ORGAN: Self = Self::File(MedSet::Organ);

    pub const OF_PAPER: [Self; 3] = [Self::NODULE, Self::SYNAPSE, Self::ORGAN];

    pub fn is_of_paper(self) -> bool {
        Self::OF_PAPER.contains(&self)
    }

    pub(super) fn head(self) -> String {
        match self {
            Self::Shapes => "generated shapes".into(),
            Self::File(set) => set.head().into(),
        }
    }

    pub(super) fn class_names(self) -> Vec<String> {
        let names = match self {
            Self::Shapes => &shapes::CLASSES[..],
            Self::File(set) => set.classes(),
        };
        names.iter().map(|name| name.to_string()).collect()
    }

    /// The generated set and those whose files lie in a folder, but for Fracture.
    pub(super) fn present(folder: &Path) -> Vec<Self> {
        let there = |set: &Self| match set {
            Self::Shapes => true,
            Self::File(MedSet::Fracture) => false,
            Self::File(set) => folder.join(set.file_name(Size::Small)).is_file(),
        };
        Self::ALL.iter().copied().filter(there).collect()
    }
}

impl Named for Set {
    const ALL: &'static [Self] = &[
        Self::NODULE,
        Self::SYNAPSE,
        Self::ORGAN,
        Self::File(MedSet::Vessel),
        Self::File(MedSet::Adrenal),
        Self::File(MedSet::Fracture),
        Self::Shapes,
    ];

    fn name(self) -> String {
        match self {
            Self::Shapes => "shapes".into(),
            Self::File(set) => set.to_string(),
        }
    }
}

impl Serialize for Set {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.name())
    }
}

impl<'de> Deserialize<'de> for Set {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::ALL.iter().copied().find(|set| set.name() == text).ok_or_else(|| {
            let names: Vec<String> = Self::ALL.iter().map(|set| format!("\"{}\"", set.name())).collect();
            D::Error::custom(format!("expected {}", names.join(" or ")))
        })
    }
}

/// Labels of right and left organs, which differ by a reflection alone.
pub(super) const SIDES: [(&str, [usize; 2]); 3] = [("kidneys", [1, 2]), ("femurs", [3, 4]), ("lungs", [7, 8])];

/// Labels of shapes that differ by a turn alone.
pub(super) fn rotation_pairs() -> Vec<[usize; 2]> {
    shapes::rotation_pairs().iter().map(|&(first, second)| [first.into(), second.into()]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_are_those_whose_files_are_there_and_the_generated_one() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(Set::present(folder.path()), [Set::Shapes]);
        for name in ["vesselmnist3d.npz", "organmnist3d.npz", "fracturemnist3d.npz", "nodulemnist3d_64.npz"] {
            std::fs::write(folder.path().join(name), "").unwrap();
        }
        let names: Vec<String> = Set::present(folder.path()).into_iter().map(Set::name).collect();
        assert_eq!(names, ["organ", "vessel", "shapes"]);
        let heads: String = Set::ALL[2..].iter().map(|set| set.head()).collect();
        assert_eq!(heads, "OrganVesselAdrenalFracturegenerated shapes");
    }
}
