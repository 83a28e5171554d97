//! RGroup: relaxed group convolutions over C4, whose turned filters are mixed by weights that depend on the turn.
//!
//! ```text
//! K[o, n; i, m](x) = Σ_a w[n, a] ψ_a[o, i, (m − n) mod 4](R_n⁻¹ x)      R_n the turn by n · 90°
//! f(n) = u · e_n ──K₁──► ReLU ──K₂──► … ──K_L──► u = Σ_n f(n) e_n      e_n = (cos πn/2, sin πn/2)
//! ```
//!
//! K is equivariant if w does not depend on n; averaging w over n is the Reynolds projection of K. Equal layers are one tensor, mixed by one
//! product and turned by another, with permutation matrices.
//!
//! Wang's code has no activation between the layers of this model, and fails when it feeds a frame back. Here a ReLU follows every layer but
//! the last. Lifting and reading out are folded into the first and the last kernel; the kernels before that are regularised. With 130
//! fields, three banks and five layers it has 5,630,100 parameters.

use super::fields::{POSITIONS, turned_position};
use super::*;
use crate::smoke::networks;

/// The name of w, `[layers, 4, banks]`.
const MIXING: &str = "mixing";
/// |C4|.
const TURNS: usize = 4;
/// Channels times positions of the filter of a pair of fields.
const FILTER: usize = TURNS * POSITIONS;

pub(crate) struct Rgroup {
    stacks: Vec<Stack>,
    layers: usize,
    banks: i64,
    regularised: Regularised,
    /// Which entry of a filter comes where in the kernel of each turn, `[4, 36, 36]`.
    turns: Constant,
}

/// Layers from `inputs` to `outputs` regular fields.
struct Stack {
    /// The name of ψ, `[layers, out, banks, in, 4, 3, 3]`.
    filters: String,
    layers: i64,
    outputs: i64,
    inputs: i64,
}

impl Rgroup {
    /// Adds `mixing`, 1/(4 banks), and the filters, uniform in ±1/√(9 in) as in Wang's code. There is no bias.
    pub(crate) fn new(new: &mut Construction<'_>) -> Result<Self> {
        let SmokeNetConfig { hidden, layers, banks, regularised, .. } = *new.config;
        let count = layers * TURNS * banks;
        let pairs = hidden * (new.frames.count + hidden * (layers - 2) + 1);
        new.config.at_most(count + banks * pairs * FILTER)?;
        new.builder.real(MIXING, &[layers, TURNS, banks], &vec![1.0 / (TURNS * banks) as f64; count])?;
        let sizes = [new.frames.count, hidden, 1];
        let stacks = networks::stacks(layers, sizes).map(|(name, layers, [inputs, outputs])| {
            let filters = format!("{name}.filters");
            new.uniform(&filters, &[layers, outputs, banks, inputs, TURNS, 3, 3], POSITIONS * inputs)?;
            let [layers, inputs, outputs] = [layers, inputs, outputs].map(|count| count as i64);
            Ok(Stack { filters, layers, outputs, inputs })
        });
        let stacks = stacks.collect::<Result<_>>()?;
        let turns = Constant::new(&turns(), &[TURNS as i64, FILTER as i64, FILTER as i64])?;
        Ok(Self { stacks, layers, banks: banks as i64, regularised, turns })
    }

    /// Σ_a w[n, a] ψ_a of each stack, `[layers, out, 4, numbers of a bank]`, before they are turned.
    fn mixed(&self, parameters: &Parameters, mixing: &Tensor) -> Result<Vec<Tensor>> {
        let layers: Vec<i64> = self.stacks.iter().map(|stack| stack.layers).collect();
        let mixed = self.stacks.iter().zip(mixing.f_split_with_sizes(layers, 0)?).map(|(stack, mixing)| {
            let sides = [stack.layers, stack.outputs, self.banks, stack.inputs * FILTER as i64];
            Ok(mixing.f_unsqueeze(1)?.f_matmul(&parameters.get(&stack.filters)?.f_view(sides)?)?)
        });
        mixed.collect()
    }

    /// K of each stack, `[layers, out, 4, in, 4, 3, 3]`, before lifting and reading out are folded in.
    fn stacked(&self, parameters: &Parameters) -> Result<Vec<Tensor>> {
        let mixed = self.mixed(parameters, &parameters.get(MIXING)?)?;
        let turned = self.stacks.iter().zip(mixed).map(|(&Stack { layers, outputs, inputs, .. }, mixed)| {
            let mixed = mixed.f_view([layers, outputs, TURNS as i64, inputs, FILTER as i64])?;
            let turned = mixed.f_matmul(&self.turns.like(&mixed)?)?;
            Ok(turned.f_view([layers, outputs, 4, inputs, 4, 3, 3].as_slice())?)
        });
        turned.collect()
    }

    /// K of every layer between regular fields.
    #[cfg(test)]
    pub(crate) fn unfolded(&self, parameters: &Parameters) -> Result<Vec<Tensor>> {
        let stacked = self.stacked(parameters)?;
        Ok(stacked.iter().map(layers_of).collect::<Result<Vec<_>>>()?.into_iter().flatten().collect())
    }
}

/// `[n][(m − n) mod 4, R_n⁻¹x][m, x]` = 1, row-major.
fn turns() -> Vec<f64> {
    let mut matrices = vec![0.0; TURNS * FILTER * FILTER];
    for (n, m, x) in (0..TURNS).flat_map(|n| (0..TURNS).flat_map(move |m| (0..POSITIONS).map(move |x| (n, m, x)))) {
        // The position that the n-th turn takes to `to`.
        let to = (0..n).fold(x, |position, _| turned_position(position));
        let from = ((m + TURNS - n) % TURNS) * POSITIONS + x;
        matrices[(n * FILTER + from) * FILTER + m * POSITIONS + to] = 1.0;
    }
    matrices
}

/// Σ_n f(n) e_n along an axis of four: reads out along the output, lifts along the input.
fn by_directions(kernels: &Tensor, axis: i64) -> Result<Tensor> {
    Ok(kernels.f_narrow(axis, 0, 2)?.f_sub(&kernels.f_narrow(axis, 2, 2)?)?)
}

impl Network for Rgroup {
    fn assemble(&self, parameters: &Parameters, _: Pass) -> Result<Vec<Tensor>> {
        let mut stacked = self.stacked(parameters)?;
        let last = stacked.len() - 1;
        stacked[0] = by_directions(&stacked[0], 4)?;
        stacked[last] = by_directions(&stacked[last], 2)?;
        Ok(stacked.iter().map(layers_of).collect::<Result<Vec<_>>>()?.into_iter().flatten().collect())
    }

    fn forward(&self, _: &Parameters, assembled: &[Tensor], frames: &Tensor, _: Pass) -> Result<Tensor> {
        convolutions(frames, assembled.iter().map(|kernel| (kernel, None)))
    }

    /// Σ over layers of the mean of |w(n) − w(n + 1)| around the circle of turns. Wang's code has no constraint here; this one is inferred from
    /// that for translation.
    fn prior(&self, parameters: &Parameters) -> Result<Option<Tensor>> {
        let mixing = parameters.get(MIXING)?;
        let difference = mixing.f_sub(&mixing.f_roll([-1], [1])?)?.f_abs()?;
        Ok(Some(difference.f_mean(mixing.kind())?.f_mul_scalar(self.layers as f64)?))
    }

    /// Turns only move the entries of a mixed filter.
    fn energy(&self, parameters: &Parameters, component: Component) -> Result<Option<Tensor>> {
        let mixing = component_of(&parameters.get(MIXING)?, &[1], component)?;
        Ok(Some(match self.regularised {
            Regularised::Operator => total(self.mixed(parameters, &mixing)?.iter().map(squares))?,
            Regularised::Mixing => squares(&mixing)?,
        }))
    }

    fn project(&self, parameters: &mut Parameters) -> Result<()> {
        project(&parameters.get(MIXING)?, &[1])
    }
}
