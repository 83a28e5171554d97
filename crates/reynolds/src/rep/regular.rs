//! The regular representation and its quotients.
//!
//! ```text
//! (ρ(g)f)[h] = f[g⁻¹h],  that is  e_h ↦ e_{gh}        on G,  and on cosets:  e_{hH} ↦ e_{ghH}
//! ```

use std::sync::Arc;

use faer::Mat;

use super::induced::cosets;
use super::{Rep, Representation, SignedPermutation};
use crate::error::Result;
use crate::group::{Element, GroupRef, Homomorphism, elements};

#[derive(Debug)]
struct Regular {
    group: GroupRef,
    order: usize,
}

/// The functions on a finite group, in the order of its elements.
///
/// # Errors
/// [`crate::Error::TooLarge`] if the group cannot be enumerated.
pub fn regular(group: &GroupRef) -> Result<Rep> {
    let order = elements(group.as_ref())?.len();
    Ok(Arc::new(Regular { group: group.clone(), order }))
}

impl Representation for Regular {
    fn group(&self) -> &GroupRef {
        &self.group
    }
    fn dim(&self) -> usize {
        self.order
    }
    fn label(&self) -> String {
        "regular".into()
    }
    fn matrix(&self, g: &Element) -> Mat<f64> {
        self.signed_permutation(g).expect("always one").to_matrix()
    }
    fn character(&self, g: &Element) -> f64 {
        if *g == self.group.identity() { self.order as f64 } else { 0.0 }
    }
    fn signed_permutation(&self, g: &Element) -> Option<SignedPermutation> {
        let image = |h| self.group.multiply(g, &Element::Finite(h)).index() as u32;
        Some(SignedPermutation::unsigned((0..self.order as u128).map(image).collect()))
    }
}

#[derive(Debug)]
struct Quotient {
    group: GroupRef,
    name: String,
    /// One element of each coset, and the coset of each element.
    representatives: Vec<Element>,
    coset: Vec<u32>,
}

/// The functions on the cosets gH of a subgroup, in the order of their first elements.
///
/// # Errors
/// [`crate::Error::TooLarge`] if the group cannot be enumerated.
pub fn quotient(inclusion: &Homomorphism) -> Result<Rep> {
    let (representatives, coset) = cosets(inclusion)?;
    let name = format!("quotient({})", inclusion.source().name());
    Ok(Arc::new(Quotient { group: inclusion.target().clone(), name, representatives, coset }))
}

impl Representation for Quotient {
    fn group(&self) -> &GroupRef {
        &self.group
    }
    fn dim(&self) -> usize {
        self.representatives.len()
    }
    fn label(&self) -> String {
        self.name.clone()
    }
    fn matrix(&self, g: &Element) -> Mat<f64> {
        self.signed_permutation(g).expect("always one").to_matrix()
    }
    fn signed_permutation(&self, g: &Element) -> Option<SignedPermutation> {
        let image = |t: &Element| self.coset[self.group.multiply(g, t).index() as usize];
        Some(SignedPermutation::unsigned(self.representatives.iter().map(image).collect()))
    }
}
