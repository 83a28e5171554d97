//! The sets of volumes that tables are of, by name.

use std::path::Path;

use crate::medmnist::data::MedSet;
use crate::medmnist::data::shapes;

/// Those of the paper, the others of MedMNIST, and generated shapes.
pub(super) const ALL: [&str; 7] = ["nodule", "synapse", "organ", "vessel", "adrenal", "fracture", SHAPES];

/// The set that is generated.
pub(super) const SHAPES: &str = "shapes";

/// Classes of Organ that differ by a reflection alone: right and left, by label.
pub(super) const SIDES: [(&str, [usize; 2]); 3] = [("kidneys", [1, 2]), ("femurs", [3, 4]), ("lungs", [7, 8])];

/// As in tables: generated data are called so.
pub(super) fn head(set: &str) -> String {
    match set {
        SHAPES => "generated shapes".into(),
        other => {
            let (first, rest) = other.split_at(1);
            first.to_uppercase() + rest
        }
    }
}

/// The sets whose files lie in a folder, and the one that needs none: "vessel,adrenal,shapes". Fracture is left to those who ask for it.
pub(super) fn present(folder: &Path) -> String {
    let there = |set: &str| set == SHAPES || folder.join(format!("{set}mnist3d.npz")).is_file();
    let usual = ALL.into_iter().filter(|set| *set != "fracture");
    usual.filter(|set| there(set)).collect::<Vec<_>>().join(",")
}

/// Names of the classes of a set, by label; none if it is unknown.
pub(super) fn class_names(set: &str) -> Vec<String> {
    if set == SHAPES {
        return shapes::CLASSES.iter().map(|name| name.to_string()).collect();
    }
    set.parse::<MedSet>().map_or_else(|_| Vec::new(), |set| set.classes().iter().map(|name| name.to_string()).collect())
}

/// Labels of the shapes that differ by a turn alone.
pub(super) fn rotation_pairs() -> Vec<[usize; 2]> {
    shapes::rotation_pairs().iter().map(|&(first, second)| [first.into(), second.into()]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_are_those_whose_files_are_there_and_the_generated_one() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(present(folder.path()), "shapes");
        for name in ["vesselmnist3d.npz", "organmnist3d.npz", "fracturemnist3d.npz", "nodulemnist3d_64.npz"] {
            std::fs::write(folder.path().join(name), "").unwrap();
        }
        assert_eq!(present(folder.path()), "organ,vessel,shapes");
        assert_eq!(ALL.map(head)[2..].concat(), "OrganVesselAdrenalFracturegenerated shapes");
    }
}
