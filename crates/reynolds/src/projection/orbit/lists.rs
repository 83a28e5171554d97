//! Many small orbits in a tile: lists of offsets, averaged orbit by orbit.

use std::ops::Range;

use super::super::Energies;
use super::SignedOrbits;
use super::labels::total;
use crate::scalar::{Real, Weight};

/// Orbits up to this size are held as offsets, larger ones as runs of neighbours.
pub(super) const SMALL: usize = 64;
/// Members of one orbit that are summed side by side where its size is not known to the compiler.
const LANES: usize = 4;
/// Energies are summed in the precision of the weights over this many orbits, then in double precision.
const BATCH: usize = 64;

/// Neighbouring weights of one orbit.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Run {
    start: u32,
    len: u32,
    negative: bool,
}

impl Run {
    fn range(&self) -> Range<usize> {
        self.start as usize..(self.start + self.len) as usize
    }
}

/// Orbits of one size.
#[derive(Debug, Clone)]
struct SmallOrbits {
    size: usize,
    /// Members of orbit after orbit.
    offsets: Vec<u32>,
    /// Signs relative to the first member; empty if all are plus.
    negative: Vec<bool>,
}

/// The orbits of a tile as lists of members.
#[derive(Debug, Clone, Default)]
pub(super) struct OrbitLists {
    /// Orbits of one weight: copied.
    fixed: Vec<Run>,
    /// Weights that project to zero.
    dead: Vec<Run>,
    small: Vec<SmallOrbits>,
    large: Vec<Vec<Run>>,
}

impl OrbitLists {
    /// The orbits of a tile; `place` says where a weight of it lies in the tensor.
    pub(super) fn new(orbits: &SignedOrbits, place: impl Fn(u32) -> u32) -> Self {
        let mut lists = Self::default();
        for (members, negative) in orbits.iter() {
            lists.add(members.iter().map(|&weight| place(weight)).zip(negative.iter().copied()).collect());
        }
        let dead = orbits.dead().iter().map(|&weight| place(weight));
        lists.dead = dead.map(|start| Run { start, len: 1, negative: false }).collect();
        for runs in [&mut lists.dead, &mut lists.fixed] {
            runs.sort_by_key(|run| run.start);
            *runs = merge(runs);
        }
        lists
    }

    fn add(&mut self, orbit: Vec<(u32, bool)>) {
        let run = |&(start, negative): &(u32, bool)| Run { start, len: 1, negative };
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
        let energy = |weights: &[T]| total(weights, |w| w.energy()).re;
        for run in self.fixed.iter().map(Run::range) {
            out[run.clone()].copy_from_slice(&weights[run.clone()]);
            energies.equivariant += energy(&weights[run]);
        }
        for run in self.dead.iter().map(Run::range) {
            out[run.clone()].fill(T::default());
            energies.perp += energy(&weights[run]);
        }
        for group in &self.small {
            energies = energies + group.average(weights, out);
        }
        for runs in &self.large {
            energies = energies + average_runs(runs, weights, out);
        }
        energies
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
        if self.negative.is_empty() {
            return self.average_by(weights, out, |_, value| value);
        }
        self.average_by(weights, out, |at, value| if self.negative[at] { -value } else { value })
    }

    /// `signed` gives a weight the sign that it has at that place of the list, or takes it away.
    #[inline(always)]
    fn average_by<T: Weight>(&self, weights: &[T], out: &mut [T], signed: impl Fn(usize, T) -> T) -> Energies {
        match self.size {
            2 => self.average_known::<T, 2>(weights, out, signed),
            3 => self.average_known::<T, 3>(weights, out, signed),
            4 => self.average_known::<T, 4>(weights, out, signed),
            5 => self.average_known::<T, 5>(weights, out, signed),
            6 => self.average_known::<T, 6>(weights, out, signed),
            7 => self.average_known::<T, 7>(weights, out, signed),
            8 => self.average_known::<T, 8>(weights, out, signed),
            _ => self.average_quads(weights, out, signed),
        }
    }

    /// Orbits of a size known to the compiler.
    #[inline(always)]
    fn average_known<T: Weight, const SIZE: usize>(
        &self,
        weights: &[T],
        out: &mut [T],
        signed: impl Fn(usize, T) -> T,
    ) -> Energies {
        let share = T::Real::from_f64(1.0 / SIZE as f64);
        // Slices of one length: an offset that was good for the load is good for the store, and is checked once.
        let out = &mut out[..weights.len()];
        let mut energies = Energies::default();
        for (batch, offsets) in self.offsets.chunks(SIZE * BATCH).enumerate() {
            // A lane per member, so that the sums need not wait for each other.
            let (mut equivariant, mut perp) = (T::Real::default(), [T::Real::default(); SIZE]);
            for (number, orbit) in offsets.as_chunks::<SIZE>().0.iter().enumerate() {
                let at = (batch * BATCH + number) * SIZE;
                let members: [T; SIZE] = std::array::from_fn(|k| signed(at + k, weights[orbit[k] as usize]));
                let mean = mean_of(members, share);
                equivariant += mean.energy();
                for k in 0..SIZE {
                    out[orbit[k] as usize] = signed(at + k, mean);
                    perp[k] += (members[k] - mean).energy();
                }
            }
            energies.equivariant += equivariant.to_f64() * SIZE as f64;
            energies.perp += perp.iter().map(|lane| lane.to_f64()).sum::<f64>();
        }
        energies
    }

    /// Larger orbits, four members at a time.
    #[inline(always)]
    fn average_quads<T: Weight>(&self, weights: &[T], out: &mut [T], signed: impl Fn(usize, T) -> T) -> Energies {
        let share = T::Real::from_f64(1.0 / self.size as f64);
        let out = &mut out[..weights.len()];
        let mut members = [[T::default(); LANES]; SMALL / LANES];
        let mut energies = Energies::default();
        for (batch, offsets) in self.offsets.chunks(self.size * BATCH).enumerate() {
            let (mut equivariant, mut perp) = (T::Real::default(), [T::Real::default(); LANES]);
            for (number, orbit) in offsets.chunks_exact(self.size).enumerate() {
                let start = (batch * BATCH + number) * self.size;
                let (quads, rest) = orbit.as_chunks::<LANES>();
                let behind = start + quads.len() * LANES;
                let first = signed(start, weights[orbit[0] as usize]);
                let mut sums = [T::default(); LANES];
                for (quad, (offsets, members)) in quads.iter().zip(&mut members).enumerate() {
                    let at = start + quad * LANES;
                    *members = std::array::from_fn(|k| signed(at + k, weights[offsets[k] as usize]));
                    (0..LANES).for_each(|k| sums[k] += members[k] - first);
                }
                for (k, &offset) in rest.iter().enumerate() {
                    sums[k] += signed(behind + k, weights[offset as usize]) - first;
                }
                let mean = first + ((sums[0] + sums[2]) + (sums[1] + sums[3])).scale(share);
                equivariant += mean.energy();
                for (quad, (offsets, members)) in quads.iter().zip(&members).enumerate() {
                    let at = start + quad * LANES;
                    (0..LANES).for_each(|k| perp[k] += (members[k] - mean).energy());
                    (0..LANES).for_each(|k| out[offsets[k] as usize] = signed(at + k, mean));
                }
                for (k, &offset) in rest.iter().enumerate() {
                    perp[k] += (signed(behind + k, weights[offset as usize]) - mean).energy();
                    out[offset as usize] = signed(behind + k, mean);
                }
            }
            energies.equivariant += equivariant.to_f64() * self.size as f64;
            energies.perp += perp.iter().map(|lane| lane.to_f64()).sum::<f64>();
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
        let first = if run.negative { -first } else { first };
        let part = total(&weights[run.range()], |w| w - first);
        sum = if run.negative { sum - part } else { sum + part };
        size += run.len as usize;
    }
    let mean = T::from_c64(first.to_c64() + sum / size as f64);
    let mut perp = 0.0;
    for run in runs {
        let range = run.range();
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::projection::energies_of;
    use crate::random::Random;

    /// More orbits than a batch, each with members from all over the tile.
    fn orbits(size: usize, signed: bool) -> SmallOrbits {
        let count = BATCH + 3;
        let offsets = (0..count * size).map(|at| (at % size * count + at / size) as u32).collect();
        let negative = (0..if signed { count * size } else { 0 }).map(|at| at % size > 0 && at % 3 == 0).collect();
        SmallOrbits { size, offsets, negative }
    }

    #[test]
    fn orbits_of_every_size_are_averaged_with_their_signs() {
        let mut random = Random::new(1);
        for (size, signed) in (2..=SMALL).flat_map(|size| [(size, false), (size, true)]) {
            let group = orbits(size, signed);
            let weights: Vec<f64> = group.offsets.iter().map(|_| random.normal()).collect();
            let mut expected = vec![0.0; weights.len()];
            for (number, orbit) in group.offsets.chunks(size).enumerate() {
                let sign = |k: usize| if signed && group.negative[number * size + k] { -1.0 } else { 1.0 };
                let sum: f64 = orbit.iter().enumerate().map(|(k, &at)| sign(k) * weights[at as usize]).sum();
                orbit.iter().enumerate().for_each(|(k, &at)| expected[at as usize] = sign(k) * sum / size as f64);
            }
            let lists = OrbitLists { small: vec![group], ..OrbitLists::default() };
            let mut out = vec![f64::NAN; weights.len()];
            let energies = lists.apply(&weights, &mut out);
            let apart = out.iter().zip(&expected).map(|(found, expected)| (found - expected).abs()).fold(0.0, f64::max);
            assert!(apart < 1e-14, "{size} {signed}: {apart:e}");
            let slow = energies_of(&weights, &expected);
            let close = |found: f64, slow: f64| (found - slow).abs() < 1e-12 * slow;
            assert!(
                close(energies.equivariant, slow.equivariant) && close(energies.perp, slow.perp),
                "{size} {signed}"
            );
            // Once more changes nothing, to the bit.
            let mut again = vec![f64::NAN; weights.len()];
            assert_eq!((lists.apply(&out, &mut again).perp, &again), (0.0, &out), "{size} {signed}");
        }
    }
}
