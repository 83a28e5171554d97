//! The squared penalty and its gradient on a GPU, by a kernel or by operations of libtorch: what the core makes of them in double precision.
//!
//! ```text
//! scripts/gpu.sh run tests
//! ```

#![allow(clippy::unwrap_used, reason = "tests unwrap")]

mod support;

use reynolds_torch::binding::TileProducts;
use reynolds_torch::tch::Kind;
use reynolds_torch::{Penalty, device};
use support::*;

/// Whether P is certain to average short orbits, up to signs, to keep or to drop: a kernel is for these.
fn has_a_kernel(layer: &Layer) -> bool {
    ["C4", "D4 ", "Oh trivial", "S5", "SO3 irreps", "SO2 mask"].iter().any(|name| layer.name.starts_with(name))
}

/// Whether it is certain not to.
fn has_no_kernel(layer: &Layer) -> bool {
    layer.name.contains("band")
}

fn check(layers: &[Layer]) {
    let gpu = device::parse("cuda:0").unwrap();
    for (seed, kind, gaps) in
        [(0, Kind::Float, false), (1, Kind::Float, true), (2, Kind::Double, false), (3, Kind::Double, true)]
    {
        let parameters = parameters_on(gpu, layers, seed, kind, gaps);
        let binding = bind_by(&parameters, layers, TileProducts::on(gpu));
        if layers.iter().all(has_a_kernel) || layers.iter().any(has_no_kernel) {
            assert_eq!(binding.takes_one_pass(), layers.iter().all(has_a_kernel), "{}", layers[0].name);
        }
        for strengths in [[0.3, 0.7], [0.7, 0.3], [0.0, 0.7], [0.7, 0.0], [0.4, 0.4]] {
            assert_agrees(&Penalty::new(binding.clone(), squared(strengths)).unwrap(), layers, &parameters);
        }
    }
}

#[test]
#[ignore = "needs a GPU"]
fn every_form_by_itself_has_the_slope_and_value_of_the_core() {
    for layer in every_form() {
        check(&[layer]);
    }
}

#[test]
#[ignore = "needs a GPU"]
fn orbits_of_several_layers_take_one_kernel_and_other_forms_among_them_none() {
    let (orbits, others): (Vec<Layer>, Vec<Layer>) = every_form().into_iter().partition(has_a_kernel);
    check(&orbits);
    check(&[orbits, others].concat());
}

#[test]
#[ignore = "needs a GPU"]
fn a_second_launch_gives_the_same_to_the_bit_and_equivariant_weights_have_no_slope() {
    let layers: Vec<Layer> = every_form().into_iter().filter(has_a_kernel).collect();
    let gpu = device::parse("cuda:0").unwrap();
    let parameters = parameters_on(gpu, &layers, 9, Kind::Float, true);
    let binding = bind_by(&parameters, &layers, TileProducts::on(gpu));
    let penalty = Penalty::new(binding.clone(), squared([0.0, 0.7])).unwrap();
    let once = || {
        let mut sum = parameters.flat().cos();
        (numbers(&penalty.add_gradient_with_value(parameters.flat(), &mut sum).unwrap()), numbers(&sum))
    };
    assert_eq!(once(), once());
    binding.project_in_place(&parameters).unwrap();
    let mut sum = parameters.flat().zeros_like();
    assert_eq!(penalty.add_gradient_with_value(parameters.flat(), &mut sum).unwrap().double_value(&[]), 0.0);
    assert_eq!(sum.abs().max().double_value(&[]), 0.0);
}
