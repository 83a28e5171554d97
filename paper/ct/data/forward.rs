//! Line integrals of images.
//!
//! ```text
//! (A x)[ray] = Σ_pixel a[ray, pixel] x[pixel]            a of Joseph's rule, in cm
//! ```

use super::fan::{Fan, MARGIN, Region};
use crate::data::error::{Error, Result};
use rayon::prelude::*;

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

    /// The line integrals of all cells of a view.
    pub(super) fn project(&self, fan: &Fan, view: usize, integrals: &mut [[f32; N]]) {
        for (cell, integral) in integrals.iter_mut().enumerate() {
            let ray = fan.ray(view, cell);
            let pixels = if ray.by_rows { &self.rows[..] } else { &self.columns[..] };
            let sum = sum_along(pixels, self.width, ray.steps(&self.region));
            *integral = sum.map(|value| value * ray.length_cm);
        }
    }
}

/// Σ (1 − f) μ[k, i] + f μ[k, i + 1]; two sums, so that additions need not wait for each other.
fn sum_along<const N: usize>(
    pixels: &[[f32; N]],
    width: usize,
    mut steps: impl Iterator<Item = (usize, usize, f32)>,
) -> [f32; N] {
    let mut sums = [[0.0; N]; 2];
    let mut add = |sum: usize, (step, index, part): (usize, usize, f32)| {
        if let [near, far] = &pixels[step * width + index..][..2] {
            for layer in 0..N {
                sums[sum][layer] += near[layer] + part * (far[layer] - near[layer]);
            }
        }
    };
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
            let views = sinogram.par_chunks_mut(self.scanner.cells).enumerate();
            views.for_each(|(view, row)| layers.project(self, view, row));
        }
        Ok(sinogram.into_iter().map(|[value]| value).collect())
    }
}
