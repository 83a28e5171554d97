//! P on the device is P on the host, for every lowered form, alone and together.

#![allow(clippy::unwrap_used, reason = "tests unwrap")]

use crate::support::*;
use reynolds::penalty::{Form, PenaltyConfig};
use reynolds::plan::SymmetryPlan;
use reynolds::projection::KernelSpace;
use reynolds::{group, irreps::Irreps, rep};
use reynolds_torch::binding::TileProducts;
use reynolds_torch::parameters::Entry;
use reynolds_torch::tch::{Device, Kind};
use reynolds_torch::{Binding, Parameters, Penalty};

const BOTH_WAYS: [TileProducts; 2] = [TileProducts::PerKind, TileProducts::Lists];

#[test]
fn every_form_on_the_device_is_the_host_projector() {
    for layer in every_form() {
        let layers = [layer];
        let weights = random_numbers(&layers, 1);
        let (expected, energy) = on_host(&layers[0], &weights[0], &Project);
        let kinds = [Kind::Double, Kind::Float].into_iter();
        for (kind, products) in kinds.flat_map(|kind| BOTH_WAYS.map(|products| (kind, products))) {
            let parameters = parameters(&layers, &weights, kind, false);
            let binding = bind_by(&parameters, &layers, products);
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
    for products in BOTH_WAYS {
        let binding = bind_by(&parameters, &layers, products);
        assert_close(&numbers(&binding.project(parameters.flat()).unwrap()), &expected, 1e-12, "all forms");
    }
    bind(&parameters, &layers).project_in_place(&parameters).unwrap();
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
        let mut gradient = parameters.flat().zeros_like();
        let _ = penalty.add_gradient_with_value(parameters.flat(), &mut gradient).unwrap();
        assert_eq!(gradient, parameters.flat() * 0.6);
    }
}

#[test]
fn what_cannot_be_bound_is_an_error_that_names_the_parameter() {
    let mut builder = Parameters::builder();
    builder.real("w", &[4, 4], &[0.0; 16]).unwrap();
    builder.complex("z", &[3, 3], &[(0.0, 0.0); 9]).unwrap();
    let parameters = builder.build(Kind::Float, Device::Cpu).unwrap();
    let c4 = group::parse("C4").unwrap();
    let space = KernelSpace::dense(&rep::regular(&c4).unwrap(), &rep::regular(&c4).unwrap()).unwrap();
    let small = KernelSpace::dense(&rep::trivial(&c4), &rep::trivial(&c4)).unwrap();
    let harmonics = "1x(-1..1)".parse::<Irreps>().unwrap().complex_rep(&group::parse("SO2").unwrap()).unwrap();
    let mask = KernelSpace::dense(&harmonics, &harmonics).unwrap();
    let mut binding = Binding::builder(&parameters);
    let message = |result: Result<(), reynolds_torch::Error>| result.unwrap_err().to_string();
    assert_eq!(
        message(binding.real("v", &space)),
        "parameter \"v\": expected a parameter of the network, found none of that name"
    );
    assert_eq!(message(binding.real("w", &small)), "parameter \"w\": expected shape [1, 1], found [4, 4]");
    assert!(message(binding.real("z", &space)).starts_with("parameter \"z\": expected shape"));
    binding.real("w", &space).unwrap();
    assert!(message(binding.real("w", &space)).contains("\"w\": expected a parameter bound once"));
    binding.complex("z", &mask).unwrap();
    let mut swapped = Binding::builder(&parameters);
    let trivial = rep::sum(&c4, &[(3, rep::trivial(&c4))]).unwrap();
    let real = KernelSpace::dense(&trivial, &trivial).unwrap();
    assert_eq!(message(swapped.real("z", &real)), "parameter \"z\": expected real numbers, found complex numbers");
    assert!(swapped.build().unwrap_err().to_string().contains("at least one"));
    assert_eq!(binding.build().unwrap().bound().len(), 2);
}

#[test]
fn a_plan_binds_weights_and_biases_and_says_what_it_leaves() {
    let mut builder = Parameters::builder();
    builder.real("conv.weight", &[8, 4, 3, 3], &[1.0; 288]).unwrap();
    builder.real("conv.bias", &[8], &[1.0, 2.0, 3.0, 4.0, 0.0, 0.0, 0.0, 8.0]).unwrap();
    builder.real("head.weight", &[3, 8], &[1.0; 24]).unwrap();
    let parameters = builder.build(Kind::Double, Device::Cpu).unwrap();
    let plan = "group = \"C4\"\n[[layer]]\nname = \"conv.weight\"\ndomain = \"regular\"\ncodomain = \"2 regular\"";
    let mut binding = Binding::builder(&parameters);
    let resolved = binding.plan(&SymmetryPlan::from_toml(plan).unwrap()).unwrap();
    assert_eq!(resolved.untyped[0].name, "head.weight");
    let binding = binding.build().unwrap();
    let projected = binding.project(parameters.flat()).unwrap();
    assert_eq!(numbers(&projected.narrow(0, 288, 8)), [2.5, 2.5, 2.5, 2.5, 2.0, 2.0, 2.0, 2.0]);
    // The same plan again would bind everything twice.
    let mut twice = Binding::builder(&parameters);
    twice.plan(&SymmetryPlan::from_toml(plan).unwrap()).unwrap();
    assert!(twice.plan(&SymmetryPlan::from_toml(plan).unwrap()).is_err());
}
