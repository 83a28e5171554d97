//! The laws of band-limited kernel bases on a grid, which carries no action of the group itself.
//!
//! P² = P, P* = P, Pythagoras, trace = Σ over rings of the dimension from characters, commutation with the rotations of the grid, and
//! P_band P_grid = P_band, on random weights; and agreement with the specification, the Haar projector in coefficient space.

#![allow(clippy::unwrap_used, reason = "a failed set-up should fail the test")]

use std::f64::consts::TAU;

use faer::{Mat, Side};
use proptest::prelude::*;
use reynolds::group::{self, Element, Family, GroupRef, Planar, Spatial};
use reynolds::projection::{Basis, Dimensions, Projector};
use reynolds::random::Random;
use reynolds::rep::{self, Rep, SignedPermutation};
use reynolds::steerable::{RingsConfig, Shells, circular_action, wigner_d};

/// A kernel space: group, fields in, fields out, side, dimension.
struct Case {
    name: &'static str,
    domain: Rep,
    codomain: Rep,
    shells: Shells,
    basis: Basis,
}

fn irreps(group: &GroupRef, copies: &[(&str, usize)]) -> Rep {
    let all = group.clone().irreps(2).unwrap();
    let find = |label: &str| all.iter().find(|irrep| rep::Representation::label(*irrep) == label).unwrap().clone();
    let summands: Vec<_> = copies.iter().map(|&(label, n)| (n, std::sync::Arc::new(find(label)) as Rep)).collect();
    rep::sum(group, &summands).unwrap()
}

fn case(name: &'static str, side: usize, dims: usize) -> Case {
    let group = group::parse(name).unwrap();
    let regular = || rep::regular(&group).unwrap();
    let (domain, codomain) = match name {
        "SO3" => (irreps(&group, &[("0", 1), ("1", 2)]), irreps(&group, &[("1", 1), ("0", 1), ("2", 1)])),
        "O3" => {
            (irreps(&group, &[("0e", 1), ("0o", 1), ("1o", 1)]), irreps(&group, &[("1e", 1), ("1o", 1), ("2e", 1)]))
        }
        "SO2" | "O2" => {
            let fields = [("irrep(0)", 2), ("irrep(1)", 1), ("irrep(2)", 2)];
            (irreps(&group, &fields), irreps(&group, &fields[..2]))
        }
        "O" | "T" => {
            (rep::sum(&group, &[(1, rep::point(&group).unwrap()), (1, rep::trivial(&group))]).unwrap(), regular())
        }
        "I" | "Oh" => (rep::point(&group).unwrap(), rep::sum(&group, &[(2, rep::point(&group).unwrap())]).unwrap()),
        _ => (rep::sum(&group, &[(1, regular()), (2, rep::trivial(&group))]).unwrap(), regular()),
    };
    let rings = RingsConfig::default();
    let basis = Basis::derive(&domain, &codomain, side, dims, &rings).unwrap();
    Case { name, domain, codomain, shells: Shells::new(dims, side, &rings).unwrap(), basis }
}

fn cases() -> Vec<Case> {
    vec![
        case("SO3", 3, 3),
        case("SO3", 5, 3),
        case("O3", 3, 3),
        case("SO2", 5, 2),
        case("O2", 7, 2),
        case("C2", 3, 2),
        case("C4", 3, 2),
        case("C8", 5, 2),
        case("D3", 5, 2),
        case("D4", 3, 2),
        case("O", 3, 3),
        case("T", 3, 3),
        case("Oh", 5, 3),
        case("I", 3, 3),
        case("C4", 3, 3),
    ]
}

/// Elements of the group that map the grid to itself.
fn grid_elements(group: &GroupRef) -> Vec<Element> {
    if let Ok(all) = group::elements(group.as_ref()) {
        let exact = |g: &Element| SignedPermutation::from_matrix(&group.point_matrix(g).unwrap()).is_some();
        return all.into_iter().filter(exact).collect();
    }
    if matches!(group.family(), Family::SO2 | Family::O2) {
        let quarter = |k: usize, reflected| Element::Planar(Planar::new(TAU / 4.0 * k as f64, reflected));
        let flips: &[bool] = if group.family() == Family::O2 { &[false, true] } else { &[false] };
        return flips.iter().flat_map(|&e| (0..4).map(move |k| quarter(k, e))).collect();
    }
    let cube = group::parse("O").unwrap();
    let signs: &[bool] = if group.family() == Family::O3 { &[false, true] } else { &[false] };
    let spatial = |g: &Element, inverted| {
        let m = cube.point_matrix(g).unwrap();
        let rotation = std::array::from_fn(|i| std::array::from_fn(|j| m[(i, j)].round()));
        Element::Spatial(Spatial { rotation, inverted })
    };
    let rotations = group::elements(cube.as_ref()).unwrap();
    signs.iter().flat_map(|&e| rotations.iter().map(move |g| spatial(g, e))).collect()
}

/// (A(g)K)(x) = π′(g) K(g⁻¹x) π(g)*, for an element that maps the grid to itself.
fn act(case: &Case, g: &Element, kernel: &[f64]) -> Vec<f64> {
    let (left, right) = (case.codomain.matrix(g), case.domain.matrix(g));
    let m = case.domain.group().point_matrix(g).unwrap();
    let points = case.shells.points();
    let moved: Vec<usize> =
        points
            .iter()
            .map(|x| {
                let turned: [f64; 3] = std::array::from_fn(|i| {
                    if i < m.nrows() { (0..m.nrows()).map(|j| m[(i, j)] * x[j]).sum() } else { x[i] }
                });
                points.iter().position(|y| (0..3).all(|i| (turned[i] - y[i]).abs() < 1e-6)).unwrap()
            })
            .collect();
    let (rows, columns) = (left.nrows(), right.nrows());
    let mut out = vec![0.0; kernel.len()];
    for (x, &to) in moved.iter().enumerate() {
        let slice = Mat::from_fn(rows, columns, |o, i| kernel[(o * columns + i) * points.len() + x]);
        let turned = &left * slice * right.transpose();
        for o in 0..rows {
            for i in 0..columns {
                out[(o * columns + i) * points.len() + to] = turned[(o, i)];
            }
        }
    }
    out
}

/// Weights in [−1, 1], a function of the seed alone.
fn weights(n: usize, seed: u64) -> Vec<f64> {
    let mut random = Random::new(seed);
    (0..n).map(|_| random.between(-1.0, 1.0)).collect()
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(x, y)| x * y).sum()
}

fn distance(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(x, y)| (x - y).powi(2)).sum::<f64>().sqrt()
}

fn size(case: &Case) -> usize {
    case.basis.len()
}

/// D^J(g) on the harmonics of the grid.
fn harmonic(case: &Case, g: &Element, degree: usize) -> Mat<f64> {
    let m = case.domain.group().point_matrix(g).unwrap();
    let entry = |i, j| if i < m.nrows() && j < m.nrows() { m[(i, j)] } else { f64::from(u8::from(i == j)) };
    if case.shells.dims() == 2 {
        return circular_action(degree, &std::array::from_fn(|i| std::array::from_fn(|j| entry(i, j))));
    }
    wigner_d(degree, &std::array::from_fn(|i| std::array::from_fn(|j| entry(i, j))))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn projection_is_an_orthogonal_projector(seed in any::<u64>()) {
        for case in cases() {
            let (a, b) = (weights(size(&case), seed), weights(size(&case), !seed));
            let norm = dot(&a, &a).sqrt();
            let (pa, pb) = (case.basis.project(&a).unwrap(), case.basis.project(&b).unwrap());
            prop_assert!(dot(&pa, &pa) > 1e-3, "{}: a projection of random weights is not zero", case.name);
            prop_assert!(distance(&case.basis.project(&pa).unwrap(), &pa) < 1e-12 * norm, "{}: idempotent", case.name);
            prop_assert!((dot(&pa, &b) - dot(&a, &pb)).abs() < 1e-12 * norm * norm, "{}: self-adjoint", case.name);
            let energies = case.basis.energies(&a).unwrap();
            prop_assert!((energies.total() - dot(&a, &a)).abs() < 1e-12 * norm * norm, "{}: Pythagoras", case.name);
            prop_assert!((energies.equivariant - dot(&pa, &pa)).abs() < 1e-12 * norm * norm, "{}", case.name);
            // No cancellation: what is left of an equivariant kernel is rounding squared.
            prop_assert!(case.basis.energies(&pa).unwrap().perp < 1e-26 * norm * norm, "{}: perp of P(W)", case.name);
        }
    }

    #[test]
    fn projection_commutes_with_the_grid_subgroup(seed in any::<u64>()) {
        for case in cases() {
            let a = weights(size(&case), seed);
            let norm = dot(&a, &a).sqrt();
            let pa = case.basis.project(&a).unwrap();
            let elements = grid_elements(case.domain.group());
            prop_assert!(elements.len() > 1 || case.name == "D3");
            let mut average = vec![0.0; a.len()];
            for g in &elements {
                let turned = act(&case, g, &a);
                prop_assert!(distance(&act(&case, g, &pa), &pa) < 1e-12 * norm, "{}: P(W) is fixed", case.name);
                prop_assert!(distance(&case.basis.project(&turned).unwrap(), &pa) < 1e-12 * norm, "{}", case.name);
                average.iter_mut().zip(&turned).for_each(|(sum, t)| *sum += t / elements.len() as f64);
            }
            let of_average = case.basis.project(&average).unwrap();
            prop_assert!(distance(&of_average, &pa) < 1e-12 * norm, "{}: P_band P_grid = P_band", case.name);
        }
    }
}

#[test]
fn trace_is_the_dimension_from_characters_summed_over_rings() {
    for case in cases() {
        let mut expected = 0.0;
        for degree in case.shells.rings().iter().flat_map(|ring| 0..=ring.max_degree) {
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
        if size(&case) <= 2000 {
            let mut unit = vec![0.0; size(&case)];
            let mut trace = 0.0;
            for i in 0..unit.len() {
                unit[i] = 1.0;
                trace += case.basis.project(&unit).unwrap()[i];
                unit[i] = 0.0;
            }
            assert!((trace - expected).abs() < 1e-10, "{}: trace {trace}", case.name);
        }
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
    for case in [case("SO3", 3, 3), case("O3", 3, 3), case("SO2", 5, 2), case("O2", 5, 2), case("C4", 3, 2)]
        .into_iter()
        .chain([case("C8", 5, 2), case("D3", 5, 2), case("D4", 3, 2), case("Oh", 3, 3), case("I", 3, 3)])
    {
        let (rows, columns) = (case.codomain.dim(), case.domain.dim());
        let points = case.shells.points();
        let mut kernels: Vec<Vec<f64>> = Vec::new();
        for degree in 0..=case.shells.max_degree() {
            let dim = case.shells.harmonic_dim(degree);
            let n = rows * columns * dim;
            let rule = case.domain.group().quadrature(case.domain.degree() + case.codomain.degree() + degree).unwrap();
            let mut average = Mat::<f64>::zeros(n, n);
            for (g, weight) in rule.iter() {
                let action = case.codomain.matrix(g).kron(&case.domain.matrix(g)).kron(&harmonic(&case, g, degree));
                average += faer::Scale(weight) * action;
            }
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
        let gram = Mat::from_fn(kernels.len(), kernels.len(), |i, j| dot(&kernels[i], &kernels[j]));
        let whitening = image(&gram, 1e-6);
        let a = weights(size(&case), 7);
        let inner = Mat::from_fn(kernels.len(), 1, |i, _| dot(&kernels[i], &a));
        let solved = &whitening * (whitening.transpose() * inner);
        let mut expected = vec![0.0; a.len()];
        for (i, kernel) in kernels.iter().enumerate() {
            expected.iter_mut().zip(kernel).for_each(|(e, k)| *e += solved[(i, 0)] * k);
        }
        let error = distance(&case.basis.project(&a).unwrap(), &expected);
        assert!(error < 1e-12 * dot(&a, &a).sqrt(), "{}: {error:e}", case.name);
    }
}
