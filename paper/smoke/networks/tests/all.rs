//! What is true of every network: counts, refusals, training.

use super::*;
use crate::smoke::networks::Architecture::{Clcnn, Conv, Equiv, Lift, Rgroup, Rpp, Rsteer};
use crate::smoke::networks::Symmetry::{Rotation, Scaling, Translation};

const FRAMES: Frames = Frames { count: 2, side: 8 };

/// Parameters of a network, or why it is refused.
fn count(symmetry: super::Symmetry, config: &SmokeNetConfig, frames: Frames) -> Result<usize, String> {
    build(symmetry, config, frames, Kind::Float).map(|(_, all)| all.len()).map_err(|error| error.to_string())
}

#[test]
fn the_published_sizes_have_the_published_counts() {
    for (symmetry, architecture, hidden, banks, expected) in [
        (Translation, Equiv, 128, 2, 469_250),
        (Translation, Rgroup, 128, 2, 977_412),
        (Translation, Clcnn, 6, 2, 8_847_360),
        (Translation, Rpp, 6, 2, 9_283_930),
        (Translation, Lift, 6, 2, 494_192),
        (Rotation, Rsteer, 92, 1, 5_595_442),
        (Rotation, Rgroup, 130, 3, 5_630_100),
        (Scaling, Conv, 128, 2, 468_226),
        (Scaling, Rsteer, 40, 2, 6_958_162),
        (Scaling, Rsteer, 48, 2, 9_760_994),
    ] {
        let config = SmokeNetConfig { banks, ..config(architecture, hidden, 5) };
        let found = count(symmetry, &config, Frames::default());
        assert_eq!(found, Ok(expected), "{symmetry:?} {architecture:?}");
    }
}

#[test]
fn networks_over_the_cap_are_refused_with_their_exact_count_before_they_are_drawn() {
    let cap = "hidden: expected a network of at most 10000000 parameters, found";
    for (symmetry, architecture, hidden, expected) in [
        (Translation, Rpp, 8, 11_415_026),
        (Translation, Rpp, 16, 19_941_570),
        (Translation, Clcnn, 8, 13_565_952),
        (Translation, Lift, 128, 11_136_130),
        (Translation, Rgroup, 512, 14_403_588),
        (Scaling, Rsteer, 64, 16_777_858),
        (Scaling, Clcnn, 8, 13_565_952),
    ] {
        let found = count(symmetry, &config(architecture, hidden, 5), Frames::default());
        assert_eq!(found, Err(format!("{cap} {hidden} with {expected}")), "{symmetry:?} {architecture:?}");
    }
    for symmetry in [Translation, Rotation, Scaling] {
        for architecture in [Conv, Equiv, Rpp, Clcnn, Lift, Rgroup, Rsteer] {
            let found = count(symmetry, &config(architecture, 4096, 64), FRAMES).unwrap_err();
            let there = symmetry != Translation || !matches!(architecture, Conv | Rsteer);
            assert!(!there || found.starts_with(cap), "{symmetry:?} {architecture:?}: {found}");
        }
    }
}

#[test]
fn what_a_symmetry_does_not_have_is_refused() {
    let known = "architecture: expected equiv, rpp, clcnn, lift or rgroup, found";
    for (architecture, name) in [(Conv, "conv"), (Rsteer, "rsteer")] {
        let found = count(Translation, &config(architecture, 4, 3), FRAMES);
        assert_eq!(found, Err(format!("{known} {name} for translation")));
    }
    for (symmetry, architecture, hidden, layers, expected) in [
        (Translation, Lift, 4, 2, "layers: expected more than 2, after which the vector is appended, found 2"),
        (Rotation, Lift, 8, 2, "layers: expected more than 2, after which the vector is appended, found 2"),
        (Rotation, Lift, 6, 5, "hidden: expected a multiple of 4 for lift, found 6"),
        (Rotation, Clcnn, 5, 5, "hidden: expected an even number, of vectors' components, found 5"),
        (Scaling, Lift, 2, 3, "layers: expected more than 3, after which the vector is appended, found 3"),
        (Scaling, Lift, 1, 4, "hidden: expected at least 2 for lift, found 1"),
    ] {
        assert_eq!(count(symmetry, &config(architecture, hidden, layers), FRAMES), Err(expected.into()));
    }
}

#[test]
fn every_network_forecasts_a_frame_and_every_parameter_of_it_is_trained() {
    let frames = normal(&[3, 4, 8, 8], 2);
    for symmetry in [Translation, Rotation, Scaling] {
        for architecture in [Conv, Equiv, Rpp, Clcnn, Lift, Rgroup, Rsteer] {
            for layers in [2, 4] {
                let built = build(symmetry, &config(architecture, 4, layers), FRAMES, Kind::Double);
                let there = symmetry != Translation || !matches!(architecture, Conv | Rsteer);
                if !there || architecture == Lift && layers == 2 {
                    continue;
                }
                let (network, parameters) = built.unwrap();
                let case = format!("{symmetry:?} {architecture:?} of {layers}");
                let assembled = network.assemble(&parameters, TRAIN).unwrap();
                let mut state = frames.shallow_clone();
                for _ in 0..2 {
                    let next = network.forward(&parameters, &assembled, &state, TRAIN).unwrap();
                    assert_eq!(next.size(), [3, 2, 8, 8], "{case}");
                    state = Tensor::cat(&[state.narrow(1, 2, 2), next], 1);
                }
                let gradient = parameters.gradient(&state.square().sum(Kind::Double)).unwrap();
                let normalised = !parameters.statistics_entries().is_empty();
                for entry in parameters.entries() {
                    let part = gradient.narrow(0, entry.start as i64, entry.len() as i64);
                    // A bias before a normalisation has no effect.
                    let before = |name: &str| {
                        (0..layers - 1).any(|number| entry.name == format!("{name}.{number}.bias"))
                            || entry.name.starts_with("encoder.") && !entry.name.starts_with("encoder.2")
                    };
                    let free = normalised && entry.name.ends_with("bias") && (before("layers") || before("dense"));
                    assert!(free || squared(&part) > 1e-18, "{case}: no gradient of {}", entry.name);
                }
                let still = network.forward(&parameters, &assembled, &frames, EVALUATE).unwrap();
                assert!(number(still.abs().max()) > 1e-3, "{case}");
            }
        }
    }
}

#[test]
fn a_lift_of_one_sample_cannot_be_trained_where_its_encoder_normalises() {
    for symmetry in [Translation, Rotation] {
        let (network, parameters) = build(symmetry, &config(Lift, 4, 3), FRAMES, Kind::Double).unwrap();
        let kernels = network.assemble(&parameters, TRAIN).unwrap();
        let frames = normal(&[1, 4, 8, 8], 2);
        assert!(network.forward(&parameters, &kernels, &frames, TRAIN).is_err());
        assert!(number(parameters.statistics().sum(Kind::Double)).is_finite());
        assert!(network.forward(&parameters, &kernels, &frames, EVALUATE).is_ok());
    }
}

#[test]
fn constraints_are_those_of_hand_made_weights_or_none() {
    let cost = |symmetry, architecture, layers: usize, weights: &dyn Fn(&str, i64) -> f64| {
        let frames = Frames { count: 10, side: 8 };
        let (network, mut parameters) =
            build(symmetry, &config(architecture, 4, layers), frames, Kind::Double).unwrap();
        let parts = parameters.entries().iter().map(|entry| {
            Tensor::from_slice(&(0..entry.len() as i64).map(|index| weights(&entry.name, index)).collect::<Vec<_>>())
        });
        parameters.assign(&Tensor::cat(&parts.collect::<Vec<_>>(), 0)).unwrap();
        let prior = network.prior(&parameters).unwrap().unwrap();
        assert!(prior.requires_grad());
        prior.double_value(&[])
    };
    // w[…, k, b] = k²: the eight differences are 1, 3, …, 15, of mean 8, in each of three layers.
    let squares = |name: &str, index: i64| {
        let count = if name.starts_with("hidden") { 24 } else { 12 };
        let position = (index / count) % 9;
        if name.ends_with("weight") { (position * position) as f64 } else { 7.0 }
    };
    assert!((cost(Rotation, Rsteer, 3, &squares) - 24.0).abs() < 1e-12);
    // w[…, n, a] = n with two banks: |−1|, |−1|, |−1|, |3| of mean 1.5, in each of two layers.
    let turns = |name: &str, index: i64| if name == "mixing" { ((index / 2) % 4) as f64 } else { 7.0 };
    assert!((cost(Rotation, Rgroup, 2, &turns) - 3.0).abs() < 1e-12);
    // Dense weights of 2: 10⁻⁶ · 4 · (16·20·9 + 16 + 2·16·9 + 2).
    let twos = |name: &str, _: i64| if name.starts_with("dense") { 2.0 } else { 5.0 };
    assert!((cost(Rotation, Rpp, 2, &twos) - 4e-6 * 3186.0).abs() < 1e-12);
    // w[…, y, x] = 3y + x over 8 × 8 pixels: differences 3 and 1, the same in all layers together and in each of two.
    let slope = |name: &str, index: i64| if name == "mixing" { (3 * (index / 8 % 8) + index % 8) as f64 } else { 7.0 };
    assert!((cost(Translation, Rgroup, 4, &slope) - 4.0).abs() < 1e-12);
    let slope = |name: &str, index: i64| {
        let pixel = index / if name == "layers.0.weight" { 4 * 9 * 20 } else { 2 * 9 * 4 };
        (3 * (pixel / 8) + pixel % 8) as f64
    };
    assert!((cost(Translation, Clcnn, 2, &slope) - 8.0).abs() < 1e-12);
    // One along the top left corner of 5 × 5: two of 25 differ from their neighbour along the diagonal.
    let corner = |name: &str, index: i64| {
        let pairs = if name == "layers.0.weight" { 20 * 4 } else { 4 * 2 };
        if name.ends_with("weight") && index / (49 * pairs) == 0 { 1.0 } else { 0.0 }
    };
    assert!((cost(Scaling, Rsteer, 2, &corner) - 2.0 * 2.0 / 25.0).abs() < 1e-12);
    for (symmetry, architecture) in
        [(Translation, Rpp), (Translation, Equiv), (Scaling, Equiv), (Scaling, Rgroup), (Rotation, Lift)]
    {
        let (network, parameters) = build(symmetry, &config(architecture, 4, 4), FRAMES, Kind::Double).unwrap();
        assert!(network.prior(&parameters).unwrap().is_none(), "{symmetry:?} {architecture:?}");
    }
}
