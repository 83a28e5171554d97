//! What is true of the networks for shifts.

use reynolds::projection::{HaarProjector, KernelSpace, Projector};
use reynolds::random::Random;
use reynolds::{group, rep};
use tch::{Device, Kind, Tensor};

use super::rgroup::{BIASES, FILTERS, MIXING};
use crate::smoke::networks::{
    Architecture, Forecaster, Frames, Held, MOST_PARAMETERS, Mode, NetworkPenalty, SmokeNetConfig, Symmetry,
};
use reynolds_torch::parameters::Parameters;

const SMALL: Frames = Frames { count: 2, side: 12 };

fn config(architecture: Architecture, hidden: usize, layers: usize) -> SmokeNetConfig {
    SmokeNetConfig { architecture, hidden, layers, banks: 2, ..SmokeNetConfig::default() }
}

fn build(
    config: &SmokeNetConfig,
    frames: Frames,
    kind: Kind,
) -> reynolds_torch::Result<(Box<dyn Forecaster>, Parameters)> {
    let mut builder = Parameters::builder();
    let network = config.build(Symmetry::Translation, frames, &mut builder, &mut Random::new(1))?;
    Ok((network, builder.build(kind, Device::Cpu)?))
}

fn number(tensor: Tensor) -> f64 {
    f64::try_from(tensor.detach()).unwrap()
}

fn normal(shape: &[i64], seed: u64) -> Tensor {
    let mut random = Random::new(seed);
    let numbers: Vec<f64> = (0..shape.iter().product()).map(|_| random.normal()).collect();
    Tensor::from_slice(&numbers).view(shape)
}

/// RGroup with two hidden layers, three banks and uneven mixing weights.
fn uneven(side: usize, kind: Kind) -> (Box<dyn Forecaster>, Parameters) {
    let config = SmokeNetConfig { banks: 3, ..config(Architecture::Rgroup, 2, 4) };
    let (network, parameters) = build(&config, Frames { count: 1, side }, kind).unwrap();
    let mixing = parameters.get(MIXING).unwrap().detach();
    let change = normal(&mixing.size(), 7).to_kind(kind) * 0.3;
    mixing.shallow_clone().copy_(&(mixing + change));
    (network, parameters)
}

/// w, ψ and b of a layer of RGroup, `[R, H, W]`, `[R, out, in, k, k]` and `[R, out]`.
fn layer(parameters: &Parameters, layers: i64, number: i64) -> [Tensor; 3] {
    let get = |name: &str| parameters.get(name).unwrap().detach().copy();
    let weight = match number {
        0 => get(FILTERS[0]).get(0).permute([1, 2, 0, 3, 4]),
        _ if number + 1 < layers => get(FILTERS[1]).get(number - 1).transpose(0, 1),
        _ => get(FILTERS[2]).get(0).transpose(0, 1),
    };
    let bias = if number + 1 < layers { get(BIASES[0]).get(number) } else { get(BIASES[1]).get(0) };
    [get(MIXING).get(number), weight, bias.transpose(0, 1)]
}

#[test]
fn the_published_sizes_have_the_published_counts() {
    let full = Frames::default();
    for (architecture, hidden, expected) in [
        (Architecture::Equiv, 128, 469_250),
        (Architecture::Rgroup, 128, 977_412),
        (Architecture::Clcnn, 6, 8_847_360),
        (Architecture::Rpp, 6, 9_283_930),
        (Architecture::Lift, 6, 494_192),
    ] {
        assert_eq!(build(&config(architecture, hidden, 5), full, Kind::Float).unwrap().1.len(), expected);
    }
}

#[test]
fn networks_over_the_cap_are_refused_with_their_exact_count() {
    for (architecture, hidden, expected) in [
        (Architecture::Rpp, 8, 11_415_026),
        (Architecture::Rpp, 16, 19_941_570),
        (Architecture::Clcnn, 8, 13_565_952),
        (Architecture::Lift, 128, 11_136_130),
        (Architecture::Rgroup, 512, 14_403_588),
    ] {
        let message =
            build(&config(architecture, hidden, 5), Frames::default(), Kind::Float).err().unwrap().to_string();
        let end = format!("found {hidden} with {expected}");
        assert!(
            message.contains(&MOST_PARAMETERS.to_string()) && message.ends_with(&end),
            "{architecture:?}: {message}"
        );
    }
}

#[test]
fn there_is_no_plain_and_no_steerable_network_for_shifts() {
    for architecture in [Architecture::Conv, Architecture::Rsteer] {
        assert!(build(&config(architecture, 4, 3), SMALL, Kind::Float).is_err());
    }
    let message = build(&config(Architecture::Lift, 4, 2), SMALL, Kind::Float).err().unwrap().to_string();
    assert_eq!(message, "layers: expected more than 2, after which the vector is appended, found 2");
}

#[test]
fn every_network_forecasts_a_frame_and_every_parameter_of_it_is_trained() {
    let frames = normal(&[3, 4, 12, 12], 2);
    for architecture in
        [Architecture::Equiv, Architecture::Rpp, Architecture::Clcnn, Architecture::Lift, Architecture::Rgroup]
    {
        let (network, parameters) = build(&config(architecture, 4, 4), SMALL, Kind::Double).unwrap();
        let assembled = network.assemble(&parameters).unwrap();
        let mut state = frames.shallow_clone();
        for _ in 0..2 {
            let next = network.forward(&parameters, &assembled, &state, Mode::Train).unwrap();
            assert_eq!(next.size(), [3, 2, 12, 12], "{architecture:?}");
            state = Tensor::cat(&[state.narrow(1, 2, 2), next], 1);
        }
        let gradient = parameters.gradient(&state.square().sum(Kind::Double)).unwrap();
        for entry in parameters.entries() {
            let part = gradient.narrow(0, entry.start as i64, entry.len() as i64);
            // A bias before a normalisation has no effect.
            let normalised = matches!(architecture, Architecture::Equiv | Architecture::Rpp | Architecture::Lift);
            let before =
                ["layers.0", "layers.1", "layers.2", "encoder.0", "encoder.1"].map(|name| format!("{name}.bias"));
            let free = normalised && before.contains(&entry.name);
            let largest = number(part.abs().max());
            assert!(free || largest > 1e-9, "{architecture:?}: no gradient of {}", entry.name);
        }
        let still = network.forward(&parameters, &assembled, &frames, Mode::Evaluate).unwrap();
        assert!(number(still.abs().max()) > 1e-3);
    }
}

#[test]
fn a_lift_of_one_sample_cannot_be_trained() {
    let (network, parameters) = build(&config(Architecture::Lift, 4, 3), SMALL, Kind::Double).unwrap();
    let kernels = network.assemble(&parameters).unwrap();
    let frames = normal(&[1, 4, 12, 12], 2);
    assert!(network.forward(&parameters, &kernels, &frames, Mode::Train).is_err());
    assert!(network.forward(&parameters, &kernels, &frames, Mode::Evaluate).is_ok());
}

#[test]
fn the_relaxed_convolution_is_the_weighted_sum_of_its_banks() {
    for layers in [2, 4] {
        let config = SmokeNetConfig { banks: 3, ..config(Architecture::Rgroup, 4, layers) };
        let (network, parameters) = build(&config, Frames { count: 3, side: 5 }, Kind::Double).unwrap();
        parameters.flat().shallow_clone().copy_(&normal(&[parameters.len() as i64], 4));
        let frames = normal(&[2, 6, 5, 5], 3);
        let assembled = network.assemble(&parameters).unwrap();
        let ours = network.forward(&parameters, &assembled, &frames, Mode::Train).unwrap();
        let mut expected = frames;
        for number in 0..layers as i64 {
            let [mixing, weight, bias] = layer(&parameters, layers as i64, number);
            let banks = (0..3).map(|bank| {
                let (weight, bias) = (weight.get(bank), bias.get(bank));
                expected.conv2d(&weight, Some(bias), [1, 1], [1, 1], [1, 1], 1) * mixing.get(bank)
            });
            let sum = banks.reduce(|sum, bank| sum + bank).unwrap();
            expected = if number + 1 < layers as i64 { sum.relu() } else { sum };
        }
        let scale = number(expected.abs().max());
        assert!(number((ours - expected).abs().max()) < 1e-12 * scale.max(1.0));
    }
}

#[test]
fn constraints_are_mean_differences_of_neighbours() {
    let (network, parameters) = uneven(5, Kind::Double);
    let field = parameters.get(MIXING).unwrap().detach();
    let flat: Vec<f64> = Vec::try_from(field.reshape([-1])).unwrap();
    let (mut rows, mut columns) = (0.0, 0.0);
    for plane in flat.chunks(25) {
        for place in 0..20 {
            rows += (plane[place + 5] - plane[place]).abs();
            let place = place / 4 * 5 + place % 4;
            columns += (plane[place + 1] - plane[place]).abs();
        }
    }
    let expected = (rows + columns) / (12.0 * 20.0);
    assert!((number(network.constraint(&parameters, &[]).unwrap().unwrap()) - expected).abs() < 1e-14);

    let (local, parameters) = build(&config(Architecture::Clcnn, 2, 2), SMALL, Kind::Double).unwrap();
    let of = |name: &str| {
        let weight = parameters.get(name).unwrap().permute([2, 5, 3, 4, 0, 1]);
        let rows = (weight.narrow(4, 1, 11) - weight.narrow(4, 0, 11)).abs().mean(Kind::Double);
        let columns = (weight.narrow(5, 1, 11) - weight.narrow(5, 0, 11)).abs().mean(Kind::Double);
        number(rows + columns)
    };
    let expected = of("layers.0.weight") + of("layers.1.weight");
    assert!((number(local.constraint(&parameters, &[]).unwrap().unwrap()) - expected).abs() < 1e-14);
    let _ = parameters.flat().shallow_clone().fill_(0.7);
    assert_eq!(number(local.constraint(&parameters, &[]).unwrap().unwrap()), 0.0);
}

/// W of one layer on a torus, row-major `[out · n², in · n²]`, and its bias `[out · n²]`, by the definition.
fn dense(mixing: &Tensor, weight: &Tensor, bias: &Tensor) -> (Vec<f64>, Vec<f64>) {
    let (n, size) = (mixing.size()[1], weight.size());
    let (outputs, inputs) = (size[1], size[2]);
    let value = |tensor: &Tensor, index: &[i64]| tensor.double_value(index);
    let (mut matrix, mut vector) = (vec![0.0; (outputs * inputs * n.pow(4)) as usize], Vec::new());
    for row in 0..outputs * n * n {
        let (output, y, x) = (row / (n * n), row / n % n, row % n);
        let weights: Vec<f64> = (0..size[0]).map(|bank| value(mixing, &[bank, y, x])).collect();
        let mixed =
            |of_bank: &dyn Fn(i64) -> f64| weights.iter().zip(0..).map(|(w, bank)| w * of_bank(bank)).sum::<f64>();
        vector.push(mixed(&|bank| value(bias, &[bank, output])));
        for (input, dy, dx) in (0..inputs * 9).map(|tap| (tap / 9, tap / 3 % 3, tap % 3)) {
            let (from_y, from_x) = ((y + dy - 1).rem_euclid(n), (x + dx - 1).rem_euclid(n));
            let column = (input * n + from_y) * n + from_x;
            matrix[(row * inputs * n * n + column) as usize] +=
                mixed(&|bank| value(weight, &[bank, output, input, dy, dx]));
        }
    }
    (matrix, vector)
}

/// (‖P(W)‖², ‖W − P(W)‖²) of the dense map and its bias, by the Haar average over all shifts of the torus, and P(W).
fn averaged(matrix: &[f64], vector: &[f64], [outputs, inputs]: [usize; 2]) -> ([f64; 2], Vec<f64>, Vec<f64>) {
    let shifts = group::parse("C5 x C5").unwrap();
    let images = |channels: usize| rep::sum(&shifts, &[(channels, rep::regular(&shifts).unwrap())]).unwrap();
    let spaces = [
        KernelSpace::dense(&images(inputs), &images(outputs)).unwrap(),
        KernelSpace::dense(&rep::trivial(&shifts), &images(outputs)).unwrap(),
    ];
    let [mut of_matrix, mut of_vector] = [matrix, vector].map(|weights| vec![0.0; weights.len()]);
    let first = HaarProjector::new(&spaces[0]).unwrap().apply(matrix, &mut of_matrix);
    let second = HaarProjector::new(&spaces[1]).unwrap().apply(vector, &mut of_vector);
    ([first.equivariant + second.equivariant, first.perp + second.perp], of_matrix, of_vector)
}

#[test]
fn energies_and_projection_are_those_of_the_dense_operator_on_a_torus() {
    let (network, parameters) = uneven(5, Kind::Double);
    let penalty = network.penalty(&parameters, Held::Operator).unwrap().unwrap();
    let layers = || [0, 1, 2, 3].map(|number| layer(&parameters, 4, number));
    let (mut expected, mut projected) = ([0.0; 2], Vec::new());
    for [mixing, weight, bias] in layers() {
        let (matrix, vector) = dense(&mixing, &weight, &bias);
        let (energies, matrix, vector) = averaged(&matrix, &vector, [2, 2]);
        expected = [expected[0] + energies[0], expected[1] + energies[1]];
        projected.push((matrix, vector));
    }
    let (equivariant, perp) = penalty.energies(&parameters).unwrap();
    let scale = 1e-12 * (expected[0] + expected[1]).max(1.0);
    assert!((equivariant - expected[0]).abs() < scale && (perp - expected[1]).abs() < scale, "{expected:?}");
    assert!(expected[1] > 0.1);
    penalty.project(&parameters).unwrap();
    for ([mixing, weight, bias], expected) in layers().into_iter().zip(projected) {
        let (matrix, vector) = dense(&mixing, &weight, &bias);
        let ours = matrix.iter().chain(&vector).zip(expected.0.iter().chain(&expected.1));
        assert!(ours.map(|(ours, expected)| (ours - expected).abs()).fold(0.0, f64::max) < 1e-13);
    }
    let after = penalty.energies(&parameters).unwrap();
    assert!((after.0 - equivariant).abs() < scale && after.1 < 1e-25, "{after:?}");
}

#[test]
fn the_energies_of_mixing_weights_are_their_own() {
    let (network, parameters) = uneven(5, Kind::Double);
    let penalty = network.penalty(&parameters, Held::Mixing).unwrap().unwrap();
    let mixing = parameters.get(MIXING).unwrap().detach();
    let mean = mixing.mean_dim([2, 3].as_slice(), true, Kind::Double).expand_as(&mixing);
    let expected = [mean.square().sum(Kind::Double), (&mixing - &mean).square().sum(Kind::Double)].map(number);
    let (equivariant, perp) = penalty.energies(&parameters).unwrap();
    assert!((equivariant - expected[0]).abs() < 1e-12 && (perp - expected[1]).abs() < 1e-12, "{expected:?}");
}

#[test]
fn the_gradient_of_the_penalty_is_that_of_finite_differences_for_every_factor() {
    for held in [Held::Operator, Held::Mixing] {
        let (network, parameters) = uneven(4, Kind::Double);
        let penalty = network.penalty(&parameters, held).unwrap().unwrap();
        let start = normal(&[parameters.len() as i64], 9);
        let gradient = start.copy();
        let (lambda_g, lambda_perp) = (0.3, 0.7);
        let value = number(penalty.add_gradient(&parameters, lambda_g, lambda_perp, &gradient).unwrap());
        let flat = Vec::<f64>::try_from(parameters.flat()).unwrap();
        let energy = |penalty: &dyn NetworkPenalty| {
            let (equivariant, perp) = penalty.energies(&parameters).unwrap();
            lambda_g * equivariant + lambda_perp * perp
        };
        assert!((value - energy(&*penalty)).abs() < 1e-12 * value);
        let gradient = Vec::<f64>::try_from(gradient - start).unwrap();
        for entry in parameters.entries() {
            let mut largest = 0.0_f64;
            for place in (entry.start..entry.start + entry.len()).step_by((entry.len() / 5).max(1)) {
                let at = |step: f64| {
                    let mut moved = flat.clone();
                    moved[place] += step;
                    parameters.assign(&Tensor::from_slice(&moved)).unwrap();
                    energy(&*penalty)
                };
                // A quadratic in each number: central differences are exact but for rounding.
                let slope = (at(1e-3) - at(-1e-3)) / 2e-3;
                assert!((slope - gradient[place]).abs() < 1e-9 * slope.abs().max(1.0), "{}: {slope}", entry.name);
                largest = largest.max(slope.abs());
            }
            assert_eq!(largest > 1e-3, held == Held::Operator || entry.name == MIXING, "{}: {largest}", entry.name);
        }
    }
}

#[test]
fn the_two_terms_of_the_penalty_add_up_and_a_strength_of_zero_adds_nothing() {
    let config = config(Architecture::Rgroup, 4, 3);
    for held in [Held::Operator, Held::Mixing] {
        let (network, parameters) = build(&config, Frames { count: 3, side: 12 }, Kind::Double).unwrap();
        parameters.flat().shallow_clone().copy_(&normal(&[parameters.len() as i64], 8));
        let penalty = network.penalty(&parameters, held).unwrap().unwrap();
        let of = |lambda_g: f64, lambda_perp: f64| {
            let gradient = parameters.flat().zeros_like();
            let value = penalty.add_gradient(&parameters, lambda_g, lambda_perp, &gradient).unwrap();
            (number(value), gradient)
        };
        let ((both, gradient), (shared, first), (rest, second), (none, zero)) =
            (of(0.3, 0.7), of(0.3, 0.0), of(0.0, 0.7), of(0.0, 0.0));
        let (equivariant, perp) = penalty.energies(&parameters).unwrap();
        assert!((shared - 0.3 * equivariant).abs() < 1e-12 * both && (rest - 0.7 * perp).abs() < 1e-12 * both);
        assert!((both - shared - rest).abs() < 1e-12 * both && shared > 0.0 && rest > 0.0);
        let scale = number(gradient.abs().max());
        assert!(number((gradient - first - second).abs().max()) < 1e-12 * scale);
        assert_eq!((none, number(zero.abs().max())), (0.0, 0.0));
    }
}

#[test]
fn a_projected_relaxed_network_commutes_with_shifts_away_from_the_border() {
    let (network, parameters) = uneven(16, Kind::Float);
    let frames = normal(&[2, 2, 16, 16], 5).to_kind(Kind::Float);
    let defect = || {
        let kernels = network.assemble(&parameters).unwrap();
        let run = |frames: &Tensor| network.forward(&parameters, &kernels, frames, Mode::Evaluate).unwrap().detach();
        let (here, there) = (run(&frames).roll([1, 2], [2, 3]), run(&frames.roll([1, 2], [2, 3])));
        // Four layers see four pixels far, and rows and columns wrap around by one and two.
        let crop = |image: &Tensor| image.narrow(2, 5, 7).narrow(3, 6, 6);
        number((crop(&there) - crop(&here)).abs().max()) / number(here.abs().max())
    };
    assert!(defect() > 1e-2);
    network.penalty(&parameters, Held::Operator).unwrap().unwrap().project(&parameters).unwrap();
    assert!(defect() < 1e-5, "{}", defect());
}
