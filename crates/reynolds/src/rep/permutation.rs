//! Representations that permute a basis: of points, of the group's elements, of cosets; and the trivial one.
//!
//! ```text
//! (ρ(g)f)[h] = f[g⁻¹h],  that is  e_h ↦ e_{gh}        on G,  and on cosets:  e_{hH} ↦ e_{ghH}
//! ```

use super::Rep;
use super::formula::Formula;
use super::induced::cosets;
use crate::error::{Error, Result};
use crate::group::{Element, GroupRef, Homomorphism, elements};
use crate::irrep::Irrep;

/// g ↦ 1, on ℝ.
pub fn trivial(group: &GroupRef) -> Rep {
    Irrep::of_real_type("trivial", Formula::permuting(group, "trivial", 1, |_| vec![0]).shared()).into()
}

/// e_j ↦ e_{g·j} on the points of S_n, Z_n, a permutation group or a product of such.
pub fn permutation(group: &GroupRef) -> Result<Rep> {
    let points = group.point_permutation(&group.identity()).ok_or_else(|| {
        Error::no_action(group.name(), "points", "it is not given as permutations (regular and quotient fields are)")
    })?;
    let acting = group.clone();
    let image = move |g: &Element| acting.point_permutation(g).expect("all elements permute points or none");
    Ok(Formula::permuting(group, "permutation", points.len(), image).shared())
}

/// The functions on a finite group, in the order of its elements.
pub fn regular(group: &GroupRef) -> Result<Rep> {
    let order = elements(group.as_ref())?.len();
    let (acting, identity) = (group.clone(), group.identity());
    let image =
        move |g: &Element| (0..order as u128).map(|h| acting.multiply(g, &Element::Finite(h)).index() as u32).collect();
    let character = move |g: &Element| if *g == identity { order as f64 } else { 0.0 };
    Ok(Formula::permuting(group, "regular", order, image).character(character).shared())
}

/// The functions on the cosets gH of a subgroup of a finite group, in the order of their first elements.
pub fn quotient(inclusion: &Homomorphism) -> Result<Rep> {
    let (representatives, coset) = cosets(inclusion)?;
    let (group, count) = (inclusion.target().clone(), representatives.len());
    let label = format!("quotient({})", inclusion.source().name());
    let image =
        move |g: &Element| representatives.iter().map(|t| coset[group.multiply(g, t).index() as usize]).collect();
    Ok(Formula::permuting(inclusion.target(), label, count, image).shared())
}
