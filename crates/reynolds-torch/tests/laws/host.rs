//! The squared penalty and its gradient as the core's executors have them on a processor: the formula, and what tensors make of it.

#![allow(clippy::unwrap_used, reason = "tests unwrap")]

use crate::support::*;
use proptest::prelude::*;
use reynolds::penalty::PenaltyConfig;
use reynolds::projection::Lowered;
use reynolds::scalar::Scalar;
use reynolds_torch::binding::TileProducts;
use reynolds_torch::tch::{Kind, Tensor};
use reynolds_torch::{Parameters, Penalty};

fn is_executed<F: Scalar>(projector: &Lowered<F>) -> bool {
    match projector {
        Lowered::Orbits(_) | Lowered::Basis(_) => true,
        Lowered::Blocks(blocks) => !blocks.is_turned(),
        _ => false,
    }
}

/// Layers of the forms that the core's executors are for, each twice, the second time sharing the projector.
fn layers() -> Vec<Layer> {
    let executed = every_form().into_iter().filter(|layer| match &layer.projector {
        AnyProjector::Real(projector) => is_executed(projector),
        AnyProjector::Complex(projector) => is_executed(projector),
    });
    executed.flat_map(|layer| [Layer { name: format!("{} again", layer.name), ..layer.clone() }, layer]).collect()
}

/// The same numbers, every second one of a storage: no plain slice of memory, so that tensors do the work.
fn strided(flat: &Tensor) -> Tensor {
    let mut strided = Tensor::zeros([2 * flat.size()[0]], (flat.kind(), flat.device())).slice(0, 0, None, 2);
    strided.copy_(flat);
    strided
}

fn penalty(parameters: &Parameters, layers: &[Layer], [lambda_g, lambda_perp]: [f64; 2]) -> Penalty {
    Penalty::new(bind(parameters, layers), PenaltyConfig { lambda_g, lambda_perp, ..PenaltyConfig::default() }).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn executors_tensors_and_the_formula_agree(
        seed in any::<u64>(),
        single in any::<bool>(),
        gaps in any::<bool>(),
        strengths in prop::sample::select(vec![[0.3, 0.7], [0.7, 0.3], [0.0, 0.7], [0.7, 0.0], [0.4, 0.4]]),
    ) {
        let layers = layers();
        let kind = if single { Kind::Float } else { Kind::Double };
        let parameters = parameters(&layers, &random_numbers(&layers, seed), kind, gaps);
        let penalty = penalty(&parameters, &layers, strengths);
        let before = parameters.flat().cos();
        let (slope, [equivariant, perp]) = formula(&layers, &parameters, strengths.map(|strength| 2.0 * strength));
        let expected: Vec<f64> = numbers(&before).iter().zip(slope).map(|(sum, slope)| sum + slope).collect();
        let value = strengths[0] * equivariant + strengths[1] * perp;
        let within = tolerance(kind, parameters.len(), 1.0) * value;
        for (way, mut gradient) in [("executors", before.copy()), ("tensors", strided(&before))] {
            penalty.add_gradient(parameters.flat(), &mut gradient).unwrap();
            assert_close(&numbers(&gradient), &expected, tolerance(kind, 64, 1.0), way);
        }
        let (mut executed, mut by_tensors) = (before.copy(), strided(&before));
        let values = [
            ("executors", penalty.add_gradient_with_value(parameters.flat(), &mut executed).unwrap()),
            ("tensors", penalty.add_gradient_with_value(parameters.flat(), &mut by_tensors).unwrap()),
            ("executors, alone", penalty.value(parameters.flat()).unwrap()),
            ("tensors, alone", penalty.value(&strided(parameters.flat())).unwrap()),
        ];
        for (way, found) in values {
            prop_assert!(found.size().is_empty() && found.kind() == kind);
            assert_close(&numbers(&found), &[value], within, way);
        }
        assert_close(&numbers(&executed), &expected, tolerance(kind, 64, 1.0), "executors with the value");
        assert_close(&numbers(&by_tensors), &expected, tolerance(kind, 64, 1.0), "tensors with the value");
    }
}

/// As on a GPU without a compiler for kernels, also when strengths change from step to step.
#[test]
fn orbits_by_the_operations_of_a_gpu_have_the_same_slope() {
    for layer in layers().into_iter().filter(|layer| ["C4", "D4", "S5"].iter().any(|name| layer.name.starts_with(name)))
    {
        let layers = [layer];
        for (kind, strengths) in [(Kind::Float, [0.3, 0.7]), (Kind::Double, [0.7, 0.3]), (Kind::Double, [0.0, 0.7])] {
            let parameters = parameters(&layers, &random_numbers(&layers, 4), kind, false);
            let [lambda_g, lambda_perp] = strengths;
            let config = PenaltyConfig { lambda_g, lambda_perp, ..PenaltyConfig::default() };
            let binding = bind_by(&parameters, &layers, TileProducts::Lists);
            let mut penalty = Penalty::new(binding, config).unwrap();
            for lambda_perp in [lambda_perp, 0.9] {
                penalty.set_lambda_perp(lambda_perp).unwrap();
                let mut gradient = parameters.flat().zeros_like();
                penalty.add_gradient(parameters.flat(), &mut gradient).unwrap();
                let (expected, _) = formula(&layers, &parameters, [2.0 * lambda_g, 2.0 * lambda_perp]);
                assert_close(&numbers(&gradient), &expected, tolerance(kind, 64, 1.0), &layers[0].name);
            }
        }
    }
}

#[test]
fn equal_strengths_are_weight_decay_to_the_bit() {
    let layers = layers();
    for kind in [Kind::Double, Kind::Float] {
        let parameters = parameters(&layers, &random_numbers(&layers, 1), kind, false);
        let penalty = penalty(&parameters, &layers, [0.3, 0.3]);
        let (mut gradient, mut with_value) = (parameters.flat().cos(), parameters.flat().cos());
        penalty.add_gradient(parameters.flat(), &mut gradient).unwrap();
        let value = penalty.add_gradient_with_value(parameters.flat(), &mut with_value).unwrap();
        assert_eq!(gradient, parameters.flat().cos() + parameters.flat() * 0.6);
        assert_eq!(with_value, gradient);
        let decay = 0.3 * numbers(parameters.flat()).iter().map(|w| w * w).sum::<f64>();
        assert_close(&numbers(&value), &[decay], tolerance(kind, parameters.len(), 1.0) * decay, "value");
    }
}

#[test]
fn what_weights_have_none_of_adds_nothing_to_the_bit() {
    let layers: Vec<Layer> = layers()
        .into_iter()
        .filter(|layer| ["C4", "D4", "Oh", "S5", "SO2 mask"].iter().any(|name| layer.name.starts_with(name)))
        .collect();
    assert_eq!(layers.len(), 10);
    for kind in [Kind::Double, Kind::Float] {
        let parameters = parameters(&layers, &random_numbers(&layers, 2), kind, true);
        penalty(&parameters, &layers, [0.3, 0.3]).binding().project_in_place(&parameters).unwrap();
        // What is projected is a mean of equal weights from then on.
        let mut gradient = parameters.flat().cos();
        let value = penalty(&parameters, &layers, [0.0, 0.7])
            .add_gradient_with_value(parameters.flat(), &mut gradient)
            .unwrap();
        assert_eq!(value.double_value(&[]), 0.0);
        assert_eq!(gradient, parameters.flat().cos());
    }
}

#[test]
fn weights_that_are_no_numbers_give_slopes_that_are_none() {
    let layers = layers();
    for (kind, bad) in [(Kind::Float, f64::NAN), (Kind::Double, f64::INFINITY), (Kind::Float, f64::NEG_INFINITY)] {
        let mut weights = random_numbers(&layers, 3);
        weights.iter_mut().for_each(|weights| weights[0] = bad);
        let parameters = parameters(&layers, &weights, kind, true);
        let mut gradient = parameters.flat().zeros_like();
        let penalty = penalty(&parameters, &layers, [0.3, 0.7]);
        for value in
            [penalty.add_gradient_with_value(parameters.flat(), &mut gradient), penalty.value(parameters.flat())]
        {
            assert!(value.unwrap().double_value(&[]).is_nan(), "{bad}");
        }
        let gradient = numbers(&gradient);
        for entry in parameters.entries() {
            let slope = &gradient[entry.start..entry.start + entry.len()];
            let bound = !entry.name.starts_with("unbound");
            assert_eq!(slope.iter().all(|slope| slope.is_finite()), !bound, "{} of {bad}", entry.name);
            assert_eq!(slope[0].is_nan(), bound, "{} of {bad}", entry.name);
        }
    }
}

/// A weight that is no number, of each layer by itself: none is lost among the others.
#[test]
fn a_weight_that_is_no_number_is_seen_in_the_value_wherever_it_is() {
    for layer in layers() {
        let layers = [layer];
        for (kind, place) in [(Kind::Float, 0.0), (Kind::Double, 0.5), (Kind::Float, 1.0)] {
            let mut weights = random_numbers(&layers, 5);
            let last = weights[0].len() - 1;
            weights[0][(place * last as f64) as usize] = f64::NAN;
            let parameters = parameters(&layers, &weights, kind, false);
            let value = penalty(&parameters, &layers, [0.3, 0.7]).value(parameters.flat()).unwrap();
            assert!(value.double_value(&[]).is_nan(), "{} at {place}", layers[0].name);
        }
    }
}

#[test]
fn weights_may_be_their_own_gradient() {
    let layers = layers();
    let parameters = parameters(&layers, &random_numbers(&layers, 6), Kind::Double, true);
    let penalty = penalty(&parameters, &layers, [0.3, 0.7]);
    let (slope, [equivariant, perp]) = formula(&layers, &parameters, [0.6, 1.4]);
    let flat = parameters.flat().copy();
    let expected: Vec<f64> = numbers(&flat).iter().zip(slope).map(|(w, slope)| w + slope).collect();
    let value = penalty.add_gradient_with_value(&flat, &mut flat.shallow_clone()).unwrap().double_value(&[]);
    let formula = 0.3 * equivariant + 0.7 * perp;
    assert!((value - formula).abs() <= 1e-12 * formula, "{value} and {formula}");
    assert_close(&numbers(&flat), &expected, 1e-12, "gradient");
}
