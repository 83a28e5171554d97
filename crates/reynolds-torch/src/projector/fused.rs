//! The slope of the squared penalty on a GPU and its value, by one kernel of our own: a thread an orbit, nothing kept in between.
//!
//! ```text
//! sum ← sum + a P(w) + b (w − P(w))     (a ‖P(w)‖² + b ‖w − P(w)‖²) / 2
//!
//! floor:  w read, sum read and written: 12 bytes a weight in single precision; with an index of each, 16.  Operations of libtorch: 50
//! ```
//!
//! On an H200 10⁷ weights take 51 µs, where operations of libtorch take 178 and what torch.compile makes of them 89. Parameters that are not
//! bound may lie in between. Where P does more than average orbits of a few numbers, or there is no compiler, there is none.

mod program;
mod table;

use std::sync::Arc;

use program::Program;
use table::Table;
use tch::{Device, Kind, Tensor};

use super::FlatProjector;
use crate::error::Result;

/// The kernel and the orbits that it runs over.
#[derive(Debug)]
pub(crate) struct Fused {
    program: Arc<Program>,
    table: Table,
}

impl Fused {
    /// For P on numbers of `kind` on `device` that lie in flat tensors `[len]` where `in_flat` says, if there is a way.
    pub(crate) fn new(
        projector: &FlatProjector,
        (kind, device): (Kind, Device),
        len: usize,
        in_flat: impl Fn(&Tensor) -> Result<Tensor>,
    ) -> Result<Option<Self>> {
        let Some(program) = Program::on(device, kind) else { return Ok(None) };
        Ok(Table::new(projector, len, in_flat)?.map(|table| Self { program, table }))
    }

    /// `sum ← sum + a P(W) + b (W − P(W))` of flat tensors; whether it was done: not if one is no plain vector.
    pub(crate) fn add_to(&self, sum: &Tensor, weights: &Tensor, slopes: [f64; 2]) -> Result<bool> {
        self.program.launch(&self.table, weights, Some(sum), None, slopes)
    }

    /// The same if there is a `sum`, and (a ‖P(W)‖² + b ‖W − P(W)‖²) / 2, a number on the device; `None` where nothing is done.
    pub(crate) fn measured(&self, sum: Option<&Tensor>, weights: &Tensor, slopes: [f64; 2]) -> Result<Option<Tensor>> {
        let value = Tensor::f_empty([0_i64; 0], (weights.kind(), weights.device()))?;
        let done = self.program.launch(&self.table, weights, sum, Some(&value), slopes)?;
        Ok(done.then_some(value))
    }
}

#[cfg(test)]
mod tests;
