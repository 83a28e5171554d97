//! RPP, Lift and CLCNN.

use super::{FRAMES, built, config, forecast, largest, network, number, squared};
use crate::smoke::networks::{Architecture, Frames};
use reynolds_torch::parameters::Parameters;

#[test]
fn without_its_dense_part_the_residual_network_is_the_steerable_one() {
    let (residual, parameters) = network(Architecture::Rpp, 3);
    let (shared, equivariant) = network(Architecture::Equiv, 3);
    for entry in equivariant.entries() {
        tch::no_grad(|| equivariant.get(&entry.name).unwrap().copy_(&parameters.get(&entry.name).unwrap()));
    }
    let expected = forecast(shared.as_ref(), &equivariant);
    assert!(largest(&(forecast(residual.as_ref(), &parameters) - &expected)) > 1e-3 * largest(&expected));
    let dense = |parameters: &Parameters| {
        let names: Vec<String> = parameters.entries().iter().map(|entry| entry.name.clone()).collect();
        names.into_iter().filter(|name| name.starts_with("dense.")).collect::<Vec<_>>()
    };
    let energy: f64 = dense(&parameters).iter().map(|name| squared(&parameters.get(name).unwrap())).sum();
    let constraint = number(&residual.constraint(&parameters, &[]).unwrap().unwrap());
    assert!((constraint - 1e-6 * energy).abs() < 1e-18 * energy && energy > 1.0, "{constraint} {energy}");
    for name in dense(&parameters) {
        let _ = tch::no_grad(|| parameters.get(&name).unwrap().zero_());
    }
    let found = forecast(residual.as_ref(), &parameters);
    assert!(largest(&(found - &expected)) < 1e-12 * largest(&expected).max(1.0));
}

#[test]
fn what_the_encoder_says_reaches_every_pixel_and_silence_is_the_steerable_network() {
    let (lift, parameters) = network(Architecture::Lift, 4);
    // The third layer reads one more channel, first; without a say it is the layer of a steerable network.
    let (shared, equivariant) = network(Architecture::Equiv, 4);
    for entry in equivariant.entries() {
        let weight = parameters.get(&entry.name).unwrap();
        let weight = if entry.name == "layers.2.weight" { weight.narrow(2, 1, 2) } else { weight };
        tch::no_grad(|| equivariant.get(&entry.name).unwrap().copy_(&weight));
    }
    let expected = forecast(shared.as_ref(), &equivariant);
    let told = forecast(lift.as_ref(), &parameters);
    assert!(number(&(told - &expected).abs().amax([0_i64, 1].as_slice(), false).min()) > 0.0);
    for name in ["encoder.2.weight", "encoder.2.bias"] {
        let _ = tch::no_grad(|| parameters.get(name).unwrap().zero_());
    }
    let found = forecast(lift.as_ref(), &parameters);
    assert!(largest(&(found - &expected)) < 1e-12 * largest(&expected).max(1.0));
    assert!(
        built(&config(Architecture::Lift, 2, 3), FRAMES).is_err()
            && built(&config(Architecture::Lift, 1, 4), FRAMES).is_err()
    );
}

#[test]
fn kernels_that_look_the_same_at_every_size_cost_nothing_and_others_what_a_hand_finds() {
    let (local, parameters) = network(Architecture::Clcnn, 2);
    assert_eq!(forecast(local.as_ref(), &parameters).size(), [3, 2, 8, 8]);
    // One tap in the middle stays what it is, however it is scaled.
    let constraint = |tap: i64| {
        for number in 0..2 {
            let weight = parameters.get(&format!("layers.{number}.weight")).unwrap();
            let _ = tch::no_grad(|| weight.shallow_clone().zero_());
            let _ = tch::no_grad(|| weight.get(0).get(0).get(0).get(tap / 3).get(tap % 3).get(0).fill_(8.0));
        }
        number(&local.constraint(&parameters, &[]).unwrap().unwrap())
    };
    assert_eq!(constraint(4), 0.0);
    // The tap above the middle, seen at (−1, 0) and (0, 0): (0, 8), (4, 4), (8, 0), (4, 0), (0, 0); differences 8, 8, 4, 4 and around 8.
    let numbers =
        |number: usize| parameters.get(&format!("layers.{number}.weight")).unwrap().numel() as f64 / 9.0 * 20.0;
    let expected = 32.0 * (1.0 / numbers(0) + 1.0 / numbers(1));
    assert!((constraint(1) - expected).abs() < 1e-12 * expected);
    // The tap below it is seen at (0, 0) alone: 8, 4, 0, 0, 0.
    assert!((constraint(7) - expected / 2.0).abs() < 1e-12 * expected);
    let counted = |hidden: usize| 4096 * 9 * hidden * (20 + 3 * hidden + 2);
    assert_eq!(counted(6), 8_847_360);
    let message = built(&config(Architecture::Clcnn, 8, 5), Frames::default()).unwrap_err().to_string();
    assert!(message.ends_with(&format!("found 8 with {}", counted(8))), "{message}");
}
