//! How much a function of the plane changes under rotations, measured on points.
//!
//! ```text
//! ℰ_emp = Σ_{k,l} |T(g_l x_k) − T(x_k)|        mean = ℰ_emp / (K·L)        relative = mean / std_k T(x_k)
//! ```
//!
//! [`reynolds::defect::empirical`] for scalar outputs, with all points of one rotation evaluated together.
//!
//! Paper: `sec:so2_equivariance`.

use std::f64::consts::TAU;

use reynolds::defect::Empirical;
use reynolds::random::Random;
use reynolds_torch::tch::{Kind, Tensor};

use reynolds_train::error::Result;

/// `count` angles, uniform in [0, 2π).
pub fn random_angles(count: usize, random: &mut Random) -> Vec<f64> {
    (0..count).map(|_| TAU * random.uniform()).collect()
}

/// The error of invariance of `map`, `[N, 2]` → `[N]`, over `points` `[N, 2]` and rotations by these angles. Points should be in double precision, so
/// that only the map rounds.
///
/// ```
/// use reynolds_paper::so2::invariance;
/// use reynolds_torch::tch::Tensor;
/// let points = Tensor::from_slice(&[1.0, 0.0, 0.0, 2.0]).view([2, 2]);
/// let radius = |x: &Tensor| Ok(x.square().sum_dim_intlist([1_i64].as_slice(), false, x.kind()));
/// assert!(invariance(&points, &[0.3, 1.0, 2.5], radius)?.relative < 1e-14);
/// # Ok::<(), reynolds_train::Error>(())
/// ```
pub fn invariance(points: &Tensor, angles: &[f64], map: impl Fn(&Tensor) -> Result<Tensor>) -> Result<Empirical> {
    let evaluate = |points: &Tensor| -> Result<Tensor> { Ok(map(points)?.f_to_kind(Kind::Double)?) };
    let values = evaluate(points)?;
    let mut sum = values.f_zeros_like()?.f_sum(Kind::Double)?;
    for angle in angles {
        let (sine, cosine) = angle.sin_cos();
        let turn = Tensor::f_from_slice(&[cosine, sine, -sine, cosine])?.f_view([2, 2])?;
        let turned = points.f_mm(&turn.f_to_device(points.device())?.f_to_kind(points.kind())?)?;
        sum = sum.f_add_(&evaluate(&turned)?.f_sub(&values)?.f_abs()?.f_sum(Kind::Double)?)?;
    }
    let count = values.size()[0] as f64;
    let sum = sum.f_double_value(&[])?;
    let centred = values.f_sub(&values.f_mean(Kind::Double)?)?;
    let spread = (centred.f_square()?.f_sum(Kind::Double)?.f_double_value(&[])? / count).sqrt();
    let mean = sum / (count * angles.len() as f64);
    Ok(Empirical { sum, mean, relative: if mean == 0.0 { 0.0 } else { mean / spread } })
}

#[cfg(test)]
mod tests {
    use reynolds::defect;
    use reynolds::group::{self, Element, Planar};
    use reynolds::rep;

    use super::*;

    #[test]
    fn it_is_the_defect_of_the_core() {
        let so2 = group::parse("SO2").unwrap();
        let (plane, scalar) = (rep::point(&so2).unwrap(), rep::trivial(&so2));
        let mut random = Random::new(4);
        let points: Vec<Vec<f64>> = (0..20).map(|_| vec![random.normal(), random.normal()]).collect();
        let angles = random_angles(7, &mut random);
        // The core turns from x to −y.
        let turn = |&angle: &f64| Element::Planar(Planar::new(-angle, false));
        let elements: Vec<Element> = angles.iter().map(turn).collect();
        let expected = defect::empirical(|x| vec![x[0] * x[0] + x[1]], &plane, &scalar, &points, &elements).unwrap();
        let tensor = Tensor::from_slice(&points.concat()).view([20, 2]);
        let found = invariance(&tensor, &angles, |x| Ok(x.select(1, 0).square() + x.select(1, 1))).unwrap();
        for (a, b) in [(found.sum, expected.sum), (found.mean, expected.mean), (found.relative, expected.relative)] {
            assert!((a - b).abs() < 1e-12 * b.max(1.0), "{found:?} {expected:?}");
        }
    }

    #[test]
    fn a_constant_is_invariant() {
        let points = Tensor::from_slice(&[1.0, 0.0, 0.0, 2.0]).view([2, 2]);
        let found = invariance(&points, &[1.0], |x| Ok(x.select(1, 0).zeros_like())).unwrap();
        assert_eq!((found.sum, found.relative), (0.0, 0.0));
    }
}
