//! The orbit form: signed-permutation actions, in one pass over the weights, whatever |G| is.
//!
//! ```text
//! P(W)[i] = ε_i · (1/|O|) Σ_{j ∈ O} ε_j W[j]        O the orbit of i,  or 0 if some g sends W[i] to −W[i]
//! ```
//!
//! Orbits come from union–find over generators: G is never enumerated. Equal pairs of fields share one pattern of offsets.
//!
//! ```
//! use reynolds::projection::{KernelSpace, Orbits, Projector};
//! use reynolds::{group, rep};
//! // DeepSets: the S₄-equivariant 4×4 maps are a·1 + b·J.
//! let points = rep::permutation(&group::parse("S4")?)?;
//! let projector = Orbits::derive(&KernelSpace::dense(&points, &points)?)?.expect("a permutation action");
//! assert_eq!(Projector::<f64>::rank(&projector), 2);
//! # Ok::<(), reynolds::Error>(())
//! ```

mod labels;
mod lists;
mod tile_orbits;
mod union_find;

use std::collections::HashMap;
use std::sync::Arc;

use labels::OrbitLabels;
use lists::OrbitLists;
use rayon::prelude::*;
use tile_orbits::TileOrbits;
use union_find::SignedSets;

use super::fields::Fields;
use super::{Energies, KernelSpace, Projector};
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
    /// For each output field: its rows, and for each input field where its tile begins in a row and which pattern it follows.
    rows: Vec<Row>,
    rank: usize,
}

#[derive(Debug, Clone)]
struct Row {
    channels: usize,
    tiles: Arc<[(usize, Arc<Pattern>)]>,
}

impl Orbits {
    /// The projector of a kernel space, or `None` if an action is not by signed permutations.
    ///
    /// # Errors
    /// [`Error::OutOfRange`] if one field pair has over 2³² weights.
    pub fn derive<F: Scalar>(space: &KernelSpace<F>) -> Result<Option<Self>> {
        let (domain, codomain) = (Fields::of(space.domain()), Fields::of(space.codomain()));
        let generators = space.group().generators();
        let moves = |fields: &Fields<F>| -> Option<Vec<Vec<SignedPermutation>>> {
            fields.kinds.iter().map(|kind| generators.iter().map(|g| kind.signed_permutation(g)).collect()).collect()
        };
        let (Some(inputs), Some(outputs)) = (moves(&domain), moves(&codomain)) else {
            return Ok(None);
        };
        if generators.is_empty() && space.group().order() != Some(1) {
            return Ok(None);
        }
        let grid: Vec<Option<Vec<u32>>> =
            generators.iter().map(|g| space.grid().map(|grid| grid.permutation(g))).collect();
        let row = space.domain().dim() * space.points();
        let tile = |out: usize, into: usize| -> Result<Arc<Pattern>> {
            let shape = [codomain.dim(out), domain.dim(into), space.points()];
            let moves = outputs[out].iter().zip(&inputs[into]).zip(&grid);
            let moves: Vec<_> = moves.map(|((out, into), grid)| Move { out, into, grid: grid.as_deref() }).collect();
            Ok(Arc::new(tile_pattern(shape, row, &moves)?))
        };
        let mut patterns: HashMap<(usize, usize), Arc<Pattern>> = HashMap::new();
        let mut layouts: HashMap<usize, Arc<[(usize, Arc<Pattern>)]>> = HashMap::new();
        let (mut rows, mut rank) = (Vec::new(), 0);
        for &(out, _) in &codomain.placed {
            if !layouts.contains_key(&out) {
                let mut tiles = Vec::new();
                for &(into, channel) in &domain.placed {
                    if !patterns.contains_key(&(out, into)) {
                        patterns.insert((out, into), tile(out, into)?);
                    }
                    tiles.push((channel * space.points(), patterns[&(out, into)].clone()));
                }
                layouts.insert(out, tiles.into());
            }
            let tiles = layouts[&out].clone();
            rank += tiles.iter().map(|(_, pattern)| pattern.rank).sum::<usize>();
            rows.push(Row { channels: codomain.dim(out), tiles });
        }
        Ok(Some(Self { len: space.len(), row, rows, rank }))
    }
}

/// What happens to the weights of a tile.
#[derive(Debug, Clone)]
struct Pattern {
    rank: usize,
    form: PatternForm,
}

#[derive(Debug, Clone)]
enum PatternForm {
    Lists(OrbitLists),
    Labels(OrbitLabels),
}

impl Pattern {
    fn apply<T: Weight>(&self, weights: &[T], out: &mut [T]) -> Energies {
        match &self.form {
            PatternForm::Lists(lists) => lists.apply(weights, out),
            PatternForm::Labels(labels) => labels.apply(weights, out),
        }
    }
}

/// How one generator moves the weights of a tile.
struct Move<'a> {
    out: &'a SignedPermutation,
    into: &'a SignedPermutation,
    grid: Option<&'a [u32]>,
}

fn tile_pattern([outs, ins, points]: [usize; 3], row: usize, moves: &[Move<'_>]) -> Result<Pattern> {
    let n = outs * ins * points;
    let extent = outs * row;
    if u32::try_from(extent.max(n)).is_err() {
        return Err(Error::range("weights of one pair of fields", format!("at most {}", u32::MAX), extent.max(n)));
    }
    let mut sets = SignedSets::new(n);
    for Move { out, into, grid } in moves {
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
    let orbits = TileOrbits::new(n, sets);
    let form = if OrbitLabels::suits(&orbits) {
        PatternForm::Labels(OrbitLabels::new(&orbits, ins * points, row))
    } else {
        let segment = ins * points;
        PatternForm::Lists(OrbitLists::new(&orbits, |weight| (weight / segment * row + weight % segment) as u32))
    };
    Ok(Pattern { rank: orbits.alive(), form })
}

impl Row {
    fn apply<T: Weight>(&self, weights: &[T], out: &mut [T]) -> Energies {
        let mut energies = Energies::default();
        for (start, pattern) in self.tiles.iter() {
            energies = energies + pattern.apply(&weights[*start..], &mut out[*start..]);
        }
        energies
    }
}

impl<T: Weight> Projector<T> for Orbits {
    fn len(&self) -> usize {
        self.len
    }

    fn rank(&self) -> usize {
        self.rank
    }

    fn apply(&self, mut weights: &[T], mut out: &mut [T]) -> Energies {
        let mut jobs = Vec::with_capacity(self.rows.len());
        for row in &self.rows {
            let (part, rest) = weights.split_at(row.channels * self.row);
            let (into, left) = out.split_at_mut(row.channels * self.row);
            jobs.push((row, part, into));
            (weights, out) = (rest, left);
        }
        // Summed in order, so that the result does not depend on the number of threads.
        let apply = |(row, part, into): (&Row, &[T], &mut [T])| row.apply(part, into);
        let energies: Vec<Energies> = if self.len >= PARALLEL {
            jobs.into_par_iter().map(apply).collect()
        } else {
            jobs.into_iter().map(apply).collect()
        };
        energies.into_iter().fold(Energies::default(), |sum, part| sum + part)
    }
}
