//! Irreducible representations and their endomorphism type.
//!
//! By Schur's lemma the equivariant endomorphisms of a real irreducible V form a division algebra over ℝ:
//!
//! ```text
//! End_G(V) ≅ ℝ, ℂ or ℍ,      dim = (1/|G|) Σ_g χ(g)² = 1, 2 or 4
//! ```
//!
//! An [`Irrep`] carries an orthogonal basis of that algebra: projecting a block onto it is all that "averaging within" (paper:
//! `thm:equiv_decomp_informal`) means once copies share one basis.

use std::sync::Arc;

use faer::{Mat, Side, c64};

use crate::error::{Error, Result};
use crate::group::{Element, GroupRef};
use crate::random::Random;
use crate::rep::{self, Rep, Representation, SignedPermutation};
use crate::scalar::Scalar;

/// The endomorphism algebra of an irreducible representation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum EndomorphismType {
    /// ℝ: dimension 1 (also every complex irrep, whose algebra is ℂ over ℂ).
    Real = 1,
    /// ℂ: dimension 2, e.g. the turns of C_N, N ≥ 3.
    Complex = 2,
    /// ℍ: dimension 4, e.g. the quaternion group on ℝ⁴.
    Quaternionic = 4,
}

impl EndomorphismType {
    /// Dimension of the algebra over ℝ.
    pub fn dim(self) -> usize {
        self as usize
    }
}

/// An irreducible representation in its canonical basis.
#[derive(Debug, Clone)]
pub struct Irrep<F: Scalar = f64> {
    label: String,
    rep: Rep<F>,
    commutant: Vec<Mat<F>>,
}

impl<F: Scalar> Irrep<F> {
    /// Names an irreducible representation. `commutant` is a basis of End_G(V), the identity first, orthogonal for the trace form
    /// and each of squared norm dim V.
    ///
    /// Whether `rep` is irreducible is not checked here; the laws in the tests do.
    pub fn new(label: impl Into<String>, rep: Rep<F>, commutant: Vec<Mat<F>>) -> Result<Self> {
        if !matches!(commutant.len(), 1 | 2 | 4) {
            return Err(Error::shape("commutant", "1, 2 or 4 matrices", commutant.len()));
        }
        let n = rep.dim();
        if let Some((rows, columns)) = commutant.iter().map(|m| m.shape()).find(|&shape| shape != (n, n)) {
            return Err(Error::shape("commutant", format!("[{n}, {n}]"), format!("[{rows}, {columns}]")));
        }
        Ok(Self { label: label.into(), rep, commutant })
    }

    /// An irreducible representation of real type: its commutant is the identity alone.
    pub fn of_real_type(label: impl Into<String>, rep: Rep<F>) -> Self {
        let identity = Mat::identity(rep.dim(), rep.dim());
        Self { label: label.into(), rep, commutant: vec![identity] }
    }

    /// ℝ, ℂ or ℍ.
    pub fn endomorphism_type(&self) -> EndomorphismType {
        match self.commutant.len() {
            1 => EndomorphismType::Real,
            2 => EndomorphismType::Complex,
            _ => EndomorphismType::Quaternionic,
        }
    }

    /// The basis of End_G(V), `[dim, dim]` each, the identity first, orthogonal, of squared norm dim V.
    pub fn commutant(&self) -> &[Mat<F>] {
        &self.commutant
    }

    /// The representation it wraps.
    pub fn rep(&self) -> &Rep<F> {
        &self.rep
    }
}

impl<F: Scalar> Representation<F> for Irrep<F> {
    fn group(&self) -> &GroupRef {
        self.rep.group()
    }
    fn dim(&self) -> usize {
        self.rep.dim()
    }
    fn label(&self) -> String {
        self.label.clone()
    }
    fn matrix(&self, g: &Element) -> Mat<F> {
        self.rep.matrix(g)
    }
    fn degree(&self) -> usize {
        self.rep.degree()
    }
    fn character(&self, g: &Element) -> F {
        self.rep.character(g)
    }
    fn signed_permutation(&self, g: &Element) -> Option<SignedPermutation> {
        self.rep.signed_permutation(g)
    }
    fn as_irrep(&self) -> Option<&Irrep<F>> {
        Some(self)
    }
}

/// dim Hom_G(V, W) over the field, from characters.
pub fn hom_dim<F: Scalar>(domain: &Rep<F>, codomain: &Rep<F>) -> Result<usize> {
    let group = domain.group();
    crate::group::expect_same(group, codomain.group())?;
    let rule = group.quadrature(domain.degree() + codomain.degree())?;
    let dim = rule.integrate(|g| (codomain.character(g) * domain.character(g).conjugate()).real());
    Ok(dim.round() as usize)
}

/// `∫ π′(g) X π(g)* dλ(g)`: a random intertwiner, if X is random.
pub(crate) fn average<F: Scalar>(codomain: &Rep<F>, domain: &Rep<F>, x: &Mat<F>) -> Result<Mat<F>> {
    let rule = codomain.group().quadrature(codomain.degree() + domain.degree())?;
    let mut sum = Mat::<F>::zeros(x.nrows(), x.ncols());
    for (g, weight) in rule.iter() {
        let right = x * domain.matrix(g).adjoint();
        let weight = F::from_real(weight);
        if let Some(moves) = codomain.signed_permutation(g) {
            for (j, (&i, &negative)) in moves.image.iter().zip(&moves.negative).enumerate() {
                let factor = if negative { -weight } else { weight };
                for k in 0..x.ncols() {
                    sum[(i as usize, k)] += right[(j, k)] * factor;
                }
            }
        } else {
            let term = codomain.matrix(g) * right;
            for k in 0..x.ncols() {
                for i in 0..x.nrows() {
                    sum[(i, k)] += term[(i, k)] * weight;
                }
            }
        }
    }
    Ok(sum)
}

/// An orthogonal basis of End_G(V) for a real irreducible V whose commutant has dimension 1, 2 or 4: 1, i (, j, k = ij).
pub(crate) fn commutant_basis(representation: &Rep, dim: usize) -> Result<Vec<Mat<f64>>> {
    let n = representation.dim();
    let mut basis = vec![Mat::<f64>::identity(n, n)];
    let mut random = Random::new(n as u64);
    while basis.len() < dim.min(3) {
        let mut unit = average(representation, representation, &random.matrix(n, n))?;
        for known in &basis {
            let overlap = inner(known, &unit) / n as f64;
            unit -= overlap * known;
        }
        // Orthogonal to 1, so antisymmetric with a negative scalar as its square; remove rounding from both facts.
        unit = 0.5 * (&unit - unit.transpose());
        unit *= faer::Scale((n as f64).sqrt() / unit.norm_l2());
        basis.push(unit);
    }
    if dim == 4 {
        basis.push(&basis[1] * &basis[2]);
    }
    if basis.len() != dim || basis.iter().any(|m| !m.norm_l2().is_finite()) {
        let reason = format!("dimension {dim} is not 1, 2 or 4");
        return Err(Error::numerical("commutant of an irreducible representation", reason));
    }
    Ok(basis)
}

fn inner(a: &Mat<f64>, b: &Mat<f64>) -> f64 {
    let columns = a.col_iter().zip(b.col_iter());
    columns.map(|(a, b)| a.iter().zip(b.iter()).map(|(x, y)| x * y).sum::<f64>()).sum()
}

/// Ĝ: representatives of the complex irreducible representations, up to `max_degree` if G is continuous.
///
/// A real irrep of type ℝ stays irreducible; one of type ℂ splits into a pair π, π̄ on the eigenspaces ±i of its complex structure,
/// labelled `label` and `label*` (on SO(2), C_N and Z_n simply `k` and `-k`, with r(θ) ↦ e^{±ikθ}); one of type ℍ into two copies of one.
pub fn unitary_dual(group: &GroupRef, max_degree: usize) -> Result<Vec<Irrep<c64>>> {
    let mut dual = Vec::new();
    for real in group.clone().irreps(max_degree)? {
        let complex = rep::complexified(real.rep());
        let (plus, minus) = complex_labels(&real.label());
        match real.endomorphism_type() {
            EndomorphismType::Real => dual.push(Irrep::of_real_type(plus, complex)),
            EndomorphismType::Complex => {
                let (up, down) = eigenspaces(&real.commutant()[1])?;
                dual.push(Irrep::of_real_type(plus, rep::subspace(&complex, up)));
                dual.push(Irrep::of_real_type(minus, rep::subspace(&complex, down)));
            }
            EndomorphismType::Quaternionic => {
                let (up, _) = eigenspaces(&real.commutant()[1])?;
                dual.push(Irrep::of_real_type(plus, rep::subspace(&complex, up)));
            }
        }
    }
    Ok(dual)
}

/// "irrep(2)" → "2" and "-2"; anything else → itself and itself with a star.
fn complex_labels(label: &str) -> (String, String) {
    let frequency = label.strip_prefix("irrep(").and_then(|rest| rest.strip_suffix(')'));
    match frequency.and_then(|text| text.parse::<u32>().ok()) {
        Some(k) => (k.to_string(), format!("-{k}")),
        None => (label.into(), format!("{label}*")),
    }
}

/// Orthonormal bases of the eigenspaces +i and −i of an antisymmetric J with J² = −1.
fn eigenspaces(structure: &Mat<f64>) -> Result<(Mat<c64>, Mat<c64>)> {
    let n = structure.nrows();
    // −iJ is Hermitian with eigenvalues ±1: −1 first.
    let hermitian = Mat::from_fn(n, n, |i, j| c64::new(0.0, -structure[(i, j)]));
    let (_, vectors) = eigenvectors(&hermitian, "complex structure of an irreducible representation")?;
    Ok((vectors.subcols(n / 2, n - n / 2).to_owned(), vectors.subcols(0, n / 2).to_owned()))
}

/// Eigenvalues of a self-adjoint matrix in ascending order, and its eigenvectors as columns.
pub(crate) fn eigenvectors<F: Scalar>(matrix: &Mat<F>, procedure: &'static str) -> Result<(Vec<f64>, Mat<F>)> {
    let eigen = matrix.self_adjoint_eigen(Side::Lower);
    let eigen = eigen.map_err(|error| Error::numerical(procedure, format!("{error:?}")))?;
    Ok((eigen.S().column_vector().iter().map(|value| value.real()).collect(), eigen.U().to_owned()))
}

/// Shares an irrep as a representation.
impl<F: Scalar> From<Irrep<F>> for Rep<F> {
    fn from(irrep: Irrep<F>) -> Self {
        Arc::new(irrep)
    }
}
