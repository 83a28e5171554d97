//! RPP: its count, its branches, its prior.

use reynolds::random::Random;
use tch::{Device, Kind, Tensor};

use super::super::{Architecture, Mode, Network, Pass, RppConfig, SIDE, VolumeNetConfig};
use super::dense::normal;
use reynolds_torch::Precision;
use reynolds_torch::parameters::{Entry, Parameters};

const EVALUATE: Pass = Pass { mode: Mode::Evaluate, precision: Precision::F32 };

fn network(architecture: Architecture, rpp: RppConfig) -> (Box<dyn Network>, Parameters) {
    let config = VolumeNetConfig { architecture, width: 1, rpp, ..VolumeNetConfig::default() };
    let mut builder = Parameters::builder();
    let network = config.build(3, &mut builder, &mut Random::new(5)).unwrap();
    (network, builder.build(Kind::Double, Device::Cpu).unwrap())
}

#[test]
fn it_has_as_many_parameters_as_published() {
    let config = VolumeNetConfig { architecture: Architecture::Rpp, ..VolumeNetConfig::default() };
    let mut builder = Parameters::builder();
    config.build(11, &mut builder, &mut Random::new(0)).unwrap();
    assert_eq!(builder.entries().iter().map(Entry::len).sum::<usize>(), 18_264_227);
}

#[test]
fn the_prior_is_the_weighted_sum_of_squares_of_the_branches() {
    let (rpp, parameters) = network(Architecture::Rpp, RppConfig { equivariant: 0.25, dense: 0.5 });
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

#[test]
fn weights_of_the_prior_out_of_range_are_refused_by_name() {
    let refused = |config: VolumeNetConfig| {
        config.build(2, &mut Parameters::builder(), &mut Random::new(0)).err().unwrap().to_string()
    };
    let rpp = |equivariant, dense| {
        let rpp = RppConfig { equivariant, dense };
        refused(VolumeNetConfig { architecture: Architecture::Rpp, width: 1, rpp, ..VolumeNetConfig::default() })
    };
    assert_eq!(rpp(-1.0, 0.0), "rpp.equivariant: expected a number from 0, found -1");
    assert_eq!(rpp(0.0, f64::INFINITY), "rpp.dense: expected a number from 0, found inf");
    assert!(rpp(f64::NAN, 0.0).starts_with("rpp.equivariant"));
}

#[test]
fn without_its_dense_branch_it_is_the_steerable_network() {
    let (rpp, parameters) = network(Architecture::Rpp, RppConfig::default());
    let (scnn, steerable) = network(Architecture::Scnn, RppConfig::default());
    let _guard = tch::no_grad_guard();
    for entry in parameters.entries() {
        let mut part = parameters.flat().narrow(0, entry.start as i64, entry.len() as i64);
        if entry.name.starts_with("dense.") {
            let _ = part.zero_();
        } else {
            part.copy_(&steerable.get(&entry.name).unwrap().view([-1]));
        }
    }
    let side = SIDE as i64;
    let volumes = normal(&[1, 1, side, side, side], 6);
    let logits = |network: &dyn Network, parameters: &Parameters| -> Tensor {
        let assembled = network.assemble(parameters, EVALUATE).unwrap();
        network.forward(parameters, &assembled, &volumes, EVALUATE).unwrap()
    };
    let (ours, expected) = (logits(rpp.as_ref(), &parameters), logits(scnn.as_ref(), &steerable));
    assert!((&ours - &expected).abs().max().double_value(&[]) < 1e-12);
    // With it, it is another.
    let (rpp, parameters) = network(Architecture::Rpp, RppConfig::default());
    assert!((logits(rpp.as_ref(), &parameters) - expected).abs().max().double_value(&[]) > 1e-3);
}
