//! The P-SCNN: the SCNN within it, what a likelihood does, gradients.

use tch::{Kind, Tensor};

use super::{build, config, logits, volumes};
use crate::medmnist::networks::likelihood::{Likelihood, peak_at_identity};
use crate::medmnist::networks::pscnn::Partial;
use crate::medmnist::networks::{Architecture, Fields, LikelihoodConfig, Network, Symmetry, VolumeNetConfig};
use crate::network::EVALUATE;
use crate::testing::{largest, normal};
use reynolds_torch::layers::FieldPair;
use reynolds_torch::parameters::Parameters;

fn evaluated(network: &dyn Network, parameters: &Parameters, volumes: &Tensor) -> Tensor {
    logits(network, parameters, volumes, EVALUATE)
}

fn small() -> (Box<dyn Network>, Parameters) {
    build(&config(Architecture::Pscnn, Symmetry::So3, 1), 3, Kind::Double)
}

fn set(parameters: &Parameters, name: &str, values: &Tensor) {
    let _guard = tch::no_grad_guard();
    parameters.get(name).unwrap().copy_(&values.view(parameters.get(name).unwrap().size().as_slice()));
}

/// Makes the likelihood of a block (1, 2, 3) largest at the identity.
fn narrow(parameters: &Parameters, block: usize) {
    set(parameters, &format!("likelihood.{block}"), &(peak_at_identity(Symmetry::So3, 2) * 0.3));
}

/// Irreps of the fields that a convolution maps, gates included, as the SCNN has them.
fn pair(config: &VolumeNetConfig, name: &str, side: usize) -> FieldPair {
    let fields = Fields::of_network(config.group, config.width());
    let block = usize::from(name.as_bytes()[1] - b'1');
    let domain = fields[2 * block + usize::from(name.contains("conv2"))].irreps();
    let mut codomain = fields[2 * block + 2].irreps();
    if block < 2 {
        codomain.extend(vec![codomain[0]; codomain.len()]);
    }
    FieldPair { codomain, domain, side }
}

#[test]
fn with_uniform_likelihoods_it_is_the_scnn() {
    for group in [Symmetry::So3, Symmetry::O3] {
        let partial = config(Architecture::Pscnn, group, 1);
        let (scnn, from) = build(&config(Architecture::Scnn, group, 1), 3, Kind::Double);
        let (pscnn, to) = build(&partial, 3, Kind::Double);
        let sides = [("r1.conv2", 5), ("r1.skip", 7), ("r2.conv2", 3), ("r2.skip", 3), ("r3.conv2", 1), ("r3.skip", 3)];
        for entry in from.entries() {
            let own = from.get(&entry.name).unwrap().detach();
            match sides.iter().find(|(name, _)| entry.name == format!("{name}.weight")) {
                None => set(&to, &entry.name, &own),
                Some((name, side)) => {
                    let likelihood = Likelihood::new(group, &LikelihoodConfig::default()).unwrap();
                    let kernels = Partial::new(&pair(&partial, name, *side), likelihood, "likelihood.1").unwrap();
                    let other = to.get(&entry.name).unwrap().detach();
                    let lifted = kernels.lift(&own.view([own.size()[0], -1]));
                    set(&to, &entry.name, &(lifted + kernels.beyond(&other.view([other.size()[0], -1]))));
                }
            }
        }
        let expected = evaluated(&*scnn, &from, &volumes(1, 2));
        let found = evaluated(&*pscnn, &to, &volumes(1, 2));
        assert!(largest(&expected) > 0.01);
        assert!(largest(&(&found - &expected)) < 1e-10, "{group:?}: {:e}", largest(&(&found - &expected)));
    }
}

#[test]
fn a_likelihood_changes_the_partial_kernels_of_its_own_block_alone() {
    let (network, parameters) = small();
    let kernels = || network.assemble(&parameters, EVALUATE).unwrap();
    let mut before = kernels();
    for block in 0..3 {
        narrow(&parameters, block + 1);
        let after = kernels();
        let changed: Vec<usize> = (0..9).filter(|&at| largest(&(&after[at] - &before[at])) > 1e-3).collect();
        // conv1 is steerable; conv2 and skip are partial.
        assert_eq!(changed, [3 * block + 1, 3 * block + 2]);
        before = after;
    }
}

#[test]
fn gradients_are_finite_differences_along_weights_and_likelihoods() {
    // The divergence from the likelihood before, which is held fixed, has no such differences.
    let likelihood = LikelihoodConfig { divergence: 0.0, ..LikelihoodConfig::default() };
    let config = VolumeNetConfig { likelihood, ..config(Architecture::Pscnn, Symmetry::So3, 1) };
    let (network, mut parameters) = build(&config, 3, Kind::Double);
    let volume = volumes(1, 2);
    let start = parameters.flat() + normal(&[parameters.len() as i64], 3) * 0.02;
    let loss = |parameters: &mut Parameters, point: &Tensor| {
        parameters.assign(point).unwrap();
        let logits = evaluated(&*network, parameters, &volume);
        let prior = network.prior(parameters).unwrap().unwrap();
        logits.square().sum(Kind::Double) + prior
    };
    let at_start = loss(&mut parameters, &start);
    let gradient = parameters.gradient(&at_start).unwrap();
    let likelihoods = start.zeros_like();
    for entry in parameters.entries().iter().filter(|entry| entry.name.starts_with("likelihood.")) {
        let _ = likelihoods.narrow(0, entry.start as i64, entry.len() as i64).fill_(1.0);
    }
    let random = normal(&[parameters.len() as i64], 4);
    for direction in [&random * &likelihoods, &random * (1.0 - &likelihoods)] {
        let step = 1e-5;
        let mut at = |t: f64| f64::try_from(loss(&mut parameters, &(&start + &direction * t)).detach()).unwrap();
        let difference = (at(step) - at(-step)) / (2.0 * step);
        let product = f64::try_from(gradient.dot(&direction)).unwrap();
        assert!((product - difference).abs() < 1e-5 * product.abs().max(1.0), "{product} {difference}");
        assert!(product.abs() > 1e-3);
    }
}
