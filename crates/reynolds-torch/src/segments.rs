//! Sums over each parameter of a flat tensor, and numbers spread over each parameter, without an operation a parameter.
//!
//! ```text
//! flat:  [ … | block | block | block … ]      a parameter = whole blocks, gathered from the sums of all blocks, and what sticks out
//! ```
//!
//! Where the parameters' lengths have a common divisor that is long enough, blocks are that long and nothing sticks out.

use tch::{Device, Kind, Tensor};

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
    /// The numbers of each parameter that lie in no whole block, `[count · per parameter]` (int32), and ones where they are some,
    /// `[count, per parameter]`.
    edges: Option<(Tensor, Tensor)>,
    zero: Tensor,
    /// The parameter each number belongs to, `[len]` (int32).
    owner: Tensor,
}

impl Segments {
    pub(crate) fn new(lengths: &[i64], device: Device) -> Result<Self> {
        let owner: Vec<i32> =
            lengths.iter().enumerate().flat_map(|(k, &len)| std::iter::repeat_n(k as i32, len as usize)).collect();
        let block = block_length(lengths);
        let blocks = lengths.iter().sum::<i64>() / block;
        let (mut whole, mut edges, mut start) = (Vec::new(), Vec::new(), 0);
        for len in lengths {
            let end = start + len;
            let (first, last) = (((start + block - 1) / block).min(blocks), end / block);
            let inside = first..last.max(first);
            edges.push(if inside.is_empty() {
                (start..end).collect::<Vec<i64>>()
            } else {
                (start..first * block).chain(last * block..end).collect()
            });
            whole.push(inside.collect::<Vec<i64>>());
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
            owner: Tensor::f_from_slice(&owner)?.f_to_device(device)?,
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
        if self.count == 1 {
            return Ok(numbers.shallow_clone());
        }
        Ok(numbers.f_index_select(0, &self.owner)?)
    }
}

/// The greatest common divisor of the lengths if it is long enough, else about the root of the longest.
fn block_length(lengths: &[i64]) -> i64 {
    let divisor = lengths.iter().fold(0, |a, &b| greatest_common_divisor(a, b));
    let longest = lengths.iter().copied().max().unwrap_or(1);
    let root = ((longest / 2) as f64).sqrt().ceil().max(1.0) as i64;
    let root = (root as u64).next_power_of_two() as i64;
    // Short blocks of a long parameter would fill the table of a short one with as many zeros.
    let fits = || longest / divisor <= 4 * (longest / root + 2 * root);
    if divisor >= SHORTEST.min(root) && fits() { divisor } else { root }
}

fn greatest_common_divisor(a: i64, b: i64) -> i64 {
    if b == 0 { a } else { greatest_common_divisor(b, a % b) }
}

/// Lists filled up to the same length.
fn table(lists: &[Vec<i64>], fill: impl Fn(usize) -> i64) -> Vec<i32> {
    let longest = lists.iter().map(Vec::len).max().unwrap_or(0);
    let filled = |number: usize| {
        let rest = std::iter::repeat_n(fill(number), longest - lists[number].len());
        lists[number].iter().copied().chain(rest).map(|index| index as i32)
    };
    (0..lists.len()).flat_map(filled).collect()
}

/// The blocks of each parameter of two tensors, each followed by a zero.
fn whole_table(whole: &[Vec<i64>], blocks: i64, device: Device) -> Result<Tensor> {
    let first = table(whole, |_| blocks);
    let second: Vec<i32> = first.iter().map(|&index| index + blocks as i32 + 1).collect();
    Ok(Tensor::f_from_slice(&[first, second].concat())?.f_to_device(device)?)
}

/// What sticks out of each parameter, filled up with a number of its own or, if nothing does, of another.
fn edges_table(edges: &[Vec<i64>], device: Device) -> Result<Option<(Tensor, Tensor)>> {
    let longest = edges.iter().map(Vec::len).max().unwrap_or(0);
    if longest == 0 {
        return Ok(None);
    }
    let some = edges.iter().flatten().copied().next().unwrap_or(0);
    let index = table(edges, |number| edges[number].first().copied().unwrap_or(some));
    let ones: Vec<f64> =
        edges.iter().flat_map(|list| (0..longest).map(|at| if at < list.len() { 1.0 } else { 0.0 })).collect();
    let ones = Tensor::f_from_slice(&ones)?.f_view([-1, longest as i64])?.f_to_device(device)?;
    Ok(Some((Tensor::f_from_slice(&index)?.f_to_device(device)?, ones)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_of_parameters_of_any_lengths() {
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
            let len: i64 = lengths.iter().sum();
            let weights = Tensor::arange(len, (Kind::Double, Device::Cpu)).sin();
            let twice = &weights * 2.0;
            let found = segments.energies([&weights, &twice]).unwrap();
            assert_eq!(found.size(), [2, lengths.len() as i64], "{lengths:?}");
            let mut start = 0;
            for (number, &len) in lengths.iter().enumerate() {
                let expected = weights.narrow(0, start, len).square().sum(Kind::Double).double_value(&[]);
                let number = number as i64;
                assert!((found.double_value(&[0, number]) - expected).abs() <= 1e-12 * expected, "{lengths:?}");
                assert!((found.double_value(&[1, number]) - 4.0 * expected).abs() <= 4e-12 * expected, "{lengths:?}");
                start += len;
            }
        }
    }

    #[test]
    fn a_number_is_spread_over_its_parameter() {
        let segments = Segments::new(&[2, 3], Device::Cpu).unwrap();
        let spread = segments.spread(&Tensor::from_slice(&[1.5, -2.0])).unwrap();
        assert_eq!(Vec::<f64>::try_from(spread).unwrap(), [1.5, 1.5, -2.0, -2.0, -2.0]);
    }

    #[test]
    fn equal_parameters_are_blocks() {
        let segments = Segments::new(&[5184, 5184], Device::Cpu).unwrap();
        assert!(segments.whole.is_none() && segments.edges.is_none());
        let usual = Segments::new(&[32400, 36, 32400, 36], Device::Cpu).unwrap();
        assert!(usual.edges.is_none());
    }
}
