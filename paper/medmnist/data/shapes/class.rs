//! Eight classes: two poses of each of four solids.

use super::matrix::{IDENTITY, Matrix};
use super::solid::SolidKind;

#[rustfmt::skip]
pub const CLASSES: [&str; 8] = [
    "flag upright", "flag lying", "teapot upright", "teapot tipped", "screw left", "screw right", "helix left", "helix right",
];

/// Pairs of labels that differ by a quarter turn and by no reflection.
pub const ROTATION_PAIRS: [[usize; 2]; 2] = [[0, 1], [2, 3]];

/// Pairs of labels that differ by a reflection and by no rotation.
pub const REFLECTION_PAIRS: [[usize; 2]; 2] = [[4, 5], [6, 7]];

/// The solid of a label, and its pose.
pub(super) fn pose(label: usize) -> (SolidKind, Matrix) {
    // A quarter turn about x takes z to −y; one about y takes z to x; the mirror is the plane x = 0.
    let lying = [[1.0, 0.0, 0.0], [0.0, 0.0, -1.0], [0.0, 1.0, 0.0]];
    let tipped = [[0.0, 0.0, 1.0], [0.0, 1.0, 0.0], [-1.0, 0.0, 0.0]];
    let mirror = [[-1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]];
    match label {
        0 => (SolidKind::Flag, IDENTITY),
        1 => (SolidKind::Flag, lying),
        2 => (SolidKind::Teapot, IDENTITY),
        3 => (SolidKind::Teapot, tipped),
        4 => (SolidKind::Screw, mirror),
        5 => (SolidKind::Screw, IDENTITY),
        6 => (SolidKind::Helix, mirror),
        _ => (SolidKind::Helix, IDENTITY),
    }
}
