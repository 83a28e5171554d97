//! Truths about whole networks, one architecture beside the other.

use reynolds::projection::{HaarProjector, Projector};
use reynolds::random::Random;
use tch::{Device, Kind, Tensor};

use super::fields::{Field, Fields, kernel_space};
use crate::smoke::networks::{Architecture, Forecaster, Frames, Held, Mode, SmokeNetConfig, Symmetry};
use reynolds_torch::parameters::Parameters;

const FRAMES: Frames = Frames { count: 10, side: 8 };

fn network(architecture: Architecture, hidden: usize, layers: usize, kind: Kind) -> (Box<dyn Forecaster>, Parameters) {
    let config = SmokeNetConfig { architecture, hidden, layers, ..SmokeNetConfig::default() };
    let mut builder = Parameters::builder();
    let network = config.build(Symmetry::Rotation, FRAMES, &mut builder, &mut Random::new(5)).unwrap();
    (network, builder.build(kind, Device::Cpu).unwrap())
}

fn normal(shape: &[i64], seed: u64, kind: Kind) -> Tensor {
    let mut random = Random::new(seed);
    let values: Vec<f64> = (0..shape.iter().product()).map(|_| random.normal()).collect();
    Tensor::from_slice(&values).view(shape).to_kind(kind)
}

/// Every parameter anywhere, biases and mixing weights too, on top of where it began.
fn shake(parameters: &Parameters, size: f64) {
    let noise = normal(&parameters.flat().size(), 9, parameters.flat().kind()) * size;
    parameters.assign(&(parameters.flat() + noise)).unwrap();
}

/// Frames of vectors `[N, 2T, H, W]` turned by +90°: (v_x, v_y) → (−v_y, v_x) at (x, y) → (−y, x).
fn turned(frames: &Tensor) -> Tensor {
    let moved = frames.rot90(-1, [2, 3]);
    let size = moved.size();
    let vectors = moved.view([size[0], -1, 2, size[2], size[3]]);
    Tensor::stack(&[-vectors.select(2, 1), vectors.select(2, 0)], 2).view(size.as_slice())
}

/// ‖f(g x) − g f(x)‖ / ‖f(x)‖ for the quarter turn g.
fn defect(network: &dyn Forecaster, parameters: &Parameters) -> f64 {
    let frames = normal(&[2, 20, 8, 8], 3, parameters.flat().kind());
    let assembled = network.assemble(parameters).unwrap();
    let run = |frames: &Tensor| network.forward(parameters, &assembled, frames, Mode::Evaluate).unwrap().detach();
    let plain = run(&frames);
    assert_eq!(plain.size(), [2, 2, 8, 8]);
    let difference = run(&turned(&frames)) - turned(&plain);
    difference.norm().double_value(&[]) / plain.norm().double_value(&[])
}

#[test]
fn a_turn_takes_a_vector_at_a_place_where_it_should() {
    // v = (1, 0) at column 2, row 0 of a 3 × 3 frame, that is at (x, y) = (1, −1).
    let frames = Tensor::zeros([1, 2, 3, 3], (Kind::Double, Device::Cpu));
    let _ = frames.get(0).get(0).get(0).get(2).fill_(1.0);
    let after = turned(&frames);
    // (0, 1) at (1, 1).
    assert_eq!(after.double_value(&[0, 1, 2, 2]), 1.0);
    assert_eq!(after.abs().sum(Kind::Double).double_value(&[]), 1.0);
}

#[test]
fn relaxed_networks_are_equivariant_once_projected_and_not_before() {
    for architecture in [Architecture::Rsteer, Architecture::Rgroup] {
        for (hidden, layers, held) in [(3, 4, Held::Operator), (2, 2, Held::Mixing)] {
            let (network, parameters) = network(architecture, hidden, layers, Kind::Float);
            shake(&parameters, 0.05);
            let before = defect(network.as_ref(), &parameters);
            assert!(before > 0.01, "{architecture:?}: {before:e}");
            network.penalty(&parameters, held).unwrap().unwrap().project(&parameters).unwrap();
            let after = defect(network.as_ref(), &parameters);
            assert!(after < 1e-5, "{architecture:?}: {after:e}");
        }
    }
}

#[test]
fn the_steerable_network_is_equivariant_and_others_are_where_their_free_part_is_zero() {
    for (architecture, free) in
        [(Architecture::Equiv, None), (Architecture::Rpp, Some("dense")), (Architecture::Lift, Some("encoder.2"))]
    {
        let (network, parameters) = network(architecture, 4, 4, Kind::Float);
        if architecture == Architecture::Equiv {
            shake(&parameters, 0.05);
        }
        // Running statistics of each field; RPP's, of each channel, do not commute once they have seen data.
        if architecture != Architecture::Rpp {
            let assembled = network.assemble(&parameters).unwrap();
            let frames = normal(&[4, 20, 8, 8], 4, Kind::Float);
            let _ = network.forward(&parameters, &assembled, &frames, Mode::Train).unwrap();
        }
        if let Some(free) = free {
            let before = defect(network.as_ref(), &parameters);
            assert!(before > 0.01, "{architecture:?}: {before:e}");
            for entry in parameters.entries().iter().filter(|entry| entry.name.starts_with(free)) {
                let _ = parameters.flat().narrow(0, entry.start as i64, entry.len() as i64).zero_();
            }
        }
        let after = defect(network.as_ref(), &parameters);
        assert!(after < 1e-5, "{architecture:?}: {after:e}");
        assert!(network.penalty(&parameters, Held::Operator).unwrap().is_none());
    }
}

#[test]
fn a_lift_of_one_sample_cannot_be_trained() {
    let (network, parameters) = network(Architecture::Lift, 4, 3, Kind::Float);
    let kernels = network.assemble(&parameters).unwrap();
    let frames = normal(&[1, 20, 8, 8], 2, Kind::Float);
    assert!(network.forward(&parameters, &kernels, &frames, Mode::Train).is_err());
    let seen = parameters.statistics();
    assert_eq!(seen.isfinite().to_kind(Kind::Int64).sum(Kind::Int64).int64_value(&[]), seen.numel() as i64);
    assert!(network.forward(&parameters, &kernels, &frames, Mode::Evaluate).is_ok());
}

#[test]
fn lifting_and_reading_out_are_folded_into_the_kernels() {
    let config = SmokeNetConfig { architecture: Architecture::Rgroup, hidden: 2, layers: 2, ..Default::default() };
    let mut builder = Parameters::builder();
    let network = super::rgroup::Rgroup::new(&config, FRAMES, &mut builder, &mut Random::new(5)).unwrap();
    let parameters = builder.build(Kind::Double, Device::Cpu).unwrap();
    shake(&parameters, 0.3);
    let frames = normal(&[2, 20, 8, 8], 3, Kind::Double);
    // u · e_n with e_n = (1, 0), (0, 1), (−1, 0), (0, −1).
    let vectors = frames.view([2, 10, 2, 8, 8]);
    let lifted = Tensor::cat(&[&vectors, &-&vectors], 2).view([2, 40, 8, 8]);
    let kernels = network.unfolded(&parameters).unwrap();
    let convolve = |input: &Tensor, kernel: &Tensor| input.conv2d(kernel, None::<Tensor>, [1, 1], [1, 1], [1, 1], 1);
    let output = convolve(&convolve(&lifted, &kernels[0]).relu(), &kernels[1]);
    let expected = output.narrow(1, 0, 2) - output.narrow(1, 2, 2);
    let assembled = network.assemble(&parameters).unwrap();
    let found = network.forward(&parameters, &assembled, &frames, Mode::Evaluate).unwrap();
    assert!((found - &expected).abs().max().double_value(&[]) < 1e-12 * expected.norm().double_value(&[]).max(1.0));
}

#[test]
fn constraints_are_those_of_hand_made_weights() {
    let cost = |architecture: Architecture, layers: usize, weights: &dyn Fn(&str, i64) -> f64| {
        let (network, parameters) = network(architecture, 4, layers, Kind::Double);
        let parts = parameters.entries().iter().map(|entry| {
            let values: Vec<f64> = (0..entry.len() as i64).map(|index| weights(&entry.name, index)).collect();
            Tensor::from_slice(&values)
        });
        parameters.assign(&Tensor::cat(&parts.collect::<Vec<_>>(), 0)).unwrap();
        let assembled = network.assemble(&parameters).unwrap();
        let constraint = network.constraint(&parameters, &assembled).unwrap().unwrap();
        assert!(constraint.requires_grad());
        constraint.double_value(&[])
    };
    // w[…, k, b] = k²: the eight differences are 1, 3, …, 15, of mean 8, in each of three layers.
    let squares = |name: &str, index: i64| {
        let count = if name.starts_with("hidden") { 24 } else { 12 };
        let position = (index / count) % 9;
        if name.ends_with("weight") { (position * position) as f64 } else { 7.0 }
    };
    assert!((cost(Architecture::Rsteer, 3, &squares) - 24.0).abs() < 1e-12);
    // w[…, n, a] = n with two banks: |−1|, |−1|, |−1|, |3| of mean 1.5, in each of two layers.
    let turns = |name: &str, index: i64| if name == "mixing" { ((index / 2) % 4) as f64 } else { 7.0 };
    assert!((cost(Architecture::Rgroup, 2, &turns) - 3.0).abs() < 1e-12);
    // Dense weights of 2: 10⁻⁶ · 4 · (16·20·9 + 16 + 2·16·9 + 2).
    let twos = |name: &str, _: i64| if name.starts_with("dense") { 2.0 } else { 5.0 };
    assert!((cost(Architecture::Rpp, 2, &twos) - 4e-6 * 3186.0).abs() < 1e-12);
}

#[test]
fn counts_of_other_sizes_follow_from_the_layers_and_are_refused_before_they_are_drawn() {
    for (architecture, expected) in [
        // Steerable coefficients and two numbers of normalisation a field.
        (Architecture::Equiv, 12 * 40 + 24 * 16 + 12 * 4 + 16),
        // And a dense convolution with bias, normalised by channel.
        (Architecture::Rpp, 12 * 40 + 24 * 16 + 12 * 4 + (16 * 181 + 16 * 145 + 2 * 145) + 64),
        // And an encoder of 20·64 inputs; the last layer sees one more field.
        (Architecture::Lift, 12 * 40 + 24 * 16 + 12 * 5 + 16 + (4 * 1281 + 2 * 20 + 16)),
        (Architecture::Conv, 4 * 181 + 4 * 37 + 2 * 37 + 16),
    ] {
        assert_eq!(network(architecture, 4, 3, Kind::Float).1.len(), expected, "{architecture:?}");
    }
    for architecture in
        [Architecture::Equiv, Architecture::Rpp, Architecture::Lift, Architecture::Rgroup, Architecture::Rsteer]
    {
        let config = SmokeNetConfig { architecture, hidden: 4096, layers: 64, ..SmokeNetConfig::default() };
        let built = config.build(Symmetry::Rotation, FRAMES, &mut Parameters::builder(), &mut Random::new(5));
        let message = built.err().unwrap().to_string();
        assert!(message.starts_with("hidden: expected a network of at most 10000000 parameters"), "{message}");
    }
    for (hidden, layers) in [(6, 5), (8, 2)] {
        let config = SmokeNetConfig { architecture: Architecture::Lift, hidden, layers, ..SmokeNetConfig::default() };
        assert!(config.build(Symmetry::Rotation, FRAMES, &mut Parameters::builder(), &mut Random::new(5)).is_err());
    }
}

#[test]
fn counts_of_parameters_are_those_of_the_published_networks() {
    for (architecture, hidden, banks, expected) in
        [(Architecture::Rsteer, 92, 1, 5_595_442), (Architecture::Rgroup, 130, 3, 5_630_100)]
    {
        let config = SmokeNetConfig { architecture, hidden, banks, ..SmokeNetConfig::default() };
        let mut builder = Parameters::builder();
        config.build(Symmetry::Rotation, Frames::default(), &mut builder, &mut Random::new(5)).unwrap();
        let count: usize = builder.entries().iter().map(|entry| entry.len()).sum();
        assert_eq!(count, expected, "{architecture:?}");
    }
}

/// The kernels between fields that the penalty is about, each with its fields.
fn kernels(architecture: Architecture, parameters: &Parameters) -> Vec<(Tensor, Fields, Fields)> {
    let config = SmokeNetConfig { architecture, hidden: 2, layers: 4, ..SmokeNetConfig::default() };
    let (builder, random) = (&mut Parameters::builder(), &mut Random::new(5));
    let (vector, regular) = (Field::Vector, Field::Regular);
    let hidden = (2, regular);
    let (kernels, ends) = match architecture {
        Architecture::Rgroup => {
            let network = super::rgroup::Rgroup::new(&config, FRAMES, builder, random).unwrap();
            (network.unfolded(parameters).unwrap(), [(10, regular), (1, regular)])
        }
        _ => {
            let network = super::rsteer::Rsteer::new(&config, FRAMES, builder, random).unwrap();
            let assembled = network.assemble(parameters).unwrap();
            (assembled.into_iter().step_by(2).collect(), [(10, vector), (1, vector)])
        }
    };
    let fields = [ends[0], hidden, hidden, hidden, ends[1]];
    kernels.into_iter().zip(fields.windows(2)).map(|(kernel, pair)| (kernel.detach(), pair[0], pair[1])).collect()
}

fn numbers(tensor: &Tensor) -> Vec<f64> {
    Vec::try_from(tensor.contiguous().view([-1])).unwrap()
}

#[test]
fn energies_and_projection_are_those_of_the_haar_average_of_the_dense_kernels() {
    for architecture in [Architecture::Rsteer, Architecture::Rgroup] {
        let (network, parameters) = network(architecture, 2, 4, Kind::Double);
        shake(&parameters, 0.3);
        let penalty = network.penalty(&parameters, Held::Operator).unwrap().unwrap();
        let (mut equivariant, mut perp) = (0.0, 0.0);
        let mut expected = Vec::new();
        let before = kernels(architecture, &parameters);
        assert_eq!(before.len(), 4);
        for (kernel, domain, codomain) in &before {
            let haar = HaarProjector::new(&kernel_space(*domain, *codomain).unwrap()).unwrap();
            let kernel = numbers(kernel);
            let energies = haar.energies(&kernel).unwrap();
            equivariant += energies.equivariant;
            perp += energies.perp;
            expected.push(haar.project(&kernel).unwrap());
        }
        let found = penalty.energies(&parameters).unwrap();
        let scale = equivariant + perp;
        assert!(equivariant > 0.05 * scale && perp > 0.05 * scale);
        assert!((found.0 - equivariant).abs() < 1e-12 * scale, "{architecture:?}: {} {equivariant}", found.0);
        assert!((found.1 - perp).abs() < 1e-12 * scale, "{architecture:?}: {} {perp}", found.1);
        penalty.project(&parameters).unwrap();
        for ((kernel, ..), expected) in kernels(architecture, &parameters).iter().zip(expected) {
            let norm = expected.iter().map(|value| value * value).sum::<f64>().sqrt();
            let worst = numbers(kernel).iter().zip(&expected).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
            assert!(worst < 1e-12 * norm.max(1.0), "{architecture:?}: {worst:e}");
        }
        assert!(penalty.energies(&parameters).unwrap().1 < 1e-28 * scale);
    }
}

#[test]
fn gradients_of_the_penalty_are_those_of_finite_differences() {
    let (lambda_g, lambda_perp) = (0.3, 1.7);
    for (architecture, held) in [Architecture::Rsteer, Architecture::Rgroup]
        .into_iter()
        .flat_map(|architecture| [(architecture, Held::Operator), (architecture, Held::Mixing)])
    {
        let (network, parameters) = network(architecture, 2, 3, Kind::Double);
        shake(&parameters, 0.3);
        let penalty = network.penalty(&parameters, held).unwrap().unwrap();
        let gradient = parameters.flat().ones_like();
        let value = penalty.add_gradient(&parameters, lambda_g, lambda_perp, &gradient).unwrap().double_value(&[]);
        let cost = || {
            let (equivariant, perp) = penalty.energies(&parameters).unwrap();
            lambda_g * equivariant + lambda_perp * perp
        };
        assert!((value - cost()).abs() < 1e-12 * value, "{architecture:?} {held:?}: {value} {}", cost());
        let start = parameters.flat().copy();
        let mut random = Random::new(2);
        for entry in parameters.entries() {
            for _ in 0..20 {
                let index = (entry.start + random.below(entry.len())) as i64;
                let at = |step: f64| {
                    parameters.assign(&start).unwrap();
                    let _ = parameters.flat().get(index).g_add_scalar_(step);
                    cost()
                };
                // Exact for a quadratic along each coordinate.
                let difference = (at(1e-2) - at(-1e-2)) / 2e-2;
                let closed = gradient.double_value(&[index]) - 1.0;
                assert!((difference - closed).abs() < 1e-8 * value, "{} {held:?}: {difference} {closed}", entry.name);
            }
        }
        parameters.assign(&start).unwrap();
        let reached = |name: &str| {
            let entry = parameters.entries().iter().find(|entry| entry.name == name).unwrap();
            let part = gradient.narrow(0, entry.start as i64, entry.len() as i64) - 1.0;
            part.abs().max().double_value(&[]) > 1e-6
        };
        match architecture {
            Architecture::Rgroup => {
                assert!(reached("mixing") && reached("hidden.filters") == (held == Held::Operator));
            }
            _ => assert!(reached("first.weight") && reached("last.weight") && !reached("hidden.bias")),
        }
    }
}
