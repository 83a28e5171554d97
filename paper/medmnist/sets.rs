//! The sets of volumes by name: MedMNIST's and generated shapes.

use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::medmnist::data::{MedSet, Size, shapes};
use crate::targets::Named;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Set {
    Nodule,
    Synapse,
    Organ,
    Vessel,
    Adrenal,
    Fracture,
    #[default]
    Shapes,
}

impl Set {
    /// In the order of the paper.
    pub const OF_PAPER: [Self; 3] = [Self::Nodule, Self::Synapse, Self::Organ];

    pub fn is_of_paper(self) -> bool {
        Self::OF_PAPER.contains(&self)
    }

    /// `None` of generated shapes.
    pub fn file(self) -> Option<MedSet> {
        match self {
            Self::Nodule => Some(MedSet::Nodule),
            Self::Synapse => Some(MedSet::Synapse),
            Self::Organ => Some(MedSet::Organ),
            Self::Vessel => Some(MedSet::Vessel),
            Self::Adrenal => Some(MedSet::Adrenal),
            Self::Fracture => Some(MedSet::Fracture),
            Self::Shapes => None,
        }
    }

    pub(super) fn head(self) -> &'static str {
        self.file().map_or("generated shapes", MedSet::head)
    }

    pub(super) fn class_names(self) -> Vec<String> {
        let names = self.file().map_or(&shapes::CLASSES[..], MedSet::classes);
        names.iter().map(|name| name.to_string()).collect()
    }

    /// The generated set and those whose files lie in a folder, but for Fracture.
    pub(super) fn present(folder: &Path) -> Vec<Self> {
        let there = |file: MedSet| file != MedSet::Fracture && folder.join(file.file_name(Size::Small)).is_file();
        Self::ALL.iter().copied().filter(|set| set.file().is_none_or(there)).collect()
    }
}

impl Named for Set {
    const ALL: &'static [Self] =
        &[Self::Nodule, Self::Synapse, Self::Organ, Self::Vessel, Self::Adrenal, Self::Fracture, Self::Shapes];

    fn name(self) -> String {
        format!("{self:?}").to_lowercase()
    }
}

/// Labels of right and left organs, which differ by a reflection alone.
pub(super) const SIDES: [(&str, [usize; 2]); 3] = [("kidneys", [1, 2]), ("femurs", [3, 4]), ("lungs", [7, 8])];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn present_sets_have_files_or_are_generated() {
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
