//! Cost versus N, the number of weights: what `sec:asymp_cost` of the paper is about.

use faer::{Mat, c64};
use reynolds::fourier::{OperatorSpace, Spectrum};
use reynolds::group::{self, GroupRef};
use reynolds::irreps::Irreps;
use reynolds::projection::{HaarProjector, KernelSpace, Projector};
use reynolds::rep::{self, Grid};

use super::agreement::{agree, tolerance};
use super::case::{Bench, Case, copying, making, projecting};
use super::clock::{Patience, Work};
use super::haar_sum::{HaarSum, operations, summing};
use super::series::{Panel, Plot};
use reynolds_train::error::Result;

const ORBITS: &str = "orbits, C4 regular (ours)";
const BLOCKS: &str = "blocks, SO(3) l ≤ 2 (ours)";
const SPECTRAL: &str = "Fourier blocks, c64 (paper)";
const HAAR: &str = "dense Haar sum (paper)";
const SPECIFICATION: &str = "HaarProjector, f64";
const FLOOR: &str = "floor: read W, write P(W)";

/// Above so many weights the Fourier blocks, of 16 bytes a number and several copies to compare with, are left out.
const MOST_SPECTRAL: usize = 1 << 20;

/// Grows with N: C4 regular fields have 4 channels, l ≤ 2 has 9.
pub(super) fn plot(bench: &Bench<'_>) -> Result<Plot> {
    Ok(Plot { name: "weights".into(), panels: vec![dense(bench)?, kernels(bench)?] })
}

fn panel(title: &str) -> Panel {
    Panel::new(title, "weights N")
        .series(ORBITS, Some(1.0), "ours: N, whatever the group")
        .series(HAAR, Some(1.5), "paper: |G|·N^1.5")
        .series(SPECIFICATION, Some(1.5), "paper: |G|·N^1.5")
        .floor(FLOOR)
}

fn dense(bench: &Bench<'_>) -> Result<Panel> {
    let mut panel = panel("dense maps, f32")
        .series(SPECTRAL, Some(1.0), "paper: N, where weights are Fourier blocks")
        .series(BLOCKS, Some(1.0), "ours: N");
    let c4 = group::parse("C4")?;
    let mut patience = patience(bench);
    for &copies in &bench.sizes.dense_copies {
        let fields = rep::sum(&c4, &[(copies, rep::regular(&c4)?)])?;
        let space = KernelSpace::dense(&fields, &fields)?;
        point(bench, &mut panel, &mut patience, &space, Some(copies))?;
    }
    let so3 = group::parse("SO3")?;
    for &copies in &bench.sizes.irrep_copies {
        let fields = format!("{copies}x(0..2)").parse::<Irreps>()?.real_rep(&so3)?;
        let mut case = Case::checked(BLOCKS, &KernelSpace::dense(&fields, &fields)?)?;
        let n = case.len();
        let work = projecting(&case.projector, &case.weights, &mut case.out);
        panel.measure(&bench.clock, n as f64, n, vec![(BLOCKS, work)])?;
        bench.progress.advance(1);
    }
    Ok(panel.fitted())
}

fn kernels(bench: &Bench<'_>) -> Result<Panel> {
    let mut panel = panel("5×5 kernels, f32");
    let c4 = group::parse("C4")?;
    let grid = Grid::new(&c4, 5, 2)?;
    let mut patience = patience(bench);
    for &copies in &bench.sizes.kernel_copies {
        let fields = rep::sum(&c4, &[(copies, rep::regular(&c4)?)])?;
        point(bench, &mut panel, &mut patience, &KernelSpace::kernel(&fields, &fields, &grid)?, None)?;
    }
    Ok(panel.fitted())
}

/// With the Haar sum, and with its specification.
fn patience(bench: &Bench<'_>) -> [Patience; 2] {
    [Patience::of(bench.clock.longest), Patience::of(0.25 * bench.clock.longest)]
}

/// All ways on one space; `copies` of the regular field, where Fourier blocks are among them.
fn point(
    bench: &Bench<'_>,
    panel: &mut Panel,
    [with_sum, with_specification]: &mut [Patience; 2],
    space: &KernelSpace,
    copies: Option<usize>,
) -> Result<()> {
    let Case { projector, weights, projected, mut out } = Case::checked(ORBITS, space)?;
    let n = weights.len();
    let order = space.group().quadrature(0)?.len();
    let work = operations(space, order);
    let summed = with_sum.bears(work);
    let mut summed_out = vec![0.0; if summed { n } else { 0 }];
    let mut copy = out.clone();
    let mut works: Vec<(&str, Work<'_>)> =
        vec![(FLOOR, copying(&weights, &mut copy)), (ORBITS, projecting(&projector, &weights, &mut out))];
    if summed {
        let mut sum = HaarSum::new(space)?;
        sum.apply(&weights, &mut summed_out);
        agree(HAAR, &summed_out, &projected, tolerance(space.domain().dim()))?;
        works.push((HAAR, summing(sum, &weights, &mut summed_out)));
    }
    let specified = with_specification.bears(work);
    if specified {
        let specification = HaarProjector::new(space)?;
        let wide: Vec<f64> = weights.iter().map(|&w| f64::from(w)).collect();
        let found: Vec<f32> = specification.project(&wide)?.into_iter().map(|value| value as f32).collect();
        agree(SPECIFICATION, &found, &projected, tolerance(order))?;
        works.push((SPECIFICATION, making(move || Ok(specification.project(&wide)?))));
    }
    if let Some(copies) = copies.filter(|_| n <= MOST_SPECTRAL) {
        let spectrum = spectrum(space.group(), copies, &weights, &projected)?;
        works.push((SPECTRAL, making(move || Ok(spectrum.project()))));
    }
    panel.measure(&bench.clock, n as f64, n, works)?;
    for (patience, name, ran) in [(with_sum, HAAR, summed), (with_specification, SPECIFICATION, specified)] {
        if let Some(seconds) = panel.last(name).filter(|_| ran) {
            patience.learn(work, seconds);
        }
    }
    bench.progress.advance(1);
    Ok(())
}

/// The Fourier blocks of W as an operator on C^copies-valued functions on the group: what a model holds that is parameterised
/// spectrally. Their projection, taken back to weights, is compared with P(W).
fn spectrum(group: &GroupRef, copies: usize, weights: &[f32], projected: &[f32]) -> Result<Spectrum> {
    let fibre = rep::sum(group, &[(copies, rep::complexified(&rep::trivial(group)))])?;
    let space = OperatorSpace::new(&fibre, &fibre, 0)?;
    let (side, order) = (space.shape().0, space.shape().0 / copies);
    // Channels are (copy, element), samples of signals (element, copy).
    let channel = |sample: usize| sample % copies * order + sample / copies;
    let place = |row: usize, column: usize| channel(row) * side + channel(column);
    let t = Mat::from_fn(side, side, |row, column| c64::new(f64::from(weights[place(row, column)]), 0.0));
    let spectrum = space.spectrum(&t)?;
    let back = space.operator(&spectrum.project())?;
    let mut found = vec![0.0; weights.len()];
    for row in 0..side {
        for column in 0..side {
            found[place(row, column)] = back[(row, column)].re as f32;
        }
    }
    agree(SPECTRAL, &found, projected, tolerance(order))?;
    Ok(spectrum)
}
