//! The squared penalty, its gradient and the decoupled step on a GPU by kernels of our own: a thread an orbit, nothing kept in between.
//!
//! ```text
//! gradient         sum ← sum + a P(w) + b (w − P(w))             w, an index, sum twice:     16 bytes a weight in single precision
//! squared step     w ← a P(w) + b (w − P(w))                     w twice, an index:          12
//! plain, target    energies of each layer, a and b, the step     one more pass before it:    20
//! ```
//!
//! On an H200 the gradient by 10⁷ weights takes 51 µs, where operations of libtorch, which move 50 bytes a weight, take 178 and what
//! torch.compile makes of them 97. Parameters that are not bound may lie in between. There is no kernel where P does more than average short
//! orbits, or where there is no compiler. A pass is a launch for each size of orbits, of which regular fields have one, and the factors are
//! one more, however many layers there are.

#![allow(unsafe_code, reason = "tch gives the address of a tensor's numbers on a device, and a kernel takes it")]

mod program;
mod shares;
mod table;

use std::sync::Arc;

pub(crate) use program::launches;
use program::{Argument, BLOCK, Kernel, Program};
use shares::Shares;
use table::Table;
use tch::{Device, Kind, Tensor};

use super::slices::plain;
use super::{FlatProjector, OnePass};
use crate::error::Result;
use crate::proximal::{Rescaling, Rule};

/// The orbits of all layers, and the kernels for each size of them.
#[derive(Debug)]
pub(crate) struct Fused {
    kind: Kind,
    device: Device,
    table: Table,
    grid: Grid,
    programs: Vec<Arc<Program>>,
    shares: Shares,
    /// Energies of each block of a pass, `[blocks, 2]` in double precision; how many blocks are done; the factors of each layer, `[2, layers]`.
    partial: Tensor,
    done: Tensor,
    factors: Tensor,
}

/// The sizes of launches.
#[derive(Debug, Clone, Copy)]
struct Grid {
    /// Threads of a block.
    threads: u32,
    /// Blocks of a launch that measures the penalty, at most: enough for any GPU, few to add up.
    measuring: u32,
    /// About how many shares there are of all layers together.
    shares: u32,
}

const GPU: Grid = Grid { threads: BLOCK, measuring: 1024, shares: 4096 };

impl OnePass for Fused {
    fn add_to(&self, sum: &Tensor, weights: &Tensor, [a, b]: [f64; 2]) -> Result<bool> {
        if !self.takes(weights, Some(sum)) {
            return Ok(false);
        }
        for nth in 0..self.programs.len() {
            let (members, count) = self.members(nth);
            let arguments = [weights.into(), sum.into(), members, count.into(), a.into(), b.into()];
            self.launch(nth, Kernel::Added, self.grid.blocks(count), &arguments)?;
        }
        Ok(true)
    }

    fn measured(&self, sum: Option<&Tensor>, weights: &Tensor, [a, b]: [f64; 2]) -> Result<Option<Tensor>> {
        if !self.takes(weights, sum) {
            return Ok(None);
        }
        let value = Tensor::f_empty([0_i64; 0], (self.kind, self.device))?;
        let blocks: u32 = self.table.runs.iter().map(|run| self.grid.measuring(run.count)).sum();
        let mut first = 0;
        for nth in 0..self.programs.len() {
            let (members, count) = self.members(nth);
            let sum = sum.map_or(Argument::Address(0), Argument::from);
            let [partial, done] = [&self.partial, &self.done].map(Argument::from);
            let numbers = [weights.into(), sum, members, count.into(), a.into(), b.into()];
            let total = [(&value).into(), partial, done, first.into(), blocks.into()];
            let of_launch = self.grid.measuring(count);
            self.launch(nth, Kernel::Measured, of_launch, &[&numbers[..], &total].concat())?;
            first += of_launch;
        }
        Ok(Some(value))
    }

    fn rescale(&self, weights: &Tensor, rescaling: &Rescaling<'_>) -> Result<bool> {
        if !self.takes(weights, None) || weights.requires_grad() {
            return Ok(false);
        }
        let each = match rescaling {
            Rescaling::Even([a, b]) => {
                for nth in 0..self.programs.len() {
                    let (members, count) = self.members(nth);
                    let even = [weights.into(), members, count.into(), (*a).into(), (*b).into()];
                    let none = [Argument::Address(0), 0.into(), Argument::Address(0)];
                    self.launch(nth, Kernel::Rescaled, self.grid.blocks(count), &[&even[..], &none].concat())?;
                }
                return Ok(true);
            }
            Rescaling::Each { factors, .. } => factors.f_contiguous()?.f_view(self.factors.size().as_slice())?,
            Rescaling::ByRule(rule) => {
                self.factors(weights, rule)?;
                self.factors.shallow_clone()
            }
        };
        let layers = each.size()[1] as i32;
        for (nth, (shares, blocks)) in self.shares().enumerate() {
            let (members, count) = self.members(nth);
            let numbers = [weights.into(), members, count.into(), 1.0.into(), 1.0.into()];
            let by_layer = [(&each).into(), layers.into(), shares];
            self.launch(nth, Kernel::Rescaled, blocks, &[&numbers[..], &by_layer].concat())?;
        }
        Ok(true)
    }
}

impl Fused {
    /// For P on numbers of `kind` on `device` that lie in flat tensors `[len]` where `in_flat` says, those of each layer before one of
    /// `layer_ends`; `None` where there are no kernels for it.
    pub(crate) fn new(
        projector: &FlatProjector,
        (kind, device): (Kind, Device),
        (len, layer_ends): (usize, &[usize]),
        in_flat: impl Fn(&Tensor) -> Result<Tensor>,
    ) -> Result<Option<Self>> {
        if !device.is_cuda() {
            return Ok(None);
        }
        let Some(table) = Table::new(projector, len, in_flat)? else { return Ok(None) };
        let programs = table.runs.iter().map(|run| Program::new(device, kind, run.size)).collect::<Option<Vec<_>>>();
        programs.map(|programs| Self::over(table, programs, kind, layer_ends, GPU)).transpose()
    }

    fn over(table: Table, programs: Vec<Arc<Program>>, kind: Kind, layer_ends: &[usize], grid: Grid) -> Result<Self> {
        let device = table.members.device();
        let shares = Shares::new(&table, layer_ends, grid.threads, grid.shares)?;
        let blocks = table.runs.iter().map(|run| grid.measuring(run.count)).sum::<u32>().max(shares.len());
        let zeros = |size: &[i64], kind: Kind| Tensor::f_zeros(size, (kind, device));
        let (partial, done) = (zeros(&[2 * i64::from(blocks)], Kind::Double)?, zeros(&[1], Kind::Int)?);
        let factors = zeros(&[2, layer_ends.len() as i64], Kind::Double)?;
        Ok(Self { kind, device, table, grid, programs, shares, partial, done, factors })
    }

    /// The factors of each layer by a rule from its energies.
    fn factors(&self, weights: &Tensor, rule: &Rule<'_>) -> Result<()> {
        let partial = Argument::from(&self.partial);
        for (nth, (shares, blocks)) in self.shares().enumerate() {
            let (members, count) = self.members(nth);
            let arguments = [weights.into(), members, count.into(), partial, shares];
            self.launch(nth, Kernel::Summed, blocks, &arguments)?;
        }
        let layers = self.factors.size()[1] as i32;
        let (kernel, of_rule) = match *rule {
            Rule::Plain { by: [on_g, on_perp], scales, whole, exact_since, call } => (
                Kernel::Plain,
                vec![
                    on_g.into(),
                    on_perp.into(),
                    scales.into(),
                    whole.into(),
                    exact_since.into(),
                    Argument::Long(call),
                ],
            ),
            Rule::Target { slope, step, network, strengths } => {
                (Kernel::Target, vec![slope.into(), step.into(), network.into(), strengths.into()])
            }
            Rule::Dual { tau, rate, step, network, strengths } => {
                (Kernel::Dual, vec![tau.into(), rate.into(), step.into(), network.into(), strengths.into()])
            }
        };
        let energies = [partial, (&self.shares.ends).into(), layers.into()];
        self.launch(0, kernel, 1, &[&energies[..], &of_rule, &[(&self.factors).into()]].concat())
    }

    /// Whether the weights and what is added to are vectors that the kernels take and that share no byte.
    fn takes(&self, weights: &Tensor, sum: Option<&Tensor>) -> bool {
        let vector = |tensor: &Tensor| plain(tensor, self.kind, self.device) == Some(self.table.len);
        let bytes = self.table.len * self.kind.elt_size_in_bytes();
        let apart = |sum: &Tensor| (weights.data_ptr() as usize).abs_diff(sum.data_ptr() as usize) >= bytes;
        vector(weights) && sum.is_none_or(|sum| vector(sum) && !sum.requires_grad() && apart(sum))
    }

    /// Where the members of a run begin, and how many orbits it has.
    fn members(&self, nth: usize) -> (Argument, i32) {
        let run = &self.table.runs[nth];
        (Argument::Address(self.table.members.data_ptr() as u64 + 4 * run.start as u64), run.count)
    }

    /// Where the shares of each run begin, and how many it has.
    fn shares(&self) -> impl Iterator<Item = (Argument, u32)> + '_ {
        let first = self.shares.records.data_ptr() as u64;
        self.shares.counts.iter().scan(0, move |start, &count| {
            let at = first + 4 * (Shares::RECORD * *start) as u64;
            *start += count as usize;
            Some((Argument::Address(at), count))
        })
    }

    fn launch(&self, nth: usize, kernel: Kernel, blocks: u32, arguments: &[Argument]) -> Result<()> {
        // SAFETY: the arguments are those of kernel.cu, in the order of `Kernel`. The table has checked its members: they are as many as the
        // runs say, none twice, and below the length that the vectors have been seen to have, which are of the kind and on the device that the
        // program was made for, and do not overlap. `partial` has room for the blocks of all launches of a pass, the last of which leaves `done`
        // at 0; shares are of orbits that there are, of layers that `factors` has room for. A rule holds a number for each layer, as the binding
        // that this was made for has it. Memory that is freed while a kernel runs is given only to operations that come later on the same stream.
        // Other threads with clones of these tensors are under the condition of `sum.add_(&weights)`: see `slices`.
        unsafe { self.programs[nth].launch(kernel, blocks, arguments) }
    }
}

impl Grid {
    fn blocks(self, count: i32) -> u32 {
        count.unsigned_abs().div_ceil(self.threads)
    }

    fn measuring(self, count: i32) -> u32 {
        self.blocks(count).min(self.measuring)
    }
}

#[cfg(test)]
mod tests;
