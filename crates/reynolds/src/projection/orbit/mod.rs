//! The orbit form: signed-permutation actions, in one pass over the weights, whatever |G| is.
//!
//! ```text
//! P(W)[i] = ε_i · (1/|O|) Σ_{j ∈ O} ε_j W[j]        O the orbit of i,  or 0 if some g sends W[i] to −W[i]
//! ```
//!
//! Means are taken so that an orbit of equal weights comes back to the bit (as the first plus the mean of the differences from it, or in
//! halves where the size is a power of two): projecting twice changes nothing.
//!
//! Orbits come from union–find over generators: G is never enumerated. Equal pairs of fields share one pattern of offsets.
//!
//! ```
//! use reynolds::projection::{Dimensions, KernelSpace, Orbits};
//! use reynolds::{group, rep};
//! // DeepSets: the S₄-equivariant 4×4 maps are a·1 + b·J.
//! let points = rep::permutation(&group::parse("S4")?)?;
//! let projector = Orbits::derive(&KernelSpace::dense(&points, &points)?)?.expect("a permutation action");
//! assert_eq!(projector.rank(), 2);
//! # Ok::<(), reynolds::Error>(())
//! ```

mod labels;
mod lists;
mod union_find;

use std::collections::HashMap;
use std::sync::Arc;

use labels::OrbitLabels;
use lists::OrbitLists;
use union_find::SignedSets;

use super::fields::{Fields, by_rows};
use super::tiling::{Builder, SignedOrbits, TileProjector, Tiling};
use super::{Dimensions, Energies, KernelSpace, Motion, Projector, processor};
use crate::error::{Error, Result};
use crate::rep::Rep;
use crate::scalar::{Real, Scalar, Weight};

/// From this many weights on the work is shared between threads.
const PARALLEL: usize = 1 << 18;

/// A projector held as orbits of weights.
#[derive(Debug, Clone)]
pub struct Orbits {
    len: usize,
    /// Weights per output channel.
    row: usize,
    /// For each kind of output field.
    layouts: Vec<RowLayout>,
    /// Kind of each output field.
    kinds: Vec<usize>,
}

/// How the rows of one output field are averaged, run by run of tiles.
#[derive(Debug, Clone)]
struct RowLayout {
    channels: usize,
    rank: usize,
    runs: Vec<TileRun>,
}

/// Neighbouring tiles that are averaged together.
#[derive(Debug, Clone)]
struct TileRun {
    /// First weight in a row, and number of weights in each row.
    start: usize,
    len: usize,
    pattern: Arc<Pattern>,
}

/// Neighbouring tiles of one kind are averaged together up to this many weights: small enough for the offsets to stay in the
/// nearest cache, large enough to spread the cost of starting.
const TOGETHER: usize = 512;

/// The largest pair of fields: finding orbits takes about 40 bytes a weight.
const MAX_TILE: usize = 1 << 26;

impl Orbits {
    /// The projector of a kernel space, or `None` if an action is not by signed permutations.
    ///
    /// # Errors
    /// [`Error::OutOfRange`] if one pair of fields has over 2²⁶ weights or the rows of one output field over 2³².
    pub fn derive<F: Scalar>(space: &KernelSpace<F>) -> Result<Option<Self>> {
        if !space.is_permuted() {
            return Ok(None);
        }
        let (domain, codomain) = (Fields::of(space.domain()), Fields::of(space.codomain()));
        let row = space.domain().dim() * space.points();
        let layouts = codomain.kinds.iter().map(|out| RowLayout::new(space, out, &domain)).collect::<Result<_>>()?;
        let kinds = codomain.placed.iter().map(|&(kind, _)| kind).collect();
        Ok(Some(Self { len: space.len(), row, layouts, kinds }))
    }

    /// The mean of ‖P(W)‖² over all signs of the weights, Σ over orbits of (Σ|w|²)/|O|: what chance explains of ‖P(W)‖².
    pub fn random_signs<T: Weight>(&self, weights: &[T]) -> Result<f64> {
        if weights.len() != self.len {
            return Err(Error::shape("weights", format!("{} weights", self.len), weights.len()));
        }
        let mut start = 0;
        let mut sum = 0.0;
        for row in self.kinds.iter().map(|&kind| &self.layouts[kind]) {
            for TileRun { start: column, len, pattern } in &row.runs {
                let weights = &weights[start + column..];
                let energy = |&at: &u32| weights[place(at, *len, self.row)].energy().to_f64();
                let kept = |members: &[u32]| members.iter().map(energy).sum::<f64>() / members.len() as f64;
                sum += pattern.orbits.iter().map(|(members, _)| kept(members)).sum::<f64>();
            }
            start += row.channels * self.row;
        }
        Ok(sum)
    }

    /// This projector tile by tile, on weights of `numbers` real numbers each.
    pub(super) fn tiling(&self, numbers: usize) -> Tiling {
        let mut builder = Builder::new((self.len / self.row, self.row, 1), numbers);
        let mut kinds = HashMap::new();
        let mut start = 0;
        for layout in self.kinds.iter().map(|&kind| &self.layouts[kind]) {
            for TileRun { start: column, len, pattern } in &layout.runs {
                let kind = *kinds.entry(Arc::as_ptr(pattern)).or_insert_with(|| {
                    let orbits = pattern.orbits.clone().spread(numbers);
                    builder.kind(layout.channels, len * numbers, TileProjector::Orbits(orbits))
                });
                builder.place(kind, start, *column);
            }
            start += layout.channels;
        }
        builder.build()
    }
}

/// Where a weight of a tile, counted row after row of `segment`, lies in a layer whose rows are `row` apart.
fn place(weight: u32, segment: usize, row: usize) -> usize {
    weight as usize / segment * row + weight as usize % segment
}

impl RowLayout {
    fn new<F: Scalar>(space: &KernelSpace<F>, out: &Rep<F>, domain: &Fields<F>) -> Result<Self> {
        let tiles = domain.kinds.iter().map(|into| Tile::new(space, out, into)).collect::<Result<Vec<_>>>()?;
        let mut patterns: HashMap<(usize, usize), Arc<Pattern>> = HashMap::new();
        let (mut runs, mut rank) = (Vec::new(), 0);
        for (into, channel, copies) in domain.runs() {
            let tile = &tiles[into];
            rank += copies * tile.orbits.len();
            let together = tile.together();
            for first in (0..copies).step_by(together) {
                let count = together.min(copies - first);
                let pattern = patterns.entry((into, count)).or_insert_with(|| Arc::new(tile.pattern(count)));
                let start = channel * space.points() + first * tile.segment;
                runs.push(TileRun { start, len: count * tile.segment, pattern: pattern.clone() });
            }
        }
        Ok(Self { channels: out.dim(), rank, runs })
    }

    fn apply<T: Weight>(&self, weights: &[T], out: &mut [T], row: usize) -> Energies {
        processor::clear_upper_registers(); // of this thread
        let mut energies = Energies::default();
        for (index, TileRun { start, pattern, .. }) in self.runs.iter().enumerate() {
            self.prefetch_after(index, weights, out, row);
            energies = energies + pattern.apply(&weights[*start..], &mut out[*start..]);
        }
        energies
    }

    /// Prefetches the next run, after the last the first of the next output field.
    fn prefetch_after<T: Weight>(&self, index: usize, weights: &[T], out: &[T], row: usize) {
        let (ahead, TileRun { start, len, .. }) = match self.runs.get(index + 1) {
            Some(next) => (0, next),
            None => (self.channels * row, &self.runs[0]),
        };
        if *len * self.channels <= 2 * TOGETHER {
            for channel in 0..self.channels {
                processor::prefetch(weights, ahead + channel * row + start, *len);
                processor::prefetch(out, ahead + channel * row + start, *len);
            }
        }
    }
}

/// The orbits of some neighbouring tiles, and the form in which they are averaged.
#[derive(Debug, Clone)]
struct Pattern {
    orbits: SignedOrbits,
    form: Form,
}

#[derive(Debug, Clone)]
enum Form {
    Lists(OrbitLists),
    Labels(OrbitLabels),
}

impl Pattern {
    fn apply<T: Weight>(&self, weights: &[T], out: &mut [T]) -> Energies {
        match &self.form {
            Form::Lists(lists) => lists.apply(weights, out),
            Form::Labels(labels) => labels.apply(weights, out),
        }
    }
}

/// The orbits of one pair of fields and where its weights lie.
struct Tile {
    orbits: SignedOrbits,
    /// Weights of the tile in one output channel, and of the whole layer in one.
    segment: usize,
    row: usize,
}

impl Tile {
    fn new<F: Scalar>(space: &KernelSpace<F>, out: &Rep<F>, into: &Rep<F>) -> Result<Self> {
        let (points, row) = (space.points(), space.domain().dim() * space.points());
        let (n, extent) = (out.dim() * into.dim() * points, out.dim() * row);
        if n > MAX_TILE || u32::try_from(extent).is_err() {
            let expected = format!("at most {MAX_TILE} with one input field, {} with all", u32::MAX);
            return Err(Error::range("weights of one output field", expected, format!("{n} and {extent}")));
        }
        let mut sets = SignedSets::new(n);
        for g in space.group().generators() {
            let motion = Motion::new(space, out, into, &g).expect("fields that the group permutes");
            for (from, to, opposite) in motion.pairs() {
                for (x, &moved) in motion.points.iter().enumerate() {
                    sets.join((from * points + x) as u32, (to * points) as u32 + moved, opposite);
                }
            }
        }
        Ok(Self { orbits: sets.into_orbits(), segment: into.dim() * points, row })
    }

    /// How many neighbours to average together.
    fn together(&self) -> usize {
        if OrbitLabels::suits(&self.orbits) { 1 } else { (TOGETHER / self.orbits.numbers()).max(1) }
    }

    /// The pattern of `count` neighbours.
    fn pattern(&self, count: usize) -> Pattern {
        let segment = count * self.segment;
        let orbits = self.orbits.side_by_side(count, self.segment);
        let at = |weight: u32| place(weight, segment, self.row) as u32;
        let form = if OrbitLabels::suits(&self.orbits) {
            Form::Labels(OrbitLabels::new(&orbits, (segment, self.row), at))
        } else {
            Form::Lists(OrbitLists::new(&orbits, at))
        };
        Pattern { orbits, form }
    }
}

impl Dimensions for Orbits {
    fn len(&self) -> usize {
        self.len
    }

    fn rank(&self) -> usize {
        self.kinds.iter().map(|&kind| self.layouts[kind].rank).sum()
    }

    fn parts(&self) -> Vec<usize> {
        self.kinds.iter().map(|&kind| self.layouts[kind].channels * self.row).collect()
    }
}

impl<T: Weight> Projector<T> for Orbits {
    fn apply(&self, weights: &[T], out: &mut [T]) -> Energies {
        let layouts = self.kinds.iter().map(|&kind| &self.layouts[kind]);
        let rows = layouts.map(|layout| (layout, layout.channels * self.row));
        let apply = |_: &mut (), layout: &RowLayout, from: &[T], to: &mut [T]| layout.apply(from, to, self.row);
        by_rows(rows, self.len >= PARALLEL, (weights, out), || (), apply)
    }

    fn apply_part(&self, part: usize, weights: &[T], out: &mut [T]) -> Energies {
        self.layouts[self.kinds[part]].apply(weights, out, self.row)
    }
}
