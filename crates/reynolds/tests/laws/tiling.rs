//! What tilings are made of; that they project as their projector does is a law of `projector_laws`.

use faer::c64;
use reynolds::projection::{KernelSpace, Lowered, TileProjector, Tiling, derive};
use reynolds::rep::{self, Rep, Representation};
use reynolds::scalar::Scalar;
use reynolds::{group, irrep, irreps::Irreps};
use reynolds_testkit::projector_laws::assert_tiles;
use reynolds_testkit::spaces::{Layer, band, kernels, quaternion_group, space};

const BANDS: [Layer; 4] = [
    ("SO2", "2x(0..2)", "1x(0..3)", 5, 2),
    ("SO3", "2x0 + 1x1", "1x0 + 2x1 + 1x2", 3, 3),
    ("O3", "1x0e + 1x1o", "1x1e + 1x2e", 3, 3),
    ("D8", "regular", "regular + 1 irrep(1)", 5, 2),
];

fn banded<F: Scalar>(layer: Layer) -> Lowered<F> {
    Lowered::Basis(Box::new(band(layer)))
}

fn only_orbits(tiling: &Tiling) -> bool {
    tiling.kinds().iter().all(|kind| matches!(kind.projector, TileProjector::Orbits(_)))
}

#[test]
fn band_limited_kernels_and_large_permutation_groups_are_tiled() {
    BANDS.into_iter().for_each(|layer| drop(assert_tiles::<f64>(&banded(layer), 1)));
    assert_tiles::<c64>(&banded(BANDS[1]), 1);
    assert_tiles(&derive(&space("S16", "permutation", "2 permutation", 0, 0)).unwrap(), 1);
}

#[test]
fn irreps_in_their_canonical_basis_are_signed_orbits() {
    let so2 = group::parse("SO2").unwrap();
    let harmonics = "4x(-4..4)".parse::<Irreps>().unwrap().complex_rep(&so2).unwrap();
    let mask = derive(&KernelSpace::dense(&harmonics, &harmonics).unwrap()).unwrap();
    assert!(only_orbits(&assert_tiles(&mask, 1)));
    for layer in
        [("C3", "irrep(1) + 2 trivial", "2 irrep(1)", 0, 0), ("O3", "2x0e + 1x1o + 1x1e", "1x0o + 2x1o + 1x2e", 0, 0)]
    {
        assert!(only_orbits(&assert_tiles(&derive(&kernels(layer)).unwrap(), 1)), "{layer:?}");
    }
}

#[test]
fn complex_and_quaternionic_irreps_are_tiled() {
    for name in ["S4", "C5", "D4", "SO3"] {
        let group = group::parse(name).unwrap();
        let dual = irrep::unitary_dual(&group, 1).unwrap().into_iter().map(|irrep| (2, Rep::from(irrep)));
        let fields = rep::sum(&group, &dual.collect::<Vec<_>>()).unwrap();
        assert_tiles(&derive(&KernelSpace::dense(&fields, &fields).unwrap()).unwrap(), 1);
    }
    let q8 = quaternion_group();
    let quaternionic: Rep = q8.clone().irreps(0).unwrap().into_iter().find(|irrep| irrep.dim() == 4).unwrap().into();
    let fields = rep::sum(&q8, &[(2, rep::trivial(&q8)), (2, quaternionic)]).unwrap();
    assert_tiles(&derive(&KernelSpace::dense(&fields, &fields).unwrap()).unwrap(), 1);
    let oh = group::parse("Oh").unwrap();
    let plane: Rep<c64> =
        irrep::unitary_dual(&oh, 0).unwrap().into_iter().find(|irrep| irrep.dim() == 2).unwrap().into();
    let grid = rep::Grid::new(&oh, 3, 3).unwrap();
    assert_tiles(&derive(&KernelSpace::kernel(&plane, &plane, &grid).unwrap()).unwrap(), 1);
}

#[test]
fn equal_layers_have_equal_kinds_to_the_bit() {
    for layer in [
        ("D4", "irrep(1) + irrep(2,-)", "irrep(1) + quotient(C2)", 5, 2),
        ("D5", "irrep(1) + irrep(2)", "2 irrep(2) + regular", 0, 0),
        ("T", "irrep(1)", "irrep(1) + vector", 3, 3),
    ] {
        let tiling = || derive(&kernels(layer)).unwrap().tiling().unwrap();
        assert_eq!(tiling().kinds(), tiling().kinds(), "{layer:?}");
    }
    for layer in BANDS {
        let tiling = || banded::<f64>(layer).tiling().unwrap();
        assert_eq!(tiling().kinds(), tiling().kinds(), "{layer:?}");
    }
}

#[test]
fn kinds_do_not_grow_with_the_channels() {
    let kinds = ["1x0 + 1x1 + 1x2", "4x0 + 4x1 + 4x2"]
        .map(|fields| banded::<f64>(("SO3", fields, fields, 3, 3)).tiling().unwrap().kinds().len());
    assert_eq!(kinds, [9, 9]);
}
