//! A sparse matrix E on the host, column after column, before a device takes it as [`Lists`](super::lists::Lists).

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
}
