//! The penalty in norms other than Frobenius.
//!
//! ```text
//! ∇_W N(QW) = Q[∂N(QW)],   Q = P, I − P or I
//! ```
//!
//! The subgradient is projected once more: P(W) has repeated singular values and orbit-wise ties, and without it the gradient is wrong.
//! Both terms share that projection, A on P(W) and B on W − P(W): P(A) + B − P(B) = B + P(A − B).

use reynolds::penalty::{Form, PLAIN_EPSILON};
use tch::{Kind, Tensor};

use super::{Penalty, ValueAndSlope};
use crate::error::Result;
use crate::norm;

impl Penalty {
    /// The penalty and, if wanted, its gradient, of the bound numbers.
    pub(super) fn general(&self, weights: &Tensor, projected: &Tensor, wanted: bool) -> Result<ValueAndSlope> {
        let config = self.config;
        let epsilon = self.smoothing(weights)?;
        let first = if config.whole { weights } else { projected };
        let (value, on_first) = self.term(first, config.lambda_g, &epsilon, wanted)?;
        let (more, on_perp) = self.term(&weights.f_sub(projected)?, config.lambda_perp, &epsilon, wanted)?;
        let value = value.f_add(&more)?.f_to_kind(self.binding.kind())?;
        let (Some(a), Some(b)) = (on_first, on_perp) else { return Ok((value, None)) };
        let slope = if config.whole {
            a.f_add(&b)?.f_sub(&self.binding.projector.apply(&b)?)?
        } else {
            b.f_add(&self.binding.projector.apply(&a.f_sub(&b)?)?)?
        };
        Ok((value, Some(slope)))
    }

    /// What the plain form adds to N² for each parameter, `[count]` in the order of the matrices, not on the tape.
    fn smoothing(&self, weights: &Tensor) -> Result<Option<Tensor>> {
        if self.config.form == Form::Squared {
            return Ok(None);
        }
        let matrices = self.matrices.split(&weights.f_detach()?)?;
        let norms = matrices.iter().map(|a| norm::value(self.config.norm, a)).collect::<Result<Vec<_>>>()?;
        let squares = Tensor::f_cat(&norms, 0)?.f_to_kind(Kind::Double)?.f_square()?;
        Ok(Some(squares.f_mul(&self.kappa_squared)?.f_clamp_min(PLAIN_EPSILON)?))
    }

    /// λ Σ N² or λ Σ √(N² + ε) over all parameters of `part`, in double precision.
    fn term(&self, part: &Tensor, lambda: f64, epsilon: &Option<Tensor>, wanted: bool) -> Result<ValueAndSlope> {
        if lambda == 0.0 {
            // The sum of none of the numbers: zero, and on the tape if they are.
            let value = part.f_narrow(0, 0, 0)?.f_sum(Kind::Double)?;
            return Ok((value, wanted.then(|| part.f_detach()?.f_zeros_like()).transpose()?));
        }
        let mut norms = Vec::new();
        let mut directions = Vec::new();
        for a in self.matrices.split(part)? {
            if wanted {
                let (value, direction) = norm::value_and_gradient(self.config.norm, &a)?;
                norms.push(value);
                directions.push(direction);
            } else {
                norms.push(norm::value(self.config.norm, &a)?);
            }
        }
        let counts: Vec<i64> = norms.iter().map(|norms| norms.size()[0]).collect();
        let norms = Tensor::f_cat(&norms, 0)?.f_to_kind(Kind::Double)?;
        let (values, slopes) = match epsilon {
            None => (norms.f_square()?, norms.f_mul_scalar(2.0)?),
            Some(epsilon) => {
                let roots = norms.f_square()?.f_add(epsilon)?.f_sqrt()?;
                let slopes = norms.f_div(&roots)?;
                (roots, slopes)
            }
        };
        let value = values.f_sum(Kind::Double)?.f_mul_scalar(lambda)?;
        if !wanted {
            return Ok((value, None));
        }
        let slopes = slopes.f_mul_scalar(lambda)?.f_to_kind(part.kind())?;
        let mut start = 0;
        for (direction, count) in directions.iter_mut().zip(counts) {
            *direction = direction.f_mul(&slopes.f_narrow(0, start, count)?.f_view([-1, 1, 1])?)?;
            start += count;
        }
        Ok((value, Some(self.matrices.join(&directions)?)))
    }
}
