//! The squared penalty, its gradient and the decoupled steps on a GPU, by kernels or by operations of libtorch, beside the core in double
//! precision.
//!
//! ```text
//! scripts/gpu.sh run tests
//! ```

#![allow(clippy::unwrap_used, reason = "tests unwrap")]

mod support;

use reynolds::penalty::Form;
use reynolds::proximal::Target;
use reynolds_torch::binding::TileProducts;
use reynolds_torch::proximal::{ProximalStep, Scope, TargetStep};
use reynolds_torch::tch::{Kind, Tensor};
use reynolds_torch::{Penalty, device};
use support::*;

/// Layers whose P averages short signed orbits or keeps and drops numbers, which the kernels are for.
fn has_a_kernel(layer: &Layer) -> bool {
    ["C4", "D4 ", "Oh trivial", "S5", "SO3 irreps", "SO2 mask"].iter().any(|name| layer.name.starts_with(name))
}

/// Layers whose P does neither.
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
        for strengths in [[0.3, 0.7], [0.0, 9.0]] {
            assert_all_steps(layers, &parameters, &binding, strengths);
        }
    }
}

#[test]
#[ignore = "needs a GPU"]
fn every_form_by_itself_has_the_gradient_value_and_steps_of_the_core() {
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
    let mut parameters = parameters_on(gpu, &layers, 9, Kind::Float, true);
    let binding = bind_by(&parameters, &layers, TileProducts::on(gpu));
    let penalty = Penalty::new(binding.clone(), squared([0.0, 0.7])).unwrap();
    let once = || {
        let mut sum = parameters.flat().cos();
        (numbers(&penalty.add_gradient_with_value(parameters.flat(), &mut sum).unwrap()), numbers(&sum))
    };
    assert_eq!(once(), once());
    binding.project_in_place(&mut parameters).unwrap();
    let mut sum = parameters.flat().zeros_like();
    assert_eq!(penalty.add_gradient_with_value(parameters.flat(), &mut sum).unwrap().double_value(&[]), 0.0);
    assert_eq!(sum.abs().max().double_value(&[]), 0.0);
}

#[test]
#[ignore = "needs a GPU"]
fn launches_do_not_grow_with_layers_and_steps_are_the_same_to_the_bit() {
    let gpu = device::parse("cuda:0").unwrap();
    let kinds: Vec<Layer> = every_form().into_iter().filter(has_a_kernel).collect();
    let several = |times: usize| -> Vec<Layer> {
        (0..times).flat_map(|nth| kinds.iter().map(move |layer| layer.again(format!("{nth} {}", layer.name)))).collect()
    };
    let mut found = vec![];
    for layers in [several(1), several(2), several(40)] {
        let parameters = parameters_on(gpu, &layers, 7, Kind::Float, true);
        let binding = bind_by(&parameters, &layers, TileProducts::on(gpu));
        let launches = |apply: &dyn Fn(&mut Tensor)| {
            let [once, again] = [(); 2].map(|()| {
                let (mut flat, before) = (parameters.flat().copy(), device::launches());
                apply(&mut flat);
                (numbers(&flat), device::launches() - before)
            });
            assert!(once == again);
            once.1
        };
        let step = |form, each: f64| {
            launches(&|flat| {
                let step = ProximalStep::new(binding.clone(), proximal(form, false, [0.3, 0.7])).unwrap();
                step.per_layer(&vec![[each; 2]; layers.len()]).unwrap().apply(flat, STEP).unwrap();
            })
        };
        let target = Target::new(0.3).unwrap();
        let rules = [Scope::Layer, Scope::Network].map(|scope| {
            let target_step =
                |flat: &mut Tensor| TargetStep::new(binding.clone(), target, scope).unwrap().apply(flat, STEP).unwrap();
            let dual = |flat: &mut Tensor| {
                TargetStep::new(binding.clone(), target, scope)
                    .unwrap()
                    .by_dual(1.0)
                    .unwrap()
                    .apply(flat, STEP)
                    .unwrap()
            };
            [launches(&target_step), launches(&dual)]
        });
        let penalty = Penalty::new(binding.clone(), squared([0.3, 0.7])).unwrap();
        let gradient = launches(&|flat| penalty.add_gradient(parameters.flat(), flat).unwrap());
        let squared = [step(Form::Squared, 1.0), step(Form::Squared, 0.5)];
        assert_eq!(squared, [gradient; 2], "one pass");
        let two_passes = [step(Form::Plain, 1.0), rules[0][0], rules[0][1], rules[1][0], rules[1][1]];
        assert_eq!(two_passes, [2 * gradient + 1; 5], "two passes and the factors");
        found.push(gradient);
        // Factors 1 leave every bit alone.
        let still = Target::new(0.999_999_9).unwrap();
        let mut flat = parameters.flat().copy();
        TargetStep::new(binding.clone(), still, Scope::Network).unwrap().apply(&mut flat, STEP).unwrap();
        assert_eq!(flat, *parameters.flat());
    }
    assert!(found[0] > 0 && found.iter().all(|launches| *launches == found[0]), "{found:?}");
}
