//! RPP: its branches, its prior.

use tch::Kind;

use super::{build, config, logits, volumes};
use crate::medmnist::networks::{Architecture, Network, RppConfig, Symmetry, VolumeNetConfig};
use crate::network::EVALUATE;
use reynolds_torch::parameters::Parameters;

fn network(architecture: Architecture, rpp: RppConfig) -> (Box<dyn Network>, Parameters) {
    build(&VolumeNetConfig { rpp, ..config(architecture, Symmetry::So3, 1) }, 3, Kind::Double)
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
    let volumes = volumes(1, 6);
    let logits = |network: &dyn Network, parameters: &Parameters| logits(network, parameters, &volumes, EVALUATE);
    let (ours, expected) = (logits(rpp.as_ref(), &parameters), logits(scnn.as_ref(), &steerable));
    assert!((&ours - &expected).abs().max().double_value(&[]) < 1e-12);
    // With it, it is another.
    let (rpp, parameters) = network(Architecture::Rpp, RppConfig::default());
    assert!((logits(rpp.as_ref(), &parameters) - expected).abs().max().double_value(&[]) > 1e-3);
}
