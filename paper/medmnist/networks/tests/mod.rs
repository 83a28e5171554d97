//! Tests of whole networks; tests/networks/volume_forward.rs compares them with PyTorch.

use crate::testing::{largest, normal};
use reynolds::random::Random;
use tch::{Device, Kind, Tensor};

use super::{Architecture, Network, Nonlinearity, Pass, RppConfig, SIDE, Symmetry, VolumeNetConfig};
use crate::network::EVALUATE;
use reynolds_torch::parameters::{Entry, Parameters};
use reynolds_torch::{Binding, Precision};

mod invariance;
mod ours;
mod pscnn;

fn config(architecture: Architecture, group: Symmetry, width: usize) -> VolumeNetConfig {
    VolumeNetConfig { architecture, group, width, ..VolumeNetConfig::default() }
}

fn build(config: &VolumeNetConfig, classes: usize, kind: Kind) -> (Box<dyn Network>, Parameters) {
    let mut builder = Parameters::builder();
    let network = config.build(classes, &mut builder, &mut Random::new(5)).unwrap();
    (network, builder.build(kind, Device::Cpu).unwrap())
}

fn bind(network: &dyn Network, parameters: &Parameters) -> Binding {
    Binding::of_plan(parameters, &network.plan(parameters).unwrap().unwrap()).unwrap()
}

fn volumes(count: i64, seed: u64) -> Tensor {
    let side = SIDE as i64;
    normal(&[count, 1, side, side, side], seed)
}

fn logits(network: &dyn Network, parameters: &Parameters, volumes: &Tensor, pass: Pass) -> Tensor {
    let assembled = network.assemble(parameters, pass).unwrap();
    network.forward(parameters, &assembled, volumes, pass).unwrap()
}

#[test]
fn parameters_are_counted_as_published() {
    use Architecture::{Cnn, Ours, Pscnn, Rpp, Scnn};
    let gated = VolumeNetConfig { nonlinearity: Nonlinearity::Gated, ..VolumeNetConfig::default() };
    // All, and the weights of convolutions, where they are known; of the P-SCNN the rest is the SCNN's and 35 of each likelihood.
    for (config, classes, all, kernels) in [
        (config(Cnn, Symmetry::So3, 0), 11, Some(18_135_971), None),
        (config(Ours, Symmetry::So3, 0), 2, Some(2_035_066), None),
        (config(Ours, Symmetry::O3, 0), 2, Some(3_259_610), None),
        (gated, 2, None, Some(2_567_480)),
        (config(Rpp, Symmetry::So3, 0), 11, Some(18_264_227), None),
        (config(Scnn, Symmetry::So3, 0), 11, Some(128_891), Some(126_384)),
        (config(Scnn, Symmetry::O3, 0), 11, Some(193_241), None),
        (config(Pscnn, Symmetry::So3, 0), 11, Some(11_091_468 + 3 * 35 + 128_891 - 126_384), Some(11_091_468)),
        (config(Pscnn, Symmetry::O3, 0), 11, None, Some(6_245_220)),
    ] {
        let mut builder = Parameters::builder();
        config.build(classes, &mut builder, &mut Random::new(0)).unwrap();
        let is_kernel =
            |name: &str| ["conv1.weight", "conv2.weight", "skip.weight"].iter().any(|end| name.ends_with(end));
        let found: usize = builder.entries().iter().map(Entry::len).sum();
        let found_kernels: usize =
            builder.entries().iter().filter(|entry| is_kernel(&entry.name)).map(Entry::len).sum();
        assert!(all.is_none_or(|all| all == found), "{config:?}: {found}");
        assert!(kernels.is_none_or(|kernels| kernels == found_kernels), "{config:?}: {found_kernels}");
    }
}

#[test]
fn bf16_is_near_full_precision_and_leaves_logits_and_statistics_in_it() {
    let (network, parameters) = build(&config(Architecture::Cnn, Symmetry::So3, 1), 3, Kind::Float);
    let volumes = volumes(2, 6).to_kind(Kind::Float);
    let of = |precision| tch::no_grad(|| logits(&*network, &parameters, &volumes, Pass { precision, ..EVALUATE }));
    let (full, half) = (of(Precision::F32), of(Precision::Bf16));
    assert_eq!((half.size(), half.kind()), (vec![2, 3], Kind::Float));
    let (scale, error) = (largest(&full), largest(&(full - half)));
    assert!(error > 0.0 && error < 0.05 * scale, "{error} of {scale}");
}

#[test]
fn the_prior_of_rpp_is_the_weighted_sum_of_squares_of_its_branches() {
    let rpp = RppConfig { equivariant: 0.25, dense: 0.5 };
    let config = VolumeNetConfig { rpp, ..config(Architecture::Rpp, Symmetry::So3, 1) };
    let (rpp, parameters) = build(&config, 3, Kind::Double);
    let prior = rpp.prior(&parameters).unwrap().unwrap();
    let (mut expected, mut slope) = (0.0, parameters.flat() * 2.0);
    for entry in parameters.entries() {
        let weight = match &entry.name {
            name if name.starts_with("dense.") => 0.5,
            name if name.starts_with("head.") => 0.0,
            _ => 0.25,
        };
        expected += weight * parameters.get(&entry.name).unwrap().square().sum(Kind::Double).double_value(&[]);
        let _ = slope.narrow(0, entry.start as i64, entry.len() as i64).g_mul_scalar_(weight);
    }
    assert!((prior.double_value(&[]) - expected).abs() < 1e-12 * expected);
    slope -= parameters.gradient(&prior).unwrap();
    assert!(slope.abs().max().double_value(&[]) < 1e-14);
}
