//! Laws, strategies and golden tensors for testing reynolds. A dev-dependency only: failures are panics.

pub mod golden;
pub mod projector_laws;
