//! Partial kernels against what defines them: a plain sum over the group.

use faer::Mat;
use faer::linalg::solvers::SolveLstsq;
use reynolds::group::Element as GroupElement;
use reynolds::rep::Representation;
use reynolds::steerable::{SphericalIrrep, spherical_harmonics};
use tch::Device;

use super::super::likelihood::irreps;
use super::super::{LikelihoodConfig, Symmetry};
use super::*;
use crate::testing::{largest, normal};

/// Irreps by degree and, for O(3), whether they are odd.
fn types(symmetry: Symmetry, list: &[(usize, bool)]) -> Vec<SphericalIrrep> {
    let parity = |odd| (symmetry == Symmetry::O3).then_some(odd);
    list.iter().map(|&(degree, odd)| SphericalIrrep { degree, odd: parity(odd) }).collect()
}

fn partial(symmetry: Symmetry, pair: &FieldPair) -> Partial {
    let likelihood = Likelihood::new(symmetry, &LikelihoodConfig::default()).unwrap();
    Partial::new(pair, likelihood, "likelihood.1").unwrap()
}

/// φ_r Y_jm at g·x for every point x of the grid, `[points, F]`.
fn functions_at(shells: &Shells, rotation: &Mat<f64>) -> Mat<f64> {
    let turned = |x: [f64; 3]| [0, 1, 2].map(|row| (0..3).map(|k| rotation[(row, k)] * x[k]).sum::<f64>());
    let mut columns: Vec<Vec<f64>> = Vec::new();
    for degree in 0..=shells.max_degree() {
        let values: Vec<_> = shells.points.iter().map(|&x| spherical_harmonics(degree, turned(x))).collect();
        for profile in shells.profiles(degree).col_iter() {
            for m in 0..=2 * degree {
                columns.push(values.iter().enumerate().map(|(point, y)| profile[point] * y[m]).collect());
            }
        }
    }
    Mat::from_fn(shells.points.len(), columns.len(), |point, f| columns[f][point])
}

/// ρ(g) of a field.
fn field_matrix(symmetry: Symmetry, field: &[SphericalIrrep], g: &GroupElement) -> Mat<f64> {
    let all = irreps(symmetry, 4).unwrap();
    let dim = field.iter().map(|irrep| irrep.dim()).sum();
    let mut matrix = Mat::zeros(dim, dim);
    let mut at = 0;
    for irrep in field {
        let place = irrep.degree + if irrep.odd == Some(true) { 5 } else { 0 };
        let block = all[place].matrix(g);
        matrix.submatrix_mut(at, at, irrep.dim(), irrep.dim()).copy_from(&block);
        at += irrep.dim();
    }
    matrix
}

/// A kernel `[d_out·k³·d_in]` as matrices `[d_out, d_in]`, one a point.
fn matrices(kernel: &Tensor, [outputs, inputs]: [usize; 2], points: usize) -> Vec<Mat<f64>> {
    let values = Vec::<f64>::try_from(kernel.reshape([-1])).unwrap();
    let of_point = |p: usize| Mat::from_fn(outputs, inputs, |o, i| values[(o * points + p) * inputs + i]);
    (0..points).map(of_point).collect()
}

#[test]
fn a_kernel_is_the_average_over_the_group_with_the_likelihood() {
    for (symmetry, codomain, domain) in [
        (Symmetry::So3, vec![(0, false), (2, false), (0, false)], vec![(1, false), (2, false)]),
        (Symmetry::O3, vec![(1, false), (1, true)], vec![(0, true), (2, false)]),
    ] {
        let pair = FieldPair { codomain: types(symmetry, &codomain), domain: types(symmetry, &domain), side: 3 };
        let (partial, dims) = (partial(symmetry, &pair), pair.dims());
        let weights = normal(&[partial.weights() as i64, 1], 1);
        let coefficients = normal(&[if symmetry == Symmetry::So3 { 35 } else { 70 }], 2) * 0.4;
        let transforms = partial.likelihood.transforms(&coefficients).unwrap();
        let averaged = matrices(&partial.kernels(&transforms, &weights).unwrap(), dims, 27);

        let units: Vec<Tensor> =
            transforms.iter().map(|t| Tensor::eye(t.size()[0], (Kind::Double, Device::Cpu))).collect();
        let free = matrices(&partial.kernels(&units, &weights).unwrap(), dims, 27);
        let shells = Shells::new(3, 3, &RingsConfig::default()).unwrap();
        let sampled = functions_at(&shells, &Mat::identity(3, 3));
        let entries = Mat::from_fn(27, dims[0] * dims[1], |p, entry| free[p][(entry / dims[1], entry % dims[1])]);
        // K₀ is band-limited: these coordinates say what it is between the points.
        let coordinates = sampled.qr().solve_lstsq(&entries);
        assert!((&sampled * &coordinates - &entries).norm_max() < 1e-12);

        let group = symmetry.group().unwrap();
        let rule = group.quadrature(12).unwrap();
        let masses = Vec::<f64>::try_from(partial.likelihood.density(&coefficients).unwrap().masses).unwrap();
        let mut sums: Vec<Mat<f64>> = vec![Mat::zeros(dims[0], dims[1]); 27];
        for (g, mass) in rule.nodes.iter().zip(masses) {
            let turned = functions_at(&shells, &group.point_matrix(g).unwrap()) * &coordinates;
            let (out, of) = (field_matrix(symmetry, &pair.codomain, g), field_matrix(symmetry, &pair.domain, g));
            for (p, sum) in sums.iter_mut().enumerate() {
                let kernel = Mat::from_fn(dims[0], dims[1], |o, i| turned[(p, o * dims[1] + i)]);
                *sum += faer::Scale(mass) * (out.transpose() * kernel * &of);
            }
        }
        let error = averaged.iter().zip(&sums).map(|(a, b)| (a - b).norm_max()).fold(0.0, f64::max);
        assert!(error < 1e-11, "{symmetry:?}: {error:e}");
        let moved = averaged.iter().zip(&free).map(|(a, b)| (a - b).norm_max()).fold(0.0, f64::max);
        assert!(moved > 0.1, "{moved}");
    }
}

#[test]
fn elements_are_independent_and_as_long_as_steerable_ones() {
    for symmetry in [Symmetry::So3, Symmetry::O3] {
        let pair =
            FieldPair { codomain: types(symmetry, &[(1, true)]), domain: types(symmetry, &[(1, false)]), side: 3 };
        let partial = partial(symmetry, &pair);
        let rows = &partial.rows[0];
        // J, j ≤ 2: j ⊗ J is within degree 4, so that all band-limited kernels are there: 9 entries of 10 functions.
        assert_eq!((rows.columns, partial.rows.len()), (90, 1));
        let basis = rows.basis.like(&normal(&[1], 0));
        let gram = basis.as_ref().unwrap().transpose(0, 1).matmul(basis.as_ref().unwrap());
        assert!(largest(gram - Tensor::eye(90, (Kind::Double, Device::Cpu)) * 3.0) < 1e-12);
    }
}

#[test]
fn weights_begin_with_equal_shares_of_all_irreps_of_the_input() {
    // Between scalars 10 weights, between a scalar and a vector 30, between vectors 3 · 90: two irreps reach every output, five copies each.
    let irreps = types(Symmetry::So3, &[(0, false), (1, false)]);
    let partial = partial(Symmetry::So3, &FieldPair { codomain: irreps.clone(), domain: irreps, side: 3 });
    let mut deviations = partial.deviations(5);
    deviations.sort_by(f64::total_cmp);
    let expected = [270, 60, 10].into_iter().zip([270.0, 30.0, 10.0]);
    let expected: Vec<f64> =
        expected.flat_map(|(count, weights)| vec![1.0 / f64::sqrt(2.0 * 5.0 * weights); count]).collect();
    assert_eq!(deviations.len(), expected.len());
    assert!(deviations.iter().zip(&expected).all(|(a, b)| (a - b).abs() < 1e-15), "{deviations:?}");
}
