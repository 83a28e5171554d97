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
//! one column of E at most, are such lists. Where P(W) is only added to a gradient or W rescaled on a GPU, orbits take one kernel a size and
//! band-limited kernels one ([`fused`]). On a CPU this is left to the core ([`host`]).
//!
//! Nothing is added twice to one place, so the result does not depend on the order of threads. Everything is real: a complex weight is the
//! pair (re, im).

mod assembly;
mod band;
mod couplings;
mod fused;
mod gather;
mod host;
mod lists;
mod shared;
mod slices;
mod team;
mod tiles;

use std::fmt::Debug;

pub(crate) use assembly::Assembly;
use band::Band;
use faer::Mat;
pub(crate) use fused::Fused;
use gather::Gather;
pub(crate) use host::{executor, penalty};
use lists::Lists;
pub(crate) use shared::Shared;
use tch::{Device, Kind, Tensor};

use crate::device::upload;
use crate::error::Result;
use crate::numbers::Numbers;
use crate::proximal::Rescaling;

/// Products with tiles that are not orbits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TileProducts {
    /// Two products for each kind of tile: fewest numbers moved, for a CPU.
    PerKind,
    /// All kinds with a sparse E at once, as lists of its entries: fewest operations, for a GPU.
    Lists,
}

impl TileProducts {
    /// The faster way on a device.
    pub fn on(device: Device) -> Self {
        if device.is_cuda() { Self::Lists } else { Self::PerKind }
    }
}

/// What needs no operations of libtorch. It does nothing with tensors that are not contiguous vectors on the right device.
pub(crate) trait OnePass: Debug + Send {
    /// `sum ← sum + a P(W) + b (W − P(W))` of flat tensors, a and b the `slopes`; whether it was done.
    fn add_to(&self, sum: &Tensor, weights: &Tensor, slopes: &Numbers) -> Result<bool>;

    /// The same if there is a `sum`, and (a ‖P(W)‖² + b ‖W − P(W)‖²) / 2, a 0-d tensor; `None` if nothing was done.
    fn measured(&self, sum: Option<&Tensor>, weights: &Tensor, slopes: &Numbers) -> Result<Option<Tensor>>;

    /// `W ← a P(W) + b (W − P(W))` of a flat tensor in place; whether it was done.
    fn rescale(&self, weights: &Tensor, rescaling: &Rescaling<'_>) -> Result<bool>;
}

/// P on a flat tensor `[len]` of real numbers.
#[derive(Debug)]
pub(crate) enum FlatProjector {
    /// Keeps or drops each number, `[len]` of ones and zeros.
    Mask(Tensor),
    /// Couplings, with each number in exactly one.
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

    /// Number of device operations of one application.
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
