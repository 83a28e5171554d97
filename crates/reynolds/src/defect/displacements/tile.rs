//! The orbits of one pair of fields, with what every element does to their members.

use super::orbit_shape::{LANES, OrbitShape, RUN, Step, Sums};
use crate::group::Element;
use crate::projection::{KernelSpace, Motion, processor};
use crate::rep::Rep;
use crate::scalar::{Real, Scalar, Weight};

/// The orbits of the weights of one pair of fields.
#[derive(Debug, Clone)]
pub(super) struct Tile {
    /// Weights of the tile in one output channel, and of the whole layer in one.
    segment: usize,
    row: usize,
    shapes: Vec<OrbitShape>,
    /// Weights that are the opposite of the first of their orbit.
    negative: Vec<u32>,
    weights: usize,
}

impl Tile {
    /// The orbits of two fields that the group permutes. Elements come one of each pair g, g⁻¹, with the number of elements each stands for.
    pub(super) fn new<F: Scalar>(
        space: &KernelSpace<F>,
        out: &Rep<F>,
        into: &Rep<F>,
        (chosen, counts): (&[Element], &[usize]),
    ) -> Self {
        let motion = |g| Motion::new(space, out, into, g).expect("fields that the group permutes");
        let moves: Vec<Motion> = chosen.iter().map(motion).collect();
        let points = space.points();
        let weights = out.dim() * into.dim() * points;
        let mut position = vec![usize::MAX; weights];
        let (mut shapes, mut negative): (Vec<OrbitShape>, Vec<u32>) = (Vec::new(), Vec::new());
        for first in 0..weights {
            if position[first] != usize::MAX {
                continue;
            }
            // Members in the order in which the elements reach them, each with the sign it gets there: free orbits all look alike then.
            let mut members = vec![(first, false)];
            position[first] = 0;
            let mut next = 0;
            while next < members.len() {
                let (weight, sign) = members[next];
                for motion in &moves {
                    let (to, minus) = motion.image(weight);
                    if position[to] == usize::MAX {
                        position[to] = members.len();
                        members.push((to, sign != minus));
                    }
                }
                next += 1;
            }
            let step = |motion: &Motion, from: usize| -> Step {
                let (weight, sign) = members[from];
                let (to, minus) = motion.image(weight);
                let to = position[to];
                Step { from: from as u32, to: to as u32, opposite: (sign != members[to].1) != minus }
            };
            let steps: Vec<Vec<Step>> =
                moves.iter().map(|motion| (0..members.len()).map(|from| step(motion, from)).collect()).collect();
            let shape = OrbitShape::new(members.len(), &steps, counts);
            let known = shapes.iter().position(|other| other.alike(&shape)).unwrap_or_else(|| {
                shapes.push(shape);
                shapes.len() - 1
            });
            shapes[known].push(members.iter().map(|&(weight, _)| weight as u32));
            negative.extend(members.iter().filter(|member| member.1).map(|&(weight, _)| weight as u32));
        }
        let row = space.domain().dim() * points;
        Self { segment: into.dim() * points, row, shapes, negative, weights }
    }

    /// Adds `count` neighbouring tiles; `weights` start at the first, `tiles` is scratch memory.
    pub(super) fn add<T: Real + Weight<Real = T>>(
        &self,
        weights: &[T],
        count: usize,
        tiles: &mut Vec<[T; LANES]>,
        sums: &mut Sums,
    ) {
        processor::clear_upper_registers(); // of this thread
        let mut lanes: Vec<Vec<[T; LANES]>> =
            self.shapes.iter().map(|shape| vec![[T::default(); LANES]; shape.terms()]).collect();
        let batches = (RUN / self.weights).max(1);
        for (batch, first) in (0..count).step_by(LANES).enumerate() {
            self.load(&weights[first * self.segment..], LANES.min(count - first), tiles);
            let last = first + LANES >= count || (batch + 1) % batches == 0;
            for (shape, lanes) in self.shapes.iter().zip(&mut lanes) {
                for orbits in shape.chunks() {
                    shape.add(tiles, orbits, lanes);
                    if last || self.weights > RUN {
                        shape.flush(lanes, sums);
                    }
                }
            }
        }
    }

    /// Turns the tiles so that each weight is a row of lanes, one tile to a lane.
    fn load<T: Real + Weight<Real = T>>(&self, weights: &[T], lanes: usize, tiles: &mut Vec<[T; LANES]>) {
        if lanes < LANES {
            tiles.clear();
        }
        tiles.resize(self.weights, [T::default(); LANES]);
        for (channel, rows) in tiles.chunks_exact_mut(self.segment).enumerate() {
            let from = &weights[channel * self.row..][..lanes * self.segment];
            for (lane, from) in from.chunks_exact(self.segment).enumerate() {
                for (row, &weight) in rows.iter_mut().zip(from) {
                    row[lane] = weight;
                }
            }
        }
        for &weight in &self.negative {
            tiles[weight as usize].iter_mut().for_each(|value| *value = -*value);
        }
    }
}
