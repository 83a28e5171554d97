//! What bf16 leaves of an image.

use tch::{Kind, Tensor};

use super::{Architecture, EVALUATE, Mode, Pass, Precision, TRAIN, far, input, network, run, small};
use crate::ct::networks::{MarNetConfig, loss};

const BF16: Pass = Pass { mode: Mode::Evaluate, precision: Precision::Bf16 };

#[test]
fn evaluation_in_bf16_loses_little_of_forty_decibels() {
    for architecture in [Architecture::Dicdnet, Architecture::Oscnet] {
        let config = MarNetConfig { stages: 4, ..small(architecture) };
        let (network, parameters) = network(&config, Kind::Float);
        let (input, _) = input(Kind::Float, 2, 16);
        let _guard = tch::no_grad_guard();
        // Running statistics that have become those of the minibatch: of a tenth of the way, all of it.
        let mut statistics = parameters.statistics().shallow_clone();
        let before = statistics.copy();
        let _ = run(network.as_ref(), &parameters, &input, TRAIN);
        statistics.copy_(&((&statistics - 0.9 * before) * 10.0));
        let (full, half) =
            (run(network.as_ref(), &parameters, &input, EVALUATE), run(network.as_ref(), &parameters, &input, BF16));
        assert_eq!(half.image().kind(), Kind::Float);
        let noise = f64::try_from((full.image() - half.image()).square().mean(Kind::Double)).unwrap();
        // The mean square of 40 dB on a scale of 127.5, the upper end of the window that is measured in.
        let allowed = 127.5_f64.powi(2) * 1e-4;
        let lost = 10.0 * (1.0 + noise / allowed).log10();
        assert!(lost < 0.02, "{architecture:?}: {lost} dB");
        // It is another arithmetic all the same.
        assert!(noise > 0.0);
        for (full, half) in full.artefacts.iter().zip(&half.artefacts) {
            let scale = f64::try_from(full.abs().max().to_kind(Kind::Double)).unwrap();
            assert!(far(full, half) < 0.05 * scale);
        }
    }
}

#[test]
fn training_in_bf16_has_about_the_same_gradient_and_statistics() {
    let config = small(Architecture::Dicdnet);
    let ((network, full), (_, half)) = (network(&config, Kind::Float), network(&config, Kind::Float));
    let (input, truth) = input(Kind::Float, 2, 16);
    let slope = |parameters, pass: Pass| {
        let reduction = run(network.as_ref(), parameters, &input, pass);
        let gradient = parameters.gradient(&loss(&reduction, &input, &truth).unwrap()).unwrap();
        assert_eq!(gradient.kind(), Kind::Float);
        gradient
    };
    let (expected, found) = (slope(&full, TRAIN), slope(&half, Pass { mode: Mode::Train, precision: Precision::Bf16 }));
    let norm = |tensor: &Tensor| f64::try_from(tensor.norm().to_kind(Kind::Double)).unwrap();
    let off = norm(&(&expected - &found)) / norm(&expected);
    assert!(off < 0.1, "{off}");
    assert!(norm(&(full.statistics() - half.statistics())) < 0.01 * norm(full.statistics()));
}
