//! How logits change when volumes are turned or reflected: of the SCNN, of the CNN, and of ours where W = P(W).

use reynolds::group::Spatial;
use reynolds::random::Random;
use tch::{Device, Kind, Tensor};

use super::{bind, build, config, logits, volumes};
use crate::medmnist::evaluation::{turned, turns};
use crate::medmnist::networks::{Architecture, Network, Nonlinearity, SIDE, Symmetry, VolumeNetConfig};
use crate::network::{EVALUATE, TRAIN};
use crate::testing::{largest, normal};
use reynolds_torch::parameters::Parameters;

/// Random biases, so that nothing holds for zeros alone.
fn disturb(parameters: &Parameters) {
    for (entry, seed) in parameters.entries().iter().zip(9..).filter(|(entry, _)| entry.name.ends_with("bias")) {
        let mut place = parameters.flat().narrow(0, entry.start as i64, entry.len() as i64);
        place += normal(&[entry.len() as i64], seed) * 0.3;
    }
}

fn statistics(parameters: &Parameters) {
    for (entry, seed) in parameters.statistics_entries().iter().zip(10..) {
        let mut statistic = parameters.statistic(&entry.name).unwrap();
        let numbers = normal(&statistic.size(), seed);
        statistic.copy_(&if entry.name.ends_with("var") { numbers.sigmoid() + 0.5 } else { numbers * 0.3 });
    }
}

/// Ours with gates, of width 1, W = P(W), kernels as large as before, and statistics as after some training.
fn projected(group: Symmetry) -> (Box<dyn Network>, Parameters) {
    let config = VolumeNetConfig { nonlinearity: Nonlinearity::Gated, ..config(Architecture::Ours, group, 1) };
    let (network, mut parameters) = build(&config, 3, Kind::Double);
    let binding = bind(&*network, &parameters);
    binding.project_in_place(&mut parameters).unwrap();
    for bound in binding.bound().iter().filter(|bound| bound.entry.shape.len() == 5) {
        let (start, len) = (bound.entry.start as i64, bound.entry.len() as i64);
        let larger = (len as f64 / bound.rank as f64).sqrt();
        let _ = parameters.flat().narrow(0, start, len).g_mul_scalar_(larger);
    }
    statistics(&parameters);
    (network, parameters)
}

/// The largest change of a logit, beside the largest logit.
fn change(network: &dyn Network, parameters: &Parameters, volume: &Tensor, moved: &Tensor) -> f64 {
    let both = tch::no_grad(|| logits(network, parameters, &Tensor::cat(&[volume, moved], 0), EVALUATE));
    largest(&(both.get(0) - both.get(1))) / largest(both.get(0))
}

#[test]
fn logits_are_invariant_under_the_rotations_of_the_grid_and_those_of_o3_under_reflections_too() {
    let [rotations, reflections] = turns();
    // A turn about a diagonal and a quarter turn, which generate all 24; two reflections.
    let moves = [(rotations[4], false), (rotations[13], false), (reflections[0], true), (reflections[9], true)];
    let volume = volumes(1, 2);
    for group in [Symmetry::So3, Symmetry::O3] {
        let scnn = build(&config(Architecture::Scnn, group, 1), 3, Kind::Double);
        disturb(&scnn.1);
        statistics(&scnn.1);
        let ours = projected(group);
        for (what, (network, parameters), least, most) in [("SCNN", scnn, 1e-3, 1e-10), ("ours", ours, 1e-6, 1e-9)] {
            for (turn, is_reflection) in moves {
                let change = change(&*network, &parameters, &volume, &turned(&volume, turn).unwrap());
                match is_reflection && group == Symmetry::So3 {
                    true => assert!(change > least, "{what}, {group:?}, {turn:?}: {change:e}"),
                    false => assert!(change < most, "{what}, {group:?}, {turn:?}: {change:e}"),
                }
            }
        }
    }
}

/// A scene of Gaussian blobs, sampled at turned places.
fn blobs(scene: u64, turn: &Spatial) -> Tensor {
    let mut random = Random::new(scene);
    let mut centre = || std::array::from_fn(|_| 5.0 * (2.0 * random.uniform() - 1.0));
    let blobs: [([f64; 3], f64); 6] = std::array::from_fn(|number| (centre(), [1.0, -0.8, 0.6][number % 3]));
    let middle = (SIDE as f64 - 1.0) / 2.0;
    let value = |index: usize| {
        let place = [index % SIDE, index / SIDE % SIDE, index / (SIDE * SIDE)].map(|at| at as f64 - middle);
        let place: [f64; 3] = std::array::from_fn(|i| (0..3).map(|j| turn.rotation[i][j] * place[j]).sum());
        let blob = |(centre, height): &([f64; 3], f64)| {
            let square: f64 = (0..3).map(|axis| (place[axis] - centre[axis]).powi(2)).sum();
            height * (-square / (2.0 * 3.0 * 3.0)).exp()
        };
        blobs.iter().map(blob).sum::<f64>() as f32
    };
    let side = SIDE as i64;
    Tensor::from_slice(&(0..SIDE.pow(3)).map(value).collect::<Vec<f32>>()).view([1, 1, side, side, side])
}

#[test]
fn small_rotations_change_logits_by_the_error_of_sampling_alone() {
    let turn = |degrees: f64| {
        let tilt = Spatial::from_euler(0.4, 0.9, 0.2);
        tilt.multiply(Spatial::from_euler(degrees.to_radians(), 0.0, 0.0)).multiply(tilt.inverse())
    };
    let moved = [0.0, 5.0, 10.0].map(|degrees| blobs(1, &turn(degrees)));
    let others = [2, 3, 4, 5].map(|scene| blobs(scene, &turn(0.0)));
    let all = Tensor::cat(&moved.iter().chain(&others).collect::<Vec<_>>(), 0);
    let change = |architecture, seed| {
        let mut builder = Parameters::builder();
        let network = config(architecture, Symmetry::So3, 1).build(32, &mut builder, &mut Random::new(seed)).unwrap();
        let parameters = builder.build(Kind::Float, Device::Cpu).unwrap();
        // Running statistics that are those of these volumes: what one pass that trains would reach after many.
        let before = parameters.statistics().copy();
        let _ = tch::no_grad(|| logits(&*network, &parameters, &all, TRAIN));
        let reached = (parameters.statistics() - before * 0.9) / 0.1;
        parameters.statistics().shallow_clone().copy_(&reached);
        let logits = tch::no_grad(|| logits(&*network, &parameters, &all, EVALUATE));
        let change =
            |number: i64| f64::try_from((logits.get(number) - logits.get(0)).norm().to_kind(Kind::Double)).unwrap();
        // Beside what another scene changes.
        let spread = (3..7).map(change).sum::<f64>() / 4.0;
        [1, 2].map(|number| change(number) / spread)
    };
    // Random networks differ, up to 7 % and 17 %: the mean of five.
    let mean = |architecture: Architecture| {
        let all: Vec<[f64; 2]> = (1..6).map(|seed| change(architecture, seed)).collect();
        [0, 1].map(|angle| all.iter().map(|of| of[angle]).sum::<f64>() / 5.0)
    };
    let (scnn, dense) = (mean(Architecture::Scnn), mean(Architecture::Cnn));
    // Voxels, and steps of four of them in the last layers, cost 3 % at 5° and 5 % at 10°; a dense net changes by 10 % and 22 %.
    assert!(scnn[0] < 0.05 && scnn[1] < 0.1, "{scnn:?}");
    assert!(scnn.iter().zip(dense).all(|(scnn, dense)| scnn < &(dense / 3.0)), "{scnn:?} {dense:?}");
}
