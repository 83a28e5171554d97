//! Relaxed group convolutions over C4: filters that are turned, and mixed by weights that depend on the turn.
//!
//! ```text
//! K[o, n; i, m](x) = Σ_a w[n, a] ψ_a[o, i, (m − n) mod 4](R_n⁻¹ x)      R_n the turn by n · 90°
//! ```
//!
//! K is equivariant if w does not depend on n, and averaging w over n is the Reynolds projection of K. Equal layers are held in one
//! tensor: all of them are mixed by one product and turned by another, with permutation matrices.

use reynolds::random::Random;
use tch::Tensor;

use super::fields::{POSITIONS, turned_position};
use reynolds_torch::error::Result;
use reynolds_torch::layers::{Constant, uniform};
use reynolds_torch::parameters::{Builder, Parameters};

/// |C4|.
pub(super) const TURNS: usize = 4;
/// Channels times positions of the filter of a pair of fields.
pub(super) const FILTER: usize = TURNS * POSITIONS;

/// A number of layers that all map `inputs` regular fields to `outputs`.
#[derive(Debug)]
pub(super) struct RelaxedGroup {
    name: String,
    pub(super) layers: usize,
    pub(super) outputs: usize,
    pub(super) banks: usize,
    pub(super) inputs: usize,
    /// Which entry of a filter comes where in the kernel of each turn, `[4, 36, 36]`.
    turns: Constant,
}

impl RelaxedGroup {
    /// Adds `name.filters`, ψ, `[layers, out, banks, in, 4, 3, 3]`, uniform in ±1/√(9 in) as in Wang's code. There is no bias.
    pub(super) fn new(
        builder: &mut Builder,
        name: &str,
        layers: usize,
        [inputs, outputs]: [usize; 2],
        banks: usize,
        random: &mut Random,
    ) -> Result<Self> {
        let shape = [layers, outputs, banks, inputs, TURNS, 3, 3];
        let bound = 1.0 / ((POSITIONS * inputs) as f64).sqrt();
        builder.real(&format!("{name}.filters"), &shape, &uniform(shape.iter().product(), bound, random))?;
        let side = FILTER as i64;
        let turns = Constant::new(&turns(), &[TURNS as i64, side, side])?;
        Ok(Self { name: name.into(), layers, outputs, banks, inputs, turns })
    }

    /// The name of ψ.
    pub(super) fn filters_name(&self) -> String {
        format!("{}.filters", self.name)
    }

    /// The sides of ψ as the products see it: layers, outputs, banks, and the numbers of a bank.
    pub(super) fn sides(&self) -> [i64; 4] {
        [self.layers, self.outputs, self.banks, self.inputs * FILTER].map(|side| side as i64)
    }

    /// K of all layers, `[layers, out, 4, in, 4, 3, 3]`, from their mixing weights `[layers, 4, banks]`.
    pub(super) fn stacked(&self, parameters: &Parameters, mixing: &Tensor) -> Result<Tensor> {
        let filters = parameters.get(&self.filters_name())?.f_view(self.sides())?;
        let mixed = mixing.f_unsqueeze(1)?.f_matmul(&filters)?;
        let (layers, outputs, inputs) = (self.layers as i64, self.outputs as i64, self.inputs as i64);
        let mixed = mixed.f_view([layers, outputs, TURNS as i64, inputs, FILTER as i64])?;
        let turned = mixed.f_matmul(&self.turns.like(&filters)?)?;
        Ok(turned.f_view([layers, outputs, 4, inputs, 4, 3, 3].as_slice())?)
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
