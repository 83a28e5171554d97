//! E Eᵀ w by two products with one sparse matrix, for adding it to something in few operations on a GPU.
//!
//! ```text
//! sum ← sum + factor · E (Eᵀ w)
//! ```
//!
//! E is spread from the couplings of compressed kernels, of which a network has so few that E has about as many numbers as w. On an H200 this
//! takes 52 µs where [`Lists`](super::lists::Lists) between products with the functions take 105 (docs/gpu-notes.md). It is not for the tape,
//! and its last bits differ from run to run, so lists remain for everything else.

use tch::{Device, Kind, Tensor};

use super::couplings::Couplings;
use crate::device::upload;
use crate::error::Result;

/// E and Eᵀ on a device, compressed by rows.
#[derive(Debug)]
pub(crate) struct Sparse {
    columns: Tensor,
    transposed: Tensor,
}

impl Sparse {
    /// E with more numbers than this for each of w is not worth it.
    pub(super) const MOST: usize = 4;

    /// On a device, for `len` numbers of w.
    pub(super) fn new(e: &Couplings, len: usize, options: (Kind, Device)) -> Result<Self> {
        Ok(Self { columns: matrix(&e.transposed(len), e.len(), options)?, transposed: matrix(e, len, options)? })
    }

    /// `sum ← sum + factor · E Eᵀ w`.
    pub(crate) fn add_to(&self, sum: &mut Tensor, weights: &Tensor, factor: &Tensor) -> Result<()> {
        let coefficients = self.transposed.f_mv(weights)?.f_mul_(factor)?;
        let _ = sum.f_addmv_(&self.columns, &coefficients)?;
        Ok(())
    }

    /// `w ← base · w + more · E Eᵀ w`.
    pub(crate) fn rescale(&self, weights: &mut Tensor, base: f64, more: f64) -> Result<()> {
        let coefficients = self.transposed.f_mv(weights)?.f_mul_scalar_(more)?;
        let _ = weights.f_mul_scalar_(base)?.f_addmv_(&self.columns, &coefficients)?;
        Ok(())
    }
}

/// The matrix whose rows are these columns, each `width` numbers wide.
fn matrix(rows: &Couplings, width: usize, (kind, device): (Kind, Device)) -> Result<Tensor> {
    let mut ends = vec![0_i32];
    ends.extend(rows.columns().scan(0, |end, row| {
        *end += row.len() as i32;
        Some(*end)
    }));
    let (indices, values): (Vec<i32>, Vec<f64>) = rows.columns().flatten().copied().unzip();
    let [ends, indices] = [upload(&ends, Kind::Int, device)?, upload(&indices, Kind::Int, device)?];
    let (values, size) = (upload(&values, kind, device)?, [rows.len() as i64, width as i64]);
    Ok(Tensor::f_sparse_csr_tensor_crow_col_value_size(&ends, &indices, &values, size, (kind, device))?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_columns_and_a_row_of_none_by_hand() {
        let mut e = Couplings::default();
        e.push([(0, 0.6), (2, 0.8)]);
        e.push([(3, 0.5)]);
        let sparse = Sparse::new(&e, 4, (Kind::Double, Device::Cpu)).unwrap();
        let (weights, factor) = (Tensor::from_slice(&[1.0, 9.0, 2.0, 4.0]), Tensor::from_slice(&[10.0]));
        let mut sum = Tensor::from_slice(&[1.0, 1.0, 1.0, 1.0]);
        sparse.add_to(&mut sum, &weights, &factor).unwrap();
        let found = Vec::<f64>::try_from(&sum).unwrap();
        assert!(found.iter().zip([14.2, 1.0, 18.6, 11.0]).all(|(a, b)| (a - b).abs() < 1e-14), "{found:?}");
        let mut rescaled = weights.copy();
        sparse.rescale(&mut rescaled, 0.5, 2.0).unwrap();
        let expected: Tensor = 0.5 * weights + 0.2 * (sum - 1.0);
        assert!((rescaled - expected).abs().max().double_value(&[]) < 1e-14);
    }
}
