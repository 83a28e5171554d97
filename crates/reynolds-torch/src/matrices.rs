//! Parameters as weight matrices `[rows, columns]`, those of one shape together: norms other than Frobenius see them so.

use tch::{Device, Kind, Tensor};

use crate::error::Result;
use crate::parameters::Entry;

/// The parameters of a flat tensor, gathered by shape.
#[derive(Debug)]
pub(crate) struct Matrices {
    /// Rows, columns, whether complex, how many.
    shapes: Vec<(Shape, i64)>,
    /// Where the numbers of the gathered parameters come from and go to, `[len]` (int32), if not from where they are.
    order: Option<(Tensor, Tensor)>,
    /// Number of each gathered parameter in the flat tensor.
    numbers: Vec<usize>,
}

/// Complex ones first, so that pairs begin at even places.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Shape {
    real: bool,
    rows: i64,
    columns: i64,
}

impl Shape {
    /// A kernel `[out, in, k…]` has `out` rows.
    fn of(entry: &Entry) -> Self {
        let rows = entry.shape.first().copied().unwrap_or(1);
        Self { real: !entry.complex, rows: rows as i64, columns: (entry.numel() / rows.max(1)) as i64 }
    }

    /// Real numbers of a matrix.
    fn len(self) -> i64 {
        self.rows * self.columns * if self.real { 1 } else { 2 }
    }
}

impl Matrices {
    /// `entries` follow each other in the flat tensor.
    pub(crate) fn new(entries: &[&Entry], device: Device) -> Result<Self> {
        let mut sorted: Vec<(Shape, usize)> = entries.iter().map(|entry| Shape::of(entry)).zip(0..).collect();
        sorted.sort();
        let mut shapes: Vec<(Shape, i64)> = Vec::new();
        for (shape, _) in &sorted {
            match shapes.last_mut() {
                Some((last, count)) if last == shape => *count += 1,
                _ => shapes.push((*shape, 1)),
            }
        }
        let numbers: Vec<usize> = sorted.iter().map(|(_, number)| *number).collect();
        let in_order = numbers.iter().enumerate().all(|(place, &number)| place == number);
        let order = if in_order { None } else { Some(permutation(entries, &numbers, device)?) };
        Ok(Self { shapes, order, numbers })
    }

    /// Number of each gathered parameter in the flat tensor.
    pub(crate) fn numbers(&self) -> &[usize] {
        &self.numbers
    }

    /// The matrices of each shape, `[count, rows, columns]`, real or complex, of the flat tensor `[len]`.
    pub(crate) fn split(&self, flat: &Tensor) -> Result<Vec<Tensor>> {
        let gathered = match &self.order {
            Some((from, _)) => flat.f_index_select(0, from)?,
            None => flat.shallow_clone(),
        };
        let mut start = 0;
        let part = |&(shape, count): &(Shape, i64)| -> Result<Tensor> {
            let numbers = gathered.f_narrow(0, start, count * shape.len())?;
            start += count * shape.len();
            let sizes = [count, shape.rows, shape.columns, 2];
            Ok(if shape.real { numbers.f_view(&sizes[..3])? } else { numbers.f_view(sizes)?.f_view_as_complex()? })
        };
        self.shapes.iter().map(part).collect()
    }

    /// The flat tensor `[len]` of the matrices of each shape.
    pub(crate) fn join(&self, matrices: &[Tensor]) -> Result<Tensor> {
        let real = matrices.iter().zip(&self.shapes).map(|(matrices, (shape, _))| {
            let numbers = if shape.real { matrices.shallow_clone() } else { matrices.f_view_as_real()? };
            Ok(numbers.f_reshape([-1])?)
        });
        let gathered = Tensor::f_cat(&real.collect::<Result<Vec<_>>>()?, 0)?;
        Ok(match &self.order {
            Some((_, back)) => gathered.f_index_select(0, back)?,
            None => gathered,
        })
    }
}

/// The numbers of the entries in another order, and the way back.
fn permutation(entries: &[&Entry], numbers: &[usize], device: Device) -> Result<(Tensor, Tensor)> {
    let mut starts = Vec::with_capacity(entries.len());
    let mut len = 0;
    for entry in entries {
        starts.push(len);
        len += entry.len();
    }
    let from: Vec<i32> = numbers
        .iter()
        .flat_map(|&number| (starts[number]..starts[number] + entries[number].len()).map(|at| at as i32))
        .collect();
    let mut back = vec![0; from.len()];
    from.iter().enumerate().for_each(|(to, &at)| back[at as usize] = to as i32);
    let upload = |index: &[i32]| -> Result<Tensor> {
        Ok(Tensor::f_from_slice(index)?.f_to_device(device)?.f_to_kind(Kind::Int)?)
    };
    Ok((upload(&from)?, upload(&back)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(shape: &[usize], complex: bool) -> Entry {
        Entry { name: String::new(), shape: shape.to_vec(), complex, start: 0 }
    }

    #[test]
    fn equal_shapes_are_gathered_and_come_back_to_their_places() {
        let entries = [entry(&[2, 1, 2], false), entry(&[3], false), entry(&[1, 2], true), entry(&[2, 2], false)];
        let matrices = Matrices::new(&entries.iter().collect::<Vec<_>>(), Device::Cpu).unwrap();
        let flat = Tensor::from_slice(&(0..15).map(f64::from).collect::<Vec<_>>());
        let parts = matrices.split(&flat).unwrap();
        let sizes: Vec<_> = parts.iter().map(Tensor::size).collect();
        assert_eq!(sizes, [[1, 1, 2], [2, 2, 2], [1, 3, 1]]);
        assert_eq!(matrices.numbers(), [2, 0, 3, 1]);
        assert_eq!(Vec::<f64>::try_from(parts[1].get(1).reshape([-1])).unwrap(), [11.0, 12.0, 13.0, 14.0]);
        assert_eq!(matrices.join(&parts).unwrap(), flat);
    }
}
