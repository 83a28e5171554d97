//! P of compressed kernels as two products with one sparse matrix, for adding it to something in few operations on a GPU.
//!
//! ```text
//! E = F X:  functions of kernels times couplings, disjoint columns         sum ← sum + factor · E (Eᵀ w)
//! ```
//!
//! Of a network's coordinates few are coupled: E has about as many numbers as w, and reading it twice is less than making all coordinates and
//! putting P(w) together.

use faer::Mat;
use tch::{Device, Kind, Tensor};

use super::upload;
use crate::error::Result;

/// E with more numbers than this for each of w is not worth it.
const MOST: usize = 4;

/// E and Eᵀ on a device, compressed by rows.
#[derive(Debug)]
pub(super) struct Sparse {
    columns: Tensor,
    transposed: Tensor,
}

/// Numbers of a matrix, column after column.
#[derive(Debug, Default)]
pub(super) struct SparseBuilder {
    /// Place in w and number.
    entries: Vec<(i32, f64)>,
    /// Where each column ends.
    ends: Vec<i32>,
}

impl SparseBuilder {
    /// E of layers that follow one another, each part with so many numbers and its functions, from couplings of their coordinates; `None` if
    /// there would be too many numbers.
    pub(super) fn new<'a>(
        parts: &[(usize, Option<Mat<f64>>)],
        couplings: impl Iterator<Item = &'a [(i32, f64)]>,
    ) -> Option<Self> {
        let most = (MOST * parts.iter().map(|(numbers, _)| numbers).sum::<usize>()).min(i32::MAX as usize);
        let mut builder = Self::default();
        for coupling in couplings {
            for &(coordinate, factor) in coupling.iter().filter(|(_, factor)| *factor != 0.0) {
                builder.spread(parts, coordinate as usize, factor);
            }
            let start = builder.ends.last().map_or(0, |&end| end as usize);
            builder.merge(start);
            if builder.entries.len() > most {
                return None;
            }
            builder.ends.push(builder.entries.len() as i32);
        }
        Some(builder)
    }

    /// Sorts the entries from `start` on by place and adds up those of one place: several functions of one kernel.
    fn merge(&mut self, start: usize) {
        let mut column = self.entries.split_off(start);
        column.sort_by_key(|&(place, _)| place);
        for same in column.chunk_by(|a, b| a.0 == b.0) {
            self.entries.push((same[0].0, same.iter().map(|(_, value)| value).sum()));
        }
    }

    /// Adds a coordinate: the numbers of its kernel, weighted by its function.
    fn spread(&mut self, parts: &[(usize, Option<Mat<f64>>)], mut coordinate: usize, factor: f64) {
        let mut start = 0;
        for (numbers, functions) in parts {
            let (points, count) = functions.as_ref().map_or((1, 1), |f| (f.nrows(), f.ncols()));
            if coordinate >= numbers / points * count {
                coordinate -= numbers / points * count;
                start += numbers;
                continue;
            }
            let (row, function) = (coordinate / count, coordinate % count);
            let at = |point: usize| (start + row * points + point) as i32;
            match functions {
                Some(f) => {
                    let values = f.col(function).iter().copied().enumerate();
                    let values = values.filter(|(_, value)| value.abs() > f64::EPSILON);
                    self.entries.extend(values.map(|(point, value)| (at(point), factor * value)));
                }
                None => self.entries.push((at(0), factor)),
            }
            return;
        }
    }

    /// On a device, for `numbers` numbers of w.
    pub(super) fn build(&self, numbers: usize, kind: Kind, device: Device) -> Result<Sparse> {
        let matrix = |ends: &[i32], indices: &[i32], values: &[f64], size: [i64; 2]| -> Result<Tensor> {
            let rows: Vec<i32> = std::iter::once(0).chain(ends.iter().copied()).collect();
            let [rows, indices] = [upload(&rows, Kind::Int, device)?, upload(indices, Kind::Int, device)?];
            let values = upload(values, kind, device)?;
            Ok(Tensor::f_sparse_csr_tensor_crow_col_value_size(&rows, &indices, &values, size, (kind, device))?)
        };
        let (places, values): (Vec<i32>, Vec<f64>) = self.entries.iter().copied().unzip();
        let (len, count) = (numbers as i64, self.ends.len() as i64);
        let transposed = matrix(&self.ends, &places, &values, [count, len])?;
        // By rows: how many entries come before each, then every entry to its place.
        let mut ends = vec![0_i32; numbers];
        places.iter().for_each(|&place| ends[place as usize] += 1);
        let mut next = vec![0_i32; numbers];
        let mut before = 0;
        for (end, next) in ends.iter_mut().zip(&mut next) {
            *next = before;
            before += *end;
            *end = before;
        }
        let (mut indices, mut by_row) = (vec![0_i32; values.len()], vec![0.0; values.len()]);
        let mut column = 0;
        for (entry, &(place, value)) in self.entries.iter().enumerate() {
            while self.ends[column] as usize <= entry {
                column += 1;
            }
            let slot = next[place as usize] as usize;
            next[place as usize] += 1;
            (indices[slot], by_row[slot]) = (column as i32, value);
        }
        Ok(Sparse { columns: matrix(&ends, &indices, &by_row, [len, count])?, transposed })
    }
}

impl Sparse {
    /// `sum ← sum + factor · E Eᵀ w`.
    pub(super) fn add_to(&self, sum: &mut Tensor, weights: &Tensor, factor: &Tensor) -> Result<()> {
        let coefficients = self.transposed.f_mv(weights)?.f_mul_(factor)?;
        let _ = sum.f_addmv_(&self.columns, &coefficients)?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kernels_and_plain_numbers_by_hand() {
        // One kernel of three points in two functions, then one number that is its own coordinate.
        let f = Mat::from_fn(3, 2, |point, function| [[0.6, 0.8], [0.8, -0.6], [0.0, 0.0]][point][function]);
        let parts = [(3, Some(f)), (1, None)];
        let couplings: [&[(i32, f64)]; 2] = [&[(0, 0.48), (1, 0.36), (2, 0.8)], &[(1, 0.0)]];
        let sparse = SparseBuilder::new(&parts, couplings.into_iter()).unwrap();
        let sparse = sparse.build(4, Kind::Double, Device::Cpu).unwrap();
        let (weights, factor) = (Tensor::from_slice(&[1.0, 1.0, 5.0, 2.0]), Tensor::from_slice(&[2.0]));
        let mut sum = Tensor::from_slice(&[10.0, 10.0, 10.0, 10.0]);
        sparse.add_to(&mut sum, &weights, &factor).unwrap();
        // e = 0.48 (0.6, 0.8, 0, 0) + 0.36 (0.8, −0.6, 0, 0) + 0.8 (0, 0, 0, 1), ⟨e, w⟩ = 2.344.
        let expected = [0.576, 0.168, 0.0, 0.8].map(|e| 10.0 + 2.0 * 2.344 * e);
        let found = Vec::<f64>::try_from(sum).unwrap();
        assert!(found.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-14), "{found:?}");
    }

    #[test]
    fn a_matrix_with_more_numbers_than_it_is_worth_is_none() {
        let column: &[(i32, f64)] = &[(0, 1.0), (1, 1.0)];
        let columns = |count| SparseBuilder::new(&[(2, None)], std::iter::repeat_n(column, count));
        assert!(columns(MOST).is_some() && columns(MOST + 1).is_none());
    }
}
