//! Laws, strategies and golden tensors for testing reynolds. A dev-dependency only: failures are panics.

pub mod golden;
pub mod laws;
pub mod projector_laws;
pub mod representation_laws;
