//! A function sampled on a grid of the plane, and its level sets by marching squares.
//!
//! ```text
//! {f ≥ t}: one turn about each connected piece, crossings interpolated along the edges of the grid
//! ```
//!
//! Around the samples lies a rim of −∞ without width, so that the outline of {f ≥ t} closes along the border of the grid.

/// Values `[rows, columns]` of a function on [x₀, x₁] × [y₀, y₁], rows from y₀ up.
#[derive(Debug, Clone, PartialEq)]
pub struct Field {
    columns: usize,
    rows: usize,
    x: [f64; 2],
    y: [f64; 2],
    values: Vec<f64>,
}

/// A line from point to point; closed if it ends where it begins.
pub(super) type Polyline = Vec<[f64; 2]>;

impl Field {
    /// Points `[side², 2]` of a grid over the square [−reach, reach]², row by row from the bottom.
    pub fn square_points(reach: f64, side: usize) -> Vec<[f64; 2]> {
        let at = |step: usize| reach * (2.0 * step as f64 / (side - 1) as f64 - 1.0);
        (0..side).flat_map(|row| (0..side).map(move |column| [at(column), at(row)])).collect()
    }

    /// The values at [`Field::square_points`]; panics unless there are side² of them, and at least four.
    pub fn square(reach: f64, side: usize, values: Vec<f64>) -> Self {
        Self::new(side, side, [-reach, reach], [-reach, reach], values)
    }

    fn new(columns: usize, rows: usize, x: [f64; 2], y: [f64; 2], values: Vec<f64>) -> Self {
        assert!(columns >= 2 && rows >= 2 && values.len() == columns * rows, "{} values", values.len());
        Self { columns, rows, x, y, values }
    }

    /// The quantile `part` of |value|.
    pub fn magnitude_quantile(&self, part: f64) -> f64 {
        let mut sizes: Vec<f64> = self.values.iter().map(|value| value.abs()).collect();
        sizes.sort_by(f64::total_cmp);
        sizes[((sizes.len() - 1) as f64 * part.clamp(0.0, 1.0)).round() as usize]
    }

    /// The outlines of {f ≥ level}, each closed, larger values to the left; their even–odd interior is the set.
    pub(super) fn outlines(&self, level: f64) -> Vec<Polyline> {
        Tracer::new(self, level, true).trace()
    }

    /// The lines {f = level}; open where they leave the grid.
    pub(super) fn lines(&self, level: f64) -> Vec<Polyline> {
        Tracer::new(self, level, false).trace()
    }

    /// A sample of the grid with its rim: row and column count from 1, 0 and beyond are the rim.
    fn sample(&self, column: usize, row: usize) -> f64 {
        let inside = (1..=self.columns).contains(&column) && (1..=self.rows).contains(&row);
        if inside { self.values[(row - 1) * self.columns + column - 1] } else { f64::NEG_INFINITY }
    }

    fn place(&self, column: usize, row: usize) -> [f64; 2] {
        let at = |range: [f64; 2], index: usize, count: usize| {
            let step = (index.clamp(1, count) - 1) as f64 / (count - 1) as f64;
            range[0] + step * (range[1] - range[0])
        };
        [at(self.x, column, self.columns), at(self.y, row, self.rows)]
    }
}

/// Traces the lines of one level through the grid.
struct Tracer<'a> {
    field: &'a Field,
    level: f64,
    /// Samples in a row, rim included.
    width: usize,
    /// The next edge of the line that crosses each edge; edge 2n leads from sample n to the right, 2n + 1 up.
    next: Vec<Option<u32>>,
    /// Whether some edge has this one as its next.
    entered: Vec<bool>,
}

impl<'a> Tracer<'a> {
    fn new(field: &'a Field, level: f64, rim: bool) -> Self {
        let (width, height) = (field.columns + 2, field.rows + 2);
        let edges = 2 * width * height;
        let mut tracer = Self { field, level, width, next: vec![None; edges], entered: vec![false; edges] };
        let (first, columns, rows) = if rim { (0, width - 1, height - 1) } else { (1, width - 2, height - 2) };
        for row in first..rows {
            for column in first..columns {
                tracer.cross(column, row);
            }
        }
        tracer
    }

    fn inside(&self, column: usize, row: usize) -> bool {
        self.field.sample(column, row) >= self.level
    }

    /// The steps through one cell, larger values on the left.
    fn cross(&mut self, column: usize, row: usize) {
        let corners = [(column, row), (column + 1, row), (column + 1, row + 1), (column, row + 1)];
        let inside = corners.map(|(c, r)| self.inside(c, r));
        let edge = |side: usize| match side {
            0 => 2 * (row * self.width + column),
            1 => 2 * (row * self.width + column + 1) + 1,
            2 => 2 * ((row + 1) * self.width + column),
            _ => 2 * (row * self.width + column) + 1,
        };
        // Counter-clockwise, side k leads from corner k to k + 1. A step enters by a side where the inside begins or ends: the line with
        // the inside on its left enters where it ends and leaves where it begins.
        let enters: Vec<usize> = (0..4).filter(|&k| inside[k] && !inside[(k + 1) % 4]).collect();
        let leaves: Vec<usize> = (0..4).filter(|&k| !inside[k] && inside[(k + 1) % 4]).collect();
        let turned = match enters.len() {
            // A saddle: the value in the middle decides which two corners are joined.
            2 => corners.iter().map(|&(c, r)| self.field.sample(c, r)).sum::<f64>() / 4.0 >= self.level,
            _ => false,
        };
        let steps: Vec<(usize, usize)> = enters
            .iter()
            .map(|&enter| {
                // Joined corners: the line turns around the outside corner after it; else around the inside corner before it.
                let way = |k: usize| (leaves[k] + 4 - enter) % 4;
                let pick = |a: usize, b: usize| if (way(a) < way(b)) == turned { leaves[a] } else { leaves[b] };
                (edge(enter), edge(if leaves.len() == 2 { pick(0, 1) } else { leaves[0] }))
            })
            .collect();
        for (from, to) in steps {
            self.next[from] = Some(to as u32);
            self.entered[to] = true;
        }
    }

    fn crossing(&self, edge: usize) -> [f64; 2] {
        let (sample, up) = (edge / 2, edge % 2);
        let (column, row) = (sample % self.width, sample / self.width);
        let end = (column + 1 - up, row + up);
        let (a, b) = (self.field.sample(column, row), self.field.sample(end.0, end.1));
        let (from, to) = (self.field.place(column, row), self.field.place(end.0, end.1));
        let part = (self.level - a) / (b - a);
        let part = if part.is_finite() { part } else { 0.0 };
        [from[0] + part * (to[0] - from[0]), from[1] + part * (to[1] - from[1])]
    }

    /// Every line once: those that begin somewhere first, then the loops.
    fn trace(mut self) -> Vec<Polyline> {
        let starts: Vec<usize> =
            (0..self.next.len()).filter(|&edge| self.next[edge].is_some() && !self.entered[edge]).collect();
        let mut lines: Vec<Polyline> = starts.into_iter().map(|start| self.follow(start)).collect();
        for edge in 0..self.next.len() {
            if self.next[edge].is_some() {
                lines.push(self.follow(edge));
            }
        }
        lines
    }

    fn follow(&mut self, start: usize) -> Polyline {
        let mut line = vec![self.crossing(start)];
        let mut edge = start;
        while let Some(next) = self.next[edge].take() {
            edge = next as usize;
            line.push(self.crossing(edge));
        }
        line
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sampled(side: usize, f: impl Fn(f64, f64) -> f64) -> Field {
        let values = Field::square_points(1.0, side).iter().map(|&[x, y]| f(x, y)).collect();
        Field::square(1.0, side, values)
    }

    /// Twice the signed area.
    fn area(line: &Polyline) -> f64 {
        line.windows(2).map(|pair| pair[0][0] * pair[1][1] - pair[0][1] * pair[1][0]).sum::<f64>() / 2.0
    }

    #[test]
    fn a_circle_is_one_closed_line_of_its_radius_and_area() {
        let field = sampled(101, |x, y| 0.25 - x * x - y * y);
        let lines = field.lines(0.0);
        assert_eq!(lines.len(), 1);
        assert_eq!(lines[0].first(), lines[0].last());
        for [x, y] in &lines[0] {
            assert!((x.hypot(*y) - 0.5).abs() < 1e-3);
        }
        // Larger values on the left: counter-clockwise around a hill, clockwise around a hole.
        assert!((area(&lines[0]) - 0.25 * std::f64::consts::PI).abs() < 1e-3);
        let hole = sampled(101, |x, y| x * x + y * y - 0.25).outlines(0.0);
        let total: f64 = hole.iter().map(area).sum();
        assert_eq!(hole.len(), 2);
        assert!((total - (4.0 - 0.25 * std::f64::consts::PI)).abs() < 1e-3, "{total}");
    }

    #[test]
    fn a_slope_is_crossed_once_and_its_upper_part_closed_along_the_border() {
        let field = sampled(11, |x, _| x - 0.3);
        let lines = field.lines(0.0);
        assert_eq!(lines.len(), 1);
        assert!(lines[0].iter().all(|point| (point[0] - 0.3).abs() < 1e-12));
        assert_eq!((lines[0][0][1], lines[0].last().unwrap()[1]), (1.0, -1.0));
        let outlines = field.outlines(0.0);
        assert_eq!(outlines.len(), 1);
        assert!((area(&outlines[0]) - 0.7 * 2.0).abs() < 1e-12);
    }

    #[test]
    fn the_value_in_the_middle_decides_saddles() {
        let field = |middle: f64| Field::new(2, 2, [0.0, 1.0], [0.0, 1.0], vec![1.0, middle - 1.0, middle - 1.0, 1.0]);
        // Two corners above: joined if the middle is above, so one outline, else apart.
        assert_eq!(field(0.5).outlines(0.0).len(), 1);
        assert_eq!(field(-0.5).outlines(0.0).len(), 2);
        let total = |middle: f64| field(middle).outlines(0.0).iter().map(area).sum::<f64>();
        assert!(total(0.5) > 0.5 && total(-0.5) < 0.5 && total(-0.5) > 0.0);
    }

    #[test]
    fn a_constant_field_is_all_or_nothing() {
        let field = sampled(4, |_, _| 1.0);
        assert!(field.lines(0.0).is_empty() && field.outlines(2.0).is_empty());
        assert!((area(&field.outlines(0.0)[0]) - 4.0).abs() < 1e-12);
        assert_eq!(field.magnitude_quantile(0.5), 1.0);
    }
}
