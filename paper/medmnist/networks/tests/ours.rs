//! Ours: ranks, projection, penalty.

use std::collections::BTreeSet;

use reynolds::penalty::PenaltyConfig;
use reynolds::projection::Projector;
use tch::{Kind, Tensor};

use super::{bind, build};
use crate::medmnist::networks::{Network, Nonlinearity, Symmetry, VolumeNetConfig};
use crate::testing::{largest, normal};
use reynolds_torch::parameters::Parameters;
use reynolds_torch::{Binding, Penalty};

fn ours(config: &VolumeNetConfig) -> (Box<dyn Network>, Parameters, Binding) {
    let (network, parameters) = build(config, 2, Kind::Double);
    let binding = bind(&*network, &parameters);
    (network, parameters, binding)
}

#[test]
fn ranks_are_those_counted_from_characters() {
    let (_, _, binding) = ours(&VolumeNetConfig::default());
    let ranks = |part: &str| -> Vec<usize> {
        let mut of: Vec<_> = binding.bound().iter().filter(|bound| bound.entry.name.ends_with(part)).collect();
        of.sort_by_key(|bound| &bound.entry.name);
        of.iter().map(|bound| bound.rank).collect()
    };
    assert_eq!(ranks("weight"), [20, 312, 44, 896, 2688, 1344, 3024, 192, 768]);
    assert_eq!(ranks("bias"), [2, 4, 4, 8, 12, 12, 12, 16, 16]);
    let weights = binding.bound().iter().filter(|bound| bound.entry.name.ends_with("weight"));
    assert_eq!(weights.map(|bound| bound.entry.len()).sum::<usize>(), 2_033_182);
}

#[test]
fn the_device_projects_as_the_host_and_the_penalty_has_the_gradient_of_the_tape() {
    for (group, nonlinearity) in [
        (Symmetry::So3, Nonlinearity::Pointwise),
        (Symmetry::O3, Nonlinearity::Pointwise),
        (Symmetry::So3, Nonlinearity::Gated),
    ] {
        let config = VolumeNetConfig { group, nonlinearity, width: 1, ..VolumeNetConfig::default() };
        let (network, parameters, binding) = ours(&config);
        assert_eq!(binding.bound().len(), 18);
        let layers = network.plan(&parameters).unwrap().unwrap().resolve(&parameters.shapes()).unwrap().layers;
        let weights = normal(&parameters.flat().size(), 3);
        let projected = binding.project(&weights).unwrap();
        let mut sides = BTreeSet::new();
        for entry in parameters.entries() {
            let part =
                |flat: &Tensor| Vec::<f64>::try_from(flat.narrow(0, entry.start as i64, entry.len() as i64)).unwrap();
            let mut expected = part(&weights);
            if let Some(layer) = layers.iter().find(|layer| layer.name == entry.name) {
                layer.projector.project_into(&part(&weights), &mut expected).unwrap();
                sides.insert(entry.shape.get(2).copied());
            }
            let found = part(&projected);
            let error = found.iter().zip(&expected).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
            assert!(error < 1e-12, "{group:?} {nonlinearity:?} {}: {error:e}", entry.name);
        }
        // Biases, then kernels of every side.
        assert_eq!(sides.into_iter().collect::<Vec<_>>(), [None, Some(1), Some(3), Some(5), Some(7)]);

        let config = PenaltyConfig { lambda_g: 0.1, lambda_perp: 0.7, ..PenaltyConfig::default() };
        let penalty = Penalty::new(binding, config).unwrap();
        let mut gradient = parameters.flat().zeros_like();
        let value = penalty.add_gradient_with_value(parameters.flat(), &mut gradient).unwrap();
        let on_tape = penalty.on_tape(&parameters).unwrap();
        assert!(largest(&(value - &on_tape)) < 1e-12 * largest(&on_tape));
        assert!(largest(&(&gradient - parameters.gradient(&on_tape).unwrap())) < 1e-12);
    }
}

#[test]
fn all_irrep_pairs_of_all_kernels_are_projected_in_a_dozen_operations() {
    // A product each way for kernels of sides 3, 5 and 7; five for all couplings; parts joined before and after.
    for (group, width) in [(Symmetry::So3, 1), (Symmetry::So3, 2), (Symmetry::O3, 1), (Symmetry::O3, 2)] {
        let (_, _, binding) = ours(&VolumeNetConfig { group, width, ..VolumeNetConfig::default() });
        assert_eq!(binding.operations(), 13);
    }
}
