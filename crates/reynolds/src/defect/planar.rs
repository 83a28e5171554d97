//! SO(2) and O(2): on each circle of elements φ is a trigonometric polynomial of degree L, known from 2L + 1 samples.

use std::f64::consts::{PI, TAU};

use super::correlation::Correlation;
use super::interval::{Found, climb, proven_supremum};
use crate::group::{Element, Planar};
use crate::scalar::Scalar;

/// Grid nodes per degree: the interval is 0.03 % wide.
const NODES_PER_DEGREE: usize = 64;

/// The supremum of φ over the turns, and the reflections too if `reflections`.
pub(super) fn supremum<F: Scalar>(correlation: &Correlation<'_, F>, degree: usize, reflections: bool) -> Found {
    let circles: &[bool] = if reflections { &[false, true] } else { &[false] };
    let count = (NODES_PER_DEGREE * degree).max(1);
    let mut best = (f64::NEG_INFINITY, Planar::new(0.0, false));
    let mut grid_maximum = 0.0_f64;
    for &reflected in circles {
        let series =
            Series::sample(degree, |angle| correlation.defect_squared(&Element::Planar(Planar::new(angle, reflected))));
        let step = TAU / count as f64;
        let (value, angle) = (0..count)
            .map(|k| (series.at(k as f64 * step), k as f64 * step))
            .max_by(|a, b| a.0.total_cmp(&b.0))
            .expect("at least one node");
        grid_maximum = grid_maximum.max(value);
        let [angle] = climb([angle], step / 2.0, |&[angle]| series.at(angle));
        if series.at(angle) > best.0 {
            best = (series.at(angle), Planar::new(angle, reflected));
        }
    }
    Found { element: Element::Planar(best.1), upper: proven_supremum(grid_maximum, degree, PI / count as f64) }
}

/// a₀ + Σ aₖ cos kθ + bₖ sin kθ.
struct Series {
    cosines: Vec<f64>,
    sines: Vec<f64>,
}

impl Series {
    /// The series of a function of degree at most `degree`.
    fn sample(degree: usize, f: impl Fn(f64) -> f64) -> Self {
        let count = 2 * degree + 1;
        let angles: Vec<f64> = (0..count).map(|k| TAU * k as f64 / count as f64).collect();
        let values: Vec<f64> = angles.iter().map(|&angle| f(angle)).collect();
        let project = |k: usize, wave: fn(f64) -> f64| {
            let sum: f64 = angles.iter().zip(&values).map(|(angle, value)| value * wave(k as f64 * angle)).sum();
            sum * if k == 0 { 1.0 } else { 2.0 } / count as f64
        };
        Self {
            cosines: (0..=degree).map(|k| project(k, f64::cos)).collect(),
            sines: (0..=degree).map(|k| project(k, f64::sin)).collect(),
        }
    }

    fn at(&self, angle: f64) -> f64 {
        let mut sum = 0.0;
        for (k, (a, b)) in self.cosines.iter().zip(&self.sines).enumerate() {
            let (sin, cos) = (k as f64 * angle).sin_cos();
            sum += a * cos + b * sin;
        }
        sum
    }
}
