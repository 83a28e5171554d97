//! The penalty on tensors of the CPU: its gradient, and its step after the optimiser's.

use pyo3::prelude::*;
use reynolds::norm::Norm;
use reynolds::penalty::{Form, PenaltyConfig};
use reynolds::plan::TypedTensor;
use reynolds::projection::{Energies, Projector};
use reynolds::proximal::{Factors, Proximal, Target};
use reynolds::scalar::Weight;

use crate::error::{ReynoldsError, of_core};
use crate::layers::{Layers, over, with_numbers};
use crate::memory::{Memory, Numbers};

/// What all layers of a penalty have in common; strengths come with every call.
#[pyclass(frozen, module = "reynolds._reynolds")]
pub(crate) struct Settings {
    form: Form,
    norm: Norm,
    whole: bool,
    scale: bool,
}

/// Layer, weights, gradient, whether both are f64, λ_G, λ_⊥.
type GradientJob = (usize, usize, usize, bool, f64, f64);

/// Layer, weights, whether they are f64, learning rate η, λ_G, λ_⊥.
type StepJob = (usize, usize, bool, f64, f64, f64);

#[pymethods]
impl Settings {
    #[new]
    #[pyo3(signature = (*, form, norm, whole, scale))]
    fn new(form: &str, norm: &str, whole: bool, scale: bool) -> PyResult<Self> {
        let form = match form {
            "squared" => Form::Squared,
            "plain" => Form::Plain,
            _ => return Err(ReynoldsError::new_err(format!("form: expected squared or plain, found \"{form}\""))),
        };
        Ok(Self { form, norm: norm.parse().map_err(of_core)?, whole, scale })
    }

    /// Checks that the penalty has a step of its own, and strengths.
    fn check(&self, lambda_g: f64, lambda_perp: f64, decoupled: bool) -> PyResult<()> {
        let config = self.config(lambda_g, lambda_perp);
        let checked = if decoupled { Proximal::new(config).map(|_| ()) } else { config.validate() };
        checked.map_err(of_core)
    }

    /// Adds the penalty's gradient to every gradient; the penalty of each layer.
    fn add_gradient(&self, py: Python<'_>, layers: &Layers, jobs: Vec<GradientJob>) -> PyResult<Vec<f64>> {
        let jobs = jobs
            .into_iter()
            .map(|(number, weights, gradient, double, lambda_g, lambda_perp)| {
                let memories = (Memory::new(weights, double)?, Memory::new(gradient, double)?);
                Ok((layers.layer(number)?, memories, self.config(lambda_g, lambda_perp)))
            })
            .collect::<PyResult<Vec<_>>>()?;
        let one = |(layer, (weights, gradient), config): &(&TypedTensor, (Memory, Memory), PenaltyConfig)| {
            // SAFETY: see `Memory`; gradients are other tensors than weights.
            #[allow(unsafe_code, reason = "the slices of Memory")]
            let numbers = unsafe { (weights.numbers(layer.len()), gradient.numbers(layer.len())) };
            let added = match numbers {
                (Numbers::Single(w), Numbers::Single(g)) => {
                    config.add_gradient(layer.projector.as_ref(), w, layer.shape[0], g)
                }
                (Numbers::Double(w), Numbers::Double(g)) => {
                    config.add_gradient(layer.projector.as_ref(), w, layer.shape[0], g)
                }
                _ => unreachable!("both were made with one type"),
            };
            added.map_err(|error| error.of_tensor(&layer.name))
        };
        over(py, &jobs, jobs.iter().map(|job| job.0.len()).sum(), one)
    }

    /// The penalty of each layer: layer, weights, whether they are f64, λ_G, λ_⊥.
    fn values(&self, py: Python<'_>, layers: &Layers, jobs: Vec<(usize, usize, bool, f64, f64)>) -> PyResult<Vec<f64>> {
        let jobs = jobs
            .into_iter()
            .map(|(number, weights, double, lambda_g, lambda_perp)| {
                Ok((layers.layer(number)?, Memory::new(weights, double)?, self.config(lambda_g, lambda_perp)))
            })
            .collect::<PyResult<Vec<_>>>()?;
        let one = |(layer, memory, config): &(&TypedTensor, Memory, PenaltyConfig)| {
            let value = with_numbers!(layer.len(), memory, |weights| {
                config.value(layer.projector.as_ref(), &*weights, layer.shape[0])
            });
            value.map_err(|error| error.of_tensor(&layer.name))
        };
        over(py, &jobs, jobs.iter().map(|job| job.0.len()).sum(), one)
    }

    /// The proximal step of every layer, in place; what P(W) and W − P(W) were multiplied by.
    fn decoupled(&self, py: Python<'_>, layers: &Layers, jobs: Vec<StepJob>) -> PyResult<Vec<(f64, f64)>> {
        let jobs = jobs
            .into_iter()
            .map(|(number, weights, double, step, lambda_g, lambda_perp)| {
                let mut proximal = Proximal::new(self.config(lambda_g, lambda_perp)).map_err(of_core)?;
                if !self.scale {
                    proximal = proximal.unscaled();
                }
                Ok((layers.layer(number)?, Memory::new(weights, double)?, proximal, step))
            })
            .collect::<PyResult<Vec<_>>>()?;
        let one = |&(layer, memory, proximal, step): &(&TypedTensor, Memory, Proximal, f64)| {
            let factors = with_numbers!(layer.len(), memory, |weights| {
                proximal.apply(layer.projector.as_ref(), weights, step)
            });
            factors.map(|factors| (factors.equivariant, factors.perp)).map_err(|error| error.of_tensor(&layer.name))
        };
        over(py, &jobs, jobs.iter().map(|job| job.0.len()).sum(), one)
    }

    /// Scales W − P(W) of every layer so that it is at most τ‖W‖, or that of all together where `network`; the factors.
    #[staticmethod]
    fn target(
        py: Python<'_>,
        layers: &Layers,
        tau: f64,
        network: bool,
        places: Vec<(usize, usize, bool)>,
    ) -> PyResult<Vec<f64>> {
        let target = Target::new(tau).map_err(of_core)?;
        let jobs = places
            .into_iter()
            .map(|(number, weights, double)| Ok((layers.layer(number)?, Memory::new(weights, double)?)))
            .collect::<PyResult<Vec<_>>>()?;
        let weights = jobs.iter().map(|job| job.0.len()).sum();
        let all = if network { Some(target.factors(sum(py, &jobs, weights)?)) } else { None };
        over(py, &jobs, weights, |&(layer, memory)| {
            with_numbers!(layer.len(), memory, |weights| to_target(layer, weights, target, all))
        })
    }
}

impl Settings {
    fn config(&self, lambda_g: f64, lambda_perp: f64) -> PenaltyConfig {
        PenaltyConfig { lambda_g, lambda_perp, norm: self.norm, form: self.form, whole: self.whole }
    }
}

fn sum(py: Python<'_>, jobs: &[(&TypedTensor, Memory)], weights: usize) -> PyResult<Energies> {
    let energies = over(py, jobs, weights, |&(layer, memory)| {
        with_numbers!(layer.len(), memory, |weights| layer.projector.energies(&*weights))
            .map_err(|error| error.of_tensor(&layer.name))
    })?;
    Ok(energies.into_iter().fold(Energies::default(), |sum, layer| sum + layer))
}

fn to_target<T: Weight<Field = f64>>(
    layer: &TypedTensor,
    weights: &mut [T],
    target: Target,
    all: Option<Factors>,
) -> reynolds::Result<f64> {
    let moved = match all {
        None => target.apply(layer.projector.as_ref(), weights),
        Some(factors) => layer.projector.project(&*weights).map(|projected| {
            factors.apply(weights, &projected);
            factors
        }),
    };
    moved.map(|factors| factors.perp).map_err(|error| error.of_tensor(&layer.name))
}
