//! What is true of the networks for changes of size.

use super::*;
use crate::smoke::networks::Symmetry::Scaling;
use crate::smoke::networks::scaling::{KERNEL, LAST_SCALES, SCALES};

const FRAMES: Frames = Frames { count: 2, side: 8 };

fn network(architecture: Architecture, layers: usize) -> Built {
    moved(Scaling, &config(architecture, 2, layers), FRAMES)
}

fn frames() -> Tensor {
    normal(&[3, 4, 8, 8], 9)
}

#[test]
fn kernels_that_look_the_same_at_every_size_cost_nothing_and_others_what_a_hand_finds() {
    let (local, parameters) = network(Architecture::Clcnn, 2);
    // One tap in the middle stays what it is, however it is scaled.
    let constraint = |tap: i64| {
        for number in 0..2 {
            let weight = parameters.get(&format!("layers.{number}.weight")).unwrap();
            let _ = tch::no_grad(|| weight.shallow_clone().zero_());
            let _ = tch::no_grad(|| weight.get(0).get(0).get(0).get(tap / 3).get(tap % 3).get(0).fill_(8.0));
        }
        number(local.prior(&parameters).unwrap().unwrap())
    };
    assert_eq!(constraint(4), 0.0);
    // The tap above the middle, seen at (−1, 0) and (0, 0): (0, 8), (4, 4), (8, 0), (4, 0), (0, 0); differences 8, 8, 4, 4 and around 8.
    let numbers =
        |number: usize| parameters.get(&format!("layers.{number}.weight")).unwrap().numel() as f64 / 9.0 * 20.0;
    let expected = 32.0 * (1.0 / numbers(0) + 1.0 / numbers(1));
    assert!((constraint(1) - expected).abs() < 1e-12 * expected);
    // The tap below it is seen at (0, 0) alone: 8, 4, 0, 0, 0.
    assert!((constraint(7) - expected / 2.0).abs() < 1e-12 * expected);
}

#[test]
fn a_window_alone_has_three_sizes_to_normalise_with() {
    let frames = Frames { count: 2, side: 1 };
    let (network, parameters) = build(Scaling, &config(Architecture::Rgroup, 2, 3), frames, Kind::Double).unwrap();
    let assembled = network.assemble(&parameters, TRAIN).unwrap();
    let _ = network.forward(&parameters, &assembled, &normal(&[1, 4, 1, 1], 3), TRAIN).unwrap();
    assert!(largest(parameters.statistics()).is_finite());
}

#[test]
fn a_projected_relaxed_group_network_is_that_of_one_filter_at_all_sizes() {
    let mut relaxed = network(Architecture::Rgroup, 4);
    let before = forecast(&relaxed, &frames());
    relaxed.0.project(&mut relaxed.1).unwrap();
    let one = SmokeNetConfig { banks: 1, ..config(Architecture::Rgroup, 2, 4) };
    let shared = build(Scaling, &one, FRAMES, Kind::Double).unwrap();
    copy(&relaxed.1, &shared.1, |name, value| {
        if let Some(name) = name.strip_suffix("filters") {
            let mixing = relaxed.1.get(&format!("{name}mixing")).unwrap().detach().get(0).view([2, 1, 1]);
            (value * mixing).sum_dim_intlist(2, true, Kind::Double)
        } else if name.ends_with("mixing") {
            value.narrow(1, 0, 1).ones_like()
        } else {
            value
        }
    });
    let (after, expected) = (forecast(&relaxed, &frames()), forecast(&shared, &frames()));
    assert!(largest(&after - &expected) < 1e-12 * largest(&expected).max(1.0));
    assert!(largest(before - &after) > 1e-3 * largest(&after));
}

#[test]
fn shared_weights_compute_whatever_relaxed_ones_do_and_the_penalty_of_that_is_zero() {
    let (relaxed, equiv) = (network(Architecture::Rsteer, 4), network(Architecture::Equiv, 4));
    let (parameters, equivariant) = (&relaxed.1, &equiv.1);
    let expected = forecast(&relaxed, &frames());
    let kernels = relaxed.0.assemble(parameters, EVALUATE).unwrap();
    for (number, kernel) in kernels.iter().enumerate() {
        let is_last = number + 1 == kernels.len();
        let functions = HermiteGauss::new(KERNEL, 7, if is_last { &LAST_SCALES } else { &SCALES });
        let kernel = kernel.detach();
        let [outputs, inputs, side, _] = kernel.size()[..] else { panic!("{:?}", kernel.size()) };
        let margin = (KERNEL - side as usize) / 2;
        let points = (0..side as usize).flat_map(|y| (0..side as usize).map(move |x| (y + margin, x + margin)));
        let samples = points.flat_map(|(y, x)| (0..49).map(move |function| (function, y, x)));
        let samples: Vec<f64> = samples.map(|(function, y, x)| functions.value(function, 0, y, x)).collect();
        let samples = Tensor::from_slice(&samples).view([side * side, 49]);
        // Of full rank: w = ψᵀ(ψψᵀ)⁻¹κ.
        let inverse = samples.transpose(0, 1).matmul(&samples.matmul(&samples.transpose(0, 1)).inverse());
        let weight = inverse.matmul(&kernel.reshape([outputs * inputs, side * side]).transpose(0, 1));
        let name = format!("layers.{number}");
        tch::no_grad(|| {
            let weight = weight.view([49, outputs, inputs]);
            equivariant.get(&format!("{name}.weight")).unwrap().copy_(&weight);
            equivariant.get(&format!("{name}.bias")).unwrap().copy_(&parameters.get(&format!("{name}.bias")).unwrap());
            let mut everywhere = parameters.get(&format!("{name}.weight")).unwrap();
            everywhere.copy_(&weight.expand_as(&everywhere));
        });
    }
    for built in [&relaxed, &equiv] {
        assert!(largest(forecast(built, &frames()) - &expected) < 1e-9 * largest(&expected));
    }
    let (kept, gone) = energies(relaxed.0.as_ref(), parameters).unwrap().unwrap();
    assert!(gone < 1e-24 * kept, "{gone} {kept}");
}

#[test]
fn a_projected_relaxed_layer_is_the_steerable_one_of_its_mean_weights() {
    let (mut relaxed, shared) = (network(Architecture::Rsteer, 3), network(Architecture::Equiv, 3));
    let before = forecast(&relaxed, &frames());
    relaxed.0.project(&mut relaxed.1).unwrap();
    copy(&relaxed.1, &shared.1, |name, weight| match name.ends_with("bias") {
        true => weight,
        false => weight.mean_dim([0_i64, 1].as_slice(), false, Kind::Double),
    });
    let (after, expected) = (forecast(&relaxed, &frames()), forecast(&shared, &frames()));
    assert!(largest(&after - &expected) < 1e-12 * largest(&expected).max(1.0));
    assert!(largest(before - &after) > 1e-3 * largest(&after));
}
