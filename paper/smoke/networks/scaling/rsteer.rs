//! RSteer: convolutions inside each scale (SESN) with relaxed weights.
//!
//! ```text
//! 2T channels ──κ₁──► 4 scales × h ──ReLU, κ₂──► … ──ReLU, κ_L──► 2 channels
//! ```
//!
//! Of four scales only the first is read, as in Equiv ([`super::equiv`]), so that only its kernels are assembled. At scale 1 the 49 functions
//! have rank 9 on the 3 × 3 points and rank 25 on the 5 × 5 of the last layer: shared weights already make every kernel. RSteer computes the
//! same functions as Equiv with more parameters, and the penalty, which can vanish without changing the function, says nothing of
//! equivariance. The architecture is Wang's. With 48 channels and five layers it has 9,760,994 parameters; Wang's 64 channels have 16,777,858
//! and are refused.

use super::scale_conv::{Mixing, POSITIONS, Read, ScaleConv, convolutions, count};
use super::*;
use crate::smoke::networks;

pub(crate) struct Rsteer {
    layers: Vec<ScaleConv>,
    regularised: Regularised,
    /// Kernels of P(w) and of w − P(w), of all layers but the last and of the last, `[points, (p, n)]`.
    components: [[Constant; 2]; 2],
}

impl Rsteer {
    /// Adds `layers.N.weight` and `layers.N.bias`.
    pub(crate) fn new(new: &mut Construction<'_>) -> Result<Self> {
        let pairs = new.pairs();
        new.config.at_most(count(&pairs, Mixing::Relaxed))?;
        let layers = convolutions(new, &pairs, Mixing::Relaxed)?;
        let components = |layer: &ScaleConv| -> Result<[Constant; 2]> {
            let entries = layer.samples(Read::First);
            let matrix = |component| linear_component(POSITIONS, &entries, |_, _| 1.0 / POSITIONS as f64, component);
            Ok([matrix(Component::Equivariant)?, matrix(Component::Perp)?])
        };
        let components = [components(&layers[0])?, components(&layers[layers.len() - 1])?];
        Ok(Self { layers, regularised: new.config.regularised, components })
    }
}

impl Network for Rsteer {
    fn assemble(&self, parameters: &Parameters, _: Pass) -> Result<Vec<Tensor>> {
        self.layers.iter().map(|layer| layer.kernel(parameters, Read::First)).collect()
    }

    fn forward(&self, parameters: &Parameters, assembled: &[Tensor], frames: &Tensor, _: Pass) -> Result<Tensor> {
        let biases = self.layers.iter().map(|layer| layer.bias(parameters)).collect::<Result<Vec<_>>>()?;
        networks::convolutions(frames, assembled.iter().zip(biases.iter().map(Some)))
    }

    /// Σ over layers of the mean of |w(p) − w(p + (1, 1))| over the kernel plane, around its edges.
    fn prior(&self, parameters: &Parameters) -> Result<Option<Tensor>> {
        let step = |layer: &ScaleConv| -> Result<Tensor> {
            let weight = layer.weight(parameters)?;
            Ok(weight.f_roll([1, 1], [0, 1])?.f_sub(&weight)?.f_abs()?.f_mean(weight.kind())?)
        };
        Ok(Some(total(self.layers.iter().map(step))?))
    }

    fn energy(&self, parameters: &Parameters, component: Component) -> Result<Option<Tensor>> {
        let energy = |(number, layer): (usize, &ScaleConv)| {
            let weight = layer.weight(parameters)?;
            match self.regularised {
                Regularised::Operator => {
                    let map = &self.components[usize::from(number + 1 == self.layers.len())][component as usize];
                    let map = map.like(&weight)?;
                    squares(&map.f_mm(&weight.f_view([map.size()[1], -1])?)?)
                }
                Regularised::Mixing => squares(&component_of(&weight, &[0, 1], component)?),
            }
        };
        Ok(Some(total(self.layers.iter().enumerate().map(energy))?))
    }

    fn project(&self, parameters: &mut Parameters) -> Result<()> {
        self.layers.iter().try_for_each(|layer| project(&layer.weight(parameters)?, &[0, 1]))
    }
}
