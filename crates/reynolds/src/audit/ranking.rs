//! Which symmetry do the weights have? A lattice of groups, compared by what each explains beyond chance.
//!
//! Raw energy can only fall for larger groups, so groups are ranked by [`Total::excess`]. Groups with equal orbits on a kernel cannot be
//! told apart by it: [`indistinguishable`] finds them.

use super::Total;
use crate::error::Result;
use crate::group::{self, GroupRef, Symmetric};
use crate::plan::{SymmetryPlan, UniformFields};
use crate::projection::Projector;
use crate::random::Random;

/// Groups that turn the square, smallest first.
pub const PLANAR: [&str; 4] = ["C2", "C4", "D2", "D4"];
/// Groups that turn the cube: about one axis, then all.
pub const SPATIAL: [&str; 9] = ["C2", "C4", "D2", "D4", "T", "Td", "Th", "O", "Oh"];

/// One group in the ranking.
#[derive(Debug, Clone, PartialEq)]
pub struct Ranked {
    /// Its name.
    pub group: String,
    /// What it explains.
    pub total: Total,
    /// Groups with the same orbits on every kernel compared.
    pub same_as: Vec<String>,
}

/// Sorts groups by excess, the best first; of two that explain equally much, the larger.
pub fn sort(ranked: &mut [Ranked]) {
    ranked.sort_by(|a, b| {
        let by_excess = b.total.excess().total_cmp(&a.total.excess());
        by_excess.then(a.total.chance.total_cmp(&b.total.chance))
    });
}

/// The largest symmetric group that can permute the channels of a linear map: S_n with n dividing both numbers.
pub fn symmetric_group_for(out: usize, into: usize) -> Option<usize> {
    (2..=Symmetric::MAX_POINTS).rev().find(|&n| out > 0 && out.is_multiple_of(n) && into.is_multiple_of(n))
}

/// Whether two groups have the same projector on kernels of this shape, with all channels typed alike: then no weights tell them apart.
///
/// # Errors
/// As [`SymmetryPlan::resolve`].
pub fn indistinguishable(a: &str, b: &str, fields: UniformFields, spatial: &[usize]) -> Result<bool> {
    let groups = [group::parse(a)?, group::parse(b)?];
    let order = |group: &GroupRef| group.order().and_then(|n| usize::try_from(n).ok()).unwrap_or(1);
    let channels = match fields {
        UniformFields::Trivial => 1,
        UniformFields::Regular => lcm(order(&groups[0]), order(&groups[1])),
    };
    let shape = [&[channels, channels], spatial].concat();
    let mut random = Random::new(1);
    let probe: Vec<f64> = (0..shape.iter().product()).map(|_| random.normal()).collect();
    let mut seen = Vec::new();
    for group in &groups {
        let resolved = SymmetryPlan::uniform(group, fields)?.resolve(&[("probe.weight".into(), shape.clone())])?;
        let Some(layer) = resolved.layers.first() else { return Ok(false) };
        seen.push(layer.projector.project(&probe)?);
    }
    Ok(seen[0].iter().zip(&seen[1]).all(|(x, y)| (x - y).abs() < 1e-9))
}

fn lcm(a: usize, b: usize) -> usize {
    let (mut x, mut y) = (a, b);
    while y > 0 {
        (x, y) = (y, x % y);
    }
    a / x * b
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mirror_adds_nothing_to_three_by_three_scalar_kernels() {
        let same = |a, b, side| indistinguishable(a, b, UniformFields::Trivial, &[side, side]).unwrap();
        assert!(same("C4", "D4", 3));
        assert!(!same("C4", "D4", 5));
        assert!(!same("C2", "D2", 3));
        assert!(!indistinguishable("C4", "D4", UniformFields::Regular, &[3, 3]).unwrap());
        assert!(indistinguishable("O", "Oh", UniformFields::Trivial, &[3, 3, 3]).unwrap());
    }

    #[test]
    fn symmetric_groups_divide_both_sides() {
        assert_eq!(symmetric_group_for(10, 512), Some(2));
        assert_eq!(symmetric_group_for(64, 32), Some(32));
        assert_eq!(symmetric_group_for(7, 5), None);
        assert_eq!(symmetric_group_for(0, 5), None);
    }
}
