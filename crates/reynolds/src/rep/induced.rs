//! Representations induced from a subgroup.
//!
//! ```text
//! Ind σ on ⊕_i t_i V:   g t_i = t_j h   ⇒   t_i⊗v ↦ t_j⊗σ(h)v
//! ```

use std::sync::Arc;

use faer::Mat;

use super::{Rep, Representation, SignedPermutation};
use crate::error::{Error, Result};
use crate::group::{self, Element, GroupRef, Homomorphism, elements};
use crate::scalar::Scalar;

/// One element of each left coset gH, in the order of first elements, and the coset of each element of G.
pub(super) fn cosets(inclusion: &Homomorphism) -> Result<(Vec<Element>, Vec<u32>)> {
    let group = inclusion.target();
    let members: Vec<Element> = elements(inclusion.source().as_ref())?.iter().map(|h| inclusion.apply(h)).collect();
    let all = elements(group.as_ref())?;
    let mut coset = vec![u32::MAX; all.len()];
    let mut representatives = Vec::new();
    for g in all {
        if coset[g.index() as usize] == u32::MAX {
            for h in &members {
                coset[group.multiply(&g, h).index() as usize] = representatives.len() as u32;
            }
            representatives.push(g);
        }
    }
    Ok((representatives, coset))
}

#[derive(Debug)]
struct Induced<F: Scalar> {
    inner: Rep<F>,
    inclusion: Homomorphism,
    representatives: Vec<Element>,
    coset: Vec<u32>,
    /// The element of H behind each element of G that lies in H.
    within: Vec<Option<Element>>,
}

/// Ind_H^G σ for a representation σ of a subgroup H of a finite group G.
///
/// # Errors
/// [`Error::GroupMismatch`] if σ is no representation of H; [`Error::TooLarge`] if G cannot be enumerated.
pub fn induced<F: Scalar>(representation: &Rep<F>, inclusion: &Homomorphism) -> Result<Rep<F>> {
    let (expected, got) = (inclusion.source(), representation.group());
    if !group::same(expected, got) {
        return Err(Error::GroupMismatch { expected: expected.name(), got: got.name() });
    }
    let (representatives, coset) = cosets(inclusion)?;
    let mut within = vec![None; coset.len()];
    for h in elements(expected.as_ref())? {
        let at = inclusion.apply(&h).index() as usize;
        within[at] = Some(h);
    }
    Ok(Arc::new(Induced {
        inner: representation.clone(),
        inclusion: inclusion.clone(),
        representatives,
        coset,
        within,
    }))
}

impl<F: Scalar> Induced<F> {
    /// For each representative t_i: the j and h of g t_i = t_j h.
    fn moves<'a>(&'a self, g: &'a Element) -> impl Iterator<Item = (usize, &'a Element)> {
        let group = self.inclusion.target();
        self.representatives.iter().map(move |t| {
            let moved = group.multiply(g, t);
            let j = self.coset[moved.index() as usize] as usize;
            let rest = group.multiply(&group.inverse(&self.representatives[j]), &moved);
            let h = self.within[rest.index() as usize].as_ref();
            (j, h.expect("t_j⁻¹ g t_i lies in H, by the definition of a coset"))
        })
    }
}

impl<F: Scalar> Representation<F> for Induced<F> {
    fn group(&self) -> &GroupRef {
        self.inclusion.target()
    }
    fn dim(&self) -> usize {
        self.representatives.len() * self.inner.dim()
    }
    fn label(&self) -> String {
        format!("induced({} from {})", self.inner.label(), self.inclusion.source().name())
    }
    fn matrix(&self, g: &Element) -> Mat<F> {
        let n = self.inner.dim();
        let mut matrix = Mat::zeros(self.dim(), self.dim());
        for (i, (j, h)) in self.moves(g).enumerate() {
            matrix.submatrix_mut(j * n, i * n, n, n).copy_from(self.inner.matrix(h));
        }
        matrix
    }
    fn signed_permutation(&self, g: &Element) -> Option<SignedPermutation> {
        let n = self.inner.dim();
        let mut whole = SignedPermutation::unsigned(Vec::with_capacity(self.dim()));
        for (j, h) in self.moves(g) {
            let part = self.inner.signed_permutation(h)?;
            whole.image.extend(part.image.iter().map(|&v| v + (j * n) as u32));
            whole.negative.extend(part.negative);
        }
        Some(whole)
    }
}
