//! The flat closed form is the tape and the host executor, for every lowered form, norm and form of the penalty.

#![allow(clippy::unwrap_used, reason = "tests unwrap")]

use crate::support::*;
use faer::c64;
use reynolds::norm::Norm;
use reynolds::penalty::{Form, PenaltyConfig};
use reynolds::projection::Lowered;
use reynolds::random::Random;
use reynolds_torch::binding::TileProducts;
use reynolds_torch::parameters::Entry;
use reynolds_torch::tch::{Kind, Tensor};
use reynolds_torch::{Parameters, Penalty};

/// The gradient of the penalty on the host, and its value.
struct Gradient(PenaltyConfig);

impl HostCall for Gradient {
    fn real(&self, projector: &Lowered<f64>, weights: &[f64], rows: usize) -> (Vec<f64>, f64) {
        let mut gradient = vec![0.0; weights.len()];
        let value = self.0.add_gradient(projector, weights, rows, &mut gradient).unwrap();
        (gradient, value)
    }
    fn complex(&self, projector: &Lowered<c64>, weights: &[c64], rows: usize) -> (Vec<c64>, f64) {
        let mut gradient = vec![c64::new(0.0, 0.0); weights.len()];
        let value = self.0.add_gradient(projector, weights, rows, &mut gradient).unwrap();
        (gradient, value)
    }
}

/// Every norm in both forms, on P(W) and on W.
fn every_config() -> Vec<PenaltyConfig> {
    let mut configs = Vec::new();
    for norm in Norm::all() {
        for form in [Form::Squared, Form::Plain] {
            for whole in [false, true] {
                configs.push(PenaltyConfig { lambda_g: 0.3, lambda_perp: 0.7, norm, form, whole });
            }
        }
    }
    configs
}

/// Value and gradient in closed form.
fn closed_form(penalty: &Penalty, parameters: &Parameters) -> (f64, Vec<f64>) {
    let mut gradient = parameters.flat().zeros_like();
    let value = penalty.add_gradient_with_value(parameters.flat(), &mut gradient).unwrap();
    assert!(value.size().is_empty() && value.kind() == parameters.flat().kind());
    let again = penalty.value(parameters.flat()).unwrap();
    assert!((f64::try_from(&again).unwrap() - f64::try_from(&value).unwrap()).abs() <= 1e-6 * again.double_value(&[]));
    // The gradient alone, added to something.
    let mut sum = parameters.flat() * 0.5;
    penalty.add_gradient(parameters.flat(), &mut sum).unwrap();
    let apart = (sum - parameters.flat() * 0.5 - &gradient).norm().double_value(&[]);
    let epsilon = if gradient.kind() == Kind::Double { 1e-15 } else { 1e-6 };
    let size = (parameters.flat().norm() + gradient.norm()).double_value(&[]);
    assert!(apart <= 4.0 * epsilon * size, "{:?}: {apart} of {size}", penalty.config());
    (value.double_value(&[]), numbers(&gradient))
}

/// Value and gradient of all layers on the host, in the order of the flat storage.
fn host(layers: &[Layer], weights: &[Vec<f64>], entries: &[Entry], config: PenaltyConfig) -> (f64, Vec<f64>) {
    let (mut value, mut gradient) = (0.0, Vec::new());
    for entry in entries {
        match layers.iter().position(|layer| layer.name == entry.name) {
            None => gradient.extend(vec![0.0; entry.len()]),
            Some(number) => {
                let (slope, part) = on_host(&layers[number], &weights[number], &Gradient(config));
                gradient.extend(slope);
                value += part;
            }
        }
    }
    (value, gradient)
}

#[test]
fn the_closed_form_is_the_host_executor_and_the_tape_for_every_form_and_norm() {
    for layer in every_form() {
        let layers = [layer];
        let weights = random_numbers(&layers, 11);
        let parameters = parameters(&layers, &weights, Kind::Double, false);
        let binding = bind(&parameters, &layers);
        for config in every_config() {
            let what = format!("{}, {config:?}", layers[0].name);
            let penalty = Penalty::new(binding.clone(), config).unwrap();
            let (value, gradient) = closed_form(&penalty, &parameters);
            let (host_value, host_gradient) = host(&layers, &weights, parameters.entries(), config);
            let scale = host_value.max(1.0);
            assert!((value - host_value).abs() <= 1e-12 * scale, "{what}: {value} and {host_value}");
            assert_close(&gradient, &host_gradient, 1e-11 * scale, &format!("host, {what}"));
            let on_tape = penalty.on_tape(&parameters).unwrap();
            assert!((on_tape.double_value(&[]) - value).abs() <= 1e-12 * scale, "{what}");
            let tape = parameters.gradient(&on_tape).unwrap();
            assert_close(&numbers(&tape), &gradient, 1e-11 * scale, &format!("tape, {what}"));
        }
    }
}

#[test]
fn all_layers_at_once_are_the_sum_of_each() {
    let layers = every_form();
    let weights = random_numbers(&layers, 12);
    for config in every_config() {
        for kind in [Kind::Double, Kind::Float] {
            let parameters = parameters(&layers, &weights, kind, true);
            let penalty = Penalty::new(bind_by(&parameters, &layers, TileProducts::Lists), config).unwrap();
            let (value, gradient) = closed_form(&penalty, &parameters);
            let (host_value, host_gradient) = host(&layers, &weights, parameters.entries(), config);
            let tolerance = tolerance(kind, parameters.len(), host_value);
            assert!((value - host_value).abs() <= tolerance, "{config:?}: {value} and {host_value}");
            // A gradient of the spectral norm in single precision depends on how far apart singular values are.
            let gap = if config.norm == Norm::Spectral { 10.0 } else { 1.0 };
            assert_close(&gradient, &host_gradient, 10.0 * gap * tolerance, &format!("{config:?} {kind:?}"));
        }
    }
}

#[test]
fn gradients_are_central_differences() {
    let layers = every_form();
    let weights = random_numbers(&layers, 13);
    let parameters = parameters(&layers, &weights, Kind::Double, true);
    let mut random = Random::new(14);
    for config in every_config() {
        let penalty = Penalty::new(bind(&parameters, &layers), config).unwrap();
        let (_, gradient) = closed_form(&penalty, &parameters);
        for _ in 0..2 {
            let direction: Vec<f64> = (0..parameters.len()).map(|_| random.normal()).collect();
            let step = Tensor::from_slice(&direction) * 1e-6;
            let value = |flat: Tensor| penalty.value(&flat).unwrap().double_value(&[]);
            let difference = (value(parameters.flat() + &step) - value(parameters.flat() - &step)) / 2e-6;
            let slope: f64 = gradient.iter().zip(&direction).map(|(g, d)| g * d).sum();
            let scale = value(parameters.flat().shallow_clone()).max(1.0);
            assert!((difference - slope).abs() <= 2e-7 * scale, "{config:?}: {difference} and {slope}");
        }
    }
}

#[test]
fn either_strength_may_be_zero() {
    let layers = every_form();
    let weights = random_numbers(&layers, 19);
    // Without gaps the bound numbers are a view, to which the gradient is added by another way.
    for (gaps, products) in
        [(true, TileProducts::PerKind), (false, TileProducts::PerKind), (false, TileProducts::Lists)]
    {
        let parameters = parameters(&layers, &weights, Kind::Double, gaps);
        let binding = bind_by(&parameters, &layers, products);
        for config in every_config().into_iter().filter(|config| matches!(config.norm, Norm::Frobenius | Norm::Max)) {
            for (lambda_g, lambda_perp) in [(0.0, 0.4), (0.4, 0.0), (0.9, 0.4), (0.4, 0.4)] {
                let config = PenaltyConfig { lambda_g, lambda_perp, ..config };
                let (value, gradient) = closed_form(&Penalty::new(binding.clone(), config).unwrap(), &parameters);
                let (host_value, host_gradient) = host(&layers, &weights, parameters.entries(), config);
                let tolerance = 1e-12 * host_value.max(1.0);
                assert!((value - host_value).abs() <= tolerance, "{config:?}: {value} and {host_value}");
                assert_close(&gradient, &host_gradient, tolerance, &format!("{config:?}"));
            }
        }
    }
}

#[test]
fn strengths_of_zero_leave_the_gradient_as_it_is() {
    let layers = every_form();
    let weights = random_numbers(&layers, 15);
    let parameters = parameters(&layers, &weights, Kind::Float, true);
    let binding = bind(&parameters, &layers);
    for config in every_config() {
        let config = PenaltyConfig { lambda_g: 0.0, lambda_perp: 0.0, ..config };
        let penalty = Penalty::new(binding.clone(), config).unwrap();
        let mut gradient = parameters.flat().sin();
        let value = penalty.add_gradient_with_value(parameters.flat(), &mut gradient).unwrap();
        assert_eq!(value.double_value(&[]), 0.0);
        assert_eq!(gradient, parameters.flat().sin(), "{config:?}");
    }
}

#[test]
fn parameters_that_are_not_bound_are_untouched() {
    let layers = every_form();
    let weights = random_numbers(&layers, 16);
    let parameters = parameters(&layers, &weights, Kind::Float, true);
    for config in every_config() {
        let penalty = Penalty::new(bind(&parameters, &layers), config).unwrap();
        let mut gradient = parameters.flat().cos();
        let _ = penalty.add_gradient_with_value(parameters.flat(), &mut gradient).unwrap();
        for entry in parameters.entries().iter().filter(|entry| entry.name.starts_with("unbound")) {
            let part = |tensor: &Tensor| tensor.narrow(0, entry.start as i64, entry.len() as i64);
            assert_eq!(part(&gradient), part(&parameters.flat().cos()), "{config:?}");
        }
    }
}

#[test]
fn the_plain_form_is_flat_at_equivariant_weights() {
    let layers = every_form();
    for kind in [Kind::Double, Kind::Float] {
        let parameters = parameters(&layers, &random_numbers(&layers, 17), kind, false);
        let binding = bind(&parameters, &layers);
        binding.project_in_place(&parameters).unwrap();
        let config = PenaltyConfig { lambda_perp: 1.0, form: Form::Plain, ..PenaltyConfig::default() };
        let (_, gradient) = closed_form(&Penalty::new(binding, config).unwrap(), &parameters);
        let mut start = 0;
        for entry in parameters.entries() {
            let part = &gradient[start..start + entry.len()];
            let length = part.iter().map(|g| g * g).sum::<f64>().sqrt();
            assert!(length < 0.2, "{} in {kind:?}: slope {length} of 1", entry.name);
            start += entry.len();
        }
    }
}

#[test]
fn a_changed_strength_is_the_penalty_of_that_strength() {
    let layers = [real("w", "C4", "2 regular", "1 regular", (3, 2))];
    let parameters = parameters(&layers, &random_numbers(&layers, 21), Kind::Double, false);
    let binding = bind(&parameters, &layers);
    let of = |lambda_perp| PenaltyConfig { lambda_g: 0.2, lambda_perp, ..PenaltyConfig::default() };
    let mut penalty = Penalty::new(binding.clone(), of(0.0)).unwrap();
    penalty.set_lambda_perp(1.5).unwrap();
    let expected = closed_form(&Penalty::new(binding, of(1.5)).unwrap(), &parameters);
    assert_eq!(closed_form(&penalty, &parameters), expected);
}

#[test]
fn bad_strengths_are_errors() {
    let layers = [real("w", "C4", "regular", "regular", (0, 0))];
    let parameters = parameters(&layers, &random_numbers(&layers, 18), Kind::Float, false);
    let binding = bind(&parameters, &layers);
    for bad in [-1.0, f64::NAN, f64::INFINITY] {
        let config = PenaltyConfig { lambda_g: bad, ..PenaltyConfig::default() };
        let message = Penalty::new(binding.clone(), config).unwrap_err().to_string();
        assert!(message.contains("lambda_g"), "{message}");
        let mut penalty = Penalty::new(binding.clone(), PenaltyConfig::default()).unwrap();
        assert!(penalty.set_lambda_perp(bad).is_err());
        assert_eq!(penalty.config(), PenaltyConfig::default());
    }
    let penalty = Penalty::new(binding, PenaltyConfig::default()).unwrap();
    let mut wrong = Tensor::zeros([3], (Kind::Float, parameters.device()));
    assert!(penalty.add_gradient_with_value(parameters.flat(), &mut wrong).is_err());
    assert!(penalty.value(&wrong).is_err());
    assert!(penalty.value(&parameters.flat().to_kind(Kind::Double)).is_err());
}
