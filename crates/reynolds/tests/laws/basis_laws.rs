//! The laws of band-limited kernel bases on a grid, which carries no action of the group itself: those of orthogonal projectors, rank from
//! characters summed over rings, the tower law for the rotations of the grid, and agreement with the specification, the Haar projector in
//! coefficient space.

use faer::{Mat, Side};
use proptest::prelude::*;
use reynolds::group::{self, Element};
use reynolds::projection::{Basis, Dimensions, KernelSpace, Projector, derive};
use reynolds::rep::{Grid, Rep};
use reynolds::steerable::{RingsConfig, Shells, circular_action, wigner_d};
use reynolds_testkit::projector_laws::{
    assert_orthogonal_projector, assert_tower_law, distance, inner, norm, random_weights,
};
use reynolds_testkit::spaces::{Layer, band, fields};

/// Layers, and the subgroup that maps the grid to itself.
const LAYERS: [(Layer, &str); 15] = [
    (("SO3", "1x0 + 2x1", "1x1 + 1x0 + 1x2", 3, 3), "O"),
    (("SO3", "1x0 + 2x1", "1x1 + 1x0 + 1x2", 5, 3), "O"),
    (("O3", "1x0e + 1x0o + 1x1o", "1x1e + 1x1o + 1x2e", 3, 3), "Oh"),
    (("SO2", "2x0 + 1x1 + 2x2", "2x0 + 1x1", 5, 2), "C4"),
    (("O2", "2x0 + 1x1 + 2x2", "2x0 + 1x1", 7, 2), "D4"),
    (("C2", "regular + 2 trivial", "regular", 3, 2), "C2"),
    (("C4", "regular + 2 trivial", "regular", 3, 2), "C4"),
    (("C8", "regular + 2 trivial", "regular", 5, 2), "C4"),
    (("D3", "regular + 2 trivial", "regular", 5, 2), "D1"),
    (("D4", "regular + 2 trivial", "regular", 3, 2), "D4"),
    (("O", "vector + trivial", "regular", 3, 3), "O"),
    (("T", "vector + trivial", "regular", 3, 3), "T"),
    (("Oh", "vector", "2 vector", 5, 3), "Oh"),
    (("I", "vector", "2 vector", 3, 3), "T"),
    (("C4", "regular + 2 trivial", "regular", 3, 3), "C4"),
];

/// The projector of a layer and what it is made of.
struct Case {
    name: &'static str,
    domain: Rep,
    codomain: Rep,
    shells: Shells,
    basis: Basis,
}

fn case(layer: Layer) -> Case {
    let (name, domain, codomain, side, dims) = layer;
    let shells = Shells::new(dims, side, &RingsConfig::default()).unwrap();
    Case { name, domain: fields(name, domain), codomain: fields(name, codomain), shells, basis: band(layer) }
}

/// D^J(g) on the harmonics of the grid.
fn harmonic(case: &Case, g: &Element, degree: usize) -> Mat<f64> {
    let m = case.domain.group().point_matrix(g).unwrap();
    let entry = |i, j| if i < m.nrows() && j < m.nrows() { m[(i, j)] } else { f64::from(u8::from(i == j)) };
    if case.shells.dims == 2 {
        return circular_action(degree, &std::array::from_fn(|i| std::array::from_fn(|j| entry(i, j))));
    }
    wigner_d(degree, &std::array::from_fn(|i| std::array::from_fn(|j| entry(i, j))))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn projection_is_an_orthogonal_projector_below_that_of_the_grid(seed in any::<u64>()) {
        for (layer, below) in LAYERS {
            let Case { name, domain, codomain, basis, .. } = case(layer);
            assert_orthogonal_projector::<f64>(name, &basis, seed);
            let weights: Vec<f64> = random_weights(basis.len(), seed);
            prop_assert!(basis.energies(&weights).unwrap().equivariant > 1e-3, "{name}: P of random weights is not zero");
            // P_band P_grid = P_band = P_grid P_band.
            let inclusion = group::subgroup(domain.group(), below).unwrap();
            let down = |rep: &Rep| inclusion.pull_back(rep).unwrap();
            let grid = Grid::new(inclusion.source(), layer.3, layer.4).unwrap();
            let space = KernelSpace::kernel(&down(&domain), &down(&codomain), &grid).unwrap();
            assert_tower_law::<f64>(&basis, &derive(&space).unwrap(), seed);
        }
    }
}

#[test]
fn rank_is_the_dimension_from_characters_summed_over_rings() {
    for (layer, _) in LAYERS {
        let case = case(layer);
        let mut expected = 0.0;
        for degree in case.shells.rings.iter().flat_map(|ring| 0..=ring.max_degree) {
            let rule = case.domain.group().quadrature(case.domain.degree() + case.codomain.degree() + degree).unwrap();
            expected += rule.integrate(|g| {
                let spatial = harmonic(&case, g, degree);
                let trace: f64 = (0..spatial.nrows()).map(|i| spatial[(i, i)]).sum();
                case.domain.character(g) * case.codomain.character(g) * trace
            });
        }
        let rank = case.basis.rank();
        assert!((rank as f64 - expected).abs() < 1e-9, "{}: rank {rank}, characters {expected}", case.name);
        assert_eq!(case.basis.pairs().iter().map(|pair| pair.columns * pair.copies).sum::<usize>(), rank);
    }
}

/// Orthonormal columns of the image, by eigenvectors.
fn image(symmetric: &Mat<f64>, threshold: f64) -> Mat<f64> {
    let eigen = symmetric.self_adjoint_eigen(Side::Lower).unwrap();
    let values = eigen.S().column_vector();
    let kept: Vec<usize> = (0..values.nrows()).filter(|&i| values[i] > threshold).collect();
    Mat::from_fn(symmetric.nrows(), kept.len(), |i, j| eigen.U()[(i, kept[j])] / values[kept[j]].sqrt())
}

#[test]
fn projection_agrees_with_the_haar_projector_in_coefficient_space() {
    let sides = [(0, 3), (2, 3), (3, 5), (4, 5), (6, 3), (7, 5), (8, 5), (9, 3), (12, 3), (13, 3)];
    for (number, side) in sides {
        let (name, domain, codomain, _, dims) = LAYERS[number].0;
        let case = case((name, domain, codomain, side, dims));
        let (rows, columns) = (case.codomain.dim(), case.domain.dim());
        let points = &case.shells.points;
        let mut kernels: Vec<Vec<f64>> = Vec::new();
        for degree in 0..=case.shells.max_degree() {
            let dim = case.shells.harmonic_dim(degree);
            let n = rows * columns * dim;
            let rule = case.domain.group().quadrature(case.domain.degree() + case.codomain.degree() + degree).unwrap();
            let average = rule.integrate_matrix((n, n), |g| {
                case.codomain.matrix(g).kron(&case.domain.matrix(g)).kron(&harmonic(&case, g, degree))
            });
            let profiles = case.shells.profiles(degree);
            for tensor in image(&average, 0.5).col_iter() {
                for profile in profiles.col_iter() {
                    let mut kernel = vec![0.0; rows * columns * points.len()];
                    for (x, &point) in points.iter().enumerate() {
                        let y = case.shells.harmonics(degree, point);
                        for c in 0..rows * columns {
                            kernel[c * points.len() + x] =
                                profile[x] * (0..dim).map(|m| tensor[c * dim + m] * y[m]).sum::<f64>();
                        }
                    }
                    kernels.push(kernel);
                }
            }
        }
        let gram = Mat::from_fn(kernels.len(), kernels.len(), |i, j| inner(&kernels[i], &kernels[j]));
        let whitening = image(&gram, 1e-6);
        let a: Vec<f64> = random_weights(case.basis.len(), 7);
        let overlaps = Mat::from_fn(kernels.len(), 1, |i, _| inner(&kernels[i], &a));
        let solved = &whitening * (whitening.transpose() * overlaps);
        let mut expected = vec![0.0; a.len()];
        for (i, kernel) in kernels.iter().enumerate() {
            expected.iter_mut().zip(kernel).for_each(|(e, k)| *e += solved[(i, 0)] * k);
        }
        let error = distance(&case.basis.project(&a).unwrap(), &expected);
        assert!(error < 1e-12 * norm(&a), "{}: {error:e}", case.name);
    }
}
