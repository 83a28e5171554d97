//! The gradient of the squared penalty as the core's executors add it on a processor: the formula, and what tensors make of it.

#![allow(clippy::unwrap_used, reason = "tests unwrap")]

mod support;

use proptest::prelude::*;
use reynolds::penalty::PenaltyConfig;
use reynolds::projection::Lowered;
use reynolds::scalar::Scalar;
use reynolds_torch::binding::TileProducts;
use reynolds_torch::tch::{Kind, Tensor};
use reynolds_torch::{Parameters, Penalty};
use support::*;

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

/// a P(W) + b (W − P(W)) of every parameter by the core in double precision; 0 where nothing is bound.
fn formula(layers: &[Layer], parameters: &Parameters, [a, b]: [f64; 2]) -> Vec<f64> {
    let flat = numbers(parameters.flat());
    let mut slope = vec![0.0; flat.len()];
    for entry in parameters.entries() {
        if let Some(layer) = layers.iter().find(|layer| layer.name == entry.name) {
            let place = entry.start..entry.start + entry.len();
            let (projected, _) = on_host(layer, &flat[place.clone()], &Project);
            let parts = slope[place.clone()].iter_mut().zip(&flat[place]).zip(projected);
            parts.for_each(|((slope, w), p)| *slope = a * p + b * (w - p));
        }
    }
    slope
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
        let (executed, by_tensors) = (before.copy(), strided(&before));
        penalty.add_slope(parameters.flat(), &executed).unwrap();
        penalty.add_slope(parameters.flat(), &by_tensors).unwrap();
        let slope = formula(&layers, &parameters, strengths.map(|strength| 2.0 * strength));
        let expected: Vec<f64> = numbers(&before).iter().zip(slope).map(|(sum, slope)| sum + slope).collect();
        assert_close(&numbers(&executed), &expected, tolerance(kind, 64, 1.0), "executors");
        assert_close(&numbers(&by_tensors), &expected, tolerance(kind, 64, 1.0), "tensors");
    }
}

/// As on a GPU, where few orbits of one size are mixed, and no longer when strengths change from step to step.
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
                let gradient = parameters.flat().zeros_like();
                penalty.add_slope(parameters.flat(), &gradient).unwrap();
                let expected = formula(&layers, &parameters, [2.0 * lambda_g, 2.0 * lambda_perp]);
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
        let gradient = parameters.flat().cos();
        penalty(&parameters, &layers, [0.3, 0.3]).add_slope(parameters.flat(), &gradient).unwrap();
        assert_eq!(gradient, parameters.flat().cos() + parameters.flat() * 0.6);
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
        let gradient = parameters.flat().cos();
        penalty(&parameters, &layers, [0.0, 0.7]).add_slope(parameters.flat(), &gradient).unwrap();
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
        let gradient = parameters.flat().zeros_like();
        penalty(&parameters, &layers, [0.3, 0.7]).add_slope(parameters.flat(), &gradient).unwrap();
        let gradient = numbers(&gradient);
        for entry in parameters.entries() {
            let slope = &gradient[entry.start..entry.start + entry.len()];
            let bound = !entry.name.starts_with("unbound");
            assert_eq!(slope.iter().all(|slope| slope.is_finite()), !bound, "{} of {bad}", entry.name);
            assert_eq!(slope[0].is_nan(), bound, "{} of {bad}", entry.name);
        }
    }
}
