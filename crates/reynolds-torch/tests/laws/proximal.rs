//! The decoupled steps are the core's, for every lowered form, and what they promise.

#![allow(clippy::unwrap_used, reason = "tests unwrap")]

use crate::support::*;
use proptest::prelude::*;
use reynolds::norm::Norm;
use reynolds::penalty::{Form, PenaltyConfig};
use reynolds::proximal::{Proximal, Target};
use reynolds_torch::binding::TileProducts;
use reynolds_torch::proximal::{ProximalStep, Scope, TargetStep};
use reynolds_torch::tch::{Kind, Tensor};
use reynolds_torch::{Binding, Parameters};
use std::rc::Rc;

#[test]
fn every_form_by_itself_takes_the_steps_of_the_core() {
    for layer in every_form() {
        let layers = [layer];
        let parameters = parameters(&layers, 11, Kind::Double, false);
        for products in BOTH_WAYS {
            assert_all_steps(&layers, &parameters, &bind_by(&parameters, &layers, products), [0.3, 0.7]);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4))]

    #[test]
    fn all_forms_together_take_the_steps_of_the_core(
        seed in any::<u64>(),
        kind in prop::sample::select(vec![Kind::Float, Kind::Double]),
        gaps in any::<bool>(),
        products in prop::sample::select(BOTH_WAYS.to_vec()),
        strengths in prop::sample::select(vec![[0.3, 0.7], [0.7, 0.3], [0.0, 0.7], [0.7, 0.0], [0.4, 0.4], [0.0, 9.0]]),
    ) {
        let all = every_form();
        let executed = all.iter().filter(|layer| layer.executed).cloned().collect();
        for layers in [executed, all] {
            let parameters = parameters(&layers, seed, kind, gaps);
            assert_all_steps(&layers, &parameters, &bind_by(&parameters, &layers, products), strengths);
        }
    }
}

/// All layers, and those that the core executes alone, in both number types, with parameters in between that are not bound.
fn networks() -> Vec<(Parameters, Rc<Binding>)> {
    let executed: Vec<Layer> = every_form().into_iter().filter(|layer| layer.executed).collect();
    let mut networks = vec![];
    for layers in [executed, every_form()] {
        for kind in [Kind::Double, Kind::Float] {
            let parameters = parameters(&layers, 3, kind, true);
            let binding = bind_by(&parameters, &layers, TileProducts::PerKind);
            networks.push((parameters, binding));
        }
    }
    networks
}

#[test]
fn no_strength_and_no_step_leave_every_bit_alone() {
    for (mut parameters, binding) in networks() {
        // The sign of −0 is a bit too: every third weight.
        let zero = Tensor::arange(parameters.flat().size()[0], (Kind::Int64, parameters.device())).remainder(3).eq(0);
        let _ = parameters.flat_mut().masked_fill_(&zero, -0.0);
        let bits = |flat: &Tensor| numbers(flat).into_iter().map(f64::to_bits).collect::<Vec<u64>>();
        let before = bits(parameters.flat());
        let mut by_each = |strengths: [f64; 2], size: f64, factor: f64| {
            for proximal in every_proximal(strengths) {
                let step = ProximalStep::new(binding.clone(), proximal).unwrap();
                let factors = vec![[factor; 2]; binding.bound().len()];
                step.per_layer(&factors).unwrap().apply(parameters.flat_mut(), size).unwrap();
                assert_eq!(bits(parameters.flat()), before, "{proximal:?} times {factor}, η = {size}");
            }
        };
        by_each([0.0, 0.0], STEP, 1.0);
        by_each([0.3, 0.7], 0.0, 1.0);
        by_each([0.3, 0.7], STEP, 0.0);
        by_each([0.0, 0.7], STEP, 0.0);
        let target = Target::new(0.999_999_9).unwrap();
        TargetStep::new(binding, target, Scope::Network).unwrap().apply(parameters.flat_mut(), STEP).unwrap();
        assert_eq!(bits(parameters.flat()), before);
    }
}

#[test]
fn equal_strengths_shrink_every_weight_alike_and_a_boundless_one_projects_to_the_bit() {
    for (parameters, binding) in networks() {
        let bound = binding.project(&(parameters.flat() * 0.0 + 1.0)).unwrap() * 0.0;
        let is_bound = Tensor::zeros_like(&bound);
        for bound in binding.bound() {
            let _ = is_bound.narrow(0, bound.entry.start as i64, bound.entry.len() as i64).fill_(1.0);
        }
        let before = parameters.flat().copy();
        let mut flat = before.copy();
        let even = proximal(Form::Squared, false, [0.7, 0.7]);
        ProximalStep::new(binding.clone(), even).unwrap().apply(&mut flat, STEP).unwrap();
        let shrunk = &before * (1.0 / (1.0 + 2.0 * STEP * 0.7));
        assert_eq!(flat, shrunk.where_self(&is_bound.eq(1.0), &before));
        let projected = binding.project(&before).unwrap();
        for form in [Form::Squared, Form::Plain] {
            let mut flat = before.copy();
            let strict = proximal(form, false, [0.0, 1e300]);
            ProximalStep::new(binding.clone(), strict).unwrap().apply(&mut flat, STEP).unwrap();
            let off = (&flat - &projected).abs().max().double_value(&[]);
            assert!(off <= tolerance(flat.kind(), 16, 1.0), "{form:?}: {off}");
        }
        let strict = Target::new(0.0).unwrap();
        let steps = [0; 2].map(|_| {
            let mut flat = before.copy();
            TargetStep::new(binding.clone(), strict, Scope::Network).unwrap().apply(&mut flat, STEP).unwrap();
            flat
        });
        assert_eq!(steps[0], steps[1]);
        let off = (&steps[0] - &projected).abs().max().double_value(&[]);
        assert!(off <= tolerance(before.kind(), 16, 1.0), "target: {off}");
    }
}

#[test]
fn each_part_moves_along_itself_alone() {
    for (parameters, binding) in networks() {
        let before = binding.energies(parameters.flat()).unwrap();
        let dot = |a: &Tensor, b: &Tensor| (a * b).sum(Kind::Double).double_value(&[]);
        let parts = |flat: &Tensor| {
            let projected = binding.project(flat).unwrap();
            [projected.copy(), flat - projected]
        };
        for strengths in [[0.0, 0.7], [0.7, 0.0]] {
            for form in [Form::Squared, Form::Plain] {
                let mut flat = parameters.flat().copy();
                let step = proximal(form, false, strengths);
                ProximalStep::new(binding.clone(), step).unwrap().apply(&mut flat, STEP).unwrap();
                let after = binding.energies(&flat).unwrap();
                let within = 100.0 * tolerance(flat.kind(), 16, 1.0);
                for ((name, before), (_, after)) in before.iter().zip(&after) {
                    let (kept, shrunk) = match strengths[0] == 0.0 {
                        true => ((before.equivariant, after.equivariant), (before.perp, after.perp)),
                        false => ((before.perp, after.perp), (before.equivariant, after.equivariant)),
                    };
                    assert!((kept.0 - kept.1).abs() <= within * before.total(), "{name}, {form:?}");
                    assert!(shrunk.1 < shrunk.0 || shrunk.0 <= within * before.total(), "{name}, {form:?}");
                }
                // P(W) and W − P(W) stay orthogonal.
                let [equivariant, perp] = parts(&flat);
                assert!(dot(&equivariant, &perp).abs() <= within * dot(&flat, &flat));
            }
        }
    }
}

#[test]
fn a_target_is_met_by_every_layer_or_by_all_together_and_says_which_strength_it_was() {
    for (parameters, binding) in networks() {
        let target = Target::new(0.25).unwrap();
        let within = tolerance(binding.kind(), 64, 1.0);
        for scope in [Scope::Layer, Scope::Network] {
            let mut flat = parameters.flat().copy();
            let before = binding.energies(&flat).unwrap();
            let mut step = TargetStep::new(binding.clone(), target, scope).unwrap();
            step.apply(&mut flat, STEP).unwrap();
            let after = binding.energies(&flat).unwrap();
            let whole = binding.residual(&flat).unwrap().relative;
            assert!(whole <= 0.25 + within && (scope == Scope::Layer || whole >= 0.25 - within), "{scope:?}: {whole}");
            for (((name, before), (_, after)), lambda) in before.iter().zip(&after).zip(numbers(step.strengths())) {
                let ratio = (after.perp / after.total()).sqrt();
                assert!(scope == Scope::Network || ratio <= 0.25 + within, "{name}: {ratio}");
                // The squared step of that strength.
                let found = (after.perp / before.perp).sqrt();
                let expected = 1.0 / (1.0 + 2.0 * STEP * lambda);
                assert!(before.perp < 1e-9 || (found - expected).abs() <= within, "{name}: {found} {expected}");
            }
        }
    }
}

#[test]
fn a_dual_strength_grows_above_its_target_falls_below_it_and_reaches_it() {
    for (parameters, binding) in networks() {
        for scope in [Scope::Layer, Scope::Network] {
            let mut flat = parameters.flat().copy();
            let target = Target::new(0.3).unwrap();
            let mut step = TargetStep::new(binding.clone(), target, scope).unwrap().by_dual(2.0).unwrap();
            let energies = binding.energies(&flat).unwrap();
            let whole = binding.residual(&flat).unwrap().relative;
            step.apply(&mut flat, STEP).unwrap();
            for ((name, energies), lambda) in energies.iter().zip(numbers(step.strengths())) {
                let residual = if scope == Scope::Network { whole } else { (energies.perp / energies.total()).sqrt() };
                let expected = (2.0 * (residual - 0.3)).max(0.0);
                assert!((lambda - expected).abs() <= tolerance(flat.kind(), 64, 1.0), "{name}: {lambda} {expected}");
            }
            // Weights that are pulled back to where they were are held at the target, as by a loss.
            let mut last = 0.0;
            for _ in 0..200 {
                for _ in 0..20 {
                    let _ = flat.lerp_(parameters.flat(), 0.1);
                    step.apply(&mut flat, 0.05).unwrap();
                }
                last = binding.residual(&flat).unwrap().relative;
                if last <= 0.301 && (scope == Scope::Layer || last >= 0.299) {
                    break;
                }
            }
            assert!(last <= 0.301, "{scope:?}: {last}");
            // Continued from its state it does the same to the bit.
            let mut again = TargetStep::new(binding.clone(), target, scope).unwrap().by_dual(2.0).unwrap();
            again.restore(&step.strengths().copy()).unwrap();
            let mut other = flat.copy();
            step.apply(&mut flat, STEP).unwrap();
            again.apply(&mut other, STEP).unwrap();
            assert_eq!((&flat, step.strengths()), (&other, again.strengths()));
        }
    }
}

#[test]
fn layers_that_become_equivariant_are_noted_with_the_call_and_a_restored_step_goes_on_to_the_bit() {
    for (mut parameters, binding) in networks() {
        let flat = parameters.flat_mut();
        assert!(binding.bound().iter().all(|bound| bound.rank < bound.entry.numel()));
        let weak = proximal(Form::Plain, false, [0.0, 0.8]);
        let mut step = ProximalStep::new(binding.clone(), weak).unwrap();
        assert!(numbers(step.exact_since()).iter().all(|&since| since == -1.0));
        let mut restored = None;
        let (mut seen, mut resumed) = (vec![-1.0; binding.bound().len()], flat.copy());
        for call in 1..=6 {
            if call == 3 {
                resumed = flat.copy();
                let mut other = ProximalStep::new(binding.clone(), weak).unwrap();
                other.restore(&step.exact_since().copy(), step.calls()).unwrap();
                restored = Some(other);
            }
            step.apply(flat, STEP).unwrap();
            if let Some(other) = &mut restored {
                other.apply(&mut resumed, STEP).unwrap();
            }
            let energies = binding.energies(flat).unwrap();
            for (seen, (_, energies)) in seen.iter_mut().zip(energies) {
                // W = 0 is no symmetry.
                let exact = energies.perp <= 1e-10 * energies.total() && energies.equivariant > 0.0;
                *seen = if !exact {
                    -1.0
                } else if *seen < 0.0 {
                    f64::from(call)
                } else {
                    *seen
                };
            }
            assert_eq!(numbers(step.exact_since()), seen, "call {call}");
        }
        assert!(seen.iter().any(|&since| since > 1.0), "{seen:?}");
        // All of W becomes 0, after W − P(W) and at once.
        for strengths in [[1e3, 0.8], [1e3, 0.0], [1e3, 1e3]] {
            let step = ProximalStep::new(binding.clone(), proximal(Form::Plain, true, strengths)).unwrap();
            let (mut step, mut dead) = (step, flat.copy());
            step.apply(&mut dead, STEP).unwrap();
            step.apply(&mut dead, STEP).unwrap();
            assert!(binding.energies(&dead).unwrap().iter().all(|(_, energies)| energies.total() == 0.0));
            assert!(numbers(step.exact_since()).iter().all(|&since| since == -1.0), "{strengths:?}");
        }
        let other = restored.unwrap();
        assert_eq!((&*flat, step.exact_since(), step.calls()), (&resumed, other.exact_since(), other.calls()));
        // η = 0 changes nothing; a weaker step ends what was.
        step.apply(flat, 0.0).unwrap();
        assert_eq!((numbers(step.exact_since()), step.calls()), (seen, 7));
        let ramp = Tensor::arange(flat.size()[0], (flat.kind(), flat.device()));
        let _ = flat.g_add_(&ramp.sin());
        step.set_lambda_perp(1e-6).unwrap();
        step.apply(flat, STEP).unwrap();
        assert!(numbers(step.exact_since()).iter().all(|&since| since == -1.0));
        step.set_lambda_perp(0.0).unwrap();
        step.apply(flat, STEP).unwrap();
        assert!(numbers(step.exact_since()).iter().all(|&since| since == -1.0));
    }
}

#[test]
fn what_is_refused_is_refused_by_name() {
    let nothing = real("nothing is kept", "C4", "1 trivial", "1 vector", (0, 0));
    let layers = [nothing, every_form().remove(0)];
    let mut parameters = parameters(&layers, 1, Kind::Float, false);
    let binding = bind(&parameters, &layers);
    assert_eq!(binding.bound()[0].rank, 0);
    let target = Target::new(0.1).unwrap();
    let message = TargetStep::new(binding.clone(), target, Scope::Layer).unwrap_err().to_string();
    assert_eq!(
        message,
        "parameter \"nothing is kept\": expected a projection of rank at least 1 under a target, found rank 0"
    );
    assert!(TargetStep::new(binding.clone(), target, Scope::Network).is_ok());
    assert!(TargetStep::new(binding.clone(), target, Scope::Network).unwrap().by_dual(0.0).is_err());
    assert!(Proximal::new(PenaltyConfig { norm: Norm::Spectral, ..PenaltyConfig::perp(1.0) }).is_err());
    let perp = Proximal::new(PenaltyConfig::perp(0.5)).unwrap();
    let mut step = ProximalStep::new(binding.clone(), perp).unwrap();
    assert!(step.set_lambda_perp(-1.0).is_err());
    for size in [-0.1, f64::NAN, f64::INFINITY] {
        let message = step.apply(parameters.flat_mut(), size).unwrap_err().to_string();
        assert!(message.starts_with("step size: expected a finite number, at least 0"), "{message}");
    }
    let message = step.apply(&mut parameters.flat().narrow(0, 0, 7), 0.1).unwrap_err().to_string();
    assert!(message.starts_with("flat tensor: expected ["), "{message}");
    assert_eq!(step.calls(), 0);
    assert!(step.restore(&Tensor::from_slice(&[1_i64]), 1).is_err());
    assert!(step.restore(&Tensor::from_slice(&[1.0, 2.0]), 1).is_err());
    assert!(step.restore(&step.exact_since().copy(), -1).is_err());
    assert!(ProximalStep::new(binding.clone(), perp).unwrap().per_layer(&[[1.0; 2]]).is_err());
    for factors in [[1.0, -1.0], [-1.0, 1.0], [1.0, f64::INFINITY]] {
        assert!(ProximalStep::new(binding.clone(), perp).unwrap().per_layer(&[factors; 2]).is_err());
    }
    // Times the root of the parameter's size it is no number.
    let plain = ProximalStep::new(binding, proximal(Form::Plain, false, [0.0, 1.0])).unwrap();
    assert!(plain.per_layer(&[[1.0, f64::MAX]; 2]).is_err());
}
