//! What is held of ours: ranks, projection, penalty.

use std::collections::BTreeSet;
use std::rc::Rc;

use reynolds::penalty::PenaltyConfig;
use reynolds::projection::Projector;
use tch::{Kind, Tensor};

use super::{build, largest, normal};
use crate::medmnist::networks::{Network, Nonlinearity, Symmetry, VolumeNetConfig};
use reynolds_torch::binding::TileProducts;
use reynolds_torch::parameters::Parameters;
use reynolds_torch::{Binding, Penalty};

fn ours(config: &VolumeNetConfig) -> (Box<dyn Network>, Parameters) {
    build(config, 2, Kind::Double)
}

fn bind((network, parameters): &(Box<dyn Network>, Parameters)) -> Binding {
    Binding::of_plan(parameters, &network.plan(parameters).unwrap().unwrap()).unwrap()
}

fn bind_for(products: TileProducts, network: &dyn Network, parameters: &Parameters) -> Binding {
    let mut binding = Binding::builder(parameters);
    binding.tile_products(products);
    binding.plan(&network.plan(parameters).unwrap().unwrap()).unwrap();
    binding.build().unwrap()
}

/// Of kernels or biases, in the order of the network.
fn ranks(binding: &Binding, part: &str) -> Vec<usize> {
    let mut of: Vec<_> = binding.bound().iter().filter(|bound| bound.entry.name.ends_with(part)).collect();
    of.sort_by_key(|bound| &bound.entry.name);
    of.iter().map(|bound| bound.rank).collect()
}

#[test]
fn ranks_are_those_counted_from_characters() {
    let binding = bind(&ours(&VolumeNetConfig::default()));
    let kernels = ranks(&binding, "weight");
    assert_eq!(kernels, [20, 312, 44, 896, 2688, 1344, 3024, 192, 768]);
    assert_eq!(kernels.iter().sum::<usize>(), 9288);
    assert_eq!(ranks(&binding, "bias"), [2, 4, 4, 8, 12, 12, 12, 16, 16]);
    let weights = binding.bound().iter().filter(|bound| bound.entry.name.ends_with("weight"));
    assert_eq!(weights.map(|bound| bound.entry.len()).sum::<usize>(), 2_033_182);
}

#[test]
fn kernels_and_biases_are_bound_and_their_penalty_has_the_gradient_of_the_tape() {
    for group in [Symmetry::So3, Symmetry::O3] {
        let ours = ours(&VolumeNetConfig { group, width: 1, ..VolumeNetConfig::default() });
        let (binding, (network, parameters)) = (bind(&ours), ours);
        assert_eq!(binding.bound().len(), 18);
        let energies = binding.energies(parameters.flat()).unwrap();
        for (name, energies) in &energies {
            let weights = parameters.get(name).unwrap().square().sum(Kind::Double).double_value(&[]);
            assert!((energies.equivariant + energies.perp - weights).abs() < 1e-12 * (1.0 + weights), "{name}");
            assert!(energies.equivariant > 0.0, "{name}");
        }
        let once = binding.project(parameters.flat()).unwrap();
        assert!(largest(&(binding.project(&once).unwrap() - &once)) < 1e-14);
        let head = parameters.get("head.weight").unwrap();
        let entry = parameters.entries().iter().find(|entry| entry.name == "head.weight").unwrap();
        assert_eq!(once.narrow(0, entry.start as i64, entry.len() as i64), head.view([-1]));
        let config = PenaltyConfig { lambda_g: 0.1, lambda_perp: 0.7, ..PenaltyConfig::default() };
        let penalty = Penalty::new(binding, config).unwrap();
        let mut gradient = parameters.flat().zeros_like();
        let value = penalty.add_gradient_with_value(parameters.flat(), &mut gradient).unwrap();
        let on_tape = penalty.on_tape(&parameters).unwrap();
        assert!(largest(&(value - &on_tape)) < 1e-12 * largest(&on_tape));
        assert!(largest(&(&gradient - parameters.gradient(&on_tape).unwrap())) < 1e-12);
        for products in [TileProducts::PerKind, TileProducts::Lists] {
            let binding = Rc::new(bind_for(products, network.as_ref(), &parameters));
            for (lambda_g, lambda_perp) in [(0.1, 0.7), (0.7, 0.1), (0.0, 0.7), (0.7, 0.0), (0.3, 0.3)] {
                let config = PenaltyConfig { lambda_g, lambda_perp, ..config };
                let penalty = Penalty::new(binding.clone(), config).unwrap();
                let mut gradient = parameters.flat().zeros_like();
                let _ = penalty.add_gradient_with_value(parameters.flat(), &mut gradient).unwrap();
                let mut sum = parameters.flat().cos();
                penalty.add_gradient(parameters.flat(), &mut sum).unwrap();
                assert!(largest(&(sum - parameters.flat().cos() - gradient)) < 1e-14, "{products:?} {config:?}");
            }
        }
    }
}

#[test]
fn what_the_device_projects_is_what_the_host_projects() {
    for (group, nonlinearity) in [
        (Symmetry::So3, Nonlinearity::Pointwise),
        (Symmetry::O3, Nonlinearity::Pointwise),
        (Symmetry::So3, Nonlinearity::Gated),
    ] {
        let config = VolumeNetConfig { group, nonlinearity, width: 1, ..VolumeNetConfig::default() };
        let ours = ours(&config);
        let (binding, (network, parameters)) = (bind(&ours), ours);
        let held = network.plan(&parameters).unwrap().unwrap().resolve(&parameters.shapes()).unwrap().layers;
        let weights = normal(&parameters.flat().size(), 3);
        let projected = binding.project(&weights).unwrap();
        let numbers = |tensor: &Tensor| Vec::<f64>::try_from(tensor).unwrap();
        let mut sides = BTreeSet::new();
        for entry in parameters.entries() {
            let part = |flat: &Tensor| numbers(&flat.narrow(0, entry.start as i64, entry.len() as i64));
            let mut expected = part(&weights);
            if let Some(held) = held.iter().find(|held| held.name == entry.name) {
                held.projector.project_into(&part(&weights), &mut expected).unwrap();
                sides.insert(entry.shape.get(2).copied());
            }
            let found = part(&projected);
            let error = found.iter().zip(&expected).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
            assert!(error < 1e-12, "{group:?} {nonlinearity:?} {}: {error:e}", entry.name);
        }
        // Biases, then kernels of every side.
        assert_eq!(sides.into_iter().collect::<Vec<_>>(), [None, Some(1), Some(3), Some(5), Some(7)]);
    }
}

#[test]
fn all_irrep_pairs_of_all_kernels_are_projected_in_a_dozen_operations() {
    let operations =
        |group, width| bind(&ours(&VolumeNetConfig { group, width, ..VolumeNetConfig::default() })).operations();
    // A product each way for kernels of sides 3, 5 and 7; five for all couplings; parts joined before and after.
    for group in [Symmetry::So3, Symmetry::O3] {
        assert_eq!([operations(group, 1), operations(group, 2)], [13, 13]);
    }
}
