//! Norms of P(W) and W − P(W) and their gradients, against PyTorch's autograd through P and SciPy's singular values.

use reynolds::norm::{Component, Norm};
use reynolds::projection::{Projector, derive};
use reynolds_testkit::golden::Golden;
use reynolds_testkit::projector_laws::largest_difference;

const ROWS: usize = 8;

fn projector() -> impl Projector<f64> {
    derive(&reynolds_testkit::space("C4", "regular", "2 regular", 3, 2)).unwrap()
}

fn file_name(norm: Norm) -> String {
    match norm {
        Norm::Frobenius => "fro".into(),
        Norm::Spectral => "spectral".into(),
        Norm::Max => "max".into(),
        Norm::Entrywise { p, q } => format!("p{}q{}", p.get(), q.get()),
    }
}

#[test]
fn projection_is_that_of_pytorch() {
    let golden = Golden::open("norm_gradients");
    let projected = projector().project(&golden.tensor("weight").1).unwrap();
    assert!(largest_difference(&projected, &golden.tensor("projected").1) < 1e-14);
}

#[test]
fn norms_and_gradients_are_those_of_autograd() {
    let golden = Golden::open("norm_gradients");
    let projector = projector();
    let (_, weight) = golden.tensor("weight");
    for norm in Norm::all() {
        let name = file_name(norm);
        let (_, values) = golden.tensor(&format!("value.{name}"));
        let parts = [(Component::Whole, "whole"), (Component::Equivariant, "project"), (Component::Perp, "perp")];
        for ((part, suffix), expected) in parts.into_iter().zip(values) {
            let (value, gradient) = part.norm_and_gradient(norm, &projector, &weight, ROWS).unwrap();
            assert!((value / expected - 1.0).abs() < 1e-12, "{name} of {suffix}: {value}, expected {expected}");
            let error = largest_difference(&gradient, &golden.tensor(&format!("gradient.{name}.{suffix}")).1);
            assert!(error < 1e-11, "gradient of {name} of {suffix}: off by {error:e}");
        }
    }
}

#[test]
fn a_double_singular_value_needs_the_second_projection() {
    // The largest singular value of P(W) is double here (SciPy), so one singular pair alone is no derivative.
    let golden = Golden::open("norm_gradients");
    let (_, singular) = golden.tensor("singular_values.project");
    assert!((singular[0] - singular[1]).abs() < 1e-12 && singular[1] - singular[2] > 1e-3);
    let (_, weight) = golden.tensor("weight");
    let value = Component::Equivariant.norm(Norm::Spectral, &projector(), &weight, ROWS).unwrap();
    assert!((value - singular[0]).abs() < 1e-12);
}
