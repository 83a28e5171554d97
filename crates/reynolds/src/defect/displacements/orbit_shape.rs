//! Orbits of one shape: their members, and the differences that each element makes between them.

use crate::scalar::{Real, Weight};

/// Tiles taken at a time, one to a lane.
pub(super) const LANES: usize = 16;
/// Differences summed in the precision of the weights before the sums go to double precision.
pub(super) const RUN: usize = 512;

/// The image of one member of an orbit under an element.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Step {
    pub(super) from: u32,
    pub(super) to: u32,
    /// Whether the sign changes, beyond the signs of the members.
    pub(super) opposite: bool,
}

/// The sums of a pass over weights.
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

/// The differences that several elements make in common.
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
    /// Members of orbit after orbit, as weights of the tile.
    members: Vec<u32>,
}

impl OrbitShape {
    /// From the images of all members under each element, and how often each element counts.
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
        Self { size, dead, differences, members: vec![] }
    }

    pub(super) fn alike(&self, other: &Self) -> bool {
        (self.size, self.dead) == (other.size, other.dead) && self.differences == other.differences
    }

    /// Adds an orbit of these weights of the tile.
    pub(super) fn push(&mut self, members: impl Iterator<Item = u32>) {
        self.members.extend(members);
    }

    /// Number of sums that [`OrbitShape::add`] keeps: one for the means, one for each difference.
    pub(super) fn terms(&self) -> usize {
        1 + self.differences.len()
    }

    /// Its orbits, in chunks short enough for one sum in the precision of the weights.
    pub(super) fn chunks(&self) -> impl Iterator<Item = &[u32]> {
        self.members.chunks((RUN / self.size).max(1) * self.size)
    }

    /// Adds some of these orbits of some tiles, `[weight of the tile, lane]`, to `lanes`; lanes without a tile are zero, which adds nothing.
    pub(super) fn add<T: Real + Weight<Real = T>>(
        &self,
        tiles: &[[T; LANES]],
        orbits: &[u32],
        lanes: &mut [[T; LANES]],
    ) {
        let inverse_size = T::from_f64(1.0 / self.size as f64);
        let (kept, squares) = lanes.split_first_mut().expect("as many sums as terms");
        for orbit in orbits.chunks_exact(self.size) {
            let mut mean = [T::default(); LANES];
            for &member in orbit {
                let row = &tiles[member as usize];
                for lane in 0..LANES {
                    mean[lane] += row[lane];
                }
            }
            for lane in 0..LANES {
                let mean = mean[lane] * inverse_size;
                kept[lane] += mean * mean;
            }
            for (difference, square) in self.differences.iter().zip(squares.iter_mut()) {
                difference.add(tiles, orbit, square);
            }
        }
    }

    /// Moves `lanes` to the sums in double precision.
    pub(super) fn flush<T: Real>(&self, lanes: &mut [[T; LANES]], sums: &mut Sums) {
        let mut perp = 0.0;
        for (difference, square) in self.differences.iter().zip(&lanes[1..]) {
            let square = total(square) * difference.times;
            perp += square * difference.half_share;
            difference.elements.iter().for_each(|&element| sums.squares[element] += square);
        }
        sums.perp += perp;
        if !self.dead {
            // Σw² = |O|·mean² + perp in every orbit.
            let kept = total(&lanes[0]);
            sums.equivariant += kept * self.size as f64;
            sums.random_signs += kept + perp / self.size as f64;
        }
        lanes.fill([T::default(); LANES]);
    }
}

impl Difference {
    fn add<T: Real + Weight<Real = T>>(&self, tiles: &[[T; LANES]], orbit: &[u32], square: &mut [T; LANES]) {
        let row = |member: u32| &tiles[orbit[member as usize] as usize];
        let mut sum = *square;
        for &(from, to) in &self.minus {
            let (a, b) = (row(from), row(to));
            for lane in 0..LANES {
                let x = a[lane] - b[lane];
                sum[lane] += x * x;
            }
        }
        for &(from, to) in &self.plus {
            let (a, b) = (row(from), row(to));
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
