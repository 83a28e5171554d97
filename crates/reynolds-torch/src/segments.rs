//! Sums over each parameter of a flat tensor, and numbers spread over each parameter, without an operation a parameter.

use tch::{Device, Kind, Tensor};

use crate::error::Result;

/// The parameters of a flat tensor, by their lengths.
#[derive(Debug)]
pub(crate) struct Segments {
    count: i64,
    /// `[count]` (int64), one after the other for two tensors.
    lengths: Tensor,
    /// The parameter each number belongs to, `[len]` (int32).
    owner: Tensor,
}

impl Segments {
    pub(crate) fn new(lengths: &[i64], device: Device) -> Result<Self> {
        let owner: Vec<i32> =
            lengths.iter().enumerate().flat_map(|(k, &len)| std::iter::repeat_n(k as i32, len as usize)).collect();
        Ok(Self {
            count: lengths.len() as i64,
            lengths: Tensor::f_from_slice(lengths)?.f_to_device(device)?,
            owner: Tensor::f_from_slice(&owner)?.f_to_device(device)?,
        })
    }

    /// Σ w² over each parameter of each tensor `[len]`: `[tensors, count]`, in double precision.
    pub(crate) fn energies(&self, tensors: &[&Tensor]) -> Result<Tensor> {
        let squares = tensors.iter().map(|tensor| Ok(tensor.f_to_kind(Kind::Double)?.f_square()?));
        let squares = squares.collect::<Result<Vec<_>>>()?;
        let shape = [tensors.len() as i64, self.count];
        if self.count == 1 {
            return Ok(Tensor::f_stack(&squares, 0)?.f_sum_dim_intlist(1, true, None)?.f_view(shape)?);
        }
        let lengths = Tensor::f_cat(&vec![&self.lengths; tensors.len()], 0)?;
        let squares = Tensor::f_cat(&squares, 0)?;
        let none: Option<&Tensor> = None;
        // Unchecked: checking would wait for the device.
        Ok(Tensor::f_segment_reduce(&squares, "sum", Some(&lengths), none, none, 0, true, 0.0)?.f_view(shape)?)
    }

    /// Each parameter's number, for all its weights: `[count]` to `[len]`.
    pub(crate) fn spread(&self, numbers: &Tensor) -> Result<Tensor> {
        if self.count == 1 {
            return Ok(numbers.shallow_clone());
        }
        Ok(numbers.f_index_select(0, &self.owner)?)
    }
}
