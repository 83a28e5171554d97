//! Every kind of representation, on every named group, obeys the laws of representations.

use std::sync::Arc;

use faer::Mat;
use reynolds::Error;
use reynolds::group::{self, GroupRef, Product};
use reynolds::irrep::unitary_dual;
use reynolds::irreps::Irreps;
use reynolds::rep::{self, Grid, Rep, Representation};
use reynolds_testkit::laws::assert_representation_laws;
use reynolds_testkit::spaces::{FINITE, QUATERNION};

fn parse(name: &str) -> GroupRef {
    group::parse(name).unwrap_or_else(|error| panic!("{name}: {error}"))
}

fn real_irreps(group: &GroupRef, degree: usize) -> Vec<Rep> {
    group.clone().irreps(degree).expect("a group within reach").into_iter().map(Into::into).collect()
}

#[test]
fn trivial_and_regular_representations() {
    for name in FINITE.into_iter().chain([QUATERNION, "Ih", "S5", "C4 x Z8", "S3 x C2"]) {
        let group = parse(name);
        assert_representation_laws(&rep::trivial(&group));
        assert_representation_laws(&rep::regular(&group).unwrap());
        assert_representation_laws(&rep::complexified(&rep::regular(&group).unwrap()));
    }
    for name in ["SO2", "O2", "SO3", "O3"] {
        assert_representation_laws(&rep::trivial(&parse(name)));
        assert!(rep::regular(&parse(name)).is_err(), "{name}");
    }
}

#[test]
fn permutation_and_point_representations() {
    for name in ["S1", "S3", "S6", "S20", "Z1", "Z9", "Z3 x Z4", "<(0 1 2), (2 3 4)>", "<(0 1)>[5]"] {
        assert_representation_laws(&rep::permutation(&parse(name)).unwrap());
    }
    assert!(rep::permutation(&parse("C4")).is_err());
    assert!(rep::permutation(&parse("Z1000000 x Z1000000")).is_err());
    for name in ["C1", "C5", "D1", "D4", "T", "Td", "Th", "O", "Oh", "I", "Ih", "SO2", "O2", "SO3", "O3"] {
        assert_representation_laws(&rep::point(&parse(name)).unwrap());
    }
    assert!(rep::point(&parse("S4")).is_err());
}

#[test]
fn kernel_grids() {
    let planar = [("C2", 4, 2), ("C4", 3, 2), ("D4", 5, 2), ("D4", 3, 3), ("C4", 2, 3)];
    for (name, side, dims) in planar.into_iter().chain([("O", 3, 3), ("Oh", 4, 3), ("Td", 3, 3), ("SO3", 1, 3)]) {
        let grid: Rep = Arc::new(Grid::new(&parse(name), side, dims).unwrap());
        assert_representation_laws(&grid);
    }
}

#[test]
fn complex_irreps() {
    for name in FINITE.into_iter().chain([QUATERNION, "C3 x C3", "SO2", "O2", "SO3", "O3"]) {
        let group = parse(name);
        let dual = unitary_dual(&group, 3).unwrap();
        let squares: usize = dual.iter().map(|irrep| irrep.dim().pow(2)).sum();
        assert!(
            group.order().is_none_or(|order| order == squares as u128),
            "{name}: squares of dimensions add up to |G|"
        );
        dual.into_iter().for_each(|irrep| assert_representation_laws(&irrep.into()));
    }
}

#[test]
fn sums_tensor_products_and_duals() {
    for name in FINITE.into_iter().chain([QUATERNION, "SO2", "O2", "SO3", "O3"]) {
        let group = parse(name);
        let irreps = real_irreps(&group, 2);
        let (first, last) = (&irreps[irreps.len() / 2], irreps.last().unwrap());
        let sum = rep::sum(&group, &[(2, first.clone()), (3, rep::trivial(&group)), (1, last.clone())]).unwrap();
        assert_eq!(sum.dim(), 2 * first.dim() + 3 + last.dim(), "{name}");
        assert_representation_laws(&sum);
        assert_representation_laws(&rep::tensor(first, last).unwrap());
        assert_representation_laws(&rep::dual(first));
        for irrep in unitary_dual(&group, 2).unwrap().into_iter().rev().take(2) {
            let irrep = irrep.into();
            assert_representation_laws(&rep::dual(&irrep));
            assert_representation_laws(&rep::tensor(&irrep, &rep::dual(&irrep)).unwrap());
        }
    }
}

#[test]
fn quotient_restricted_and_induced_representations() {
    let planar = [("C8", "C2"), ("D4", "C4"), ("D4", "C2"), ("D6", "D3"), ("S4", "S3"), ("C4", "C1")];
    for (large, small) in planar.into_iter().chain([("O", "T"), ("Oh", "O"), ("Oh", "D4"), ("I", "T"), ("Td", "T")]) {
        let group = parse(large);
        let inclusion = group::subgroup(&group, small).unwrap();
        assert_representation_laws(&rep::quotient(&inclusion).unwrap());
        let subgroup = parse(small);
        for irrep in real_irreps(&subgroup, 0) {
            let induced = rep::induced(&irrep, &inclusion).unwrap();
            let index = group.order().unwrap() / subgroup.order().unwrap();
            assert_eq!(induced.dim() as u128, index * irrep.dim() as u128, "{small} in {large}");
            assert_representation_laws(&induced);
        }
        for irrep in real_irreps(&group, 0) {
            assert_representation_laws(&inclusion.pull_back(&irrep).unwrap());
        }
    }
}

#[test]
fn restrictions_of_continuous_groups() {
    for (large, small) in
        [("SO2", "C5"), ("O2", "D3"), ("O2", "SO2"), ("SO3", "I"), ("SO3", "SO2"), ("O3", "Oh"), ("O3", "SO3")]
    {
        let group = parse(large);
        let inclusion = group::subgroup(&group, small).unwrap();
        for irrep in real_irreps(&group, 2) {
            assert_representation_laws(&inclusion.pull_back(&irrep).unwrap());
        }
    }
}

#[test]
fn representations_of_a_factor_pulled_back_to_a_product() {
    for (first, second) in [("S3", "C4"), ("SO2", "C3")] {
        let (first, second) = (parse(first), parse(second));
        let product = Arc::new(Product::new(&first, &second).unwrap());
        let (left, right) = product.projections();
        for irrep in real_irreps(&first, 2) {
            assert_representation_laws(&left.pull_back(&irrep).unwrap());
        }
        for irrep in real_irreps(&second, 2) {
            assert_representation_laws(&right.pull_back(&irrep).unwrap());
        }
    }
}

#[test]
fn texts_of_irreps_and_fields() {
    for (name, text) in [("O3", "2x0e + 1x1o + 1x2e"), ("SO3", "2x0 + 1x3"), ("SO2", "2x(0..3)"), ("O2", "1x(0..2)")] {
        let irreps: Irreps = text.parse().unwrap();
        assert_representation_laws(&irreps.real_rep(&parse(name)).unwrap());
    }
    let harmonics: Irreps = "2x(-3..3)".parse().unwrap();
    assert_representation_laws(&harmonics.complex_rep(&parse("SO2")).unwrap());
    for (name, text) in [
        ("C4", "3 trivial + 2 regular + irrep(1)"),
        ("D4", "quotient(C2) + 2 irrep(0,-) + vector"),
        ("S5", "2 permutation + irrep([3,2])"),
        ("Oh", "vector + regular"),
        ("SO3", "2 irrep(2) + vector"),
    ] {
        assert_representation_laws(&rep::parse_fields(&parse(name), text).unwrap());
    }
}

#[test]
fn labels_are_read_back_as_the_same_fields() {
    for name in
        FINITE.into_iter().chain([QUATERNION, "Ih", "S5", "C3 x C3", "S3 x C2", "SO2", "O2", "SO3", "O3", "SO2 x C3"])
    {
        let group = parse(name);
        let irreps = real_irreps(&group, 3);
        let mut fields: Vec<(usize, Rep)> = irreps.iter().map(|irrep| (2, irrep.clone())).collect();
        if group.order().is_some() {
            fields.push((3, rep::regular(&group).unwrap()));
        }
        fields.push((1, rep::trivial(&group)));
        let sum = rep::sum(&group, &fields).unwrap();
        for rep in irreps.into_iter().chain([sum]) {
            let label = rep.label();
            let again = rep::parse_fields(&group, &label).unwrap_or_else(|error| panic!("{name}, {label}: {error}"));
            assert_eq!(again.dim(), rep.dim(), "{name}: {label}");
            for g in group.generators() {
                assert_eq!(again.matrix(&g), rep.matrix(&g), "{name}: {label}");
            }
            // Reading and printing again changes nothing.
            assert_eq!(rep::parse_fields(&group, &again.label()).unwrap().label(), again.label());
        }
    }
    let d4 = parse("D4");
    let quotient = rep::quotient(&group::subgroup(&parse("C2 x C2"), "C1").unwrap()).unwrap();
    assert_eq!(rep::parse_fields(quotient.group(), &quotient.label()).unwrap().dim(), 4);
    assert!(rep::parse_fields(&d4, "2 1").is_err());
}

#[test]
fn a_large_permutation_representation_is_pulled_back_without_a_matrix() {
    // The matrices of the regular representation of S8 would have 13 GB each.
    let group = parse("S8");
    let inclusion = group::subgroup(&group, "S3").unwrap();
    let pulled = inclusion.pull_back(&rep::regular(&group).unwrap()).unwrap();
    for h in pulled.group().generators() {
        let moved = pulled.signed_permutation(&h).unwrap();
        assert_eq!(u128::from(moved.image[0]), inclusion.apply(&h).index());
    }
}

#[test]
fn impossible_representations_are_errors() {
    let s8 = parse("S8");
    let regular = rep::regular(&s8).unwrap();
    assert!(matches!(rep::tensor(&regular, &regular), Err(Error::OutOfRange { .. })));
    let tables = [("C3", vec![2, 2]), ("C3", vec![]), ("C2", vec![2, 3]), ("SO2", vec![1])];
    for (name, sizes) in tables {
        let matrices: Vec<Mat<f64>> = sizes.iter().map(|&n| Mat::identity(n, n)).collect();
        assert!(matches!(rep::tabulated(&parse(name), "table", matrices), Err(Error::Shape { .. })), "{name}");
    }
}
