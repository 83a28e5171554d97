//! The projection penalty of relaxed convolutions inside scales.
//!
//! ```text
//! w̄ = mean of w[o, i, n, p] over p
//! mixing     λ_G ‖w̄‖² + λ_⊥ ‖w − w̄‖²             w̄ counted at every position, so that ‖w̄‖² + ‖w − w̄‖² = ‖w‖²
//! operator   λ_G ‖A w̄‖² + λ_⊥ ‖A(w − w̄)‖²         A assembles the kernels of all scales
//! ```
//!
//! Changes of size are no compact group: there is no Haar measure, and no Reynolds average to derive P from. P is *defined* here as the
//! replacement of w by w̄, orthogonal in the weights, whose image is the exactly steerable layer. A w̄ and A(w − w̄) are not orthogonal.
//!
//! A is linear, and the same for all pairs of channels. So each term is ‖W D‖² for the weights as rows of a matrix W and a fixed matrix D,
//! and its gradient 2 W D Dᵀ: two products for all layers of one list of scales, however many there are.

use tch::{Kind, Tensor};

use super::span::Span;
use super::steerable::{POSITIONS, ScaleConv};
use crate::error::Result;
use crate::layers::{Constant, HermiteGauss};
use crate::models::smoke::{Held, NetworkPenalty};
use crate::parameters::Parameters;

/// The penalty of layers whose weights follow each other in the flat storage.
#[derive(Debug)]
pub(super) struct SteerablePenalty {
    terms: Vec<Term>,
    whole: Span,
}

/// ‖W D‖² of a run of weights.
#[derive(Debug)]
struct Term {
    span: Span,
    /// Columns of W.
    columns: i64,
    /// D that takes w to w̄, or to its kernels.
    shared: Constant,
    /// D that takes w to w − w̄, or to its kernels.
    rest: Constant,
}

impl SteerablePenalty {
    /// The penalty of a network's layers; the last has other scales.
    ///
    /// # Errors
    /// [`Error::Parameter`](crate::Error::Parameter) if the weights do not follow each other.
    pub(super) fn new(layers: &[ScaleConv], parameters: &Parameters, held: Held) -> Result<Self> {
        let names: Vec<String> = layers.iter().map(ScaleConv::weight_name).collect();
        let whole = Span::of(parameters, &names)?;
        let terms = match held {
            Held::Mixing => {
                let [shared, rest] = [Part::Shared, Part::Rest].map(|part| {
                    let entries = (0..POSITIONS * POSITIONS).map(|at| part.entry(at / POSITIONS, at % POSITIONS));
                    Constant::new(&entries.collect::<Vec<_>>(), &[POSITIONS as i64, POSITIONS as i64])
                });
                vec![Term { span: whole, columns: POSITIONS as i64, shared: shared?, rest: rest? }]
            }
            Held::Operator => {
                let last = names.len() - 1;
                let runs = [(&names[..last], &layers[0]), (&names[last..], &layers[last])];
                let term = |(names, layer): (&[String], &ScaleConv)| -> Result<Term> {
                    let functions = layer.functions();
                    let columns = (functions.count() * POSITIONS) as i64;
                    let [shared, rest] = [Part::Shared, Part::Rest].map(|part| assembled(functions, part));
                    Ok(Term { span: Span::of(parameters, names)?, columns, shared: shared?, rest: rest? })
                };
                runs.into_iter().map(term).collect::<Result<_>>()?
            }
        };
        Ok(Self { terms, whole })
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

/// D: a part of w, then its kernels at all points of all scales where they are not zero, [(n, p), point].
fn assembled(functions: &HermiteGauss, part: Part) -> Result<Constant> {
    let size = functions.size();
    let mut points = Vec::new();
    for (scale, window) in functions.windows().into_iter().enumerate() {
        let inside = (size - window) / 2..(size + window) / 2;
        points.extend(inside.clone().flat_map(|y| inside.clone().map(move |x| (scale, y, x))));
    }
    let mut values = Vec::with_capacity(functions.count() * POSITIONS * points.len());
    for function in 0..functions.count() {
        for from in 0..POSITIONS {
            let entry = |&(scale, y, x): &(usize, usize, usize)| {
                functions.value(function, scale, y, x) * part.entry(from, y * size + x)
            };
            values.extend(points.iter().map(entry));
        }
    }
    Constant::new(&values, &[(functions.count() * POSITIONS) as i64, points.len() as i64])
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
        for term in &self.terms {
            let rows = term.span.rows(flat, term.columns)?;
            for (lambda, map) in [(lambda_g, &term.shared), (lambda_perp, &term.rest)] {
                if lambda == 0.0 {
                    continue;
                }
                let map = map.like(flat)?;
                let image = rows.f_mm(&map)?.f_mul_scalar_(2.0 * lambda)?;
                let part = image.f_view([-1])?;
                let part = part.f_dot(&part)?.f_mul_scalar_(0.25 / lambda)?;
                value = Some(match value {
                    Some(value) => value.f_add(&part)?,
                    None => part,
                });
                let _ = term.span.rows(gradient, term.columns)?.f_addmm_(&image, &map.f_transpose(0, 1)?)?;
            }
        }
        value.map_or_else(|| Ok(Tensor::f_zeros([], (flat.kind(), flat.device()))?), Ok)
    }

    fn energies(&self, parameters: &Parameters) -> Result<(f64, f64)> {
        let _guard = tch::no_grad_guard();
        let mut energies = (0.0, 0.0);
        for term in &self.terms {
            let rows = term.span.rows(parameters.flat(), term.columns)?.f_to_kind(Kind::Double)?;
            let energy = |map: &Constant| -> Result<f64> {
                Ok(f64::try_from(rows.f_mm(&map.like(&rows)?)?.f_square_()?.f_sum(Kind::Double)?)?)
            };
            energies.0 += energy(&term.shared)?;
            energies.1 += energy(&term.rest)?;
        }
        Ok(energies)
    }

    fn project(&self, parameters: &Parameters) -> Result<()> {
        let _guard = tch::no_grad_guard();
        let mut rows = self.whole.rows(parameters.flat(), POSITIONS as i64)?;
        let mean = rows.f_mean_dim(1, true, rows.kind())?;
        rows.f_copy_(&mean)?;
        Ok(())
    }
}
