//! The penalty as a separate step after the optimiser's, stable at every strength.
//!
//! In the gradient, Adam divides the penalty by √v: a strong penalty spoils the step, a weak one never reaches equivariance. The proximal map
//! of η times the penalty, with η the learning rate, is exact for the Frobenius norm, because P(W) and W − P(W) are orthogonal:
//!
//! ```text
//! squared          P(W) / (1 + 2ηλ_G)  +  (W − P(W)) / (1 + 2ηλ_⊥)
//! squared, whole   P(W) / (1 + 2ηλ_G)  +  (W − P(W)) / (1 + 2η(λ_G + λ_⊥))
//! plain            each part · max(0, 1 − ηλ/‖part‖)                            exactly equivariant at a finite λ_⊥
//! plain, whole     first the threshold of W − P(W), then that of the whole      (exact in this order: the groups are nested)
//! target τ         P(W) + s (W − P(W)),  s = min(1, τ‖P(W)‖ / (√(1 − τ²) ‖W − P(W)‖)):  ‖W − P(W)‖ ≤ τ‖W‖
//! ```
//!
//! It is the proximal map in the Euclidean metric, as AdamW's weight decay is, and not in Adam's own.
//!
//! ```
//! use reynolds::prelude::*;
//! use reynolds::proximal::{Proximal, Target};
//! let layer = Layer::conv2d("C4", "1 regular", "1 regular", 3)?;
//! let mut weights: Vec<f64> = (0..144).map(|i| f64::from(i).sin()).collect();
//! let before = layer.energies(&weights)?;
//! let proximal = Proximal::new(PenaltyConfig::perp(5.0))?;
//! let factors = proximal.apply(layer.projector(), &mut weights, 0.1)?; // η = 0.1
//! assert_eq!((factors.equivariant, factors.perp), (1.0, 0.5));
//! assert!((layer.energies(&weights)?.perp - before.perp / 4.0).abs() < 1e-12);
//!
//! Target::new(0.05)?.apply(layer.projector(), &mut weights)?;
//! assert!((layer.energies(&weights)?.ratio() - (1.0 - 0.05_f64.powi(2))).abs() < 1e-12);
//! # Ok::<(), reynolds::Error>(())
//! ```

use crate::error::{Error, Result};
use crate::norm::Norm;
use crate::penalty::{Form, PenaltyConfig, scaled_parts};
use crate::projection::{Energies, Projector};
use crate::scalar::Weight;

/// What the two parts of W are multiplied by.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Factors {
    /// On P(W).
    pub equivariant: f64,
    /// On W − P(W); 0 if the layer is exactly equivariant now.
    pub perp: f64,
}

impl Factors {
    /// Nothing changes.
    pub const NONE: Self = Self { equivariant: 1.0, perp: 1.0 };

    /// weights ← a P(W) + b (W − P(W)).
    pub fn apply<T: Weight>(self, weights: &mut [T], projected: &[T]) {
        if self == Self::NONE {
            return;
        }
        let scaled = scaled_parts([self.equivariant, self.perp]);
        weights.iter_mut().zip(projected).for_each(|(w, &p)| *w = scaled(*w, p));
    }
}

/// The proximal step of a penalty in the Frobenius norm.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Proximal {
    penalty: PenaltyConfig,
    scale: bool,
}

impl Proximal {
    /// In the plain form λ_⊥ is multiplied by √(real dimension of the complement) and λ_G by √(real rank of P), with
    /// [`PenaltyConfig::whole`] √(real dimension of W), so that one value serves layers of all sizes: see [`Proximal::unscaled`].
    ///
    /// # Errors
    /// [`Error::OutOfRange`] for a strength that [`PenaltyConfig::validate`] refuses, or a norm other than Frobenius, whose proximal map
    /// leaves the subspace of W − P(W).
    pub fn new(penalty: PenaltyConfig) -> Result<Self> {
        penalty.validate()?;
        if penalty.norm != Norm::Frobenius {
            return Err(Error::range("norm of a decoupled penalty", "frobenius", penalty.norm));
        }
        Ok(Self { penalty, scale: true })
    }

    /// The strengths as they are, whatever the size of the layer.
    pub fn unscaled(self) -> Self {
        Self { scale: false, ..self }
    }

    /// The penalty as it was given.
    pub fn penalty(&self) -> PenaltyConfig {
        self.penalty
    }

    /// The same with another λ_⊥, for a schedule.
    pub fn with_lambda_perp(self, lambda_perp: f64) -> Result<Self> {
        let penalty = PenaltyConfig { lambda_perp, ..self.penalty };
        penalty.validate()?;
        Ok(Self { penalty, ..self })
    }

    /// Whether strengths of the plain form grow with the size of a layer: not after [`Proximal::unscaled`].
    pub fn is_scaled(&self) -> bool {
        self.scale
    }

    /// λ_G and λ_⊥ for a layer of `len` real numbers, of which P keeps `rank`.
    pub fn strengths(&self, len: usize, rank: usize) -> (f64, f64) {
        let PenaltyConfig { lambda_g, lambda_perp, form, whole, .. } = self.penalty;
        if form == Form::Squared || !self.scale {
            return (lambda_g, lambda_perp);
        }
        let root = |count: usize| (count as f64).sqrt();
        (lambda_g * root(if whole { len } else { rank }), lambda_perp * root(len - rank))
    }

    /// The factors at these energies of a layer of `len` real numbers, of which P keeps `rank`, with the step size η.
    pub fn factors(&self, energies: Energies, [len, rank]: [usize; 2], step: f64) -> Factors {
        let (lambda_g, lambda_perp) = self.strengths(len, rank);
        let whole = self.penalty.whole;
        match self.penalty.form {
            Form::Squared => Factors {
                equivariant: 1.0 / (1.0 + 2.0 * step * lambda_g),
                perp: 1.0 / (1.0 + 2.0 * step * (lambda_perp + if whole { lambda_g } else { 0.0 })),
            },
            Form::Plain => {
                let perp = threshold(energies.perp, step * lambda_perp);
                if whole {
                    let all = threshold(energies.equivariant + perp * perp * energies.perp, step * lambda_g);
                    return Factors { equivariant: all, perp: all * perp };
                }
                Factors { equivariant: threshold(energies.equivariant, step * lambda_g), perp }
            }
        }
    }

    /// The proximal step of one tensor, in place.
    ///
    /// # Errors
    /// [`Error::OutOfRange`] if `step` is negative or not finite. The weights are unchanged after an error.
    pub fn apply<T: Weight>(&self, projector: &dyn Projector<T>, weights: &mut [T], step: f64) -> Result<Factors> {
        if !(step.is_finite() && step >= 0.0) {
            return Err(Error::range("step size", "a finite number, at least 0", step));
        }
        let mut projected = vec![T::default(); weights.len()];
        let energies = projector.project_into(weights, &mut projected)?;
        let factors = self.factors(energies, real_dimensions(projector), step);
        factors.apply(weights, &projected);
        Ok(factors)
    }
}

/// max(0, 1 − t/n) at n² = `energy`; 1 at t = 0.
fn threshold(energy: f64, by: f64) -> f64 {
    if by == 0.0 { 1.0 } else { (1.0 - by / energy.sqrt()).max(0.0) }
}

/// Real numbers of a layer, and how many of them P keeps.
fn real_dimensions<T: Weight>(projector: &dyn Projector<T>) -> [usize; 2] {
    let numbers = size_of::<T>() / size_of::<T::Real>();
    [projector.len() * numbers, projector.rank() * numbers]
}

/// A residual in place of a strength: ‖W − P(W)‖ ≤ τ‖W‖ after every step.
///
/// W − P(W) is scaled down, P(W) stays. This is not the nearest point with that residual, which would lengthen P(W) too.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Target(f64);

impl Target {
    /// # Errors
    /// [`Error::OutOfRange`] unless 0 ≤ τ < 1; τ = 0 is strict equivariance.
    pub fn new(tau: f64) -> Result<Self> {
        if (0.0..1.0).contains(&tau) {
            Ok(Self(tau))
        } else {
            Err(Error::range("target", "at least 0 and below 1", tau))
        }
    }

    /// τ.
    pub fn tau(self) -> f64 {
        self.0
    }

    /// τ/√(1 − τ²): the largest ‖W − P(W)‖/‖P(W)‖.
    pub fn slope(self) -> f64 {
        self.0 / (1.0 - self.0 * self.0).sqrt()
    }

    /// The factors at these energies.
    pub fn factors(self, energies: Energies) -> Factors {
        let (most, perp) = (self.slope() * energies.equivariant.sqrt(), energies.perp.sqrt());
        Factors { equivariant: 1.0, perp: if perp <= most { 1.0 } else { most / perp } }
    }

    /// The λ_⊥ of the squared form that gives this factor at the step size η: (1/s − 1)/2η. `None` at η = 0.
    pub fn strength(factors: Factors, step: f64) -> Option<f64> {
        (step > 0.0).then(|| (1.0 / factors.perp - 1.0) / (2.0 * step))
    }

    /// Scales W − P(W) of one tensor, in place.
    ///
    /// # Errors
    /// [`Error::OutOfRange`] if P has rank 0: only W = 0 is equivariant then.
    pub fn apply<T: Weight>(self, projector: &dyn Projector<T>, weights: &mut [T]) -> Result<Factors> {
        if projector.rank() == 0 {
            return Err(Error::range("rank of P under a target", "at least 1", 0));
        }
        let mut projected = vec![T::default(); weights.len()];
        let energies = projector.project_into(weights, &mut projected)?;
        let factors = self.factors(energies);
        factors.apply(weights, &projected);
        Ok(factors)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The root of an increasing function between 0 and `most`, or the end where it has none.
    fn root(most: f64, slope: impl Fn(f64) -> f64) -> f64 {
        let (mut low, mut high) = (0.0, most);
        for _ in 0..200 {
            let middle = 0.5 * (low + high);
            if slope(middle) > 0.0 { high = middle } else { low = middle }
        }
        0.5 * (low + high)
    }

    /// The lengths (x, y) of P(X) and X − P(X) that minimise ½‖X − W‖² + η·penalty(X), found by bisection of derivatives alone.
    fn minimum(penalty: &PenaltyConfig, [p, q]: [f64; 2], step: f64) -> [f64; 2] {
        let [g, h] = [step * penalty.lambda_g, step * penalty.lambda_perp];
        // Derivatives of the penalty by one length at the other; on (0, ∞), so that a kink at 0 is met from the right.
        let slope = |own: f64, other: f64, lambda: f64, shared: f64| -> f64 {
            let whole = (own * own + other * other).sqrt().max(1e-300);
            match penalty.form {
                Form::Squared => 2.0 * (lambda + shared) * own,
                Form::Plain => lambda + shared * own / whole,
            }
        };
        let (alone, shared) = if penalty.whole { (0.0, g) } else { (g, 0.0) };
        let best_y = |x: f64| root(q, |y| y - q + slope(y, x, h, shared));
        let x = root(p, |x| x - p + slope(x, best_y(x), alone, shared));
        [x, best_y(x)]
    }

    #[test]
    fn factors_are_those_of_the_numerical_proximal_map() {
        let lengths = [[3.0, 2.0], [0.5, 4.0], [2.0, 0.1]];
        for form in [Form::Squared, Form::Plain] {
            for whole in [false, true] {
                for (lambda_g, lambda_perp) in
                    [(0.0, 0.0), (0.0, 1.5), (0.7, 0.0), (0.7, 1.5), (30.0, 2.0), (2.0, 30.0)]
                {
                    let penalty = PenaltyConfig { lambda_g, lambda_perp, form, whole, ..PenaltyConfig::default() };
                    let proximal = Proximal::new(penalty).unwrap().unscaled();
                    for [p, q] in lengths {
                        let energies = Energies { equivariant: p * p, perp: q * q };
                        let found = proximal.factors(energies, [2, 1], 0.3);
                        let [x, y] = minimum(&penalty, [p, q], 0.3);
                        let off = (found.equivariant * p - x).abs().max((found.perp * q - y).abs());
                        assert!(off < 1e-10, "{penalty:?} at {p}, {q}: {found:?} beside {x}, {y}");
                    }
                }
            }
        }
    }

    #[test]
    fn a_plain_threshold_makes_a_layer_exactly_equivariant_and_sizes_are_divided_out() {
        let plain = PenaltyConfig { lambda_perp: 0.5, form: Form::Plain, ..PenaltyConfig::default() };
        let energies = Energies { equivariant: 4.0, perp: 1.0 };
        let proximal = Proximal::new(plain).unwrap();
        assert_eq!(proximal.unscaled().factors(energies, [10, 1], 1.0), Factors { equivariant: 1.0, perp: 0.5 });
        // √9 times as strong.
        assert_eq!(proximal.factors(energies, [10, 1], 1.0), Factors { equivariant: 1.0, perp: 0.0 });
        assert_eq!(proximal.strengths(10, 1), (0.0, 1.5));
        let whole = PenaltyConfig { lambda_g: 1.0, whole: true, ..plain };
        assert_eq!(Proximal::new(whole).unwrap().strengths(16, 7), (4.0, 1.5));
    }

    #[test]
    fn other_norms_strengths_and_targets_are_refused() {
        for norm in Norm::all().into_iter().filter(|norm| *norm != Norm::Frobenius) {
            let message = Proximal::new(PenaltyConfig { norm, ..PenaltyConfig::perp(1.0) }).unwrap_err().to_string();
            assert!(message.contains(&norm.to_string()) && message.contains("frobenius"), "{message}");
        }
        assert!(Proximal::new(PenaltyConfig::perp(-1.0)).is_err());
        for tau in [-0.1, 1.0, f64::NAN] {
            assert!(Target::new(tau).is_err());
        }
    }

    #[test]
    fn a_target_scales_what_is_beyond_it() {
        let target = Target::new(0.6).unwrap(); // at most 3/4 of ‖P(W)‖
        let at = |equivariant: f64, perp: f64| target.factors(Energies { equivariant, perp });
        assert_eq!(at(16.0, 8.99), Factors::NONE);
        assert!((at(16.0, 36.0).perp - 0.5).abs() < 1e-15);
        assert_eq!([at(0.0, 0.0), at(4.0, 0.0)], [Factors::NONE; 2]);
        assert!((Target::strength(at(16.0, 36.0), 0.1).unwrap() - 5.0).abs() < 1e-13);
        assert_eq!(Target::strength(at(16.0, 36.0), 0.0), None);
        assert_eq!(Target::new(0.0).unwrap().factors(Energies { equivariant: 1.0, perp: 1.0 }).perp, 0.0);
    }
}
