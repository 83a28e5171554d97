//! ‖Δ_g(W)‖² for every g of a finite group that permutes the weights, in one pass over them.
//!
//! Orbit by orbit:
//!
//! ```text
//! ‖Δ_g(W)‖² = Σ_O Σ_{k ∈ O} (w_{gk} − ε w_k)²,      ‖W − P(W)‖² = ½ ∫ ‖Δ_g(W)‖² dλ(g)
//! E‖P(±W)‖² = Σ_O (Σ_{k ∈ O} w_k²) / |O|
//! ```
//!
//! The last is the mean of ‖P(W)‖² over random signs of the weights. Differences of weights are summed, not squares: nothing cancels where W
//! is almost equivariant. Several neighbouring tiles are taken at a time, one to a lane, for vector instructions.

mod orbit_shape;
mod tile;

use std::collections::HashMap;
use std::sync::Arc;

use orbit_shape::{RUN, Sums};
use rayon::prelude::*;
use tile::Tile;

use crate::group::{Element, elements};
use crate::projection::{Energies, Fields, KernelSpace};
use crate::rep::Rep;
use crate::scalar::{Real, Scalar, Weight};

/// Most images of weights of one tile that are listed.
const TILE_LIMIT: u128 = 1 << 26;
/// Most differences taken in one pass.
const WORK_LIMIT: u128 = 1 << 34;
/// Weights of one parallel task.
const TASK: usize = 1 << 16;

/// How every element of a finite group moves the weights of a layer.
#[derive(Debug, Clone)]
pub struct Displacements {
    len: usize,
    /// First weight of each output field, and its parts.
    rows: Vec<(usize, Parts)>,
    /// For each element the number of its square; an element and its inverse share one.
    number: Vec<usize>,
}

/// Runs of equal tiles: first weight, length and the orbits of one tile.
type Parts = Arc<[(usize, usize, Arc<Tile>)]>;

/// The result of one pass over the weights.
#[derive(Debug, Clone, PartialEq)]
pub struct Profile {
    /// ‖P(W)‖² and ‖W − P(W)‖².
    pub energies: Energies,
    /// Mean of ‖P(W)‖² over all signs of the weights.
    pub random_signs: f64,
    /// ‖Δ_g(W)‖² for every g, in the order of the group.
    pub squares: Vec<f64>,
    /// Bound of the relative rounding error of each of these.
    pub rounding: f64,
}

impl Displacements {
    /// `None` if an action is not by signed permutations, or if the group or the layer is too large for a pass over all elements.
    pub fn derive<F: Scalar>(space: &KernelSpace<F>) -> Option<Self> {
        let elements = elements(space.group().as_ref()).ok().filter(|_| space.is_permuted())?;
        let (domain, codomain) = (Fields::of(space.domain()), Fields::of(space.codomain()));
        let largest = |fields: &Fields<F>| fields.kinds.iter().map(|kind| kind.dim()).max().unwrap_or(0);
        let tile = largest(&domain) * largest(&codomain) * space.points();
        let extent = largest(&codomain) * space.domain().dim() * space.points();
        let order = elements.len() as u128;
        let too_large = order * tile as u128 > TILE_LIMIT || order * space.len() as u128 > WORK_LIMIT;
        if too_large || u32::try_from(extent).is_err() {
            return None;
        }
        let (chosen, number) = up_to_inverses(space, elements);
        let mut counts = vec![0; chosen.len()];
        number.iter().for_each(|&pair| counts[pair] += 1);
        let row = space.domain().dim() * space.points();
        let mut layouts: HashMap<usize, Parts> = HashMap::new();
        let mut layout = |&(kind, channel): &(usize, usize)| {
            let made = || parts(space, &codomain.kinds[kind], &domain, (&chosen, &counts));
            (channel * row, layouts.entry(kind).or_insert_with(made).clone())
        };
        let rows = codomain.placed.iter().map(&mut layout).collect();
        Some(Self { len: space.len(), rows, number })
    }

    /// The profile of `weights`, `[out, in, k…]` of the space's length. Sums run in the precision of the weights over a few hundred terms
    /// and in double precision from there on; they do not depend on the number of threads.
    pub fn profile<T: Real + Weight<Real = T>>(&self, weights: &[T]) -> Profile {
        assert_eq!(weights.len(), self.len, "weights of the space");
        let distinct = self.number.iter().max().map_or(0, |last| last + 1);
        let rows_each = (TASK * self.rows.len() / self.len.max(1)).max(1);
        let tasks: Vec<Sums> = self
            .rows
            .par_chunks(rows_each)
            .map(|rows| {
                let (mut sums, mut room) = (Sums::new(distinct), Vec::new());
                for (start, parts) in rows {
                    for (offset, count, tile) in parts.iter() {
                        tile.add(&weights[start + offset..], *count, &mut room, &mut sums);
                    }
                }
                sums
            })
            .collect();
        let mut total = Sums::new(distinct);
        tasks.iter().for_each(|task| total.merge(task));
        Profile {
            energies: Energies { equivariant: total.equivariant, perp: total.perp },
            random_signs: total.random_signs,
            squares: self.number.iter().map(|&number| total.squares[number]).collect(),
            // All terms are squares: one rounding each for difference, square and sum, up to twice RUN sums (or as many as weights) in the
            // precision of the weights, and from there on at most one for each weight in double precision.
            rounding: (2 * RUN.min(self.len) + 8) as f64 * T::EPSILON + self.len as f64 * f64::EPSILON,
        }
    }
}

/// One of each pair g, g⁻¹, the identity first, and for every element the number of its pair.
fn up_to_inverses<F: Scalar>(space: &KernelSpace<F>, all: Vec<Element>) -> (Vec<Element>, Vec<usize>) {
    let mut number = vec![usize::MAX; all.len()];
    let mut chosen = Vec::new();
    for (index, g) in all.into_iter().enumerate() {
        let inverse = space.group().inverse(&g).index() as usize;
        if inverse < index {
            number[index] = number[inverse];
        } else {
            number[index] = chosen.len();
            chosen.push(g);
        }
    }
    (chosen, number)
}

/// The parts of the rows of one kind of output field.
fn parts<F: Scalar>(space: &KernelSpace<F>, out: &Rep<F>, domain: &Fields<F>, chosen: (&[Element], &[usize])) -> Parts {
    let tile = |into| Arc::new(Tile::new(space, out, into, chosen));
    let tiles: Vec<Arc<Tile>> = domain.kinds.iter().map(tile).collect();
    let part = |(kind, channel, count): (usize, usize, usize)| (channel * space.points(), count, tiles[kind].clone());
    domain.runs().map(part).collect()
}
