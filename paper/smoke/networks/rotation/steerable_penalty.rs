//! The projection penalty of relaxed steerable convolutions, in the coefficients.
//!
//! ```text
//! K = A w for each pair of fields       ‖P(K)‖² = ‖D w‖², D = PA      ‖K − P(K)‖² = ‖D w‖², D = A − PA      ∇_w λ‖D w‖² = 2λ DᵀD w
//! ```
//!
//! A is the same for all pairs of fields and all layers, so a term costs two products with a fixed matrix (144 × 216 between regular
//! fields) for each kind of layer: three kinds, however many layers. One product with DᵀD would give the gradient, but its product with w,
//! the value, cancels where the rest is small. On the mixing weights themselves A is 1 and P averages over the orbits of positions. Biases are outside the penalty; projecting averages them too, else the network would not commute.

use faer::Mat;
use reynolds::projection::{Projector, derive};
use tch::{Kind, Tensor};

use super::fields::{Field, POSITIONS, kernel_space, turned_position};
use super::relaxed_steerable::RelaxedSteerable;
use crate::smoke::networks::product::{or_zero, plus, product};
use crate::smoke::networks::{Held, NetworkPenalty};
use reynolds_torch::error::{Error, Result};
use reynolds_torch::layers::Constant;
use reynolds_torch::parameters::Parameters;

/// The penalty of stacks of layers whose weights follow each other in the flat storage.
#[derive(Debug)]
pub(super) struct SteerablePenalty {
    parts: Vec<Part>,
}

/// What one stack contributes.
#[derive(Debug)]
struct Part {
    start: i64,
    len: i64,
    /// 9 b.
    columns: i64,
    /// (PA)ᵀ and (A − PA)ᵀ, `[9 b, entries of K]`.
    factors: [Constant; 2],
    /// The orbit mean of the positions, `[9, 9]`.
    mean: Constant,
    bias: String,
    field: Field,
}

impl SteerablePenalty {
    /// The penalty of these stacks.
    ///
    /// # Errors
    /// If a projector cannot be derived; [`Error::Parameter`] if the parameters are not those of the network.
    pub(super) fn new(stacks: &[&RelaxedSteerable], parameters: &Parameters, held: Held) -> Result<Self> {
        let parts = stacks.iter().map(|stack| Part::new(stack, parameters, held));
        Ok(Self { parts: parts.collect::<Result<_>>()? })
    }
}

impl Part {
    fn new(stack: &RelaxedSteerable, parameters: &Parameters, held: Held) -> Result<Self> {
        let name = stack.weight_name();
        let entry = parameters.entries().iter().find(|entry| entry.name == name);
        let entry = entry.ok_or_else(|| Error::parameter(&name, "one of the network", "none"))?;
        let count = stack.elements().len();
        let columns = (POSITIONS * count) as i64;
        let factors = match held {
            Held::Operator => operator_factors(stack)?,
            Held::Mixing => mixing_factors(count),
        };
        let [equivariant, perp] = factors;
        Ok(Self {
            start: entry.start as i64,
            len: entry.len() as i64,
            columns,
            factors: [constant(&equivariant.transpose().to_owned())?, constant(&perp.transpose().to_owned())?],
            mean: constant(&orbit_mean())?,
            bias: stack.bias_name(),
            field: stack.codomain.1,
        })
    }

    /// The part's piece of a flat tensor, `[pairs of fields, 9 b]`.
    fn rows(&self, flat: &Tensor) -> Result<Tensor> {
        Ok(flat.f_narrow(0, self.start, self.len)?.f_view([-1, self.columns])?)
    }

    /// Adds 2λ DᵀD w to a flat gradient; 2λ D w, `[numbers]`.
    fn add_term(&self, flat: &Tensor, lambda: f64, factor: &Constant, gradient: &Tensor) -> Result<Tensor> {
        let factor = factor.like(flat)?.f_unsqueeze(0)?;
        let image = product(None, 2.0 * lambda, &self.rows(flat)?.f_unsqueeze(0)?, &factor)?;
        let _ = self.rows(gradient)?.f_unsqueeze(0)?.f_baddbmm_(&image, &factor.f_transpose(1, 2)?)?;
        Ok(image.f_view([-1])?)
    }
}

impl NetworkPenalty for SteerablePenalty {
    fn add_gradient(
        &self,
        parameters: &Parameters,
        lambda_g: f64,
        lambda_perp: f64,
        gradient: &Tensor,
    ) -> Result<Tensor> {
        let _guard = tch::no_grad_guard();
        let flat = parameters.flat();
        let mut value: Option<Tensor> = None;
        for (number, lambda) in [lambda_g, lambda_perp].into_iter().enumerate().filter(|(_, lambda)| *lambda != 0.0) {
            let images = self.parts.iter().map(|part| part.add_term(flat, lambda, &part.factors[number], gradient));
            let image = Tensor::f_cat(&images.collect::<Result<Vec<_>>>()?, 0)?;
            value = Some(plus(value, image.f_dot(&image)?.f_mul_scalar_(0.25 / lambda)?)?);
        }
        or_zero(value, flat)
    }

    fn energies(&self, parameters: &Parameters) -> Result<(f64, f64)> {
        let _guard = tch::no_grad_guard();
        let mut energies = (0.0, 0.0);
        for part in &self.parts {
            let rows = part.rows(parameters.flat())?.f_to_kind(Kind::Double)?;
            let energy = |factor: &Constant| -> Result<f64> {
                Ok(f64::try_from(rows.f_mm(&factor.like(&rows)?)?.f_square_()?.f_sum(Kind::Double)?)?)
            };
            energies.0 += energy(&part.factors[0])?;
            energies.1 += energy(&part.factors[1])?;
        }
        Ok(energies)
    }

    fn project(&self, parameters: &Parameters) -> Result<()> {
        let _guard = tch::no_grad_guard();
        let flat = parameters.flat();
        for part in &self.parts {
            let weights = part.rows(flat)?;
            let by_position = weights.f_view([-1, POSITIONS as i64, part.columns / POSITIONS as i64])?;
            weights.shallow_clone().f_copy_(&part.mean.like(flat)?.f_matmul(&by_position)?.f_view_as(&weights)?)?;
            let bias = parameters.get(&part.bias)?.f_detach()?;
            let fields = bias.f_view([-1, part.field.dim() as i64])?;
            match part.field {
                // No vector but zero is fixed by the turns.
                Field::Vector => fields.shallow_clone().f_zero_().map(drop)?,
                Field::Regular => fields.shallow_clone().f_copy_(&fields.f_mean_dim(1, true, fields.kind())?)?,
            }
        }
        Ok(())
    }
}

fn constant(matrix: &Mat<f64>) -> Result<Constant> {
    let (rows, columns) = (matrix.nrows(), matrix.ncols());
    let values: Vec<f64> = (0..rows).flat_map(|i| (0..columns).map(move |j| matrix[(i, j)])).collect();
    Constant::new(&values, &[rows as i64, columns as i64])
}

/// PA and A − PA on coefficients `[9, b]`, P the Reynolds projector of one pair of fields.
fn operator_factors(stack: &RelaxedSteerable) -> Result<[Mat<f64>; 2]> {
    let elements = stack.elements();
    let projector = derive(&kernel_space((1, stack.domain.1), (1, stack.codomain.1))?)?;
    let (count, len) = (elements.len(), elements.first().map_or(0, Vec::len));
    let assembled = Mat::from_fn(len, POSITIONS * count, |entry, coefficient| {
        let here = entry % POSITIONS == coefficient / count;
        if here { elements[coefficient % count][entry] } else { 0.0 }
    });
    let mut projected = Mat::zeros(len, POSITIONS * count);
    for coefficient in 0..POSITIONS * count {
        let column: Vec<f64> = assembled.col(coefficient).iter().copied().collect();
        for (entry, value) in projector.project(&column)?.into_iter().enumerate() {
            projected[(entry, coefficient)] = value;
        }
    }
    let perp = &assembled - &projected;
    Ok([projected, perp])
}

/// The orbit mean of the coefficients and the rest.
fn mixing_factors(count: usize) -> [Mat<f64>; 2] {
    let mean = orbit_mean();
    let size = POSITIONS * count;
    let equivariant =
        Mat::from_fn(size, size, |i, j| if i % count == j % count { mean[(i / count, j / count)] } else { 0.0 });
    let perp = Mat::<f64>::identity(size, size) - &equivariant;
    [equivariant, perp]
}

/// The mean over the orbit of each position under quarter turns: the centre, the edges, the corners.
fn orbit_mean() -> Mat<f64> {
    let mut mean = Mat::zeros(POSITIONS, POSITIONS);
    for position in 0..POSITIONS {
        let mut turned = position;
        for _ in 0..4 {
            mean[(position, turned)] += 0.25;
            turned = turned_position(turned);
        }
    }
    mean
}
