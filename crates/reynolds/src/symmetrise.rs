//! The Reynolds average of a black-box map, and how far the map is from it on data.
//!
//! ```text
//! P(f)(x) = ∫ π′(g)* f(π(g) x) dλ(g),      d = (mean_k ‖f(x_k) − P(f)(x_k)‖²)^½
//! ```
//!
//! With ℰ = sup_g (mean_k ‖Δ_g f(x_k)‖²)^½, d ≤ ℰ on every sample, since f − P(f) is an average of π′(g)* Δ_g(f). √2·d ≤ ℰ ≤ 2d and
//! Pythagoras also need ‖h∘π(g)‖ = ‖h‖ on the sample: they hold, and are reported, if every element of G maps the sample to itself.
//!
//! ```
//! use reynolds::symmetrise::symmetrise;
//! use reynolds::{group, rep};
//! let c4 = group::parse("C4")?;
//! let (plane, scalar) = (rep::point(&c4)?, rep::trivial(&c4));
//! let f = symmetrise(|x: &[f64]| vec![x[0] + x[0] * x[0]], &plane, &scalar, 0)?;
//! assert!((f.evaluate(&[1.0, 0.0])?[0] - 0.5).abs() < 1e-15); // x averages to 0, x² to r²/2
//! let on_one_point = f.distance(&[vec![1.0, 0.0]])?;
//! assert!(on_one_point.upper.is_none());
//! let closed = f.distance(&f.orbit_closure(&[vec![1.0, 0.0]])?)?;
//! assert_eq!(closed.upper, Some(2.0 * closed.distance));
//! # Ok::<(), reynolds::Error>(())
//! ```

use crate::defect::{apply, checked, distance};
use crate::error::{Error, Result};
use crate::group::{elements, expect_same};
use crate::haar::Quadrature;
use crate::norm::length;
use crate::rep::Rep;

/// A map f with its Reynolds average P(f).
pub struct Symmetrised<M> {
    map: M,
    domain: Rep,
    codomain: Rep,
    rule: Quadrature,
}

/// ‖f − P(f)‖ on a sample, with the bounds of ℰ that the sample allows.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Distance {
    /// d = (mean ‖f(x) − P(f)(x)‖²)^½.
    pub distance: f64,
    /// ℰ is at least this: d, or √(2|G|/(|G|−1))·d on an orbit-closed sample.
    pub lower: f64,
    /// ℰ is at most this, 2d; known only on an orbit-closed sample of a finite group.
    pub upper: Option<f64>,
    /// (mean ‖P(f)‖², mean ‖f − P(f)‖²), which add up to mean ‖f‖² on an orbit-closed sample of a finite group; else, or if they
    /// overflow, `None`.
    pub energies: Option<(f64, f64)>,
}

/// The Reynolds average of `map` from `domain` to `codomain`.
///
/// For a finite group the average is exact and `degree` is ignored. For a continuous one it is the Haar quadrature of that
/// degree: exact if g ↦ π′(g)* f(π(g) x) has at most that degree, as for polynomial maps; d stays a lower bound of ℰ anyway.
pub fn symmetrise<M: Fn(&[f64]) -> Vec<f64>>(
    map: M,
    domain: &Rep,
    codomain: &Rep,
    degree: usize,
) -> Result<Symmetrised<M>> {
    expect_same(domain.group(), codomain.group())?;
    let rule = domain.group().quadrature(degree)?;
    Ok(Symmetrised { map, domain: domain.clone(), codomain: codomain.clone(), rule })
}

impl<M: Fn(&[f64]) -> Vec<f64>> Symmetrised<M> {
    /// P(f)(x); an error if x or a value of f has the wrong dimension or is not finite.
    pub fn evaluate(&self, x: &[f64]) -> Result<Vec<f64>> {
        let map = checked(&self.map, &self.domain, &self.codomain, &[x.to_vec()])?;
        let mut sum = vec![0.0; self.codomain.dim()];
        for (g, weight) in self.rule.iter() {
            let value = map(&apply(&self.domain.matrix(g), x))?;
            let back = apply(&self.codomain.matrix(g).transpose().to_owned(), &value);
            sum.iter_mut().zip(back).for_each(|(s, v)| *s += weight * v);
        }
        Ok(sum)
    }

    /// All images of the points under a finite group, with multiplicity.
    pub fn orbit_closure(&self, points: &[Vec<f64>]) -> Result<Vec<Vec<f64>>> {
        let all = elements(self.domain.group().as_ref())?;
        let mut images = Vec::with_capacity(all.len() * points.len());
        for g in &all {
            let matrix = self.domain.matrix(g);
            images.extend(points.iter().map(|x| apply(&matrix, x)));
        }
        Ok(images)
    }

    /// ‖f − P(f)‖ on a sample, which must not be empty, and what follows from it.
    pub fn distance(&self, points: &[Vec<f64>]) -> Result<Distance> {
        let map = checked(&self.map, &self.domain, &self.codomain, points)?;
        let (mut equivariant, mut distances) = (0.0, Vec::with_capacity(points.len()));
        let origin = vec![0.0; self.codomain.dim()];
        for x in points {
            let average = self.evaluate(x)?;
            equivariant += distance(&average, &origin).powi(2) / points.len() as f64;
            distances.push(distance(&map(x)?, &average));
        }
        let d = length(distances.iter().copied()) / (points.len() as f64).sqrt();
        let perp = distances.iter().map(|d| d * d).sum::<f64>() / points.len() as f64;
        if !d.is_finite() {
            return Err(Error::range("distance from the average", "sums that do not overflow", d));
        }
        let order = self.domain.group().order().filter(|_| self.is_orbit_closed(points));
        Ok(match order {
            Some(n) => Distance {
                distance: d,
                lower: d * (2.0 * n as f64 / (n as f64 - 1.0).max(1.0)).sqrt(),
                upper: Some(2.0 * d),
                energies: Some((equivariant, perp)).filter(|energies| (energies.0 + energies.1).is_finite()),
            },
            None => Distance { distance: d, lower: d, upper: None, energies: None },
        })
    }

    /// Whether every generator permutes the sample (within 10⁻⁹ of its size), multiplicities included.
    fn is_orbit_closed(&self, points: &[Vec<f64>]) -> bool {
        let size = points.iter().flatten().fold(0.0_f64, |size, x| size.max(x.abs()));
        self.domain.group().generators().iter().all(|g| {
            let matrix = self.domain.matrix(g);
            let mut free: Vec<&Vec<f64>> = points.iter().collect();
            points.iter().all(|x| {
                let image = apply(&matrix, x);
                let at = free.iter().position(|y| distance(y, &image) <= 1e-9 * size);
                at.map(|at| free.swap_remove(at)).is_some()
            })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{group, rep};

    /// f = 3x₀ on a plane whose axes C2 swaps; P(f) = 1.5(x₀ + x₁).
    fn threefold() -> Symmetrised<impl Fn(&[f64]) -> Vec<f64>> {
        let c2 = group::parse("C2").unwrap();
        symmetrise(|x: &[f64]| vec![3.0 * x[0]], &rep::regular(&c2).unwrap(), &rep::trivial(&c2), 0).unwrap()
    }

    #[test]
    fn pythagoras_needs_an_orbit_closed_sample() {
        let f = threefold();
        let open = f.distance(&[vec![2.0, 0.0]]).unwrap();
        assert_eq!((open.distance, open.lower, open.upper, open.energies), (3.0, 3.0, None, None));
        let closed = f.distance(&[vec![2.0, 0.0], vec![0.0, 2.0]]).unwrap();
        assert_eq!(closed.energies, Some((9.0, 9.0))); // mean f² = (36 + 0)/2
        assert!((closed.lower - 6.0).abs() < 1e-14 && closed.upper == Some(2.0 * closed.distance));
        // A repeated point breaks closure.
        assert!(f.distance(&[vec![2.0, 0.0], vec![0.0, 2.0], vec![2.0, 0.0]]).unwrap().upper.is_none());
    }

    #[test]
    fn polynomials_are_averaged_exactly_over_so2() {
        let so2 = group::parse("SO2").unwrap();
        let (plane, scalar) = (rep::point(&so2).unwrap(), rep::trivial(&so2));
        // x² averages to r²/2 and x to 0; on one point r = 5 the map is off by x² + x − 12.5.
        let f = symmetrise(|x: &[f64]| vec![x[0] * x[0] + x[0]], &plane, &scalar, 2).unwrap();
        assert!((f.evaluate(&[3.0, 4.0]).unwrap()[0] - 12.5).abs() < 1e-13);
        let measured = f.distance(&[vec![3.0, 4.0]]).unwrap();
        assert!((measured.distance - 0.5).abs() < 1e-13 && measured.upper.is_none());
        assert!(f.orbit_closure(&[vec![3.0, 4.0]]).is_err());
        assert!(f.evaluate(&[1.0]).is_err() && f.distance(&[]).is_err());
    }

    #[test]
    fn points_at_the_ends_of_the_number_range() {
        for scale in [1e-200, 1e200] {
            let found = threefold().distance(&[vec![2.0 * scale, 0.0]]).unwrap().distance;
            assert!((found / (3.0 * scale) - 1.0).abs() < 1e-14, "{found:e}");
        }
        // Also where the map would swallow them.
        for bad in [f64::NAN, f64::INFINITY] {
            assert!(matches!(threefold().distance(&[vec![1.0, bad]]), Err(crate::Error::NotFinite { index: 1, .. })));
            assert!(matches!(threefold().evaluate(&[1.0, bad]), Err(crate::Error::NotFinite { index: 1, .. })));
        }
    }
}
