//! Kernel spaces, fields and groups for tests, from text.

use std::sync::Arc;

use faer::Mat;
use reynolds::group::{self, GroupRef, MatrixGroup};
use reynolds::projection::{Basis, KernelSpace};
use reynolds::rep::{self, Grid, Rep};
use reynolds::steerable::RingsConfig;

/// Group, fields of the domain, fields of the codomain, side of the grid (0: dense maps) and its dimensions.
pub type Layer = (&'static str, &'static str, &'static str, usize, usize);

/// The fields of the named group.
pub fn fields(group: &str, text: &str) -> Rep {
    let read = group::parse(group).and_then(|group| rep::parse_fields(&group, text));
    read.unwrap_or_else(|error| panic!("{text} of {group}: {error}"))
}

/// The kernels between two fields; dense maps where `side` is 0.
pub fn space(group: &str, domain: &str, codomain: &str, side: usize, dims: usize) -> KernelSpace {
    let (domain, codomain) = (fields(group, domain), fields(group, codomain));
    let space = match side {
        0 => KernelSpace::dense(&domain, &codomain),
        _ => Grid::new(domain.group(), side, dims).and_then(|grid| KernelSpace::kernel(&domain, &codomain, &grid)),
    };
    space.unwrap_or_else(|error| panic!("{group}: {error}"))
}

/// The kernels of a layer.
pub fn kernels((group, domain, codomain, side, dims): Layer) -> KernelSpace {
    space(group, domain, codomain, side, dims)
}

/// The band-limited kernels of a layer, with the usual rings.
pub fn band((group, domain, codomain, side, dims): Layer) -> Basis {
    let (domain, codomain) = (fields(group, domain), fields(group, codomain));
    let basis = Basis::derive(&domain, &codomain, side, dims, &RingsConfig::default());
    basis.unwrap_or_else(|error| panic!("{group}: {error}"))
}

/// Small groups of every kind.
pub const FINITE: [&str; 23] = [
    "C1", "C2", "C3", "C4", "C6", "C8", "D1", "D2", "D3", "D4", "D5", "Z1", "Z6", "S1", "S2", "S3", "S4", "T", "Td",
    "Th", "O", "Oh", "I",
];

/// The quaternion group Q₈ as permutations of its elements.
pub const QUATERNION: &str = "<(0 1 2 3)(4 5 6 7), (0 4 2 6)(1 7 3 5)>";

/// The quaternion group Q₈ by left multiplication with i and j on ℝ⁴.
pub fn quaternion_group() -> GroupRef {
    let i = [[0, -1, 0, 0], [1, 0, 0, 0], [0, 0, 0, -1], [0, 0, 1, 0]];
    let j = [[0, 0, -1, 0], [0, 0, 0, 1], [1, 0, 0, 0], [0, -1, 0, 0]];
    let generators = [i, j].map(|rows: [[i32; 4]; 4]| Mat::from_fn(4, 4, |a, b| f64::from(rows[a][b])));
    Arc::new(MatrixGroup::new(&generators).expect("the quaternion units close"))
}
