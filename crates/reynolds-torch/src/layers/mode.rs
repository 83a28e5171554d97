//! Whether a forward pass trains.

/// Whether a forward pass trains.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// Statistics of the minibatch, which the running ones follow.
    Train,
    /// Running statistics.
    Evaluate,
}
