//! Few large orbits in a tile: a label per weight, two passes in memory order.

use super::super::Energies;
use super::tile_orbits::TileOrbits;
use crate::scalar::{Real, Weight};

/// Most orbits a tile may have in this form: two labels each, one per sign.
const MAX_ORBITS: usize = 127;
/// Fewest weights an orbit must have on average to make a label worth its byte.
const MIN_MEAN_SIZE: usize = 64;
/// Sums that run side by side, because an addition to the same orbit must wait for the one before.
const LANES: usize = 8;
/// Weights summed in their own precision before the sums go to double precision.
const BLOCK: usize = 4096;

/// The orbits of a tile as a label per weight: 2k for the orbit k, 2k + 1 for its opposite.
#[derive(Debug, Clone)]
pub(super) struct OrbitLabels {
    labels: Vec<u8>,
    /// Size of each orbit; zero for the dead ones.
    sizes: Vec<usize>,
    /// Weights that lie together, and the distance from one such row to the next.
    segment: usize,
    stride: usize,
}

impl OrbitLabels {
    /// Whether this form suits these orbits.
    pub(super) fn suits(orbits: &TileOrbits) -> bool {
        orbits.len() <= MAX_ORBITS && orbits.weights() >= MIN_MEAN_SIZE * orbits.len()
    }

    pub(super) fn new(orbits: &TileOrbits, segment: usize, stride: usize) -> Self {
        let mut labels = vec![0; orbits.weights()];
        let mut sizes = Vec::new();
        for (members, dead) in orbits.iter() {
            for &(weight, negative) in members {
                labels[weight as usize] = (2 * sizes.len() + usize::from(negative)) as u8;
            }
            sizes.push(if dead { 0 } else { members.len() });
        }
        Self { labels, sizes, segment, stride }
    }

    /// `out ← P(weights)` on this tile; both slices start at the tile's first weight.
    pub(super) fn apply<T: Weight>(&self, weights: &[T], out: &mut [T]) -> Energies {
        let mut means = [T::default(); 256];
        let mut energies = Energies::default();
        for (orbit, (sum, &size)) in self.sums(weights).iter().zip(&self.sizes).enumerate() {
            if size > 0 {
                let mean = T::from_c64(sum / size as f64);
                means[2 * orbit] = mean;
                means[2 * orbit + 1] = -mean;
                energies.equivariant += mean.energy().to_f64() * size as f64;
            }
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

    /// Signed sum of each orbit.
    fn sums<T: Weight>(&self, weights: &[T]) -> Vec<faer::c64> {
        let mut sums = vec![faer::c64::new(0.0, 0.0); self.sizes.len()];
        for (row, labels) in self.labels.chunks(self.segment).enumerate() {
            let weights = &weights[row * self.stride..row * self.stride + labels.len()];
            for (labels, weights) in labels.chunks(BLOCK).zip(weights.chunks(BLOCK)) {
                let mut lanes = [[T::default(); 256]; LANES];
                let (groups, rest) = labels.as_chunks::<LANES>();
                for (group, weights) in groups.iter().zip(weights.as_chunks::<LANES>().0) {
                    for lane in 0..LANES {
                        lanes[lane][group[lane] as usize] += weights[lane];
                    }
                }
                for (&label, &w) in rest.iter().zip(&weights[groups.len() * LANES..]) {
                    lanes[0][label as usize] += w;
                }
                for (orbit, sum) in sums.iter_mut().enumerate() {
                    for lane in &lanes {
                        *sum += lane[2 * orbit].to_c64() - lane[2 * orbit + 1].to_c64();
                    }
                }
            }
        }
        sums
    }
}

/// Writes the means and returns Σ|w − mean|².
fn fill<T: Weight>(means: &[T; 256], labels: &[u8], weights: &[T], out: &mut [T]) -> f64 {
    let mut lanes = [T::Real::default(); LANES];
    let (groups, rest) = labels.as_chunks::<LANES>();
    let done = groups.len() * LANES;
    for ((group, weights), out) in groups.iter().zip(weights.as_chunks::<LANES>().0).zip(out.as_chunks_mut::<LANES>().0)
    {
        for lane in 0..LANES {
            let mean = means[group[lane] as usize];
            out[lane] = mean;
            lanes[lane] += (weights[lane] - mean).energy();
        }
    }
    for ((&label, &w), out) in rest.iter().zip(&weights[done..]).zip(&mut out[done..]) {
        *out = means[label as usize];
        lanes[0] += (w - *out).energy();
    }
    lanes.iter().map(|lane| lane.to_f64()).sum()
}
