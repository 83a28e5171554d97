//! Peter–Weyl: the transform, the blocks of operators, and that the Fourier path of the projection is the Haar average.

use faer::{Mat, Scale, c64};
use reynolds::fourier::{
    FourierTransform, OperatorSpace, Spectrum, project_finite_sum, project_fourier, project_invariant,
};
use reynolds::group::{Element, GroupRef};
use reynolds::irrep::{hom_dim, unitary_dual};
use reynolds::projection::{HaarProjector, KernelSpace, Projector};
use reynolds::random::Random;
use reynolds::rep::{Rep, Representation};
use reynolds::{group, rep};
use reynolds_testkit::golden::Golden;

const FINITE: [&str; 11] = ["C1", "C2", "C5", "C6", "D3", "D4", "D5", "S3", "S4", "T", "O"];
const CONTINUOUS: [(&str, usize); 7] =
    [("SO2", 0), ("SO2", 4), ("O2", 2), ("SO3", 1), ("SO3", 2), ("O3", 1), ("SO2 x C3", 2)];

/// Every group above, finite ones with a degree that must not matter.
fn groups() -> impl Iterator<Item = (GroupRef, usize)> {
    let finite = FINITE.into_iter().map(|name| (name, 7));
    finite.chain(CONTINUOUS).map(|(name, degree)| (group::parse(name).unwrap(), degree))
}

/// Two different fibres: the largest irrep, and the sum of the trivial irrep and another.
fn fibres(group: &GroupRef, degree: usize) -> (Rep<c64>, Rep<c64>) {
    let dual = unitary_dual(group, degree).unwrap();
    let largest: Rep<c64> = dual.iter().max_by_key(|pi| pi.dim()).unwrap().clone().into();
    let parts = [(1, dual[0].clone().into()), (1, dual[dual.len() / 2].clone().into())];
    (largest, rep::sum(group, &parts).unwrap())
}

fn random_function(transform: &FourierTransform, seed: u64) -> Vec<Mat<c64>> {
    let mut random = Random::new(seed);
    transform.dual().iter().map(|pi| random.matrix(pi.dim(), pi.dim())).collect()
}

fn random_spectrum(space: &OperatorSpace, seed: u64) -> Spectrum {
    let dual = space.transform().dual();
    let count = space.transform().dim();
    let (into, out) = (space.fibres().domain().dim(), space.fibres().codomain().dim());
    Spectrum::new(dual, into, out, Random::new(seed).matrix(count * out, count * into)).unwrap()
}

fn random_operator(space: &OperatorSpace, seed: u64) -> Mat<c64> {
    let (rows, columns) = space.shape();
    Random::new(seed).matrix(rows, columns)
}

/// T f on samples.
fn apply(t: &Mat<c64>, f: &[c64]) -> Vec<c64> {
    let image = t * Mat::from_fn(f.len(), 1, |q, _| f[q]);
    image.col(0).iter().copied().collect()
}

/// τ(g) on coefficients, by moving the samples: f ↦ (x ↦ f(g⁻¹x)), each basis function evaluated at g⁻¹x and integrated.
fn translation(transform: &FourierTransform, g: &Element) -> Mat<c64> {
    let group = transform.group();
    let back = group.inverse(g);
    let mut moved = Mat::zeros(transform.nodes().len(), transform.dim());
    for (q, (x, weight)) in transform.rule().iter().enumerate() {
        let mut at = 0;
        for pi in transform.dual() {
            let d = pi.dim();
            let matrix = pi.matrix(&group.multiply(&back, x));
            for kj in 0..d * d {
                moved[(q, at + kj)] = matrix[(kj / d, kj % d)] * c64::new(weight * (d as f64).sqrt(), 0.0);
            }
            at += d * d;
        }
    }
    transform.basis().adjoint() * moved
}

/// ∫ (τ⊗ρ′)(g)* T (τ⊗ρ)(g) dλ(g) on coefficients, term by term.
fn haar_average(space: &OperatorSpace, spectrum: &Spectrum) -> Mat<c64> {
    space.transform().rule().integrate_matrix(spectrum.matrix().shape(), |g| {
        let moved = translation(space.transform(), g);
        let right = moved.kron(&space.fibres().domain().matrix(g));
        moved.kron(&space.fibres().codomain().matrix(g)).adjoint() * spectrum.matrix() * right
    })
}

fn assert_close(a: &Mat<c64>, b: &Mat<c64>, what: &str) {
    let error = (a - b).norm_max() / b.norm_max().max(1.0);
    assert!(error < 1e-12, "{what}: off by {error:.1e}");
}

#[test]
fn inverse_transform_undoes_the_forward_one() {
    for (group, degree) in groups() {
        let transform = FourierTransform::new(&group, degree).unwrap();
        let coefficients = random_function(&transform, 1);
        let f = transform.inverse(&coefficients).unwrap();
        for (pi, (a, b)) in transform.forward(&f).unwrap().iter().zip(&coefficients).enumerate() {
            assert_close(a, b, &format!("{} at {pi}", group.name()));
        }
        // The forward transform equals the integral in its definition.
        let last = transform.dual().last().unwrap();
        let mut integral = Mat::zeros(last.dim(), last.dim());
        for ((g, weight), &value) in transform.rule().iter().zip(&f) {
            integral += Scale(c64::new(weight, 0.0) * value) * last.matrix(g).adjoint();
        }
        assert_close(&integral, coefficients.last().unwrap(), &group.name());
    }
}

#[test]
fn any_function_on_a_finite_group_is_recovered() {
    for name in FINITE {
        let transform = FourierTransform::new(&group::parse(name).unwrap(), 0).unwrap();
        let f = Random::new(2).matrix::<c64>(transform.nodes().len(), 1);
        let column: Vec<c64> = f.col(0).iter().copied().collect();
        let back = transform.inverse(&transform.forward(&column).unwrap()).unwrap();
        assert_close(&Mat::from_fn(f.nrows(), 1, |q, _| back[q]), &f, name);
    }
}

#[test]
fn plancherel() {
    for (group, degree) in groups() {
        let transform = FourierTransform::new(&group, degree).unwrap();
        let coefficients = random_function(&transform, 3);
        let f = transform.inverse(&coefficients).unwrap();
        let norm: f64 = transform.rule().weights.iter().zip(&f).map(|(w, z)| w * (z.re * z.re + z.im * z.im)).sum();
        let energy = transform.energy(&coefficients);
        assert!((norm - energy).abs() < 1e-12 * energy, "{}: {norm} and {energy}", group.name());
    }
}

#[test]
fn basis_on_s3_matches_golden() {
    let transform = FourierTransform::new(&group::parse("D3").unwrap(), 0).unwrap();
    let (shape, golden) = Golden::open("peter_weyl").tensor("S3.fourier");
    assert_eq!(shape, [6, 6]);
    let golden = Mat::from_fn(6, 6, |x, row| c64::new(golden[row * 6 + x] * 6.0_f64.sqrt(), 0.0));
    assert_close(&transform.basis().to_owned(), &golden, "rows √(d/6) π(x)_ij");
}

#[test]
fn operators_are_recovered_from_their_blocks() {
    for (group, degree) in groups() {
        let (domain, codomain) = fibres(&group, degree.min(1));
        let space = OperatorSpace::new(&domain, &codomain, degree).unwrap();
        let spectrum = random_spectrum(&space, 4);
        let t = space.operator(&spectrum).unwrap();
        assert_eq!((t.nrows(), t.ncols()), space.shape());
        let again = space.spectrum(&t).unwrap();
        assert_close(&again.matrix().to_owned(), &spectrum.matrix().to_owned(), &group.name());
        assert_close(&space.band_limited(&t).unwrap(), &t, &group.name());
        let untwisted = space.untwisted_spectrum(&t).unwrap();
        assert_close(&space.twisted_operator(&untwisted).unwrap(), &t, &group.name());
    }
}

#[test]
fn commutative_diagram_closes_on_finite_groups() {
    for name in FINITE {
        let group = group::parse(name).unwrap();
        let regular = rep::complexified(&rep::regular(&group).unwrap());
        let trivial = rep::complexified(&rep::trivial(&group));
        let (largest, mixed) = fibres(&group, 0);
        for (domain, codomain) in [(&trivial, &trivial), (&largest, &mixed), (&mixed, &largest)] {
            let space = OperatorSpace::new(domain, codomain, 0).unwrap();
            let (rows, columns) = space.shape();
            let t = random_operator(&space, 5);
            let (signals, images) = (rep::tensor(&regular, domain).unwrap(), rep::tensor(&regular, codomain).unwrap());
            let sum = project_finite_sum(&signals, &images, &t).unwrap();
            assert_close(&project_fourier(&space, &t).unwrap(), &sum, name);
            // The sum itself is the specification.
            let flat: Vec<c64> = (0..rows * columns).map(|i| t[(i / columns, i % columns)]).collect();
            let haar = HaarProjector::new(&KernelSpace::dense(&signals, &images).unwrap()).unwrap();
            let haar = haar.project(&flat).unwrap();
            assert_close(&sum, &Mat::from_fn(rows, columns, |i, j| haar[i * columns + j]), name);
        }
    }
}

#[test]
fn commutative_diagram_closes_on_continuous_groups() {
    for (name, degree) in CONTINUOUS {
        let group = group::parse(name).unwrap();
        let trivial = rep::complexified(&rep::trivial(&group));
        let (largest, mixed) = fibres(&group, 1);
        for (domain, codomain) in [(&trivial, &trivial), (&largest, &mixed), (&mixed, &trivial)] {
            let space = OperatorSpace::new(domain, codomain, degree).unwrap();
            let spectrum = random_spectrum(&space, 6);
            let projected = project_fourier(&space, &space.operator(&spectrum).unwrap()).unwrap();
            let what = format!("{name} to degree {degree}, {} to {}", domain.label(), codomain.label());
            let averaged = haar_average(&space, &spectrum);
            let again = space.spectrum(&projected).unwrap().matrix().to_owned();
            assert_close(&again, &averaged, &what);
            // Nothing leaked out of the band.
            assert_close(&space.band_limited(&projected).unwrap(), &projected, &what);
        }
    }
}

#[test]
fn samples_outside_the_band_are_dropped() {
    let so2 = group::parse("SO2").unwrap();
    let (domain, codomain) = fibres(&so2, 2);
    let space = OperatorSpace::new(&domain, &codomain, 2).unwrap();
    let t = random_operator(&space, 7);
    let limited = space.band_limited(&t).unwrap();
    assert!((&t - &limited).norm_max() > 0.1);
    let projected = project_fourier(&space, &t).unwrap();
    assert_close(&projected, &project_fourier(&space, &limited).unwrap(), "SO2");
    let averaged = haar_average(&space, &space.spectrum(&t).unwrap());
    assert_close(&space.spectrum(&projected).unwrap().matrix().to_owned(), &averaged, "SO2");
}

#[test]
fn equivariant_operators_are_block_diagonal() {
    // thm:equiv_fourier and thm:equiv_decomp_informal, from the average in space.
    for (group, degree) in groups() {
        let space = OperatorSpace::scalar(&group, degree).unwrap();
        let averaged = haar_average(&space, &random_spectrum(&space, 8));
        let spectrum = Spectrum::new(space.transform().dual(), 1, 1, averaged).unwrap();
        assert!(spectrum.off_diagonal_energy() < 1e-24, "{}", group.name());
        for (pi, &d) in spectrum.dims().iter().enumerate() {
            let expected = Mat::<c64>::identity(d, d).kron(&spectrum.intertwiner(pi).unwrap());
            assert_close(&spectrum.block(pi, pi).unwrap().to_owned(), &expected, &group.name());
        }
    }
}

#[test]
fn intertwiner_multiplies_coefficients_on_the_left() {
    // cor:right-mult, corrected.
    for (group, degree) in groups() {
        let space = OperatorSpace::scalar(&group, degree).unwrap();
        let transform = space.transform();
        let t = project_fourier(&space, &space.operator(&random_spectrum(&space, 9)).unwrap()).unwrap();
        let spectrum = space.spectrum(&t).unwrap();
        let coefficients = random_function(transform, 10);
        let image = apply(&t, &transform.inverse(&coefficients).unwrap());
        for (pi, found) in transform.forward(&image).unwrap().iter().enumerate() {
            let expected = spectrum.intertwiner(pi).unwrap() * &coefficients[pi];
            assert_close(found, &expected, &group.name());
        }
    }
}

#[test]
fn no_right_multiplication_does_what_cor_right_mult_prints() {
    let space = OperatorSpace::scalar(&group::parse("S3").unwrap(), 0).unwrap();
    let transform = space.transform();
    let t = project_fourier(&space, &random_operator(&space, 11)).unwrap();
    let transformed = |plane: Mat<c64>| {
        let zero = Mat::zeros(1, 1);
        let f = transform.inverse(&[zero.clone(), plane, zero]).unwrap();
        let image = apply(&t, &f);
        (f, transform.forward(&image).unwrap()[1].clone(), image)
    };
    // f̂ = 1 forces B to be the coefficient of Tf; that B then fails on f̂ = E₀₁.
    let (_, b, _) = transformed(Mat::identity(2, 2));
    let unit = Mat::from_fn(2, 2, |i, j| c64::new(if (i, j) == (0, 1) { 1.0 } else { 0.0 }, 0.0));
    let (f, found, image) = transformed(unit.clone());
    assert_close(&found, &(&b * &unit), "left");
    assert!((found - &unit * &b).norm_max() > 0.1, "right multiplication should fail");
    // It holds for ∫ f π without the star.
    let starless = |f: &[c64]| {
        let plane = &transform.dual()[1];
        let mut sum = Mat::<c64>::zeros(2, 2);
        for ((g, weight), &value) in transform.rule().iter().zip(f) {
            sum += Scale(c64::new(weight, 0.0) * value) * plane.matrix(g);
        }
        sum
    };
    assert_close(&starless(&image), &(starless(&f) * b.transpose()), "right, without the star");
}

#[test]
fn printed_fibre_average_is_not_the_projection() {
    // thm:vector_block on L²(S₃, plane), against brute force in NumPy.
    let golden = Golden::open("peter_weyl");
    let read = |name: &str| {
        let (shape, values) = golden.tensor(name);
        Mat::from_fn(shape[0], shape[1], |i, j| c64::new(values[i * shape[1] + j], 0.0))
    };
    let (t, truth, printed) = (read("S3.t"), read("S3.true"), read("S3.printed"));
    let s3 = group::parse("D3").unwrap();
    let plane: Rep<c64> = unitary_dual(&s3, 0).unwrap()[2].clone().into();
    let space = OperatorSpace::new(&plane, &plane, 0).unwrap();
    assert_close(&project_fourier(&space, &t).unwrap(), &truth, "untwist, mask, trace, twist");

    // As printed: mask, partial trace, average over the fibre and V_π*; no untwisting.
    let spectrum = space.spectrum(&t).unwrap().project();
    let mut matrix = Mat::zeros(12, 12);
    let mut at = 0;
    for (pi, irrep) in space.transform().dual().iter().enumerate() {
        let b = spectrum.intertwiner(pi).unwrap();
        let average = space.transform().rule().integrate_matrix(b.shape(), |g| {
            let action = irrep.matrix(g).kron(&plane.matrix(g));
            &action * &b * action.adjoint()
        });
        let block = Mat::<c64>::identity(irrep.dim(), irrep.dim()).kron(&average);
        matrix.submatrix_mut(at, at, block.nrows(), block.ncols()).copy_from(&block);
        at += block.nrows();
    }
    let ours = space.operator(&Spectrum::new(space.transform().dual(), 2, 2, matrix).unwrap()).unwrap();
    assert_close(&ours, &printed, "as printed");
    assert!((&printed - &truth).norm_l2() > 0.9 * truth.norm_l2(), "the printed formula should differ");

    // The true projection mixes frequencies before untwisting, and does not after.
    let off = space.spectrum(&truth).unwrap().off_diagonal_energy() / truth.squared_norm_l2();
    assert!((off - golden.number("S3.off_diagonal_energy")).abs() < 1e-12 && off > 0.3);
    assert!(space.untwisted_spectrum(&truth).unwrap().off_diagonal_energy() < 1e-24);
}

#[test]
fn equivariant_operators_have_dimension_order_times_fibres() {
    for name in FINITE {
        let group = group::parse(name).unwrap();
        let (domain, codomain) = fibres(&group, 0);
        let expected = group.order().unwrap() as usize * domain.dim() * codomain.dim();
        assert_eq!(OperatorSpace::new(&domain, &codomain, 0).unwrap().dim_equivariant(), expected, "{name}");
        let regular = rep::complexified(&rep::regular(&group).unwrap());
        let signals = |fibre| rep::tensor(&regular, fibre).unwrap();
        assert_eq!(hom_dim(&signals(&domain), &signals(&codomain)).unwrap(), expected, "{name}");
    }
}

#[test]
fn trace_of_the_projection_is_the_dimension() {
    for (name, degree) in [("S3", 0), ("SO2", 2)] {
        let group = group::parse(name).unwrap();
        let (domain, codomain) = fibres(&group, 1);
        let space = OperatorSpace::new(&domain, &codomain, degree).unwrap();
        let count = space.transform().dim();
        let (rows, columns) = (count * codomain.dim(), count * domain.dim());
        let mut trace = 0.0;
        for i in 0..rows {
            for j in 0..columns {
                let mut unit = Mat::zeros(rows, columns);
                unit[(i, j)] = c64::new(1.0, 0.0);
                let spectrum = Spectrum::new(space.transform().dual(), domain.dim(), codomain.dim(), unit).unwrap();
                let projected = project_fourier(&space, &space.operator(&spectrum).unwrap()).unwrap();
                trace += space.spectrum(&projected).unwrap().matrix()[(i, j)].re;
            }
        }
        assert!((trace - space.dim_equivariant() as f64).abs() < 1e-9, "{name}: {trace}");
    }
}

#[test]
fn invariant_functions_have_only_the_trivial_coefficient() {
    // lemma:inv_fourier, cor:projection_invariant, fig:commutative_diagrams_invariance.
    for (group, degree) in groups() {
        let transform = FourierTransform::new(&group, degree).unwrap();
        let coefficients = random_function(&transform, 12);
        let f = transform.inverse(&coefficients).unwrap();
        let projected = project_invariant(&transform, &f).unwrap();
        for (x, &value) in transform.nodes().iter().zip(&projected).step_by(transform.nodes().len() / 5 + 1) {
            let mut average = c64::new(0.0, 0.0);
            for (h, weight) in transform.rule().iter() {
                average += transform.evaluate(&coefficients, &group.multiply(h, x)).unwrap() * c64::new(weight, 0.0);
            }
            assert!((average - value).norm() < 1e-12, "{}", group.name());
        }
        for (pi, matrix) in transform.forward(&projected).unwrap().iter().enumerate() {
            let kept = if pi == 0 { coefficients[0].clone() } else { Mat::zeros(matrix.nrows(), matrix.nrows()) };
            assert_close(matrix, &kept, &group.name());
        }
    }
}
