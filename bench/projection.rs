//! Time to derive P for any group and fields, to apply it to W with both energies, and to copy W.

use std::hint::black_box;
use std::time::Instant;

use rayon::prelude::*;
use reynolds::projection::{Basis, Dimensions, HaarProjector, KernelSpace, Lowered, Projector, derive};
use reynolds::random::Random;
use reynolds::rep::{self, Grid};
use reynolds::scalar::Real;
use reynolds::steerable::RingsConfig;
use reynolds::{Error as CoreError, group};
use reynolds_checkpoint::Values;
use serde::Serialize;

use super::{Array, Clock, Float, Times, Turns, Work};
use reynolds_train::config::at_least_one;
use reynolds_train::error::{Error, Result};
use reynolds_train::threads;

/// Derivations after the first: at least, at most, and the seconds after which no further one is begun.
const FEWEST_BUILDS: usize = 3;
const BUILDS: (usize, f64) = (15, 2.0);
/// Largest Haar average that P(W) is compared with: its nodes, and the weights.
const MAX_NODES: usize = 200;
const MAX_CHECKED: usize = 1 << 20;
/// Largest number of weights; deriving P takes about 45 bytes for each.
const MAX_WEIGHTS: usize = 100_000_000;
/// Numbers that a thread copies at a time.
const COPIED: usize = 1 << 16;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GridSize {
    pub side: usize,
    pub dimensions: usize,
}

#[derive(Debug, Clone, PartialEq)]
pub struct ProjectionBench {
    /// As [`group::parse`] reads it.
    pub group: String,
    /// Fields of the input, as [`rep::parse_fields`] reads them.
    pub domain: String,
    pub codomain: String,
    /// The grid of convolution kernels; `None` for dense maps.
    pub kernel: Option<GridSize>,
    /// Rings of band-limited kernels; `None` for the exact action.
    pub band: Option<RingsConfig>,
    /// Type of weights and results; P is always derived in double precision.
    pub precision: Float,
    pub repeats: usize,
    pub threads: usize,
    /// Whether to compare P(W) with the Haar average.
    pub check: bool,
}

/// One measurement. Times are medians in seconds.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ProjectionRow {
    pub row: &'static str,
    pub who: &'static str,
    pub group: String,
    pub domain: String,
    pub codomain: String,
    /// `[out, in, k…]`.
    pub shape: Vec<usize>,
    /// "orbits", "blocks", "chain" or "basis".
    pub form: &'static str,
    pub precision: Float,
    pub weights: usize,
    /// dim Hom_G.
    pub rank: usize,
    /// From text to P: the median of `builds` derivations, and the first one in this process.
    pub build_seconds: f64,
    pub first_build_seconds: f64,
    pub builds: usize,
    /// P(W) with both energies.
    pub seconds: f64,
    pub copy_seconds: f64,
    pub threads: usize,
    /// ‖P(W)‖²/‖W‖².
    pub equivariant: f64,
    /// max |P(P(W)) − P(W)| / max |P(W)|.
    pub idempotent: f64,
    /// max |P(W) − P_Haar(W)| / max |P_Haar(W)|.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub haar_difference: Option<f64>,
}

/// A projector with what it acts on.
struct Derived {
    projector: Lowered,
    shape: Vec<usize>,
    group: String,
    /// The exact action behind it; `None` for band-limited kernels.
    space: Option<KernelSpace>,
}

impl ProjectionBench {
    /// Measures on the given weights `[out, in, k…]` or on random ones, and also returns P(W).
    pub fn measure(&self, weights: Option<&Array>) -> Result<(ProjectionRow, Array)> {
        at_least_one("repeats", self.repeats)?;
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads::resolve(self.threads)).build();
        let pool = pool.map_err(|error| Error::given("--threads", "pool", "threads that the system grants", error))?;
        pool.install(|| match self.precision {
            Float::F32 => {
                let (row, shape, projected) = self.run::<f32>(weights, |array| array.values.to_f32().into_owned())?;
                Ok((row, Array { shape, values: Values::F32(projected.into()) }))
            }
            Float::F64 => {
                let (row, shape, projected) = self.run::<f64>(weights, |array| array.values.to_f64().into_owned())?;
                Ok((row, Array { shape, values: Values::F64(projected.into()) }))
            }
        })
    }

    fn run<T: Real>(
        &self,
        given: Option<&Array>,
        values: impl Fn(&Array) -> Vec<T>,
    ) -> Result<(ProjectionRow, Vec<usize>, Vec<T>)> {
        let (derived, first_build_seconds, build_seconds) = self.timed_builds()?;
        let projector = &derived.projector;
        let weights = match given {
            Some(array) if array.shape != derived.shape => {
                let [expected, found] = [&derived.shape, &array.shape].map(|shape| format!("{shape:?}"));
                return Err(Error::given("--weights", "shape", expected, found));
            }
            Some(array) => values(array),
            None => random(projector.len()),
        };
        let mut projected = vec![T::default(); weights.len()];
        let energies = projector.project_into(&weights, &mut projected).map_err(Error::argument("--weights"))?;
        let [copy_seconds, seconds] = self.timed_rounds(projector, &weights, &mut projected)?;
        let again = projector.project(&projected).map_err(Error::argument("--weights"))?;
        let haar_difference = if self.check { Some(haar_difference(&derived, &weights, &projected)?) } else { None };
        let row = ProjectionRow {
            row: "projection",
            who: "reynolds",
            group: derived.group,
            domain: self.domain.clone(),
            codomain: self.codomain.clone(),
            shape: derived.shape.clone(),
            form: projector.form(),
            precision: self.precision,
            weights: weights.len(),
            rank: projector.rank(),
            build_seconds: Times::new(build_seconds.clone()).median(),
            first_build_seconds,
            builds: build_seconds.len(),
            seconds,
            copy_seconds,
            threads: rayon::current_num_threads(),
            equivariant: energies.ratio(),
            idempotent: difference(&again, &projected),
            haar_difference,
        };
        Ok((row, derived.shape, projected))
    }

    /// From text to a projector.
    fn derive(&self) -> Result<Derived> {
        let group = group::parse(&self.group).map_err(Error::argument("--group"))?;
        let domain = rep::parse_fields(&group, &self.domain).map_err(Error::argument("--domain"))?;
        let codomain = rep::parse_fields(&group, &self.codomain).map_err(Error::argument("--codomain"))?;
        self.check_size(domain.dim(), codomain.dim())?;
        let name = group.name();
        let space = match (self.kernel, &self.band) {
            (None, None) => KernelSpace::dense(&domain, &codomain).map_err(Error::argument("--codomain"))?,
            (None, Some(_)) => return Err(Error::given("--band", "what is limited", "a kernel", "a dense map")),
            (Some(GridSize { side, dimensions }), None) => {
                let grid = Grid::new(&group, side, dimensions).map_err(Error::argument("--kernel"))?;
                KernelSpace::kernel(&domain, &codomain, &grid).map_err(Error::argument("--kernel"))?
            }
            (Some(GridSize { side, dimensions }), Some(rings)) => {
                let basis = Basis::derive(&domain, &codomain, side, dimensions, rings);
                let basis = basis.map_err(Error::argument("--band"))?;
                let mut shape = vec![codomain.dim(), domain.dim()];
                shape.extend(vec![side; dimensions]);
                let projector = Lowered::Basis(Box::new(basis));
                return Ok(Derived { projector, shape, group: name, space: None });
            }
        };
        let projector = derive(&space).map_err(Error::argument("--group"))?;
        Ok(Derived { projector, shape: space.shape(), group: name, space: Some(space) })
    }

    /// Checks the number of weights before any are allocated.
    fn check_size(&self, inputs: usize, outputs: usize) -> Result<()> {
        let (option, sides) = match self.kernel {
            Some(GridSize { side, dimensions }) => ("--kernel", vec![side; dimensions]),
            None => ("--domain", Vec::new()),
        };
        let weights = sides.into_iter().fold(inputs.saturating_mul(outputs), usize::saturating_mul);
        if weights > MAX_WEIGHTS {
            return Err(Error::given(option, "weights", format!("at most {MAX_WEIGHTS}"), weights));
        }
        Ok(())
    }

    /// A projector, the seconds of its first derivation, and of each further one.
    fn timed_builds(&self) -> Result<(Derived, f64, Vec<f64>)> {
        let start = Instant::now();
        let derived = self.derive()?;
        let (first, mut more) = (start.elapsed().as_secs_f64(), Vec::new());
        while more.len() < FEWEST_BUILDS || (more.len() < BUILDS.0 && start.elapsed().as_secs_f64() < BUILDS.1) {
            let begin = Instant::now();
            let again = black_box(self.derive()?);
            more.push(begin.elapsed().as_secs_f64());
            drop(again);
        }
        Ok((derived, first, more))
    }

    /// Median seconds of copying and of projecting, in turns.
    fn timed_rounds<T: Real>(&self, projector: &Lowered, weights: &[T], projected: &mut [T]) -> Result<[f64; 2]> {
        let mut copy = vec![T::default(); weights.len()];
        let copying: Work<'_> = Box::new(|| {
            copy_all(black_box(weights), black_box(&mut copy));
            Ok(())
        });
        let projecting: Work<'_> = Box::new(|| {
            black_box(projector.project_into(black_box(weights), black_box(&mut *projected))?);
            Ok(())
        });
        let times = Clock::HOST.turns(Turns::exactly(self.repeats), &mut [copying, projecting])?;
        Ok([times[0].median(), times[1].median()])
    }
}

fn copy_all<T: Real>(from: &[T], to: &mut [T]) {
    if rayon::current_num_threads() == 1 {
        to.copy_from_slice(from);
    } else {
        from.par_chunks(COPIED).zip(to.par_chunks_mut(COPIED)).for_each(|(from, to)| to.copy_from_slice(from));
    }
}

fn random<T: Real>(count: usize) -> Vec<T> {
    let mut random = Random::new(1);
    (0..count).map(|_| T::from_f64(random.normal())).collect()
}

/// max |a − b| / max |b|; where b is 0 everywhere, max |a|.
fn difference<A: Real, B: Real>(a: &[A], b: &[B]) -> f64 {
    let largest = b.iter().map(|b| b.to_f64().abs()).fold(0.0, f64::max);
    let apart = a.iter().zip(b).map(|(a, b)| (a.to_f64() - b.to_f64()).abs()).fold(0.0, f64::max);
    if largest == 0.0 { apart } else { apart / largest }
}

/// Relative difference of P(W) and the Haar average in double precision, which is the specification.
fn haar_difference<T: Real>(derived: &Derived, weights: &[T], projected: &[T]) -> Result<f64> {
    let refuse = |found: String| {
        let expected = format!("an exact action of at most {MAX_NODES} terms on at most {MAX_CHECKED} weights");
        Err(Error::given("--check", "Haar average", expected, found))
    };
    let Some(space) = &derived.space else { return refuse("band-limited kernels".into()) };
    if let Some(order) = space.group().order().filter(|&order| order > MAX_NODES as u128) {
        return refuse(format!("{order} elements"));
    }
    let terms = space.group().quadrature(space.degree()).map(|rule| rule.nodes.len());
    match terms.map_err(Error::argument("--check"))? {
        terms if terms > MAX_NODES => return refuse(format!("{terms} terms")),
        _ if weights.len() > MAX_CHECKED => return refuse(format!("{} weights", weights.len())),
        _ => {}
    }
    let weights: Vec<f64> = weights.iter().map(|weight| weight.to_f64()).collect();
    let average: Result<Vec<f64>, CoreError> = HaarProjector::new(space).and_then(|haar| haar.project(&weights));
    Ok(difference(projected, &average.map_err(Error::argument("--check"))?))
}

#[cfg(test)]
mod tests;
