//! P on the device is the core's, has the laws of an orthogonal projector, and takes a number of operations that does not grow.

#![allow(clippy::unwrap_used, reason = "tests unwrap")]

use crate::support::*;
use proptest::prelude::*;
use reynolds::random::Random;
use reynolds_torch::binding::TileProducts;
use reynolds_torch::tch::{Kind, Tensor};

#[test]
fn every_form_on_the_device_is_the_host_projector() {
    let alone = every_form().into_iter().map(|layer| (vec![layer], false));
    for (layers, gaps) in alone.chain([(every_form(), true)]) {
        for (kind, products) in
            [Kind::Double, Kind::Float].into_iter().flat_map(|kind| BOTH_WAYS.map(|way| (kind, way)))
        {
            let mut parameters = parameters(&layers, 1, kind, gaps);
            let binding = bind_by(&parameters, &layers, products);
            let (projected, energies) =
                (binding.project(parameters.flat()).unwrap(), binding.energies(parameters.flat()).unwrap());
            for entry in parameters.entries() {
                let within = tolerance(kind, entry.len(), 1.0);
                let part = |flat: &Tensor| numbers(&flat.narrow(0, entry.start as i64, entry.len() as i64));
                let found = part(&projected);
                let Some(layer) = layers.iter().find(|layer| layer.name == entry.name) else {
                    assert_eq!(found, [0.5, -1.5, 2.5]);
                    continue;
                };
                let expected = layer.projected(&part(parameters.flat()));
                assert_close(&found, &expected, within, &entry.name);
                let energy: f64 = expected.iter().map(|p| p * p).sum();
                let (_, found) = energies.iter().find(|(name, _)| *name == entry.name).unwrap();
                assert!((found.equivariant - energy).abs() <= 10.0 * within * energy.max(1.0), "{}", entry.name);
            }
            binding.project_in_place(&mut parameters).unwrap();
            assert_eq!(*parameters.flat(), projected);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]

    #[test]
    fn p_is_an_orthogonal_projector(
        seed in any::<u64>(),
        exponent in -3_i32..4,
        products in prop::sample::select(BOTH_WAYS.to_vec()),
    ) {
        let layers = every_form();
        let parameters = parameters(&layers, 0, Kind::Double, false);
        let binding = bind_by(&parameters, &layers, products);
        let mut random = Random::new(seed);
        let mut vector = || Tensor::from_slice(&(0..parameters.len()).map(|_| random.normal()).collect::<Vec<f64>>());
        let (v, w) = (vector(), vector() * 10.0_f64.powi(exponent));
        let project = |tensor: &Tensor| binding.project(tensor).unwrap();
        let norm = |tensor: &Tensor| tensor.norm().double_value(&[]);
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
    let parameters = parameters(&layers, 3, Kind::Double, false);
    let (binding, len) = (bind(&parameters, &layers), parameters.len());
    let unit = Tensor::eye(len as i64, (Kind::Double, binding.device()));
    let trace: f64 = (0..len as i64).map(|i| binding.project(&unit.get(i)).unwrap().double_value(&[i])).sum();
    let rank: usize = binding.bound().iter().map(|bound| bound.rank * if bound.entry.complex { 2 } else { 1 }).sum();
    assert!((trace - rank as f64).abs() < 1e-9, "{trace} and {rank}");
}

fn operations(layers: &[Layer], products: TileProducts) -> usize {
    bind_by(&parameters(layers, 1, Kind::Float, false), layers, products).operations()
}

#[test]
fn operations_do_not_grow_with_the_number_of_layers() {
    let copies = |copies: usize| -> Vec<Layer> {
        let copy = |copy| every_form().into_iter().map(move |layer| layer.again(format!("{copy} {}", layer.name)));
        (0..copies).flat_map(copy).collect()
    };
    for products in BOTH_WAYS {
        assert_eq!(operations(&copies(20), products), operations(&copies(2), products), "{products:?}");
    }
}

#[test]
fn the_usual_cases_take_a_handful_of_operations() {
    let [per_kind, lists] = BOTH_WAYS;
    assert_eq!(operations(&[real("w", "C4", "9 regular", "9 regular", (5, 2))], per_kind), 3);
    assert_eq!(operations(&[complex("w", "SO2", "4x(-4..4)", "4x(-4..4)")], per_kind), 1);
    // Kernels of a regular field share coordinates, so that each kind of tile is multiplied, or lists take all kinds at once.
    let band_limited =
        |group: &str, fields: &str, dims, products| operations(&[band("w", group, fields, fields, 3, dims)], products);
    let [few, many] = ["regular", "regular + irrep(1) + irrep(2) + irrep(3) + trivial"];
    assert_eq!(band_limited("C6", few, 2, lists), band_limited("C6", many, 2, lists));
    assert!(band_limited("C6", many, 2, per_kind) > band_limited("C6", few, 2, per_kind) + 15);
    // Pairs of irreps of rotations do not: lists in five operations, and a product each way with the harmonics.
    for products in BOTH_WAYS {
        for fields in ["1x0 + 1x1", "1x0 + 1x1 + 1x2 + 1x3"] {
            assert_eq!(band_limited("SO3", fields, 3, products), 7);
        }
    }
}
