//! The P-SCNN: counts, the SCNN within it, what a likelihood does, gradients.

use reynolds::random::Random;
use tch::{Device, Kind, Tensor};

use super::super::likelihood::{Likelihood, peak_at_identity};
use super::super::partial_kernels::Partial;
use super::super::{Architecture, Fields, LikelihoodConfig, Mode, Network, Pass, SIDE, Symmetry, VolumeNetConfig};
use super::dense::normal;
use reynolds_torch::Precision;
use reynolds_torch::layers::FieldPair;
use reynolds_torch::parameters::Parameters;

const EVALUATE: Pass = Pass { mode: Mode::Evaluate, precision: Precision::F32 };

fn config(architecture: Architecture, group: Symmetry, width: usize) -> VolumeNetConfig {
    VolumeNetConfig { architecture, group, width, ..VolumeNetConfig::default() }
}

fn network(config: &VolumeNetConfig) -> (Box<dyn Network>, Parameters) {
    let mut builder = Parameters::builder();
    let network = config.build(3, &mut builder, &mut Random::new(5)).unwrap();
    (network, builder.build(Kind::Double, Device::Cpu).unwrap())
}

fn logits(network: &dyn Network, parameters: &Parameters, volume: &Tensor) -> Tensor {
    let assembled = network.assemble(parameters, EVALUATE).unwrap();
    network.forward(parameters, &assembled, volume, EVALUATE).unwrap()
}

fn volume() -> Tensor {
    let side = SIDE as i64;
    normal(&[1, 1, side, side, side], 2)
}

fn worst(a: &Tensor, b: &Tensor) -> f64 {
    f64::try_from((a - b).detach().abs().max()).unwrap()
}

fn set(parameters: &Parameters, name: &str, values: &Tensor) {
    let _guard = tch::no_grad_guard();
    parameters.get(name).unwrap().copy_(&values.view(parameters.get(name).unwrap().size().as_slice()));
}

#[test]
fn parameters_are_counted_as_published() {
    for (group, likelihood, convolutions) in [(Symmetry::So3, 35, 11_091_468), (Symmetry::O3, 70, 6_245_220)] {
        let mut builder = Parameters::builder();
        config(Architecture::Pscnn, group, 0).build(11, &mut builder, &mut Random::new(0)).unwrap();
        let count = |wanted: &dyn Fn(&str) -> bool| -> usize {
            builder.entries().iter().filter(|entry| wanted(&entry.name)).map(|entry| entry.len()).sum()
        };
        let is_kernel =
            |name: &str| ["conv1.weight", "conv2.weight", "skip.weight"].iter().any(|end| name.ends_with(end));
        assert_eq!(count(&is_kernel), convolutions, "{group:?}");
        assert_eq!(count(&|name| name.starts_with("likelihood.")), 3 * likelihood);
        if group == Symmetry::So3 {
            // The rest is the SCNN's: 128,891 parameters, of which 126,384 in convolutions.
            assert_eq!(count(&|_| true), 11_091_468 + 105 + 128_891 - 126_384);
        }
    }
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
        let (steerable, partial) = (config(Architecture::Scnn, group, 1), config(Architecture::Pscnn, group, 1));
        let (scnn, from) = network(&steerable);
        let (pscnn, to) = network(&partial);
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
        let expected = logits(scnn.as_ref(), &from, &volume());
        let found = logits(pscnn.as_ref(), &to, &volume());
        assert!(f64::try_from(expected.detach().abs().max()).unwrap() > 0.01);
        assert!(worst(&found, &expected) < 1e-10, "{group:?}: {:e}", worst(&found, &expected));
    }
}

#[test]
fn it_is_invariant_until_a_likelihood_is_narrow() {
    let (network, parameters) = network(&config(Architecture::Pscnn, Symmetry::So3, 1));
    let volume = volume();
    let turned = volume.transpose(2, 3).flip([2]).contiguous();
    let defect = || {
        let [one, other] = [&volume, &turned].map(|volume| logits(network.as_ref(), &parameters, volume));
        worst(&one, &other) / f64::try_from(one.detach().abs().max()).unwrap()
    };
    let uniform = defect();
    assert!(uniform < 1e-10, "{uniform:e}");
    for block in 1..=3 {
        set(&parameters, &format!("likelihood.{block}"), &(peak_at_identity(Symmetry::So3, 2) * 0.3));
    }
    let narrow = defect();
    assert!(narrow > 0.01, "{narrow:e}");
}

#[test]
fn a_likelihood_changes_the_partial_kernels_of_its_own_block_alone() {
    let (network, parameters) = network(&config(Architecture::Pscnn, Symmetry::So3, 1));
    let kernels = || network.assemble(&parameters, EVALUATE).unwrap();
    let mut before = kernels();
    for block in 0..3 {
        set(&parameters, &format!("likelihood.{}", block + 1), &(peak_at_identity(Symmetry::So3, 2) * 0.3));
        let after = kernels();
        let changed: Vec<usize> = (0..9).filter(|&at| worst(&after[at], &before[at]) > 1e-3).collect();
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
    let (network, parameters) = network(&config);
    let volume = volume();
    let start = parameters.flat() + normal(&[parameters.len() as i64], 3) * 0.02;
    let loss = |point: &Tensor| {
        parameters.assign(point).unwrap();
        let logits = logits(network.as_ref(), &parameters, &volume);
        let prior = network.prior(&parameters).unwrap().unwrap();
        logits.square().sum(Kind::Double) + prior
    };
    let gradient = parameters.gradient(&loss(&start)).unwrap();
    let likelihoods = start.zeros_like();
    for entry in parameters.entries().iter().filter(|entry| entry.name.starts_with("likelihood.")) {
        let _ = likelihoods.narrow(0, entry.start as i64, entry.len() as i64).fill_(1.0);
    }
    let random = normal(&[parameters.len() as i64], 4);
    for direction in [&random * &likelihoods, &random * (1.0 - &likelihoods)] {
        let step = 1e-5;
        let at = |t: f64| f64::try_from(loss(&(&start + &direction * t)).detach()).unwrap();
        let difference = (at(step) - at(-step)) / (2.0 * step);
        let product = f64::try_from(gradient.dot(&direction)).unwrap();
        assert!((product - difference).abs() < 1e-5 * product.abs().max(1.0), "{product} {difference}");
        assert!(product.abs() > 1e-3);
    }
}

#[test]
fn settings_of_likelihoods_out_of_range_are_refused_by_name() {
    let usual = config(Architecture::Pscnn, Symmetry::O3, 1);
    let likelihood = LikelihoodConfig { kernel_degree: 40, ..LikelihoodConfig::default() };
    let config = VolumeNetConfig { likelihood, ..usual };
    let message = config.build(2, &mut Parameters::builder(), &mut Random::new(0)).err().unwrap().to_string();
    assert_eq!(message, "likelihood.kernel_degree: expected from 0 to 6, found 40");
}
