//! The audit of one tensor.

use super::excess;
use super::isotypic::{self, IrrepShare};
use crate::defect::{self, Bracket, Profile};
use crate::error::Result;
use crate::group::{ENUMERATION_LIMIT, Element};
use crate::plan::{ExactAction, Role, TypedTensor};
use crate::projection::{Energies, Fields, KernelSpace, Lowered, Projector};
use crate::values::Values;

/// Multiplications spent on the worst defect of a layer whose group does not permute its weights.
const WORK_LIMIT: u128 = 1 << 34;

/// Mean square below which squares of single-precision weights may have been lost to underflow.
const LEAST_SINGLE: f64 = 1e-30;
/// The same for double precision.
const LEAST_DOUBLE: f64 = 1e-290;

/// The worst defect over a group.
#[derive(Debug, Clone, PartialEq)]
pub struct WorstDefect {
    /// Name of the group: that of the plan, or for a band-limited layer the rotations of its grid.
    pub group: String,
    /// ℰ(W) in the Frobenius norm of the kernel, which says nothing about outputs.
    pub bracket: Bracket,
}

/// The audit of one tensor.
#[derive(Debug, Clone)]
pub struct LayerAudit {
    /// The tensor with its fields and its projector.
    pub tensor: TypedTensor,
    /// ‖P(W)‖² and ‖W − P(W)‖².
    pub energies: Energies,
    /// Mean energy over random signs of the weights, where G permutes them.
    pub chance: Option<f64>,
    /// The worst defect, for weights.
    pub worst: Option<WorstDefect>,
    /// ‖W − P(W)‖² split by irreps, the largest first.
    pub isotypic: Vec<IrrepShare>,
    /// Index and value of the first weight that is NaN or infinite; nothing else is measured then.
    pub not_finite: Option<(usize, String)>,
    /// Remarks for the reader.
    pub notes: Vec<String>,
    /// An earlier tensor with the same bytes of the file, which is counted in its place.
    pub tied_to: Option<String>,
}

impl LayerAudit {
    /// ‖W‖.
    pub fn norm(&self) -> f64 {
        self.energies.total().sqrt()
    }

    /// ‖P(W)‖²/‖W‖².
    pub fn energy(&self) -> f64 {
        self.energies.ratio()
    }

    /// ‖W − P(W)‖.
    pub fn distance(&self) -> f64 {
        self.energies.perp.sqrt()
    }

    /// dim Hom_G/dim Hom: the energy to expect of random weights.
    pub fn dimension_share(&self) -> f64 {
        self.tensor.rank() as f64 / self.tensor.len() as f64
    }

    /// (energy − chance)/(1 − chance), with the chance of random signs where it is known.
    pub fn excess(&self) -> f64 {
        excess(self.energy(), self.chance.unwrap_or(self.dimension_share()))
    }

    /// Whether it belongs in totals: finite weights on which the group acts, each once. Biases and scales do not; a few hundred variances would outweigh
    /// a million weights.
    pub fn counts(&self) -> bool {
        let once = self.tied_to.is_none() && self.not_finite.is_none();
        self.tensor.role == Role::Weight && !self.tensor.acts_trivially() && once
    }
}

/// Audits one tensor. NaN and infinite weights are reported in the result.
///
/// # Errors
/// [`crate::Error::Tensor`] if the number of weights is wrong or their squares do not fit double precision.
pub fn layer<'a>(layer: &TypedTensor, values: impl Into<Values<'a>>) -> Result<LayerAudit> {
    measure(layer, &values.into()).map_err(|error| error.of_tensor(&layer.name))
}

fn measure(layer: &TypedTensor, values: &Values<'_>) -> Result<LayerAudit> {
    if values.len() != layer.len() {
        return Err(crate::Error::shape("tensor", format!("{:?}", layer.shape), format!("{} weights", values.len())));
    }
    let mut audit = LayerAudit {
        tensor: layer.clone(),
        energies: Energies::default(),
        chance: None,
        worst: None,
        isotypic: vec![],
        not_finite: None,
        notes: layer.warnings.clone(),
        tied_to: None,
    };
    let profile = layer.exact.as_ref().and_then(|exact| profile(exact, values));
    if profile.is_none() {
        audit.not_finite = values.first_not_finite();
        if audit.not_finite.is_some() {
            return Ok(audit);
        }
    }
    let band_limited = layer.is_band_limited();
    let share = |part: f64, whole: f64| (whole > 0.0).then(|| part / whole);
    match &profile {
        Some(profile) if !band_limited => {
            audit.energies = profile.energies;
            audit.chance = share(profile.random_signs, profile.energies.total());
        }
        _ => {
            let weights = values.to_f64();
            audit.energies = layer.projector.energies(&weights)?;
            if let Lowered::Orbits(orbits) = layer.projector.as_ref() {
                audit.chance = share(orbits.random_signs(&weights)?, audit.energies.total());
            }
        }
    }
    if band_limited {
        let (grid, worst) = match &layer.exact {
            Some(exact) => {
                let group = exact.space.group().name();
                (format!("allows only {group} exactly"), format!("worst is that under {group}"))
            }
            None => ("allows no element of the group exactly".into(), "worst is not known".into()),
        };
        audit
            .notes
            .push(format!("the grid of pixels {grid}: energy is the share of smooth equivariant kernels, {worst}"));
    }
    if let Some(exact) = &layer.exact {
        let bracket = match &profile {
            Some(profile) => largest(profile),
            None if is_affordable(&exact.space) => {
                defect::worst(&exact.space, exact.projector.as_ref(), &values.to_f64())?
            }
            None => {
                let note = "worst defect: the bounds that hold for every layer, since a search would take too long";
                audit.notes.push(note.into());
                plain_bracket(exact, &values.to_f64())?
            }
        };
        audit.worst = Some(WorstDefect { group: exact.space.group().name(), bracket });
        if !(band_limited || layer.acts_trivially() || audit.energies.perp == 0.0) {
            match isotypic_shares(exact, profile, values, audit.energies.perp) {
                Ok(shares) => audit.isotypic = shares,
                Err(error) => audit.notes.push(format!("no isotypic shares: {error}")),
            }
        }
    }
    Ok(audit)
}

/// The one-pass profile in the first precision that holds the squares of the weights; `None` if none does.
fn profile(exact: &ExactAction, values: &Values<'_>) -> Option<Profile> {
    let displacements = exact.displacements.as_ref()?;
    let holds = |profile: &Profile, least: f64| {
        let total = profile.energies.total();
        total.is_finite() && (total >= least * values.len() as f64 || values.is_zero())
    };
    if let Values::F32(single) = values {
        let profile = displacements.profile(single);
        if holds(&profile, LEAST_SINGLE) {
            return Some(profile);
        }
        if values.first_not_finite().is_some() {
            return None;
        }
    }
    let profile = displacements.profile(&values.to_f64());
    holds(&profile, LEAST_DOUBLE).then_some(profile)
}

/// The largest of the displacements of all elements.
fn largest(profile: &Profile) -> Bracket {
    let best = profile.squares.iter().enumerate().max_by(|a, b| a.1.total_cmp(b.1));
    let (index, square) = best.map_or((0, 0.0), |(index, &square)| (index, square));
    let found = (square > 0.0).then_some(Element::Finite(index as u128));
    Bracket { lower: square.sqrt(), upper: square.sqrt(), found }.widened(profile.rounding, 0.0)
}

/// Multiplications of one action on the weights; of dense maps equal copies of a field are folded together.
fn work_of_action(space: &KernelSpace) -> u128 {
    if space.points() == 1 && !space.is_permuted() {
        let [out, into] = [space.codomain(), space.domain()].map(Fields::of);
        let pairs = (0..out.kinds.len()).flat_map(|a| (0..into.kinds.len()).map(move |b| (a, b)));
        let work = pairs.map(|(a, b)| {
            let (m, n) = (out.kinds[a].dim(), into.kinds[b].dim());
            let copies = (out.starts(a).count() * into.starts(b).count()).min(m * n);
            (m * n * copies * (m + n)) as u128
        });
        return work.sum();
    }
    space.len() as u128 * (space.domain().dim() + space.codomain().dim()) as u128
}

/// Whether the worst defect can be searched for.
fn is_affordable(space: &KernelSpace) -> bool {
    let listed = space.group().order().filter(|&n| n <= ENUMERATION_LIMIT);
    work_of_action(space) * listed.unwrap_or(256) <= WORK_LIMIT
}

/// √2·d ≤ ℰ ≤ 2d, with the sharper lower end of a finite group.
fn plain_bracket(exact: &ExactAction, weights: &[f64]) -> Result<Bracket> {
    let d = exact.projector.energies(weights)?.perp.sqrt();
    let least = exact.space.group().order().map_or(2.0, |n| 2.0 * n as f64 / (n - 1).max(1) as f64);
    let bracket = Bracket { lower: (least.sqrt() * d).min(2.0 * d), upper: 2.0 * d, found: None };
    Ok(bracket.widened(f64::EPSILON * weights.len() as f64, defect::rounding_of_projection(weights)))
}

fn isotypic_shares(
    exact: &ExactAction,
    profile: Option<Profile>,
    values: &Values<'_>,
    energy: f64,
) -> Result<Vec<IrrepShare>> {
    let space = &exact.space;
    isotypic::shares(space.group(), space.degree(), energy, |nodes| match profile {
        Some(profile) => Ok(profile.squares),
        None if is_affordable(space) => defect::squares(space, exact.projector.as_ref(), &values.to_f64(), nodes),
        None => Err(crate::Error::range("work for isotypic shares", WORK_LIMIT, work_of_action(space))),
    })
}
