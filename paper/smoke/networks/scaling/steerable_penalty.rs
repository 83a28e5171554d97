//! The projection penalty of relaxed convolutions inside scales.
//!
//! ```text
//! w̄ = mean of w[p, n, o, i] over p
//! mixing     λ_G ‖w̄‖² + λ_⊥ ‖w − w̄‖²             w̄ counted at every position, so that ‖w̄‖² + ‖w − w̄‖² = ‖w‖²
//! operator   λ_G ‖A w̄‖² + λ_⊥ ‖A(w − w̄)‖²         A assembles the kernels
//! ```
//!
//! Changes of size are no compact group: there is no Haar measure, and no Reynolds average to derive P from. P is *defined* here as the
//! replacement of w by w̄, orthogonal in the weights, whose image is the exactly steerable layer. A w̄ and A(w − w̄) are not orthogonal.
//!
//! A is linear, and the same for all pairs of channels. So each term is ‖D W‖² for the weights as columns of a matrix W and a fixed matrix D,
//! and its gradient 2 Dᵀ D W: two products for the first layer, for the last, and in one batch for all between.
//!
//! With the one scale that the networks read, the penalty constrains weights and no function: shared weights make every kernel
//! ([`super::steerable_net`]), so that it can vanish while the network computes what it did. It tells nothing of equivariance.
//!
//! A has the kernels that a network applies. A network that reads one scale of four applies those of that scale: the others are nowhere
//! assembled. With [`Read::All`] they count too.

use tch::{Kind, Tensor};

use super::steerable::{POSITIONS, Read, ScaleConv, points};
use crate::smoke::networks::HermiteGauss;
use crate::smoke::networks::product::{or_zero, plus, product};
use crate::smoke::networks::span::Span;
use crate::smoke::networks::{Held, NetworkPenalty};
use reynolds_torch::error::Result;
use reynolds_torch::layers::Constant;
use reynolds_torch::parameters::Parameters;

/// The penalty of layers whose weights follow each other in the flat storage.
#[derive(Debug)]
pub(super) struct SteerablePenalty {
    held: Held,
    runs: Vec<Run>,
    whole: Span,
}

/// Layers of one shape in a row.
#[derive(Debug)]
struct Run {
    span: Span,
    layers: i64,
    /// Rows of W.
    rows: i64,
    /// D that takes w to w̄, or to its kernels.
    shared: Constant,
    /// D that takes w to w − w̄, or to its kernels.
    rest: Constant,
}

impl SteerablePenalty {
    /// The penalty of a network's layers, of which the first and the last differ from those between.
    ///
    /// # Errors
    /// [`Error::Parameter`](reynolds_torch::Error::Parameter) if the weights do not follow each other.
    pub(super) fn new(layers: &[ScaleConv], parameters: &Parameters, held: Held, read: Read) -> Result<Self> {
        let (first, others) = layers.split_at(1);
        let (between, last) = others.split_at(others.len() - 1);
        let run = |layers: &[ScaleConv]| -> Result<Run> {
            let names: Vec<String> = layers.iter().map(ScaleConv::weight_name).collect();
            let map = |part| match held {
                Held::Operator => assembled(layers[0].functions(), part, read),
                Held::Mixing => plain(part),
            };
            let rows = match held {
                Held::Operator => POSITIONS * layers[0].functions().count(),
                Held::Mixing => POSITIONS,
            };
            let (span, layers) = (Span::of(parameters, &names)?, layers.len() as i64);
            Ok(Run { span, layers, rows: rows as i64, shared: map(Part::Shared)?, rest: map(Part::Rest)? })
        };
        let runs = [first, between, last].into_iter().filter(|layers| !layers.is_empty()).map(run);
        let names: Vec<String> = layers.iter().map(ScaleConv::weight_name).collect();
        Ok(Self { held, runs: runs.collect::<Result<_>>()?, whole: Span::of(parameters, &names)? })
    }

    /// Adds 2λ Dᵀ D W to a flat gradient; 2λ D W of all layers, `[numbers]`.
    fn add_term(&self, flat: &Tensor, lambda: f64, part: Part, gradient: &Tensor) -> Result<Tensor> {
        match self.held {
            Held::Operator => {
                let mut images = Vec::with_capacity(self.runs.len());
                for run in &self.runs {
                    let map = run.each(&run.map(part).like(flat)?)?;
                    let image = product(None, 2.0 * lambda, &map, &run.weights(flat)?)?;
                    let _ = run.weights(gradient)?.f_baddbmm_(&map.f_transpose(1, 2)?, &image)?;
                    images.push(image.f_view([-1])?);
                }
                Ok(Tensor::f_cat(&images, 0)?)
            }
            // D is a projection, the same for all layers: applied once or twice. All of them into one tensor, added at once.
            Held::Mixing => {
                let image = flat.f_empty_like()?;
                let map = self.runs[0].map(part).like(flat)?.f_mul_scalar(2.0 * lambda)?;
                for run in &self.runs {
                    let _ = run.each(&map)?.f_bmm_out(&run.weights(&image)?, &run.weights(flat)?)?;
                }
                let image = self.whole.view(&image, &[-1])?;
                let _ = self.whole.view(gradient, &[-1])?.f_add_(&image)?;
                Ok(image)
            }
        }
    }
}

/// What is left of w.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    /// w̄.
    Shared,
    /// w − w̄.
    Rest,
}

impl Part {
    /// The entry of this projection of ℝ²⁵.
    fn entry(self, from: usize, to: usize) -> f64 {
        let mean = 1.0 / POSITIONS as f64;
        match self {
            Self::Shared => mean,
            Self::Rest => f64::from(u8::from(from == to)) - mean,
        }
    }
}

/// D: a part of w, [p, p].
fn plain(part: Part) -> Result<Constant> {
    let entries = (0..POSITIONS * POSITIONS).map(|at| part.entry(at / POSITIONS, at % POSITIONS));
    Constant::new(&entries.collect::<Vec<_>>(), &[POSITIONS as i64, POSITIONS as i64])
}

/// D: a part of w, then its kernels, [point, (p, n)].
fn assembled(functions: &HermiteGauss, part: Part, read: Read) -> Result<Constant> {
    let (size, count) = (functions.size(), functions.count());
    let points = points(functions, read);
    let mut values = Vec::with_capacity(points.len() * POSITIONS * count);
    for &[scale, y, x] in &points {
        for from in 0..POSITIONS {
            let factor = part.entry(from, y * size + x);
            values.extend((0..count).map(|function| functions.value(function, scale, y, x) * factor));
        }
    }
    Constant::new(&values, &[points.len() as i64, (POSITIONS * count) as i64])
}

impl Run {
    /// D of a part.
    fn map(&self, part: Part) -> &Constant {
        match part {
            Part::Shared => &self.shared,
            Part::Rest => &self.rest,
        }
    }

    /// W in a flat tensor, `[layers, rows, columns]`.
    fn weights(&self, flat: &Tensor) -> Result<Tensor> {
        self.span.view(flat, &[self.layers, self.rows, -1])
    }

    /// A matrix for every layer.
    fn each(&self, matrix: &Tensor) -> Result<Tensor> {
        Ok(matrix.f_unsqueeze(0)?.f_expand([self.layers, -1, -1], false)?)
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
        for (lambda, part) in [(lambda_g, Part::Shared), (lambda_perp, Part::Rest)] {
            if lambda == 0.0 {
                continue;
            }
            let image = self.add_term(flat, lambda, part, gradient)?;
            let term = image.f_dot(&image)?.f_mul_scalar_(0.25 / lambda)?;
            value = Some(plus(value, term)?);
        }
        or_zero(value, flat)
    }

    fn energies(&self, parameters: &Parameters) -> Result<(f64, f64)> {
        let _guard = tch::no_grad_guard();
        let mut energies = (0.0, 0.0);
        for run in &self.runs {
            let weights = run.weights(parameters.flat())?.f_to_kind(Kind::Double)?;
            let energy = |part: Part| -> Result<f64> {
                let image = run.each(&run.map(part).like(&weights)?)?.f_bmm(&weights)?;
                Ok(f64::try_from(image.f_square()?.f_sum(Kind::Double)?)?)
            };
            energies.0 += energy(Part::Shared)?;
            energies.1 += energy(Part::Rest)?;
        }
        Ok(energies)
    }

    fn project(&self, parameters: &Parameters) -> Result<()> {
        let _guard = tch::no_grad_guard();
        for run in &self.runs {
            let mut weights = run.span.view(parameters.flat(), &[run.layers, POSITIONS as i64, -1])?;
            let mean = weights.f_mean_dim(1, true, weights.kind())?;
            weights.f_copy_(&mean)?;
        }
        Ok(())
    }
}
