//! Direct sums: fields, copies outermost.

use std::sync::Arc;

use faer::Mat;

use super::{Rep, Representation, SignedPermutation};
use crate::error::{Error, Result};
use crate::group::{self, Element, GroupRef};
use crate::scalar::Scalar;

/// The largest dimension of a sum: more channels than any layer has, few enough to list.
pub(super) const MAX_DIM: usize = 1 << 24;

#[derive(Debug)]
struct Sum<F: Scalar> {
    group: GroupRef,
    summands: Vec<(usize, Rep<F>)>,
    dim: usize,
}

/// ⊕ mᵢ Vᵢ: m₁ copies of V₁, one after the other, then m₂ of V₂, … Nested sums are flattened, summands
/// without copies dropped; the dimension is at most 2²⁴.
pub fn sum<F: Scalar>(group: &GroupRef, summands: &[(usize, Rep<F>)]) -> Result<Rep<F>> {
    let mut sizes = summands.iter().map(|(copies, rep)| copies.checked_mul(rep.dim()));
    let dim = sizes.try_fold(0_usize, |total, size| total.checked_add(size?)).filter(|&dim| dim <= MAX_DIM);
    let dim = dim.ok_or_else(|| Error::range("dimension of a direct sum", format!("at most {MAX_DIM}"), "more"))?;
    let mut flat = Vec::new();
    for (copies, rep) in summands {
        group::expect_same(group, rep.group())?;
        match rep.summands() {
            _ if *copies == 0 => {}
            None => flat.push((*copies, rep.clone())),
            Some([(inner, one)]) => flat.push((copies * inner, one.clone())),
            Some(parts) => (0..*copies).for_each(|_| flat.extend(parts.iter().cloned())),
        }
    }
    Ok(Arc::new(Sum { group: group.clone(), summands: flat, dim }))
}

impl<F: Scalar> Representation<F> for Sum<F> {
    fn group(&self) -> &GroupRef {
        &self.group
    }
    fn dim(&self) -> usize {
        self.dim
    }
    fn label(&self) -> String {
        // An irrep of SO(3), O(3) or S_n is labelled "1", "1o" or "[3,1]"; after a number of copies that reads ill.
        let part = |(copies, rep): &(usize, Rep<F>)| match rep.label() {
            label if label.starts_with(|c: char| "-[".contains(c) || c.is_ascii_digit()) => {
                format!("{copies} irrep({label})")
            }
            label => format!("{copies} {label}"),
        };
        self.summands.iter().map(part).collect::<Vec<_>>().join(" + ")
    }
    fn degree(&self) -> usize {
        self.summands.iter().map(|(_, rep)| rep.degree()).max().unwrap_or(0)
    }
    fn matrix(&self, g: &Element) -> Mat<F> {
        let mut matrix = Mat::zeros(self.dim, self.dim);
        let mut at = 0;
        for (copies, rep) in &self.summands {
            let (block, n) = (rep.matrix(g), rep.dim());
            for _ in 0..*copies {
                matrix.submatrix_mut(at, at, n, n).copy_from(&block);
                at += n;
            }
        }
        matrix
    }
    fn character(&self, g: &Element) -> F {
        let mut trace = F::ZERO;
        for (copies, rep) in &self.summands {
            trace += rep.character(g) * F::from_real(*copies as f64);
        }
        trace
    }
    fn signed_permutation(&self, g: &Element) -> Option<SignedPermutation> {
        let mut whole = SignedPermutation::unsigned(Vec::with_capacity(self.dim));
        for (copies, rep) in &self.summands {
            let part = rep.signed_permutation(g)?;
            for _ in 0..*copies {
                let at = whole.image.len() as u32;
                whole.image.extend(part.image.iter().map(|&v| v + at));
                whole.negative.extend(&part.negative);
            }
        }
        Some(whole)
    }
    fn summands(&self) -> Option<&[(usize, Rep<F>)]> {
        Some(&self.summands)
    }
}
