//! The isotypic mask M: which pairs of channels may be coupled at all.

/// M\[o, i\] = 1 iff the output channel o and the input channel i belong to equivalent irreps.
///
/// Where all irreps are one-dimensional, as for the harmonics of SO(2), P(W) = M ⊙ W.
/// Paper: section 4.1, and "masking" in `fig:irreps_projection_sketch`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IsotypicMask {
    rows: Vec<u32>,
    columns: Vec<u32>,
}

impl IsotypicMask {
    /// A mask from the number of the irrep each channel belongs to.
    pub(super) fn new(rows: Vec<u32>, columns: Vec<u32>) -> Self {
        Self { rows, columns }
    }

    /// Whether output channel `o` and input channel `i` may be coupled.
    pub fn allows(&self, o: usize, i: usize) -> bool {
        self.rows[o] == self.columns[i]
    }

    /// Row-major `[out, in]`.
    pub fn to_vec(&self) -> Vec<bool> {
        let columns = &self.columns;
        self.rows.iter().flat_map(|row| columns.iter().map(move |column| row == column)).collect()
    }
}
