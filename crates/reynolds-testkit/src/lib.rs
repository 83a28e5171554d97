//! What the tests of reynolds share: golden tensors from other programs. A dev-dependency only.

pub mod golden;
