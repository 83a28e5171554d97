//! Orbits of one shape: their members, and the differences that each element makes between them.

use crate::scalar::{Real, Weight};

/// Orbits taken at a time.
pub(super) const LANES: usize = 16;
/// Differences summed in the precision of the weights before the sums go to double precision.
const RUN: usize = 512;

/// What an element does to one member of an orbit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Step {
    pub(super) from: u32,
    pub(super) to: u32,
    /// Whether the sign changes, beyond the signs of the members.
    pub(super) opposite: bool,
}

/// What a pass over weights sums up.
#[derive(Debug, Clone)]
pub(super) struct Sums {
    pub(super) equivariant: f64,
    pub(super) perp: f64,
    pub(super) random_signs: f64,
    pub(super) squares: Vec<f64>,
}

impl Sums {
    pub(super) fn new(distinct: usize) -> Self {
        Self { equivariant: 0.0, perp: 0.0, random_signs: 0.0, squares: vec![0.0; distinct] }
    }

    pub(super) fn merge(&mut self, other: &Self) {
        self.equivariant += other.equivariant;
        self.perp += other.perp;
        self.random_signs += other.random_signs;
        self.squares.iter_mut().zip(&other.squares).for_each(|(sum, square)| *sum += square);
    }
}

/// The differences that some elements make, all the same ones.
#[derive(Debug, Clone, PartialEq)]
struct Difference {
    /// Pairs whose difference, and whose sum, is squared.
    minus: Vec<(u32, u32)>,
    plus: Vec<(u32, u32)>,
    /// How often each pair counts: twice where the element swaps it.
    times: f64,
    /// Numbers of the elements.
    elements: Vec<usize>,
    /// Their share of the group, halved: ‖W − P(W)‖² is half the mean of ‖Δ_g(W)‖².
    half_share: f64,
}

/// Orbits that all elements permute in the same way.
#[derive(Debug, Clone)]
pub(super) struct OrbitShape {
    size: usize,
    /// Some element sends a weight to its opposite: P is zero here.
    dead: bool,
    differences: Vec<Difference>,
    orbits: usize,
    /// Orbit after orbit until [`OrbitShape::seal`]; then `[batch, member, lane]`, the last batch short.
    offsets: Vec<u32>,
    /// Signs relative to the first member, laid out like the offsets; empty if all are plus.
    negative: Vec<bool>,
}

impl OrbitShape {
    /// The shape of an orbit from what each element does to each member, and how often each element counts.
    pub(super) fn new(size: usize, steps: &[Vec<Step>], counts: &[usize]) -> Self {
        let order = counts.iter().sum::<usize>() as f64;
        let dead = steps.iter().flatten().any(|step| step.from == step.to && step.opposite);
        let mut differences: Vec<Difference> = Vec::new();
        for (number, steps) in steps.iter().enumerate() {
            let back = |step: &Step| Step { from: step.to, to: step.from, opposite: step.opposite };
            let swaps = !dead && steps.iter().all(|step| steps[step.to as usize] == back(step));
            let moved = |step: &&Step| if swaps { step.from < step.to } else { step.from != step.to || step.opposite };
            let pairs = |opposite: bool| -> Vec<(u32, u32)> {
                let kept = steps.iter().filter(moved).filter(|step| step.opposite == opposite);
                kept.map(|step| (step.from, step.to)).collect()
            };
            let (minus, plus) = (pairs(false), pairs(true));
            if minus.is_empty() && plus.is_empty() {
                continue;
            }
            let half_share = counts[number] as f64 / (2.0 * order);
            match differences.iter_mut().find(|known| known.minus == minus && known.plus == plus) {
                Some(known) => {
                    known.elements.push(number);
                    known.half_share += half_share;
                }
                None => {
                    let times = if swaps { 2.0 } else { 1.0 };
                    differences.push(Difference { minus, plus, times, elements: vec![number], half_share });
                }
            }
        }
        Self { size, dead, differences, orbits: 0, offsets: vec![], negative: vec![] }
    }

    pub(super) fn alike(&self, other: &Self) -> bool {
        (self.size, self.dead) == (other.size, other.dead) && self.differences == other.differences
    }

    /// Adds an orbit: where its members lie, and their signs.
    pub(super) fn push(&mut self, members: impl Iterator<Item = (u32, bool)>) {
        for (offset, negative) in members {
            self.offsets.push(offset);
            self.negative.push(negative);
        }
        self.orbits += 1;
    }

    /// Orders the members by lanes.
    pub(super) fn seal(&mut self) {
        let order: Vec<usize> = (0..self.orbits)
            .step_by(LANES)
            .flat_map(|first| {
                let lanes = LANES.min(self.orbits - first);
                let size = self.size;
                (0..size * lanes).map(move |at| first * size + at % lanes * size + at / lanes)
            })
            .collect();
        self.offsets = order.iter().map(|&from| self.offsets[from]).collect();
        self.negative = match self.negative.iter().any(|&negative| negative) {
            true => order.iter().map(|&from| self.negative[from]).collect(),
            false => vec![],
        };
    }

    /// Adds these orbits of `weights`, which start at the part's first weight.
    pub(super) fn add<T: Real + Weight<Real = T>>(&self, weights: &[T], sums: &mut Sums) {
        let run = (RUN / self.size).max(1) * self.size * LANES;
        let mut buffer = vec![[T::default(); LANES]; self.size];
        let mut squares = vec![[T::default(); LANES]; self.differences.len()];
        let inverse_size = T::from_f64(1.0 / self.size as f64);
        for (run_number, offsets) in self.offsets.chunks(run).enumerate() {
            let mut kept = [T::default(); LANES];
            squares.fill([T::default(); LANES]);
            for (number, offsets) in offsets.chunks(self.size * LANES).enumerate() {
                self.gather(weights, offsets, run_number * run + number * self.size * LANES, &mut buffer);
                let mut mean = [T::default(); LANES];
                for member in &buffer {
                    for lane in 0..LANES {
                        mean[lane] += member[lane];
                    }
                }
                for lane in 0..LANES {
                    mean[lane] = mean[lane] * inverse_size;
                    kept[lane] += mean[lane] * mean[lane];
                }
                for (difference, square) in self.differences.iter().zip(&mut squares) {
                    difference.add(&buffer, square);
                }
            }
            let mut perp = 0.0;
            for (difference, square) in self.differences.iter().zip(&squares) {
                let square = total(square) * difference.times;
                perp += square * difference.half_share;
                difference.elements.iter().for_each(|&element| sums.squares[element] += square);
            }
            sums.perp += perp;
            if !self.dead {
                // Σw² = |O|·mean² + perp in every orbit.
                let kept = total(&kept);
                sums.equivariant += kept * self.size as f64;
                sums.random_signs += kept + perp / self.size as f64;
            }
        }
    }

    /// Loads a batch of orbits, one to a lane; lanes without an orbit are zero, which adds nothing.
    fn gather<T: Real + Weight<Real = T>>(&self, weights: &[T], offsets: &[u32], at: usize, buffer: &mut [[T; LANES]]) {
        let lanes = offsets.len() / self.size;
        if lanes == LANES {
            for (member, offsets) in buffer.iter_mut().zip(offsets.as_chunks::<LANES>().0) {
                *member = std::array::from_fn(|lane| weights[offsets[lane] as usize]);
            }
        } else {
            for (member, offsets) in buffer.iter_mut().zip(offsets.chunks(lanes)) {
                *member = [T::default(); LANES];
                for (lane, &offset) in offsets.iter().enumerate() {
                    member[lane] = weights[offset as usize];
                }
            }
        }
        if !self.negative.is_empty() {
            let negative = &self.negative[at..at + offsets.len()];
            for (member, negative) in buffer.iter_mut().zip(negative.chunks(lanes)) {
                for (value, &negative) in member.iter_mut().zip(negative) {
                    *value = if negative { -*value } else { *value };
                }
            }
        }
    }
}

impl Difference {
    fn add<T: Real + Weight<Real = T>>(&self, buffer: &[[T; LANES]], square: &mut [T; LANES]) {
        let mut sum = *square;
        for &(from, to) in &self.minus {
            let (a, b) = (&buffer[from as usize], &buffer[to as usize]);
            for lane in 0..LANES {
                let x = a[lane] - b[lane];
                sum[lane] += x * x;
            }
        }
        for &(from, to) in &self.plus {
            let (a, b) = (&buffer[from as usize], &buffer[to as usize]);
            for lane in 0..LANES {
                let x = a[lane] + b[lane];
                sum[lane] += x * x;
            }
        }
        *square = sum;
    }
}

fn total<T: Real>(lanes: &[T; LANES]) -> f64 {
    lanes.iter().map(|lane| lane.to_f64()).sum()
}
