//! RSteer: relaxed steerable convolutions, whose coefficients depend on the position in the kernel.
//!
//! ```text
//! K[o, i](k) = Σ_b w[o, i, k, b] K_b(k)      k = 1…9, K_b a basis of the band-limited C4-steerable kernels
//! T vectors ──K₁──► h regular fields ──ReLU, K₂──► … ──ReLU, K_L──► 1 vector      a bias a channel
//! ```
//!
//! K is equivariant if w is constant on the orbits of positions (centre, edges, corners); averaging w over them is the Reynolds projection of
//! K. Equal layers are one tensor, mixed by one batched product. There is no normalisation; Wang's code does not use its own. With 92 fields
//! and five layers it has 5,595,442 parameters. Biases are outside the penalty, but averaged by projection, so that the network commutes.

use super::basis::steerable_basis;
use super::fields::{Field, Fields, POSITIONS, turned_position};
use super::*;
use crate::smoke::networks;

pub(crate) struct Rsteer {
    stacks: Vec<Stack>,
}

/// Layers from fields of one kind to fields of another.
struct Stack {
    name: String,
    layers: usize,
    domain: Fields,
    codomain: Fields,
    /// K_b by position, `[9, b, codomain · domain]`.
    by_position: Constant,
    /// P(w) and w − P(w), or their kernels, `[numbers, 9 b]`.
    components: [Constant; 2],
}

impl Rsteer {
    /// Adds weights, uniform in ±1/√(9 in), then biases, zero and one a channel, as in Wang's code (one a regular field would commute).
    pub(crate) fn new(new: &mut Construction<'_>) -> Result<Self> {
        let SmokeNetConfig { hidden, layers, .. } = *new.config;
        let pairs = new.frames.count + 2 * hidden * (layers - 2) + 1;
        new.config.at_most(hidden * (12 * POSITIONS * pairs + 4 * (layers - 1)) + 2)?;
        let fields = [(new.frames.count, Field::Vector), (hidden, Field::Regular), (1, Field::Vector)];
        let stacks = networks::stacks(layers, fields).map(|(name, layers, pair)| Stack::new(new, name, layers, pair));
        let stacks = stacks.collect::<Result<Vec<_>>>()?;
        for Stack { name, layers, codomain, .. } in &stacks {
            let channels = codomain.0 * codomain.1.dim();
            new.builder.real(&format!("{name}.bias"), &[*layers, channels], &vec![0.0; layers * channels])?;
        }
        Ok(Self { stacks })
    }
}

impl Stack {
    fn new(new: &mut Construction<'_>, name: &str, layers: usize, [domain, codomain]: [Fields; 2]) -> Result<Self> {
        let elements = steerable_basis(domain.1, codomain.1)?;
        let (pairs, count) = (domain.1.dim() * codomain.1.dim(), elements.len());
        let at = |k: usize| {
            elements.iter().flat_map(move |element| (0..pairs).map(move |pair| element[pair * POSITIONS + k]))
        };
        let by_position: Vec<f64> = (0..POSITIONS).flat_map(at).collect();
        let by_position = Constant::new(&by_position, &[POSITIONS as i64, count as i64, pairs as i64])?;
        let entries: Vec<(usize, Vec<f64>)> = match new.config.regularised {
            Regularised::Operator => (0..elements[0].len())
                .map(|entry| (entry % POSITIONS, elements.iter().map(|element| element[entry]).collect()))
                .collect(),
            Regularised::Mixing => (0..POSITIONS * count)
                .map(|number| (number / count, (0..count).map(|b| f64::from(u8::from(b == number % count))).collect()))
                .collect(),
        };
        let matrix = |component| linear_component(POSITIONS, &entries, orbit_mean, component);
        let components = [matrix(Component::Equivariant)?, matrix(Component::Perp)?];
        let shape = [layers, codomain.0, domain.0, POSITIONS, count];
        new.uniform(&format!("{name}.weight"), &shape, POSITIONS * domain.0)?;
        Ok(Self { name: name.into(), layers, domain, codomain, by_position, components })
    }

    /// w, `[layers, out, in, 9, b]`.
    fn weight(&self, parameters: &Parameters) -> Result<Tensor> {
        parameters.get(&format!("{}.weight", self.name))
    }

    /// `[layers, channels]`.
    fn bias(&self, parameters: &Parameters) -> Result<Tensor> {
        parameters.get(&format!("{}.bias", self.name))
    }

    fn kernels(&self, parameters: &Parameters) -> Result<Vec<Tensor>> {
        let (weight, (layers, (inputs, domain), (outputs, codomain))) =
            (self.weight(parameters)?, (self.layers, self.domain, self.codomain));
        let elements = self.by_position.like(&weight)?;
        let by_position = weight.f_view([-1, POSITIONS as i64, elements.size()[1]])?.f_transpose(0, 1)?;
        let shape = [3, 3, layers, outputs, inputs, codomain.dim(), domain.dim()].map(|side| side as i64);
        let mixed = by_position.f_bmm(&elements)?.f_view(shape.as_slice())?;
        layers_of(&mixed.f_permute([2, 3, 5, 4, 6, 0, 1])?)
    }

    fn project(&self, parameters: &mut Parameters) -> Result<()> {
        let mut weight = self.weight(parameters)?.f_detach()?;
        let mean: Vec<f64> = (0..POSITIONS * POSITIONS).map(|at| orbit_mean(at / POSITIONS, at % POSITIONS)).collect();
        let mean = Constant::new(&mean, &[POSITIONS as i64, POSITIONS as i64])?.like(&weight)?;
        weight.f_copy_(&mean.f_matmul(&weight)?)?;
        let bias = self.bias(parameters)?.f_detach()?;
        let mut fields = bias.f_view([-1, self.codomain.1.dim() as i64])?;
        match self.codomain.1 {
            // No vector but zero is fixed by the turns.
            Field::Vector => drop(fields.f_zero_()?),
            Field::Regular => fields.f_copy_(&fields.f_mean_dim(1, true, fields.kind())?)?,
        }
        Ok(())
    }
}

/// An entry of the mean over the orbits of positions under quarter turns.
fn orbit_mean(position: usize, other: usize) -> f64 {
    let turns = std::iter::successors(Some(position), |&position| Some(turned_position(position)));
    turns.take(4).filter(|&turned| turned == other).count() as f64 / 4.0
}

impl Network for Rsteer {
    /// Kernel and bias of each layer.
    fn assemble(&self, parameters: &Parameters, _: Pass) -> Result<Vec<Tensor>> {
        let mut assembled = Vec::new();
        for stack in &self.stacks {
            let pairs = stack.kernels(parameters)?.into_iter().zip(stack.bias(parameters)?.f_unbind(0)?);
            assembled.extend(pairs.flat_map(|(kernel, bias)| [kernel, bias]));
        }
        Ok(assembled)
    }

    fn forward(&self, _: &Parameters, assembled: &[Tensor], frames: &Tensor, _: Pass) -> Result<Tensor> {
        convolutions(frames, assembled.chunks(2).map(|layer| (&layer[0], Some(&layer[1]))))
    }

    /// Σ over layers of the mean of |w(k) − w(k + 1)| over neighbouring positions in row-major order.
    fn prior(&self, parameters: &Parameters) -> Result<Option<Tensor>> {
        let roughness = |stack: &Stack| -> Result<Tensor> {
            let (weight, steps) = (stack.weight(parameters)?, POSITIONS as i64 - 1);
            let difference = weight.f_narrow(3, 1, steps)?.f_sub(&weight.f_narrow(3, 0, steps)?)?;
            Ok(difference.f_abs()?.f_mean(weight.kind())?.f_mul_scalar(stack.layers as f64)?)
        };
        Ok(Some(total(self.stacks.iter().map(roughness))?))
    }

    fn energy(&self, parameters: &Parameters, component: Component) -> Result<Option<Tensor>> {
        let energy = |stack: &Stack| {
            let weight = stack.weight(parameters)?;
            let map = stack.components[component as usize].like(&weight)?;
            squares(&weight.f_view([-1, map.size()[1]])?.f_mm(&map.f_transpose(0, 1)?)?)
        };
        Ok(Some(total(self.stacks.iter().map(energy))?))
    }

    fn project(&self, parameters: &mut Parameters) -> Result<()> {
        let _guard = tch::no_grad_guard();
        self.stacks.iter().try_for_each(|stack| stack.project(parameters))
    }
}
