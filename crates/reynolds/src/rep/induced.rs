//! Representations induced from a subgroup.
//!
//! ```text
//! Ind σ on ⊕_i t_i V:   g t_i = t_j h   ⇒   t_i⊗v ↦ t_j⊗σ(h)v
//! ```

use std::sync::Arc;

use faer::Mat;

use super::formula::Formula;
use super::{Rep, SignedPermutation};
use crate::error::Result;
use crate::group::{self, Element, Homomorphism, elements};
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

/// Ind_H^G σ for a representation σ of a subgroup H of a finite group G.
pub fn induced<F: Scalar>(representation: &Rep<F>, inclusion: &Homomorphism) -> Result<Rep<F>> {
    let (subgroup, group) = (inclusion.source(), inclusion.target());
    group::expect_same(subgroup, representation.group())?;
    let (representatives, coset) = cosets(inclusion)?;
    // The preimage in H of each element of G.
    let mut within = vec![None; coset.len()];
    for h in elements(subgroup.as_ref())? {
        let at = inclusion.apply(&h).index() as usize;
        within[at] = Some(h);
    }
    let (n, count) = (representation.dim(), representatives.len());
    let acting = group.clone();
    // For each representative t_i: the j and h of g t_i = t_j h.
    let moves = Arc::new(move |g: &Element| -> Vec<(usize, Element)> {
        let target = |t: &Element| {
            let moved = acting.multiply(g, t);
            let j = coset[moved.index() as usize] as usize;
            let rest = acting.multiply(&acting.inverse(&representatives[j]), &moved);
            let h = within[rest.index() as usize].clone();
            (j, h.expect("t_j⁻¹ g t_i lies in H, by the definition of a coset"))
        };
        representatives.iter().map(target).collect()
    });
    let label = format!("induced({} from {})", representation.label(), subgroup.name());
    let (inner, signed) = (representation.clone(), representation.clone());
    let blocks = moves.clone();
    let matrix = move |g: &Element| {
        let mut matrix = Mat::zeros(count * n, count * n);
        for (i, (j, h)) in blocks(g).into_iter().enumerate() {
            matrix.submatrix_mut(j * n, i * n, n, n).copy_from(inner.matrix(&h));
        }
        matrix
    };
    let signed = move |g: &Element| {
        let mut whole = SignedPermutation::unsigned(Vec::with_capacity(count * n));
        for (j, h) in moves(g) {
            let part = signed.signed_permutation(&h)?;
            whole.image.extend(part.image.iter().map(|&v| v + (j * n) as u32));
            whole.negative.extend(part.negative);
        }
        Some(whole)
    };
    Ok(Formula::new(group, label, count * n, matrix).signed(signed).shared())
}
