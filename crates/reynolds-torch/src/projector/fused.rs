//! The squared penalty, its gradient and the decoupled step on a GPU by the kernels of [`reynolds_cuda`].
//!
//! On an H200 the gradient by 10⁷ weights takes 51 µs, where operations of libtorch, which move 50 bytes a weight, take 178 and what
//! torch.compile makes of them 97. Parameters that are not bound may lie in between. There are kernels for short orbits and for the tiles of
//! band-limited kernels, where there is a compiler. A pass is a launch for each size of orbits, of which regular fields have one, or one for
//! all tiles, and the factors are one more, however many layers there are.

#![allow(unsafe_code, reason = "tch gives the address of a tensor's numbers on a device, and a kernel takes it")]

mod table;

use reynolds_cuda::{Layout, Memory, Number, Orbits, Place};
use table::Table;
use tch::{Device, Kind, Tensor};

use super::slices::plain;
use super::{FlatProjector, OnePass};
use crate::device::{self, upload};
use crate::error::Result;
use crate::numbers::Numbers;
use crate::proximal::{Rescaling, Rule};

/// The orbits or tiles of all layers, and the kernels for them.
#[derive(Debug)]
pub(crate) struct Fused {
    kind: Kind,
    device: Device,
    len: usize,
    orbits: Orbits,
    factors: Tensor,
    #[cfg_attr(not(test), allow(dead_code, reason = "owns what the kernels count in"))]
    done: Tensor,
    /// What the addresses of `orbits` belong to.
    _memory: [Tensor; 5],
}

impl OnePass for Fused {
    fn add_to(&self, sum: &Tensor, weights: &Tensor, slopes: &Numbers) -> Result<bool> {
        if !self.takes(weights, Some(sum)) {
            return Ok(false);
        }
        // SAFETY: as said at `takes`.
        unsafe { self.orbits.add_to(self.place()?, at(sum), at(weights), slopes.address())? };
        Ok(true)
    }

    fn measured(&self, sum: Option<&Tensor>, weights: &Tensor, slopes: &Numbers) -> Result<Option<Tensor>> {
        if !self.takes(weights, sum) {
            return Ok(None);
        }
        let value = Tensor::f_empty([0_i64; 0], (self.kind, self.device))?;
        let (place, sum) = (self.place()?, sum.map_or(0, at));
        // SAFETY: as said at `takes`.
        unsafe { self.orbits.measured(place, sum, at(weights), slopes.address(), at(&value))? };
        Ok(Some(value))
    }

    fn rescale(&self, weights: &Tensor, rescaling: &Rescaling<'_>) -> Result<bool> {
        if !self.takes(weights, None) || weights.requires_grad() {
            return Ok(false);
        }
        let (place, w) = (self.place()?, at(weights));
        // SAFETY: as said at `takes`.
        unsafe {
            match rescaling {
                Rescaling::Even(factors) => self.orbits.rescale(place, w, factors.address())?,
                Rescaling::Each { factors, .. } => {
                    let factors = factors.f_contiguous()?.f_view(self.factors.size().as_slice())?;
                    self.orbits.rescale_layers(place, w, at(&factors))?;
                }
                Rescaling::ByRule(rule) => {
                    self.orbits.factors(place, w, &by_address(rule))?;
                    self.orbits.rescale_layers(place, w, at(&self.factors))?;
                }
            }
        }
        Ok(true)
    }
}

impl Fused {
    /// For P on numbers of `kind` on `device` that lie in flat tensors `[len]` where `in_flat` says, those of each layer before one of
    /// `layer_ends`; `None` where there are no kernels for it.
    pub(crate) fn new(
        projector: &FlatProjector,
        (kind, device): (Kind, Device),
        (len, layer_ends): (usize, &[usize]),
        in_flat: impl Fn(&Tensor) -> Result<Tensor>,
    ) -> Result<Option<Self>> {
        let Device::Cuda(number) = device else { return Ok(None) };
        let Some(table) = Table::new(projector, len, in_flat)? else { return Ok(None) };
        device::open_compiler();
        let layout = Layout::new(table.runs.clone(), &table.firsts, layer_ends);
        Self::over(table, kind, layout, |kind, layout, memory| Orbits::new(number, kind, layout, memory))
    }

    fn over(
        table: Table,
        kind: Kind,
        layout: Layout,
        orbits: impl FnOnce(Number, Layout, Memory) -> Option<Orbits>,
    ) -> Result<Option<Self>> {
        let device = table.members.device();
        let zeros = |size: &[i64], kind: Kind| Tensor::f_zeros(size, (kind, device));
        let shares = upload(layout.shares(), Kind::Int, device)?;
        let slot_ends = upload(layout.slot_ends(), Kind::Int, device)?;
        let (partial, done) = (zeros(&[2 * layout.partial() as i64], Kind::Double)?, zeros(&[1], Kind::Int)?);
        let factors = zeros(&[2, layout.layers() as i64], Kind::Double)?;
        let values = upload(&table.values, kind, device)?;
        let memory = Memory {
            members: at(&table.members),
            values: at(&values),
            shares: at(&shares),
            slot_ends: at(&slot_ends),
            partial: at(&partial),
            done: at(&done),
            factors: at(&factors),
        };
        let number = if kind == Kind::Double { Number::F64 } else { Number::F32 };
        let Some(orbits) = orbits(number, layout, memory) else { return Ok(None) };
        let (len, memory) = (table.len, [table.members, values, shares, slot_ends, partial]);
        Ok(Some(Self { kind, device, len, orbits, factors, done, _memory: memory }))
    }

    /// Whether the weights and what is added to are vectors that the kernels take and that share no byte.
    ///
    /// With it launches are safe: the table has checked its members, which are as many as the runs say (tiles have their numbers from it), none twice, and below the length that
    /// the vectors are seen to have, of the kind and on the device that the kernels were made for. [`Numbers`] and rules hold as many numbers
    /// as the kernels read, as the binding that this was made for has it. Memory that is freed while a kernel runs is given only to operations
    /// that come later on the same stream. Other threads with clones of these tensors are under the condition of `sum.add_(&weights)`: see
    /// `slices`.
    fn takes(&self, weights: &Tensor, sum: Option<&Tensor>) -> bool {
        let vector = |tensor: &Tensor| plain(tensor, self.kind, self.device) == Some(self.len);
        let bytes = self.len * self.kind.elt_size_in_bytes();
        let apart = |sum: &Tensor| (weights.data_ptr() as usize).abs_diff(sum.data_ptr() as usize) >= bytes;
        vector(weights) && sum.is_none_or(|sum| vector(sum) && !sum.requires_grad() && apart(sum))
    }

    fn place(&self) -> Result<Place> {
        device::place(self.device)
    }
}

/// Where the numbers of a tensor begin.
fn at(tensor: &Tensor) -> u64 {
    tensor.data_ptr() as u64
}

/// A rule as the kernels take it.
fn by_address(rule: &Rule<'_>) -> reynolds_cuda::Rule {
    match *rule {
        Rule::Plain { by, scales, whole, exact_since } => {
            reynolds_cuda::Rule::Plain { by: by.address(), scales: at(scales), whole, exact_since: at(exact_since) }
        }
        Rule::Target { slope, step, network, strengths } => {
            reynolds_cuda::Rule::Target { slope, step: step.address(), network, strengths: at(strengths) }
        }
        Rule::Dual { tau, rate, step, network, strengths } => {
            reynolds_cuda::Rule::Dual { tau, rate, step: step.address(), network, strengths: at(strengths) }
        }
    }
}

#[cfg(test)]
mod tests;
