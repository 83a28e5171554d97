//! The ways to do the work of a size, each checked before it is timed.

use std::hint::black_box;

use faer::{Mat, c64};
use reynolds::fourier::{OperatorSpace, Spectrum};
use reynolds::projection::{Basis, Chain, Dimensions, HaarProjector, KernelSpace, Lowered, Projector, derive};
use reynolds::random::Random;
use reynolds::rep::{self, Rep};
use reynolds::steerable::RingsConfig;

use super::agreement::{agree, equality_patterns, tolerance, with_haar};
use super::haar_sum::{HaarSum, operations};
use crate::{Turns, Work};
use reynolds_train::error::Result;

/// Largest order for which a chain finds its rank from characters; above, that takes longer than anything here.
const LARGEST_CHAIN: u128 = 1024;

/// Largest order for which the Haar sum is considered.
const LARGEST_SUM: u128 = 1 << 16;

/// Largest number of weights for the Fourier blocks, which need several copies of 16 bytes a number.
const MOST_SPECTRAL: usize = 1 << 20;

/// Maps or kernels that are projected.
pub(super) enum Space {
    /// A group acts on them.
    Exact(KernelSpace),
    /// Band-limited kernels in space between these fields, of this side.
    Band(Rep, usize),
}

/// How a result is compared with the Haar average, beside the results of other ways.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Check {
    /// Single pairs of fields; E Eᵀ where no group acts.
    Pairs,
    /// S_n on order-2 tensors: the mean over equal patterns of equalities.
    Patterns,
    /// The other ways alone.
    Ways,
}

/// A size.
pub(super) struct Case {
    /// Its place on the axis.
    pub(super) x: f64,
    pub(super) space: Space,
    /// Copies of a field on both sides.
    pub(super) copies: usize,
    pub(super) check: Check,
}

/// What is timed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Way {
    /// P(W) and both energies, by the chosen form.
    Ours,
    /// The same by a tower of subgroups.
    Chain,
    /// Two products of matrices for each element.
    HaarSum,
    /// [`HaarProjector`] in double precision.
    Specification,
    /// The mask on Fourier blocks, for a model that is parameterised by them.
    Fourier,
    /// Derivation of P from fields.
    Deriving,
}

/// How often a way is timed, and the seconds of a call from which on it is left out.
#[derive(Debug, Clone, Copy)]
pub(super) struct Effort {
    pub(super) turns: Turns,
    pub(super) longest: f64,
}

impl Space {
    pub(super) fn derive(&self) -> Result<Lowered> {
        Ok(match self {
            Self::Exact(space) => derive(space)?,
            Self::Band(fields, side) => {
                Lowered::Basis(Box::new(Basis::derive(fields, fields, *side, 3, &RingsConfig::default())?))
            }
        })
    }

    /// N.
    pub(super) fn weights(&self) -> usize {
        match self {
            Self::Exact(space) => space.len(),
            Self::Band(fields, side) => fields.dim().pow(2) * side.pow(3),
        }
    }
}

/// P with weights of its size.
pub(super) struct Ready<'a> {
    case: &'a Case,
    projector: Lowered,
    weights: Vec<f32>,
    projected: Vec<f32>,
}

impl<'a> Ready<'a> {
    pub(super) fn new(case: &'a Case, what: &str) -> Result<Self> {
        let projector = case.space.derive()?;
        let count = projector.len();
        let mut random = Random::new(count as u64);
        let weights: Vec<f32> = (0..count).map(|_| (2.0 * random.uniform() - 1.0) as f32).collect();
        let projected = projector.project(&weights)?;
        match (&case.space, case.check) {
            (Space::Exact(space), Check::Pairs) => with_haar(what, space, &weights, &projected)?,
            (Space::Exact(space), Check::Patterns) => {
                let n = (space.domain().dim() / case.copies).isqrt();
                let expected = equality_patterns(n, case.copies, &weights);
                agree(what, &projected, &expected, tolerance(n.pow(4)))?;
            }
            (Space::Exact(_), Check::Ways) => {}
            (Space::Band(..), _) => {
                let wide: Vec<f64> = weights.iter().map(|&w| f64::from(w)).collect();
                let within = tolerance(count.isqrt());
                agree(what, &projected, &single(&projector.tiling()?.project(&wide)), within)?;
                agree(what, &projector.project(&projected)?, &projected, within)?;
            }
        }
        Ok(Self { case, projector, weights, projected })
    }

    /// Multiplications of a way that may take too long; 0 for the others.
    pub(super) fn operations(&self, way: Way) -> Result<f64> {
        match (&self.case.space, way) {
            (Space::Exact(space), Way::HaarSum | Way::Specification) => {
                Ok(nodes(space)?.map_or(f64::INFINITY, |nodes| operations(space, nodes)))
            }
            _ => Ok(0.0),
        }
    }

    pub(super) fn copying(&self) -> Work<'_> {
        let (from, mut to) = (&self.weights, vec![0.0_f32; self.weights.len()]);
        making(move || {
            black_box(&mut to).copy_from_slice(black_box(from));
            Ok(())
        })
    }

    /// A way, checked and ready to be timed; `None` if it does not exist at this size.
    pub(super) fn work(&self, way: Way, what: &str) -> Result<Option<Work<'_>>> {
        let Self { case, projector, weights, projected } = self;
        let (from, mut out) = (weights.as_slice(), vec![0.0_f32; weights.len()]);
        let space = match (&case.space, way) {
            (_, Way::Ours) => return Ok(Some(projecting(projector, from, out))),
            (_, Way::Deriving) => return Ok(Some(making(|| case.space.derive()))),
            (Space::Exact(space), _) => space,
            (Space::Band(..), _) => return Ok(None),
        };
        let terms = || -> Result<usize> { Ok(nodes(space)?.unwrap_or(usize::MAX)) };
        Ok(Some(match way {
            Way::Ours | Way::Deriving => unreachable!("returned above"),
            Way::Chain => {
                if space.group().order().is_none_or(|order| order > LARGEST_CHAIN) {
                    return Ok(None);
                }
                let chain = Lowered::Chain(Chain::derive(space)?);
                agree(what, &chain.project(from)?, projected, tolerance(space.domain().dim()))?;
                projecting(chain, from, out)
            }
            Way::HaarSum => {
                let mut sum = HaarSum::new(space)?;
                sum.apply(from, &mut out);
                agree(what, &out, projected, tolerance(space.domain().dim().max(terms()?)))?;
                making(move || {
                    sum.apply(black_box(from), black_box(&mut out));
                    Ok(())
                })
            }
            Way::Specification => {
                let specification = HaarProjector::new(space)?;
                let wide: Vec<f64> = from.iter().map(|&w| f64::from(w)).collect();
                agree(what, &single(&specification.project(&wide)?), projected, tolerance(terms()?))?;
                making(move || Ok(specification.project(&wide)?))
            }
            Way::Fourier => {
                if from.len() > MOST_SPECTRAL {
                    return Ok(None);
                }
                let spectrum = spectrum(what, space, case.copies, from, projected)?;
                making(move || Ok(spectrum.project()))
            }
        }))
    }
}

/// A work whose result is dropped after each call.
pub(super) fn making<'a, T: 'a>(mut make: impl FnMut() -> Result<T> + 'a) -> Work<'a> {
    Box::new(move || {
        black_box(make()?);
        Ok(())
    })
}

/// P(W) with both energies.
fn projecting<'a>(projector: impl std::borrow::Borrow<Lowered> + 'a, from: &'a [f32], mut to: Vec<f32>) -> Work<'a> {
    making(move || Ok(projector.borrow().project_into(black_box(from), black_box(&mut to))?))
}

fn single(numbers: &[f64]) -> Vec<f32> {
    numbers.iter().map(|&number| number as f32).collect()
}

/// Terms of the Haar sum; `None` if there are too many.
fn nodes(space: &KernelSpace) -> Result<Option<usize>> {
    match space.group().order() {
        Some(order) => Ok((order <= LARGEST_SUM).then_some(order as usize)),
        None => Ok(Some(space.group().quadrature(space.degree())?.nodes.len())),
    }
}

/// The Fourier blocks of W as an operator on C^copies-valued functions on the group. Their projection, taken back to weights, is compared
/// with P(W).
fn spectrum(what: &str, space: &KernelSpace, copies: usize, weights: &[f32], projected: &[f32]) -> Result<Spectrum> {
    let group = space.group();
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
    agree(what, &found, projected, tolerance(order))?;
    Ok(spectrum)
}
