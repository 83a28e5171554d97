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
use crate::{Clock, Times, Work};
use reynolds_train::error::Result;

/// Up to this order a chain knows its rank from characters; above, finding it takes longer than anything here.
const LARGEST_CHAIN: u128 = 1024;

/// Up to this order the Haar sum is thought of.
const LARGEST_SUM: u128 = 1 << 16;

/// Above so many weights the Fourier blocks, of 16 bytes a number and several copies to compare with, are left out.
const MOST_SPECTRAL: usize = 1 << 20;

/// A call that takes so many seconds needs no other to warm up.
const SLOW: f64 = 0.25;

/// Seconds that are spent on one work at one size, beyond which it has fewer turns.
const LONG: f64 = 1.0;

/// Maps or kernels that are projected.
pub(super) enum Space {
    /// A group acts on them.
    Exact(KernelSpace),
    /// Band-limited kernels in space between these fields, with so many points along a side.
    Band(Rep, usize),
}

/// How a result is held against the Haar average before it is timed, beside what other ways found.
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
    /// P(W) and both energies by the form that is chosen.
    Ours,
    /// The same by a tower of subgroups.
    Chain,
    /// Two products of matrices for each element.
    HaarSum,
    /// [`HaarProjector`] in double precision.
    Specification,
    /// The mask on Fourier blocks, where a model holds those.
    Fourier,
    /// P, from fields to ready.
    Deriving,
}

/// Turns of each work, seconds that all turns of one take together at least, and of a call beyond which it is left out.
#[derive(Debug, Clone, Copy)]
pub(super) struct Effort {
    pub(super) turns: usize,
    pub(super) least: f64,
    pub(super) longest: f64,
}

impl Effort {
    /// Seconds of a call of each work over its turns.
    pub(super) fn times(self, clock: Clock, works: &mut [Work<'_>]) -> Result<Vec<Times>> {
        let mut plans = Vec::with_capacity(works.len());
        for work in works.iter_mut() {
            let mut once = clock.seconds(1, &mut *work)?;
            if once < SLOW {
                once = clock.seconds(1, &mut *work)?;
            }
            let once = once.max(1e-9);
            let turns = self.turns.min(((LONG / once) as usize).max(1));
            plans.push((turns, (self.least / (turns as f64 * once)).ceil().max(1.0) as usize));
        }
        let mut seconds = vec![Vec::new(); works.len()];
        for turn in 0..self.turns {
            for ((work, &(turns, calls)), seconds) in works.iter_mut().zip(&plans).zip(&mut seconds) {
                if turn < turns {
                    seconds.push(clock.seconds(calls, &mut *work)? / calls as f64);
                }
            }
        }
        Ok(seconds.into_iter().map(Times::new).collect())
    }
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

    /// Multiplications of a way that may take too long; 0 of the others.
    pub(super) fn operations(&self, way: Way) -> Result<f64> {
        match (&self.case.space, way) {
            (Space::Exact(space), Way::HaarSum | Way::Specification) => {
                Ok(nodes(space)?.map_or(f64::INFINITY, |nodes| operations(space, nodes)))
            }
            _ => Ok(0.0),
        }
    }

    /// Reads W and writes as much.
    pub(super) fn copying(&self) -> Work<'_> {
        let (from, mut to) = (&self.weights, vec![0.0_f32; self.weights.len()]);
        making(move || {
            black_box(&mut to).copy_from_slice(black_box(from));
            Ok(())
        })
    }

    /// A way, checked and ready to be timed; `None` where there is no such way at this size.
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

/// Whatever is made anew at each call.
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

/// Terms of the Haar sum; `None` where nobody would wait for it.
fn nodes(space: &KernelSpace) -> Result<Option<usize>> {
    match space.group().order() {
        Some(order) => Ok((order <= LARGEST_SUM).then_some(order as usize)),
        None => Ok(Some(space.group().quadrature(space.degree())?.nodes.len())),
    }
}

/// The Fourier blocks of W as an operator on C^copies-valued functions on the group: what a model holds that is parameterised
/// spectrally. Their projection, taken back to weights, is compared with P(W).
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

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::*;

    #[test]
    fn works_take_turns_and_each_is_measured() {
        let order = RefCell::new(String::new());
        let work = |letter: char| -> Work<'_> {
            let order = &order;
            making(move || {
                order.borrow_mut().push(letter);
                Ok(())
            })
        };
        let effort = Effort { turns: 3, least: 0.0, longest: 1.0 };
        let found = effort.times(Clock::HOST, &mut [work('a'), work('b')]).unwrap();
        assert!(found.len() == 2 && found.iter().all(|seconds| seconds.median().is_finite()));
        assert_eq!(order.borrow().as_str(), "aabbababab");
    }
}
