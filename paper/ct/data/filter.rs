//! The filter of a reconstruction from an equiangular fan.
//!
//! ```text
//! q(γ_n) = Δγ Σ_m g(n − m) R cos γ_m p(γ_m)          g(0) = 1/(8 Δγ²),  g(odd n) = −1/(2π² sin²(nΔγ)),  g(even n) = 0
//! ĝ ↦ ĝ(f) · ½(1 + cos(πf/f_N)) · sinc(f · pixel)     f per mm at the centre, f_N the Nyquist frequency of the cells there
//! ```
//!
//! The first factor is the "standard" kernel: half of the contrast is left at 4.3 line pairs a centimetre and a tenth at 6.9 with the default
//! scanner. With the second a pixel is a mean over its width, so that streaks finer than pixels are not aliased.

use std::f64::consts::PI;
use std::sync::Arc;

use super::fan::Fan;
use realfft::num_complex::Complex32;
use realfft::{ComplexToReal, RealFftPlanner, RealToComplex};

pub(super) struct Filter {
    forward: Arc<dyn RealToComplex<f32>>,
    inverse: Arc<dyn ComplexToReal<f32>>,
    /// R cos γ of each cell, in cm.
    weights: Vec<f32>,
    response: Vec<f32>,
}

pub(super) struct Workspace {
    row: Vec<f32>,
    spectrum: Vec<Complex32>,
    scratch: Vec<Complex32>,
}

impl Filter {
    pub(super) fn new(fan: &Fan) -> Self {
        let scanner = &fan.scanner;
        let (cells, angle) = (scanner.cells, scanner.cell_angle());
        // At least two rows, so that nothing wraps around; a length that transforms fast.
        let length = smooth(2 * cells);
        let mut planner = RealFftPlanner::new();
        let (forward, inverse) = (planner.plan_fft_forward(length), planner.plan_fft_inverse(length));
        let response = response(&kernel(cells, angle, length), fan, length);
        let radius_cm = 0.1 * scanner.source_to_centre_mm;
        let weights = (0..cells).map(|cell| (radius_cm * fan.cells[cell].0) as f32).collect();
        Self { forward, inverse, weights, response }
    }

    pub(super) fn workspace(&self) -> Workspace {
        let scratch = self.forward.get_scratch_len().max(self.inverse.get_scratch_len());
        Workspace {
            row: self.forward.make_input_vec(),
            spectrum: self.forward.make_output_vec(),
            scratch: vec![Complex32::default(); scratch],
        }
    }

    pub(super) fn apply<'a>(&self, row: &[f32], workspace: &'a mut Workspace) -> &'a [f32] {
        let Workspace { row: padded, spectrum, scratch } = workspace;
        let (used, rest) = padded.split_at_mut(row.len());
        for ((sample, &value), &weight) in used.iter_mut().zip(row).zip(&self.weights) {
            *sample = value * weight;
        }
        rest.fill(0.0);
        let sizes = "buffers were made by the plan";
        self.forward.process_with_scratch(padded, spectrum, scratch).expect(sizes);
        for (value, &factor) in spectrum.iter_mut().zip(&self.response) {
            *value *= factor;
        }
        // Both ends of a real row's transform are real; the product may have left −0.
        let last = spectrum.len() - 1;
        (spectrum[0].im, spectrum[last].im) = (0.0, 0.0);
        self.inverse.process_with_scratch(spectrum, padded, scratch).expect(sizes);
        &padded[..row.len()]
    }
}

/// Δγ g, around a circle of `length`, in double precision.
fn kernel(cells: usize, angle: f64, length: usize) -> Vec<f64> {
    let mut kernel = vec![0.0; length];
    kernel[0] = 1.0 / (8.0 * angle);
    for n in (1..cells).step_by(2) {
        let value = -angle / (2.0 * PI * PI * (n as f64 * angle).sin().powi(2));
        kernel[n] = value;
        kernel[length - n] = value;
    }
    kernel
}

/// The transform of the kernel, windowed; the 1/length of the inverse transform is in it.
fn response(kernel: &[f64], fan: &Fan, length: usize) -> Vec<f32> {
    let mut planner = RealFftPlanner::new();
    let plan = planner.plan_fft_forward(length);
    let mut spectrum = plan.make_output_vec();
    plan.process(&mut kernel.to_vec(), &mut spectrum).expect("buffers were made by the plan");
    let pixel_cells = fan.pixel_mm / (fan.scanner.source_to_centre_mm * fan.scanner.cell_angle());
    let window = |index: usize| {
        let frequency = index as f64 / length as f64;
        0.5 * (1.0 + (2.0 * PI * frequency).cos()) * sinc(frequency * pixel_cells)
    };
    spectrum.iter().enumerate().map(|(index, value)| (value.re * window(index) / length as f64) as f32).collect()
}

fn sinc(x: f64) -> f64 {
    if x == 0.0 { 1.0 } else { (PI * x).sin() / (PI * x) }
}

/// The smallest even number from `least` with no prime factor above 5.
fn smooth(least: usize) -> usize {
    let is_smooth = |number: &usize| {
        let mut rest = *number;
        for prime in [2, 3, 5] {
            while rest.is_multiple_of(prime) {
                rest /= prime;
            }
        }
        rest == 1 && number.is_multiple_of(2)
    };
    (least.max(2)..).find(is_smooth).unwrap_or(least)
}
