//! The slope of the squared penalty on a GPU and its value, by one kernel of our own: a thread an orbit, nothing kept in between.
//!
//! ```text
//! sum ← sum + a P(w) + b (w − P(w))     (a ‖P(w)‖² + b ‖w − P(w)‖²) / 2
//!
//! floor:  w read, sum read and written: 12 bytes a weight in single precision; with an index of each, 16.  Operations of libtorch: 50
//! ```
//!
//! On an H200 10⁷ weights take 51 µs, where operations of libtorch take 178 and what torch.compile makes of them 97. Parameters that are not
//! bound may lie in between. Where P does more than average orbits of a few numbers, or there is no compiler, there is none. A launch for each
//! size of orbits: of regular fields there is one.

#![allow(unsafe_code, reason = "tch gives the address of a tensor's numbers on a device, and a kernel takes it")]

mod program;
mod table;

use std::sync::Arc;

use program::{Orbits, Program, Total};
use table::Table;
use tch::{Device, Kind, Tensor};

use super::FlatProjector;
use super::slices::plain;
use crate::error::Result;

/// The orbits of all layers, and the kernel for each size of them.
#[derive(Debug)]
pub(crate) struct Fused {
    kind: Kind,
    device: Device,
    table: Table,
    programs: Vec<Arc<Program>>,
    /// Energies of each block of a launch, `[2 · blocks]` in double precision, and how many are done.
    partial: Tensor,
    done: Tensor,
}

impl Fused {
    /// For P on numbers of `kind` on `device` that lie in flat tensors `[len]` where `in_flat` says, if there is a way.
    pub(crate) fn new(
        projector: &FlatProjector,
        (kind, device): (Kind, Device),
        len: usize,
        in_flat: impl Fn(&Tensor) -> Result<Tensor>,
    ) -> Result<Option<Self>> {
        if !device.is_cuda() {
            return Ok(None);
        }
        let Some(table) = Table::new(projector, len, in_flat)? else { return Ok(None) };
        let programs = table.runs.iter().map(|run| Program::new(device, kind, run.size)).collect::<Option<Vec<_>>>();
        let Some(programs) = programs else { return Ok(None) };
        let partial = Tensor::f_zeros([2 * i64::from(blocks(&table))], (Kind::Double, device))?;
        let done = Tensor::f_zeros([1], (Kind::Int, device))?;
        Ok(Some(Self { kind, device, table, programs, partial, done }))
    }

    /// `sum ← sum + a P(W) + b (W − P(W))` of flat tensors; whether it was done: not if one is no plain vector.
    pub(crate) fn add_to(&self, sum: &Tensor, weights: &Tensor, slopes: [f64; 2]) -> Result<bool> {
        self.launch(weights, Some(sum), None, slopes)
    }

    /// The same if there is a `sum`, and (a ‖P(W)‖² + b ‖W − P(W)‖²) / 2, a number on the device; `None` where nothing is done.
    pub(crate) fn measured(&self, sum: Option<&Tensor>, weights: &Tensor, slopes: [f64; 2]) -> Result<Option<Tensor>> {
        let value = Tensor::f_empty([0_i64; 0], (self.kind, self.device))?;
        Ok(self.launch(weights, sum, Some(&value), slopes)?.then_some(value))
    }

    /// Adds to `sum` and writes `value`, `[]` of this kind and device, if there are such; whether it was done.
    fn launch(&self, weights: &Tensor, sum: Option<&Tensor>, value: Option<&Tensor>, slopes: [f64; 2]) -> Result<bool> {
        let vector = |tensor: &Tensor| plain(tensor, self.kind, self.device) == Some(self.table.len);
        let bytes = (self.table.len * self.kind.elt_size_in_bytes()) as u64;
        let apart = |sum: &Tensor| address(weights).abs_diff(address(sum)) >= bytes;
        if !vector(weights) || !sum.is_none_or(|sum| vector(sum) && !sum.requires_grad() && apart(sum)) {
            return Ok(false);
        }
        let mut total = value.map(|value| Total {
            value: address(value),
            partial: address(&self.partial),
            done: address(&self.done),
            first: 0,
            blocks: blocks(&self.table),
        });
        for (program, run) in self.programs.iter().zip(&self.table.runs) {
            let orbits = Orbits {
                weights: address(weights),
                sum: sum.map_or(0, address),
                members: address(&self.table.members) + 4 * run.start as u64,
                count: run.count,
                slopes,
            };
            // SAFETY: the table has seen to its members: they are as many as the runs say, none twice, and below the length that both vectors have
            // been seen to have, which are of the kind and on the device that the program was made for, and do not overlap. `partial` has room for the
            // blocks of all launches, and the last of them leaves `done` at 0. Memory that is let go while a kernel runs is given only to operations that
            // come later on the same stream. What other threads do with clones of these tensors meanwhile is for them to know, as it is with
            // `sum.add_(&weights)`: see `slices`.
            unsafe { program.launch(&orbits, total.as_ref()) }?;
            if let Some(total) = &mut total {
                total.first += Program::blocks(run.count);
            }
        }
        Ok(true)
    }
}

fn address(tensor: &Tensor) -> u64 {
    tensor.data_ptr() as u64
}

/// Blocks of all launches that add up energies.
fn blocks(table: &Table) -> u32 {
    table.runs.iter().map(|run| Program::blocks(run.count)).sum()
}

#[cfg(test)]
mod tests;
