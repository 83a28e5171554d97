//! Linear interpolation across the trace of the metal: the correction that every other is compared with.

/// Replaces the marked samples of a row by the straight line between the nearest samples that are not, or by the nearest one where a side has
/// none. A row that is marked throughout stays.
pub(super) fn bridge(row: &mut [f32], marked: &[bool]) {
    let mut start = 0;
    while let Some(first) = (start..row.len()).find(|&cell| marked[cell]) {
        let end = (first..row.len()).find(|&cell| !marked[cell]);
        let (before, after) = (first.checked_sub(1).map(|cell| row[cell]), end.map(|cell| row[cell]));
        let end = end.unwrap_or(row.len());
        let (Some(left), Some(right)) = (before.or(after), after.or(before)) else { return };
        let cells = (end - first + 1) as f32;
        for (step, cell) in (first..end).enumerate() {
            row[cell] = left + (right - left) * (step + 1) as f32 / cells;
        }
        start = end;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trace_is_bridged_by_the_line_between_its_neighbours() {
        let (a, b, c) = (true, false, true);
        let mut row = [9.0, 9.0, 1.0, 2.0, 9.0, 9.0, 9.0, 4.0, 9.0, 0.0, 9.0];
        let marked = [a, a, b, b, c, c, c, b, a, b, a];
        bridge(&mut row, &marked);
        assert_eq!(row, [1.0, 1.0, 1.0, 2.0, 2.5, 3.0, 3.5, 4.0, 2.0, 0.0, 0.0]);
    }

    #[test]
    fn rows_without_a_trace_and_rows_of_nothing_else_stay() {
        let mut row = [1.0, 2.0, 3.0];
        bridge(&mut row, &[false; 3]);
        assert_eq!(row, [1.0, 2.0, 3.0]);
        bridge(&mut row, &[true; 3]);
        assert_eq!(row, [1.0, 2.0, 3.0]);
    }
}
