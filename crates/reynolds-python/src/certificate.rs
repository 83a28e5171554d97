//! Certificates of chains of layers, which Python reads from a module.

use pyo3::prelude::*;
use reynolds::certificate::{Activation, Network, Stage, StageKind};
use reynolds::rep::Grid;

use crate::error::{ReynoldsError, of_core};
use crate::layers::Layers;

/// One map of the chain: name, kind, number of its layer in the plan, and its numbers (weight and bias; scale and shift; a slope).
type StageOf = (String, String, Option<usize>, Vec<f64>, Option<Vec<f64>>);

/// Layer, Lipschitz constant, radius of its inputs, its defect, its part in the bound.
type TermOf = (String, f64, f64, f64, f64);

fn stage(layers: &Layers, (name, kind, layer, numbers, second): StageOf) -> PyResult<Stage> {
    let activation = match kind.as_str() {
        "linear" => {
            let tensor = layers.layer(layer.unwrap_or(usize::MAX))?;
            let Some(exact) = &tensor.exact else {
                let message = format!("{name}: it cannot be certified: no exact action on its weights is known");
                return Err(ReynoldsError::new_err(message));
            };
            return Ok(Stage::linear(&name, &exact.space, numbers, second));
        }
        "batch_norm" => {
            let shift = second.unwrap_or_default();
            return Ok(Stage::new(&name, StageKind::BatchNorm { scale: numbers, shift }));
        }
        "mean_pool" => return Ok(Stage::new(&name, StageKind::MeanPool)),
        "identity" => Activation::Identity,
        "relu" => Activation::Relu,
        "leaky_relu" => Activation::LeakyRelu(numbers.first().copied().unwrap_or_default()),
        "tanh" => Activation::Tanh,
        "sine" => Activation::Sine,
        "sigmoid" => Activation::Sigmoid,
        "silu" => Activation::Silu,
        "gelu" => Activation::Gelu,
        "softplus" => Activation::Softplus,
        _ => return Ok(Stage::new(&name, StageKind::Unknown)),
    };
    Ok(Stage::activation(&name, activation))
}

/// The bound for inputs ‖x‖ ≤ `radius`, its terms, the worst error that `evaluations` of a search found, and all of it as a table. `map` is
/// the side and the number of axes of the input's map; the input fields are those of the first linear stage.
#[pyfunction]
pub(crate) fn certify(
    py: Python<'_>,
    layers: &Layers,
    stages: Vec<StageOf>,
    map: Option<(usize, usize)>,
    radius: f64,
    evaluations: usize,
) -> PyResult<(f64, Vec<TermOf>, Option<f64>, String)> {
    let stages = stages.into_iter().map(|one| stage(layers, one)).collect::<PyResult<Vec<_>>>()?;
    let first = stages.iter().find_map(|stage| match &stage.kind {
        StageKind::Linear { space, .. } => Some(space.domain().clone()),
        _ => None,
    });
    let fields = first.ok_or_else(|| ReynoldsError::new_err("model: expected a layer with fields, found none"))?;
    let certificate = py.detach(|| {
        let grid = map.map(|(side, dims)| Grid::new(fields.group(), side, dims)).transpose()?;
        let network = Network::new(&fields, grid.as_ref(), stages)?;
        let certificate = network.certify(radius)?;
        Ok(if evaluations > 0 { certificate.with_search(network.search(radius, evaluations, 1)?) } else { certificate })
    });
    let certificate = certificate.map_err(of_core)?;
    let text = certificate.to_string();
    let terms = certificate.terms.into_iter().map(|t| (t.layer, t.lipschitz, t.radius, t.defect, t.contribution));
    Ok((certificate.bound, terms.collect(), certificate.searched.map(|found| found.value), text))
}
