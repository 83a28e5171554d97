//! Few large orbits in a tile: a label per weight, filled in memory order.

use faer::c64;

use super::super::Energies;
use super::SignedOrbits;
use super::lists::SMALL;
use crate::scalar::{Real, Weight};

/// Labels there may be, a power of two: a table of them stays in the nearest cache. Where fewer will do the table is smaller, for it is
/// made anew for every tile.
const LABELS: usize = 2048;
const FEW_LABELS: usize = 256;
/// Most orbits a tile may have in this form: two labels each, one per sign.
const MAX_ORBITS: usize = LABELS / 2;
/// Fewest weights an orbit must have on average to make a label worth its bytes.
const MIN_MEAN_SIZE: usize = 16;
/// Sums that run side by side.
const LANES: usize = 8;
/// Weights summed in their own precision before the sums go to double precision.
const BLOCK: usize = 4096;

/// The orbits of a tile as a label per weight: 2k for the orbit k, 2k + 1 for its opposite.
#[derive(Debug, Clone)]
pub(super) struct OrbitLabels {
    labels: Vec<u16>,
    /// Size of each orbit; zero for that of all numbers that project to zero.
    sizes: Vec<usize>,
    /// Where the first weight of each orbit lies.
    firsts: Vec<u32>,
    /// The label most weights have, summed in memory order.
    commonest: usize,
    /// Where the weights of every other label lie.
    rest: Vec<(usize, Vec<u32>)>,
    /// Weights that lie together, and the distance from one such row to the next.
    segment: usize,
    stride: usize,
}

impl OrbitLabels {
    /// Whether this form suits these orbits: lists are faster while no orbit is too large for them, 2.1 × on
    /// octahedral maps (`reynolds bench projection --group O --domain '10 regular' --codomain '10 regular'`, an AMD EPYC).
    pub(super) fn suits(orbits: &SignedOrbits) -> bool {
        // All that project to zero share one label.
        let count = orbits.len() + usize::from(!orbits.dead().is_empty());
        let large = orbits.iter().any(|(members, _)| members.len() > SMALL);
        count <= MAX_ORBITS && orbits.numbers() >= MIN_MEAN_SIZE * count && large
    }

    /// `place` says where a weight of the tile lies in the tensor.
    pub(super) fn new(orbits: &SignedOrbits, (segment, stride): (usize, usize), place: impl Fn(u32) -> u32) -> Self {
        let mut labels = vec![2 * orbits.len() as u16; orbits.numbers()];
        let (mut sizes, mut firsts) = (Vec::new(), Vec::new());
        let mut members: Vec<Vec<u32>> = vec![Vec::new(); 2 * orbits.len()];
        for (orbit, negative) in orbits.iter() {
            firsts.push(place(orbit[0]));
            for (&weight, &negative) in orbit.iter().zip(negative) {
                let label = 2 * sizes.len() + usize::from(negative);
                labels[weight as usize] = label as u16;
                members[label].push(place(weight));
            }
            sizes.push(orbit.len());
        }
        if let Some(&weight) = orbits.dead().first() {
            firsts.push(place(weight));
            sizes.push(0);
        }
        let commonest = (0..members.len()).max_by_key(|&label| members[label].len()).unwrap_or(0);
        let rest = members.into_iter().enumerate().filter(|(label, list)| *label != commonest && !list.is_empty());
        Self { labels, sizes, firsts, commonest, rest: rest.collect(), segment, stride }
    }

    /// `out ← P(weights)` on this tile; both slices start at the tile's first weight.
    pub(super) fn apply<T: Weight>(&self, weights: &[T], out: &mut [T]) -> Energies {
        match 2 * self.sizes.len() {
            ..=FEW_LABELS => self.apply_with::<FEW_LABELS, T>(weights, out),
            _ => self.apply_with::<LABELS, T>(weights, out),
        }
    }

    fn apply_with<const N: usize, T: Weight>(&self, weights: &[T], out: &mut [T]) -> Energies {
        let mut first = [T::default(); N];
        for (orbit, &at) in self.firsts.iter().enumerate() {
            first[2 * orbit] = weights[at as usize];
            first[2 * orbit + 1] = -weights[at as usize];
        }
        let sums = self.sums(weights, &first);
        let mut means = [T::default(); N];
        let mut energies = Energies::default();
        for (orbit, &size) in self.sizes.iter().enumerate().filter(|(_, size)| **size > 0) {
            let rest = (sums[2 * orbit] - sums[2 * orbit + 1]) / size as f64;
            let mean = T::from_c64(first[2 * orbit].to_c64() + rest);
            means[2 * orbit] = mean;
            means[2 * orbit + 1] = -mean;
            energies.equivariant += mean.energy().to_f64() * size as f64;
        }
        for (row, labels) in self.labels.chunks(self.segment).enumerate() {
            let range = row * self.stride..row * self.stride + labels.len();
            let (weights, out) = (&weights[range.clone()], &mut out[range]);
            for ((labels, weights), out) in labels.chunks(BLOCK).zip(weights.chunks(BLOCK)).zip(out.chunks_mut(BLOCK)) {
                energies.perp += fill(&means, labels, weights, out);
            }
        }
        energies
    }

    /// Σ(w − first) of each label.
    fn sums<const N: usize, T: Weight>(&self, weights: &[T], first: &[T; N]) -> [c64; N] {
        let mut sums = [c64::new(0.0, 0.0); N];
        for (label, members) in &self.rest {
            sums[*label] = total(members, |at| weights[at as usize] - first[*label]);
        }
        let (common, reference) = (self.commonest as u16, first[self.commonest]);
        for (row, labels) in self.labels.chunks(self.segment).enumerate() {
            let weights = &weights[row * self.stride..row * self.stride + self.segment];
            for (labels, weights) in labels.chunks(BLOCK).zip(weights.chunks(BLOCK)) {
                sums[self.commonest] += masked(labels, common, weights, reference).to_c64();
            }
        }
        sums
    }
}

/// Σ(w − first) over the weights of one label.
fn masked<T: Weight>(labels: &[u16], label: u16, weights: &[T], first: T) -> T {
    let mut lanes = [T::default(); LANES];
    let (groups, rest) = labels.as_chunks::<LANES>();
    // A product with 0 or 1 instead of a choice, which compilers turn into vector code.
    let term = |found: u16, w: T| (w - first).scale(T::Real::from_bool(found == label));
    for (group, weights) in groups.iter().zip(weights.as_chunks::<LANES>().0) {
        for lane in 0..LANES {
            lanes[lane] += term(group[lane], weights[lane]);
        }
    }
    for (&found, &w) in rest.iter().zip(&weights[groups.len() * LANES..]) {
        lanes[0] += term(found, w);
    }
    let mut sum = lanes[0];
    for &lane in &lanes[1..] {
        sum += lane;
    }
    sum
}

/// Σ over the items, in lanes and then in double precision.
pub(super) fn total<I: Copy, T: Weight>(items: &[I], weight: impl Fn(I) -> T) -> c64 {
    let mut sum = c64::new(0.0, 0.0);
    for block in items.chunks(BLOCK) {
        let (groups, rest) = block.as_chunks::<LANES>();
        let mut lanes = [T::default(); LANES];
        for group in groups {
            for lane in 0..LANES {
                lanes[lane] += weight(group[lane]);
            }
        }
        for &item in rest {
            lanes[0] += weight(item);
        }
        for lane in lanes {
            sum += lane.to_c64();
        }
    }
    sum
}

/// Writes the means and returns Σ|w − mean|².
fn fill<const N: usize, T: Weight>(means: &[T; N], labels: &[u16], weights: &[T], out: &mut [T]) -> f64 {
    let mut lanes = [T::Real::default(); LANES];
    let (groups, rest) = labels.as_chunks::<LANES>();
    let done = groups.len() * LANES;
    for ((group, weights), out) in groups.iter().zip(weights.as_chunks::<LANES>().0).zip(out.as_chunks_mut::<LANES>().0)
    {
        for lane in 0..LANES {
            let mean = means[group[lane] as usize % N];
            out[lane] = mean;
            lanes[lane] += (weights[lane] - mean).energy();
        }
    }
    for ((&label, &w), out) in rest.iter().zip(&weights[done..]).zip(&mut out[done..]) {
        *out = means[label as usize % N];
        lanes[0] += (w - *out).energy();
    }
    lanes.iter().map(|lane| lane.to_f64()).sum()
}
