//! Tiles whose E has few numbers other than zero, as weighted lists: all kinds in a fixed number of operations.
//!
//! ```text
//! a_k = Σ_i E_ik w_i   over the list of column k, cut into chunks of one length       P(w)_i = Σ_k E_ik a_k   over the list of row i
//! ```
//!
//! Couplings of irreps are such: a handful of numbers a row. Short lists are filled up with zeros.

use tch::{Device, Kind, Tensor};

use super::upload;
use crate::error::Result;

/// The lists of all tiles, on a device.
#[derive(Debug)]
pub(super) struct Lists {
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

/// Lists that are being collected.
#[derive(Debug, Default)]
pub(super) struct ListsBuilder {
    /// Number and factor of every entry, column after column.
    entries: Vec<(i32, f64)>,
    /// Where each column ends.
    ends: Vec<usize>,
}

impl ListsBuilder {
    /// Adds a column.
    pub(super) fn push(&mut self, column: impl IntoIterator<Item = (i32, f64)>) {
        self.entries.extend(column);
        self.ends.push(self.entries.len());
    }

    pub(super) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    fn columns(&self) -> impl Iterator<Item = &[(i32, f64)]> {
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        starts.zip(&self.ends).map(|(start, &end)| &self.entries[start..end])
    }

    /// The length of chunks that takes the fewest numbers.
    fn chunk(&self) -> usize {
        let longest = self.columns().map(<[_]>::len).max().unwrap_or(1);
        let cost = |chunk: usize| {
            let chunks: usize = self.columns().map(|column| column.len().div_ceil(chunk)).sum();
            2 * chunks * chunk + self.ends.len() * longest.div_ceil(chunk)
        };
        (2..12).map(|power| 1 << power).min_by_key(|&chunk| cost(chunk)).expect("some length")
    }

    /// The lists on a device, and the number that each row stands for, ascending.
    pub(super) fn build(&self, kind: Kind, device: Device) -> Result<(Lists, Vec<i32>)> {
        let chunk = self.chunk();
        let (mut members, mut factors, mut firsts) = (Vec::new(), Vec::new(), vec![0]);
        for column in self.columns() {
            for part in column.chunks(chunk) {
                // Filled up with a member of its own, so that what is wrong in one tile stays there.
                let filled = part.iter().copied().chain(std::iter::repeat((part[0].0, 0.0)));
                filled.take(chunk).for_each(|(member, factor)| {
                    members.push(member);
                    factors.push(factor);
                });
            }
            firsts.push(members.len() / chunk);
        }
        let (rows, columns, back) = self.rows();
        let degree = columns.len() / rows.len();
        let table = |values: &[f64], width: usize| -> Result<Tensor> {
            Ok(upload(values, kind, device)?.f_view([-1, width as i64])?)
        };
        let lists = Lists {
            members: upload(&members, Kind::Int, device)?,
            factors: table(&factors, chunk)?,
            chunks: chunks_of_columns(&firsts, device)?,
            zero: upload(&[0.0_f32], kind, device)?,
            columns: upload(&columns, Kind::Int, device)?,
            back: table(&back, degree)?,
        };
        Ok((lists, rows))
    }

    /// The numbers that occur, ascending; for each the columns it is in and its factors there, filled up to the same length.
    fn rows(&self) -> (Vec<i32>, Vec<i32>, Vec<f64>) {
        let mut entries: Vec<(i32, i32, f64)> = Vec::with_capacity(self.entries.len());
        for (number, column) in self.columns().enumerate() {
            entries.extend(column.iter().map(|&(member, factor)| (member, number as i32, factor)));
        }
        entries.sort_by_key(|&(member, column, _)| (member, column));
        let lists: Vec<&[(i32, i32, f64)]> = entries.chunk_by(|a, b| a.0 == b.0).collect();
        let degree = lists.iter().map(|list| list.len()).max().unwrap_or(1);
        let (mut columns, mut factors) = (Vec::new(), Vec::new());
        for list in &lists {
            let filled =
                list.iter().map(|&(_, column, factor)| (column, factor)).chain(std::iter::repeat((list[0].1, 0.0)));
            filled.take(degree).for_each(|(column, factor)| {
                columns.push(column);
                factors.push(factor);
            });
        }
        (lists.iter().map(|list| list[0].0).collect(), columns, factors)
    }
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

impl Lists {
    /// P(w) on the rows, `[rows]`.
    pub(super) fn apply(&self, weights: &Tensor) -> Result<Tensor> {
        let weighted = |values: &Tensor, index: &Tensor, factors: &Tensor| -> Result<Tensor> {
            let terms = values.f_index_select(0, index)?.f_view(factors.size().as_slice())?.f_mul(factors)?;
            Ok(terms.f_sum_dim_intlist(1, false, None)?)
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
        if self.chunks.is_some() { 9 } else { 6 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_columns_that_share_a_row_by_hand() {
        let mut builder = ListsBuilder::default();
        builder.push([(1, 0.6), (4, 0.8)]);
        builder.push([(4, 0.6), (1, -0.8), (2, 0.0)]);
        let (lists, rows) = builder.build(Kind::Double, Device::Cpu).unwrap();
        assert_eq!(rows, [1, 2, 4]);
        let weights = Tensor::from_slice(&[9.0, 1.0, 9.0, 9.0, 2.0]);
        let projected = lists.apply(&weights).unwrap();
        let found = Vec::<f64>::try_from(projected).unwrap();
        // An orthonormal basis of the plane of numbers 1 and 4: nothing changes there.
        assert!(found.iter().zip([1.0, 0.0, 2.0]).all(|(a, b)| (a - b).abs() < 1e-15), "{found:?}");
    }

    #[test]
    fn long_columns_are_summed_chunk_by_chunk() {
        let mut builder = ListsBuilder::default();
        let share = 1.0 / 5000.0_f64.sqrt();
        builder.push((0..5000).map(|member| (member, share)));
        (5000..5010).for_each(|member| builder.push([(member, 1.0)]));
        let (lists, rows) = builder.build(Kind::Double, Device::Cpu).unwrap();
        assert!(lists.chunks.is_some() && rows.len() == 5010);
        let weights = Tensor::arange(5010, (Kind::Double, Device::Cpu));
        let projected = lists.apply(&weights).unwrap();
        assert!((projected.double_value(&[17]) - 4999.0 / 2.0).abs() < 1e-9);
        assert_eq!(projected.double_value(&[5007]), 5007.0);
    }
}
