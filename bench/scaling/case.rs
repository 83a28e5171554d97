//! A projector with weights of its size, checked before it is timed.

use std::hint::black_box;

use reynolds::projection::{Basis, Dimensions, KernelSpace, Lowered, Projector, derive};
use reynolds::random::Random;

use super::agreement::{agree, tolerance, with_haar};
use super::clock::{Clock, Work};
use super::extent::Sizes;
use reynolds_train::error::Result;
use reynolds_train::progress;

/// What every measurement on the host needs.
pub(super) struct Bench<'a> {
    /// How works are timed.
    pub(super) clock: Clock,
    /// How large they are.
    pub(super) sizes: &'a Sizes,
    /// Who is told.
    pub(super) progress: &'a progress::Work,
}

/// A projector, random weights and what becomes of them.
pub(super) struct Case {
    /// The lowered form.
    pub(super) projector: Lowered,
    /// W.
    pub(super) weights: Vec<f32>,
    /// P(W).
    pub(super) projected: Vec<f32>,
    /// Somewhere to write to.
    pub(super) out: Vec<f32>,
}

impl Case {
    /// The projector of a space, compared with the Haar average on single pairs of fields.
    ///
    /// # Errors
    /// If they differ.
    pub(super) fn checked(what: &str, space: &KernelSpace) -> Result<Self> {
        let case = Self::new(derive(space)?)?;
        with_haar(what, space, &case.weights, &case.projected)?;
        Ok(case)
    }

    /// Band-limited kernels, which no group acts on: P is compared with E Eᵀ, tile by tile, and has to be idempotent.
    ///
    /// # Errors
    /// If they differ.
    pub(super) fn band_limited(what: &str, basis: Basis) -> Result<Self> {
        let case = Self::new(Lowered::Basis(Box::new(basis)))?;
        let wide: Vec<f64> = case.weights.iter().map(|&w| f64::from(w)).collect();
        let expected: Vec<f32> =
            case.projector.tiling()?.project(&wide).into_iter().map(|value| value as f32).collect();
        let within = tolerance(case.weights.len().isqrt());
        agree(what, &case.projected, &expected, within)?;
        agree(what, &case.projector.project(&case.projected)?, &case.projected, within)?;
        Ok(case)
    }

    /// A projector that the caller checks.
    pub(super) fn new(projector: Lowered) -> Result<Self> {
        let weights = random_weights(projector.len());
        let projected = projector.project(&weights)?;
        let out = vec![0.0; weights.len()];
        Ok(Self { projector, weights, projected, out })
    }

    /// N.
    pub(super) fn len(&self) -> usize {
        self.weights.len()
    }
}

/// Uniform in [−1, 1).
fn random_weights(count: usize) -> Vec<f32> {
    let mut random = Random::new(count as u64);
    (0..count).map(|_| (2.0 * random.uniform() - 1.0) as f32).collect()
}

/// Reads W and writes as much.
pub(super) fn copying<'a>(from: &'a [f32], to: &'a mut [f32]) -> Work<'a> {
    Box::new(move || {
        black_box(&mut *to).copy_from_slice(black_box(from));
        Ok(())
    })
}

/// P(W) with both energies.
pub(super) fn projecting<'a>(projector: &'a dyn Projector<f32>, from: &'a [f32], to: &'a mut [f32]) -> Work<'a> {
    Box::new(move || {
        black_box(projector.project_into(black_box(from), black_box(&mut *to))?);
        Ok(())
    })
}

/// Whatever is made anew at each call.
pub(super) fn making<'a, T: 'a>(mut make: impl FnMut() -> Result<T> + 'a) -> Work<'a> {
    Box::new(move || {
        black_box(make()?);
        Ok(())
    })
}
