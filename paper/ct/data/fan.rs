//! A scanner before a grid of pixels: which pixels a ray meets.
//!
//! ```text
//! Joseph's rule: a ray steps along the axis it is closer to, row by row or column by column. Where it crosses row k at column t,
//!     ∫ μ ≈ d Σ_k (1 − f) μ[k, i] + f μ[k, i + 1],      i = ⌊t⌋,  f = t − i,  d the length of the ray from a row to the next
//! ```

use std::ops::Range;

use super::scanner::Scanner;
use crate::data::error::{Error, Result};

/// Empty pixels beside an image on each side, which rays may read.
pub(super) const MARGIN: usize = 2;

#[derive(Debug, Clone)]
pub struct Fan {
    pub(super) scanner: Scanner,
    pub(super) side: usize,
    pub(super) pixel_mm: f64,
    /// (cos β, sin β) of each view and (cos γ, sin γ) of each cell.
    pub(super) views: Vec<(f64, f64)>,
    pub(super) cells: Vec<(f64, f64)>,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) struct Region {
    pub(super) rows: Range<usize>,
    pub(super) columns: Range<usize>,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Ray {
    /// Whether it steps from row to row; else from column to column.
    pub(super) by_rows: bool,
    /// Where it crosses row (column) 0, in columns (rows).
    start: f64,
    /// By how much the crossing moves from a row to the next.
    slope: f64,
    /// d, in centimetres.
    pub(super) length_cm: f32,
}

impl Fan {
    /// The scanner before `side`² pixels of `pixel_mm`, centred on the axis of rotation.
    pub fn new(scanner: &Scanner, side: usize, pixel_mm: f64) -> Result<Self> {
        scanner.validate()?;
        if !(2..=4096).contains(&side) {
            return Err(Error::setting("pixels along a side", "2 to 4096", side));
        }
        if !(pixel_mm.is_finite() && pixel_mm > 0.0) {
            return Err(Error::setting("pixel_mm", "a positive number", pixel_mm));
        }
        let corner = (0.5 * side as f64 * pixel_mm) * std::f64::consts::SQRT_2;
        if corner >= 0.95 * scanner.source_to_centre_mm {
            let expected = format!("corners within 0.95 of the source at {} mm", scanner.source_to_centre_mm);
            return Err(Error::setting("size of the slice", expected, format_args!("corners at {corner:.1} mm")));
        }
        let turn = |angle: f64| (angle.cos(), angle.sin());
        let angle = |view: usize| std::f64::consts::TAU * view as f64 / scanner.views as f64;
        let views = (0..scanner.views).map(|view| turn(angle(view))).collect();
        let cells = (0..scanner.cells).map(|cell| turn(scanner.angle(cell))).collect();
        Ok(Self { side, pixel_mm, views, cells, scanner: scanner.clone() })
    }

    pub fn samples(&self) -> usize {
        self.views.len() * self.cells.len()
    }

    pub fn pixels(&self) -> usize {
        self.side * self.side
    }

    /// The column (row, counted upwards) of the centre.
    pub(super) fn middle(&self) -> f64 {
        0.5 * (self.side as f64 - 1.0)
    }

    /// The columns of a row whose centres every view sees.
    pub(super) fn visible(&self, row: usize) -> Range<usize> {
        let radius = self.scanner.field_of_view_mm() / self.pixel_mm;
        let up = self.middle() - row as f64;
        let square = radius * radius - up * up;
        if square <= 0.0 {
            return 0..0;
        }
        let first = (self.middle() - square.sqrt()).ceil().max(0.0) as usize;
        let last = (self.middle() + square.sqrt()).floor() as usize;
        first..(last + 1).min(self.side)
    }

    pub(super) fn ray(&self, view: usize, cell: usize) -> Ray {
        let ((cos, sin), (cell_cos, cell_sin)) = (self.views[view], self.cells[cell]);
        let distance = self.scanner.source_to_centre_mm / self.pixel_mm;
        // In columns to the right and rows downwards.
        let (column, row) = (self.middle() + distance * cos, self.middle() - distance * sin);
        let (across, down) = (-(cos * cell_cos - sin * cell_sin), sin * cell_cos + cos * cell_sin);
        let by_rows = down.abs() >= across.abs();
        let (slope, start) = match by_rows {
            true => (across / down, column - row * across / down),
            false => (down / across, row - column * down / across),
        };
        let length_cm = 0.1 * self.pixel_mm / down.abs().max(across.abs());
        Ray { by_rows, start, slope, length_cm: length_cm as f32 }
    }
}

impl Ray {
    /// The steps on which it meets pixels of the region: (row or column k, i counted from the edge of the margin, f).
    pub(super) fn steps(&self, region: &Region) -> impl Iterator<Item = (usize, usize, f32)> + use<> {
        let (along, beside) = match self.by_rows {
            true => (&region.rows, &region.columns),
            false => (&region.columns, &region.rows),
        };
        // Crossings between the last empty pixel before the region and the first behind it.
        let (low, high) = (beside.start as f64 - 1.0, beside.end as f64);
        let (mut first, mut last) = (along.start as f64, along.end as f64 - 1.0);
        if self.slope.abs() > 1e-9 {
            let (a, b) = ((low - self.start) / self.slope, (high - self.start) / self.slope);
            first = first.max(a.min(b).ceil());
            last = last.min(a.max(b).floor());
        } else if self.start <= low || self.start >= high {
            last = first - 1.0;
        }
        let range = if last < first { 0..0 } else { first as usize..last as usize + 1 };
        // With 32 bits behind the point.
        let fixed = |value: f64| (value * 4_294_967_296.0).round() as i64 as u64;
        let mut crossing = fixed(self.start + self.slope * range.start as f64 + MARGIN as f64);
        let increment = fixed(self.slope);
        range.map(move |step| {
            let index = (crossing >> 32) as usize;
            // The highest 23 bits behind the point, as those of a number from 1 to 2.
            let part = f32::from_bits(0x3f80_0000 | ((crossing as u32) >> 9)) - 1.0;
            crossing = crossing.wrapping_add(increment);
            (step, index, part)
        })
    }
}

impl Region {
    /// The smallest region with all pixels that are not 0; `None` if there are none.
    pub(super) fn around(image: &[f32], side: usize) -> Option<Self> {
        let holds = |row: &usize| image[row * side..][..side].iter().any(|&value| value != 0.0);
        let (first, last) = ((0..side).find(holds)?, (0..side).rev().find(holds)?);
        let filled = |column: &usize| (first..=last).any(|row| image[row * side + column] != 0.0);
        let (left, right) = ((0..side).find(filled)?, (0..side).rev().find(filled)?);
        Some(Self { rows: first..last + 1, columns: left..right + 1 })
    }
}
