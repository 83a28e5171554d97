//! The dense networks: counts, shapes, gradients, evaluation.

use reynolds::random::Random;
use tch::{Device, Kind, Tensor};

use super::super::block::Block;
use super::super::dense::DenseBlock;
use super::super::{Architecture, Layout, Mode, Pass, SIDE, Symmetry, VolumeNetConfig};
use reynolds_torch::Precision;
use reynolds_torch::parameters::Parameters;

const TRAIN: Pass = Pass { mode: Mode::Train, precision: Precision::F32 };
const EVALUATE: Pass = Pass { mode: Mode::Evaluate, precision: Precision::F32 };

fn count(architecture: Architecture, group: Symmetry, classes: usize) -> usize {
    let mut builder = Parameters::builder();
    let config = VolumeNetConfig { architecture, group, ..VolumeNetConfig::default() };
    config.build(classes, &mut builder, &mut Random::new(0)).unwrap();
    builder.entries().iter().map(reynolds_torch::parameters::Entry::len).sum()
}

/// Normal numbers.
pub(super) fn normal(shape: &[i64], seed: u64) -> Tensor {
    let mut random = Random::new(seed);
    let numbers: Vec<f64> = (0..shape.iter().product::<i64>()).map(|_| random.normal()).collect();
    Tensor::from_slice(&numbers).view(shape)
}

#[test]
fn counts_are_the_published_ones() {
    assert_eq!(count(Architecture::Cnn, Symmetry::So3, 11), 18_135_971);
    assert_eq!(count(Architecture::Ours, Symmetry::So3, 2), 2_035_066);
    assert_eq!(count(Architecture::Ours, Symmetry::O3, 2), 3_259_610);
}

/// A block of a few channels, and an input of it.
fn block(number: usize) -> (DenseBlock, Parameters, Tensor) {
    let mut builder = Parameters::builder();
    let layout = Layout::default();
    let block = DenseBlock::new(&mut builder, "", number, [2, 3, 2], layout, &mut Random::new(7)).unwrap();
    let side = [9, 13, 3][number];
    (block, builder.build(Kind::Double, Device::Cpu).unwrap(), normal(&[2, 2, side, side, side], 8))
}

#[test]
fn sides_are_those_of_the_published_network() {
    for (number, (before, after)) in [(29, 27), (13, 3), (3, 1)].into_iter().enumerate() {
        let (block, parameters, _) = block(number);
        let kernels = block.assemble(&parameters, TRAIN).unwrap();
        assert_eq!(kernels.len(), block.kernels());
        let output = block.forward(&parameters, &kernels, &normal(&[2, 2, before, before, before], 1), TRAIN).unwrap();
        assert_eq!(output.size(), [2, 2, after, after, after]);
    }
}

#[test]
fn gradients_are_finite_differences_for_every_parameter() {
    for number in 0..3 {
        let (block, parameters, input) = block(number);
        let weights = parameters.flat().copy();
        let loss = || {
            let kernels = block.assemble(&parameters, TRAIN).unwrap();
            block.forward(&parameters, &kernels, &input, TRAIN).unwrap().sin().sum(Kind::Double)
        };
        let gradient = parameters.gradient(&loss()).unwrap();
        for entry in parameters.entries() {
            let direction = weights.zeros_like();
            let part = normal(&[entry.len() as i64], 9);
            direction.narrow(0, entry.start as i64, entry.len() as i64).copy_(&(&part / part.norm()));
            let step = 1e-5;
            let at = |sign: f64| {
                parameters.assign(&(&weights + &direction * (sign * step))).unwrap();
                loss().double_value(&[])
            };
            let slope = (at(1.0) - at(-1.0)) / (2.0 * step);
            parameters.assign(&weights).unwrap();
            let expected = (&gradient * &direction).sum(Kind::Double).double_value(&[]);
            let error = (slope - expected).abs();
            assert!(error < 1e-6 * (1.0 + expected.abs()), "r{}: {}: {slope} {expected}", number + 1, entry.name);
        }
    }
}

/// The block as its equation says it, with libtorch's own layers.
fn by_the_equation(number: usize, parameters: &Parameters, input: &Tensor, mode: Mode) -> Tensor {
    let get = |part: &str| parameters.get(&format!("r{}.{part}", number + 1)).unwrap();
    let convolve = |input: &Tensor, name: &str, stride: i64, padding: i64| {
        let (kernel, bias) = (get(&format!("{name}.weight")), get(&format!("{name}.bias")));
        input.conv3d(&kernel, Some(&bias), [stride; 3], [padding; 3], [1; 3], 1)
    };
    let stage = |features: &Tensor, name: &str| {
        let statistic = |part: &str| parameters.statistic(&format!("r{}.{name}.{part}", number + 1)).unwrap();
        let (mean, variance) = (statistic("running_mean"), statistic("running_var"));
        let train = mode == Mode::Train;
        let (weight, bias) = (get(&format!("{name}.weight")), get(&format!("{name}.bias")));
        features.batch_norm(Some(weight), Some(bias), Some(mean), Some(variance), train, 0.1, 1e-5, false).elu()
    };
    let mean = |input: &Tensor, window: i64, stride: i64, padding: i64| {
        input.avg_pool3d([window; 3], [stride; 3], [padding; 3], false, true, None::<i64>)
    };
    match number {
        0 => {
            let inner = stage(&convolve(input, "conv1", 1, 2), "norm1");
            stage(&convolve(&inner, "conv2", 1, 2), "norm2") + convolve(input, "skip", 1, 2).elu()
        }
        1 => {
            let inner = mean(&stage(&convolve(input, "conv1", 2, 1), "norm1"), 5, 2, 1);
            stage(&convolve(&inner, "conv2", 2, 2), "norm2") + convolve(&mean(input, 5, 2, 0), "skip", 1, 0).elu()
        }
        _ => {
            let inner = mean(&stage(&convolve(input, "conv1", 1, 1), "norm1"), 3, 1, 0);
            convolve(&inner, "conv2", 1, 0) + convolve(input, "skip", 1, 0)
        }
    }
}

#[test]
fn blocks_are_those_of_their_equation_in_training_and_evaluation() {
    for number in 0..3 {
        let (ours, parameters, input) = block(number);
        let (_, other, _) = block(number);
        for pass in [TRAIN, TRAIN, EVALUATE] {
            let kernels = ours.assemble(&parameters, pass).unwrap();
            let found = ours.forward(&parameters, &kernels, &input, pass).unwrap();
            let expected = by_the_equation(number, &other, &input, pass.mode);
            let error = f64::try_from((&found - &expected).abs().max()).unwrap();
            assert!(error < 1e-12 * (1.0 + f64::try_from(expected.abs().max()).unwrap()), "r{}: {error:e}", number + 1);
            let statistics = (parameters.statistics() - other.statistics()).abs().max();
            assert!(f64::try_from(statistics).unwrap() < 1e-13);
        }
    }
}

#[test]
fn bf16_is_near_full_precision_and_leaves_logits_and_statistics_in_it() {
    let config = VolumeNetConfig { architecture: Architecture::Cnn, width: 1, ..VolumeNetConfig::default() };
    let mut builder = Parameters::builder();
    let network = config.build(3, &mut builder, &mut Random::new(5)).unwrap();
    let parameters = builder.build(Kind::Float, Device::Cpu).unwrap();
    let volumes = normal(&[2, 1, SIDE as i64, SIDE as i64, SIDE as i64], 6).to_kind(Kind::Float);
    let logits = |precision| {
        let pass = Pass { mode: Mode::Evaluate, precision };
        let _guard = tch::no_grad_guard();
        network.forward(&parameters, &network.assemble(&parameters, pass).unwrap(), &volumes, pass).unwrap()
    };
    let (full, half) = (logits(Precision::F32), logits(Precision::Bf16));
    assert_eq!((half.size(), half.kind()), (vec![2, 3], Kind::Float));
    let scale = f64::try_from(full.abs().max()).unwrap();
    let error = f64::try_from((full - half).abs().max()).unwrap();
    assert!(error > 0.0 && error < 0.05 * scale, "{error} of {scale}");
}
