//! Cost versus k, the side of a kernel: of P at as nearly the same number of weights as fields allow, and of deriving it for the same fields.

use reynolds::group;
use reynolds::irreps::Irreps;
use reynolds::projection::{Basis, KernelSpace, derive};
use reynolds::rep::{self, Grid};
use reynolds::steerable::RingsConfig;

use super::case::{Bench, Case, copying, making, projecting};
use super::clock::Work;
use super::series::{Panel, Plot};
use reynolds_train::error::Result;

const PLANE: &str = "orbits, C4, k×k (ours)";
const SPACE: &str = "orbits, O, k×k×k (ours)";
const BAND: &str = "band-limited, SO(3) l ≤ 2, k×k×k (ours)";
const FLOOR: &str = "floor: read W, write P(W)";

/// Copies of a field on both sides in kernels that are derived.
const PLANE_COPIES: usize = 4;
const SPACE_COPIES: usize = 2;
const BAND_COPIES: usize = 4;

/// P per weight, and its derivation.
///
/// With the same fields kernels would outgrow one cache after the other as k grows, and the exponent would be that of the memory.
pub(super) fn plot(bench: &Bench<'_>) -> Result<Plot> {
    let sizes = bench.sizes;
    let mut sides = [&sizes.planar_sides[..], &sizes.cubic_sides, &sizes.band_sides].concat();
    sides.sort_unstable();
    sides.dedup();
    let ticks = || sides.iter().map(|&k| (k as f64, k.to_string()));
    let title = format!("P(W) and both energies, f32, per weight, N ≈ {}", grouped(sizes.kernel_weights));
    let mut cost = Panel::new(&title, "side k of the kernel")
        .per_weight()
        .ticks(ticks())
        .series(PLANE, Some(0.0), "ours: N")
        .series(SPACE, Some(0.0), "ours: N")
        .series(BAND, None, "ours: products with the functions of a growing band")
        .floor(FLOOR);
    let mut derivation = Panel::new("deriving P, from fields to ready", "side k of the kernel")
        .ticks(ticks())
        .series(PLANE, Some(2.0), "ours: orbits of one pair of fields, k² points")
        .series(SPACE, Some(3.0), "ours: orbits of one pair of fields, k³ points")
        .series(BAND, None, "ours: harmonics and couplings");
    for (name, group, dims, few, sides) in
        [(PLANE, "C4", 2, PLANE_COPIES, &sizes.planar_sides), (SPACE, "O", 3, SPACE_COPIES, &sizes.cubic_sides)]
    {
        let group = group::parse(group)?;
        let field = rep::regular(&group)?;
        for &side in sides {
            let grid = Grid::new(&group, side, dims)?;
            let space = |copies: usize| -> Result<KernelSpace> {
                let fields = rep::sum(&group, &[(copies, field.clone())])?;
                Ok(KernelSpace::kernel(&fields, &fields, &grid)?)
            };
            let case = Case::checked(name, &space(copies(sizes.kernel_weights, field.dim(), grid.points()))?)?;
            project(bench, &mut cost, name, side, case)?;
            let (small, n) = (space(few)?, (few * field.dim()).pow(2) * grid.points());
            derivation.measure(&bench.clock, side as f64, n, vec![(name, making(|| Ok(derive(&small)?)))])?;
            bench.progress.advance(1);
        }
    }
    let so3 = group::parse("SO3")?;
    let field = |copies: usize| -> Result<_> { Ok(format!("{copies}x(0..2)").parse::<Irreps>()?.real_rep(&so3)?) };
    for &side in &sizes.band_sides {
        let basis = |copies: usize| -> Result<Basis> {
            let fields = field(copies)?;
            Ok(Basis::derive(&fields, &fields, side, 3, &RingsConfig::default())?)
        };
        let (dim, points) = (field(1)?.dim(), side.pow(3));
        let case = Case::band_limited(BAND, basis(copies(sizes.kernel_weights, dim, points))?)?;
        project(bench, &mut cost, BAND, side, case)?;
        let n = (BAND_COPIES * dim).pow(2) * points;
        derivation.measure(&bench.clock, side as f64, n, vec![(BAND, making(|| basis(BAND_COPIES)))])?;
        bench.progress.advance(1);
    }
    Ok(Plot { name: "kernel".into(), panels: vec![cost.fitted(), derivation.fitted()] })
}

/// Copies of a field on both sides with which a kernel of so many points comes nearest to so many weights.
fn copies(weights: usize, dim: usize, points: usize) -> usize {
    let exact = (weights as f64 / points as f64).sqrt() / dim as f64;
    (exact.round() as usize).max(1)
}

/// 1700000 as "1,700,000".
fn grouped(number: usize) -> String {
    if number < 1000 { number.to_string() } else { format!("{},{:03}", grouped(number / 1000), number % 1000) }
}

/// P at one side; the floor is measured once a side, as all kernels have about as many weights.
fn project(bench: &Bench<'_>, cost: &mut Panel, name: &str, side: usize, case: Case) -> Result<()> {
    let Case { projector, weights, mut out, .. } = case;
    let mut copy = out.clone();
    let mut works: Vec<(&str, Work<'_>)> = vec![(name, projecting(&projector, &weights, &mut out))];
    if !cost.has(FLOOR, side as f64) {
        works.push((FLOOR, copying(&weights, &mut copy)));
    }
    cost.measure(&bench.clock, side as f64, weights.len(), works)
}

#[cfg(test)]
mod tests {
    use super::super::extent::Extent;
    use super::*;

    #[test]
    fn kernels_of_all_sides_have_about_as_many_weights() {
        let sizes = Extent::Whole.sizes(None);
        let kinds = [(4, 2, &sizes.planar_sides), (24, 3, &sizes.cubic_sides), (9, 3, &sizes.band_sides)];
        for (dim, dims, sides) in kinds {
            for side in sides {
                let points = side.pow(dims);
                let weights = (copies(sizes.kernel_weights, dim, points) * dim).pow(2) * points;
                let share = weights as f64 / sizes.kernel_weights as f64;
                assert!((0.8..1.25).contains(&share), "side {side}, field of {dim}: {weights} weights");
            }
        }
        assert_eq!(grouped(sizes.kernel_weights), "1,700,000");
        assert_eq!(copies(1, 24, 27), 1);
    }
}
