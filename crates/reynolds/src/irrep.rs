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

use faer::Mat;

use crate::error::{Error, Result};
use crate::group::{Element, GroupRef};
use crate::rep::{Rep, Representation, SignedPermutation};
use crate::scalar::Scalar;

/// The endomorphism algebra of an irreducible representation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum EndomorphismType {
    /// ℝ: dimension 1 (also every complex irrep, whose algebra is ℂ over ℂ).
    Real,
    /// ℂ: dimension 2, e.g. the turns of C_N, N ≥ 3.
    Complex,
    /// ℍ: dimension 4, e.g. the quaternion group on ℝ⁴.
    Quaternionic,
}

impl EndomorphismType {
    /// Dimension of the algebra over ℝ.
    pub fn dim(self) -> usize {
        match self {
            Self::Real => 1,
            Self::Complex => 2,
            Self::Quaternionic => 4,
        }
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
    ///
    /// # Errors
    /// [`Error::Shape`] if the commutant is not of dimension 1, 2 or 4, or not made of `[dim, dim]` matrices.
    pub fn new(label: impl Into<String>, rep: Rep<F>, commutant: Vec<Mat<F>>) -> Result<Self> {
        if !matches!(commutant.len(), 1 | 2 | 4) {
            return Err(Error::shape("commutant", "1, 2 or 4 matrices", commutant.len()));
        }
        let n = rep.dim();
        if let Some(bad) = commutant.iter().find(|m| (m.nrows(), m.ncols()) != (n, n)) {
            return Err(Error::shape("commutant", format!("[{n}, {n}]"), format!("[{}, {}]", bad.nrows(), bad.ncols())));
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
