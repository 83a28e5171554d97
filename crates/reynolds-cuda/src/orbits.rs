//! The launches of a gradient and of a step.

#![allow(unsafe_code, reason = "kernels take addresses")]

use std::sync::Arc;

use crate::Result;
use crate::layout::Layout;
use crate::program::{APART, Argument, Kernel, Number, Place, Program};

/// Addresses of what the kernels keep on the device, which the caller has allocated and filled.
#[derive(Debug, Clone, Copy)]
pub struct Memory {
    /// Indices of the members of all orbits (int32), orbits of one size together, the first member of each before the second of any; ~i for a
    /// negative sign. No index occurs twice. Of tiles, their table (int32) as kernel.cu has it.
    pub members: u64,
    /// The entries of the E of every kind of tile, of the number type; 0 without tiles.
    pub values: u64,
    /// [`Layout::shares`] (int32).
    pub shares: u64,
    /// [`Layout::slot_ends`] (int32).
    pub slot_ends: u64,
    /// Room for [`Layout::partial`] pairs of doubles.
    pub partial: u64,
    /// One int32, 0.
    pub done: u64,
    /// Room for a and b of each layer, `[2, layers]` doubles.
    pub factors: u64,
}

/// How a and b of each layer follow from ‖P(w)‖² and ‖w − P(w)‖², by addresses of doubles on the device.
#[derive(Debug, Clone, Copy)]
pub enum Rule {
    /// Each part · max(0, 1 − ηλ/‖part‖).
    Plain {
        /// ηλ_G, ηλ_⊥ and the number of this call, from 1.
        by: u64,
        /// Factors of ηλ_G and ηλ_⊥ of each layer, `[2, layers]`.
        scales: u64,
        /// Whether λ_G is on w, not on P(w).
        whole: bool,
        /// The call since which w − P(w) was made 0 each time, else −1: `[layers]` (int64).
        exact_since: u64,
    },
    /// (w − P(w)) · min(1, slope ‖P(w)‖/‖w − P(w)‖).
    Target {
        /// τ/√(1 − τ²).
        slope: f64,
        /// η.
        step: u64,
        /// Whether norms are those of all layers together.
        network: bool,
        /// The λ_⊥ that this amounts to, `[layers]`.
        strengths: u64,
    },
    /// λ_⊥ ← max(0, λ_⊥ + rate (‖w − P(w)‖/‖w‖ − τ)), then (w − P(w)) / (1 + 2ηλ_⊥).
    Dual {
        /// τ.
        tau: f64,
        /// Rate of the update.
        rate: f64,
        /// η.
        step: u64,
        /// Whether norms are those of all layers together.
        network: bool,
        /// λ_⊥, `[layers]`.
        strengths: u64,
    },
}

/// The orbits of all layers, and the kernels for each size of them; or their tiles.
#[derive(Debug)]
pub struct Orbits {
    layout: Layout,
    memory: Memory,
    programs: Vec<Arc<Program>>,
}

impl Orbits {
    /// On a device with this number; `None` without a GPU, its driver or a compiler for it.
    pub fn new(device: usize, number: Number, layout: Layout, memory: Memory) -> Option<Self> {
        let programs = layout.runs.iter().map(|run| Program::new(device, number, run.unit)).collect::<Option<_>>()?;
        Some(Self { layout, memory, programs })
    }

    #[cfg(feature = "emulation")]
    pub(crate) fn over(layout: Layout, memory: Memory, programs: Vec<Arc<Program>>) -> Self {
        Self { layout, memory, programs }
    }

    /// The sizes of launches.
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// sum ← sum + a P(w) + b (w − P(w)), with a and b at `slopes` (doubles).
    ///
    /// # Safety
    /// All addresses are of memory of this device with as many numbers as said here and at [`Memory`], and of the vectors `sum` and `w` as
    /// many as the largest member; members are those of [`Layout`]. `sum` and `w` do not overlap. Nobody but earlier and later work on the
    /// stream uses them.
    pub unsafe fn add_to(&self, place: Place, sum: u64, w: u64, slopes: u64) -> Result<()> {
        for nth in 0..self.programs.len() {
            let arguments = [&[at(w), at(sum)], &self.members(nth)[..], &[at(slopes)]].concat();
            // SAFETY: the caller's.
            unsafe { self.launch(nth, place, Kernel::Added, self.blocks(nth), &arguments)? };
        }
        Ok(())
    }

    /// [`Orbits::add_to`], unless `sum` is 0; and `value` ← (a ‖P(w)‖² + b ‖w − P(w)‖²) / 2, one number.
    ///
    /// # Safety
    /// As [`Orbits::add_to`].
    pub unsafe fn measured(&self, place: Place, sum: u64, w: u64, slopes: u64, value: u64) -> Result<()> {
        let of_launch = |run| self.layout.grid.measuring(run);
        let blocks: u32 = self.layout.runs.iter().map(of_launch).sum();
        let (whole, mut first) = (Argument::from(blocks), 0);
        for nth in 0..self.programs.len() {
            let total =
                [at(slopes), at(value), at(self.memory.partial), at(self.memory.done), Argument::from(first), whole];
            let arguments = [&[at(w), at(sum)], &self.members(nth)[..], &total].concat();
            let blocks = of_launch(&self.layout.runs[nth]);
            // SAFETY: the caller's; `partial` has room for the blocks of all launches, the last of which leaves `done` at 0.
            unsafe { self.launch(nth, place, Kernel::Measured, blocks, &arguments)? };
            first += blocks;
        }
        Ok(())
    }

    /// w ← a P(w) + b (w − P(w)), with a and b at `factors`, the same for all layers.
    ///
    /// # Safety
    /// As [`Orbits::add_to`].
    pub unsafe fn rescale(&self, place: Place, w: u64, factors: u64) -> Result<()> {
        for nth in 0..self.programs.len() {
            let arguments = [&[at(w)], &self.members(nth)[..], &[at(factors), Argument::Int(1), at(0)]].concat();
            // SAFETY: the caller's.
            unsafe { self.launch(nth, place, Kernel::Rescaled, self.blocks(nth), &arguments)? };
        }
        Ok(())
    }

    /// w ← a P(w) + b (w − P(w)), with a and b of each layer at `factors`, `[2, layers]` doubles.
    ///
    /// # Safety
    /// As [`Orbits::add_to`].
    pub unsafe fn rescale_layers(&self, place: Place, w: u64, factors: u64) -> Result<()> {
        for (nth, (shares, blocks)) in self.shares().enumerate() {
            let arguments = [&[at(w)], &self.members(nth)[..], &[at(factors), self.layers(), shares]].concat();
            // SAFETY: the caller's; shares are of orbits that there are, of layers that there are.
            unsafe { self.launch(nth, place, Kernel::Rescaled, blocks, &arguments)? };
        }
        Ok(())
    }

    /// a and b of each layer into [`Memory::factors`].
    ///
    /// # Safety
    /// As [`Orbits::add_to`].
    pub unsafe fn factors(&self, place: Place, w: u64, rule: &Rule) -> Result<()> {
        let partial = at(self.memory.partial);
        for (nth, (shares, blocks)) in self.shares().enumerate() {
            let arguments = [&[at(w)], &self.members(nth)[..], &[partial, shares]].concat();
            // SAFETY: the caller's.
            unsafe { self.launch(nth, place, Kernel::Summed, blocks, &arguments)? };
        }
        let (kernel, of_rule) = match *rule {
            Rule::Plain { by, scales, whole, exact_since } => {
                (Kernel::Plain, vec![at(by), at(scales), Argument::Int(whole.into()), at(exact_since)])
            }
            Rule::Target { slope, step, network, strengths } => {
                let step = at(step);
                (Kernel::Target, vec![Argument::Double(slope), step, Argument::Int(network.into()), at(strengths)])
            }
            Rule::Dual { tau, rate, step, network, strengths } => {
                let numbers = [Argument::Double(tau), Argument::Double(rate), at(step)];
                (Kernel::Dual, [&numbers[..], &[Argument::Int(network.into()), at(strengths)]].concat())
            }
        };
        let energies = [partial, at(self.memory.slot_ends), self.layers()];
        let arguments = [&energies[..], &of_rule, &[at(self.memory.factors)]].concat();
        // SAFETY: the caller's; a rule holds a number for each layer.
        unsafe { self.launch(0, place, kernel, 1, &arguments) }
    }

    /// sum ← sum + a P(w) + b (w − P(w)) of layers that lie apart, of a [`Layout::apart`]: the addresses of each w and of each sum, and a and b
    /// at `slopes`, `[2, layers]` doubles.
    ///
    /// # Safety
    /// As [`Orbits::add_to`], for each layer.
    ///
    /// # Panics
    /// Unless there are as many addresses as layers.
    pub unsafe fn add_to_apart(&self, place: Place, places: &[(u64, u64)], slopes: u64) -> Result<()> {
        // SAFETY: the caller's.
        unsafe { self.apart(place, Kernel::AddedApart, places, slopes) }
    }

    /// w ← a P(w) + b (w − P(w)) of layers that lie apart, with a and b at `factors`, `[2, layers]` doubles.
    ///
    /// # Safety
    /// As [`Orbits::add_to`], for each layer.
    ///
    /// # Panics
    /// Unless there are as many addresses as layers.
    pub unsafe fn rescale_apart(&self, place: Place, w: &[u64], factors: u64) -> Result<()> {
        let places: Vec<_> = w.iter().map(|&w| (w, 0)).collect();
        // SAFETY: the caller's.
        unsafe { self.apart(place, Kernel::RescaledApart, &places, factors) }
    }

    /// # Safety
    /// The caller's.
    unsafe fn apart(&self, place: Place, kernel: Kernel, places: &[(u64, u64)], numbers: u64) -> Result<()> {
        assert_eq!(places.len(), self.layout.layers(), "an address for each layer");
        let mut table = [[0; APART]; 2];
        for (nth, &(w, sum)) in places.iter().enumerate() {
            (table[0][nth], table[1][nth]) = (w, sum);
        }
        for (nth, (shares, blocks)) in self.shares().enumerate() {
            let rest = [at(numbers), self.layers(), shares];
            let arguments = [&[Argument::Places(&table)], &self.members(nth)[..], &rest].concat();
            // SAFETY: the caller's; shares are of orbits and layers that there are.
            unsafe { self.launch(nth, place, kernel, blocks, &arguments)? };
        }
        Ok(())
    }

    fn layers(&self) -> Argument<'static> {
        Argument::Int(self.layout.layers() as i32)
    }

    /// Where the members of a run begin, how many orbits or tiles it has, and the entries of the latter.
    fn members(&self, nth: usize) -> [Argument<'static>; 3] {
        let run = &self.layout.runs[nth];
        [at(self.memory.members + 4 * run.start as u64), Argument::Int(run.count), at(self.memory.values)]
    }

    /// Of a launch that takes each orbit or tile once.
    fn blocks(&self, nth: usize) -> u32 {
        self.layout.grid.blocks(&self.layout.runs[nth])
    }

    /// Where the shares of each run begin, and how many it has.
    fn shares(&self) -> impl Iterator<Item = (Argument<'static>, u32)> + '_ {
        self.layout.counts.iter().scan(0, |start, &count| {
            let first = self.memory.shares + 4 * (Layout::RECORD * *start) as u64;
            *start += count as usize;
            Some((at(first), count))
        })
    }

    /// # Safety
    /// The arguments are those of the kernel, in the order of kernel.cu.
    unsafe fn launch(
        &self,
        nth: usize,
        place: Place,
        kernel: Kernel,
        blocks: u32,
        arguments: &[Argument<'_>],
    ) -> Result<()> {
        // SAFETY: the caller's.
        unsafe { self.programs[nth].launch(place, kernel, blocks, arguments) }
    }
}

fn at(address: u64) -> Argument<'static> {
    Argument::Address(address)
}

#[cfg(all(test, feature = "emulation"))]
mod tests {
    use super::*;
    use crate::{Run, Unit};

    #[test]
    fn layers_apart_share_their_orbits_and_have_factors_of_their_own() {
        // Two layers of the orbits (0, ¬2), (1, 3) and (4, 5), whose last is dropped in none; the third has but numbers that P sets to 0.
        let members = [0, 1, 4, !2, 3, 5, 0, 1];
        let runs = [(2, 3, 0), (0, 2, 6)].map(|(size, count, start)| Run { unit: Unit::Orbit(size), count, start });
        let (pairs, dead) = (vec![(0, 0..3), (1, 0..3)], vec![(2, 0..2)]);
        let layout = Layout::small_apart(runs.to_vec(), &[pairs, dead], 3);
        let (shares, mut partial, mut done) = (layout.shares().to_vec(), vec![0.0; 2 * layout.partial()], 0_i32);
        let memory = Memory {
            members: members.as_ptr() as u64,
            values: 0,
            shares: shares.as_ptr() as u64,
            slot_ends: layout.slot_ends().as_ptr() as u64,
            partial: partial.as_mut_ptr() as u64,
            done: (&raw mut done) as u64,
            factors: 0,
        };
        let orbits = Orbits::emulated(Number::F64, layout.clone(), memory);
        let place = Place { device: 0, stream: 0 };
        let mut weights = [vec![1.0, 2.0, 3.0, 4.0, 7.0, 7.0], vec![5.0, 1.0, 1.0, 1.0, 2.0, 4.0], vec![3.0, -1.0]];
        let mut sums = weights.clone().map(|weights| vec![10.0; weights.len()]);
        let [w, sum] = [&mut weights, &mut sums].map(|all| all.each_mut().map(|one| one.as_mut_ptr() as u64));
        let (slopes, factors) = ([0.5, 0.0, 1.0, 0.0, 2.0, 4.0], [1.0, 1.0, 1.0, 0.0, 1.0, 0.5]);
        let places: Vec<_> = w.into_iter().zip(sum).collect();
        // SAFETY: the vectors are there and hold the members.
        unsafe {
            orbits.add_to_apart(place, &places, slopes.as_ptr() as u64).unwrap();
            orbits.rescale_apart(place, &w, factors.as_ptr() as u64).unwrap();
        }
        // Means −1, 3 and 7; 2, 1 and 3.
        assert_eq!(sums[0], [9.5, 11.5, 10.5, 11.5, 13.5, 13.5]);
        assert_eq!(sums[1], [16.0, 10.0, 16.0, 10.0, 8.0, 12.0]);
        assert_eq!(sums[2], [22.0, 6.0]);
        assert_eq!(weights, [vec![-1.0, 3.0, 1.0, 3.0, 7.0, 7.0], vec![5.0, 1.0, 1.0, 1.0, 2.0, 4.0], vec![1.5, -0.5]]);
    }
}
