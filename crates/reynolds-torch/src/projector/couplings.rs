//! A sparse matrix E on the host, column after column, before a device takes it as [`Lists`](super::lists::Lists) or as
//! [`Sparse`](super::sparse::Sparse).

use faer::Mat;

/// Columns of E, each a list of rows with their factors.
#[derive(Debug, Default)]
pub(super) struct Couplings {
    /// Row and factor of every entry, column after column.
    entries: Vec<(i32, f64)>,
    /// Where each column ends.
    ends: Vec<usize>,
    /// Rows of zeros, each with a column that stands for them.
    dead: Vec<(i32, i32)>,
}

impl Couplings {
    pub(super) fn push(&mut self, column: impl IntoIterator<Item = (i32, f64)>) {
        self.entries.extend(column);
        self.ends.push(self.entries.len());
    }

    /// Has rows of zeros made of the last column: of their own tile, so that what is wrong in one tile stays there.
    pub(super) fn dead(&mut self, rows: impl IntoIterator<Item = i32>) {
        let last = self.ends.len() as i32 - 1;
        self.dead.extend(rows.into_iter().map(|row| (row, last)));
    }

    pub(super) fn len(&self) -> usize {
        self.ends.len()
    }

    pub(super) fn columns(&self) -> impl Iterator<Item = &[(i32, f64)]> {
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        starts.zip(&self.ends).map(|(start, &end)| &self.entries[start..end])
    }

    pub(super) fn longest(&self) -> usize {
        self.columns().map(<[_]>::len).max().unwrap_or(1)
    }

    /// Eᵀ with `rows` rows; a row of zeros gets one explicit 0.
    pub(super) fn transposed(&self, rows: usize) -> Self {
        let dead = self.dead.iter().map(|&(row, column)| (row, column, 0.0));
        let listed = self.columns().zip(0..);
        let listed = listed.flat_map(|(list, column)| list.iter().map(move |&(row, factor)| (row, column, factor)));
        let mut all: Vec<(i32, i32, f64)> = listed.chain(dead).collect();
        all.sort_by_key(|&(row, ..)| row);
        let (mut transposed, mut rest) = (Self::default(), &all[..]);
        for row in 0..rows as i32 {
            let (of_row, behind) = rest.split_at(rest.partition_point(|&(first, ..)| first == row));
            transposed.push(of_row.iter().map(|&(_, column, factor)| (column, factor)));
            rest = behind;
        }
        transposed
    }

    /// (1 ⊗ F) E of coordinates that are made by functions, part after part: so many numbers and F `[points, functions]`, or none where
    /// numbers are their own coordinates. `None` if it has more than `most` entries.
    pub(super) fn spread(&self, parts: &[(usize, Option<Mat<f64>>)], most: usize) -> Option<Self> {
        let mut spread = Self::default();
        for list in self.columns() {
            let mut column = Vec::new();
            for &(coordinate, factor) in list.iter().filter(|(_, factor)| *factor != 0.0) {
                column.extend(function(parts, coordinate as usize).map(|(row, value)| (row, factor * value)));
            }
            // Several functions of one kernel come to one place.
            column.sort_by_key(|&(row, _)| row);
            spread.push(column.chunk_by(|a, b| a.0 == b.0).map(|same| (same[0].0, same.iter().map(|(_, v)| v).sum())));
            if spread.entries.len() > most {
                return None;
            }
        }
        Some(spread)
    }
}

/// The numbers that a coordinate is spread over, and its function there.
fn function(parts: &[(usize, Option<Mat<f64>>)], mut coordinate: usize) -> impl Iterator<Item = (i32, f64)> + use<'_> {
    let mut start = 0;
    for (numbers, functions) in parts {
        let (points, count) = functions.as_ref().map_or((1, 1), |f| (f.nrows(), f.ncols()));
        if coordinate < numbers / points * count {
            let (row, function) = (coordinate / count, coordinate % count);
            let value = move |point: usize| functions.as_ref().map_or(1.0, |f| f[(point, function)]);
            let values = (0..points).map(move |point| ((start + row * points + point) as i32, value(point)));
            return values.filter(|(_, value)| value.abs() > f64::EPSILON);
        }
        coordinate -= numbers / points * count;
        start += numbers;
    }
    panic!("a coordinate of one of the parts")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kernels_and_plain_numbers_by_hand() {
        // One kernel of three points in two functions, then one number that is its own coordinate.
        let f = Mat::from_fn(3, 2, |point, function| [[0.6, 0.8], [0.8, -0.6], [0.0, 0.0]][point][function]);
        let parts = [(3, Some(f)), (1, None)];
        let mut couplings = Couplings::default();
        couplings.push([(0, 0.48), (1, 0.36), (2, 0.8)]);
        couplings.push([(1, 0.0)]);
        let spread = couplings.spread(&parts, 9).unwrap();
        let columns: Vec<_> = spread.columns().collect();
        let expected = [(0, 0.576), (1, 0.168), (3, 0.8)];
        assert!(columns[0].iter().zip(expected).all(|(a, b)| a.0 == b.0 && (a.1 - b.1).abs() < 1e-15), "{columns:?}");
        assert_eq!((columns[0].len(), columns[1].len()), (3, 0));
        assert!(couplings.spread(&parts, 2).is_none());
        let rows: Vec<usize> = spread.transposed(4).columns().map(<[_]>::len).collect();
        assert_eq!(rows, [1, 1, 0, 1]);
    }
}
