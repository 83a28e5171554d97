//! Gradients of norms through a projector, against central finite differences in double precision.

use faer::c64;
use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use reynolds::norm::{Component, Norm};
use reynolds::penalty::{Form, PenaltyConfig};
use reynolds::projection::{Dimensions, HaarProjector, KernelSpace, Projector, derive};
use reynolds::{group, rep};
use reynolds_testkit::projector_laws::{distance, inner, norm as length, random_weights};
use reynolds_testkit::space;

/// Norms have kinks, which a random weight meets with probability 0 and a finite difference with a small one: the seed is fixed.
fn config(cases: u32) -> ProptestConfig {
    ProptestConfig { cases, rng_seed: RngSeed::Fixed(20), failure_persistence: None, ..ProptestConfig::default() }
}

/// Group, domain, codomain, side of the kernel (0: dense).
const SPACES: [(&str, &str, &str, usize); 5] = [
    ("C4", "regular", "2 regular", 0),
    ("C4", "trivial", "regular", 3),
    ("D4", "vector + 2 trivial", "regular", 0),
    ("S3", "permutation", "permutation^2", 0),
    ("C3", "regular", "2 vector", 0),
];
const KERNEL: usize = 1;

/// A projector and the number of rows of its weight matrix.
fn projector(which: usize) -> (HaarProjector, usize) {
    let (group, domain, codomain, side) = SPACES[which];
    let space = space(group, domain, codomain, side, 2);
    (HaarProjector::new(&space).unwrap(), space.codomain().dim())
}

/// The gradient of f by central differences, coordinate by coordinate.
fn finite_differences(weights: &[f64], f: impl Fn(&[f64]) -> f64) -> Vec<f64> {
    const STEP: f64 = 1e-6;
    let mut moved = weights.to_vec();
    let mut gradient = Vec::with_capacity(weights.len());
    for i in 0..weights.len() {
        moved[i] = weights[i] + STEP;
        let up = f(&moved);
        moved[i] = weights[i] - STEP;
        gradient.push((up - f(&moved)) / (2.0 * STEP));
        moved[i] = weights[i];
    }
    gradient
}

fn relative_error(got: &[f64], expected: &[f64]) -> f64 {
    distance(got, expected) / length(expected)
}

proptest! {
    #![proptest_config(config(6))]

    /// ∇_W N(QW) = Q[∂N(QW)] for the twelve norms and both parts.
    #[test]
    fn gradient_through_a_projector_is_the_finite_difference(seed in any::<u64>(), which in 0..SPACES.len()) {
        let (projector, rows) = projector(which);
        let weights: Vec<f64> = random_weights(projector.len(), seed);
        for norm in Norm::all() {
            for part in [Component::Equivariant, Component::Perp, Component::Whole] {
                let (value, gradient) = part.norm_and_gradient(norm, &projector, &weights, rows).unwrap();
                prop_assert!((value - part.norm(norm, &projector, &weights, rows).unwrap()).abs() < 1e-12 * value);
                let expected = finite_differences(&weights, |w| part.norm(norm, &projector, w, rows).unwrap());
                let error = relative_error(&gradient, &expected);
                prop_assert!(error < 1e-7, "{norm} {part:?} on {:?}: {error:.1e}", SPACES[which]);
                // A norm is homogeneous of degree one: ⟨∇N, W⟩ = N (Euler).
                prop_assert!((inner(&gradient, &weights) - value).abs() < 1e-10 * value);
            }
        }
    }

    #[test]
    fn penalty_gradient_is_the_finite_difference(seed in any::<u64>(), which in 0..SPACES.len(), whole in any::<bool>()) {
        let (projector, rows) = projector(which);
        let weights: Vec<f64> = random_weights(projector.len(), seed);
        for norm in Norm::all() {
            for form in [Form::Squared, Form::Plain] {
                let penalty = PenaltyConfig { lambda_g: 0.3, lambda_perp: 1.7, norm, form, whole };
                let mut gradient = vec![0.5; weights.len()];
                let value = penalty.add_gradient(&projector, &weights, rows, &mut gradient).unwrap();
                prop_assert!((value - penalty.value(&projector, &weights, rows).unwrap()).abs() < 1e-12 * value);
                gradient.iter_mut().for_each(|g| *g -= 0.5);
                let expected = finite_differences(&weights, |w| penalty.value(&projector, w, rows).unwrap());
                let error = relative_error(&gradient, &expected);
                prop_assert!(error < 1e-7, "{norm} {form:?} on {:?}: {error:.1e}", SPACES[which]);
            }
        }
    }

    #[test]
    fn equal_strengths_squared_are_weight_decay(seed in any::<u64>(), lambda in 1e-6..10.0_f64) {
        let (projector, rows) = projector(KERNEL);
        let weights: Vec<f64> = random_weights(projector.len(), seed);
        let penalty = PenaltyConfig { lambda_g: lambda, lambda_perp: lambda, ..PenaltyConfig::default() };
        let mut gradient = vec![0.0; weights.len()];
        let value = penalty.add_gradient(&projector, &weights, rows, &mut gradient).unwrap();
        prop_assert!((value - lambda * inner(&weights, &weights)).abs() < 1e-12 * value);
        let decay: Vec<f64> = weights.iter().map(|w| 2.0 * lambda * w).collect();
        prop_assert_eq!(gradient, decay);
    }

    /// The (2,2) norm is the Frobenius norm, gradient and all.
    #[test]
    fn two_two_is_frobenius(seed in any::<u64>()) {
        let weights: Vec<f64> = random_weights(24, seed);
        let two_two: Norm = "(2,2)".parse().unwrap();
        let (a, b) = (two_two.value_and_gradient(&weights, 4).unwrap(), Norm::Frobenius.value_and_gradient(&weights, 4).unwrap());
        prop_assert_eq!(a, b);
    }

    #[test]
    fn single_precision_agrees_with_double(seed in any::<u64>()) {
        let weights: Vec<f64> = random_weights(24, seed);
        let narrow: Vec<f32> = weights.iter().map(|&w| w as f32).collect();
        let wide: Vec<f64> = narrow.iter().map(|&w| f64::from(w)).collect();
        for norm in Norm::all() {
            let (value, gradient) = norm.value_and_gradient(&narrow, 4).unwrap();
            let (expected, slope) = norm.value_and_gradient(&wide, 4).unwrap();
            prop_assert!((value - expected).abs() < 1e-12 * expected);
            let gradient: Vec<f64> = gradient.iter().map(|&g| f64::from(g)).collect();
            prop_assert!(relative_error(&gradient, &slope) < 4.0 * f64::from(f32::EPSILON));
        }
    }
}

/// Complex weights: the gradient is ∂/∂Re + i ∂/∂Im.
#[test]
fn complex_gradients_are_finite_differences() {
    let regular = rep::complexified(&rep::regular(&group::parse("C3").unwrap()).unwrap());
    let projector = HaarProjector::new(&KernelSpace::dense(&regular, &regular).unwrap()).unwrap();
    let parts: Vec<f64> = random_weights(18, 6);
    let join = |parts: &[f64]| -> Vec<c64> { parts.chunks(2).map(|z| c64::new(z[0], z[1])).collect() };
    for norm in Norm::all() {
        for part in [Component::Equivariant, Component::Perp] {
            let (_, gradient) = part.norm_and_gradient(norm, &projector, &join(&parts), 3).unwrap();
            let gradient: Vec<f64> = gradient.iter().flat_map(|z| [z.re, z.im]).collect();
            let expected = finite_differences(&parts, |w| part.norm(norm, &projector, &join(w), 3).unwrap());
            let error = relative_error(&gradient, &expected);
            assert!(error < 1e-7, "{norm} {part:?}: {error:.1e}");
        }
    }
}

/// The form one would write from the paper, ∂N taken at QW and not projected again, is right for Frobenius alone.
#[test]
fn without_projecting_again_the_gradient_is_wrong() {
    // Largest error of P(W) and of W − P(W).
    let mut largest = [0.0_f64; 2];
    for (which, name) in SPACES.iter().enumerate() {
        let (projector, rows) = projector(which);
        let weights: Vec<f64> = random_weights(projector.len(), 3);
        for norm in Norm::all() {
            for (slot, part) in [Component::Equivariant, Component::Perp].into_iter().enumerate() {
                let (_, naive) = norm.value_and_gradient(&part.of(&projector, &weights).unwrap(), rows).unwrap();
                let expected = finite_differences(&weights, |w| part.norm(norm, &projector, w, rows).unwrap());
                let error = relative_error(&naive, &expected);
                if matches!(norm.to_string().as_str(), "frobenius" | "(2,2)") {
                    assert!(error < 1e-7, "{norm} {part:?} on {name:?}: {error:.1e}");
                } else {
                    largest[slot] = largest[slot].max(error);
                }
            }
        }
    }
    assert!(largest.iter().all(|&error| error > 0.1), "{largest:?}");
}

/// At a weight that is equivariant in single precision, W − P(W) is rounding alone and must not pull with full strength.
#[test]
fn plain_penalty_does_not_chase_rounding() {
    for field in ["8 regular", "8 vector"] {
        let projector = derive(&space("C3", field, field, 0, 0)).unwrap();
        let rows = projector.len().isqrt();
        let draw: Vec<f32> = random_weights::<f64>(rows * rows, 7).iter().map(|&w| 10.0 * w as f32).collect();
        let weights = Projector::<f32>::project(&projector, &draw).unwrap();
        for norm in Norm::all() {
            let penalty = PenaltyConfig { lambda_perp: 1.0, norm, form: Form::Plain, ..PenaltyConfig::default() };
            let pull = |weights: &[f32]| -> f64 {
                let mut gradient = vec![0.0_f32; weights.len()];
                penalty.add_gradient(&projector, weights, rows, &mut gradient).unwrap();
                gradient.iter().map(|&g| f64::from(g).powi(2)).sum::<f64>().sqrt()
            };
            // The same weight, visibly off: a thousandth of what was projected away is put back.
            let off: Vec<f32> = weights.iter().zip(&draw).map(|(&p, &w)| p + 1e-3 * (w - p)).collect();
            let (still, full) = (pull(&weights), pull(&off));
            assert!(full > 0.1 && still < 0.1 * full, "{norm} on {field}: {still} of {full}");
        }
    }
}
