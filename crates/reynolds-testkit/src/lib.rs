//! Laws, strategies, golden tensors and checkpoint files for testing reynolds. A dev-dependency only: failures are panics.

pub mod files;
pub mod golden;
pub mod laws;
pub mod projector_laws;
pub mod ranking;
pub mod representation_laws;
pub mod spaces;

pub use spaces::space;

/// Names and shapes as a plan takes them.
pub fn tensors<const N: usize>(tensors: [(&str, &[usize]); N]) -> Vec<(String, Vec<usize>)> {
    tensors.map(|(name, shape)| (name.to_string(), shape.to_vec())).to_vec()
}
