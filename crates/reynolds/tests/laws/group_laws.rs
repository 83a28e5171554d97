//! Every group obeys the laws of groups.

use std::collections::HashSet;
use std::sync::Arc;

use faer::Mat;
use proptest::prelude::*;
use reynolds::Error;
use reynolds::group::{self, Element, Group, GroupRef, MatrixGroup, PermutationGroup, Product, elements};
use reynolds_testkit::laws::{assert_element_laws, assert_group_laws, assert_name_round_trip};
use reynolds_testkit::spaces::{FINITE, QUATERNION, quaternion_group};

fn assert_named(names: &[&str]) {
    for name in names {
        let group = group::parse(name).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_group_laws(&group);
        assert_name_round_trip(&group);
    }
}

#[test]
fn named_groups_obey_the_laws() {
    assert_named(&FINITE);
    assert_named(&["C5", "C12", "D6", "Z2", "Z7", "Z8", "Ih", "S5", "S6", "SO2", "O2", "SO3", "O3"]);
}

#[test]
fn products_obey_the_laws() {
    assert_named(&["C4 x Z8", "C3 x C3", "S3 x C4", "D4 x C3", "Z3 x Z5", "C2 x C2 x C2"]);
    assert_named(&["SO2 x C2", "C3 x SO2", "O2 x S3", "SO2 x SO2", "SO3 x C3"]);
    // ℂ ⊗ ℂ, ℍ ⊗ ℂ and ℍ ⊗ ℍ are no division algebras: tensor products of irreps split.
    assert_named(&["C5 x C3", "C3 x T", &format!("{QUATERNION} x C3"), &format!("{QUATERNION} x {QUATERNION}")]);
}

#[test]
fn products_of_products_are_one_group_however_they_are_made() {
    let [a, b, c] = ["C2", "S3", "SO2"].map(|name| group::parse(name).unwrap());
    let product = |x: &GroupRef, y: &GroupRef| -> GroupRef { Arc::new(Product::new(x, y).unwrap()) };
    let (left, right) = (product(&product(&a, &b), &c), product(&a, &product(&b, &c)));
    assert_eq!(left.name(), right.name());
    // Equal names mean equal groups: the elements of one are elements of the other.
    for (g, h) in left.generators().iter().zip(right.generators()) {
        assert_eq!(left.multiply(g, &h), right.multiply(&h, g));
    }
    assert_group_laws(&right);
}

#[test]
fn products_too_large_are_errors_and_others_are_quick() {
    let c3 = group::parse("C3").unwrap();
    let mut power = c3.clone();
    for _ in 1..16 {
        power = Arc::new(Product::new(&power, &c3).unwrap());
    }
    assert!(matches!(Product::new(&power, &c3), Err(Error::OutOfRange { .. })));
    assert!(matches!(power.irreps(0), Err(Error::TooLarge { .. })));
    // (3⁶ + 1)/2 real irreps: the trivial one, and one for each pair of characters. This took 16 seconds.
    let irreps = group::parse("C3 x C3 x C3 x C3 x C3 x C3").unwrap().irreps(0).unwrap();
    assert_eq!(irreps.len(), 365);
    assert!(irreps.iter().skip(1).all(|irrep| irrep.rep().dim() == 2 && irrep.commutant().len() == 2));
    assert!(matches!(group::parse("SO3 x SO3").unwrap().quadrature(32), Err(Error::TooLarge { .. })));
}

#[test]
fn permutation_groups_obey_the_laws() {
    assert_named(&["<(0 1 2 3), (0 2)>", "<(0 1)>[5]", "<()>[3]", "<(0 1 2), (2 3 4)>", "<(0 1 2)(3 4)>"]);
    assert_named(&[QUATERNION]);
}

#[test]
fn groups_too_large_to_list_obey_the_laws() {
    for name in ["S20", "S34", "S12 x Z8"] {
        let group = group::parse(name).unwrap();
        assert_element_laws(&group);
        assert_name_round_trip(&group);
        assert!(matches!(elements(&*group), Err(Error::TooLarge { .. })));
        assert!(matches!(group.quadrature(0), Err(Error::TooLarge { .. })));
    }
}

#[test]
fn matrix_groups_obey_the_laws() {
    let quaternion = quaternion_group();
    assert_eq!(quaternion.order(), Some(8));
    assert_group_laws(&quaternion);
    let (sin, cos) = (std::f64::consts::TAU / 7.0).sin_cos();
    let turn = Mat::from_fn(2, 2, |i, j| [[cos, -sin], [sin, cos]][i][j]);
    let flip = Mat::from_fn(2, 2, |i, j| [[1.0, 0.0], [0.0, -1.0]][i][j]);
    let heptagon: GroupRef = Arc::new(MatrixGroup::new(&[turn, flip]).unwrap());
    assert_eq!(heptagon.order(), Some(14));
    assert_group_laws(&heptagon);
}

/// All products of the generators, found by brute force.
fn closure(generators: &[Vec<u32>]) -> HashSet<Vec<u32>> {
    let identity: Vec<u32> = (0..generators[0].len() as u32).collect();
    let mut found = HashSet::from([identity.clone()]);
    let mut queue = vec![identity];
    while let Some(word) = queue.pop() {
        for generator in generators {
            let product: Vec<u32> = word.iter().map(|&j| generator[j as usize]).collect();
            if found.insert(product.clone()) {
                queue.push(product);
            }
        }
    }
    found
}

fn generator_lists() -> impl Strategy<Value = Vec<Vec<u32>>> {
    (1_u32..7, 1_usize..4).prop_flat_map(|(degree, count)| {
        prop::collection::vec(Just((0..degree).collect::<Vec<u32>>()).prop_shuffle(), count)
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn stabiliser_chain_finds_the_closure_of_its_generators(generators in generator_lists()) {
        let words = closure(&generators);
        let group = PermutationGroup::new(&generators).unwrap();
        prop_assert_eq!(group.order(), Some(words.len() as u128));
        let listed: HashSet<Vec<u32>> =
            elements(&group).unwrap().iter().map(|g| group.point_permutation(g).unwrap()).collect();
        prop_assert_eq!(listed, words);
        let shared: GroupRef = Arc::new(group);
        assert_element_laws(&shared);
        assert_name_round_trip(&shared);
    }

    #[test]
    fn any_text_is_a_group_that_round_trips_or_an_error(text in "[CDSZTOI]?[<(0-9 ,)>x\\[\\]hd×]{0,12}|\\PC{0,12}") {
        if let Ok(group) = group::parse(&text) {
            let name = group.name();
            let again = group::parse(&name).map(|group| group.name());
            prop_assert_eq!(again, Ok(name));
        }
    }

    #[test]
    fn symmetric_groups_rank_and_unrank(n in 1_usize..=34, seed: u128) {
        let group = PermutationGroup::symmetric(n).unwrap();
        let g = Element::Finite(seed % group.order().unwrap());
        let word = group.point_permutation(&g).unwrap();
        prop_assert_eq!(group.element(&word).unwrap(), g);
    }
}
