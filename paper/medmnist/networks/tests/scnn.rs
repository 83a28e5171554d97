//! The SCNN: counts, invariance, gradients.

use reynolds::group::Spatial;
use reynolds::random::Random;
use tch::{Device, Kind, Tensor};

use crate::medmnist::networks::block::Block;
use crate::medmnist::networks::scnn::{ScnnBlock, steerable};
use crate::medmnist::networks::{Architecture, Fields, Mode, Network, Pass, SIDE, Symmetry, VolumeNetConfig};
use reynolds_torch::parameters::Parameters;
use reynolds_torch::precision::Precision;

const EVALUATE: Pass = Pass { mode: Mode::Evaluate, precision: Precision::F32 };
const TRAIN: Pass = Pass { mode: Mode::Train, precision: Precision::F32 };

fn config(group: Symmetry, width: usize) -> VolumeNetConfig {
    VolumeNetConfig { architecture: Architecture::Scnn, group, width, ..VolumeNetConfig::default() }
}

fn network(config: &VolumeNetConfig, classes: usize, kind: Kind) -> (Box<dyn Network>, Parameters) {
    let mut builder = Parameters::builder();
    let network = config.build(classes, &mut builder, &mut Random::new(5)).unwrap();
    (network, builder.build(kind, Device::Cpu).unwrap())
}

/// Random biases and running statistics, so that nothing holds for zeros alone.
fn disturb(parameters: &Parameters) {
    let mut random = Random::new(9);
    let _guard = tch::no_grad_guard();
    for entry in parameters.entries().iter().filter(|entry| entry.name.ends_with("bias")) {
        let noise: Vec<f64> = (0..entry.len()).map(|_| 0.3 * random.normal()).collect();
        let mut place = parameters.flat().narrow(0, entry.start as i64, entry.len() as i64);
        place += Tensor::from_slice(&noise).to_kind(parameters.flat().kind());
    }
    for entry in parameters.statistics_entries() {
        let number = |random: &mut Random| match entry.name.ends_with("var") {
            true => 0.5 + random.uniform(),
            false => 0.3 * random.normal(),
        };
        let numbers: Vec<f64> = (0..entry.len()).map(|_| number(&mut random)).collect();
        parameters
            .statistic(&entry.name)
            .unwrap()
            .copy_(&Tensor::from_slice(&numbers).view_as(&parameters.statistic(&entry.name).unwrap()));
    }
}

fn numbers(shape: &[i64], kind: Kind) -> Tensor {
    let mut random = Random::new(2);
    let numbers: Vec<f64> = (0..shape.iter().product::<i64>()).map(|_| random.normal()).collect();
    Tensor::from_slice(&numbers).view(shape).to_kind(kind)
}

fn volume(kind: Kind) -> Tensor {
    numbers(&[1, 1, SIDE as i64, SIDE as i64, SIDE as i64], kind)
}

fn logits(network: &dyn Network, parameters: &Parameters, volumes: &Tensor, pass: Pass) -> Tensor {
    let _guard = tch::no_grad_guard();
    let assembled = network.assemble(parameters, pass).unwrap();
    network.forward(parameters, &assembled, volumes, pass).unwrap()
}

/// The orders and flips of the three axes that are the 24 rotations of the cube, then the 24 with a reflection.
fn turns() -> Vec<([i64; 3], Vec<i64>)> {
    let orders = [[0, 1, 2], [1, 2, 0], [2, 0, 1], [0, 2, 1], [2, 1, 0], [1, 0, 2]];
    let mut all = Vec::new();
    for (number, order) in orders.into_iter().enumerate() {
        for signs in 0..8_u32 {
            let flips: Vec<i64> = (0..3).filter(|axis| signs >> axis & 1 == 1).collect();
            all.push(((flips.len() % 2 == 1) != (number >= 3), order, flips));
        }
    }
    all.sort_by_key(|(improper, ..)| *improper);
    all.into_iter().map(|(_, order, flips)| (order, flips)).collect()
}

fn turned(volumes: &Tensor, (order, flips): &([i64; 3], Vec<i64>)) -> Tensor {
    let flips: Vec<i64> = flips.iter().map(|axis| axis + 2).collect();
    volumes.permute([0, 1, 2 + order[0], 2 + order[1], 2 + order[2]]).flip(flips.as_slice()).contiguous()
}

fn largest(tensor: &Tensor) -> f64 {
    f64::try_from(tensor.detach().abs().max().to_kind(Kind::Double)).unwrap()
}

#[test]
fn parameters_are_counted_as_published() {
    for (group, total, convolutions) in [(Symmetry::So3, 128_891, Some(126_384)), (Symmetry::O3, 193_241, None)] {
        let (_, parameters) = network(&config(group, 6), 11, Kind::Float);
        assert_eq!(parameters.len(), total);
        let kernels = |name: &str| name.starts_with('r') && (name.contains("conv") || name.contains("skip"));
        let weights =
            parameters.entries().iter().filter(|entry| entry.name.ends_with("weight") && kernels(&entry.name));
        let weights: usize = weights.map(|entry| entry.len()).sum();
        assert!(convolutions.is_none_or(|count| count == weights), "{weights}");
    }
}

#[test]
fn logits_are_invariant_under_the_24_rotations_of_the_grid() {
    let (network, parameters) = network(&config(Symmetry::So3, 1), 3, Kind::Float);
    disturb(&parameters);
    let volume = volume(Kind::Float);
    let moved: Vec<Tensor> = turns()[..24].iter().map(|turn| turned(&volume, turn)).collect();
    let all = logits(&*network, &parameters, &Tensor::cat(&moved, 0), EVALUATE);
    let change = largest(&(&all - all.narrow(0, 0, 1))) / largest(&all);
    assert!(change < 1e-5, "{change:e}");
}

#[test]
fn logits_are_exactly_invariant_and_only_those_of_o3_under_reflections() {
    // Turns that generate the 24, and reflections.
    let turns = turns();
    let chosen = [0, 2, 5, 21, 26, 40].map(|number| &turns[number]);
    for group in [Symmetry::So3, Symmetry::O3] {
        let (network, parameters) = network(&config(group, 1), 3, Kind::Double);
        disturb(&parameters);
        let volume = volume(Kind::Double);
        let moved = chosen.map(|turn| turned(&volume, turn));
        let all = logits(&*network, &parameters, &Tensor::cat(&moved, 0), EVALUATE);
        for number in 1..6 {
            let change = largest(&(all.get(number) - all.get(0))) / largest(&all.get(0));
            match group == Symmetry::O3 || number < 4 {
                true => assert!(change < 1e-10, "{group:?}, turn {number}: {change:e}"),
                false => assert!(change > 1e-3, "{group:?}, reflection {number}: {change:e}"),
            }
        }
    }
}

/// A block of width 1 and input of a side that makes sense to it, small.
fn block(group: Symmetry, number: usize) -> (ScnnBlock, Parameters, Tensor) {
    let mut builder = Parameters::builder();
    let config = config(group, 1);
    let block = ScnnBlock::scnn(&mut builder, number, &config, &steerable, &mut Random::new(6)).unwrap();
    let parameters = builder.build(Kind::Double, Device::Cpu).unwrap();
    disturb(&parameters);
    let channels = Fields::of_network(group, 1)[2 * number].dim() as i64;
    let side = [7, 13, 3][number];
    (block, parameters, numbers(&[2, channels, side, side, side], Kind::Double))
}

fn through(block: &ScnnBlock, parameters: &Parameters, input: &Tensor, pass: Pass) -> Tensor {
    let assembled = block.assemble(parameters, pass).unwrap();
    assert_eq!(assembled.len(), block.kernels());
    block.forward(parameters, &assembled, input, pass).unwrap()
}

#[test]
fn gradients_are_those_of_finite_differences_for_every_parameter() {
    for (group, number) in [(Symmetry::So3, 0), (Symmetry::So3, 1), (Symmetry::So3, 2), (Symmetry::O3, 0)] {
        let (block, parameters, input) = block(group, number);
        let direction = through(&block, &parameters, &input, EVALUATE).detach().cos();
        let loss = || (through(&block, &parameters, &input, EVALUATE) * &direction).sum(Kind::Double);
        let gradient = parameters.gradient(&loss()).unwrap();
        let start = parameters.flat().copy();
        let mut random = Random::new(4);
        for entry in parameters.entries() {
            let (at, len) = (entry.start as i64, entry.len() as i64);
            let step = Tensor::from_slice(&(0..len).map(|_| random.normal()).collect::<Vec<f64>>());
            let slope = f64::try_from((gradient.narrow(0, at, len) * &step).sum(Kind::Double)).unwrap();
            let moved = |by: f64| {
                let _guard = tch::no_grad_guard();
                parameters.assign(&start).unwrap();
                let mut place = parameters.flat().narrow(0, at, len);
                place += &step * by;
                f64::try_from(loss()).unwrap()
            };
            let h = 1e-4;
            let difference = (8.0 * (moved(h) - moved(-h)) - (moved(2.0 * h) - moved(-2.0 * h))) / (12.0 * h);
            let error = (slope - difference).abs();
            assert!(error < 1e-8 * slope.abs().max(1.0), "{}: {slope} {difference}", entry.name);
            assert!(slope != 0.0, "{} has no gradient", entry.name);
            parameters.assign(&start).unwrap();
        }
    }
}

#[test]
fn training_statistics_are_those_of_the_minibatch_however_it_is_turned() {
    let turn = &turns()[7];
    let after = |turn: Option<&([i64; 3], Vec<i64>)>| {
        let (block, parameters, input) = block(Symmetry::So3, 0);
        let input = turn.map_or(input.shallow_clone(), |turn| turned(&input, turn));
        let output = tch::no_grad(|| through(&block, &parameters, &input, TRAIN));
        // Scalars of the output come first.
        (
            parameters.statistics().copy(),
            output.narrow(1, 0, 2).sum_dim_intlist([2, 3, 4].as_slice(), false, Kind::Double),
        )
    };
    let ((still, output), (moved, moved_output)) = (after(None), after(Some(turn)));
    assert!(largest(&(&still - moved)) < 1e-12 && largest(&(output - moved_output)) < 1e-10);
    let (_, parameters, _) = block(Symmetry::So3, 0);
    assert!(largest(&(still - parameters.statistics())) > 1e-3);
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
        let config = VolumeNetConfig { architecture, ..config(Symmetry::So3, 1) };
        let mut builder = Parameters::builder();
        let network = config.build(32, &mut builder, &mut Random::new(seed)).unwrap();
        let parameters = builder.build(Kind::Float, Device::Cpu).unwrap();
        // Running statistics that are those of these volumes: what one pass that trains would reach after many.
        let before = parameters.statistics().copy();
        let _ = logits(&*network, &parameters, &all, TRAIN);
        let reached = (parameters.statistics() - before * 0.9) / 0.1;
        parameters.statistics().shallow_clone().copy_(&reached);
        let logits = logits(&*network, &parameters, &all, EVALUATE);
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
