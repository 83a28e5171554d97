//! Kernels in four orientations from one set of weights: Fourier series on turned grids.
//!
//! ```text
//! K_{m,o} = Σ_c w_{m,c} ψ_{c,o}      ψ_{c,o}(x, y) = ψ_c(x cos θ − y sin θ, y cos θ + x sin θ),   θ = πo/2
//! functions   cos and sin of v(k̃x + l̃y),  k, l = 0 … q − 1,  k̃ = k − q·[k > q/2],  v = π(q − 1)/q,  times exp(−max(x² + y² − 1, 0)/0.2)
//! ```
//!
//! on p × p points of [−1, 1]², x along rows and y down columns, so that K_{m,o} is K_{m,0} turned o times by the quarter turn of NumPy's
//! `rot90`. The functions, all cosines and then all sines with l fastest, are made orthonormal over points and orientations one after the
//! other; those that depend on the ones before are left out. (The singular vectors of Xie et al. have the same span, but are not unique where
//! singular values coincide: saved weights would depend on the machine.)
//!
//! After Xie et al. (IEEE Transactions on Pattern Analysis and Machine Intelligence 2023).
//!
//! ```
//! use reynolds_paper::ct::networks::RotatedKernels;
//! use reynolds_torch::tch::{Kind, Tensor};
//! let turned = RotatedKernels::new(5, 5)?;
//! assert_eq!(turned.functions(), 25);
//! let weights = Tensor::arange(50, (Kind::Double, reynolds_torch::tch::Device::Cpu)).view([2, 25]);
//! let kernels = turned.kernels(&weights)?;
//! assert_eq!(kernels.size(), [8, 5, 5]);
//! let difference = kernels.get(5) - kernels.get(4).rot90(1, [0, 1]);
//! assert!(f64::try_from(difference.abs().max())? < 1e-12);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use std::f64::consts::PI;

use reynolds::random::Random;
use reynolds_torch::error::Result;
use reynolds_torch::layers::{Constant, uniform};
use tch::Tensor;

/// What of a function has to be new, by its square, for it to be kept.
const NEW: f64 = 1e-4;

/// Orientations.
pub(super) const TURNS: usize = 4;

/// Weights `[m, functions]` → kernels `[4m, p, p]`, orientation fastest.
#[derive(Debug)]
pub struct RotatedKernels {
    side: usize,
    functions: usize,
    /// `[functions, 4p²]`.
    basis: Constant,
}

impl RotatedKernels {
    /// Functions of `frequencies` along each axis on `side` × `side` points.
    pub fn new(side: usize, frequencies: usize) -> Result<Self> {
        assert!(side > 1 && frequencies > 0, "kernels of {side} and {frequencies}");
        let functions = orthonormal(&series(side, frequencies));
        let shape = [functions.len() as i64, (TURNS * side * side) as i64];
        Ok(Self { side, functions: functions.len(), basis: Constant::new(&functions.concat(), &shape)? })
    }

    /// Weights of one kernel.
    pub fn functions(&self) -> usize {
        self.functions
    }

    /// Weights `[kernels, functions]` to begin with: uniform in ±√(6/functions).
    pub fn initial(&self, kernels: usize, random: &mut Random) -> Vec<f64> {
        uniform(kernels * self.functions, (6.0 / self.functions as f64).sqrt(), random)
    }

    pub fn kernels(&self, weights: &Tensor) -> Result<Tensor> {
        let side = self.side as i64;
        Ok(weights.f_matmul(&self.basis.like(weights)?)?.f_view([-1, side, side])?)
    }
}

/// All functions, each on [orientation, y, x].
fn series(side: usize, frequencies: usize) -> Vec<Vec<f64>> {
    let q = frequencies as f64;
    let frequency = |index: usize| {
        let folded = if 2 * index > frequencies { index as f64 - q } else { index as f64 };
        PI * (q - 1.0) / q * folded
    };
    let place = |index: usize| 2.0 * index as f64 / (side - 1) as f64 - 1.0;
    let mut points = Vec::with_capacity(TURNS * side * side);
    for turn in 0..TURNS {
        let (sin, cos) = (2.0 * PI * turn as f64 / TURNS as f64).sin_cos();
        for (y, x) in (0..side).flat_map(|row| (0..side).map(move |column| (place(row), place(column)))) {
            let disk = (-(x * x + y * y - 1.0).max(0.0) / 0.2).exp();
            points.push((x * cos - y * sin, y * cos + x * sin, disk));
        }
    }
    let mut functions = Vec::with_capacity(2 * frequencies * frequencies);
    for wave in [f64::cos, f64::sin] {
        for (k, l) in (0..frequencies).flat_map(|k| (0..frequencies).map(move |l| (frequency(k), frequency(l)))) {
            functions.push(points.iter().map(|(x, y, disk)| disk * wave(k * x + l * y)).collect());
        }
    }
    functions
}

/// The functions one after the other, without what the ones before have of them.
fn orthonormal(functions: &[Vec<f64>]) -> Vec<Vec<f64>> {
    let mut kept: Vec<Vec<f64>> = Vec::new();
    for function in functions {
        let mut rest = function.clone();
        // Twice, for the second time takes away what rounding left.
        for _ in 0..2 {
            for other in &kept {
                let part = dot(&rest, other);
                rest.iter_mut().zip(other).for_each(|(rest, other)| *rest -= part * other);
            }
        }
        let square = dot(&rest, &rest);
        if square > NEW {
            rest.iter_mut().for_each(|value| *value /= square.sqrt());
            kept.push(rest);
        }
    }
    kept
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}
