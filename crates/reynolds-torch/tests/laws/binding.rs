//! What is bound to parameters, by a plan or by name.

#![allow(clippy::unwrap_used, reason = "tests unwrap")]

use crate::support::*;
use reynolds::plan::SymmetryPlan;
use reynolds::projection::KernelSpace;
use reynolds::{group, irreps::Irreps};
use reynolds_testkit::space;
use reynolds_torch::tch::{Device, Kind};
use reynolds_torch::{Binding, Parameters};

#[test]
fn what_cannot_be_bound_is_an_error_that_names_the_parameter() {
    let mut builder = Parameters::builder();
    builder.real("w", &[4, 4], &[0.0; 16]).unwrap();
    builder.complex("z", &[3, 3], &[(0.0, 0.0); 9]).unwrap();
    let parameters = builder.build(Kind::Float, Device::Cpu).unwrap();
    let regular = space("C4", "regular", "regular", 0, 0);
    let harmonics = "1x(-1..1)".parse::<Irreps>().unwrap().complex_rep(&group::parse("SO2").unwrap()).unwrap();
    let mask = KernelSpace::dense(&harmonics, &harmonics).unwrap();
    let mut binding = Binding::builder(&parameters);
    let message = |result: Result<(), reynolds_torch::Error>| result.unwrap_err().to_string();
    assert_eq!(
        message(binding.real("v", &regular)),
        "parameter \"v\": expected a parameter of the network, found none of that name"
    );
    assert_eq!(
        message(binding.real("w", &space("C4", "trivial", "trivial", 0, 0))),
        "parameter \"w\": expected shape [1, 1], found [4, 4]"
    );
    assert!(message(binding.real("z", &regular)).starts_with("parameter \"z\": expected shape"));
    binding.real("w", &regular).unwrap();
    assert!(message(binding.real("w", &regular)).contains("\"w\": expected a parameter bound once"));
    binding.complex("z", &mask).unwrap();
    let mut swapped = Binding::builder(&parameters);
    let real = space("C4", "3 trivial", "3 trivial", 0, 0);
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
