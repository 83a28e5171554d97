//! The paper's table: mean and standard deviation over five seeds.
//!
//! Its caption says mean square error; the numbers are those of a root mean square over a rollout of 20 steps, as the code it follows
//! computes it.

use crate::smoke::columns::{COLUMNS, Column};
use crate::smoke::data::Kind;

use super::cells::Test;

/// (mean, deviation) of Future and of Domain.
type Cell = [(f64, f64); 2];

/// Equiv, RPP, CLCNN, Lift, RGroup, RGroup+Reg.
const TRANSLATION: [Cell; 6] = [
    [(0.94, 0.02), (0.68, 0.05)],
    [(0.92, 0.01), (0.93, 0.01)],
    [(0.92, 0.01), (0.89, 0.01)],
    [(0.87, 0.03), (0.70, 0.00)],
    [(0.71, 0.01), (0.62, 0.02)],
    [(0.72, 0.01), (0.62, 0.01)],
];

/// All columns.
const ROTATION: [Cell; 9] = [
    [(1.21, 0.01), (1.10, 0.05)],
    [(1.05, 0.06), (0.76, 0.02)],
    [(0.96, 0.10), (0.83, 0.01)],
    [(0.96, 0.05), (0.84, 0.10)],
    [(0.82, 0.08), (0.68, 0.09)],
    [(0.82, 0.01), (0.73, 0.02)],
    [(0.80, 0.01), (0.67, 0.01)],
    [(0.80, 0.00), (0.67, 0.01)],
    [(0.79, 0.00), (0.58, 0.00)],
];

/// All columns.
const SCALING: [Cell; 9] = [
    [(0.83, 0.01), (0.95, 0.02)],
    [(0.75, 0.03), (0.87, 0.02)],
    [(0.81, 0.09), (0.86, 0.05)],
    [(1.03, 0.01), (0.83, 0.05)],
    [(0.85, 0.01), (0.77, 0.02)],
    [(0.80, 0.01), (0.88, 0.01)],
    [(0.81, 0.00), (0.88, 0.02)],
    [(0.70, 0.01), (0.73, 0.01)],
    [(0.62, 0.01), (0.69, 0.01)],
];

/// Mean and deviation of a cell; `None` where the paper has none.
pub(super) fn published(kind: Kind, column: Column, test: Test) -> Option<(f64, f64)> {
    let of_row: &[Cell] = match kind {
        Kind::Translation => &TRANSLATION,
        Kind::Rotation => &ROTATION,
        Kind::Scaling => &SCALING,
    };
    let mut columns = COLUMNS.into_iter().filter(|column| column.exists(kind));
    columns.position(|other| other == column).map(|place| of_row[place][test as usize])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::smoke::networks::Architecture::{Clcnn, Conv, Rgroup, Rsteer};

    #[test]
    fn cells_are_found_by_row_and_column() {
        let of = |kind, column, test| published(kind, column, test).map(|(mean, _)| mean);
        assert_eq!(of(Kind::Translation, Column::of(Rgroup, true), Test::Future), Some(0.72));
        assert_eq!(of(Kind::Rotation, Column::of(Rsteer, true), Test::Domain), Some(0.58));
        assert_eq!(of(Kind::Scaling, Column::of(Clcnn, false), Test::Future), Some(1.03));
        assert_eq!(of(Kind::Translation, Column::of(Conv, false), Test::Future), None);
    }
}
