//! Kernel bases against numbers that are not ours (escnn, e3nn, the counts published for the networks of the paper), and at the
//! edges: aliasing bands, even grids, complex weights, bad input.

#![allow(clippy::unwrap_used, reason = "a failed set-up should fail the test")]

use std::sync::Arc;

use reynolds::group::{self, GroupRef};
use reynolds::irreps::Irreps;
use reynolds::projection::{Basis, Dimensions, HaarProjector, KernelSpace, Projector};
use reynolds::rep::{self, Grid, Rep, Representation};
use reynolds::steerable::{Band, RingsConfig, Shells, clebsch_gordan, spherical_harmonics, wigner_d};
use reynolds_testkit::golden::Golden;

fn fields(group: &GroupRef, labels: &[&str]) -> Rep {
    let all = group.clone().irreps(2).unwrap();
    let find = |label: &str| all.iter().find(|irrep| irrep.label() == label).unwrap().clone();
    let summands: Vec<_> = labels.iter().map(|label| (1, Arc::new(find(label)) as Rep)).collect();
    rep::sum(group, &summands).unwrap()
}

fn derive(domain: &Rep, codomain: &Rep, side: usize, dims: usize) -> Basis {
    Basis::derive(domain, codomain, side, dims, &RingsConfig::default()).unwrap()
}

fn rank(basis: &Basis) -> usize {
    basis.rank()
}

fn norm(a: &[f64]) -> f64 {
    a.iter().map(|x| x * x).sum::<f64>().sqrt()
}

fn distance(a: &[f64], b: &[f64]) -> f64 {
    assert_eq!(a.len(), b.len());
    norm(&a.iter().zip(b).map(|(x, y)| x - y).collect::<Vec<_>>())
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
        assert_eq!(rank(&basis), counts[0] as usize, "{name}");
    } else {
        let ours: Vec<f64> = basis.pairs().iter().map(|pair| pair.columns as f64).collect();
        assert_eq!(ours, counts, "{name}: dimension per pair");
    }
}

#[test]
fn planar_projections_are_those_of_escnn() {
    let golden = Golden::open("escnn_planar");
    for side in [3, 5] {
        let so2 = group::parse("SO2").unwrap();
        assert_golden(&golden, &format!("SO2.{side}"), &fields(&so2, &["irrep(0)", "irrep(1)", "irrep(2)"]), 2);
        let o2 = group::parse("O2").unwrap();
        let labels = ["irrep(0)", "irrep(0,-)", "irrep(1)", "irrep(2)"];
        assert_golden(&golden, &format!("O2.{side}"), &fields(&o2, &labels), 2);
        for name in ["C4", "C8", "D4"] {
            let regular = rep::regular(&group::parse(name).unwrap()).unwrap();
            assert_golden(&golden, &format!("{name}.{side}"), &regular, 2);
        }
    }
}

#[test]
fn spatial_projections_are_those_of_escnn() {
    let golden = Golden::open("escnn_spatial");
    let so3 = fields(&group::parse("SO3").unwrap(), &["0", "1", "2"]);
    assert_golden(&golden, "SO3.3", &so3, 3);
    assert_golden(&golden, "SO3.5", &so3, 3);
    let o3 = group::parse("O3").unwrap();
    assert_golden(&golden, "O3.3", &fields(&o3, &["0e", "0o", "1o", "1e", "2e"]), 3);
    assert_golden(&golden, "O3.5", &fields(&o3, &["0e", "1o"]), 3);
}

#[test]
fn scalar_functions_and_overlaps_are_those_of_escnn() {
    let golden = Golden::open("escnn_spatial");
    let (_, counts) = golden.tensor("scalar_functions.count");
    for (side, count) in [1, 3, 5, 7].into_iter().zip(counts) {
        let band = Band::new(Shells::new(3, side, &RingsConfig::default()).unwrap()).unwrap();
        assert_eq!(band.functions().ncols() as f64, count);
    }
    let (shape, rows) = golden.tensor("scalar_functions.overlaps");
    assert!(shape[0] > 8);
    for row in rows.chunks_exact(5) {
        let shells = Shells::new(3, row[0] as usize, &RingsConfig::default()).unwrap();
        let degree = row[1] as usize;
        // Rings are named by radius; a degree lives on those that carry it.
        let carrying: Vec<_> = shells.rings().iter().filter(|ring| ring.max_degree >= degree).collect();
        let place = |radius: f64| carrying.iter().position(|ring| ring.radius == radius).unwrap();
        let phi = shells.profiles(degree);
        let gram = phi.transpose() * &phi;
        let (r, s) = (place(row[2]), place(row[3]));
        let cosine = gram[(r, s)] / (gram[(r, r)] * gram[(s, s)]).sqrt();
        assert!((cosine - row[4]).abs() < 1e-9, "{row:?}: {cosine}");
    }
}

#[test]
fn octahedral_kernels_of_escnn_are_kept() {
    let golden = Golden::open("escnn_spatial");
    let group = group::parse("O").unwrap();
    let (_, matrices) = golden.tensor("O.elements");
    // The channel of theirs that holds our element: regular channels are numbered by elements.
    let theirs: Vec<usize> = group::elements(group.as_ref())
        .unwrap()
        .iter()
        .map(|g| {
            let m = group.point_matrix(g).unwrap();
            let same = |entries: &[f64]| (0..9).all(|k| (entries[k] - m[(k / 3, k % 3)]).abs() < 1e-6);
            matrices.chunks_exact(9).position(same).unwrap()
        })
        .collect();
    let kinds = [
        ("trivial", rep::trivial(&group), vec![0]),
        ("vector", rep::point(&group).unwrap(), vec![0, 1, 2]),
        ("regular", rep::regular(&group).unwrap(), theirs),
    ];
    let mut seen = 0;
    for (out, codomain, rows) in &kinds {
        for (inn, domain, columns) in &kinds {
            for name in golden.names().into_iter().filter(|name| name.starts_with(&format!("O.{out}.{inn}."))) {
                let (shape, kernel) = golden.tensor(name);
                let points = shape[2].pow(3);
                let mut ours = Vec::with_capacity(kernel.len());
                for (o, i) in rows.iter().flat_map(|o| columns.iter().map(move |i| (o, i))) {
                    ours.extend_from_slice(&kernel[(o * shape[1] + i) * points..][..points]);
                }
                let energies = derive(domain, codomain, shape[2], 3).energies(&ours).unwrap();
                assert!(energies.perp < 1e-18 * energies.total(), "{name}: {energies:?}");
                seen += 1;
            }
        }
    }
    assert!(seen >= 3, "{seen} kernels");
}

#[test]
fn exported_convolutions_of_escnn_are_kept() {
    let golden = Golden::open("escnn_conv");
    for name in ["C4", "D4"] {
        let group = group::parse(name).unwrap();
        let regular = rep::regular(&group).unwrap();
        for (kind, field) in [("regular", regular.clone()), ("lift", rep::trivial(&group))] {
            for side in [3, 5] {
                let (shape, weight) = golden.tensor(&format!("{}.{kind}.{side}.weight", name.to_lowercase()));
                let domain = rep::sum(&group, &[(shape[1] / field.dim(), field.clone())]).unwrap();
                let codomain = rep::sum(&group, &[(shape[0] / regular.dim(), regular.clone())]).unwrap();
                // escnn works in f32, hence the tolerance.
                let ratio = derive(&domain, &codomain, side, 2).energies(&weight).unwrap().ratio();
                assert!((ratio - 1.0).abs() < 1e-6, "{name} {kind} {side}: {ratio}");
            }
        }
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
        let sign = ours.entries().iter().zip(&expected).map(|(a, b)| a * b).sum::<f64>().signum();
        let signed: Vec<f64> = expected.iter().map(|entry| sign * entry).collect();
        assert!(distance(ours.entries(), &signed) < 1e-12, "coupling {name}");
    }
}

#[test]
fn layers_of_the_medical_network_have_the_published_dimensions() {
    let so3 = group::parse("SO3").unwrap();
    let irreps = |copies: usize, max: usize| {
        let text: Vec<String> = (0..copies).flat_map(|_| (0..=max).map(|l| format!("1x{l}"))).collect();
        text.join(" + ").parse::<Irreps>().unwrap().real_rep(&so3).unwrap()
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
        let ranks = layers.map(|(from, to, side)| rank(&derive(&widths[from], &widths[to], side, 3)));
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
        let group = group::parse(name).unwrap();
        let fields = rep::sum(&group, &[(1, rep::point(&group).unwrap()), (1, rep::trivial(&group))]).unwrap();
        let config = RingsConfig { max_degrees: Some(vec![0, widest]), ..RingsConfig::default() };
        let basis = Basis::derive(&fields, &fields, side, dims, &config).unwrap();
        let space = KernelSpace::kernel(&fields, &fields, &Grid::new(&group, side, dims).unwrap()).unwrap();
        assert_eq!(rank(&basis), space.dim_equivariant().unwrap(), "{name}");
        let weights: Vec<f64> = (0..space.len()).map(|i| (0.37 * i as f64).sin()).collect();
        let average = HaarProjector::new(&space).unwrap().project(&weights).unwrap();
        let error = distance(&basis.project(&weights).unwrap(), &average);
        assert!(error < 1e-12 * norm(&weights), "{name}: {error:e}");
    }
}

#[test]
fn even_grids_take_rings_of_their_own() {
    let d4 = group::parse("D4").unwrap();
    let regular = rep::regular(&d4).unwrap();
    let config = RingsConfig {
        radii: Some(vec![0.5_f64.sqrt(), 1.5]),
        widths: Some(vec![0.3, 0.6]),
        max_degrees: Some(vec![1, 2]),
    };
    let basis = Basis::derive(&regular, &regular, 4, 2, &config).unwrap();
    let space = KernelSpace::kernel(&regular, &regular, &Grid::new(&d4, 4, 2).unwrap()).unwrap();
    let grid = HaarProjector::new(&space).unwrap();
    let weights: Vec<f64> = (0..space.len()).map(|i| (0.37 * i as f64).sin()).collect();
    let banded = basis.project(&weights).unwrap();
    assert!(distance(&grid.project(&banded).unwrap(), &banded) < 1e-12 * norm(&weights));
    assert!(distance(&basis.project(&grid.project(&weights).unwrap()).unwrap(), &banded) < 1e-12 * norm(&weights));
    // One copy of the group algebra per scalar function: 3 on the inner ring, 5 on the outer.
    assert_eq!(rank(&basis), 8 * 8);
}

#[test]
fn complex_and_single_precision_weights_are_projected_alike() {
    let c8 = group::parse("C8").unwrap();
    let regular = rep::regular(&c8).unwrap();
    let basis = derive(&regular, &regular, 5, 2);
    let n = basis.len();
    let [re, im] = [0.37, 0.73].map(|step| (0..n).map(|i| (step * i as f64).sin()).collect::<Vec<f64>>());
    let (p_re, p_im) = (basis.project(&re).unwrap(), basis.project(&im).unwrap());
    let whole: Vec<faer::c64> = re.iter().zip(&im).map(|(&re, &im)| faer::c64::new(re, im)).collect();
    let projected = basis.project(&whole).unwrap();
    assert!((0..n).all(|i| (projected[i].re - p_re[i]).abs() < 1e-14 && (projected[i].im - p_im[i]).abs() < 1e-14));
    let energies = basis.energies(&whole).unwrap();
    assert!((energies.equivariant - norm(&p_re).powi(2) - norm(&p_im).powi(2)).abs() < 1e-12 * energies.total());
    let single: Vec<f32> = re.iter().map(|&w| w as f32).collect();
    let projected = basis.project(&single).unwrap();
    assert!((0..n).all(|i| (f64::from(projected[i]) - p_re[i]).abs() < 4.0 * f64::from(f32::EPSILON)));
}

#[test]
fn bad_input_is_an_error() {
    let rings = RingsConfig::default();
    let c4 = rep::regular(&group::parse("C4").unwrap()).unwrap();
    let d4 = rep::regular(&group::parse("D4").unwrap()).unwrap();
    let s3 = rep::regular(&group::parse("S3").unwrap()).unwrap();
    let o = rep::regular(&group::parse("O").unwrap()).unwrap();
    use reynolds::Error;
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
