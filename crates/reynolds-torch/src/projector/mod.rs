//! The Reynolds operator on one flat tensor: P of all layers together, in a number of operations that does not grow with the network.
//!
//! ```text
//! gathered = W[members]                     all orbits, those of one size together; then all tiles, those of one kind together
//! values   = (mean of each orbit | 0 | tile · E · Eᵀ of each kind)
//! P(W)     = ε · values[source]             one source for each number of W
//! ```
//!
//! Orbits take two gathers and a mean for each size; tiles two products a kind or, on a GPU and if E is sparse, lists of its entries for all
//! kinds at once ([`lists`]). Band-limited kernels are compressed first, all of one side by one product ([`band`]); their coordinates, each in
//! one column of E at most, are such lists. Where P(W) is only added to a gradient or W rescaled on a GPU, orbits take one kernel
//! ([`fused`]) and band-limited kernels two sparse products ([`sparse`]). On a CPU this is left to the core ([`host`]).
//!
//! Nothing is added twice to one place, so the result does not depend on the order of threads (but for the last bits of sparse products on a
//! GPU). Everything is real: a complex weight is the pair (re, im).

mod assembly;
mod band;
mod couplings;
mod fused;
mod gather;
mod host;
mod lists;
mod shared;
mod slices;
mod sparse;
mod team;

pub(crate) use assembly::Assembly;
use band::Band;
use faer::Mat;
pub(crate) use fused::{Fused, launches};
use gather::Gather;
pub(crate) use host::Host;
use lists::Lists;
pub(crate) use shared::Shared;
use tch::{Device, Kind, Tensor};

use crate::device::upload;
use crate::error::Result;

/// How tiles that are no orbits are multiplied.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TileProducts {
    /// Two products for each kind of tile, which moves the fewest numbers: for a CPU.
    PerKind,
    /// All kinds with a sparse E at once, as lists of its entries, which takes the fewest operations: for a GPU.
    Lists,
}

impl TileProducts {
    /// What suits a device.
    pub fn on(device: Device) -> Self {
        if device.is_cuda() { Self::Lists } else { Self::PerKind }
    }
}

/// P on a flat tensor `[len]` of real numbers.
#[derive(Debug)]
pub(crate) enum FlatProjector {
    /// Every number is kept or dropped, `[len]` of ones and zeros.
    Mask(Tensor),
    /// Couplings of which every number has one.
    Lists(Lists),
    /// Kernels that are compressed along their points first.
    Band(Box<Band>),
    /// Anything else.
    Gather(Gather),
}

impl FlatProjector {
    /// P(w), `[len]`.
    pub(crate) fn apply(&self, weights: &Tensor) -> Result<Tensor> {
        match self {
            Self::Mask(mask) => Ok(weights.f_mul(mask)?),
            Self::Lists(lists) => lists.apply(weights),
            Self::Band(band) => band.apply(weights),
            Self::Gather(gather) => gather.apply(weights),
        }
    }

    /// `sum ← sum + factor · P(w)`, if that can be done without making P(w); whether it was.
    pub(crate) fn add_to(&self, sum: &mut Tensor, weights: &Tensor, factor: &Tensor) -> Result<bool> {
        match self {
            Self::Band(band) => match &band.sparse {
                Some(sparse) => sparse.add_to(sum, weights, factor).map(|()| true),
                None => Ok(false),
            },
            _ => Ok(false),
        }
    }

    /// `w ← base · w + more · P(w)` in place, if that can be done without making P(w); whether it was.
    pub(crate) fn rescale(&self, weights: &mut Tensor, base: f64, more: f64) -> Result<bool> {
        match self {
            Self::Band(band) => match &band.sparse {
                Some(sparse) => sparse.rescale(weights, base, more).map(|()| true),
                None => Ok(false),
            },
            _ => Ok(false),
        }
    }

    /// Operations on the device that one application takes.
    pub(crate) fn operations(&self) -> usize {
        match self {
            Self::Mask(_) => 1,
            Self::Lists(lists) => lists.operations(),
            Self::Band(band) => band.operations(),
            Self::Gather(gather) => gather.operations(),
        }
    }
}

/// A matrix on a device, and its transpose.
fn upload_matrix(matrix: &Mat<f64>, (kind, device): (Kind, Device)) -> Result<(Tensor, Tensor)> {
    let rows = (0..matrix.nrows()).flat_map(|i| (0..matrix.ncols()).map(move |j| matrix[(i, j)]));
    let rows = upload(&rows.collect::<Vec<f64>>(), kind, device)?;
    let matrix = rows.f_view([matrix.nrows() as i64, matrix.ncols() as i64])?;
    let transposed = matrix.f_transpose(0, 1)?;
    Ok((matrix, transposed))
}
