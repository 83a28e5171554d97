//! Parameters as weight matrices `[rows, columns]`, those of one shape together: norms other than Frobenius see them so.

use tch::{Device, Tensor};

use crate::device::upload_order;
use crate::error::Result;
use crate::parameters::Entry;

/// The parameters of a flat tensor, gathered by shape.
#[derive(Debug)]
pub(crate) struct Matrices {
    /// Each shape, and how many matrices it has.
    shapes: Vec<(Shape, i64)>,
    /// Source and destination of the gathered numbers, `[len]` (int32) both; `None` if they are in order already.
    order: Option<[Tensor; 2]>,
    /// Number of each gathered parameter in the flat tensor.
    numbers: Vec<usize>,
}

/// Complex ones come first, so that pairs begin at even places.
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
}

impl Matrices {
    /// `entries` follow each other in the flat tensor.
    pub(crate) fn new(entries: &[&Entry], device: Device) -> Result<Self> {
        let mut sorted: Vec<(Shape, usize)> = entries.iter().map(|entry| Shape::of(entry)).zip(0..).collect();
        sorted.sort();
        let shapes = sorted.chunk_by(|a, b| a.0 == b.0).map(|same| (same[0].0, same.len() as i64)).collect();
        let numbers: Vec<usize> = sorted.iter().map(|(_, number)| *number).collect();
        let mut starts = vec![0];
        starts.extend(entries.iter().scan(0, |end, entry| {
            *end += entry.len() as i32;
            Some(*end)
        }));
        let from: Vec<i32> = numbers.iter().flat_map(|&number| starts[number]..starts[number + 1]).collect();
        let order = (!numbers.is_sorted()).then(|| upload_order(&from, device)).transpose()?;
        Ok(Self { shapes, order, numbers })
    }

    /// Number of each gathered parameter in the flat tensor.
    pub(crate) fn numbers(&self) -> &[usize] {
        &self.numbers
    }

    /// The matrices of each shape, `[count, rows, columns]`, real or complex, of the flat tensor `[len]`.
    pub(crate) fn split(&self, flat: &Tensor) -> Result<Vec<Tensor>> {
        let gathered = match &self.order {
            Some([from, _]) => flat.f_index_select(0, from)?,
            None => flat.shallow_clone(),
        };
        let mut start = 0;
        let part = |&(shape, count): &(Shape, i64)| -> Result<Tensor> {
            let sizes = [count, shape.rows, shape.columns, 2];
            let sizes = if shape.real { &sizes[..3] } else { &sizes };
            let len = sizes.iter().product();
            let numbers = gathered.f_narrow(0, start, len)?.f_view(sizes)?;
            start += len;
            Ok(if shape.real { numbers } else { numbers.f_view_as_complex()? })
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
            Some([_, back]) => gathered.f_index_select(0, back)?,
            None => gathered,
        })
    }
}

#[cfg(test)]
mod tests {
    use tch::Kind;

    use super::*;

    #[test]
    fn equal_shapes_are_gathered_and_come_back_to_their_places() {
        let shapes = [(&[2, 1, 2][..], false), (&[3], false), (&[1, 2], true), (&[2, 2], false)];
        let entry =
            |(shape, complex): (&[usize], bool)| Entry { name: String::new(), shape: shape.into(), complex, start: 0 };
        let entries = shapes.map(entry);
        let matrices = Matrices::new(&entries.iter().collect::<Vec<_>>(), Device::Cpu).unwrap();
        let flat = Tensor::arange(15, (Kind::Double, Device::Cpu));
        let parts = matrices.split(&flat).unwrap();
        let sizes: Vec<_> = parts.iter().map(Tensor::size).collect();
        assert_eq!(sizes, [[1, 1, 2], [2, 2, 2], [1, 3, 1]]);
        assert_eq!(matrices.numbers(), [2, 0, 3, 1]);
        assert_eq!(Vec::<f64>::try_from(parts[1].get(1).reshape([-1])).unwrap(), [11.0, 12.0, 13.0, 14.0]);
        assert_eq!(matrices.join(&parts).unwrap(), flat);
    }
}
