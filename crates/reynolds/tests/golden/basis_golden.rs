//! Kernel bases against numbers that are not ours (escnn, e3nn, the counts published for the networks of the paper), and at the
//! edges: aliasing bands, even grids, complex weights, bad input.

use reynolds::Error;
use reynolds::projection::{Basis, Dimensions, HaarProjector, Projector};
use reynolds::rep::Rep;
use reynolds::steerable::{Band, RingsConfig, Shells, clebsch_gordan, spherical_harmonics, wigner_d};
use reynolds_testkit::golden::Golden;
use reynolds_testkit::projector_laws::{distance, norm};
use reynolds_testkit::spaces::{fields, space};

fn derive(domain: &Rep, codomain: &Rep, side: usize, dims: usize) -> Basis {
    Basis::derive(domain, codomain, side, dims, &RingsConfig::default()).unwrap()
}

/// P(weight) = projected, and the dimensions per irrep pair, for fields of one irrep each or one regular field.
fn assert_golden(golden: &Golden, name: &str, fields: &Rep, dims: usize) {
    let (shape, weight) = golden.tensor(&format!("{name}.weight"));
    let basis = derive(fields, fields, shape[2], dims);
    assert_eq!(basis.shape(), shape, "{name}");
    let (_, expected) = golden.tensor(&format!("{name}.projected"));
    let error = distance(&basis.project(&weight).unwrap(), &expected);
    assert!(error < 1e-9 * norm(&weight), "{name}: {error:e}");
    let (shape, counts) = golden.tensor(&format!("{name}.dims"));
    if shape == [1, 1] {
        assert_eq!(basis.rank(), counts[0] as usize, "{name}");
    } else {
        let ours: Vec<f64> = basis.pairs().iter().map(|pair| pair.columns as f64).collect();
        assert_eq!(ours, counts, "{name}: dimension per pair");
    }
}

#[test]
fn planar_projections_are_those_of_escnn() {
    let golden = Golden::open("escnn_planar");
    for side in [3, 5] {
        for (group, text) in [
            ("SO2", "irrep(0) + irrep(1) + irrep(2)"),
            ("O2", "irrep(0) + irrep(0,-) + irrep(1) + irrep(2)"),
            ("C4", "regular"),
            ("C8", "regular"),
            ("D4", "regular"),
        ] {
            assert_golden(&golden, &format!("{group}.{side}"), &fields(group, text), 2);
        }
    }
}

#[test]
fn spatial_projections_are_those_of_escnn() {
    let golden = Golden::open("escnn_spatial");
    assert_golden(&golden, "SO3.3", &fields("SO3", "0 + 1 + 2"), 3);
    assert_golden(&golden, "SO3.5", &fields("SO3", "0 + 1 + 2"), 3);
    assert_golden(&golden, "O3.3", &fields("O3", "0e + 0o + 1o + 1e + 2e"), 3);
    assert_golden(&golden, "O3.5", &fields("O3", "0e + 1o"), 3);
}

#[test]
fn scalar_functions_and_overlaps_are_those_of_escnn() {
    let golden = Golden::open("escnn_spatial");
    let (_, counts) = golden.tensor("scalar_functions.count");
    for (side, count) in [1, 3, 5, 7].into_iter().zip(counts) {
        let band = Band::new(Shells::new(3, side, &RingsConfig::default()).unwrap()).unwrap();
        assert_eq!(band.functions.ncols() as f64, count);
    }
    let (shape, rows) = golden.tensor("scalar_functions.overlaps");
    assert!(shape[0] > 8);
    for row in rows.chunks_exact(5) {
        let shells = Shells::new(3, row[0] as usize, &RingsConfig::default()).unwrap();
        let degree = row[1] as usize;
        // Rings are named by radius; a degree lives on those that carry it.
        let carrying: Vec<_> = shells.rings.iter().filter(|ring| ring.max_degree >= degree).collect();
        let place = |radius: f64| carrying.iter().position(|ring| ring.radius == radius).unwrap();
        let phi = shells.profiles(degree);
        let gram = phi.transpose() * &phi;
        let (r, s) = (place(row[2]), place(row[3]));
        let cosine = gram[(r, s)] / (gram[(r, r)] * gram[(s, s)]).sqrt();
        assert!((cosine - row[4]).abs() < 1e-9, "{row:?}: {cosine}");
    }
}

#[test]
fn harmonics_and_couplings_are_those_of_e3nn() {
    let golden = Golden::open("e3nn_so3");
    let (_, points) = golden.tensor("points");
    let (_, rotations) = golden.tensor("rotations");
    for l in 0..=3 {
        let (_, expected) = golden.tensor(&format!("harmonics.{l}"));
        let ours: Vec<f64> = points.chunks_exact(3).flat_map(|x| spherical_harmonics(l, [x[0], x[1], x[2]])).collect();
        assert!(distance(&ours, &expected) < 1e-12, "Y_{l}");
        let (_, expected) = golden.tensor(&format!("wigner.{l}"));
        let matrix = |r: &[f64]| wigner_d(l, &std::array::from_fn(|i| std::array::from_fn(|j| r[3 * i + j])));
        let rows = |d: faer::Mat<f64>| {
            (0..=2 * l).flat_map(|i| d.row(i).iter().copied().collect::<Vec<_>>()).collect::<Vec<_>>()
        };
        let ours: Vec<f64> = rotations.chunks_exact(9).flat_map(|r| rows(matrix(r))).collect();
        assert!(distance(&ours, &expected) < 1e-12, "D^{l}");
    }
    for name in golden.names().into_iter().filter_map(|name| name.strip_prefix("coupling.")) {
        let l: Vec<usize> = name.split('.').map(|part| part.parse().unwrap()).collect();
        let (_, expected) = golden.tensor(&format!("coupling.{name}"));
        let ours = clebsch_gordan(l[0], l[1], l[2]).unwrap();
        let sign = ours.entries.iter().zip(&expected).map(|(a, b)| a * b).sum::<f64>().signum();
        let signed: Vec<f64> = expected.iter().map(|entry| sign * entry).collect();
        assert!(distance(&ours.entries, &signed) < 1e-12, "coupling {name}");
    }
}

#[test]
fn layers_of_the_medical_network_have_the_published_dimensions() {
    let irreps = |copies: usize, max: usize| {
        let text: Vec<String> = (0..copies).flat_map(|_| (0..=max).map(|l| format!("1x{l}"))).collect();
        fields("SO3", &text.join(" + "))
    };
    for (c, published, total) in [(2, Some([20, 312, 44, 896, 2688, 1344, 3024, 192, 768]), 9_288), (6, None, 83_208)] {
        let widths = [
            irreps(1, 0),
            irreps(c, 2),
            irreps(2 * c, 3),
            irreps(4 * c, 3),
            irreps(6 * c, 3),
            irreps(6 * c, 2),
            irreps(8 * c, 0),
        ];
        // (from, to, side): R1 conv7, conv5, skip7; R2 conv3a, conv3b, skip3; R3 conv3, conv1, skip3.
        let layers =
            [(0, 1, 7), (1, 2, 5), (0, 2, 7), (2, 3, 3), (3, 4, 3), (2, 4, 3), (4, 5, 3), (5, 6, 1), (4, 6, 3)];
        let ranks = layers.map(|(from, to, side)| derive(&widths[from], &widths[to], side, 3).rank());
        if let Some(published) = published {
            assert_eq!(ranks, published);
        }
        assert_eq!(ranks.iter().sum::<usize>(), total);
    }
}

#[test]
fn a_band_as_wide_as_the_grid_gives_the_whole_group_average() {
    // Then the harmonics alias: more functions than points, and kernels of one irrep pair that depend on each other.
    for (name, side, dims, widest) in
        [("C4", 3, 2, 5), ("D4", 3, 2, 5), ("C2", 3, 2, 6), ("O", 3, 3, 9), ("Oh", 3, 3, 9)]
    {
        let space = space(name, "vector + trivial", "vector + trivial", side, dims);
        let config = RingsConfig { max_degrees: Some(vec![0, widest]), ..RingsConfig::default() };
        let basis = Basis::derive(space.domain(), space.codomain(), side, dims, &config).unwrap();
        assert_eq!(basis.rank(), space.dim_equivariant().unwrap(), "{name}");
        let weights: Vec<f64> = (0..space.len()).map(|i| (0.37 * i as f64).sin()).collect();
        let average = HaarProjector::new(&space).unwrap().project(&weights).unwrap();
        let error = distance(&basis.project(&weights).unwrap(), &average);
        assert!(error < 1e-12 * norm(&weights), "{name}: {error:e}");
    }
}

#[test]
fn even_grids_take_rings_of_their_own() {
    let space = space("D4", "regular", "regular", 4, 2);
    let config = RingsConfig {
        radii: Some(vec![0.5_f64.sqrt(), 1.5]),
        widths: Some(vec![0.3, 0.6]),
        max_degrees: Some(vec![1, 2]),
    };
    let basis = Basis::derive(space.domain(), space.codomain(), 4, 2, &config).unwrap();
    let grid = HaarProjector::new(&space).unwrap();
    let weights: Vec<f64> = (0..space.len()).map(|i| (0.37 * i as f64).sin()).collect();
    let banded = basis.project(&weights).unwrap();
    assert!(distance(&grid.project(&banded).unwrap(), &banded) < 1e-12 * norm(&weights));
    assert!(distance(&basis.project(&grid.project(&weights).unwrap()).unwrap(), &banded) < 1e-12 * norm(&weights));
    // One copy of the group algebra per scalar function: 3 on the inner ring, 5 on the outer.
    assert_eq!(basis.rank(), 8 * 8);
}

#[test]
fn bad_input_is_an_error() {
    let rings = RingsConfig::default();
    let [c4, d4, s3, o] = ["C4", "D4", "S3", "O"].map(|group| fields(group, "regular"));
    assert!(matches!(Basis::derive(&c4, &d4, 3, 2, &rings), Err(Error::GroupMismatch { .. })));
    assert!(matches!(Basis::derive(&s3, &s3, 3, 2, &rings), Err(Error::NoAction { .. })));
    assert!(matches!(Basis::derive(&o, &o, 3, 2, &rings), Err(Error::NoAction { .. })));
    assert!(matches!(Basis::derive(&c4, &c4, 4, 2, &rings), Err(Error::OutOfRange { .. })));
    assert!(matches!(Basis::derive(&c4, &c4, 3, 5, &rings), Err(Error::OutOfRange { .. })));
    let basis = derive(&c4, &c4, 3, 2);
    assert!(matches!(basis.project(&[1.0_f64; 7]), Err(Error::Shape { .. })));
    let mut weights = vec![1.0_f32; 144];
    weights[5] = f32::NAN;
    assert!(matches!(basis.project(&weights), Err(Error::NotFinite { index: 5, .. })));
}
