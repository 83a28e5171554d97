//! Line integrals of images, and their exact adjoint.
//!
//! ```text
//! (A x)[ray] = Σ_pixel a[ray, pixel] x[pixel]            a of Joseph's rule, in cm
//! (Aᵀ y)[pixel] = Σ_ray a[ray, pixel] y[ray]             the same numbers: ⟨A x, y⟩ = ⟨x, Aᵀ y⟩ up to rounding
//! ```

use rayon::prelude::*;

use super::fan::{Fan, MARGIN, Region, Steps};
use crate::data::error::{Error, Result};

/// Parts that an adjoint is summed in, whatever the number of threads.
const PARTS: usize = 8;

/// Several images of one grid, interleaved, row by row and column by column, with a margin of empty pixels.
pub(super) struct Layers<const N: usize> {
    region: Region,
    width: usize,
    rows: Vec<[f32; N]>,
    columns: Vec<[f32; N]>,
}

impl<const N: usize> Layers<N> {
    /// The layers; `pixel` gives the values of all images at a pixel, which are 0 outside the region.
    pub(super) fn new(side: usize, region: Region, pixel: impl Fn(usize) -> [f32; N]) -> Self {
        let width = side + 2 * MARGIN;
        let mut rows = vec![[0.0; N]; side * width];
        let mut columns = rows.clone();
        for row in region.rows.clone() {
            for column in region.columns.clone() {
                let values = pixel(row * side + column);
                rows[row * width + column + MARGIN] = values;
                columns[column * width + row + MARGIN] = values;
            }
        }
        Self { region, width, rows, columns }
    }

    /// The line integrals of one view for `cells` of it.
    pub(super) fn project(&self, fan: &Fan, view: usize, cells: std::ops::Range<usize>, integrals: &mut [[f32; N]]) {
        for (cell, integral) in cells.zip(integrals) {
            let ray = fan.ray(view, cell);
            let pixels = if ray.by_rows { &self.rows[..] } else { &self.columns[..] };
            let sum = sum_along(pixels, self.width, ray.steps(&self.region));
            *integral = sum.map(|value| value * ray.length_cm);
        }
    }
}

/// Σ (1 − f) μ[k, i] + f μ[k, i + 1], every other step apart so that additions need not wait for each other.
fn sum_along<const N: usize>(pixels: &[[f32; N]], width: usize, steps: Steps) -> [f32; N] {
    let mut sums = [[0.0; N]; 2];
    let mut add = |sum: usize, (step, index, part): (usize, usize, f32)| {
        if let [near, far] = &pixels[step * width + index..][..2] {
            for layer in 0..N {
                sums[sum][layer] += near[layer] + part * (far[layer] - near[layer]);
            }
        }
    };
    let mut steps = steps.iter();
    while let Some(even) = steps.next() {
        add(0, even);
        let Some(odd) = steps.next() else { break };
        add(1, odd);
    }
    std::array::from_fn(|layer| sums[0][layer] + sums[1][layer])
}

impl Fan {
    /// The line integrals in cm of an image `[side, side]`: a sinogram `[views, cells]`.
    pub fn forward(&self, image: &[f32]) -> Result<Vec<f32>> {
        if image.len() != self.pixels() {
            return Err(Error::setting("pixels of the image", self.pixels(), image.len()));
        }
        let mut sinogram = vec![[0.0]; self.samples()];
        if let Some(region) = Region::around(image, self.side) {
            let layers = Layers::new(self.side, region, |pixel| [image[pixel]]);
            let cells = self.scanner.cells;
            sinogram
                .par_chunks_mut(cells)
                .enumerate()
                .for_each(|(view, row)| layers.project(self, view, 0..cells, row));
        }
        Ok(sinogram.into_iter().map(|[value]| value).collect())
    }

    /// The adjoint of [`Fan::forward`]: an image `[side, side]` of a sinogram `[views, cells]`.
    pub fn adjoint(&self, sinogram: &[f32]) -> Result<Vec<f32>> {
        if sinogram.len() != self.samples() {
            return Err(Error::setting("samples of the sinogram", self.samples(), sinogram.len()));
        }
        let (views, side) = (self.scanner.views, self.side);
        let parts: Vec<Vec<f32>> = (0..PARTS)
            .into_par_iter()
            .map(|part| self.spread(sinogram, views * part / PARTS..views * (part + 1) / PARTS))
            .collect();
        let mut image = vec![0.0; side * side];
        for part in parts {
            image.iter_mut().zip(part).for_each(|(sum, value)| *sum += value);
        }
        Ok(image)
    }

    fn spread(&self, sinogram: &[f32], views: std::ops::Range<usize>) -> Vec<f32> {
        let (side, width) = (self.side, self.side + 2 * MARGIN);
        let whole = Region { rows: 0..side, columns: 0..side };
        let mut rows = vec![0.0; side * width];
        let mut columns = rows.clone();
        for view in views {
            for cell in 0..self.scanner.cells {
                let ray = self.ray(view, cell);
                let value = sinogram[view * self.scanner.cells + cell] * ray.length_cm;
                let pixels = if ray.by_rows { &mut rows } else { &mut columns };
                for (step, index, part) in ray.steps(&whole).iter() {
                    if let [near, far] = &mut pixels[step * width + index..][..2] {
                        *near += (1.0 - part) * value;
                        *far += part * value;
                    }
                }
            }
        }
        let at =
            |row: usize, column: usize| rows[row * width + column + MARGIN] + columns[column * width + row + MARGIN];
        (0..side * side).map(|pixel| at(pixel / side, pixel % side)).collect()
    }
}
