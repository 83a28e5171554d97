//! What the three networks have in common. Their images, losses, gradients and statistics are tested against an independent program, in
//! `paper/tests/networks/ct_forward.rs`.

use super::stages::Stages;
use super::{Architecture, Corrupted, MarNetConfig, Pass, Precision, Reduction, Regularised, loss};
use crate::network::{EVALUATE, Network, TRAIN};
use crate::testing::largest;
use reynolds::random::Random;
use reynolds_torch::parameters::Parameters;
use tch::{Device, Kind, Tensor};

fn network(config: &MarNetConfig, kind: Kind) -> (Stages, Parameters) {
    let mut builder = Parameters::builder();
    let network = Stages::new(config, &mut builder, &mut Random::new(5)).unwrap();
    (network, builder.build(kind, Device::Cpu).unwrap())
}

fn small(architecture: Architecture) -> MarNetConfig {
    MarNetConfig { architecture, stages: 3, blocks: 1, regularised: Regularised::X }
}

/// A smooth slice with a streak and a square of metal.
fn input(kind: Kind, samples: i64, side: i64) -> (Corrupted, Tensor) {
    let mut random = Random::new(9);
    let mut draw = |low: f64, high: f64| {
        let numbers: Vec<f64> = (0..samples * side * side).map(|_| low + (high - low) * random.uniform()).collect();
        Tensor::from_slice(&numbers).view([samples, 1, side, side])
    };
    let truth = draw(40.0, 80.0);
    let image = &truth + draw(-20.0, 40.0);
    let interpolated = &truth + draw(-8.0, 8.0);
    let keep = Tensor::ones([samples, 1, side, side], (Kind::Double, Device::Cpu));
    let _ = keep.narrow(2, 2, 2).narrow(3, 3, 2).fill_(0.0);
    let cast = |tensor: Tensor| tensor.to_kind(kind);
    (Corrupted { image: cast(image), interpolated: cast(interpolated), keep: cast(keep) }, cast(truth))
}

fn run(network: &Stages, parameters: &Parameters, input: &Corrupted, pass: Pass) -> Reduction {
    let assembled = network.assemble(parameters, pass).unwrap();
    network.forward(parameters, &assembled, input, pass).unwrap()
}

fn run_seen(
    network: &Stages,
    parameters: &Parameters,
    input: &Corrupted,
    pass: Pass,
    mut seen: impl FnMut(&Tensor),
) -> Reduction {
    let assembled = network.assemble(parameters, pass).unwrap();
    let mut see = |output: &Tensor| {
        seen(output);
        Ok(())
    };
    network.forward_seen(parameters, &assembled, input, pass, &mut see).unwrap()
}

fn outputs(reduction: &Reduction) -> Vec<&Tensor> {
    [&reduction.start].into_iter().chain(&reduction.images).chain(&reduction.artefacts).collect()
}

#[test]
fn regularised_are_the_kernels_of_x_nets_and_with_xm_of_m_nets() {
    for (architecture, m) in [(Architecture::Acdnet, 72), (Architecture::Dicdnet, 60), (Architecture::Oscnet, 60)] {
        let x = 12 + m;
        let count = |regularised| {
            let config = MarNetConfig { architecture, regularised, ..MarNetConfig::default() };
            Stages::new(&config, &mut Parameters::builder(), &mut Random::new(5)).unwrap().regularised().len()
        };
        assert_eq!([Regularised::X, Regularised::Xm].map(count), [x, x + m], "{architecture:?}");
    }
}

#[test]
fn everything_regularised_is_seen_in_its_order_with_its_bias() {
    for (architecture, regularised) in
        Architecture::ALL.into_iter().flat_map(|one| [(one, Regularised::X), (one, Regularised::Xm)])
    {
        let (network, parameters) = network(&MarNetConfig { regularised, ..small(architecture) }, Kind::Double);
        let names = network.regularised();
        let (input, _) = input(Kind::Double, 2, 12);
        let mut outputs = Vec::new();
        let seeing = run_seen(&network, &parameters, &input, TRAIN, |output| outputs.push(output.shallow_clone()));
        assert_eq!(outputs.len(), names.len());
        // The gradient of the sum of an output by its own bias is the number of its pixels, and nothing seen before depends on it.
        for (output, name) in outputs.iter().zip(&names) {
            let bias = parameters.get(&name.replace("weight", "bias")).unwrap();
            let slope = &Tensor::run_backward(&[output.sum(Kind::Double)], &[bias], true, false)[0];
            assert!(largest(slope - &Tensor::full_like(slope, 288.0)) < 1e-9, "{name}");
        }
        // Seeing changes nothing.
        let blind = run(&network, &parameters, &input, TRAIN);
        assert!(largest(blind.image() - seeing.image()) < 1e-9);
    }
}

#[test]
fn samples_of_a_batch_do_not_see_each_other_in_evaluation() {
    for architecture in Architecture::ALL {
        let (network, parameters) = network(&small(architecture), Kind::Double);
        let (input, _) = input(Kind::Double, 2, 12);
        let both = run(&network, &parameters, &input, EVALUATE);
        for at in 0..2 {
            let one = |tensor: &Tensor| tensor.narrow(0, at, 1);
            let alone = input.map(|image| Ok::<_, ()>(one(image))).unwrap();
            let alone = run(&network, &parameters, &alone, EVALUATE);
            for (both, alone) in outputs(&both).into_iter().zip(outputs(&alone)) {
                assert!(largest(&one(both) - alone) < 1e-9 * (1.0 + largest(alone)), "{architecture:?}");
            }
        }
    }
}

/// 8 bits of mantissa in the convolutions alone: images keep theirs.
#[test]
fn evaluation_in_bf16_loses_little_of_forty_decibels() {
    for architecture in Architecture::ALL {
        let (network, parameters) = network(&MarNetConfig { stages: 4, ..small(architecture) }, Kind::Float);
        let (input, _) = input(Kind::Float, 2, 16);
        let _guard = tch::no_grad_guard();
        // Running statistics that have become those of the minibatch: of a tenth of the way, all of it.
        let mut statistics = parameters.statistics().shallow_clone();
        let before = statistics.copy();
        let _ = run(&network, &parameters, &input, TRAIN);
        statistics.copy_(&((&statistics - 0.9 * before) * 10.0));
        let pass = Pass { precision: Precision::Bf16, ..EVALUATE };
        let [half, full] = [pass, EVALUATE].map(|pass| run(&network, &parameters, &input, pass));
        let noise = f64::try_from((full.image() - half.image()).square().mean(Kind::Double)).unwrap();
        // The mean square of 40 dB on a scale of 127.5, the upper end of the window that is measured in.
        let allowed = 127.5_f64.powi(2) * 1e-4;
        let lost = 10.0 * (1.0 + noise / allowed).log10();
        assert!(lost < 0.02, "{architecture:?}: {lost} dB");
        // It is another arithmetic all the same.
        assert!(noise > 0.0);
        for (full, half) in outputs(&full).into_iter().zip(outputs(&half)) {
            assert_eq!(half.kind(), Kind::Float);
            assert!(largest(full - half) < 0.05 * largest(full), "{architecture:?}");
        }
    }
}

#[test]
fn training_in_bf16_has_about_the_same_gradient_and_statistics_and_shows_no_padding() {
    let config = small(Architecture::Dicdnet);
    let ((network, full), (_, half)) = (network(&config, Kind::Float), network(&config, Kind::Float));
    let (input, truth) = input(Kind::Float, 2, 16);
    let slope = |parameters, pass: Pass| {
        let kind = if pass.precision == Precision::Bf16 { Kind::BFloat16 } else { Kind::Float };
        let see = |output: &Tensor| assert_eq!((output.size()[1], output.kind()), (36, kind));
        let reduction = run_seen(&network, parameters, &input, pass, see);
        let gradient = parameters.gradient(&loss(&reduction, &input, &truth).unwrap()).unwrap();
        assert_eq!(gradient.kind(), Kind::Float);
        gradient
    };
    let (expected, found) = (slope(&full, TRAIN), slope(&half, Pass { precision: Precision::Bf16, ..TRAIN }));
    let norm = |tensor: &Tensor| f64::try_from(tensor.norm().to_kind(Kind::Double)).unwrap();
    let off = norm(&(&expected - &found)) / norm(&expected);
    assert!(off < 0.1, "{off}");
    assert!(norm(&(full.statistics() - half.statistics())) < 0.01 * norm(full.statistics()));
}

/// As published, from 0 to 255 in single precision: no sum over pixels is too much for the K-nets, forth and back.
#[test]
fn acdnet_begins_finite_with_a_finite_gradient() {
    let published = MarNetConfig { architecture: Architecture::Acdnet, ..MarNetConfig::default() };
    let (network, parameters) = network(&published, Kind::Float);
    let numbers = |seed| {
        let mut random = Random::new(seed);
        let numbers: Vec<f32> = (0..512).map(|_| 255.0 * random.uniform() as f32).collect();
        Tensor::from_slice(&numbers).view([2, 1, 16, 16])
    };
    // Fractional at the edge of the metal.
    let keep = (numbers(3) / 32.0).clamp(0.0, 1.0);
    let input = Corrupted { image: numbers(1), interpolated: numbers(2), keep };
    let reduction = run(&network, &parameters, &input, TRAIN);
    let means: Vec<Tensor> = outputs(&reduction).iter().map(|output| output.square().mean(Kind::Float)).collect();
    let loss = Tensor::stack(&means, 0).sum(Kind::Float);
    assert!(f64::try_from(&loss).unwrap() < 1e8, "{loss:?}");
    let gradient = parameters.gradient(&loss).unwrap();
    assert!(f64::try_from(gradient.isfinite().all().to_kind(Kind::Double)).unwrap() == 1.0);
    assert!(f64::try_from(reduction.artefacts[11].abs().max()).unwrap() > 0.0);
}
