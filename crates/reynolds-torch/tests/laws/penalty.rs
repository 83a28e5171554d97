//! The penalty and its gradient in closed form are the core's and the tape's, for every lowered form, norm and form of the penalty.

#![allow(clippy::unwrap_used, reason = "tests unwrap")]

use crate::support::*;
use proptest::prelude::*;
use reynolds::penalty::{Form, PenaltyConfig};
use reynolds_torch::Penalty;
use reynolds_torch::binding::TileProducts;
use reynolds_torch::tch::{Kind, Tensor};

#[test]
fn the_closed_form_is_the_host_executor_and_the_tape_for_every_form_and_norm() {
    for layer in every_form() {
        let layers = [layer];
        let parameters = parameters(&layers, 11, Kind::Double, false);
        for products in BOTH_WAYS {
            let binding = bind_by(&parameters, &layers, products);
            assert_eq!(binding.takes_one_pass(), layers[0].executed && products == TileProducts::PerKind);
            for config in every_config() {
                assert_agrees(&Penalty::new(binding.clone(), config).unwrap(), &layers, &parameters);
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn all_forms_together_agree_with_the_core_and_the_tape(
        seed in any::<u64>(),
        kind in prop::sample::select(vec![Kind::Float, Kind::Double]),
        gaps in any::<bool>(),
        products in prop::sample::select(BOTH_WAYS.to_vec()),
        config in prop::sample::select(every_config()),
        strengths in prop::sample::select(vec![[0.3, 0.7], [0.7, 0.3], [0.0, 0.7], [0.7, 0.0], [0.4, 0.4], [0.0, 0.0]]),
    ) {
        // The executors' forms twice, the second time sharing the projector: alone, so that they take one pass, and among the others.
        let all = every_form();
        let executed: Vec<Layer> = all.iter().filter(|layer| layer.executed).cloned().collect();
        let again = executed.iter().map(|layer| layer.again(format!("{} again", layer.name)));
        for (layers, config) in [
            (executed.iter().cloned().chain(again).collect(), squared(strengths)),
            (all, PenaltyConfig { lambda_g: strengths[0], lambda_perp: strengths[1], ..config }),
        ] {
            let parameters = parameters(&layers, seed, kind, gaps);
            // As a schedule changes it.
            let other = PenaltyConfig { lambda_perp: 0.9, ..config };
            let mut penalty = Penalty::new(bind_by(&parameters, &layers, products), other).unwrap();
            penalty.set_lambda_perp(config.lambda_perp).unwrap();
            assert_agrees(&penalty, &layers, &parameters);
        }
    }
}

#[test]
fn equal_strengths_are_weight_decay_and_none_is_nothing_to_the_bit() {
    let executed: Vec<Layer> = every_form().into_iter().filter(|layer| layer.executed).collect();
    for layers in [executed, every_form()] {
        for kind in [Kind::Double, Kind::Float] {
            let parameters = parameters(&layers, 3, kind, false);
            for strength in [0.3, 0.0] {
                let penalty = Penalty::new(bind(&parameters, &layers), squared([strength; 2])).unwrap();
                let (mut gradient, mut with_value) = (parameters.flat().cos(), parameters.flat().cos());
                penalty.add_gradient(parameters.flat(), &mut gradient).unwrap();
                let value = penalty.add_gradient_with_value(parameters.flat(), &mut with_value).unwrap();
                assert_eq!(gradient, parameters.flat().cos() + parameters.flat() * (2.0 * strength));
                assert_eq!(with_value, gradient);
                let decay = strength * numbers(parameters.flat()).iter().map(|w| w * w).sum::<f64>();
                assert_close(&numbers(&value), &[decay], tolerance(kind, parameters.len(), 1.0) * decay, "value");
            }
        }
    }
}

#[test]
fn equivariant_weights_have_no_slope_to_the_bit() {
    let exact = ["C4", "D4", "Oh trivial", "S5", "SO2 mask"];
    let mut layers = every_form();
    layers.retain(|layer| exact.iter().any(|name| layer.name.starts_with(name)));
    assert_eq!(layers.len(), 5);
    for kind in [Kind::Double, Kind::Float] {
        let mut parameters = parameters(&layers, 2, kind, true);
        let binding = bind(&parameters, &layers);
        // What is projected is a mean of equal weights from then on.
        binding.project_in_place(&mut parameters).unwrap();
        let mut gradient = parameters.flat().cos();
        let penalty = Penalty::new(binding, squared([0.0, 0.7])).unwrap();
        let value = penalty.add_gradient_with_value(parameters.flat(), &mut gradient).unwrap();
        assert_eq!(value.double_value(&[]), 0.0);
        assert_eq!(gradient, parameters.flat().cos());
    }
}

#[test]
fn a_weight_that_is_no_number_is_seen_in_the_value_and_in_the_slope_of_its_layer_alone() {
    let mut layers = every_form();
    layers.retain(|layer| layer.executed);
    for layer in &layers {
        for (kind, bad, place) in
            [(Kind::Float, f64::NAN, 0.0), (Kind::Double, f64::INFINITY, 0.5), (Kind::Float, f64::NEG_INFINITY, 1.0)]
        {
            let parameters = parameters(&layers, 3, kind, true);
            let at = (place * (layer.len() - 1) as f64) as usize;
            let entry = parameters.entries().iter().find(|entry| entry.name == layer.name).unwrap();
            let _ = parameters.flat().get((entry.start + at) as i64).fill_(bad);
            let mut gradient = parameters.flat().zeros_like();
            let penalty = Penalty::new(bind(&parameters, &layers), squared([0.3, 0.7])).unwrap();
            let value = penalty.add_gradient_with_value(parameters.flat(), &mut gradient).unwrap();
            for value in [value, penalty.value(parameters.flat()).unwrap()] {
                let value = value.double_value(&[]);
                assert!(value.is_nan() || bad.is_infinite() && !value.is_finite(), "{bad} in {}", layer.name);
            }
            let gradient = numbers(&gradient);
            for entry in parameters.entries() {
                let slope = &gradient[entry.start..entry.start + entry.len()];
                let finite = slope.iter().all(|slope| slope.is_finite());
                assert_eq!(finite, entry.name != layer.name, "{} of {bad} in {}", entry.name, layer.name);
                assert!(finite || !slope[at].is_finite(), "{bad} in {}", layer.name);
            }
        }
    }
}

#[test]
fn the_plain_form_is_flat_at_equivariant_weights() {
    let layers = every_form();
    for kind in [Kind::Double, Kind::Float] {
        let mut parameters = parameters(&layers, 17, kind, false);
        let binding = bind(&parameters, &layers);
        binding.project_in_place(&mut parameters).unwrap();
        let config = PenaltyConfig { form: Form::Plain, ..squared([0.0, 1.0]) };
        let mut gradient = parameters.flat().zeros_like();
        let _ = Penalty::new(binding, config).unwrap().add_gradient_with_value(parameters.flat(), &mut gradient);
        for entry in parameters.entries() {
            let length = gradient.narrow(0, entry.start as i64, entry.len() as i64).norm().double_value(&[]);
            assert!(length < 0.2, "{} in {kind:?}: slope {length} of 1", entry.name);
        }
    }
}

#[test]
fn bad_strengths_and_tensors_of_another_size_or_type_are_errors() {
    let layers = [real("w", "C4", "regular", "regular", (0, 0))];
    let parameters = parameters(&layers, 18, Kind::Float, false);
    let binding = bind(&parameters, &layers);
    let mut penalty = Penalty::new(binding.clone(), PenaltyConfig::default()).unwrap();
    for bad in [-1.0, f64::NAN, f64::INFINITY] {
        let message = Penalty::new(binding.clone(), squared([bad, 0.0])).unwrap_err().to_string();
        assert!(message.contains("lambda_g"), "{message}");
        assert!(penalty.set_lambda_perp(bad).is_err());
        assert_eq!(penalty.config(), PenaltyConfig::default());
    }
    let mut wrong = Tensor::zeros([3], (Kind::Float, parameters.device()));
    assert!(penalty.add_gradient_with_value(parameters.flat(), &mut wrong).is_err());
    assert!(penalty.value(&wrong).is_err());
    assert!(penalty.value(&parameters.flat().to_kind(Kind::Double)).is_err());
}
