//! The isotypic decomposition.

use faer::Mat;
use reynolds::rep::{Rep, Representation};
use reynolds::scalar::Scalar;
use reynolds::{group, rep};
use reynolds_testkit::spaces::FINITE;

/// ‖π(g)Q − Q·⊕σ(g)‖ on generators, and the distance of Q from unitary.
fn assert_decomposes<F: Scalar>(name: &str, representation: &Rep<F>) {
    let parts = rep::decompose(representation).expect("an enumerable group");
    let basis = parts.basis();
    let n = basis.nrows();
    let unitary = basis.adjoint() * &basis - Mat::<F>::identity(n, n);
    assert!(unitary.norm_max() < 1e-12, "{name}: basis not unitary");
    for g in representation.group().generators() {
        let mut blocks = Mat::<F>::zeros(n, n);
        for (irrep, at) in parts.irreps() {
            let d = irrep.dim();
            blocks.submatrix_mut(at, at, d, d).copy_from(irrep.matrix(&g));
        }
        let error = (representation.matrix(&g) * &basis - &basis * blocks).norm_max();
        assert!(error < 1e-11, "{name}: off by {error:.1e}");
    }
}

#[test]
fn regular_representations_decompose_into_canonical_irreps() {
    for name in FINITE.into_iter().chain(["C5", "D6", "Ih", "C3 x C3", "C4 x Z4", "D3 x C2"]) {
        let group = group::parse(name).unwrap();
        let regular = rep::regular(&group).unwrap();
        assert_decomposes(name, &regular);
        assert_decomposes(name, &rep::complexified(&regular));
    }
}

#[test]
fn tensor_products_of_continuous_irreps_decompose() {
    for (name, degree) in [("SO2", 3), ("O2", 3), ("SO3", 2), ("O3", 1)] {
        let group = group::parse(name).unwrap();
        let irreps: Vec<Rep> = group.clone().irreps(degree).unwrap().into_iter().map(Into::into).collect();
        for a in &irreps {
            for b in &irreps {
                assert_decomposes(name, &rep::tensor(a, b).unwrap());
            }
        }
    }
}

#[test]
fn cubic_vectors_permute_coordinates() {
    let octahedral = group::parse("O").unwrap();
    let irreps = octahedral.clone().irreps(0).unwrap();
    let r = &octahedral.generators()[0];
    let permuting = irreps.iter().filter(|irrep| irrep.dim() == 3 && irrep.signed_permutation(r).is_some()).count();
    assert_eq!(permuting, 2);
}
