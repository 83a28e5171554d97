//! Tensors whose symmetry is known, for the error rates of the ranking.

use reynolds::audit::ranking::{Contest, Found};
use reynolds::group;
use reynolds::plan::{SymmetryPlan, UniformFields};
use reynolds::projection::Projector;
use reynolds::random::Random;

/// Shapes of noise: kernels with one to three axes, rectangles, few weights and many, linear maps.
pub const SHAPES: [&[usize]; 10] = [
    &[8, 8, 3, 3],
    &[16, 16, 5, 5],
    &[64, 3, 7, 7],
    &[4, 3, 3, 3],
    &[32, 1, 3, 3],
    &[1, 1, 5, 5],
    &[8, 8, 2, 2],
    &[16, 16, 3, 5],
    &[4, 4, 3, 3, 3],
    &[32, 64],
];

/// Independent weights: normal, uniform or with heavy tails, in turn over the seeds.
pub fn noise(shape: &[usize], seed: u64) -> Vec<f64> {
    let mut random = Random::at(seed, &[0]);
    let draw = |_| match seed % 3 {
        0 => random.normal(),
        1 => random.between(-1.0, 1.0),
        _ => random.normal().powi(3),
    };
    (0..shape.iter().product()).map(draw).collect()
}

/// Normal weights that are invariant under the group, plus noise of `noise` times their standard deviation. `spread` multiplies the weights
/// at each point of the kernel; constant on orbits it leaves the group as it is.
pub fn planted(group: &str, shape: &[usize], noise: f64, seed: u64, spread: impl Fn(usize) -> f64) -> Vec<f64> {
    let mut random = Random::at(seed, &[1]);
    let weights: Vec<f64> = (0..shape.iter().product()).map(|_| random.normal()).collect();
    let plan =
        SymmetryPlan::uniform(&group::parse(group).expect("groups and shapes of the tests"), UniformFields::Trivial)
            .expect("groups and shapes of the tests");
    let resolved = plan.resolve(&[("w".into(), shape.to_vec())]).expect("groups and shapes of the tests");
    let signal = resolved.layers[0].projector.project(&weights).expect("groups and shapes of the tests");
    let deviation = (signal.iter().map(|w| w * w).sum::<f64>() / signal.len() as f64).sqrt();
    let points: usize = shape[2..].iter().product();
    let noisy = signal.iter().map(|w| w + noise * deviation * random.normal());
    noisy.enumerate().map(|(at, w)| w * spread(at % points)).collect()
}

/// What the ranking says of one tensor.
pub fn named(shape: &[usize], weights: &[f64]) -> Found {
    let contests =
        Contest::all(&[("w".into(), shape.to_vec())], UniformFields::Trivial).expect("groups and shapes of the tests");
    let weighed = contests[0].weigh(0, &weights.into()).expect("groups and shapes of the tests");
    contests[0].judge(&[weighed]).found
}

/// Whether exactly this group was named, if necessary together with others that no weights of the shape can tell from it.
pub fn is_exactly(found: &Found, group: &str) -> bool {
    found.group.iter().chain(&found.same_as).any(|name| name == group)
}
