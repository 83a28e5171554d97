//! Every law of a projector and its tiles, on orbits, blocks and chain.

use faer::{c32, c64};
use proptest::prelude::*;
use reynolds::irreps::Irreps;
use reynolds::projection::{
    Blocks, Chain, Dimensions, Energies, HaarProjector, KernelSpace, Lowered, Projector, TileProjector, Tiling, derive,
};
use reynolds::rep::{Grid, Rep, Representation};
use reynolds::{group, irrep, rep};
use reynolds_testkit::projector_laws::{
    assert_lowered_laws, assert_projector_laws, assert_tiles, assert_tower_law, largest_difference, random_weights,
};
use reynolds_testkit::spaces::{Layer, band, kernels, quaternion_group, space};

/// A layer and the form expected of its projector.
type Case = (Layer, &'static str);

const CASES: [Case; 37] = [
    (("C1", "3 trivial", "2 regular", 3, 2), "orbits"),
    (("C2", "2 regular + trivial", "regular", 3, 2), "orbits"),
    (("C4", "2 regular", "regular + 2 trivial", 3, 2), "orbits"),
    (("C4", "regular", "regular", 4, 2), "orbits"),
    (("C4", "irrep(1) + irrep(2)", "trivial + regular + irrep(1)", 3, 2), "orbits"),
    (("C4", "3 trivial", "regular", 0, 0), "orbits"),
    (("D4", "regular + irrep(0,-)", "regular", 3, 2), "orbits"),
    (("D4", "irrep(1) + irrep(2,-)", "irrep(1) + quotient(C2)", 5, 2), "orbits"),
    (("D2", "regular", "vector", 3, 2), "orbits"),
    (("S4", "2 permutation", "permutation + trivial", 0, 0), "orbits"),
    (("<(0 1 2), (0 1)>", "regular", "permutation", 0, 0), "orbits"),
    (("Z6 x Z4", "permutation", "permutation", 0, 0), "orbits"),
    (("C4 x Z3", "regular", "regular", 0, 0), "orbits"),
    (("O", "vector", "regular", 3, 3), "orbits"),
    (("Oh", "trivial + vector", "irrep(6)", 3, 3), "orbits"),
    (("T", "quotient(C2)", "vector", 2, 3), "orbits"),
    (("C3", "irrep(1) + 2 trivial", "2 irrep(1)", 0, 0), "blocks"),
    (("C3", "regular + irrep(1)", "2 irrep(1) + regular", 0, 0), "blocks"),
    (("D3", "regular + 2 irrep(1)", "irrep(1) + irrep(0,-)", 0, 0), "blocks"),
    (("D5", "irrep(1) + irrep(2)", "2 irrep(2) + regular", 0, 0), "blocks"),
    (("S4", "irrep([3,1]) + permutation", "irrep([3,1]) + irrep([2,2])", 0, 0), "blocks"),
    (("I", "irrep(1) + irrep(4)", "vector + irrep(3) + irrep(4)", 0, 0), "blocks"),
    (("SO2", "2x(0..2)", "1x(0..3)", 0, 0), "blocks"),
    (("O2", "2x(0..2)", "1x1 + 2x2", 0, 0), "blocks"),
    (("SO3", "2x0 + 1x1 + 1x2", "1x0 + 2x1 + 1x3", 0, 0), "blocks"),
    (("O3", "2x0e + 1x1o + 1x1e", "1x0o + 2x1o + 1x2e", 0, 0), "blocks"),
    (("SO3", "vector", "1x0 + 2x1", 0, 0), "blocks"),
    (("C3 x C3", "irrep(irrep(1)*irrep(1)#0) + regular", "irrep(irrep(1)*irrep(1)#0)", 0, 0), "blocks"),
    (("O", "irrep(2) + trivial", "irrep(2) + vector", 3, 3), "chain"),
    (("Oh", "irrep(4)", "irrep(5)", 3, 3), "chain"),
    (("T", "irrep(1)", "irrep(1) + vector", 3, 3), "chain"),
    (("Td", "irrep(2)", "vector", 2, 3), "chain"),
    (("Th", "irrep(2)", "irrep(3)", 3, 3), "chain"),
    (("C4", "regular", "irrep(1)", 5, 3), "orbits"),
    (("C4", "9 regular", "9 regular + 2 trivial", 5, 2), "orbits"),
    (("S5", "2 permutation + trivial", "permutation", 0, 0), "orbits"),
    (("Oh", "irrep(4) + trivial", "2 irrep(5) + irrep(4)", 3, 3), "chain"),
];

/// Band-limited kernels: C₄ is multiplied into the kernels, the 24 channels of O are turned by themselves, SO(2) needs no change of basis.
const BANDS: [Layer; 6] = [
    ("C4", "2 regular", "2 regular", 3, 2),
    ("O", "1 regular", "1 regular", 3, 3),
    ("SO2", "2x(0..2)", "1x(0..3)", 5, 2),
    ("SO3", "2x0 + 1x1", "1x0 + 2x1 + 1x2", 3, 3),
    ("O3", "1x0e + 1x1o", "1x1e + 1x2e", 3, 3),
    ("D8", "regular", "regular + 1 irrep(1)", 5, 2),
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4))]

    #[test]
    fn every_form_obeys_the_laws(seed in any::<u64>()) {
        for case in CASES {
            let space = kernels(case.0);
            let projector = derive(&space).unwrap();
            assert_eq!(projector.form(), case.1, "{case:?}");
            assert_lowered_laws(&space, &projector, seed);
        }
    }

    #[test]
    fn chain_and_blocks_agree_with_orbits_where_all_apply(seed in any::<u64>()) {
        for (layer, _) in CASES {
            let space = kernels(layer);
            if space.group().order().is_some() {
                assert_lowered_laws(&space, &Lowered::Chain(Chain::derive(&space).unwrap()), seed);
            }
            if space.points() == 1 {
                assert_lowered_laws(&space, &Lowered::Blocks(Blocks::derive(&space).unwrap()), seed);
            }
        }
    }

    #[test]
    fn complex_weights_obey_the_laws(seed in any::<u64>()) {
        let so2 = group::parse("SO2").unwrap();
        let fields = |text: &str| text.parse::<Irreps>().unwrap().complex_rep(&so2).unwrap();
        let space = KernelSpace::dense(&fields("2x(-2..2)"), &fields("1x(-3..3) + 2x1")).unwrap();
        assert_lowered_laws(&space, &derive(&space).unwrap(), seed);
        for name in ["C3", "S3", "O", "C5"] {
            let group = group::parse(name).unwrap();
            let regular: Rep<c64> = rep::complexified(&rep::regular(&group).unwrap());
            let irreps = irrep::unitary_dual(&group, 0).unwrap();
            let last: Rep<c64> = irreps.last().unwrap().clone().into();
            let sum = rep::sum(&group, &[(2, last), (1, regular.clone())]).unwrap();
            for space in [KernelSpace::dense(&regular, &sum).unwrap(), KernelSpace::dense(&regular, &regular).unwrap()] {
                assert_lowered_laws(&space, &derive(&space).unwrap(), seed);
            }
        }
        let oh = group::parse("Oh").unwrap();
        let dual = irrep::unitary_dual(&oh, 0).unwrap();
        let plane: Rep<c64> = dual.into_iter().find(|irrep| irrep.dim() == 2).unwrap().into();
        let space = KernelSpace::kernel(&plane, &plane, &Grid::new(&oh, 3, 3).unwrap()).unwrap();
        assert_lowered_laws(&space, &derive(&space).unwrap(), seed);
    }

    #[test]
    fn quaternionic_blocks_need_all_four_terms(seed in any::<u64>()) {
        let q8 = quaternion_group();
        let irreps = q8.clone().irreps(0).unwrap();
        let largest: Rep = irreps.last().unwrap().clone().into();
        assert_eq!(irreps.last().unwrap().endomorphism_type(), irrep::EndomorphismType::Quaternionic);
        let vectors = rep::point(&q8).unwrap();
        let fields = rep::sum(&q8, &[(2, largest), (1, rep::trivial(&q8)), (1, vectors)]).unwrap();
        let space = KernelSpace::dense(&fields, &fields).unwrap();
        assert_eq!(space.dim_equivariant().unwrap(), 4 * 9 + 1);
        assert_lowered_laws(&space, &Lowered::Blocks(Blocks::derive(&space).unwrap()), seed);
        assert_lowered_laws(&space, &Lowered::Chain(Chain::derive(&space).unwrap()), seed);
        assert_lowered_laws(&space, &derive(&space).unwrap(), seed);
    }

    #[test]
    fn towers_of_subgroups_obey_the_tower_law(seed in any::<u64>()) {
        for (name, below, side, dims) in [
            ("D4", "C4", 3, 2), ("D4", "D2", 5, 2), ("C4", "C2", 3, 2), ("Oh", "O", 3, 3), ("O", "T", 3, 3), ("Oh", "D4", 3, 3),
        ] {
            let larger = space(name, "vector + trivial", "regular", side, dims);
            let inclusion = group::subgroup(larger.group(), below).unwrap();
            let down = |rep: &Rep| inclusion.pull_back(rep).unwrap();
            let grid = Grid::new(inclusion.source(), side, dims).unwrap();
            let smaller = KernelSpace::kernel(&down(larger.domain()), &down(larger.codomain()), &grid).unwrap();
            assert_tower_law::<f64>(&derive(&larger).unwrap(), &derive(&smaller).unwrap(), seed);
        }
        for (name, below) in [("SO2", "C5"), ("O2", "D3"), ("SO3", "O"), ("SO3", "C3"), ("O3", "Ih"), ("SO3", "I")] {
            let group = group::parse(name).unwrap();
            let inclusion = group::subgroup(&group, below).unwrap();
            let irreps: Vec<(usize, Rep)> = group.clone().irreps(2).unwrap().into_iter().map(|v| (1, v.into())).collect();
            let fields = rep::sum(&group, &irreps).unwrap();
            let larger = KernelSpace::dense(&fields, &fields).unwrap();
            let down = inclusion.pull_back(&fields).unwrap();
            let smaller = KernelSpace::dense(&down, &down).unwrap();
            assert_tower_law::<f64>(&derive(&larger).unwrap(), &derive(&smaller).unwrap(), seed);
        }
    }
}

#[test]
fn every_precision_is_projected_alike() {
    let banded = |layer| Lowered::Basis(Box::new(band(layer)));
    for projector in CASES.map(|(layer, _)| derive(&kernels(layer)).unwrap()).into_iter().chain(BANDS.map(banded)) {
        let form = projector.form();
        let wide: Vec<f64> = random_weights(projector.len(), 5);
        let narrow: Vec<f32> = wide.iter().map(|&w| w as f32).collect();
        let (a, b) = (projector.project(&wide).unwrap(), projector.project(&narrow).unwrap());
        let (e, f) = (projector.energies(&wide).unwrap(), projector.energies(&narrow).unwrap());
        // A mean of n numbers is good to about n·eps of their size; orbits here have at most 48 members.
        let tolerance = 48.0 * f64::from(f32::EPSILON) * 4.0;
        assert!(a.iter().zip(&b).all(|(x, &y)| (x - f64::from(y)).abs() < tolerance), "{form}");
        let close = |wide: f64, narrow: f64| (wide - narrow).abs() <= 1e-5 * e.total();
        assert!(close(e.perp, f.perp) && close(e.equivariant, f.equivariant), "{form}");
        if let Lowered::Basis(basis) = &projector {
            let complex: Vec<c32> = narrow.iter().map(|&w| c32::new(w, -2.0 * w)).collect();
            let same = |(x, z): (&f64, &c32)| {
                (f64::from(z.re) - x).abs() < tolerance && (f64::from(z.im) / -2.0 - x).abs() < tolerance
            };
            assert!(a.iter().zip(&basis.project(&complex).unwrap()).all(same), "complex weights");
        }
    }
}

fn only_orbits(tiling: &Tiling) -> bool {
    tiling.kinds().iter().all(|kind| matches!(kind.projector, TileProjector::Orbits(_)))
}

#[test]
fn tiles_of_band_limited_kernels_and_of_large_permutation_groups() {
    let banded = |layer| Lowered::<f64>::Basis(Box::new(band(layer)));
    BANDS.into_iter().for_each(|layer| drop(assert_tiles(&banded(layer), 1)));
    assert_tiles(&Lowered::<c64>::Basis(Box::new(band(BANDS[3]))), 1);
    assert_tiles(&derive(&space("S16", "permutation", "2 permutation", 0, 0)).unwrap(), 1);
    let kinds = |fields| banded(("SO3", fields, fields, 3, 3)).tiling().unwrap().kinds().len();
    assert_eq!(["1x0 + 1x1 + 1x2", "4x0 + 4x1 + 4x2"].map(kinds), [9, 9], "kinds do not grow with the channels");
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
        assert!(only_orbits(&derive(&kernels(layer)).unwrap().tiling().unwrap()), "{layer:?}");
    }
}

/// What is derived twice is equal to the bit: layers of one kind share their tiles on a device.
#[test]
fn equal_layers_have_equal_tiles_to_the_bit() {
    let tiling = |layer| derive(&kernels(layer)).unwrap().tiling().unwrap();
    for layer in [CASES[7].0, CASES[19].0, CASES[30].0] {
        assert_eq!(tiling(layer).kinds(), tiling(layer).kinds(), "{layer:?}");
    }
    let tiling = |layer| Lowered::<f64>::Basis(Box::new(band(layer))).tiling().unwrap();
    for layer in BANDS {
        assert_eq!(tiling(layer).kinds(), tiling(layer).kinds(), "{layer:?}");
    }
}

/// Permutation fields of S₃₀: two orbits, one of 30 and one of 870 weights, held as labels.
fn deep_sets() -> Lowered {
    derive(&space("S30", "permutation", "permutation", 0, 0)).unwrap()
}

fn regular_maps(group: &'static str) -> Lowered {
    derive(&space(group, "regular", "regular", 0, 0)).unwrap()
}

#[test]
fn projecting_twice_changes_no_bit_on_orbits() {
    let mut projectors = vec![deep_sets()];
    for (layer, _) in CASES.into_iter().filter(|(_, form)| *form == "orbits") {
        projectors.push(derive(&kernels(layer)).unwrap());
    }
    projectors.extend(["C3", "C6", "C7", "C48", "C100"].map(regular_maps));
    for projector in projectors {
        let wide: Vec<f64> = random_weights(projector.len(), 3);
        let once = projector.project(&wide).unwrap();
        assert_eq!(projector.project(&once).unwrap(), once);
        assert_eq!(projector.energies(&once).unwrap().perp, 0.0);
        let narrow: Vec<f32> = wide.iter().map(|&w| w as f32).collect();
        let once = projector.project(&narrow).unwrap();
        assert_eq!(projector.project(&once).unwrap(), once);
    }
}

#[test]
fn a_large_orbit_does_not_leak_into_its_neighbour() {
    let projector = deep_sets();
    for (on, off) in [(1e8_f32, 1.0), (1e30, 1.0), (0.1, 0.0), (3e38, 1.0)] {
        let weights: Vec<f32> = (0..900).map(|k| if k / 30 == k % 30 { on } else { off }).collect();
        let mut out = vec![0.0; 900];
        projector.apply(&weights, &mut out);
        assert_eq!(out, weights);
    }
    let weights: Vec<f64> = (0..900).map(|k| if k / 30 == k % 30 { 1e16 } else { 1.0 }).collect();
    assert_eq!(projector.project(&weights).unwrap(), weights);
}

#[test]
fn energies_of_tiny_and_huge_weights_are_right_or_refused() {
    let projector = regular_maps("C4");
    let wide: Vec<f64> = random_weights(16, 9);
    let ratio = projector.energies(&wide).unwrap().ratio();
    for scale in [1e-23, 1e-15, 1e15, 1e25] {
        let narrow: Vec<f32> = wide.iter().map(|&w| (w * scale) as f32).collect();
        assert!((projector.energies(&narrow).unwrap().ratio() - ratio).abs() < 1e-5, "{scale}");
    }
    for scale in [1e-200, 1e200] {
        let scaled: Vec<f64> = wide.iter().map(|&w| w * scale).collect();
        assert!(projector.energies(&scaled).unwrap_err().to_string().contains("magnitude"), "{scale}");
    }
    assert_eq!(projector.energies(&[0.0_f32; 16]).unwrap().ratio(), 1.0);
    // The largest numbers of single precision, whose sums leave it, and the smallest.
    for scale in [f64::from(f32::MAX), 1e-38] {
        let narrow: Vec<f32> = wide.iter().map(|&w| (w.clamp(-1.0, 1.0) * scale) as f32).collect();
        let found = projector.project(&narrow).unwrap();
        let expected = projector.project(&narrow.iter().map(|&w| f64::from(w)).collect::<Vec<f64>>()).unwrap();
        assert!(found.iter().zip(&expected).all(|(&p, q)| (f64::from(p) - q).abs() <= 1e-6 * scale), "{scale}");
    }
}

#[test]
fn layers_too_large_to_hold_are_refused() {
    let s34 = rep::permutation(&group::parse("S34").unwrap()).unwrap();
    let pairs = rep::tensor(&s34, &s34).unwrap();
    let triples = rep::tensor(&pairs, &s34).unwrap();
    let space = KernelSpace::dense(&triples, &triples).unwrap();
    assert!(derive(&space).unwrap_err().to_string().contains("weights of one output field"));
    let c4 = group::parse("C4").unwrap();
    let wide = rep::parse_fields(&c4, "16000000 trivial").unwrap();
    let grid = Grid::new(&c4, 1024, 3).unwrap();
    assert!(KernelSpace::kernel(&wide, &wide, &grid).unwrap_err().to_string().contains("weights of a layer"));
}

/// A projector with a fault, for showing that the laws can fail.
#[derive(Debug)]
struct Faulty {
    inner: Lowered,
    fault: &'static str,
}

impl Dimensions for Faulty {
    fn len(&self) -> usize {
        self.inner.len()
    }

    fn rank(&self) -> usize {
        self.inner.rank() + usize::from(self.fault == "rank")
    }
}

impl Projector<f64> for Faulty {
    fn apply(&self, weights: &[f64], out: &mut [f64]) -> Energies {
        let energies = self.inner.apply(weights, out);
        match self.fault {
            "scaled" => out.iter_mut().for_each(|w| *w *= 1.0 + 1e-9),
            "identity" => out.copy_from_slice(weights),
            "zero" => out.fill(0.0),
            "one entry" => out[0] += 1e-9,
            "rolled" => out.rotate_right(1),
            "energies" => return Energies { perp: energies.perp * (1.0 + 1e-9), ..energies },
            _ => {}
        }
        energies
    }
}

#[test]
fn a_faulty_projector_breaks_a_law() {
    let space = kernels(CASES[2].0);
    let sound = Faulty { inner: derive(&space).unwrap(), fault: "none" };
    assert_projector_laws(&space, &sound, 1);
    for fault in ["rank", "scaled", "identity", "zero", "one entry", "rolled", "energies"] {
        let faulty = Faulty { inner: derive(&space).unwrap(), fault };
        let laws = std::panic::AssertUnwindSafe(|| assert_projector_laws(&space, &faulty, 1));
        let result = std::panic::catch_unwind(laws);
        assert!(result.is_err(), "no law noticed the fault \"{fault}\"");
    }
}

#[test]
fn bad_weights_are_errors() {
    let projector = regular_maps("C4");
    let mut weights = vec![1.0_f32; 16];
    weights[7] = f32::NAN;
    assert!(projector.project(&weights).unwrap_err().to_string().contains("weight 7 is NaN"));
    weights[7] = f32::INFINITY;
    assert!(projector.project(&weights).is_err());
    assert!(projector.project(&[1.0_f32; 15]).unwrap_err().to_string().contains("expected 16 weights, found 15"));
    assert!(projector.project(&[] as &[f32]).is_err());
    // Squares that overflow single precision are still energies.
    let large = projector.energies(&[1e30_f32; 16]).unwrap();
    assert!((large.equivariant / 1.6e61 - 1.0).abs() < 1e-5 && large.perp < 1e50);
}

#[test]
fn many_large_orbits_are_averaged_as_the_haar_sum_does() {
    // 16 and 130 orbits of as many weights: what has one table of labels, and another.
    for name in ["C16", "C130"] {
        let space = space(name, "regular", "regular", 0, 0);
        let weights = random_weights::<f64>(space.len(), 7);
        let expected = HaarProjector::new(&space).unwrap().project(&weights).unwrap();
        let found = derive(&space).unwrap().project(&weights).unwrap();
        let error = largest_difference(&found, &expected);
        assert!(error < 1e-13, "{name}: off by {error:e}");
    }
}
