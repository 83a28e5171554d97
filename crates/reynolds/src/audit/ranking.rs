//! Ranks groups by how much of the weights each explains beyond chance.
//!
//! Energy only falls as the group grows, so groups are ranked by [`Total::excess`]. It cannot tell groups apart that have equal orbits on a
//! kernel: [`indistinguishable`] finds them.

use super::Total;
use crate::error::Result;
use crate::group::{self, GroupRef, PermutationGroup};
use crate::plan::{SymmetryPlan, UniformFields};
use crate::projection::Projector;
use crate::random::Random;

/// Symmetry groups of the square, smallest first.
pub const PLANAR: [&str; 4] = ["C2", "C4", "D2", "D4"];
/// Symmetry groups of the cube: about one axis, then all.
pub const SPATIAL: [&str; 9] = ["C2", "C4", "D2", "D4", "T", "Td", "Th", "O", "Oh"];

/// Groups whose excess differs by less than this are tied.
pub const TIE: f64 = 1e-3;
/// Excess below this counts as chance.
pub const BEYOND_CHANCE: f64 = 1e-2;

/// One group in the ranking.
#[derive(Debug, Clone, PartialEq)]
pub struct Ranked {
    /// Name of the group.
    pub group: String,
    /// The audit of the network for it.
    pub total: Total,
    /// Groups with the same orbits on every kernel compared.
    pub same_as: Vec<String>,
}

/// Sorts groups by excess, the best first; of groups within [`TIE`] of the best, the larger first. Groups without a layer come last.
pub fn sort(ranked: &mut [Ranked]) {
    let excess = |row: &Ranked| row.total.excess().unwrap_or(f64::NEG_INFINITY);
    let order = |row: &Ranked| group::parse(&row.group).ok().and_then(|group| group.order()).unwrap_or(0);
    ranked.sort_by(|a, b| excess(b).total_cmp(&excess(a)));
    let mut rest = ranked;
    // Being within TIE of one another is not transitive; being within TIE of the best that is left is.
    while let Some(best) = rest.first().map(excess) {
        let equal = rest.iter().take_while(|row| excess(row) >= best - TIE).count();
        let (tied, others) = rest.split_at_mut(equal);
        tied.sort_by(|a, b| order(b).cmp(&order(a)).then(a.total.dimension_share.total_cmp(&b.total.dimension_share)));
        rest = others;
    }
}

/// One line on sorted groups that were compared on the same tensors.
pub fn verdict(ranked: &[Ranked]) -> String {
    let best = ranked.iter().filter_map(|row| row.total.excess()).max_by(f64::total_cmp);
    match (ranked.first(), best) {
        (Some(first), Some(best)) if best >= BEYOND_CHANCE => {
            format!("{}: the largest group within {TIE} of the best", first.group)
        }
        (_, Some(_)) => "none beyond chance".into(),
        (_, None) => "nothing to compare".into(),
    }
}

/// The largest symmetric group that can permute the channels of a linear map: S_n with n dividing both numbers.
pub fn symmetric_group_for(out: usize, into: usize) -> Option<usize> {
    (2..=PermutationGroup::MAX_SYMMETRIC).rev().find(|&n| out > 0 && out.is_multiple_of(n) && into.is_multiple_of(n))
}

/// Whether two groups have the same projector on kernels of this shape with these fields: then no weights tell them apart.
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
    fn the_larger_of_two_equal_groups_comes_first_and_the_verdict_names_it() {
        let row = |group: &str, excess: f64, layers: usize| {
            let energies = crate::projection::Energies { equivariant: 0.5 + 0.5 * excess, perp: 0.5 - 0.5 * excess };
            let total = Total { layers, weights: 9 * layers, energies, dimension_share: 0.5, chance: 0.5 };
            Ranked { group: group.into(), total, same_as: vec![] }
        };
        let sorted = |rows: &[(&str, f64)]| {
            let mut rows: Vec<Ranked> = rows.iter().map(|&(group, excess)| row(group, excess, 1)).collect();
            sort(&mut rows);
            (rows.iter().map(|row| row.group.clone()).collect::<Vec<_>>().join(" "), verdict(&rows))
        };
        let (order, line) = sorted(&[("C2", 0.9902), ("C4", 0.9900), ("D2", 0.93), ("D4", 0.9896)]);
        assert_eq!(order, "D4 C4 C2 D2");
        assert_eq!(line, "D4: the largest group within 0.001 of the best");
        assert_eq!(sorted(&[("C2", 0.99), ("C4", 0.98), ("D4", 0.5)]).0, "C2 C4 D4");
        assert_eq!(sorted(&[("C2", 0.004), ("D4", -0.02)]).1, "none beyond chance");
        let mut rows = vec![row("D4", 1.0, 0), row("C2", 0.1, 1)];
        sort(&mut rows);
        assert_eq!((rows[0].group.as_str(), rows[1].total.energy(), rows[1].total.excess()), ("C2", None, None));
        assert_eq!(verdict(&rows[1..]), "nothing to compare");
    }

    #[test]
    fn symmetric_groups_divide_both_sides() {
        for (out, into, n) in [(10, 512, Some(2)), (64, 32, Some(32)), (7, 5, None), (0, 5, None)] {
            assert_eq!(symmetric_group_for(out, into), n);
        }
    }
}
