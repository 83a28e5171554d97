//! E Eᵀ w by gathers: weighted lists in a fixed number of operations, differentiable and the same to the bit in every run.
//!
//! ```text
//! a_k = Σ_i E_ik w_i   over the list of column k, cut into chunks of one length       P(w)_i = Σ_k E_ik a_k   over the list of row i
//! ```
//!
//! Couplings of irreps are such: a handful of numbers a row, or one where columns share no row, as those of band-limited kernels of one degree
//! on one ring. Short lists are filled up with zeros.

use tch::{Device, Kind, Tensor};

use super::couplings::Couplings;
use crate::device::upload;
use crate::error::Result;

/// The longest list for which filling up disjoint ones is no waste worth avoiding.
const LONGEST: usize = 256;

/// The lists of E on a device.
#[derive(Debug)]
pub(crate) struct Lists {
    /// Chunks of columns: which numbers, `[chunks · chunk]` (int32), and their factors, `[chunks, chunk]`.
    members: Tensor,
    factors: Tensor,
    /// The chunks of each column, `[columns, per column]` (int32), flat; `None` if each is one chunk. The number after the last chunk is zero.
    chunks: Option<(Tensor, i64)>,
    zero: Tensor,
    /// The columns of each row, `[rows · degree]` (int32), and their factors, `[rows, degree]`.
    columns: Tensor,
    back: Tensor,
}

/// Lists filled up to `width` with the first of their own and factor 0, so that what is wrong in one tile stays there.
fn table<'a>(
    lists: impl Iterator<Item = &'a [(i32, f64)]>,
    width: usize,
    (kind, device): (Kind, Device),
) -> Result<(Tensor, Tensor)> {
    let filled = |list: &'a [(i32, f64)]| list.iter().copied().chain(std::iter::repeat((list[0].0, 0.0))).take(width);
    let (index, factors): (Vec<i32>, Vec<f64>) = lists.flat_map(filled).unzip();
    let factors = upload(&factors, kind, device)?;
    let factors = if width == 1 { factors } else { factors.f_view([-1, width as i64])? };
    Ok((upload(&index, Kind::Int, device)?, factors))
}

impl Lists {
    /// The lists of couplings of `len` numbers on a device, and the rows where P(w) may be nonzero, ascending.
    pub(super) fn new(couplings: &Couplings, len: usize, (kind, device): (Kind, Device)) -> Result<(Self, Vec<i32>)> {
        let by_row = couplings.transposed(len);
        let rows = by_row.columns().zip(0..).filter_map(|(list, row)| (!list.is_empty()).then_some(row)).collect();
        let degree = by_row.longest();
        let chunk = chunk(couplings, degree);
        let (mut parts, mut firsts) = (Vec::new(), vec![0]);
        for column in couplings.columns() {
            parts.extend(column.chunks(chunk));
            firsts.push(parts.len());
        }
        let (members, factors) = table(parts.into_iter(), chunk, (kind, device))?;
        let (columns, back) = table(by_row.columns().filter(|list| !list.is_empty()), degree, (kind, device))?;
        let (chunks, zero) = (chunks_of_columns(&firsts, device)?, upload(&[0.0_f32], kind, device)?);
        Ok((Self { members, factors, chunks, zero, columns, back }, rows))
    }

    /// P(w) on the rows, `[rows]`.
    pub(super) fn apply(&self, weights: &Tensor) -> Result<Tensor> {
        let weighted = |values: &Tensor, index: &Tensor, factors: &Tensor| -> Result<Tensor> {
            let terms = values.f_index_select(0, index)?.f_view(factors.size().as_slice())?.f_mul(factors)?;
            Ok(if factors.dim() == 1 { terms } else { terms.f_sum_dim_intlist(1, false, None)? })
        };
        let mut coefficients = weighted(weights, &self.members, &self.factors)?;
        if let Some((chunks, per_column)) = &self.chunks {
            let sums = Tensor::f_cat(&[&coefficients, &self.zero], 0)?.f_index_select(0, chunks)?;
            coefficients = sums.f_view([-1, *per_column])?.f_sum_dim_intlist(1, false, None)?;
        }
        weighted(&coefficients, &self.columns, &self.back)
    }

    /// Operations that one application takes.
    pub(super) fn operations(&self) -> usize {
        let chunks = if self.chunks.is_some() { 3 } else { 0 };
        2 + chunks + self.factors.dim() + self.back.dim()
    }
}

/// The length of chunks: that of the longest list where lists are disjoint, else the one that takes the fewest numbers.
fn chunk(couplings: &Couplings, degree: usize) -> usize {
    let longest = couplings.longest();
    if degree == 1 && longest <= LONGEST {
        return longest;
    }
    let cost = |chunk: usize| {
        let chunks: usize = couplings.columns().map(|column| column.len().div_ceil(chunk)).sum();
        2 * chunks * chunk + couplings.len() * longest.div_ceil(chunk)
    };
    (2..12).map(|power| 1 << power).min_by_key(|&chunk| cost(chunk)).expect("some length")
}

/// The chunks of each column, given the first one of each and the end, filled up with the number after the last.
fn chunks_of_columns(firsts: &[usize], device: Device) -> Result<Option<(Tensor, i64)>> {
    let counts = firsts.windows(2).map(|pair| pair[1] - pair[0]);
    let most = counts.max().unwrap_or(1);
    if most == 1 {
        return Ok(None);
    }
    let zero = firsts[firsts.len() - 1];
    let filled = |pair: &[usize]| (pair[0]..pair[1]).chain(std::iter::repeat(zero)).take(most).collect::<Vec<_>>();
    let index: Vec<i32> = firsts.windows(2).flat_map(filled).map(|chunk| chunk as i32).collect();
    Ok(Some((upload(&index, Kind::Int, device)?, most as i64)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The rows and operations of the lists of these columns, and P(w) on the rows.
    fn applied(columns: &[&[(i32, f64)]], dead: &[&[i32]], weights: &[f64]) -> (Vec<i32>, usize, Vec<f64>) {
        let mut couplings = Couplings::default();
        for (number, column) in columns.iter().enumerate() {
            couplings.push(column.iter().copied());
            couplings.dead(dead.get(number).into_iter().flat_map(|dead| dead.iter().copied()));
        }
        let (lists, rows) = Lists::new(&couplings, weights.len(), (Kind::Double, Device::Cpu)).unwrap();
        let found = Vec::try_from(lists.apply(&Tensor::from_slice(weights)).unwrap()).unwrap();
        (rows, lists.operations(), found)
    }

    fn is_near(found: &[f64], expected: &[f64]) -> bool {
        found.len() == expected.len() && found.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-15)
    }

    #[test]
    fn disjoint_columns_keep_what_is_wrong_in_one_tile_there() {
        let (columns, dead): ([&[_]; 2], [&[i32]; 2]) = ([&[(0, 2.0)], &[(2, 0.6), (3, -0.8)]], [&[1], &[4]]);
        let (rows, operations, found) = applied(&columns, &dead, &[5.0, 7.0, 1.0, 2.0, 9.0]);
        assert_eq!((&rows[..], operations), (&[0, 1, 2, 3, 4][..], 5));
        assert!(is_near(&found, &[20.0, 0.0, -0.6, 0.8, 0.0]), "{found:?}");
        let (_, _, found) = applied(&columns, &dead, &[f64::NAN, 1.0, 0.0, 1.0, 1.0]);
        assert!(found[2..].iter().all(|number| number.is_finite()), "{found:?}");
    }

    #[test]
    fn long_columns_are_summed_chunk_by_chunk() {
        let share = 1.0 / 5000.0_f64.sqrt();
        let long: Vec<(i32, f64)> = (0..5000).map(|member| (member, share)).collect();
        let singles: Vec<[(i32, f64); 1]> = (5000..5010).map(|member| [(member, 1.0)]).collect();
        let columns: Vec<&[_]> = [&long[..]].into_iter().chain(singles.iter().map(|single| &single[..])).collect();
        let weights: Vec<f64> = (0..5010).map(f64::from).collect();
        let (rows, operations, found) = applied(&columns, &[], &weights);
        assert_eq!((rows.len(), operations), (5010, 8));
        assert!((found[17] - 4999.0 / 2.0).abs() < 1e-9);
        assert_eq!(found[5007], 5007.0);
    }
}
