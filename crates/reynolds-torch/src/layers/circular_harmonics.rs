//! Points of the plane as circular harmonics times radial bumps.
//!
//! ```text
//! z = x + iy,  r = |z|,  ẑ = z/r        h^(m)_n = b_n(r) ẑᵐ,   m = −M … M,   n = 1 … C
//! b_n(r) = exp(−(r − c_n)² / (2 · 0.5²)),   c_n evenly from 0 to 4, both ends included
//! ```
//!
//! A turn by α multiplies h^(m) by e^{imα}. At r = 0 that leaves only h^(m) = 0 for m ≠ 0, and so it is.

use reynolds::irreps::Irreps;
use tch::{Kind, Tensor};

use crate::error::{Error, Result};

/// The largest centre and the width of a bump.
const OUTERMOST: f64 = 4.0;
const WIDTH: f64 = 0.5;

/// The feature map `[N, 2]` → `[N, C·(2M+1)]`, complex; channel n·(2M+1) + (m + M), as the typing "Cx(-M..M)" lays them out.
///
/// Paper: `app:details_so2`.
///
/// ```
/// use reynolds_torch::layers::CircularHarmonics;
/// use reynolds_torch::tch::Tensor;
/// let harmonics = CircularHarmonics::new(4, 4)?;
/// assert_eq!(harmonics.irreps().to_string(), "4x(-4..4)");
/// let features = harmonics.forward(&Tensor::from_slice(&[0.0, 1.0]).view([1, 2]))?;
/// assert_eq!(features.size(), [1, 36]);
/// // ẑ = i, so that h^(1) = i h^(0) in the first radial channel.
/// let (zeroth, first) = (features.get(0).get(4), features.get(0).get(5));
/// assert!((f64::try_from(first.imag())? - f64::try_from(zeroth.real())?).abs() < 1e-15);
/// # Ok::<(), reynolds_torch::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CircularHarmonics {
    max_degree: usize,
    channels: usize,
}

impl CircularHarmonics {
    /// Harmonics up to degree M = `max_degree`, each with C = `channels` radial bumps.
    pub fn new(max_degree: usize, channels: usize) -> Result<Self> {
        if max_degree > reynolds::group::MAX_DEGREE {
            return Err(Error::setting("max_degree", format!("at most {}", reynolds::group::MAX_DEGREE), max_degree));
        }
        if channels == 0 {
            return Err(Error::setting("radial channels", "at least 1", channels));
        }
        Ok(Self { max_degree, channels })
    }

    /// Number of complex features, C·(2M+1).
    pub fn dim(&self) -> usize {
        self.channels * (2 * self.max_degree + 1)
    }

    /// How the features turn: "Cx(-M..M)".
    pub fn irreps(&self) -> Irreps {
        irreps(self.channels, self.max_degree)
    }

    /// `[N, 2]` → `[N, C·(2M+1)]`, complex numbers of the precision of the points; computed in double.
    pub fn forward(&self, points: &Tensor) -> Result<Tensor> {
        let kind = if points.kind() == Kind::Double { Kind::ComplexDouble } else { Kind::ComplexFloat };
        let options = (Kind::Double, points.device());
        let degree = self.max_degree as f64;
        let points = points.f_to_kind(Kind::Double)?;
        let (x, y) = (points.f_select(1, 0)?, points.f_select(1, 1)?);
        let radius = x.f_square()?.f_add(&y.f_square()?)?.f_sqrt()?.f_view([-1, 1, 1])?;
        let centres = Tensor::f_linspace(0.0, OUTERMOST, self.channels as i64, options)?.f_view([1, -1, 1])?;
        let bumps = radius.f_sub(&centres)?.f_div_scalar(WIDTH)?.f_square()?.f_mul_scalar(-0.5)?.f_exp()?;
        let orders = Tensor::f_arange_start(-degree, degree + 1.0, options)?.f_view([1, 1, -1])?;
        let seen = radius.f_gt(0.0)?.f_logical_or(&orders.f_eq(0.0)?)?;
        let angles = y.f_atan2(&x)?.f_view([-1, 1, 1])?.f_mul(&orders)?;
        let size = bumps.f_mul(&seen.f_to_kind(Kind::Double)?)?;
        let angles = angles.f_expand_as(&size)?.f_contiguous()?;
        Ok(Tensor::f_polar(&size, &angles)?.f_view([-1, self.dim() as i64])?.f_to_kind(kind)?)
    }
}

/// "Cx(-M..M)".
pub fn irreps(channels: usize, max_degree: usize) -> Irreps {
    let text = format!("{channels}x(-{max_degree}..{max_degree})");
    text.parse().expect("a typing within the largest degree")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::largest;

    #[test]
    fn a_turn_multiplies_order_m_by_its_phase() {
        let harmonics = CircularHarmonics::new(4, 3).unwrap();
        let points = Tensor::from_slice(&[0.3, 0.4, -1.2, 0.7, 0.0, -2.0, 0.0, 0.0]).view([4, 2]);
        for angle in [0.1_f64, 1.0, 2.5, -3.0] {
            let (sine, cosine) = angle.sin_cos();
            let turn = Tensor::from_slice(&[cosine, sine, -sine, cosine]).view([2, 2]);
            let turned = harmonics.forward(&points.matmul(&turn)).unwrap();
            let orders = Tensor::arange_start(-4, 5, (Kind::Double, points.device()));
            let phases = Tensor::polar(&orders.ones_like(), &(orders * angle));
            let expected = (harmonics.forward(&points).unwrap().view([4, 3, 9]) * phases).view([4, 27]);
            assert!(largest(&(turned - expected)) < 1e-14);
        }
    }

    #[test]
    fn bumps_have_their_centres_from_zero_to_four() {
        let harmonics = CircularHarmonics::new(0, 4).unwrap();
        let points = Tensor::from_slice(&[4.0 / 3.0, 0.0]).view([1, 2]);
        let values = Vec::<f64>::try_from(harmonics.forward(&points).unwrap().real().view([-1])).unwrap();
        let bump = |distance: f64| (-2.0 * distance * distance).exp();
        for (value, centre) in values.iter().zip([0.0, 4.0 / 3.0, 8.0 / 3.0, 4.0]) {
            assert!((value - bump(4.0 / 3.0 - centre)).abs() < 1e-15);
        }
        assert!(CircularHarmonics::new(4, 0).is_err() && CircularHarmonics::new(1000, 1).is_err());
    }
}
