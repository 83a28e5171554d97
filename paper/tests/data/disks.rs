//! Disks, and a scanner that is fast.

use reynolds_paper::ct::data::Scanner;

/// A scanner of the default's shape with fewer, wider cells and fewer views.
pub(crate) fn small() -> Scanner {
    Scanner { cells: 300, cell_mm: 3.0, views: 240, ..Scanner::default() }
}

/// How much of each pixel lies in a disk (centre and radius in mm, y upwards), from 8 × 8 points of it.
pub(crate) fn disk(side: usize, pixel_mm: f64, x: f64, y: f64, radius: f64) -> Vec<f32> {
    let at = |index: usize, part: usize| (index as f64 + (part as f64 + 0.5) / 8.0 - 0.5 * side as f64) * pixel_mm;
    let inside = |pixel: usize, point: usize| {
        let (right, up) = (at(pixel % side, point % 8), -at(pixel / side, point / 8));
        (right - x).hypot(up - y) <= radius
    };
    let share = |pixel: usize| (0..64).filter(|&point| inside(pixel, point)).count() as f32 / 64.0;
    (0..side * side).map(share).collect()
}

/// Pixels whose centre is nearer than `radius` to a point.
pub(crate) fn within(side: usize, pixel_mm: f64, x: f64, y: f64, radius: f64) -> impl Fn(usize) -> bool {
    move |pixel| {
        let at = |index: usize| (index as f64 + 0.5 - 0.5 * side as f64) * pixel_mm;
        (at(pixel % side) - x).hypot(-at(pixel / side) - y) <= radius
    }
}
