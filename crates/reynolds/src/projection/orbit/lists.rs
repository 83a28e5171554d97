//! Many small orbits in a tile: lists of offsets, averaged orbit by orbit.

use super::super::Energies;
use super::tile_orbits::TileOrbits;
use crate::scalar::{Real, Weight};

/// Orbits up to this size are held as offsets, larger ones as runs of neighbours.
const SMALL: usize = 64;
/// Energies are summed in the precision of the weights over this many orbits, then in double precision.
const BATCH: usize = 64;

/// Neighbouring weights of one orbit.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Run {
    pub(super) start: u32,
    pub(super) len: u32,
    pub(super) negative: bool,
}

/// Orbits of one size.
#[derive(Debug, Clone)]
pub(super) struct SmallOrbits {
    pub(super) size: usize,
    /// Members of orbit after orbit.
    pub(super) offsets: Vec<u32>,
    /// Signs relative to the first member; empty if all are plus.
    pub(super) negative: Vec<bool>,
}

/// The orbits of a tile as lists of members.
#[derive(Debug, Clone, Default)]
pub(super) struct OrbitLists {
    /// Alone in their orbit: copied.
    pub(super) fixed: Vec<Run>,
    /// Their stabiliser holds a −1: set to zero.
    pub(super) dead: Vec<Run>,
    pub(super) small: Vec<SmallOrbits>,
    pub(super) large: Vec<Vec<Run>>,
}

impl OrbitLists {
    /// The orbits of `copies` equal tiles; `place` says where a weight of a copy lies in the tensor.
    pub(super) fn new(orbits: &TileOrbits, copies: usize, place: impl Fn(usize, usize) -> u32) -> Self {
        let mut lists = Self::default();
        for copy in 0..copies {
            for (members, dead) in orbits.iter() {
                let placed = members.iter().map(|&(weight, negative)| (place(copy, weight as usize), negative));
                lists.add(placed.collect(), dead);
            }
        }
        for runs in [&mut lists.dead, &mut lists.fixed] {
            runs.sort_by_key(|run| run.start);
            *runs = merge(runs);
        }
        lists
    }

    fn add(&mut self, orbit: Vec<(u32, bool)>, dead: bool) {
        let run = |&(start, negative): &(u32, bool)| Run { start, len: 1, negative };
        if dead {
            self.dead.extend(orbit.iter().map(|&(start, _)| Run { start, len: 1, negative: false }));
            return;
        }
        match orbit.len() {
            1 => self.fixed.extend(orbit.iter().map(run)),
            size if size <= SMALL => self.add_small(size, &orbit),
            _ => self.large.push(merge(&orbit.iter().map(run).collect::<Vec<_>>())),
        }
    }

    fn add_small(&mut self, size: usize, orbit: &[(u32, bool)]) {
        let signed = orbit.iter().any(|&(_, negative)| negative);
        let same = |group: &SmallOrbits| group.size == size && group.negative.is_empty() != signed;
        let index = self.small.iter().position(same);
        let group = match index {
            Some(index) => &mut self.small[index],
            None => {
                self.small.push(SmallOrbits { size, offsets: vec![], negative: vec![] });
                self.small.last_mut().expect("just pushed")
            }
        };
        group.offsets.extend(orbit.iter().map(|&(offset, _)| offset));
        if signed {
            group.negative.extend(orbit.iter().map(|&(_, negative)| negative));
        }
    }

    /// `out ← P(weights)` on this tile; both slices start at the tile's first weight.
    pub(super) fn apply<T: Weight>(&self, weights: &[T], out: &mut [T]) -> Energies {
        let mut energies = Energies::default();
        for run in &self.fixed {
            let (start, end) = (run.start as usize, (run.start + run.len) as usize);
            out[start..end].copy_from_slice(&weights[start..end]);
            energies.equivariant += energy(&weights[start..end]);
        }
        for run in &self.dead {
            let (start, end) = (run.start as usize, (run.start + run.len) as usize);
            out[start..end].fill(T::default());
            energies.perp += energy(&weights[start..end]);
        }
        for group in &self.small {
            energies = energies
                + match (group.size, group.negative.is_empty()) {
                    (2, true) => average::<T, 2>(&group.offsets, weights, out),
                    (3, true) => average::<T, 3>(&group.offsets, weights, out),
                    (4, true) => average::<T, 4>(&group.offsets, weights, out),
                    (8, true) => average::<T, 8>(&group.offsets, weights, out),
                    _ => group.average(weights, out),
                };
        }
        for runs in &self.large {
            energies = energies + average_runs(runs, weights, out);
        }
        energies
    }

    /// Σ over orbits of Σ|w|²/|O|, dead orbits left out.
    pub(super) fn random_signs<T: Weight>(&self, weights: &[T]) -> f64 {
        let run = |run: &Run| energy(&weights[run.start as usize..(run.start + run.len) as usize]);
        let mut sum: f64 = self.fixed.iter().map(run).sum();
        for group in &self.small {
            let one = |offset: &u32| weights[*offset as usize].energy().to_f64();
            sum += group.offsets.iter().map(one).sum::<f64>() / group.size as f64;
        }
        for runs in &self.large {
            let size: u32 = runs.iter().map(|run| run.len).sum();
            sum += runs.iter().map(run).sum::<f64>() / f64::from(size);
        }
        sum
    }
}

/// Joins neighbours of equal sign.
fn merge(runs: &[Run]) -> Vec<Run> {
    let mut merged: Vec<Run> = Vec::new();
    for &run in runs {
        match merged.last_mut() {
            Some(last) if last.start + last.len == run.start && last.negative == run.negative => last.len += run.len,
            _ => merged.push(run),
        }
    }
    merged
}

/// Σ|w|², in eight lanes.
fn energy<T: Weight>(weights: &[T]) -> f64 {
    let mut total = 0.0;
    for block in weights.chunks(4096) {
        let mut lanes = [T::Real::default(); 8];
        let chunks = block.chunks_exact(8);
        for &w in chunks.remainder() {
            lanes[0] += w.energy();
        }
        for chunk in chunks {
            for (lane, &w) in lanes.iter_mut().zip(chunk) {
                *lane += w.energy();
            }
        }
        total += lanes.iter().map(|lane| lane.to_f64()).sum::<f64>();
    }
    total
}

/// Unsigned orbits of a size known to the compiler.
fn average<T: Weight, const SIZE: usize>(offsets: &[u32], weights: &[T], out: &mut [T]) -> Energies {
    let share = T::Real::from_f64(1.0 / SIZE as f64);
    // Slices of one length: an offset that was good for the load is good for the store, and is checked once.
    let out = &mut out[..weights.len()];
    let mut energies = Energies::default();
    for batch in offsets.chunks(SIZE * BATCH) {
        // A lane per member, so that the sums need not wait for each other.
        let (mut equivariant, mut perp) = (T::Real::default(), [T::Real::default(); SIZE]);
        for orbit in batch.as_chunks::<SIZE>().0 {
            let members: [T; SIZE] = std::array::from_fn(|k| weights[orbit[k] as usize]);
            let mean = mean_of(members, share);
            equivariant += mean.energy();
            for k in 0..SIZE {
                out[orbit[k] as usize] = mean;
                perp[k] += (members[k] - mean).energy();
            }
        }
        energies.equivariant += equivariant.to_f64() * SIZE as f64;
        energies.perp += perp.iter().map(|lane| lane.to_f64()).sum::<f64>();
    }
    energies
}

/// The mean, exact if all are equal: sums of halves double without rounding; other sizes take differences from the first.
#[inline(always)]
fn mean_of<T: Weight, const SIZE: usize>(mut members: [T; SIZE], share: T::Real) -> T {
    if SIZE.is_power_of_two() {
        let mut left = SIZE;
        while left > 1 {
            left /= 2;
            for k in 0..left {
                members[k] += members[k + left];
            }
        }
        return members[0].scale(share);
    }
    let mut sum = T::default();
    for &member in &members[1..] {
        sum += member - members[0];
    }
    members[0] + sum.scale(share)
}

impl SmallOrbits {
    /// Orbits of any size, with or without signs.
    fn average<T: Weight>(&self, weights: &[T], out: &mut [T]) -> Energies {
        let share = T::Real::from_f64(1.0 / self.size as f64);
        let signed = |value: T, at: usize| if self.negative.get(at) == Some(&true) { -value } else { value };
        let mut energies = Energies::default();
        for (index, orbit) in self.offsets.chunks_exact(self.size).enumerate() {
            let at = index * self.size;
            let first = signed(weights[orbit[0] as usize], at);
            let mut sum = T::default();
            for (k, &offset) in orbit.iter().enumerate() {
                sum += signed(weights[offset as usize], at + k) - first;
            }
            let mean = first + sum.scale(share);
            let mut rest = T::Real::default();
            for (k, &offset) in orbit.iter().enumerate() {
                rest += (signed(weights[offset as usize], at + k) - mean).energy();
                out[offset as usize] = signed(mean, at + k);
            }
            energies.equivariant += mean.energy().to_f64() * self.size as f64;
            energies.perp += rest.to_f64();
        }
        energies
    }
}

/// One large orbit, run by run; the sum is kept in double precision.
fn average_runs<T: Weight>(runs: &[Run], weights: &[T], out: &mut [T]) -> Energies {
    let first = weights[runs[0].start as usize];
    let first = if runs[0].negative { -first } else { first };
    let mut sum = faer::c64::new(0.0, 0.0);
    let mut size = 0_usize;
    for run in runs {
        let part = &weights[run.start as usize..(run.start + run.len) as usize];
        let part = total(part, if run.negative { -first } else { first }).to_c64();
        sum = if run.negative { sum - part } else { sum + part };
        size += run.len as usize;
    }
    let mean = T::from_c64(first.to_c64() + sum / size as f64);
    let mut perp = 0.0;
    for run in runs {
        let range = run.start as usize..(run.start + run.len) as usize;
        let value = if run.negative { -mean } else { mean };
        let mut rest = T::Real::default();
        for (to, &w) in out[range.clone()].iter_mut().zip(&weights[range]) {
            *to = value;
            rest += (w - value).energy();
        }
        perp += rest.to_f64();
    }
    Energies { equivariant: mean.energy().to_f64() * size as f64, perp }
}

/// Σ(w − first), in eight lanes.
fn total<T: Weight>(weights: &[T], first: T) -> T {
    let (chunks, rest) = weights.as_chunks::<8>();
    let mut sum = T::default();
    for &w in rest {
        sum += w - first;
    }
    let mut lanes = [T::default(); 8];
    for chunk in chunks {
        for lane in 0..8 {
            lanes[lane] += chunk[lane] - first;
        }
    }
    for lane in lanes {
        sum += lane;
    }
    sum
}
