//! Mode and precision of a forward pass.

use crate::precision::Precision;

/// Training or evaluation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// Statistics of the minibatch, which the running ones follow.
    Train,
    /// Running statistics.
    Evaluate,
}

/// Mode and precision of a forward pass.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pass {
    /// Training or evaluation.
    pub mode: Mode,
    /// The number type of the convolutions. What is small and accumulates stays in that of the parameters.
    pub precision: Precision,
}
