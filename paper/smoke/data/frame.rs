//! A velocity field as it is stored: [2, 64, 64], x-component first, rows along y.
//!
//! ```text
//! (0, y, x) = u on the face left of cell (x, y)       (1, y, x) = v on the face below it
//! ```
//!
//! A box of n cells a side has n + 1 faces a side, of which frames keep the first 64; walls, and the row (column) that u (v) does not have,
//! are 0. A larger box is shrunk first: bilinear, corners on corners, velocities divided by the same factor.

use super::Solver;
use super::setting::{SIDE, Setting};

pub const FRAME: usize = 2 * SIDE * SIDE;

/// The speed at the centres of the cells of a frame `[2, side, side]`; faces beyond it are walls.
pub fn speed(frame: &[f32], side: usize) -> Vec<f64> {
    let (u, v) = frame.split_at(side * side);
    let at = |field: &[f32], y: usize, x: usize| {
        if x < side && y < side { f64::from(field[y * side + x]) } else { 0.0 }
    };
    let cell = |n: usize| {
        let (y, x) = (n / side, n % side);
        (0.5 * (at(u, y, x) + at(u, y, x + 1))).hypot(0.5 * (at(v, y, x) + at(v, y + 1, x)))
    };
    (0..side * side).map(cell).collect()
}

/// The first of two faces and the share of the second, for every stored point of a row or column.
pub(super) struct Shrink {
    x: Vec<(usize, f64)>,
    y: Vec<(usize, f64)>,
    factor: f64,
}

impl Shrink {
    pub(super) fn new(setting: &Setting) -> Shrink {
        let axis = |side: usize| -> Vec<(usize, f64)> {
            let step = side as f64 / (setting.shrunk(side) - 1) as f64;
            let place = |point: usize| {
                let place = (point as f64 * step).min(side as f64);
                let first = (place as usize).min(side - 1);
                (first, place - first as f64)
            };
            (0..SIDE).map(place).collect()
        };
        Shrink { x: axis(setting.width), y: axis(setting.height), factor: setting.shrink }
    }

    /// Appends the velocity of the solver as a frame.
    pub(super) fn append(&self, solver: &Solver, width: usize, height: usize, frames: &mut Vec<f32>) {
        let stride = width + 1;
        let u = |y: usize, x: usize| if y < height { f64::from(solver.x_velocity()[y * stride + x]) } else { 0.0 };
        let v = |y: usize, x: usize| if x < width { f64::from(solver.y_velocity(y)[x]) } else { 0.0 };
        self.component(&u, frames);
        self.component(&v, frames);
    }

    fn component(&self, field: &impl Fn(usize, usize) -> f64, frames: &mut Vec<f32>) {
        for &(y, up) in &self.y {
            for &(x, right) in &self.x {
                let row = |y: usize| (1.0 - right) * field(y, x) + right * field(y, x + 1);
                frames.push((((1.0 - up) * row(y) + up * row(y + 1)) / self.factor) as f32);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::smoke::data::Symmetry;
    use reynolds_testkit::golden::Golden;

    #[test]
    fn frames_are_shrunk_as_pytorch_interpolates_them() {
        let field = |y: usize, x: usize| ((7 * x * x + 13 * x * y + 5 * y * y + 3 * x) % 17) as f64;
        let golden = Golden::open("smoke_shrink");
        let (_, rows) = golden.tensor("rows");
        for number in [0, 1, 3, 7, 18, 26, 37] {
            let mut ours = Vec::new();
            Shrink::new(&Symmetry::Scaling.simulations()[number]).component(&field, &mut ours);
            assert_eq!(ours.len(), SIDE * SIDE);
            for (row, theirs) in rows.iter().zip(golden.tensor(&number.to_string()).1.chunks_exact(SIDE)) {
                let ours = &ours[*row as usize * SIDE..][..SIDE];
                for (x, (ours, theirs)) in ours.iter().zip(theirs).enumerate() {
                    // Ours is rounded to f32 at the end, values are at most 16.
                    let error = (f64::from(*ours) - theirs).abs();
                    assert!(error <= 16.0 * f64::from(f32::EPSILON), "i = {number}, row {row}, column {x}: {error:e}");
                }
            }
        }
    }
}
