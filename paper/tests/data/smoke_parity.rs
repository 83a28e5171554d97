//! Our smoke against PhiFlow's: golden/smoke_phiflow.py.

use reynolds_checkpoint::{Checkpoint, Values};
use reynolds_paper::smoke::data::{FRAME, Setting, Symmetry, simulate};
use std::path::Path;

fn golden(file: &str, name: &str) -> Vec<f32> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../golden").join(file);
    let checkpoint = Checkpoint::open(path).unwrap();
    match checkpoint.read(checkpoint.entry(name).unwrap()).unwrap() {
        Values::F32(values) => values.into_owned(),
        Values::F64(values) => values.iter().map(|&v| v as f32).collect(),
    }
}

/// The first `frames` frames of a simulation.
fn ours(setting: &Setting, frames: usize) -> Vec<f32> {
    simulate(&Setting { steps: setting.dropped + frames, ..setting.clone() }, &|| Ok(())).unwrap()
}

fn frame(frames: &[f32], number: usize) -> &[f32] {
    &frames[(number - 1) * FRAME..number * FRAME]
}

/// ‖a − b‖ / ‖b‖.
fn distance(a: &[f32], b: &[f32]) -> f64 {
    assert_eq!(a.len(), b.len());
    let square = |x: f64| x * x;
    let difference: f64 = a.iter().zip(b).map(|(a, b)| square(f64::from(*a) - f64::from(*b))).sum();
    (difference / b.iter().map(|b| square(f64::from(*b))).sum::<f64>()).sqrt()
}

#[test]
fn frames_are_those_of_phiflow_to_the_last_bit() {
    let theirs = golden("smoke_phiflow.npz", "rotation");
    let ours = ours(&Symmetry::Rotation.simulations()[4], 100);
    for (number, theirs) in [1, 5, 20, 50, 100].into_iter().zip(theirs.chunks_exact(FRAME)) {
        let ours = frame(&ours, number);
        assert!(distance(ours, theirs) <= if number <= 20 { 1e-3 } else { 2e-2 }, "frame {number}");
        assert!(ours == theirs, "frame {number}: {:e}", distance(ours, theirs));
    }
}

#[test]
fn the_lift_of_the_two_halves_is_that_of_phiflow() {
    let setting = Symmetry::Translation.simulations()[15].clone();
    assert_eq!(setting.centre, [32.0, 5.0]);
    assert!(frame(&ours(&setting, 40), 40) == golden("smoke_phiflow_others.npz", "translation"));
}

#[test]
fn a_shrunk_box_is_that_of_phiflow() {
    // 83² cells: no power of two, so that the places of points and the halves of means round as well.
    assert!(frame(&ours(&Symmetry::Scaling.simulations()[3], 30), 30) == golden("smoke_phiflow_others.npz", "scaling"));
}
