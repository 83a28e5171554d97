//! Cost versus |G|, at as nearly the same number of weights as fields allow.

use reynolds::group::{self, GroupRef};
use reynolds::projection::{Chain, KernelSpace, Lowered, Projector, derive};
use reynolds::rep;

use super::agreement::{agree, equality_patterns, tolerance};
use super::case::{Bench, Case, copying, projecting};
use super::clock::{Patience, Work};
use super::haar_sum::{HaarSum, operations, summing};
use super::series::{Panel, Plot};
use reynolds_train::error::Result;

const FLOOR: &str = "floor: read W, write P(W)";

/// Up to this order a chain knows its rank from characters; above, finding it takes longer than anything here.
const LARGEST_CHAIN: u128 = 1024;

/// Up to this order the Haar sum is thought of.
const LARGEST_SUM: u128 = 1 << 16;

/// The names of a group's series.
struct Names {
    orbits: String,
    chain: String,
    sum: String,
}

impl Names {
    fn of(family: &str) -> Self {
        Self {
            orbits: format!("orbits, {family} (ours)"),
            chain: format!("chain, {family} (ours)"),
            sum: format!("dense Haar sum, {family} (paper)"),
        }
    }

    /// A panel with its series.
    fn onto(&self, panel: Panel) -> Panel {
        panel
            .series(&self.orbits, Some(0.0), "ours: N, whatever the group")
            .series(&self.chain, None, "ours: Σ of the transversals' sizes, about log |G|")
            .series(&self.sum, Some(1.0), "paper: |G|·N^1.5")
    }
}

/// Cyclic and dihedral groups on regular fields; symmetric groups on order-2 tensors.
pub(super) fn plot(bench: &Bench<'_>) -> Result<Plot> {
    Ok(Plot { name: "group".into(), panels: vec![regular(bench, 'C', 1)?, regular(bench, 'D', 2)?, symmetric(bench)?] })
}

/// One family of groups, which have `share` elements for each n. Families of equal orders cost the same: in one panel the second would
/// hide the first.
fn regular(bench: &Bench<'_>, letter: char, share: usize) -> Result<Panel> {
    let names = Names::of(&format!("{letter}_n"));
    let channels = bench.sizes.channels;
    let title = format!("regular fields of {letter}_n, {channels} → {channels} channels, f32");
    let mut panel = names.onto(Panel::new(&title, "order of the group |G|")).floor(FLOOR);
    let mut patience = Patience::of(bench.clock.longest);
    for &order in &bench.sizes.orders {
        // Dihedral groups begin with four elements.
        if order >= 2 * share {
            let group = group::parse(&format!("{letter}{}", order / share))?;
            let fields = rep::sum(&group, &[(channels / order, rep::regular(&group)?)])?;
            let space = KernelSpace::dense(&fields, &fields)?;
            let case = Case::new(derive(&space)?)?;
            point(bench, &mut panel, &names, &mut patience, &space, case)?;
        }
        bench.progress.advance(1);
    }
    Ok(panel.fitted())
}

fn symmetric(bench: &Bench<'_>) -> Result<Panel> {
    let names = Names::of("S_n");
    let channels = bench.sizes.channels;
    let title = format!("order-2 tensors, about {channels} → {channels} channels, f32");
    let mut panel = names.onto(Panel::new(&title, "order of the group |G| = n!")).floor(FLOOR);
    let mut patience = Patience::of(bench.clock.longest);
    for &n in &bench.sizes.letters {
        let group = group::parse(&format!("S{n}"))?;
        let points = rep::permutation(&group)?;
        let copies = ((channels as f64 / (n * n) as f64).round() as usize).max(1);
        let fields = rep::sum(&group, &[(copies, rep::tensor(&points, &points)?)])?;
        let space = KernelSpace::dense(&fields, &fields)?;
        let case = Case::new(derive(&space)?)?;
        let expected = equality_patterns(n, copies, &case.weights);
        agree(&names.orbits, &case.projected, &expected, tolerance(n.pow(4)))?;
        point(bench, &mut panel, &names, &mut patience, &space, case)?;
        bench.progress.advance(1);
    }
    Ok(panel.fitted())
}

/// All ways for one group, which have to agree.
fn point(
    bench: &Bench<'_>,
    panel: &mut Panel,
    names: &Names,
    patience: &mut Patience,
    space: &KernelSpace,
    case: Case,
) -> Result<()> {
    let Case { projector, weights, projected, mut out } = case;
    let order = order(space.group());
    let chain = if order <= LARGEST_CHAIN { Some(Lowered::Chain(Chain::derive(space)?)) } else { None };
    let work = if order <= LARGEST_SUM { operations(space, order as usize) } else { f64::INFINITY };
    let summed = work.is_finite() && patience.bears(work);
    let [mut copy, mut chain_out, mut summed_out] = [out.clone(), out.clone(), out.clone()];
    let mut works: Vec<(&str, Work<'_>)> = vec![
        (names.orbits.as_str(), projecting(&projector, &weights, &mut out)),
        (FLOOR, copying(&weights, &mut copy)),
    ];
    if let Some(chain) = &chain {
        agree(&names.chain, &chain.project(&weights)?, &projected, tolerance(space.domain().dim()))?;
        works.push((names.chain.as_str(), projecting(chain, &weights, &mut chain_out)));
    }
    if summed {
        let mut sum = HaarSum::new(space)?;
        sum.apply(&weights, &mut summed_out);
        agree(&names.sum, &summed_out, &projected, tolerance(space.domain().dim() + order as usize))?;
        works.push((names.sum.as_str(), summing(sum, &weights, &mut summed_out)));
    }
    panel.measure(&bench.clock, order as f64, weights.len(), works)?;
    if let Some(seconds) = panel.last(&names.sum).filter(|_| summed) {
        patience.learn(work, seconds);
    }
    Ok(())
}

/// |G| of a finite group.
fn order(group: &GroupRef) -> u128 {
    group.order().expect("a finite group")
}
