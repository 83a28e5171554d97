//! The laws of an orthogonal projector, on the device.

#![allow(clippy::unwrap_used, reason = "tests unwrap")]

use std::rc::Rc;

use crate::support::*;
use proptest::prelude::*;
use reynolds::random::Random;
use reynolds_torch::Binding;
use reynolds_torch::binding::TileProducts;
use reynolds_torch::tch::{Kind, Tensor};

/// Every form, bound in one go.
fn binding(products: TileProducts) -> (Rc<Binding>, usize) {
    let layers = every_form();
    let parameters = parameters(&layers, &random_numbers(&layers, 0), Kind::Double, false);
    (bind_by(&parameters, &layers, products), parameters.len())
}

fn vector(random: &mut Random, len: usize, scale: f64) -> Tensor {
    Tensor::from_slice(&(0..len).map(|_| scale * random.normal()).collect::<Vec<f64>>())
}

fn norm(tensor: &Tensor) -> f64 {
    tensor.norm().double_value(&[])
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]

    #[test]
    fn p_is_an_orthogonal_projector(seed in any::<u64>(), exponent in -3_i32..4, lists in any::<bool>()) {
        let (binding, len) = binding(if lists { TileProducts::Lists } else { TileProducts::PerKind });
        let mut random = Random::new(seed);
        let (v, w) = (vector(&mut random, len, 1.0), vector(&mut random, len, 10.0_f64.powi(exponent)));
        let project = |tensor: &Tensor| binding.project(tensor).unwrap();
        let p = project(&w);
        let scale = norm(&w).max(1.0);
        prop_assert!(norm(&(project(&p) - &p)) <= 1e-12 * scale, "idempotent");
        let (left, right) = (v.dot(&p).double_value(&[]), project(&v).dot(&w).double_value(&[]));
        prop_assert!((left - right).abs() <= 1e-12 * scale * norm(&v), "self-adjoint: {left} and {right}");
        let (whole, parts) = (norm(&w).powi(2), norm(&p).powi(2) + norm(&(&w - &p)).powi(2));
        prop_assert!((whole - parts).abs() <= 1e-12 * whole.max(1.0), "Pythagoras: {whole} and {parts}");
        let sum = project(&(&v * 3.0 - &w)) - (project(&v) * 3.0 - &p);
        prop_assert!(norm(&sum) <= 1e-12 * scale * norm(&v), "linear");
        let energies = binding.energies(&w).unwrap();
        let total: f64 = energies.iter().map(|(_, energies)| energies.total()).sum();
        prop_assert!((total - whole).abs() <= 1e-12 * whole.max(1.0), "energies");
    }
}

#[test]
fn the_trace_is_the_sum_of_the_ranks() {
    let layers: Vec<Layer> = every_form().into_iter().filter(|layer| layer.len() < 200).collect();
    assert!(layers.len() > 3);
    let parameters = parameters(&layers, &random_numbers(&layers, 3), Kind::Double, false);
    let (binding, len) = (bind(&parameters, &layers), parameters.len());
    let unit = Tensor::eye(len as i64, (Kind::Double, binding.device()));
    let trace: f64 = (0..len as i64).map(|i| binding.project(&unit.get(i)).unwrap().double_value(&[i])).sum();
    let rank: usize = binding.bound().iter().map(|bound| bound.rank * if bound.entry.complex { 2 } else { 1 }).sum();
    assert!((trace - rank as f64).abs() < 1e-9, "{trace} and {rank}");
}

#[test]
fn operations_do_not_grow_with_the_number_of_layers() {
    let operations = |copies: usize, products: TileProducts| {
        let layers: Vec<Layer> = (0..copies)
            .flat_map(|copy| {
                every_form().into_iter().map(move |layer| Layer { name: format!("{copy} {}", layer.name), ..layer })
            })
            .collect();
        let parameters = parameters(&layers, &random_numbers(&layers, 1), Kind::Float, false);
        bind_by(&parameters, &layers, products).operations()
    };
    for products in [TileProducts::PerKind, TileProducts::Lists] {
        assert_eq!(operations(20, products), operations(2, products), "{products:?}");
    }
}

/// Operations for one layer of band-limited kernels between equal fields.
fn band_operations(group: &str, fields: &str, dims: usize, products: TileProducts) -> usize {
    let layers = [band("w", group, fields, fields, 3, dims)];
    bind_by(&parameters(&layers, &random_numbers(&layers, 4), Kind::Float, false), &layers, products).operations()
}

#[test]
fn lists_take_as_many_operations_for_many_kinds_as_for_few() {
    // Kernels of a regular field share coordinates: they are no disjoint columns.
    let operations = |fields: &str, products: TileProducts| band_operations("C6", fields, 2, products);
    let (few, many) = ("regular", "regular + irrep(1) + irrep(2) + irrep(3) + trivial");
    assert_eq!(operations(few, TileProducts::Lists), operations(many, TileProducts::Lists));
    assert!(operations(many, TileProducts::PerKind) > operations(few, TileProducts::PerKind) + 15);
}

#[test]
fn all_pairs_of_irreps_of_rotations_are_coupled_in_five_operations() {
    for products in [TileProducts::PerKind, TileProducts::Lists] {
        // And a product each way with the harmonics.
        let operations = |fields: &str| band_operations("SO3", fields, 3, products);
        assert_eq!([operations("1x0 + 1x1"), operations("1x0 + 1x1 + 1x2 + 1x3")], [7, 7]);
    }
}

#[test]
fn the_usual_cases_take_a_handful_of_operations() {
    let operations = |layer: Layer| {
        let layers = [layer];
        bind(&parameters(&layers, &random_numbers(&layers, 2), Kind::Float, false), &layers).operations()
    };
    assert_eq!(operations(real("w", "C4", "9 regular", "9 regular", (5, 2))), 3);
    assert_eq!(operations(complex("w", "SO2", "4x(-4..4)", "4x(-4..4)")), 1);
}
