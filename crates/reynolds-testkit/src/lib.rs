//! Laws, strategies and golden tensors for testing reynolds. A dev-dependency only: failures are panics.

pub mod files;
pub mod golden;
pub mod laws;
pub mod projector_laws;
pub mod representation_laws;

use reynolds::projection::KernelSpace;
use reynolds::rep::{Grid, parse_fields};

/// The kernel space between two fields; dense where `side` is 0.
pub fn space(group: &str, domain: &str, codomain: &str, side: usize, dims: usize) -> KernelSpace {
    let group = reynolds::group::parse(group).expect("a group");
    let [domain, codomain] = [domain, codomain].map(|text| parse_fields(&group, text).expect("fields"));
    let space = match side {
        0 => KernelSpace::dense(&domain, &codomain),
        _ => KernelSpace::kernel(&domain, &codomain, &Grid::new(&group, side, dims).expect("a grid")),
    };
    space.expect("fields of one group")
}

/// Names and shapes as a plan takes them.
pub fn tensors<const N: usize>(tensors: [(&str, &[usize]); N]) -> Vec<(String, Vec<usize>)> {
    tensors.map(|(name, shape)| (name.to_string(), shape.to_vec())).to_vec()
}
