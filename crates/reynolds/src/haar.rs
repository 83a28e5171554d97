//! Integration over a compact group: [`Quadrature`], nodes and weights for the Haar measure λ.
//!
//! ```text
//! ∫_G f(g) dλ(g) = Σ_q w_q f(g_q)
//! ```
//! exactly, for every f on a finite group, and for every f in the span of matrix elements up to the requested degree on
//! SO(2), O(2), SO(3), O(3).
//!
//! ```
//! use reynolds::group;
//! // x² has mean 1/3 over the rotations of a unit vector: a matrix element of degree 2.
//! let so3 = group::parse("SO3")?;
//! let rule = so3.quadrature(2)?;
//! let mean = rule.integrate(|g| so3.point_matrix(g).expect("acts on space")[(0, 0)].powi(2));
//! assert!((mean - 1.0 / 3.0).abs() < 1e-14);
//! # Ok::<(), reynolds::Error>(())
//! ```

use std::f64::consts::TAU;

use faer::Mat;

use crate::error::{Error, Result};
use crate::group::{Element, Family, Group, Planar, Spatial};
use crate::random::Random;
use crate::scalar::Scalar;

/// Nodes and weights that integrate over a compact group. The weights sum to one.
#[derive(Debug, Clone)]
pub struct Quadrature {
    /// The group elements g_q.
    pub nodes: Vec<Element>,
    /// The weights w_q.
    pub weights: Vec<f64>,
}

impl Quadrature {
    /// Equal weights on the given nodes.
    pub fn uniform(nodes: Vec<Element>) -> Self {
        let weights = vec![1.0 / nodes.len() as f64; nodes.len()];
        Self { nodes, weights }
    }

    /// `Σ_q w_q f(g_q)`.
    pub fn integrate(&self, mut f: impl FnMut(&Element) -> f64) -> f64 {
        self.iter().map(|(g, weight)| weight * f(g)).sum()
    }

    /// `Σ_q w_q f(g_q)` of matrices `[rows, columns]`.
    pub fn integrate_matrix<F: Scalar>(
        &self,
        (rows, columns): (usize, usize),
        mut f: impl FnMut(&Element) -> Mat<F>,
    ) -> Mat<F> {
        self.iter().fold(Mat::zeros(rows, columns), |sum, (g, weight)| sum + faer::Scale(F::from_real(weight)) * f(g))
    }

    /// Pairs of node and weight.
    pub fn iter(&self) -> impl Iterator<Item = (&Element, f64)> {
        self.nodes.iter().zip(self.weights.iter().copied())
    }
}

/// `count` independent elements drawn from the Haar measure of a finite group, SO(2), O(2), SO(3), O(3) or a product of these.
///
/// ```
/// use reynolds::random::Random;
/// use reynolds::{group, haar};
/// let turns = haar::sample(group::parse("SO2")?.as_ref(), 64, &mut Random::new(1))?;
/// assert_eq!(turns.len(), 64);
/// # Ok::<(), reynolds::Error>(())
/// ```
pub fn sample(group: &dyn Group, count: usize, random: &mut Random) -> Result<Vec<Element>> {
    if let Some(order) = group.order() {
        let mut draw = || u128::from(random.bits()) << 64 | u128::from(random.bits());
        return Ok((0..count).map(|_| Element::Finite(draw() % order)).collect());
    }
    if let Some(product) = group.as_product() {
        let (first, second) = product.factors();
        let left = sample(first.as_ref(), count, random)?;
        let right = sample(second.as_ref(), count, random)?;
        return Ok(left.into_iter().zip(right).map(|pair| Element::Pair(Box::new(pair))).collect());
    }
    let family = group.family();
    let coin = |both: bool, random: &mut Random| both && random.below(2) == 1;
    let draw = |random: &mut Random| match family {
        Family::SO2 | Family::O2 => {
            let angle = TAU * random.uniform();
            Some(Element::Planar(Planar::new(angle, coin(family == Family::O2, random))))
        }
        Family::SO3 | Family::O3 => {
            // cos β is uniform under the Haar measure sin β dα dβ dγ.
            let beta = (1.0 - 2.0 * random.uniform()).acos();
            let rotation = Spatial::from_euler(TAU * random.uniform(), beta, TAU * random.uniform());
            Some(Element::Spatial(Spatial { inverted: coin(family == Family::O3, random), ..rotation }))
        }
        _ => None,
    };
    (0..count).map(|_| draw(random)).collect::<Option<Vec<_>>>().ok_or_else(|| {
        let reason = "only finite groups, SO2, O2, SO3, O3 and their products are sampled";
        Error::no_action(group.name(), "a random draw", reason)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::group::parse;

    #[test]
    fn drawn_elements_have_haar_moments() {
        // Means over 20,000 draws of matrix entries (0) and their squares (1/d), within five standard errors.
        for (name, d) in [("C8", 2.0), ("SO2", 2.0), ("O2", 2.0), ("SO3", 3.0), ("O3", 3.0)] {
            let group = parse(name).unwrap();
            let drawn = sample(group.as_ref(), 20_000, &mut Random::new(3)).unwrap();
            let (mut first, mut second, mut determinant) = (0.0, 0.0, 0.0);
            for g in &drawn {
                let matrix = group.point_matrix(g).unwrap();
                first += matrix[(0, 0)] / 20_000.0;
                second += matrix[(1, 0)].powi(2) / 20_000.0;
                determinant += matrix.determinant() / 20_000.0;
            }
            assert!(first.abs() < 0.025 && (second - 1.0 / d).abs() < 0.015, "{name}: {first} {second}");
            let expected = if name.starts_with('O') { 0.0 } else { 1.0 };
            assert!((determinant - expected).abs() < 0.036, "{name}: {determinant}");
        }
    }

    #[test]
    fn elements_drawn_from_a_product_are_pairs_of_drawn_elements() {
        let group = parse("SO2 x C4 x O3").unwrap();
        let drawn = sample(group.as_ref(), 1000, &mut Random::new(5)).unwrap();
        let mut means = [0.0; 3];
        for g in &drawn {
            assert_ne!(group.multiply(g, &group.identity()), group.identity());
            let Element::Pair(pair) = g else { panic!("{g:?}") };
            let Element::Pair(inner) = &pair.0 else { panic!("{g:?}") };
            let values = [inner.0.planar().angle.cos(), inner.1.index() as f64 - 1.5, pair.1.spatial().rotation[0][0]];
            (0..3).for_each(|k| means[k] += values[k] / 1000.0);
        }
        assert!(means.iter().all(|mean| mean.abs() < 0.2), "{means:?}");
    }
}
