//! A scanner: where source and detector are, what the tube sends, how much of it.

use super::spectrum::Beam;
use crate::data::error::{Error, Result};
use serde::{Deserialize, Serialize};

/// A fan-beam scanner whose detector is an arc about the source: its cells see equal angles.
///
/// ```text
/// source of view v:   R (cos β, sin β),  β = 2πv / views;   x to the right, y upwards, the centre of the slice at the origin
/// ray to cell i:      along −(cos(β+γ), sin(β+γ)),  γ = (i − (cells − 1)/2 + offset) · cell / (source to detector)
/// ```
///
/// The default is the scanner of the AAPM CT-MAR challenge.
///
/// ```
/// use reynolds_paper::ct::data::Scanner;
/// let scanner = Scanner::default();
/// scanner.validate()?;
/// assert_eq!((scanner.views, scanner.cells), (1000, 900));
/// assert_eq!(scanner.field_of_view_mm().round(), 250.0);
/// # Ok::<(), reynolds_paper::data::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Scanner {
    /// R: millimetres from the source to the centre of rotation.
    pub source_to_centre_mm: f64,
    pub source_to_detector_mm: f64,
    pub cells: usize,
    /// From a cell to the next along the arc.
    pub cell_mm: f64,
    /// Shift of the detector along its arc.
    pub offset_cells: f64,
    pub views: usize,
    pub beam: Beam,
    /// Photons sent to each cell in each view; 0 = no noise. A million make 9 HU of noise in 32 cm of water.
    pub photons: f64,
}

impl Default for Scanner {
    fn default() -> Self {
        Self {
            source_to_centre_mm: 550.0,
            source_to_detector_mm: 950.0,
            cells: 900,
            cell_mm: 1.0,
            offset_cells: -1.25,
            views: 1000,
            beam: Beam::default(),
            photons: 1e6,
        }
    }
}

fn at_least(what: &'static str, value: f64, least: f64) -> Result<()> {
    if value.is_finite() && value >= least {
        return Ok(());
    }
    Err(Error::setting(what, format_args!("a finite number, at least {least}"), value))
}

impl Scanner {
    pub fn validate(&self) -> Result<()> {
        at_least("scanner: source_to_centre_mm", self.source_to_centre_mm, 1.0)?;
        at_least("scanner: source_to_detector_mm", self.source_to_detector_mm, self.source_to_centre_mm)?;
        at_least("scanner: cell_mm", self.cell_mm, 1e-3)?;
        at_least("scanner: photons", self.photons, 0.0)?;
        for (what, count) in [("scanner: cells", self.cells), ("scanner: views", self.views)] {
            if !(2..=1 << 16).contains(&count) {
                return Err(Error::setting(what, "2 to 65536", count));
            }
        }
        if self.offset_cells.is_nan() || self.offset_cells.abs() >= 0.25 * self.cells as f64 {
            return Err(Error::setting("scanner: offset_cells", "less than a quarter of the cells", self.offset_cells));
        }
        let widest = self.angle(0).abs().max(self.angle(self.cells - 1).abs());
        if widest > 0.6 {
            return Err(Error::setting("scanner: half the angle of the fan", "at most 0.6 radian", widest));
        }
        self.beam.validate()
    }

    /// Radians from a cell to the next.
    pub(super) fn cell_angle(&self) -> f64 {
        self.cell_mm / self.source_to_detector_mm
    }

    /// The cell, in fractions, that the central ray meets.
    pub(super) fn central_cell(&self) -> f64 {
        0.5 * (self.cells as f64 - 1.0) - self.offset_cells
    }

    /// γ of a cell.
    pub(super) fn angle(&self, cell: usize) -> f64 {
        (cell as f64 - self.central_cell()) * self.cell_angle()
    }

    /// Millimetres from the centre to which every view sees everything.
    pub fn field_of_view_mm(&self) -> f64 {
        let narrowest = self.angle(0).abs().min(self.angle(self.cells - 1).abs());
        self.source_to_centre_mm * narrowest.sin()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_out_of_range_is_named() {
        type Change = fn(&mut Scanner);
        let cases: [(Change, &str); 8] = [
            (|s| s.cells = 1, "scanner: cells: expected 2 to 65536, found 1"),
            (|s| s.views = 0, "scanner: views: expected 2 to 65536, found 0"),
            (|s| s.photons = -1.0, "scanner: photons: expected a finite number, at least 0, found -1"),
            (|s| s.photons = f64::NAN, "scanner: photons: expected a finite number, at least 0, found NaN"),
            (|s| s.cell_mm = 0.0, "scanner: cell_mm: expected a finite number, at least 0.001, found 0"),
            (
                |s| s.source_to_detector_mm = 500.0,
                "scanner: source_to_detector_mm: expected a finite number, at least 550, found 500",
            ),
            (|s| s.offset_cells = 300.0, "scanner: offset_cells: expected less than a quarter of the cells, found 300"),
            (|s| s.cells = 3000, "scanner: half the angle of the fan: expected at most 0.6 radian, found 1.57"),
        ];
        for (change, expected) in cases {
            let mut scanner = Scanner::default();
            change(&mut scanner);
            let found = scanner.validate().unwrap_err().to_string();
            assert!(found.starts_with(expected), "{found}");
        }
    }

    #[test]
    fn the_offset_moves_the_central_ray() {
        let scanner = Scanner::default();
        assert_eq!(scanner.central_cell(), 450.75);
        assert!((scanner.angle(0) + 450.75 / 950.0).abs() < 1e-15);
        assert!((scanner.field_of_view_mm() - 550.0 * (448.25_f64 / 950.0).sin()).abs() < 1e-12);
    }
}
