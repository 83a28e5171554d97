//! Truths about the networks for changes of size.

mod baselines;
mod group;
mod steerable;

use reynolds::random::Random;
use tch::{Device, Kind, Tensor};

use crate::smoke::networks::{Architecture, Forecaster, Frames, Held, Mode, SmokeNetConfig, Symmetry};
use reynolds_torch::parameters::Parameters;

const FRAMES: Frames = Frames { count: 2, side: 8 };

fn config(architecture: Architecture, hidden: usize, layers: usize) -> SmokeNetConfig {
    SmokeNetConfig { architecture, hidden, layers, ..SmokeNetConfig::default() }
}

/// A small network in double precision, and its parameters, all of them away from zero.
fn network(architecture: Architecture, layers: usize) -> (Box<dyn Forecaster>, Parameters) {
    let mut builder = Parameters::builder();
    let network =
        config(architecture, 2, layers).build(Symmetry::Scaling, FRAMES, &mut builder, &mut Random::new(7)).unwrap();
    let parameters = builder.build(Kind::Double, Device::Cpu).unwrap();
    let moved = parameters.flat() + normal(&[parameters.len() as i64], 8) * 0.05;
    parameters.assign(&moved).unwrap();
    (network, parameters)
}

fn normal(shape: &[i64], seed: u64) -> Tensor {
    let mut random = Random::new(seed);
    let numbers: Vec<f64> = (0..shape.iter().product::<i64>()).map(|_| random.normal()).collect();
    Tensor::from_slice(&numbers).view(shape)
}

fn number(tensor: &Tensor) -> f64 {
    f64::try_from(tensor.detach().to_kind(Kind::Double)).unwrap()
}

fn largest(tensor: &Tensor) -> f64 {
    number(&tensor.abs().max())
}

fn squared(tensor: &Tensor) -> f64 {
    number(&tensor.square().sum(Kind::Double))
}

fn forecast(network: &dyn Forecaster, parameters: &Parameters) -> Tensor {
    let assembled = network.assemble(parameters).unwrap();
    network.forward(parameters, &assembled, &normal(&[3, 4, 8, 8], 9), Mode::Evaluate).unwrap()
}

/// Asserts that the penalty's value is λ · energies and its gradient that of finite differences, at some of all parameters.
fn check_gradient(architecture: Architecture, held: Held, step: usize) {
    let (network, parameters) = network(architecture, 3);
    let penalty = network.penalty(&parameters, held).unwrap().unwrap();
    let start = parameters.flat().copy();
    for (lambda_g, lambda_perp) in [(0.3, 1.7), (0.0, 2.0), (1.5, 0.0)] {
        let gradient = start.ones_like();
        let value = number(&penalty.add_gradient(&parameters, lambda_g, lambda_perp, &gradient).unwrap());
        let (shared, rest) = penalty.energies(&parameters).unwrap();
        let expected = lambda_g * shared + lambda_perp * rest;
        assert!((value - expected).abs() < 1e-12 * expected.max(1.0), "{held:?}: {value} {expected}");
        let gradient = Vec::<f64>::try_from(gradient - 1.0).unwrap();
        let mut seen = 0.0_f64;
        for place in (0..gradient.len()).step_by(step) {
            let at = |by: f64| {
                let moved = start.copy();
                let _ = moved.get(place as i64).g_add_scalar_(by);
                parameters.assign(&moved).unwrap();
                number(&penalty.add_gradient(&parameters, lambda_g, lambda_perp, &start.zeros_like()).unwrap())
            };
            let slope = (at(1e-4) - at(-1e-4)) / 2e-4;
            let error = (slope - gradient[place]).abs();
            // The value is of fourth degree at most: the difference of third order is of the size of the step squared.
            assert!(error < 1e-6 * slope.abs().max(1.0), "{held:?} {place}: {slope} {}", gradient[place]);
            seen = seen.max(slope.abs());
        }
        assert!(seen > 1e-3, "{held:?}: no slope was seen");
        parameters.assign(&start).unwrap();
    }
    assert_eq!(number(&penalty.add_gradient(&parameters, 0.0, 0.0, &start.zeros_like()).unwrap()), 0.0);
}

/// How many parameters a network adds.
fn built(config: &SmokeNetConfig, frames: Frames) -> reynolds_torch::Result<usize> {
    let mut builder = Parameters::builder();
    config.build(Symmetry::Scaling, frames, &mut builder, &mut Random::new(0))?;
    Ok(builder.entries().iter().map(|entry| entry.len()).sum())
}
