//! One tensor of a checkpoint: its name, shape, type, and where its elements lie.

use std::fmt;

/// Number type of a tensor's elements.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Dtype {
    /// IEEE single precision.
    F32,
    /// IEEE double precision.
    F64,
    /// IEEE half precision.
    F16,
    /// The upper half of single precision.
    BF16,
    /// Complex: real and imaginary part in single precision.
    C64,
    /// Complex: real and imaginary part in double precision.
    C128,
    /// Any other type, under the name its format gives it; listed and copied, never read.
    Other(String),
}

impl Dtype {
    /// Bytes of one element; `None` for types that are not read.
    pub fn size(&self) -> Option<usize> {
        match self {
            Dtype::C128 => Some(16),
            Dtype::F64 | Dtype::C64 => Some(8),
            Dtype::F32 => Some(4),
            Dtype::F16 | Dtype::BF16 => Some(2),
            Dtype::Other(_) => None,
        }
    }

    /// Numbers of one element: 2 of a complex type.
    pub fn parts(&self) -> usize {
        if matches!(self, Dtype::C64 | Dtype::C128) { 2 } else { 1 }
    }
}

impl fmt::Display for Dtype {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Dtype::F32 => f.write_str("f32"),
            Dtype::F64 => f.write_str("f64"),
            Dtype::F16 => f.write_str("f16"),
            Dtype::BF16 => f.write_str("bf16"),
            Dtype::C64 => f.write_str("c64"),
            Dtype::C128 => f.write_str("c128"),
            Dtype::Other(name) => f.write_str(name),
        }
    }
}

/// Bytes of a checkpoint that hold one or several tensors; equal for tensors of the same storage, which may still share no element:
/// see [`Entry::overlaps`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StorageId(pub(crate) usize);

/// One tensor of a checkpoint.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Entry {
    /// Name; for nested dictionaries and lists the keys joined with ".".
    pub name: String,
    /// Shape, slowest index first; empty for a scalar.
    pub shape: Vec<usize>,
    /// Number type.
    pub dtype: Dtype,
    /// The storage that holds it.
    pub storage: StorageId,
    /// Byte of the storage where element (0, …, 0) begins.
    pub(crate) start: usize,
    /// Steps between neighbours, in elements, per index.
    pub(crate) strides: Vec<usize>,
}

impl Entry {
    /// Number of elements. Checked at opening not to overflow.
    pub fn len(&self) -> usize {
        self.shape.iter().product()
    }

    /// Whether there are no elements.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Numbers that [`Checkpoint::read`](crate::Checkpoint::read) gives: one an element, two where it is complex.
    pub fn numbers(&self) -> usize {
        self.len() * self.dtype.parts()
    }

    /// Whether the values can be read: f32, f64, f16, bf16, or complex.
    pub fn is_float(&self) -> bool {
        self.dtype.size().is_some()
    }

    /// Whether the elements lie one after the other in row-major order.
    pub fn is_contiguous(&self) -> bool {
        let mut expected = 1;
        self.is_empty()
            || self.shape.iter().zip(&self.strides).rev().all(|(&size, &stride)| {
                let fits = size == 1 || stride == expected;
                expected *= size;
                fits
            })
    }

    /// Storage, range of bytes there and number of elements: equal for tensors that lie on the same bytes, as a weight and its transpose do.
    pub fn place(&self) -> (StorageId, std::ops::Range<usize>, usize) {
        (self.storage, self.span(self.dtype.size().unwrap_or(1)), self.len())
    }

    /// Whether the two share at least one byte. Exact for tensors that can be read; for other types whole storages are compared.
    pub fn overlaps(&self, other: &Entry) -> bool {
        if self.storage != other.storage || self.is_empty() || other.is_empty() {
            return false;
        }
        let (Some(size), Some(other_size)) = (self.dtype.size(), other.dtype.size()) else {
            return true;
        };
        let (mine, theirs) = (self.span(size), other.span(other_size));
        let (from, to) = (mine.start.max(theirs.start), mine.end.min(theirs.end));
        if from >= to {
            return false;
        }
        let both_contiguous = self.is_contiguous() && other.is_contiguous();
        if both_contiguous || self.repeats() || other.repeats() {
            return true;
        }
        let mut taken = vec![false; to - from];
        let within = |byte: usize| (from..to).contains(&byte).then(|| byte - from);
        self.for_each_element(size, |at| (at..at + size).filter_map(within).for_each(|byte| taken[byte] = true));
        let mut shared = false;
        other.for_each_element(other_size, |at| {
            shared |= (at..at + other_size).filter_map(within).any(|byte| taken[byte])
        });
        shared
    }

    /// Whether one stored number may be several elements, as after `expand` or `unfold`: when the step along some index is not longer than
    /// what the shorter steps reach together. Slices and permutations of an array never repeat.
    pub(crate) fn repeats(&self) -> bool {
        let mut steps: Vec<(usize, usize)> =
            self.strides.iter().copied().zip(self.shape.iter().copied()).filter(|&(_, size)| size > 1).collect();
        steps.sort_unstable();
        let mut reach = 0;
        !self.is_empty()
            && steps.into_iter().any(|(stride, size)| {
                let repeats = stride <= reach;
                reach += (size - 1) * stride;
                repeats
            })
    }

    /// First byte and one past the last byte, for elements of `size` bytes; empty for an empty tensor.
    pub(crate) fn span(&self, size: usize) -> std::ops::Range<usize> {
        if self.is_empty() {
            return self.start..self.start;
        }
        let last: usize = self.shape.iter().zip(&self.strides).map(|(&n, &stride)| (n - 1) * stride).sum();
        self.start..self.start + (last + 1) * size
    }

    /// Calls `visit` with the first byte of every element, in row-major order of the index.
    pub(crate) fn for_each_element(&self, size: usize, mut visit: impl FnMut(usize)) {
        if self.is_contiguous() {
            (0..self.len()).for_each(|n| visit(self.start + n * size));
        } else {
            for_each_place(&self.shape, &self.strides, size, self.start, &mut visit);
        }
    }
}

/// The first byte of every element, index by index.
fn for_each_place(shape: &[usize], strides: &[usize], size: usize, start: usize, visit: &mut impl FnMut(usize)) {
    match (shape, strides) {
        ([count], [stride]) => (0..*count).for_each(|n| visit(start + n * stride * size)),
        ([count, shape @ ..], [stride, strides @ ..]) => {
            (0..*count).for_each(|n| for_each_place(shape, strides, size, start + n * stride * size, visit));
        }
        _ => visit(start),
    }
}

/// Steps between neighbours of an array whose last index runs fastest. The product of the sizes was checked not to overflow.
pub(crate) fn row_major(shape: &[usize]) -> Vec<usize> {
    let mut strides = vec![1; shape.len()];
    for index in (1..shape.len()).rev() {
        strides[index - 1] = strides[index] * shape[index].max(1);
    }
    strides
}

#[cfg(test)]
mod tests {
    use super::*;

    fn view(start: usize, shape: &[usize], strides: &[usize]) -> Entry {
        let (shape, strides) = (shape.into(), strides.into());
        Entry { name: "t".into(), shape, dtype: Dtype::F32, storage: StorageId(0), start, strides }
    }

    #[test]
    fn elements_are_visited_in_row_major_order() {
        let mut seen = Vec::new();
        view(4, &[3, 2], &[1, 3]).for_each_element(4, |at| seen.push(at));
        assert_eq!(seen, [4, 16, 8, 20, 12, 24]);
        seen.clear();
        view(0, &[2, 1, 2], &row_major(&[2, 1, 2])).for_each_element(4, |at| seen.push(at));
        assert_eq!(seen, [0, 4, 8, 12]);
    }

    #[test]
    fn windows_that_overlap_and_expanded_views_repeat() {
        assert!(view(0, &[3, 2], &[1, 1]).repeats());
        assert!(view(0, &[3, 2], &[0, 1]).repeats());
        assert!(view(0, &[2; 40], &[1; 40]).repeats());
        for (shape, strides) in
            [(&[3, 2][..], &[1, 3][..]), (&[3, 2], &[8, 4]), (&[1, 2], &[0, 1]), (&[2, 3, 4], &[1, 8, 2])]
        {
            assert!(!view(0, shape, strides).repeats(), "{shape:?} {strides:?}");
        }
        assert!(!view(0, &[0, 5], &[0, 0]).repeats());
    }
}
