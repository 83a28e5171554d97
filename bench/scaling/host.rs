//! What is measured on the processor, as data: figures of panels, a panel's families of sizes, and the ways that are timed at each size.

use std::iter::zip;

use reynolds::group;
use reynolds::irreps::Irreps;
use reynolds::projection::KernelSpace;
use reynolds::rep::{self, Grid, Rep};

use super::extent::Sizes;
use super::series::{Panel, Plot, Point};
use super::ways::{Case, Check, Effort, Ready, Space, Way};
use crate::Clock;
use reynolds_train::error::Result;
use reynolds_train::progress;

const FLOOR: &str = "floor: read W, write P(W)";
const ANY_GROUP: &str = "ours: N, whatever the group";
const COUNTED: &str = "paper: |G|·N^1.5";
const BLOCKS: &str = "paper: N, where weights are Fourier blocks";
const SO3_KERNELS: &str = "band-limited 5×5×5 kernels (ours)";
const SO3_MAPS: &str = "blocks, dense maps (ours)";
const DERIVING: &str = "deriving P, from fields to ready";

/// Approximate number of channels on each side of a dense map of SO(3), and of a kernel.
const DENSE_CHANNELS: usize = 144;
const KERNEL_CHANNELS: usize = 72;

/// A way that is timed: the name of its series, the claimed exponent, and who claims what.
struct Timed(Way, String, Option<f64>, &'static str);

/// Sizes of one kind and the ways that are timed at each of them.
struct Family {
    cases: Vec<Case>,
    ways: Vec<Timed>,
    /// Whether the floor is measured at these sizes.
    floor: bool,
}

/// A panel before it is measured.
pub(super) struct Plan {
    panel: Panel,
    families: Vec<Family>,
}

/// The figures by name, with their panels.
pub(super) fn figures(sizes: &Sizes) -> Result<Vec<(&'static str, Vec<Plan>)>> {
    Ok(vec![
        ("weights", weights(sizes)?),
        ("group", groups(sizes)?),
        ("kernel", sides(sizes)?),
        ("band", bands(sizes)?),
    ])
}

/// Grows with N: C4 regular fields have 4 channels, l ≤ 2 of SO(3) has 9. What `sec:asymp_cost` of the paper is about.
fn weights(sizes: &Sizes) -> Result<Vec<Plan>> {
    let c4 = |copies: &[usize], kernel| cases(copies, |copies| Ok((f64::NAN, copies, regular("C4", copies, kernel)?)));
    let both = || {
        vec![
            timed(Way::Ours, "orbits, C4 regular (ours)", Some(1.0), ANY_GROUP),
            timed(Way::HaarSum, "dense Haar sum (paper)", Some(1.5), COUNTED),
            timed(Way::Specification, "HaarProjector, f64", Some(1.5), COUNTED),
        ]
    };
    let mut dense = both();
    dense.push(timed(Way::Fourier, "Fourier blocks, c64 (paper)", Some(1.0), BLOCKS));
    let irreps = cases(&sizes.irrep_copies, |copies| {
        let fields = so3(copies, 2)?;
        Ok((f64::NAN, copies, Space::Exact(KernelSpace::dense(&fields, &fields)?)))
    })?;
    let blocks = vec![timed(Way::Ours, "blocks, SO(3) l ≤ 2 (ours)", Some(1.0), "ours: N")];
    let panel = |title| Panel::new(title, "weights N");
    Ok(vec![
        Plan {
            panel: panel("dense maps, f32"),
            families: vec![
                Family { cases: c4(&sizes.dense_copies, None)?, ways: dense, floor: true },
                Family { cases: irreps, ways: blocks, floor: false },
            ],
        },
        Plan {
            panel: panel("5×5 kernels, f32"),
            families: vec![Family { cases: c4(&sizes.kernel_copies, Some((5, 2)))?, ways: both(), floor: true }],
        },
    ])
}

/// |G| of cyclic and dihedral groups on regular fields, and of symmetric groups on order-2 tensors, at approximately the same number of
/// weights. One family a panel: groups of equal order cost the same, and one curve would hide the other.
fn groups(sizes: &Sizes) -> Result<Vec<Plan>> {
    let channels = sizes.channels;
    let plan = |family: &str, title: String, across: &str, cases: Vec<Case>| Plan {
        panel: Panel::new(&title, across),
        families: vec![Family {
            cases,
            ways: vec![
                timed(Way::Ours, format!("orbits, {family} (ours)"), Some(0.0), ANY_GROUP),
                timed(
                    Way::Chain,
                    format!("chain, {family} (ours)"),
                    None,
                    "ours: Σ of the transversals' sizes, about log |G|",
                ),
                timed(Way::HaarSum, format!("dense Haar sum, {family} (paper)"), Some(1.0), COUNTED),
            ],
            floor: true,
        }],
    };
    let mut plans = Vec::new();
    // Dihedral groups have two elements for each n, and begin with four.
    for (letter, share) in [("C", 1), ("D", 2)] {
        let orders: Vec<usize> = sizes.orders.iter().copied().filter(|&order| order >= 2 * share).collect();
        let case = |order: usize| {
            let (group, copies) = (format!("{letter}{}", order / share), channels / order);
            Ok(Case { check: Check::Ways, ..case(order as f64, copies, regular(&group, copies, None)?) })
        };
        let cases = orders.into_iter().map(case).collect::<Result<_>>()?;
        let title = format!("regular fields of {letter}_n, {channels} → {channels} channels, f32");
        plans.push(plan(&format!("{letter}_n"), title, "order of the group |G|", cases));
    }
    let tensors = |&n: &usize| {
        let group = group::parse(&format!("S{n}"))?;
        let points = rep::permutation(&group)?;
        let copies = ((channels as f64 / (n * n) as f64).round() as usize).max(1);
        let fields = rep::sum(&group, &[(copies, rep::tensor(&points, &points)?)])?;
        let order = group.order().expect("a finite group") as f64;
        Ok(Case { check: Check::Patterns, ..case(order, copies, Space::Exact(KernelSpace::dense(&fields, &fields)?)) })
    };
    let cases = sizes.letters.iter().map(tensors).collect::<Result<_>>()?;
    let title = format!("order-2 tensors, about {channels} → {channels} channels, f32");
    plans.push(plan("S_n", title, "order of the group |G| = n!", cases));
    Ok(plans)
}

/// The side k of a kernel: P at approximately the same number of weights, so that caches do not decide the exponent, and its derivation for
/// the same fields.
fn sides(sizes: &Sizes) -> Result<Vec<Plan>> {
    let lists = [&sizes.planar_sides, &sizes.cubic_sides, &sizes.band_sides];
    let mut all = lists.map(Vec::as_slice).concat();
    all.sort_unstable();
    all.dedup();
    let panel =
        |title: &str| Panel::new(title, "side k of the kernel").ticks(all.iter().map(|&k| (k as f64, k.to_string())));
    let cost =
        [(Some(0.0), "ours: N"), (Some(0.0), "ours: N"), (None, "ours: products with the functions of a growing band")];
    let derivation = [
        (Some(2.0), "ours: orbits of one pair of fields, k² points"),
        (Some(3.0), "ours: orbits of one pair of fields, k³ points"),
        (None, "ours: harmonics and couplings"),
    ];
    let families = |way: Way, claims: [(Option<f64>, &'static str); 3]| -> Result<Vec<Family>> {
        let family = |kernel: &Kernel, sides: &[usize], (claimed, claim)| {
            let cases = cases(sides, |side| {
                let fixed = way == Way::Deriving;
                let copies = if fixed { kernel.derived } else { kernel.copies(sizes.kernel_weights, side) };
                Ok((side as f64, copies, kernel.space(copies, side)?))
            })?;
            Ok(Family { cases, ways: vec![timed(way, kernel.name, claimed, claim)], floor: way == Way::Ours })
        };
        zip(&KERNELS, lists).zip(claims).map(|((kernel, sides), claim)| family(kernel, sides, claim)).collect()
    };
    let title = format!("P(W) and both energies, f32, per weight, N ≈ {}", grouped(sizes.kernel_weights));
    Ok(vec![
        Plan { panel: panel(&title).per_weight(), families: families(Way::Ours, cost)? },
        Plan { panel: panel(DERIVING), families: families(Way::Deriving, derivation)? },
    ])
}

/// A kind of kernel whose side grows.
struct Kernel {
    name: &'static str,
    /// The exact group and its dimensions; `None` for band-limited kernels of SO(3), l ≤ 2.
    group: Option<(&'static str, usize)>,
    /// Channels of its field.
    channels: usize,
    /// Copies on both sides where it is derived.
    derived: usize,
}

const KERNELS: [Kernel; 3] = [
    Kernel { name: "orbits, C4, k×k (ours)", group: Some(("C4", 2)), channels: 4, derived: 4 },
    Kernel { name: "orbits, O, k×k×k (ours)", group: Some(("O", 3)), channels: 24, derived: 2 },
    Kernel { name: "band-limited, SO(3) l ≤ 2, k×k×k (ours)", group: None, channels: 9, derived: 4 },
];

impl Kernel {
    fn points(&self, side: usize) -> usize {
        side.pow(self.group.map_or(3, |(_, dimensions)| dimensions as u32))
    }

    /// The number of copies on both sides that comes nearest to `weights`.
    fn copies(&self, weights: usize, side: usize) -> usize {
        let exact = (weights as f64 / self.points(side) as f64).sqrt() / self.channels as f64;
        (exact.round() as usize).max(1)
    }

    fn space(&self, copies: usize, side: usize) -> Result<Space> {
        match self.group {
            Some((group, dimensions)) => regular(group, copies, Some((side, dimensions))),
            None => Ok(Space::Band(so3(copies, 2)?, side)),
        }
    }
}

/// The band limit L of SO(3): P of dense maps and of kernels, and deriving it.
fn bands(sizes: &Sizes) -> Result<Vec<Plan>> {
    let most = sizes.dense_limits.iter().chain(&sizes.kernel_limits).max().copied().unwrap_or(0);
    let panel = |title: &str| {
        let ticks = (0..=most).map(|limit| ((limit + 1) as f64, limit.to_string()));
        Panel::new(title, "band limit L, all l ≤ L; drawn at L + 1").ticks(ticks)
    };
    let of = |limits: &[usize], channels: usize, space: fn(Rep) -> Result<Space>| {
        cases(limits, |limit| {
            let copies = ((channels as f64 / (limit + 1).pow(2) as f64).round() as usize).max(1);
            Ok(((limit + 1) as f64, copies, space(so3(copies, limit)?)?))
        })
    };
    let maps =
        || of(&sizes.dense_limits, DENSE_CHANNELS, |fields| Ok(Space::Exact(KernelSpace::dense(&fields, &fields)?)));
    let kernels = || of(&sizes.kernel_limits, KERNEL_CHANNELS, |fields| Ok(Space::Band(fields, 5)));
    let dense = vec![
        timed(Way::Ours, SO3_MAPS, Some(0.0), BLOCKS),
        timed(Way::HaarSum, "dense Haar sum over an exact rule", Some(3.0), "a Haar rule has of the order of L³ nodes"),
    ];
    let products = timed(Way::Ours, SO3_KERNELS, None, "ours: products with the band, then couplings");
    let deriving = |name, claim| vec![timed(Way::Deriving, name, None, claim)];
    Ok(vec![
        Plan {
            panel: panel("dense maps, about 144 → 144 channels, f32, per weight").per_weight(),
            families: vec![Family { cases: maps()?, ways: dense, floor: true }],
        },
        Plan {
            panel: panel("5×5×5 kernels, about 72 → 72 channels, f32, per weight").per_weight(),
            families: vec![Family { cases: kernels()?, ways: vec![products], floor: true }],
        },
        Plan {
            panel: panel(DERIVING),
            families: vec![
                Family { cases: maps()?, ways: deriving(SO3_MAPS, "ours: labels"), floor: false },
                Family { cases: kernels()?, ways: deriving(SO3_KERNELS, "ours: couplings"), floor: false },
            ],
        },
    ])
}

fn timed(way: Way, name: impl Into<String>, claimed: Option<f64>, claim: &'static str) -> Timed {
    Timed(way, name.into(), claimed, claim)
}

/// A size at x; at the number of weights if x is NaN.
fn case(x: f64, copies: usize, space: Space) -> Case {
    let x = if x.is_nan() { space.weights() as f64 } else { x };
    Case { x, space, copies, check: Check::Pairs }
}

fn cases(sizes: &[usize], of: impl Fn(usize) -> Result<(f64, usize, Space)>) -> Result<Vec<Case>> {
    sizes.iter().map(|&size| of(size).map(|(x, copies, space)| case(x, copies, space))).collect()
}

/// Maps, or kernels of (side, dimensions), between copies of the regular field.
fn regular(group: &str, copies: usize, kernel: Option<(usize, usize)>) -> Result<Space> {
    let group = group::parse(group)?;
    let fields = rep::sum(&group, &[(copies, rep::regular(&group)?)])?;
    Ok(Space::Exact(match kernel {
        None => KernelSpace::dense(&fields, &fields)?,
        Some((side, dimensions)) => KernelSpace::kernel(&fields, &fields, &Grid::new(&group, side, dimensions)?)?,
    }))
}

/// Copies of all l ≤ `limit`.
fn so3(copies: usize, limit: usize) -> Result<Rep> {
    Ok(format!("{copies}x(0..{limit})").parse::<Irreps>()?.real_rep(&group::parse("SO3")?)?)
}

/// 1700000 as "1,700,000".
fn grouped(number: usize) -> String {
    if number < 1000 { number.to_string() } else { format!("{},{:03}", grouped(number / 1000), number % 1000) }
}

/// Number of sizes, for the progress bar.
pub(super) fn sizes_in(figures: &[(&str, Vec<Plan>)]) -> usize {
    figures.iter().flat_map(|figure| &figure.1).flat_map(|plan| &plan.families).map(|family| family.cases.len()).sum()
}

pub(super) fn plot(name: &str, plans: Vec<Plan>, effort: Effort, progress: &progress::WorkProgress) -> Result<Plot> {
    let panels = plans.into_iter().map(|plan| measured(plan, effort, progress));
    Ok(Plot { name: name.into(), panels: panels.collect::<Result<_>>()? })
}

fn measured(plan: Plan, effort: Effort, progress: &progress::WorkProgress) -> Result<Panel> {
    let Plan { mut panel, families } = plan;
    panel = panel.floor(FLOOR);
    for family in families {
        for Timed(_, name, claimed, claim) in &family.ways {
            panel = panel.series(name, *claimed, claim);
        }
        // Operations and seconds of the last size at which a way was measured.
        let mut known = vec![None; family.ways.len()];
        for case in &family.cases {
            point(&mut panel, case, &family, &mut known, effort)?;
            progress.advance(1);
        }
    }
    Ok(panel.fitted())
}

/// All ways at one size, which must agree. A way that would take too long, judged by the size before, is left out.
fn point(
    panel: &mut Panel,
    case: &Case,
    Family { ways, floor, .. }: &Family,
    known: &mut [Option<(f64, f64)>],
    effort: Effort,
) -> Result<()> {
    let ready;
    let (mut works, mut timed) = (Vec::new(), Vec::new());
    if let [Timed(Way::Deriving, ..)] = ways[..] {
        works.push(super::ways::making(|| case.space.derive()));
        timed.push((0, 0.0));
    } else {
        ready = Ready::new(case, &ways[0].1)?;
        for (number, Timed(way, name, ..)) in ways.iter().enumerate() {
            let work = ready.operations(*way)?;
            let longest = if *way == Way::Specification { 0.25 * effort.longest } else { effort.longest };
            let bears = known[number].is_none_or(|(before, seconds)| seconds * work / before <= longest);
            if let Some(made) = if work.is_finite() && bears { ready.work(*way, name)? } else { None } {
                works.push(made);
                timed.push((number, work));
            }
        }
        if *floor && !panel.has(FLOOR, case.x) {
            works.push(ready.copying());
        }
    }
    let (n, times) = (case.space.weights(), Clock::HOST.turns(effort.turns, &mut works)?);
    for (&(number, work), times) in zip(&timed, &times) {
        panel.add(&ways[number].1, Point::new(case.x, n, times));
        if work > 0.0 {
            known[number] = Some((work, times.median()));
        }
    }
    if let Some(floor) = times.get(timed.len()) {
        panel.add(FLOOR, Point::new(case.x, n, floor));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::extent::Extent;
    use super::*;

    #[test]
    fn kernels_of_all_sides_have_about_as_many_weights() {
        let sizes = Extent::Whole.sizes(None);
        for (kernel, sides) in zip(&KERNELS, [&sizes.planar_sides, &sizes.cubic_sides, &sizes.band_sides]) {
            for &side in sides {
                let copies = kernel.copies(sizes.kernel_weights, side);
                let weights = (copies * kernel.channels).pow(2) * kernel.points(side);
                let share = weights as f64 / sizes.kernel_weights as f64;
                assert!((0.8..1.25).contains(&share), "{}, side {side}: {weights} weights", kernel.name);
            }
        }
        assert_eq!(grouped(sizes.kernel_weights), "1,700,000");
        assert_eq!(KERNELS[1].copies(1, 3), 1);
    }
}
