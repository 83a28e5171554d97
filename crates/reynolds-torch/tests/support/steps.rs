//! Every decoupled step beside the core's.

use std::rc::Rc;

use reynolds::penalty::{Form, PenaltyConfig};
use reynolds::projection::Energies;
use reynolds::proximal::{Proximal, Target};
use reynolds_torch::proximal::{ProximalStep, Scope, TargetStep};
use reynolds_torch::tch::{Kind, Tensor};
use reynolds_torch::{Binding, Parameters};

use super::*;

/// η of all steps.
pub(crate) const STEP: f64 = 0.3;

pub(crate) fn proximal(form: Form, whole: bool, [lambda_g, lambda_perp]: [f64; 2]) -> Proximal {
    Proximal::new(PenaltyConfig { lambda_g, lambda_perp, form, whole, ..PenaltyConfig::default() }).unwrap()
}

/// Both forms, on P(W) and on W.
pub(crate) fn every_proximal(strengths: [f64; 2]) -> [Proximal; 4] {
    [(Form::Squared, false), (Form::Squared, true), (Form::Plain, false), (Form::Plain, true)]
        .map(|(form, whole)| proximal(form, whole, strengths))
}

/// Panics unless a step in place makes of the numbers of each layer what it should, of strided ones too.
fn assert_step(
    (layers, parameters): (&[Layer], &Parameters),
    what: &str,
    expected: impl Fn(&Layer, &[f64]) -> Vec<f64>,
    apply: impl Fn(&mut Tensor),
) {
    let flat = parameters.flat();
    let mut stepped = numbers(flat);
    for (layer, place) in places(layers, parameters) {
        let of_layer = expected(layer, &stepped[place.clone()]);
        stepped[place].copy_from_slice(&of_layer);
    }
    let within = match flat.kind() {
        Kind::Double => 1e-10,
        kind => 4.0 * tolerance(kind, 64, 1.0),
    };
    for laid_out in [Tensor::copy as fn(&Tensor) -> Tensor, strided] {
        let mut found = laid_out(flat);
        apply(&mut found);
        let what = format!("{} and others, {:?}, {what}", layers[0].name, flat.kind());
        assert_close(&numbers(&found), &stepped, within, &what);
    }
}

/// Each layer, and where its numbers are.
fn places<'a>(layers: &'a [Layer], parameters: &'a Parameters) -> impl Iterator<Item = (&'a Layer, Range<usize>)> {
    layers.iter().map(|layer| {
        let entry = parameters.entries().iter().find(|entry| entry.name == layer.name).unwrap();
        (layer, entry.start..entry.start + entry.len())
    })
}

/// Panics unless every rule, for each layer and for the network, takes the core's step.
pub(crate) fn assert_all_steps(layers: &[Layer], parameters: &Parameters, binding: &Rc<Binding>, strengths: [f64; 2]) {
    let network = (layers, parameters);
    for proximal in every_proximal(strengths).into_iter().flat_map(|scaled| [scaled, scaled.unscaled()]) {
        let step = || ProximalStep::new(binding.clone(), proximal).unwrap();
        let by = |name: &str| 0.5 + name.len() as f64 / 10.0;
        let each: Vec<[f64; 2]> = binding.bound().iter().map(|bound| [by(&bound.entry.name); 2]).collect();
        let stepped =
            |layer: &Layer, numbers: &[f64], by: f64| layer.stepped(Decoupled::Penalty(proximal), numbers, STEP * by).1;
        let (what, of_each) = (format!("{proximal:?}"), format!("{proximal:?} with strengths of each"));
        let expected = |layer: &Layer, numbers: &[f64]| stepped(layer, numbers, 1.0);
        assert_step(network, &what, expected, |flat| step().apply(flat, STEP).unwrap());
        let expected = |layer: &Layer, numbers: &[f64]| stepped(layer, numbers, by(&layer.name));
        assert_step(network, &of_each, expected, |flat| {
            step().per_layer(&each).unwrap().apply(flat, STEP).unwrap();
        });
    }
    let flat = numbers(parameters.flat());
    let energies = |layer: &Layer, numbers: &[f64]| {
        let projected = layer.projected(numbers);
        let square = |numbers: &mut dyn Iterator<Item = f64>| numbers.map(|number| number * number).sum::<f64>();
        let perp = square(&mut numbers.iter().zip(&projected).map(|(w, p)| w - p));
        Energies { equivariant: square(&mut projected.iter().copied()), perp }
    };
    let all = places(layers, parameters).map(|(layer, place)| energies(layer, &flat[place]));
    let all = all.fold(Energies::default(), |sum, more| sum + more);
    let scaled = |layer: &Layer, numbers: &[f64], s: f64| -> Vec<f64> {
        layer.projected(numbers).into_iter().zip(numbers).map(|(p, w)| p + s * (w - p)).collect()
    };
    for tau in [0.0, 0.3, 0.99] {
        let target = Target::new(tau).unwrap();
        for scope in [Scope::Layer, Scope::Network] {
            let what = format!("{target:?} of {scope:?}");
            let of = |layer: &Layer, numbers: &[f64]| {
                if scope == Scope::Network { all } else { energies(layer, numbers) }
            };
            let expected = |layer: &Layer, numbers: &[f64]| match scope {
                Scope::Layer => layer.stepped(Decoupled::Target(target), numbers, STEP).1,
                Scope::Network => scaled(layer, numbers, target.factors(all).perp),
            };
            assert_step(network, &what, expected, |flat| {
                TargetStep::new(binding.clone(), target, scope).unwrap().apply(flat, STEP).unwrap();
            });
            let expected = |layer: &Layer, numbers: &[f64]| {
                let strength = (2.0 * ((1.0 - of(layer, numbers).ratio()).sqrt() - tau)).max(0.0);
                scaled(layer, numbers, 1.0 / (1.0 + 2.0 * STEP * strength))
            };
            assert_step(network, &format!("dual, {what}"), expected, |flat| {
                TargetStep::new(binding.clone(), target, scope)
                    .unwrap()
                    .by_dual(2.0)
                    .unwrap()
                    .apply(flat, STEP)
                    .unwrap();
            });
        }
    }
}
