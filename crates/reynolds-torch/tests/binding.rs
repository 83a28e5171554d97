//! P on the device is P on the host, for every lowered form, alone and together.

#![allow(clippy::unwrap_used, reason = "tests unwrap")]

mod support;

use reynolds::penalty::{Form, PenaltyConfig};
use reynolds_torch::Penalty;
use reynolds_torch::parameters::Entry;
use reynolds_torch::tch::Kind;
use support::*;

#[test]
fn every_form_on_the_device_is_the_host_projector() {
    for layer in every_form() {
        let layers = [layer];
        let weights = random_numbers(&layers, 1);
        let (expected, energy) = on_host(&layers[0], &weights[0], &Project);
        for kind in [Kind::Double, Kind::Float] {
            let parameters = parameters(&layers, &weights, kind, false);
            let binding = bind(&parameters, &layers);
            let projected = binding.project(parameters.flat()).unwrap();
            let tolerance = tolerance(kind, weights[0].len(), 1.0);
            assert_close(&numbers(&projected), &expected, tolerance, &layers[0].name);
            let energies = binding.energies(parameters.flat()).unwrap();
            assert!(
                (energies[0].1.equivariant - energy).abs() <= 10.0 * tolerance * energy.max(1.0),
                "{}",
                layers[0].name
            );
        }
    }
}

#[test]
fn all_forms_at_once_with_unbound_parameters_between_them() {
    let layers = every_form();
    let weights = random_numbers(&layers, 2);
    let parameters = parameters(&layers, &weights, Kind::Double, true);
    let host = |entry: &Entry| match layers.iter().position(|layer| layer.name == entry.name) {
        Some(number) => on_host(&layers[number], &weights[number], &Project).0,
        None => vec![0.5, -1.5, 2.5],
    };
    let expected: Vec<f64> = parameters.entries().iter().flat_map(host).collect();
    let binding = bind(&parameters, &layers);
    assert_close(&numbers(&binding.project(parameters.flat()).unwrap()), &expected, 1e-12, "all forms");
    binding.project_in_place(&parameters).unwrap();
    assert_close(&numbers(parameters.flat()), &expected, 1e-12, "in place");
}

#[test]
fn equal_strengths_are_weight_decay_to_the_bit() {
    let layers = every_form();
    let weights = random_numbers(&layers, 3);
    for kind in [Kind::Double, Kind::Float] {
        let parameters = parameters(&layers, &weights, kind, false);
        let config = PenaltyConfig { lambda_g: 0.3, lambda_perp: 0.3, form: Form::Squared, ..PenaltyConfig::default() };
        let penalty = Penalty::new(bind(&parameters, &layers), config).unwrap();
        let gradient = parameters.flat().zeros_like();
        let _ = penalty.add_gradient(parameters.flat(), &gradient).unwrap();
        assert_eq!(gradient, parameters.flat() * 0.6);
    }
}
