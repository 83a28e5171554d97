//! Cost versus the band limit L of SO(3): of P, and of deriving it.

use reynolds::group;
use reynolds::irreps::Irreps;
use reynolds::projection::{Basis, KernelSpace, derive};
use reynolds::rep::Rep;
use reynolds::steerable::RingsConfig;

use super::agreement::{agree, tolerance};
use super::case::{Bench, Case, copying, making, projecting};
use super::clock::{Patience, Work};
use super::haar_sum::{HaarSum, operations, summing};
use super::series::{Panel, Plot};
use reynolds_train::error::Result;

const BLOCKS: &str = "blocks, dense maps (ours)";
const SUM: &str = "dense Haar sum over an exact rule";
const KERNELS: &str = "band-limited 5×5×5 kernels (ours)";
const FLOOR: &str = "floor: read W, write P(W)";
const ACROSS: &str = "band limit L, all l ≤ L; drawn at L + 1";

/// Channels on each side of a dense map, and of a kernel, about.
const DENSE_CHANNELS: usize = 144;
const KERNEL_CHANNELS: usize = 72;

/// P per weight of dense maps and of kernels, and their derivation.
pub(super) fn plot(bench: &Bench<'_>) -> Result<Plot> {
    let most = bench.sizes.dense_limits.iter().chain(&bench.sizes.kernel_limits).max().copied().unwrap_or(0);
    let panel =
        |title: &str| Panel::new(title, ACROSS).ticks((0..=most).map(|limit| ((limit + 1) as f64, limit.to_string())));
    let mut dense = panel("dense maps, about 144 → 144 channels, f32, per weight")
        .per_weight()
        .series(BLOCKS, Some(0.0), "paper: N, where weights are Fourier blocks")
        .series(SUM, Some(3.0), "a Haar rule has of the order of L³ nodes")
        .floor(FLOOR);
    let mut kernels = panel("5×5×5 kernels, about 72 → 72 channels, f32, per weight")
        .per_weight()
        .series(KERNELS, None, "ours: products with the band, then couplings")
        .floor(FLOOR);
    let mut derivation = panel("deriving P, from fields to ready").series(BLOCKS, None, "ours: labels").series(
        KERNELS,
        None,
        "ours: couplings",
    );
    let mut patience = Patience::of(bench.clock.longest);
    for &limit in &bench.sizes.dense_limits {
        let fields = fields(limit, DENSE_CHANNELS)?;
        let space = KernelSpace::dense(&fields, &fields)?;
        maps(bench, [&mut dense, &mut derivation], &mut patience, limit, &space)?;
    }
    for &limit in &bench.sizes.kernel_limits {
        let fields = fields(limit, KERNEL_CHANNELS)?;
        let basis = || -> Result<Basis> { Ok(Basis::derive(&fields, &fields, 5, 3, &RingsConfig::default())?) };
        let Case { projector, weights, mut out, .. } = Case::band_limited(KERNELS, basis()?)?;
        let (x, n) = ((limit + 1) as f64, weights.len());
        let mut copy = out.clone();
        let works = vec![(KERNELS, projecting(&projector, &weights, &mut out)), (FLOOR, copying(&weights, &mut copy))];
        kernels.measure(&bench.clock, x, n, works)?;
        derivation.measure(&bench.clock, x, n, vec![(KERNELS, making(basis))])?;
        bench.progress.advance(1);
    }
    Ok(Plot { name: "band".into(), panels: vec![dense.fitted(), kernels.fitted(), derivation.fitted()] })
}

/// As many copies of all l ≤ `limit` as make about so many channels.
fn fields(limit: usize, channels: usize) -> Result<Rep> {
    let copies = ((channels as f64 / (limit + 1).pow(2) as f64).round() as usize).max(1);
    Ok(format!("{copies}x(0..{limit})").parse::<Irreps>()?.real_rep(&group::parse("SO3")?)?)
}

/// Dense maps at one band limit.
fn maps(
    bench: &Bench<'_>,
    [dense, derivation]: [&mut Panel; 2],
    patience: &mut Patience,
    limit: usize,
    space: &KernelSpace,
) -> Result<()> {
    let Case { projector, weights, projected, mut out } = Case::checked(BLOCKS, space)?;
    let (x, n) = ((limit + 1) as f64, weights.len());
    let nodes = space.group().quadrature(space.degree())?.len();
    let work = operations(space, nodes);
    let summed = patience.bears(work);
    let [mut copy, mut summed_out] = [out.clone(), out.clone()];
    let mut works: Vec<(&str, Work<'_>)> =
        vec![(BLOCKS, projecting(&projector, &weights, &mut out)), (FLOOR, copying(&weights, &mut copy))];
    if summed {
        let mut sum = HaarSum::new(space)?;
        sum.apply(&weights, &mut summed_out);
        agree(SUM, &summed_out, &projected, tolerance(space.domain().dim() + nodes))?;
        works.push((SUM, summing(sum, &weights, &mut summed_out)));
    }
    dense.measure(&bench.clock, x, n, works)?;
    if let Some(seconds) = dense.last(SUM).filter(|_| summed) {
        patience.learn(work, seconds);
    }
    derivation.measure(&bench.clock, x, n, vec![(BLOCKS, making(|| Ok(derive(space)?)))])?;
    bench.progress.advance(1);
    Ok(())
}
