//! Isotypic decomposition: an orthogonal change of basis that turns a representation into a sum of canonical irreps.
//!
//! ```text
//! π(g) Q = Q · ⊕ σ_k(g)
//! ```
//!
//! All copies of an irrep are expressed in its canonical basis, so that Schur's lemma can be applied block by block.
//!
//! ```
//! use reynolds::{group, rep};
//! let c4 = group::parse("C4")?;
//! let parts = rep::decompose(&rep::regular(&c4)?)?;
//! let labels: Vec<_> = parts.irreps().map(|(irrep, _)| irrep.label()).collect();
//! assert_eq!(labels, ["irrep(0)", "irrep(1)", "irrep(2)"]);
//! # use reynolds::rep::Representation;
//! # Ok::<(), reynolds::Error>(())
//! ```

use std::sync::Arc;

use faer::Mat;

use super::{Rep, Representation};
use crate::error::{Error, Result};
use crate::irrep::{Irrep, average, hom_dim};
use crate::random::Random;
use crate::scalar::Scalar;

/// A representation written as a sum of irreps, summand by summand.
#[derive(Debug, Clone)]
pub struct Decomposition<F: Scalar = f64> {
    /// The summands, in basis order.
    pub pieces: Vec<Piece<F>>,
}

/// Equal summands that follow each other, and how one of them decomposes.
#[derive(Debug, Clone)]
pub struct Piece<F: Scalar = f64> {
    /// Index of its first basis vector.
    pub offset: usize,
    /// How many copies follow each other.
    pub copies: usize,
    /// Dimension of one copy.
    pub dim: usize,
    /// Q `[dim, dim]`; `None` is the identity.
    pub basis: Option<Mat<F>>,
    /// The irreps of one copy with the offsets of their coordinates, in the order of the columns of Q.
    pub irreps: Vec<(Arc<Irrep<F>>, usize)>,
}

impl<F: Scalar> Piece<F> {
    /// Index of the first basis vector of each copy.
    pub(crate) fn offsets(&self) -> impl Iterator<Item = usize> {
        let Self { offset, copies, dim, .. } = *self;
        (0..copies).map(move |copy| offset + copy * dim)
    }
}

impl<F: Scalar> Decomposition<F> {
    /// Dimension of the representation.
    pub(crate) fn dim(&self) -> usize {
        self.pieces.iter().map(|piece| piece.copies * piece.dim).sum()
    }

    /// Every irrep with the offset of its coordinates, copies unrolled.
    pub fn irreps(&self) -> impl Iterator<Item = (&Arc<Irrep<F>>, usize)> {
        self.pieces.iter().flat_map(|piece| {
            piece.offsets().flat_map(|start| piece.irreps.iter().map(move |(irrep, at)| (irrep, start + at)))
        })
    }

    /// Q as one matrix `[n, n]`.
    pub fn basis(&self) -> Mat<F> {
        let mut whole = Mat::<F>::identity(self.dim(), self.dim());
        for piece in &self.pieces {
            let Some(basis) = &piece.basis else { continue };
            for at in piece.offsets() {
                whole.submatrix_mut(at, at, piece.dim, piece.dim).copy_from(basis);
            }
        }
        whole
    }
}

/// Decomposes a representation into the canonical irreps of its group.
pub fn decompose<F: Scalar>(representation: &Rep<F>) -> Result<Decomposition<F>> {
    let irreps: Vec<Arc<Irrep<F>>> =
        F::irreps(representation.group(), representation.degree())?.into_iter().map(Arc::new).collect();
    let whole = [(1, representation.clone())];
    let summands = representation.summands().unwrap_or(&whole);
    let mut known: Vec<(&Rep<F>, Piece<F>)> = Vec::new();
    let mut pieces = Vec::new();
    let mut offset = 0;
    for (copies, rep) in summands {
        let place = super::position(known.iter().map(|(other, _)| *other), rep).unwrap_or(known.len());
        if place == known.len() {
            known.push((rep, decompose_one(rep, &irreps)?));
        }
        pieces.push(Piece { offset, copies: *copies, ..known[place].1.clone() });
        offset += copies * rep.dim();
    }
    Ok(Decomposition { pieces })
}

fn decompose_one<F: Scalar>(rep: &Rep<F>, irreps: &[Arc<Irrep<F>>]) -> Result<Piece<F>> {
    let n = rep.dim();
    let piece = |basis, irreps| Piece { offset: 0, copies: 1, dim: n, basis, irreps };
    if rep.as_irrep().is_some()
        && let Some(same) = irreps.iter().find(|irrep| agrees(rep, irrep))
    {
        return Ok(piece(None, vec![(same.clone(), 0)]));
    }
    let mut basis = Mat::<F>::zeros(n, n);
    let mut parts = Vec::new();
    let mut filled = 0;
    let mut random = Random::new(n as u64);
    for irrep in irreps {
        let shared: Rep<F> = irrep.rep().clone();
        let copies = hom_dim(&shared, rep)? / irrep.endomorphism_type().dim();
        for _ in 0..copies {
            let columns = next_copy(rep, &shared, &basis.subcols(0, filled).to_owned(), &mut random)?;
            basis.subcols_mut(filled, irrep.dim()).copy_from(&columns);
            parts.push((irrep.clone(), filled));
            filled += irrep.dim();
        }
    }
    if filled != n {
        let reason = format!("irreps of total dimension {filled} in a space of dimension {n}");
        return Err(Error::numerical("isotypic decomposition", reason));
    }
    Ok(piece(Some(basis), parts))
}

/// An isometric intertwiner V_σ → V, `[n, d]`, orthogonal to the columns found so far.
fn next_copy<F: Scalar>(rep: &Rep<F>, irrep: &Rep<F>, found: &Mat<F>, random: &mut Random) -> Result<Mat<F>> {
    let d = irrep.dim();
    let mut map = average(rep, irrep, &random.matrix(rep.dim(), d))?;
    // Twice is enough (Kahan); the projector onto earlier copies commutes with G, so the map stays an intertwiner.
    for _ in 0..2 {
        map = &map - found * (found.adjoint() * &map);
    }
    // map* map is equivariant, self-adjoint and positive on an irreducible space: a multiple of the identity.
    let scale = (d as f64).sqrt() / norm(&map);
    Ok(Mat::from_fn(map.nrows(), d, |i, j| map[(i, j)] * F::from_real(scale)))
}

fn norm<F: Scalar>(matrix: &Mat<F>) -> f64 {
    let entries = (0..matrix.ncols()).flat_map(|j| (0..matrix.nrows()).map(move |i| (i, j)));
    entries.map(|at| matrix[at].abs_sq()).sum::<f64>().sqrt()
}

/// Whether the two have equal matrices, which it is enough to check on generators.
fn agrees<F: Scalar>(rep: &Rep<F>, irrep: &Irrep<F>) -> bool {
    rep.dim() == irrep.dim() && rep.group().generators().iter().all(|g| norm(&(rep.matrix(g) - irrep.matrix(g))) < 1e-9)
}
