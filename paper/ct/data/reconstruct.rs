//! Filtered back-projection from an equiangular fan.
//!
//! ```text
//! μ(x, y) = (2π/views) Σ_β q_β(γ) / L²         γ the angle under which the source of view β sees the pixel, L its distance from it
//! tan γ = t/s,  1/L² = cos² γ / s²             s = R − x cos β − y sin β along the central ray,  t = x sin β − y cos β across it
//! ```
//!
//! The filtered row is interpolated linearly. Pixels that not every view sees are 0: air.

use std::ops::Range;

use super::fan::Fan;
use super::filter::Filter;
use crate::data::error::{Error, Result};
use rayon::prelude::*;

/// Rows and columns of a tile: its sums, and the samples of a view that they need, stay in the nearest cache.
const ROWS: usize = 16;
const COLUMNS: usize = 64;

/// For the pixels of a row: the cell before, the part of the way to the next, 1/s².
struct Places {
    cells: [u32; COLUMNS],
    parts: [f32; COLUMNS],
    weights: [f32; COLUMNS],
}

impl Fan {
    /// Reconstructs a sinogram `[views, cells]` of line integrals (1/cm times cm): μ in 1/cm, `[side, side]`.
    pub fn reconstruct(&self, sinogram: &[f32]) -> Result<Vec<f32>> {
        if sinogram.len() != self.samples() {
            return Err(Error::setting("samples of the sinogram", self.samples(), sinogram.len()));
        }
        let filter = Filter::new(self);
        let cells = self.scanner.cells;
        let mut rows = vec![[0.0; 1]; self.samples()];
        rows.par_chunks_mut(cells).zip(sinogram.par_chunks(cells)).for_each_init(
            || filter.workspace(),
            |workspace, (filtered, row)| self.filter_row(&filter, workspace, row, filtered, 0),
        );
        Ok(self.back_project(&rows).into_iter().map(|[value]| value).collect())
    }

    pub(super) fn filter_row<const N: usize>(
        &self,
        filter: &Filter,
        workspace: &mut super::filter::Workspace,
        row: &[f32],
        filtered: &mut [[f32; N]],
        lane: usize,
    ) {
        for (cell, (target, value)) in filtered.iter_mut().zip(filter.apply(row, workspace)).enumerate() {
            let cos = self.cells[cell].0;
            target[lane] = (cos * cos) as f32 * value;
        }
    }

    /// The images, `[side, side]`, of filtered rows of several sinograms, interleaved: `[views, cells]`, cos² γ applied.
    pub(super) fn back_project<const N: usize>(&self, filtered: &[[f32; N]]) -> Vec<[f32; N]> {
        let across = self.side.div_ceil(COLUMNS);
        let tiles: Vec<Vec<[f32; N]>> = (0..self.side.div_ceil(ROWS) * across)
            .into_par_iter()
            .map(|tile| self.back_project_tile(filtered, ROWS * (tile / across), COLUMNS * (tile % across)))
            .collect();
        let of_pixel = |row: usize, column: usize| {
            tiles[row / ROWS * across + column / COLUMNS][row % ROWS * COLUMNS + column % COLUMNS]
        };
        (0..self.pixels()).map(|pixel| of_pixel(pixel / self.side, pixel % self.side)).collect()
    }

    /// The tile whose first pixel is at (`top`, `left`), `[ROWS, COLUMNS]`.
    fn back_project_tile<const N: usize>(&self, filtered: &[[f32; N]], top: usize, left: usize) -> Vec<[f32; N]> {
        let of_tile = |seen: Range<usize>| seen.start.max(left)..seen.end.min(left + COLUMNS);
        let columns: Vec<_> = (top..(top + ROWS).min(self.side)).map(|row| of_tile(self.visible(row))).collect();
        let mut sums = vec![[0.0; N]; ROWS * COLUMNS];
        let mut places = Places { cells: [0; COLUMNS], parts: [0.0; COLUMNS], weights: [0.0; COLUMNS] };
        for (view, samples) in filtered.chunks_exact(self.scanner.cells).enumerate() {
            for ((row, sums), columns) in (top..).zip(sums.chunks_exact_mut(COLUMNS)).zip(&columns) {
                if columns.is_empty() {
                    continue;
                }
                self.locate(view, row, columns.start, columns.len(), &mut places);
                let places = places.cells.iter().zip(&places.parts).zip(&places.weights);
                let sums = sums[columns.start - left..columns.end - left].iter_mut();
                for (sum, ((&cell, &part), &weight)) in sums.zip(places) {
                    let [near, far] = &samples[cell as usize..][..2] else { continue };
                    for lane in 0..N {
                        sum[lane] += weight * (near[lane] + part * (far[lane] - near[lane]));
                    }
                }
            }
        }
        let step = (std::f64::consts::TAU / self.scanner.views as f64) as f32;
        sums.iter_mut().flatten().for_each(|value| *value *= step);
        sums
    }

    /// The places of a view for `count` pixels of a row from column `first` on.
    fn locate(&self, view: usize, row: usize, first: usize, count: usize, places: &mut Places) {
        /// Adding this rounds to a whole number, which then stands in the lowest bits.
        const ROUND: f32 = 8_388_608.0;
        let (cos, sin) = self.views[view];
        let pixel = 0.1 * self.pixel_mm;
        let (x, y) = ((first as f64 - self.middle()) * pixel, (self.middle() - row as f64) * pixel);
        let depth = (0.1 * self.scanner.source_to_centre_mm - x * cos - y * sin) as f32;
        let across = (x * sin - y * cos) as f32;
        let (depth_step, across_step) = ((-pixel * cos) as f32, (pixel * sin) as f32);
        let per_radian = (1.0 / self.scanner.cell_angle()) as f32;
        // Half a cell less, so that rounding finds the cell before.
        let central = self.scanner.central_cell() as f32 - 0.5;
        let highest = self.scanner.cells as f32 - 2.0;
        for index in 0..count.min(COLUMNS) {
            let column = index as f32;
            let inverse = 1.0 / (depth + column * depth_step);
            let place = central + per_radian * arctangent((across + column * across_step) * inverse);
            let rounded = place.max(0.0).min(highest) + ROUND;
            places.cells[index] = rounded.to_bits() & 0x007f_ffff;
            places.parts[index] = place + 0.5 - (rounded - ROUND);
            places.weights[index] = inverse * inverse;
        }
    }
}

/// arctan x to 2e-7 for |x| ≤ tan 0.6; straight-line code, so that loops over it run on vectors.
fn arctangent(x: f32) -> f32 {
    let s = x * x;
    let high = 0.104_114_87 + s * (-0.065_065_33 + s * 0.023_007_286);
    x * (1.0 + s * (-0.333_331_7 + s * (0.199_929_93 + s * (-0.141_840_75 + s * high))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn angles_are_right_to_single_precision() {
        for step in -600..=600 {
            let angle = 1e-3 * f64::from(step);
            assert!((f64::from(arctangent(angle.tan() as f32)) - angle).abs() < 2e-7, "{angle}");
        }
    }
}
