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
mod tiles;
mod union_find;

use std::collections::HashMap;
use std::sync::Arc;

use labels::OrbitLabels;
use lists::OrbitLists;
use union_find::SignedSets;

use super::fields::{Fields, by_rows};
use super::tiling::SignedOrbits;
use super::{Dimensions, Energies, KernelSpace, Projector, processor};
use crate::error::{Error, Result};
use crate::rep::SignedPermutation;
use crate::scalar::{Scalar, Weight};

/// From this many weights on the work is shared between threads.
const PARALLEL: usize = 1 << 18;

/// A projector held as orbits of weights.
#[derive(Debug, Clone)]
pub struct Orbits {
    len: usize,
    /// Weights per output channel.
    row: usize,
    /// What happens to the rows of each kind of output field, and the kind of each output field.
    layouts: Vec<RowLayout>,
    kinds: Vec<usize>,
}

/// The rows of one output field: which pattern the weights from each place on follow.
#[derive(Debug, Clone)]
struct RowLayout {
    channels: usize,
    rank: usize,
    parts: Vec<Part>,
}

/// Some neighbouring tiles.
#[derive(Debug, Clone)]
struct Part {
    /// Where they begin in a row, and how far they reach.
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
        let (domain, codomain) = (Fields::of(space.domain()), Fields::of(space.codomain()));
        let Some(moves) = Moves::of(space, &domain, &codomain) else { return Ok(None) };
        let row = space.domain().dim() * space.points();
        let layout = |out| RowLayout::new(&moves, &domain, out, row);
        let layouts = (0..codomain.kinds.len()).map(layout).collect::<Result<_>>()?;
        let kinds = codomain.placed.iter().map(|&(kind, _)| kind).collect();
        Ok(Some(Self { len: space.len(), row, layouts, kinds }))
    }

    /// What P keeps on average of these magnitudes with random signs: Σ over orbits of (Σ|w|²)/|O|, beside which ‖P(W)‖² tells structure
    /// from accident.
    ///
    /// # Errors
    /// [`Error::Shape`] if the length is wrong.
    pub fn random_signs<T: Weight>(&self, weights: &[T]) -> Result<f64> {
        if weights.len() != self.len {
            return Err(Error::shape("weights", format!("{} weights", self.len), weights.len()));
        }
        let mut start = 0;
        let mut sum = 0.0;
        for row in self.kinds.iter().map(|&kind| &self.layouts[kind]) {
            for Part { start: offset, pattern, .. } in &row.parts {
                sum += match pattern.as_ref() {
                    Pattern::Lists(lists) => lists.random_signs(&weights[start + offset..]),
                    Pattern::Labels(labels) => labels.random_signs(&weights[start + offset..]),
                };
            }
            start += row.channels * self.row;
        }
        Ok(sum)
    }
}

impl RowLayout {
    fn new<F: Scalar>(moves: &Moves, domain: &Fields<F>, out: usize, row: usize) -> Result<Self> {
        let tile = |into| Tile::new(moves, out, into, row);
        let tiles = (0..domain.kinds.len()).map(tile).collect::<Result<Vec<_>>>()?;
        let mut patterns: HashMap<(usize, usize), Arc<Pattern>> = HashMap::new();
        let (mut parts, mut rank) = (Vec::new(), 0);
        for (into, channel, copies) in runs(&domain.placed) {
            let tile = &tiles[into];
            rank += copies * tile.orbits.len();
            for (first, count) in batches(copies, tile.together()) {
                let pattern = patterns.entry((into, count)).or_insert_with(|| Arc::new(tile.pattern(count)));
                let start = channel * moves.points + first * tile.segment;
                parts.push(Part { start, len: count * tile.segment, pattern: pattern.clone() });
            }
        }
        Ok(Self { channels: moves.dims.1[out], rank, parts })
    }

    fn apply<T: Weight>(&self, weights: &[T], out: &mut [T], row: usize) -> Energies {
        processor::clear_upper_registers(); // of this thread
        let mut energies = Energies::default();
        for (index, Part { start, pattern, .. }) in self.parts.iter().enumerate() {
            self.prefetch_after(index, weights, out, row);
            energies = energies + pattern.apply(&weights[*start..], &mut out[*start..]);
        }
        energies
    }

    /// Asks for the part after this one; after the last, for the first of the next output field.
    fn prefetch_after<T: Weight>(&self, index: usize, weights: &[T], out: &[T], row: usize) {
        let (ahead, Part { start, len, .. }) = match self.parts.get(index + 1) {
            Some(next) => (0, next),
            None => (self.channels * row, &self.parts[0]),
        };
        if *len * self.channels <= 2 * TOGETHER {
            for channel in 0..self.channels {
                processor::prefetch(weights, ahead + channel * row + start, *len);
                processor::prefetch(out, ahead + channel * row + start, *len);
            }
        }
    }
}

/// Kind, first channel and number of equal fields that follow each other.
fn runs(placed: &[(usize, usize)]) -> Vec<(usize, usize, usize)> {
    let mut runs: Vec<(usize, usize, usize)> = Vec::new();
    for &(kind, channel) in placed {
        match runs.last_mut() {
            Some((last, _, copies)) if *last == kind => *copies += 1,
            _ => runs.push((kind, channel, 1)),
        }
    }
    runs
}

/// Start and length of batches of at most `size` out of `total`.
fn batches(total: usize, size: usize) -> impl Iterator<Item = (usize, usize)> {
    (0..total).step_by(size).map(move |first| (first, size.min(total - first)))
}

/// What happens to the weights of some neighbouring tiles.
#[derive(Debug, Clone)]
enum Pattern {
    Lists(OrbitLists),
    Labels(OrbitLabels),
}

impl Pattern {
    fn apply<T: Weight>(&self, weights: &[T], out: &mut [T]) -> Energies {
        match self {
            Self::Lists(lists) => lists.apply(weights, out),
            Self::Labels(labels) => labels.apply(weights, out),
        }
    }
}

/// How the generators move the basis vectors of each kind of field, and the grid.
struct Moves {
    inputs: Vec<Vec<SignedPermutation>>,
    outputs: Vec<Vec<SignedPermutation>>,
    grid: Option<Vec<Vec<u32>>>,
    points: usize,
    /// Dimensions of the kinds of input and output fields.
    dims: (Vec<usize>, Vec<usize>),
}

impl Moves {
    fn of<F: Scalar>(space: &KernelSpace<F>, domain: &Fields<F>, codomain: &Fields<F>) -> Option<Self> {
        let generators = space.group().generators();
        let of = |fields: &Fields<F>| -> Option<Vec<Vec<SignedPermutation>>> {
            fields.kinds.iter().map(|kind| generators.iter().map(|g| kind.signed_permutation(g)).collect()).collect()
        };
        let grid = space.grid().map(|grid| generators.iter().map(|g| grid.permutation(g)).collect());
        let dims = |fields: &Fields<F>| fields.kinds.iter().map(|kind| kind.dim()).collect();
        let dims = (dims(domain), dims(codomain));
        Some(Self { inputs: of(domain)?, outputs: of(codomain)?, grid, points: space.points(), dims })
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
    fn new(moves: &Moves, out: usize, into: usize, row: usize) -> Result<Self> {
        let points = moves.points;
        let (outputs, inputs) = (&moves.outputs[out], &moves.inputs[into]);
        let (outs, ins) = (moves.dims.1[out], moves.dims.0[into]);
        let n = outs * ins * points;
        let extent = outs * row;
        if n > MAX_TILE || u32::try_from(extent).is_err() {
            let expected = format!("at most {MAX_TILE} with one input field, {} with all", u32::MAX);
            return Err(Error::range("weights of one output field", expected, format!("{n} and {extent}")));
        }
        let mut sets = SignedSets::new(n);
        for (number, (out, into)) in outputs.iter().zip(inputs).enumerate() {
            let grid = moves.grid.as_ref().map(|grid| &grid[number]);
            for o in 0..outs {
                for i in 0..ins {
                    let from = (o * ins + i) * points;
                    let to = (out.image[o] as usize * ins + into.image[i] as usize) * points;
                    let opposite = out.negative[o] != into.negative[i];
                    for x in 0..points {
                        let moved = grid.map_or(x, |grid| grid[x] as usize);
                        sets.join((from + x) as u32, (to + moved) as u32, opposite);
                    }
                }
            }
        }
        Ok(Self { orbits: sets.into_orbits(), segment: ins * points, row })
    }

    /// How many neighbours to average together.
    fn together(&self) -> usize {
        if OrbitLabels::suits(&self.orbits) { 1 } else { (TOGETHER / self.orbits.numbers()).max(1) }
    }

    /// The pattern of `count` neighbours.
    fn pattern(&self, count: usize) -> Pattern {
        let (segment, row) = (self.segment, self.row);
        if OrbitLabels::suits(&self.orbits) {
            return Pattern::Labels(OrbitLabels::new(&self.orbits, segment, row));
        }
        let place = |copy: usize, weight: usize| (weight / segment * row + copy * segment + weight % segment) as u32;
        Pattern::Lists(OrbitLists::new(&self.orbits, count, place))
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
