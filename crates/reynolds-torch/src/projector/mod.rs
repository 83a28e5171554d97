//! The Reynolds operator on one flat tensor: P of all layers together, in a number of operations that does not grow with the network.
//!
//! ```text
//! gathered = W[members]                     all orbits, those of one size together; then all tiles, those of one kind together
//! values   = (mean of each orbit | 0 | tile · E · Eᵀ of each kind)
//! P(W)     = ε · values[source]             one source for each number of W
//! ```
//!
//! Orbits take two gathers and a reduction for each size; tiles two products a kind or, on a GPU and if E has few numbers, one sparse E for
//! all kinds ([`couplings`], as [`lists`]). Band-limited kernels are compressed first, all of one side by one product ([`band`]); their
//! coordinates, each in one coupling at most, are such lists. Where P(W) is only added to something, as to a gradient on a GPU, orbits take
//! one kernel ([`fused`]) and band-limited kernels two products with E ([`sparse`]).
//!
//! On a processor the gradient of the squared penalty, which every step of training takes, needs none of that: executors of the core add it
//! to a flat gradient field by field, and have the penalty itself from the same pass, see [`host`].
//!
//! Nothing is added twice to one place, so the result does not depend on the order of threads (of sparse products on a GPU its last bits may). Everything is real: a complex weight is the pair (re, im).

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
pub(crate) use fused::Fused;
use gather::Gather;
pub(crate) use host::{Host, Layer};
use lists::Lists;
pub(crate) use shared::Shared;
use tch::{Device, Kind, Tensor};

use crate::error::Result;

/// How tiles that are no orbits are multiplied.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TileProducts {
    /// Two products for each kind of tile: the fewest numbers are moved, which is what counts on a CPU.
    PerKind,
    /// All kinds at once, as lists of the numbers of E that are not zero: the fewest operations, which is what counts on a GPU. Kinds
    /// with a dense E are multiplied all the same.
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
            Self::Band(band) => band.add_to(sum, weights, factor),
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

/// Values of the host on a device.
fn upload<T: tch::kind::Element>(values: &[T], kind: Kind, device: Device) -> Result<Tensor> {
    Ok(Tensor::f_from_slice(values)?.f_to_device(device)?.f_to_kind(kind)?)
}

/// The numbers of a matrix, row after row.
fn row_major(matrix: &Mat<f64>) -> Vec<f64> {
    (0..matrix.nrows()).flat_map(|i| (0..matrix.ncols()).map(move |j| matrix[(i, j)])).collect()
}
