//! Cost versus k, the side of a kernel: of P, and of deriving it.

use reynolds::group;
use reynolds::irreps::Irreps;
use reynolds::projection::{Basis, KernelSpace, derive};
use reynolds::rep::{self, Grid};
use reynolds::steerable::RingsConfig;

use super::case::{Bench, Case, copying, making, projecting};
use super::clock::Work;
use super::series::{Panel, Plot};
use crate::error::Result;

const PLANE: &str = "orbits, C4, k×k (ours)";
const SPACE: &str = "orbits, O, k×k×k (ours)";
const BAND: &str = "band-limited, SO(3) l ≤ 2, k×k×k (ours)";
const FLOOR: &str = "floor: read W, write P(W)";

/// P per weight, and its derivation.
pub(super) fn plot(bench: &Bench<'_>) -> Result<Plot> {
    let sizes = bench.sizes;
    let mut sides = [&sizes.planar_sides[..], &sizes.cubic_sides, &sizes.band_sides].concat();
    sides.sort_unstable();
    sides.dedup();
    let ticks = || sides.iter().map(|&k| (k as f64, k.to_string()));
    let mut cost = Panel::new("P(W) and both energies, f32, per weight", "side k of the kernel")
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
    for (name, group, fields, dims, sides) in
        [(PLANE, "C4", "4 regular", 2, &sizes.planar_sides), (SPACE, "O", "2 regular", 3, &sizes.cubic_sides)]
    {
        let group = group::parse(group)?;
        let fields = rep::parse_fields(&group, fields)?;
        for &side in sides {
            let space = KernelSpace::kernel(&fields, &fields, &Grid::new(&group, side, dims)?)?;
            let case = Case::checked(name, &space)?;
            let make = making(|| Ok(derive(&space)?));
            point(bench, [&mut cost, &mut derivation], name, side, case, make)?;
        }
    }
    let so3 = group::parse("SO3")?;
    let fields = "4x(0..2)".parse::<Irreps>()?.real_rep(&so3)?;
    for &side in &sizes.band_sides {
        let basis = || -> Result<Basis> { Ok(Basis::derive(&fields, &fields, side, 3, &RingsConfig::default())?) };
        let case = Case::band_limited(BAND, basis()?)?;
        point(bench, [&mut cost, &mut derivation], BAND, side, case, making(basis))?;
    }
    Ok(Plot { name: "kernel".into(), panels: vec![cost.fitted(), derivation.fitted()] })
}

/// P and its derivation at one side; the floor is that of the band-limited kernels, which are the largest.
fn point(
    bench: &Bench<'_>,
    [cost, derivation]: [&mut Panel; 2],
    name: &'static str,
    side: usize,
    case: Case,
    make: Work<'_>,
) -> Result<()> {
    let Case { projector, weights, mut out, .. } = case;
    let (x, n) = (side as f64, weights.len());
    let mut copy = out.clone();
    let mut works: Vec<(&str, Work<'_>)> = vec![(name, projecting(&projector, &weights, &mut out))];
    if name == BAND {
        works.push((FLOOR, copying(&weights, &mut copy)));
    }
    cost.measure(&bench.clock, x, n, works)?;
    derivation.measure(&bench.clock, x, n, vec![(name, make)])?;
    bench.progress.advance(1);
    Ok(())
}
