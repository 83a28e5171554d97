//! The transform of functions on G, and its inverse.

use faer::{Mat, MatRef, c64};

use super::operator_space::expect_shape;
use crate::error::{Error, Result, all_finite};
use crate::group::{Element, GroupRef};
use crate::haar::Quadrature;
use crate::irrep::{Irrep, unitary_dual};
use crate::rep::Representation;
use crate::scalar::Scalar;

/// The most entries that the table of basis functions at the nodes, or an operator on them, may have: finite groups up to
/// order 4096, SO(3) up to degree 11.
pub const MAX_ENTRIES: usize = 1 << 24;

/// The Fourier transform on a compact group, up to a band limit.
///
/// A function is given by its values at [`FourierTransform::nodes`]: all elements of a finite group, in its order; else the
/// nodes of a Haar rule that is exact for products of two functions of degree `max_degree`. Its transform is one matrix
/// f̂(π), `[d_π, d_π]`, for each π in [`FourierTransform::dual`]. On samples of a function of higher degree the pair
/// `inverse(forward(f))` is no longer the identity, but the orthogonal projection onto the band.
///
/// ```
/// use faer::c64;
/// use reynolds::fourier::FourierTransform;
/// use reynolds::rep::Representation;
/// use reynolds::group;
/// // On the circle: 2 cos 3θ is e^{3iθ} + e^{−3iθ}.
/// let transform = FourierTransform::new(&group::parse("SO2")?, 4)?;
/// let f: Vec<c64> = transform.nodes().iter().map(|g| c64::new(2.0 * (3.0 * g.planar().angle).cos(), 0.0)).collect();
/// let coefficients = transform.forward(&f)?;
/// for (pi, matrix) in transform.dual().iter().zip(&coefficients) {
///     let expected = if ["3", "-3"].contains(&pi.label().as_str()) { 1.0 } else { 0.0 };
///     assert!((matrix[(0, 0)].re - expected).abs() < 1e-14);
/// }
/// # Ok::<(), reynolds::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct FourierTransform {
    group: GroupRef,
    dual: Vec<Irrep<c64>>,
    rule: Quadrature,
    /// √d_π π(g_q)_{kj}, `[nodes, (π, k, j)]`.
    basis: Mat<c64>,
}

impl FourierTransform {
    /// The transform on `group`, for functions of degree at most `max_degree` (any function, if the group is finite). An error for
    /// a finite group over order 4096, and for a degree that needs more than [`MAX_ENTRIES`] values of basis functions.
    pub fn new(group: &GroupRef, max_degree: usize) -> Result<Self> {
        Self::oversampled(group, max_degree, max_degree)
    }

    /// The same, sampled on nodes that are exact for degree `sampled`, at least `max_degree`.
    pub(super) fn oversampled(group: &GroupRef, max_degree: usize, sampled: usize) -> Result<Self> {
        if let Some(order) = group.order().filter(|&n| n > MAX_ENTRIES.isqrt() as u128) {
            return Err(Error::too_large(group.name(), "a Fourier transform", MAX_ENTRIES.isqrt() as u128, order));
        }
        let dual = unitary_dual(group, max_degree)?;
        let rule = group.quadrature(sampled.saturating_mul(2))?;
        let count = dual.iter().map(|pi| pi.dim() * pi.dim()).sum::<usize>();
        if group.order().is_some_and(|n| n != count as u128) {
            let reason = format!("squared dimensions add up to {count}, not to the order of {}", group.name());
            return Err(Error::numerical("unitary dual", reason));
        }
        if count * rule.nodes.len() > MAX_ENTRIES {
            let what = format!("band limit {max_degree} on {}", group.name());
            let expected = format!("at most {MAX_ENTRIES} values of basis functions");
            return Err(Error::range(what, expected, count * rule.nodes.len()));
        }
        let mut basis = Mat::zeros(rule.nodes.len(), count);
        for (q, g) in rule.nodes.iter().enumerate() {
            for (c, value) in basis_at(&dual, g).into_iter().enumerate() {
                basis[(q, c)] = value;
            }
        }
        Ok(Self { group: group.clone(), dual, rule, basis })
    }

    /// The group.
    pub fn group(&self) -> &GroupRef {
        &self.group
    }

    /// Ĝ up to the band limit, the trivial representation first.
    pub fn dual(&self) -> &[Irrep<c64>] {
        &self.dual
    }

    /// Where functions are sampled.
    pub fn nodes(&self) -> &[Element] {
        &self.rule.nodes
    }

    /// The Haar rule on the nodes.
    pub fn rule(&self) -> &Quadrature {
        &self.rule
    }

    /// Σ d_π², the dimension of the space of band-limited functions.
    pub fn dim(&self) -> usize {
        self.basis.ncols()
    }

    /// The values e_{π,k,j}(g_q) = √d_π π(g_q)_{kj} of the orthonormal basis, `[nodes, (π, k, j)]`.
    pub fn basis(&self) -> MatRef<'_, c64> {
        self.basis.as_ref()
    }

    /// f̂(π) = ∫ f(g) π(g)* dλ(g), one matrix `[d_π, d_π]` for each π; `f` is `[nodes]`.
    pub fn forward(&self, f: &[c64]) -> Result<Vec<Mat<c64>>> {
        let (nodes, values) = (self.rule.nodes.len(), f.len());
        if values != nodes {
            return Err(Error::shape("function on the group", format!("[{nodes}]"), format!("[{values}]")));
        }
        all_finite(f)?;
        let weighted = Mat::from_fn(f.len(), 1, |q, _| f[q] * c64::from_real(self.rule.weights[q]));
        let coefficients = self.basis.adjoint() * weighted;
        let mut at = 0;
        let matrices = self.dual.iter().map(|pi| {
            let d = pi.dim();
            let scale = c64::from_real(1.0 / (d as f64).sqrt());
            let matrix = Mat::from_fn(d, d, |j, k| coefficients[(at + k * d + j, 0)] * scale);
            at += d * d;
            matrix
        });
        Ok(matrices.collect())
    }

    /// f(g_q) = Σ_π d_π tr(f̂(π) π(g_q)) at the nodes, `[nodes]`.
    pub fn inverse(&self, coefficients: &[Mat<c64>]) -> Result<Vec<c64>> {
        let values = &self.basis * self.stack(coefficients)?;
        Ok((0..values.nrows()).map(|q| values[(q, 0)]).collect())
    }

    /// f(g) = Σ_π d_π tr(f̂(π) π(g)) at any element of the group, a node or not.
    pub fn evaluate(&self, coefficients: &[Mat<c64>], g: &Element) -> Result<c64> {
        let stacked = self.stack(coefficients)?;
        let terms = basis_at(&self.dual, g).into_iter().enumerate().map(|(c, value)| value * stacked[(c, 0)]);
        Ok(terms.fold(c64::ZERO, |sum, term| sum + term))
    }

    /// ‖f‖² = Σ_π d_π ‖f̂(π)‖² (Plancherel), from coefficients.
    pub fn energy(&self, coefficients: &[Mat<c64>]) -> f64 {
        self.dual.iter().zip(coefficients).map(|(pi, matrix)| pi.dim() as f64 * matrix.squared_norm_l2()).sum()
    }

    /// c_{kj} = √d_π f̂(π)_{jk}, `[(π, k, j), 1]`.
    fn stack(&self, coefficients: &[Mat<c64>]) -> Result<Mat<c64>> {
        if coefficients.len() != self.dual.len() {
            let expected = format!("{} matrices", self.dual.len());
            return Err(Error::shape("Fourier coefficients", expected, coefficients.len()));
        }
        let mut stacked = Mat::zeros(self.dim(), 1);
        let mut at = 0;
        for (pi, matrix) in self.dual.iter().zip(coefficients) {
            let d = pi.dim();
            expect_shape(&format!("Fourier coefficient at {}", pi.label()), matrix, (d, d))?;
            let scale = c64::from_real((d as f64).sqrt());
            for k in 0..d {
                for j in 0..d {
                    stacked[(at + k * d + j, 0)] = matrix[(j, k)] * scale;
                }
            }
            at += d * d;
        }
        Ok(stacked)
    }
}

/// √d_π π(g)_{kj} in the order (π, k, j).
fn basis_at(dual: &[Irrep<c64>], g: &Element) -> Vec<c64> {
    let mut values = Vec::new();
    for pi in dual {
        let matrix = pi.matrix(g);
        let scale = c64::from_real((pi.dim() as f64).sqrt());
        for k in 0..pi.dim() {
            values.extend((0..pi.dim()).map(|j| matrix[(k, j)] * scale));
        }
    }
    values
}
