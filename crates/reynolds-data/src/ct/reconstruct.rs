//! Filtered back-projection from an equiangular fan.
//!
//! ```text
//! μ(x, y) = (2π/views) Σ_β q_β(γ) / L²         γ the angle under which the source of view β sees the pixel, L its distance from it
//! tan γ = t/s,  1/L² = cos² γ / s²             s = R − x cos β − y sin β along the central ray,  t = x sin β − y cos β across it
//! ```
//!
//! The filtered row is interpolated linearly. Pixels that not every view sees are 0: air.

use rayon::prelude::*;

use super::fan::Fan;
use super::filter::Filter;
use crate::error::{Error, Result};

/// Rows of the image that are summed together: their sums stay in the cache while the views pass by.
const ROWS: usize = 8;

/// Filtered rows of several sinograms, interleaved: `[views, cells]`, cos² γ applied.
pub(super) struct Filtered<const N: usize> {
    pub(super) rows: Vec<[f32; N]>,
}

/// Where a pixel finds its sample in a filtered row: the cell before it, the part of the way to the next, 1/s².
#[derive(Clone, Copy, Default)]
struct Sample {
    cell: u32,
    part: f32,
    weight: f32,
}

impl Fan {
    /// Reconstructs a sinogram `[views, cells]` of line integrals (1/cm times cm): μ in 1/cm, `[side, side]`.
    ///
    /// # Errors
    /// [`Error::Setting`] for a sinogram of another size.
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
        Ok(self.back_project(&Filtered { rows }).into_iter().map(|[value]| value).collect())
    }

    /// Filters a row into one lane of a filtered row.
    pub(super) fn filter_row<const N: usize>(
        &self,
        filter: &Filter,
        workspace: &mut super::filter::Workspace,
        row: &[f32],
        filtered: &mut [[f32; N]],
        lane: usize,
    ) {
        for (cell, (target, value)) in filtered.iter_mut().zip(filter.apply(row, workspace)).enumerate() {
            let cos = self.cell(cell).0;
            target[lane] = (cos * cos) as f32 * value;
        }
    }

    /// The images of filtered rows, `[side, side]`.
    pub(super) fn back_project<const N: usize>(&self, filtered: &Filtered<N>) -> Vec<[f32; N]> {
        let mut image = vec![[0.0; N]; self.pixels()];
        let step = (std::f64::consts::TAU / self.scanner.views as f64) as f32;
        image.par_chunks_mut(ROWS * self.side).enumerate().for_each(|(block, pixels)| {
            let mut samples = vec![Sample::default(); self.side];
            for (view, row) in filtered.rows.chunks_exact(self.scanner.cells).enumerate() {
                for (index, pixels) in pixels.chunks_exact_mut(self.side).enumerate() {
                    let columns = self.visible(block * ROWS + index);
                    self.locate(view, block * ROWS + index, columns.start, &mut samples[columns.clone()]);
                    for (sum, sample) in pixels[columns.clone()].iter_mut().zip(&samples[columns]) {
                        let [near, far] = &row[sample.cell as usize..][..2] else { continue };
                        for lane in 0..N {
                            sum[lane] += sample.weight * (near[lane] + sample.part * (far[lane] - near[lane]));
                        }
                    }
                }
            }
            pixels.iter_mut().flatten().for_each(|value| *value *= step);
        });
        image
    }

    /// The samples of a view for the pixels of a row from column `first` on.
    fn locate(&self, view: usize, row: usize, first: usize, samples: &mut [Sample]) {
        /// Adding this rounds to a whole number, which then stands in the lowest bits.
        const ROUND: f32 = 8_388_608.0;
        let (cos, sin) = self.view(view);
        let pixel = 0.1 * self.pixel_mm;
        let (x, y) = ((first as f64 - self.middle()) * pixel, (self.middle() - row as f64) * pixel);
        let depth = (0.1 * self.scanner.source_to_centre_mm - x * cos - y * sin) as f32;
        let across = (x * sin - y * cos) as f32;
        let (depth_step, across_step) = ((-pixel * cos) as f32, (pixel * sin) as f32);
        let per_radian = (1.0 / self.scanner.cell_angle()) as f32;
        // Half a cell less, so that rounding finds the cell before.
        let central = self.scanner.central_cell() as f32 - 0.5;
        let highest = self.scanner.cells as f32 - 2.0;
        for (index, sample) in samples.iter_mut().enumerate() {
            let column = index as f32;
            let inverse = 1.0 / (depth + column * depth_step);
            let place = central + per_radian * arctangent((across + column * across_step) * inverse);
            let rounded = place.clamp(0.0, highest) + ROUND;
            sample.cell = rounded.to_bits() & 0x007f_ffff;
            sample.part = place + 0.5 - (rounded - ROUND);
            sample.weight = inverse * inverse;
        }
    }
}

/// arctan x to 2e-7 for |x| ≤ tan 1; straight-line code, so that loops over it run on vectors.
fn arctangent(x: f32) -> f32 {
    // arctan x = 2 arctan(x / (1 + √(1 + x²))) keeps the argument of the series below tan ½.
    let half = x / (1.0 + (1.0 + x * x).sqrt());
    let square = half * half;
    let series = 1.0
        + square
            * (-0.333_331_1
                + square * (0.199_892_24 + square * (-0.141_128_32 + square * (0.098_584_04 + square * -0.046_322_4))));
    2.0 * half * series
}
