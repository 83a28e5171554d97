//! The penalty that makes a network as equivariant as its data asks for.
//!
//! ```text
//! squared (paper, section 3):    λ_G N(P(W))² + λ_⊥ N(W − P(W))²
//! plain   (paper, section 4.1):  λ_G N(P(W))  + λ_⊥ N(W − P(W))
//! ```
//!
//! Section 4.1 puts λ_G on the whole W instead of P(W): [`PenaltyConfig::whole`]. The gradient is closed form and is added to the gradient of
//! the task loss after the backward pass. For the squared Frobenius norm it takes one projection:
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
use crate::norm::{Component, Norm, columns_of_rows};
use crate::projection::Projector;
use crate::scalar::{Real, Weight};

/// The least that is added to N² under the root of the plain form, which otherwise has no derivative at 0.
///
/// What is added is max(10⁻¹², κ² N(W)²) with κ = 32 ε √(len/rank) and ε that of the weight type, N(W) fixed in the gradient. At an
/// equivariant W rounding leaves W − P(W) of about √m ε/2, m = len/rank; κ is 64 times that, so that it pulls with a few hundredths of λ_⊥.
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

    /// An error if λ_G or λ_⊥ is negative or not finite.
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
    /// [`Error::OutOfRange`] if the penalty overflows. `gradient` is unchanged after an error.
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
        for (component, lambda) in self.terms() {
            let (norm, direction) = component.norm_and_gradient(self.norm, projector, weights, rows)?;
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

    fn terms(&self) -> [(Component, f64); 2] {
        let first = if self.whole { Component::Whole } else { Component::Equivariant };
        [(first, self.lambda_g), (Component::Perp, self.lambda_perp)]
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

    /// a P(W) + b (W − P(W)) in one pass.
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
        let scaled = scaled_parts([a, b]);
        gradient.iter_mut().zip(weights).zip(&projected).for_each(|((g, &w), &p)| *g += scaled(w, p));
        Ok(value)
    }
}

/// a P(W) + b (W − P(W)) entry by entry, from W and P(W). The smaller factor multiplies W and the difference one part, so that nothing
/// cancels: a = b scales W to the last bit, and b = 0 gives exactly a P(W).
pub(crate) fn scaled_parts<T: Weight>([a, b]: [f64; 2]) -> impl Fn(T, T) -> T {
    let (base, more) = (T::Real::from_f64(a.min(b)), T::Real::from_f64((a - b).abs()));
    move |w, p| w.scale(base) + (if a >= b { p } else { w - p }).scale(more)
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
    use crate::Layer;

    /// The penalty of two weights that C2 swaps, so that P averages them, and its gradient added to [5, 5].
    fn penalty(config: PenaltyConfig, weights: [f64; 2], rows: usize) -> (Result<f64>, [f64; 2]) {
        let layer = Layer::linear("C2", "trivial", "regular").unwrap();
        let mut gradient = [5.0; 2];
        (config.add_gradient(layer.projector(), &weights, rows, &mut gradient), gradient)
    }

    #[test]
    fn bad_strengths_rows_and_overflow_are_errors_that_change_nothing() {
        let both = PenaltyConfig { lambda_g: 1.0, lambda_perp: 1.0, ..PenaltyConfig::default() };
        for bad in [-1.0, f64::NAN, f64::INFINITY] {
            for config in [PenaltyConfig { lambda_g: bad, ..both }, PenaltyConfig { lambda_perp: bad, ..both }] {
                assert!(matches!(penalty(config, [1.0, 2.0], 1).0, Err(Error::OutOfRange { .. })));
            }
        }
        for norm in Norm::all() {
            for form in [Form::Squared, Form::Plain] {
                for rows in [0, 3] {
                    let (value, gradient) = penalty(PenaltyConfig { norm, form, ..both }, [1.0, 2.0], rows);
                    assert!(matches!(value, Err(Error::Shape { .. })) && gradient == [5.0; 2], "{norm} {form:?}");
                }
            }
            let (value, gradient) = penalty(PenaltyConfig { norm, ..both }, [1e200, 3e200], 1);
            assert!(matches!(value, Err(Error::OutOfRange { .. })) && gradient == [5.0; 2], "{norm}: {value:?}");
        }
        let layer = Layer::linear("C2", "trivial", "regular").unwrap();
        assert!(both.add_gradient(layer.projector(), &[1.0, 2.0], 1, &mut [0.0]).is_err());
    }

    #[test]
    fn plain_form_on_the_whole_weight_by_hand() {
        // W = (3, 1): P(W) = (2, 2), W − P(W) = (1, −1).
        let config = PenaltyConfig { lambda_g: 1.0, form: Form::Plain, whole: true, ..PenaltyConfig::perp(1.0) };
        let (value, gradient) = penalty(config, [3.0, 1.0], 1);
        assert!((value.unwrap() - (10.0_f64.sqrt() + 2.0_f64.sqrt())).abs() < 1e-11);
        let expected = [3.0 / 10.0_f64.sqrt() + 0.5_f64.sqrt(), 1.0 / 10.0_f64.sqrt() - 0.5_f64.sqrt()];
        assert!(gradient.iter().zip(expected).all(|(g, e)| (g - 5.0 - e).abs() < 1e-11));
    }

    #[test]
    fn plain_form_is_flat_at_an_equivariant_weight() {
        for norm in Norm::all() {
            let config = PenaltyConfig { norm, form: Form::Plain, ..PenaltyConfig::perp(1.0) };
            let (value, gradient) = penalty(config, [0.7, 0.7], 1);
            assert!(value.unwrap() <= 1e-6 * (1.0 + 1e-9) && gradient == [5.0; 2], "{norm}");
        }
    }
}
