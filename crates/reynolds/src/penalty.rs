//! The penalty that makes a network as equivariant as its data asks for.
//!
//! ```text
//! squared (paper, section 3):    λ_G N(P(W))² + λ_⊥ N(W − P(W))²
//! plain   (paper, section 4.1):  λ_G N(P(W))  + λ_⊥ N(W − P(W))
//! ```
//!
//! Section 4.1 puts λ_G on the whole W instead of P(W): [`PenaltyConfig::whole`]. The gradient is closed form, added to the
//! gradient of the task loss after the backward pass; nothing is differentiated through P. For the squared Frobenius norm it
//! takes one projection:
//!
//! ```text
//! 2λ_G P(W) + 2λ_⊥ (W − P(W))
//! ```
//!
//! ```
//! use reynolds::penalty::PenaltyConfig;
//! use reynolds::projection::{KernelSpace, derive};
//! use reynolds::{group, rep};
//! let c2 = group::parse("C2")?;
//! let regular = rep::regular(&c2)?;
//! let projector = derive(&KernelSpace::dense(&regular, &regular)?)?;
//! let penalty = PenaltyConfig { lambda_g: 0.5, lambda_perp: 2.0, ..PenaltyConfig::default() };
//! let mut gradient = [0.0_f64; 4];
//! // W = [[3, 0], [1, 0]]: P(W) has 1.5 on the diagonal and 0.5 off it.
//! let value = penalty.add_gradient(&projector, &[3.0, 0.0, 1.0, 0.0], 2, &mut gradient)?;
//! assert!((value - (0.5 * 5.0 + 2.0 * 5.0)).abs() < 1e-12);
//! assert!((gradient[0] - (2.0 * 0.5 * 1.5 + 2.0 * 2.0 * 1.5)).abs() < 1e-12);
//! # Ok::<(), reynolds::Error>(())
//! ```

use crate::error::{Error, Result, finite};
use crate::norm::{Norm, Part, columns_of_rows};
use crate::projection::Projector;
use crate::scalar::{Real, Weight};

/// Added to N² under the root of the plain form, which has no derivative at 0 otherwise; more where rounding of P(W) is larger.
///
/// What is added is max(10⁻¹², κ² N(W)²) with κ = 32 ε √(len/rank) and ε that of the weight type. A mean over m = len/rank equal
/// members, summed one by one, is off by about √m ε/2 of itself, and that noise is all there is of W − P(W) at an equivariant W:
/// κ is 64 times as much, so its slope there is a few hundredths of λ_⊥ and not λ_⊥. N(W) is held fixed in the gradient.
pub const PLAIN_EPSILON: f64 = 1e-12;

/// Whether the norms are squared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Form {
    /// λ N².
    #[default]
    Squared,
    /// λ √(N² + 10⁻¹²), which is λ N away from 0; see [`PLAIN_EPSILON`].
    Plain,
}

/// Strength and shape of the penalty.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct PenaltyConfig {
    /// λ_G ≥ 0, on the equivariant part.
    pub lambda_g: f64,
    /// λ_⊥ ≥ 0, on the rest.
    pub lambda_perp: f64,
    /// N.
    pub norm: Norm,
    /// Squared or plain.
    pub form: Form,
    /// Put λ_G on the whole W instead of P(W).
    pub whole: bool,
}

impl PenaltyConfig {
    /// λ_⊥ ‖W − P(W)‖² alone.
    pub fn perp(lambda_perp: f64) -> Self {
        Self { lambda_perp, ..Self::default() }
    }

    /// Checks both strengths.
    ///
    /// # Errors
    /// [`Error::OutOfRange`] if λ_G or λ_⊥ is negative, NaN or infinite.
    pub fn validate(&self) -> Result<()> {
        for (what, lambda) in [("lambda_g", self.lambda_g), ("lambda_perp", self.lambda_perp)] {
            if !(lambda.is_finite() && lambda >= 0.0) {
                return Err(Error::range(what, "a finite number, at least 0", lambda));
            }
        }
        Ok(())
    }

    /// The penalty of one tensor; `weights` is read as the matrix `[rows, len / rows]`.
    pub fn value<T: Weight>(&self, projector: &dyn Projector<T>, weights: &[T], rows: usize) -> Result<f64> {
        self.add_gradient(projector, weights, rows, &mut vec![T::default(); weights.len()])
    }

    /// Adds the penalty's gradient to `gradient`, of the shape of `weights`, and returns the penalty.
    ///
    /// # Errors
    /// As [`PenaltyConfig::validate`], [`Projector::project_into`] and [`Norm::value`]; [`Error::Shape`] if `gradient` has another length than
    /// `weights`; [`Error::OutOfRange`] if the penalty overflows. The gradient is untouched then.
    pub fn add_gradient<T: Weight>(
        &self,
        projector: &dyn Projector<T>,
        weights: &[T],
        rows: usize,
        gradient: &mut [T],
    ) -> Result<f64> {
        self.validate()?;
        if gradient.len() != weights.len() {
            return Err(Error::shape("gradient", format!("{} weights", weights.len()), gradient.len()));
        }
        columns_of_rows(weights, rows)?;
        if self.norm == Norm::Frobenius {
            return self.add_frobenius(projector, weights, gradient);
        }
        let epsilon = self.smoothing_of(projector, weights, rows)?;
        let mut total = 0.0;
        let mut sum = vec![T::default(); weights.len()];
        for (part, lambda) in self.terms() {
            let (norm, direction) = part.norm_and_gradient(self.norm, projector, weights, rows)?;
            let (value, slope) = self.term(lambda, norm, epsilon);
            total += finite("penalty", value)?;
            let slope = T::Real::from_f64(slope);
            sum.iter_mut().zip(direction).for_each(|(s, d)| *s += d.scale(slope));
        }
        let total = finite("penalty", total)?;
        gradient.iter_mut().zip(sum).for_each(|(g, s)| *g += s);
        Ok(total)
    }

    /// What the plain form adds to N².
    fn smoothing_of<T: Weight>(&self, projector: &dyn Projector<T>, weights: &[T], rows: usize) -> Result<f64> {
        match self.form {
            Form::Squared => Ok(0.0),
            Form::Plain => Ok(smoothing(projector, self.norm.value(weights, rows)?.powi(2))),
        }
    }

    fn terms(&self) -> [(Part, f64); 2] {
        let first = if self.whole { Part::Whole } else { Part::Equivariant };
        [(first, self.lambda_g), (Part::Perp, self.lambda_perp)]
    }

    /// The term's value and its derivative by N.
    fn term(&self, lambda: f64, norm: f64, epsilon: f64) -> (f64, f64) {
        match self.form {
            Form::Squared => (lambda * norm * norm, 2.0 * lambda * norm),
            Form::Plain => {
                let root = (norm * norm + epsilon).sqrt();
                (lambda * root, lambda * norm / root)
            }
        }
    }

    /// a P(W) + b (W − P(W)) in one pass. The smaller of a and b multiplies W and the difference one part, so that nothing
    /// cancels, and a = b is weight decay to the last bit.
    fn add_frobenius<T: Weight>(&self, projector: &dyn Projector<T>, weights: &[T], gradient: &mut [T]) -> Result<f64> {
        let mut projected = vec![T::default(); weights.len()];
        let energies = projector.project_into(weights, &mut projected)?;
        let epsilon = smoothing(projector, energies.total());
        let (lambda_g, lambda_perp) = (self.lambda_g, self.lambda_perp);
        let squares = [if self.whole { energies.total() } else { energies.equivariant }, energies.perp];
        let (value, [on_first, on_perp]) = match self.form {
            Form::Squared => (lambda_g * squares[0] + lambda_perp * squares[1], [2.0 * lambda_g, 2.0 * lambda_perp]),
            Form::Plain => {
                let norms = squares.map(|square| (square + epsilon).sqrt());
                (lambda_g * norms[0] + lambda_perp * norms[1], [lambda_g / norms[0], lambda_perp / norms[1]])
            }
        };
        let value = finite("penalty", value)?;
        let (a, b) = if self.whole { (on_first, on_first + on_perp) } else { (on_first, on_perp) };
        let (base, more) = (T::Real::from_f64(a.min(b)), T::Real::from_f64((a - b).abs()));
        for ((g, &w), &p) in gradient.iter_mut().zip(weights).zip(&projected) {
            let larger = if a > b { p } else { w - p };
            *g += w.scale(base) + larger.scale(more);
        }
        Ok(value)
    }
}

/// max(10⁻¹², κ² N(W)²): see [`PLAIN_EPSILON`].
fn smoothing<T: Weight>(projector: &dyn Projector<T>, squared_norm: f64) -> f64 {
    let members = projector.len() as f64 / projector.rank().max(1) as f64;
    let kappa = 32.0 * <T::Real as Real>::EPSILON * members.sqrt();
    (kappa * kappa * squared_norm).max(PLAIN_EPSILON)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::projection::{Dimensions, Energies};

    /// C2 on two weights: P averages them.
    #[derive(Debug)]
    struct Mean;

    impl Dimensions for Mean {
        fn len(&self) -> usize {
            2
        }
        fn rank(&self) -> usize {
            1
        }
    }

    impl Projector<f64> for Mean {
        fn apply(&self, weights: &[f64], out: &mut [f64]) -> Energies {
            out.fill((weights[0] + weights[1]) / 2.0);
            crate::projection::energies_of(weights, out)
        }
    }

    #[test]
    fn bad_strengths_are_errors() {
        for bad in [-1.0, f64::NAN, f64::INFINITY] {
            for config in [
                PenaltyConfig { lambda_g: bad, ..PenaltyConfig::default() },
                PenaltyConfig { lambda_perp: bad, ..PenaltyConfig::default() },
            ] {
                assert!(matches!(config.value(&Mean, &[1.0, 2.0], 1), Err(Error::OutOfRange { .. })));
            }
        }
        assert!(PenaltyConfig::default().add_gradient(&Mean, &[1.0, 2.0], 1, &mut [0.0]).is_err());
    }

    #[test]
    fn wrong_rows_and_overflow_are_errors_for_every_norm() {
        for norm in Norm::all() {
            for form in [Form::Squared, Form::Plain] {
                let config = PenaltyConfig { lambda_g: 1.0, lambda_perp: 1.0, norm, form, whole: false };
                for rows in [0, 3] {
                    let mut gradient = [5.0; 2];
                    let added = config.add_gradient(&Mean, &[1.0, 2.0], rows, &mut gradient);
                    assert!(matches!(added, Err(Error::Shape { .. })), "{norm} {form:?}");
                    assert_eq!(gradient, [5.0; 2]);
                }
            }
            let config = PenaltyConfig { lambda_g: 1.0, lambda_perp: 1.0, norm, ..PenaltyConfig::default() };
            let mut gradient = [5.0; 2];
            let added = config.add_gradient(&Mean, &[1e200, 3e200], 1, &mut gradient);
            assert!(matches!(added, Err(Error::OutOfRange { .. })), "{norm}: {added:?}");
            assert_eq!(gradient, [5.0; 2]);
        }
    }

    #[test]
    fn plain_form_on_the_whole_weight_by_hand() {
        // W = (3, 1): P(W) = (2, 2), W − P(W) = (1, −1).
        let config = PenaltyConfig {
            lambda_g: 1.0,
            lambda_perp: 1.0,
            form: Form::Plain,
            whole: true,
            ..PenaltyConfig::default()
        };
        let mut gradient = [10.0, 10.0];
        let value = config.add_gradient(&Mean, &[3.0, 1.0], 1, &mut gradient).unwrap();
        assert!((value - (10.0_f64.sqrt() + 2.0_f64.sqrt())).abs() < 1e-11);
        let expected = [3.0 / 10.0_f64.sqrt() + 0.5_f64.sqrt(), 1.0 / 10.0_f64.sqrt() - 0.5_f64.sqrt()];
        assert!((gradient[0] - 10.0 - expected[0]).abs() < 1e-11);
        assert!((gradient[1] - 10.0 - expected[1]).abs() < 1e-11);
    }

    #[test]
    fn plain_form_is_flat_at_an_equivariant_weight() {
        for norm in Norm::all() {
            let config = PenaltyConfig { lambda_perp: 1.0, norm, form: Form::Plain, ..PenaltyConfig::default() };
            let mut gradient = [0.0; 2];
            let value = config.add_gradient(&Mean, &[0.7, 0.7], 1, &mut gradient).unwrap();
            assert!(value <= 1e-6 * (1.0 + 1e-9), "{norm}: {value}");
            assert_eq!(gradient, [0.0; 2], "{norm}");
        }
    }
}
