//! A projector tile by tile is the projector, for every form and for complex weights.

#![allow(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use std::sync::Arc;

use faer::{Mat, c64};
use reynolds::group::{GroupRef, MatrixGroup};
use reynolds::irreps::Irreps;
use reynolds::projection::{Basis, Dimensions, KernelSpace, Lowered, Projector, TileProjector, Tiling, derive};
use reynolds::random::Random;
use reynolds::rep::{Grid, Rep, Representation};
use reynolds::steerable::RingsConfig;
use reynolds::{group, irrep, rep};

/// Group, domain, codomain, side of the grid (0: dense), its dimensions, the form.
type Case = (&'static str, &'static str, &'static str, usize, usize, &'static str);

const CASES: [Case; 16] = [
    ("C1", "3 trivial", "2 regular", 3, 2, "orbits"),
    ("C4", "9 regular", "9 regular + 2 trivial", 5, 2, "orbits"),
    ("C4", "irrep(1) + irrep(2)", "trivial + regular + irrep(1)", 3, 2, "orbits"),
    ("D4", "irrep(1) + irrep(2,-)", "irrep(1) + quotient(C2)", 5, 2, "orbits"),
    ("Oh", "trivial + vector", "irrep(6)", 3, 3, "orbits"),
    ("S5", "2 permutation + trivial", "permutation", 0, 0, "orbits"),
    ("S16", "permutation", "2 permutation", 0, 0, "orbits"),
    ("C3", "irrep(1) + 2 trivial", "2 irrep(1)", 0, 0, "blocks"),
    ("D5", "irrep(1) + irrep(2)", "2 irrep(2) + regular", 0, 0, "blocks"),
    ("S4", "irrep([3,1]) + permutation", "irrep([3,1]) + irrep([2,2])", 0, 0, "blocks"),
    ("I", "irrep(1) + irrep(4)", "vector + irrep(3) + irrep(4)", 0, 0, "blocks"),
    ("O3", "2x0e + 1x1o + 1x1e", "1x0o + 2x1o + 1x2e", 0, 0, "blocks"),
    ("C3 x C3", "irrep(irrep(1)*irrep(1)#0) + regular", "irrep(irrep(1)*irrep(1)#0)", 0, 0, "blocks"),
    ("Oh", "irrep(4) + trivial", "2 irrep(5) + irrep(4)", 3, 3, "chain"),
    ("T", "irrep(1)", "irrep(1) + vector", 3, 3, "chain"),
    ("O", "irrep(2) + trivial", "irrep(2) + vector", 3, 3, "chain"),
];

/// Group, domain, codomain, side, dimensions of band-limited kernels.
const BANDS: [(&str, &str, &str, usize, usize); 4] = [
    ("SO2", "2x(0..2)", "1x(0..3)", 5, 2),
    ("SO3", "2x0 + 1x1", "1x0 + 2x1 + 1x2", 3, 3),
    ("O3", "1x0e + 1x1o", "1x1e + 1x2e", 3, 3),
    ("D8", "regular", "regular + 1 irrep(1)", 5, 2),
];

fn lowered(case: Case) -> Lowered {
    let (name, domain, codomain, side, dims, form) = case;
    let group = group::parse(name).unwrap();
    let (domain, codomain) = (rep::parse_fields(&group, domain).unwrap(), rep::parse_fields(&group, codomain).unwrap());
    let space = match side {
        0 => KernelSpace::dense(&domain, &codomain),
        _ => KernelSpace::kernel(&domain, &codomain, &Grid::new(&group, side, dims).unwrap()),
    };
    let projector = derive(&space.unwrap()).unwrap();
    assert_eq!(projector.form(), form, "{case:?}");
    projector
}

fn band((name, domain, codomain, side, dims): (&str, &str, &str, usize, usize)) -> Basis {
    let group = group::parse(name).unwrap();
    let (domain, codomain) = (rep::parse_fields(&group, domain).unwrap(), rep::parse_fields(&group, codomain).unwrap());
    Basis::derive(&domain, &codomain, side, dims, &RingsConfig::default()).unwrap()
}

/// The quaternion group Q₈ by left multiplication on ℝ⁴.
fn quaternion_group() -> GroupRef {
    let i = [[0.0, -1.0, 0.0, 0.0], [1.0, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, -1.0], [0.0, 0.0, 1.0, 0.0]];
    let j = [[0.0, 0.0, -1.0, 0.0], [0.0, 0.0, 0.0, 1.0], [1.0, 0.0, 0.0, 0.0], [0.0, -1.0, 0.0, 0.0]];
    let matrix = |rows: [[f64; 4]; 4]| Mat::from_fn(4, 4, |r, c| rows[r][c]);
    Arc::new(MatrixGroup::new(&[matrix(i), matrix(j)]).unwrap())
}

fn random(len: usize) -> Vec<f64> {
    let mut random = Random::new(len as u64);
    (0..len).map(|_| random.normal()).collect()
}

/// Every number is in one tile; the tiles project as the projector does; their ranks add up to its own.
fn assert_tiles(tiling: &Tiling, expected: &[f64], weights: &[f64], rank: usize, what: &str) {
    let mut seen = vec![0; tiling.coordinates()];
    tiling.tiles().iter().for_each(|&tile| tiling.places(tile).for_each(|place| seen[place] += 1));
    assert!(seen.iter().all(|&times| times == 1), "{what}: a number that is not in exactly one tile");
    assert_eq!(tiling.rank(), rank, "{what}");
    let ours = tiling.project(weights);
    let worst = ours.iter().zip(expected).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
    assert!(worst < 1e-12, "{what}: {worst:e}");
}

fn check_real(projector: &Lowered, what: &str) {
    let weights = random(projector.len());
    let rank = projector.rank();
    assert_tiles(&projector.tiling().unwrap(), &projector.project(&weights).unwrap(), &weights, rank, what);
}

fn check_complex(projector: &Lowered<c64>, what: &str) {
    let numbers = random(2 * projector.len());
    let weights: Vec<c64> = numbers.chunks_exact(2).map(|pair| c64::new(pair[0], pair[1])).collect();
    let expected: Vec<f64> = projector.project(&weights).unwrap().iter().flat_map(|z| [z.re, z.im]).collect();
    let rank = 2 * projector.rank();
    assert_tiles(&projector.tiling().unwrap(), &expected, &numbers, rank, what);
}

fn only_orbits(tiling: &Tiling) -> bool {
    tiling.kinds().iter().all(|kind| matches!(kind.projector, TileProjector::Orbits(_)))
}

#[test]
fn tiles_project_as_their_projector_does() {
    for case in CASES {
        check_real(&lowered(case), &format!("{case:?}"));
    }
    for case in BANDS {
        check_real(&Lowered::Basis(Box::new(band(case))), &format!("{case:?}"));
    }
}

#[test]
fn complex_tiles_are_real_linear_on_pairs() {
    let so2 = group::parse("SO2").unwrap();
    let irreps = |text: &str| text.parse::<Irreps>().unwrap().complex_rep(&so2).unwrap();
    let mask = derive(&KernelSpace::dense(&irreps("4x(-4..4)"), &irreps("4x(-4..4)")).unwrap()).unwrap();
    check_complex(&mask, "SO2 mask");
    assert!(only_orbits(&mask.tiling().unwrap()));
    for name in ["S4", "C5", "D4", "SO3"] {
        let group = group::parse(name).unwrap();
        let dual: Vec<Rep<c64>> = irrep::unitary_dual(&group, 1).unwrap().into_iter().map(Into::into).collect();
        let fields = rep::sum(&group, &dual.iter().map(|irrep| (2, irrep.clone())).collect::<Vec<_>>()).unwrap();
        check_complex(&derive(&KernelSpace::dense(&fields, &fields).unwrap()).unwrap(), name);
    }
    let oh = group::parse("Oh").unwrap();
    let irrep: Rep<c64> =
        irrep::unitary_dual(&oh, 0).unwrap().into_iter().find(|irrep| irrep.dim() == 2).unwrap().into();
    let space = KernelSpace::kernel(&irrep, &irrep, &Grid::new(&oh, 3, 3).unwrap()).unwrap();
    check_complex(&derive(&space).unwrap(), "Oh chain");
    check_complex(&Lowered::Basis(Box::new(band(BANDS[1]))), "complex band-limited kernels");
}

#[test]
fn irreps_in_their_canonical_basis_are_signed_orbits() {
    // Real, complex and quaternionic type.
    let q8 = quaternion_group();
    let quaternionic: Rep = q8.clone().irreps(0).unwrap().into_iter().find(|irrep| irrep.dim() == 4).unwrap().into();
    let fields = rep::sum(&q8, &[(2, rep::trivial(&q8)), (2, quaternionic)]).unwrap();
    let projector = derive(&KernelSpace::dense(&fields, &fields).unwrap()).unwrap();
    check_real(&projector, "Q8");
    for projector in [lowered(CASES[7]), lowered(CASES[11])] {
        assert!(only_orbits(&projector.tiling().unwrap()));
    }
}

#[test]
fn equal_layers_have_equal_kinds_to_the_bit() {
    for case in CASES {
        assert_eq!(lowered(case).tiling().unwrap().kinds(), lowered(case).tiling().unwrap().kinds(), "{case:?}");
    }
    for case in BANDS {
        let tiling = || Lowered::<f64>::Basis(Box::new(band(case))).tiling().unwrap();
        assert_eq!(tiling().kinds(), tiling().kinds(), "{case:?}");
    }
}

#[test]
fn kinds_do_not_grow_with_the_channels() {
    let kinds = |copies: usize| {
        let fields = format!("{copies}x0 + {copies}x1 + {copies}x2");
        let basis = band(("SO3", &fields, &fields, 3, 3));
        Lowered::<f64>::Basis(Box::new(basis)).tiling().unwrap().kinds().len()
    };
    assert_eq!((kinds(1), kinds(4)), (9, 9));
}
