//! Where the bound numbers lie in the flat storage.

use tch::{Device, Kind, Tensor};

use super::Bound;
use crate::error::Result;

/// One parameter after the other, in the order of the flat storage.
#[derive(Debug)]
pub(crate) enum Selection {
    /// Contiguous.
    Range { start: i64, len: i64 },
    /// At these indices, `[bound]` (int64), ascending.
    Index(Tensor),
}

impl Selection {
    pub(crate) fn of(bound: &[Bound], device: Device) -> Result<Self> {
        let range = |bound: &Bound| bound.entry.start..bound.entry.start + bound.entry.len();
        if bound.windows(2).all(|pair| range(&pair[0]).end == range(&pair[1]).start) {
            let len = bound.iter().map(|bound| bound.entry.len() as i64).sum();
            return Ok(Self::Range { start: bound[0].entry.start as i64, len });
        }
        let index: Vec<i64> = bound.iter().flat_map(range).map(|at| at as i64).collect();
        Ok(Self::Index(Tensor::f_from_slice(&index)?.f_to_device(device)?))
    }

    /// The bound numbers as a view of a flat tensor, if they are contiguous.
    pub(crate) fn view(&self, flat: &Tensor) -> Result<Option<Tensor>> {
        match self {
            Self::Range { start, len } => Ok(Some(flat.f_narrow(0, *start, *len)?)),
            Self::Index(_) => Ok(None),
        }
    }

    /// The bound numbers of a flat tensor.
    pub(crate) fn gather(&self, flat: &Tensor) -> Result<Tensor> {
        match self {
            Self::Range { start, len } => Ok(flat.f_narrow(0, *start, *len)?),
            Self::Index(index) => Ok(flat.f_index_select(0, index)?),
        }
    }

    /// Indices into the bound numbers as indices into the flat tensor, `[count]` (int32) both.
    pub(crate) fn in_flat(&self, numbers: &Tensor) -> Result<Tensor> {
        match self {
            Self::Range { start: 0, .. } => Ok(numbers.shallow_clone()),
            Self::Range { start, .. } => Ok(numbers.f_add_scalar(*start)?),
            Self::Index(index) => Ok(index.f_index_select(0, numbers)?.f_to_kind(Kind::Int)?),
        }
    }

    /// A flat tensor with its bound numbers replaced.
    pub(crate) fn replaced(&self, flat: &Tensor, numbers: Tensor) -> Result<Tensor> {
        let (all, start, len) = match self {
            Self::Range { start, len } => (flat.size()[0], *start, *len),
            Self::Index(index) => return Ok(flat.f_index_copy(0, index, &numbers)?),
        };
        if len == all {
            return Ok(numbers);
        }
        let end = start + len;
        Ok(Tensor::f_cat(&[&flat.f_narrow(0, 0, start)?, &numbers, &flat.f_narrow(0, end, all - end)?], 0)?)
    }

    /// Overwrites the bound numbers of a flat tensor.
    pub(crate) fn put(&self, flat: &mut Tensor, numbers: &Tensor) -> Result<()> {
        match self {
            Self::Range { start, len } => flat.f_narrow(0, *start, *len)?.f_copy_(numbers)?,
            Self::Index(index) => drop(flat.f_index_copy_(0, index, numbers)?),
        }
        Ok(())
    }

    /// Adds to the bound numbers of a flat tensor.
    pub(crate) fn add_to(&self, flat: &Tensor, numbers: &Tensor) -> Result<()> {
        match self {
            Self::Range { start, len } => {
                let _ = flat.f_narrow(0, *start, *len)?.f_add_(numbers)?;
            }
            Self::Index(index) => {
                let _ = flat.shallow_clone().f_index_add_(0, index, numbers)?;
            }
        }
        Ok(())
    }
}
