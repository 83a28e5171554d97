//! Sums over each parameter of a flat tensor, and numbers spread over each parameter, without an operation a parameter.
//!
//! ```text
//! flat:  [ … | block | block | block … ]      a parameter = whole blocks, gathered from the sums of all blocks, and edges
//! ```
//!
//! Where the parameters' lengths have a common divisor that is long enough, blocks are that long and there are no edges.

use tch::{Device, Kind, Tensor};

use crate::device::upload;
use crate::error::Result;

/// The shortest common divisor that makes a block.
const SHORTEST: i64 = 16;

/// The parameters of a flat tensor, by their lengths.
#[derive(Debug)]
pub(crate) struct Segments {
    count: i64,
    /// Numbers in a block, and how many blocks there are.
    block: i64,
    blocks: i64,
    /// The whole blocks of each parameter of two tensors, `[2 · count · per parameter]` (int32), filled up with the number after the
    /// last; `None` if each parameter is one block.
    whole: Option<Tensor>,
    /// The numbers of each parameter in no whole block, `[count · per parameter]` (int32), and 1 where they are some, `[count, per parameter]`.
    edges: Option<(Tensor, Tensor)>,
    zero: Tensor,
    /// The parameter each number belongs to, `[len]` (int32).
    owner: Tensor,
}

impl Segments {
    pub(crate) fn new(lengths: &[i64], device: Device) -> Result<Self> {
        let owner: Vec<i32> =
            lengths.iter().zip(0..).flat_map(|(&len, number)| std::iter::repeat_n(number, len as usize)).collect();
        let block = block_length(lengths);
        let blocks = lengths.iter().sum::<i64>() / block;
        let (mut whole, mut edges, mut start) = (Vec::new(), Vec::new(), 0);
        for len in lengths {
            let end = start + len;
            let first = ((start + block - 1) / block).min(blocks);
            let last = (end / block).max(first);
            // Without a whole block all numbers are at the edge.
            let (left, right) = if first == last { (end, end) } else { (first * block, last * block) };
            edges.push((start..left).chain(right..end).collect());
            whole.push((first..last).collect::<Vec<i64>>());
            start = end;
        }
        let one_each = whole.iter().all(|blocks| blocks.len() == 1) && edges.iter().all(Vec::is_empty);
        Ok(Self {
            count: lengths.len() as i64,
            block,
            blocks,
            whole: if one_each { None } else { Some(whole_table(&whole, blocks, device)?) },
            edges: edges_table(&edges, device)?,
            zero: Tensor::f_zeros([1], (Kind::Double, device))?,
            owner: upload(&owner, Kind::Int, device)?,
        })
    }

    /// Σ w² over each parameter of two tensors `[len]`: `[2, count]`, in double precision from the sums of blocks on.
    pub(crate) fn energies(&self, tensors: [&Tensor; 2]) -> Result<Tensor> {
        let squares = [tensors[0].f_square()?, tensors[1].f_square()?];
        let sums = |squares: &Tensor| -> Result<Tensor> {
            let inside = squares.f_narrow(0, 0, self.blocks * self.block)?.f_view([self.blocks, self.block])?;
            Ok(inside.f_sum_dim_intlist(1, false, None)?.f_to_kind(Kind::Double)?)
        };
        let blocks = [sums(&squares[0])?, sums(&squares[1])?];
        // Gathered from flat tensors: along a second dimension libtorch copies number by number.
        let mut sums = match &self.whole {
            Some(whole) => {
                let padded = Tensor::f_cat(&[&blocks[0], &self.zero, &blocks[1], &self.zero], 0)?;
                let gathered = padded.f_index_select(0, whole)?.f_view([2, self.count, -1])?;
                gathered.f_sum_dim_intlist(2, false, None)?
            }
            None => Tensor::f_stack(&blocks, 0)?,
        };
        if let Some((edges, ones)) = &self.edges {
            let edges = [squares[0].f_index_select(0, edges)?, squares[1].f_index_select(0, edges)?];
            let outside = Tensor::f_stack(&edges, 0)?.f_to_kind(Kind::Double)?.f_view([2, self.count, -1])?;
            sums = sums.f_add(&outside.f_mul(ones)?.f_sum_dim_intlist(2, false, None)?)?;
        }
        Ok(sums)
    }

    /// Each parameter's number, for all its weights: `[count]` to `[len]`.
    pub(crate) fn spread(&self, numbers: &Tensor) -> Result<Tensor> {
        match self.count {
            1 => Ok(numbers.shallow_clone()),
            _ => Ok(numbers.f_index_select(0, &self.owner)?),
        }
    }
}

/// The greatest common divisor of the lengths if it is long enough, else about the root of the longest.
fn block_length(lengths: &[i64]) -> i64 {
    fn common(a: i64, b: i64) -> i64 {
        if b == 0 { a } else { common(b, a % b) }
    }
    let divisor = lengths.iter().fold(0, |a, &b| common(a, b));
    let longest = lengths.iter().copied().max().unwrap_or(1);
    let root = ((longest / 2) as f64).sqrt().ceil().max(1.0) as u64;
    let root = root.next_power_of_two() as i64;
    // Short blocks of a long parameter would fill the table of a short one with as many zeros.
    let fits = || longest / divisor <= 4 * (longest / root + 2 * root);
    if divisor >= SHORTEST.min(root) && fits() { divisor } else { root }
}

/// Lists filled up to one length, and that length.
fn table(lists: &[Vec<i64>], fill: impl Fn(&[i64]) -> i64) -> (Vec<i32>, usize) {
    let longest = lists.iter().map(Vec::len).max().unwrap_or(0);
    let filled = |list: &Vec<i64>| {
        let rest = std::iter::repeat_n(fill(list), longest - list.len());
        list.iter().copied().chain(rest).map(|index| index as i32).collect::<Vec<i32>>()
    };
    (lists.iter().flat_map(filled).collect(), longest)
}

/// The blocks of each parameter of two tensors, each followed by a zero.
fn whole_table(whole: &[Vec<i64>], blocks: i64, device: Device) -> Result<Tensor> {
    let (first, _) = table(whole, |_| blocks);
    let second: Vec<i32> = first.iter().map(|&index| index + blocks as i32 + 1).collect();
    upload(&[first, second].concat(), Kind::Int, device)
}

/// The edges of each parameter, filled up with a number of its own or, if it has none, of another.
fn edges_table(edges: &[Vec<i64>], device: Device) -> Result<Option<(Tensor, Tensor)>> {
    let Some(&some) = edges.iter().flatten().next() else { return Ok(None) };
    let (index, longest) = table(edges, |list| list.first().copied().unwrap_or(some));
    let ones = edges.iter().flat_map(|list| (0..longest).map(|at| if at < list.len() { 1.0 } else { 0.0 }));
    let ones = upload(&ones.collect::<Vec<f64>>(), Kind::Double, device)?.f_view([-1, longest as i64])?;
    Ok(Some((upload(&index, Kind::Int, device)?, ones)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{largest, normal};

    #[test]
    fn parameters_of_any_lengths_are_summed_and_numbers_are_spread_over_them() {
        let cases: [&[i64]; 8] = [
            &[1],
            &[7],
            &[64, 64],
            &[3, 5, 1, 2],
            &[1000, 1, 999, 17],
            &[32400, 36, 32400, 36],
            &[5, 4096],
            &[1, 1, 1],
        ];
        for lengths in cases {
            let segments = Segments::new(lengths, Device::Cpu).unwrap();
            let weights = normal(&[lengths.iter().sum()], 1);
            let found = segments.energies([&weights, &(&weights * 2.0)]).unwrap();
            let parts = weights.split_with_sizes(lengths, 0);
            let sums = Tensor::stack(&parts.iter().map(|part| part.dot(part)).collect::<Vec<_>>(), 0);
            let expected = Tensor::stack(&[&sums, &(&sums * 4.0)], 0);
            assert!(largest(&(&found / expected - 1.0)) <= 1e-12, "{lengths:?}");
            let numbers: Vec<Tensor> =
                lengths.iter().zip(0..).map(|(&len, n)| sums.get(n).expand([len], false)).collect();
            assert!(largest(&(segments.spread(&sums).unwrap() - Tensor::cat(&numbers, 0))) == 0.0);
        }
    }

    #[test]
    fn equal_parameters_are_blocks() {
        let segments = Segments::new(&[5184, 5184], Device::Cpu).unwrap();
        assert!(segments.whole.is_none() && segments.edges.is_none());
        assert!(Segments::new(&[32400, 36, 32400, 36], Device::Cpu).unwrap().edges.is_none());
    }
}
