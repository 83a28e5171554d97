//! The laws every projector of an exact action obeys.

use reynolds::projection::{HaarProjector, KernelSpace, Projector};
use reynolds::random::Random;
use reynolds::scalar::{Scalar, Weight};

/// Number fields that are also weights: `f64` and `c64`.
pub trait Number: Scalar + Weight {}
impl<F: Scalar + Weight> Number for F {}

/// Standard normal weights.
pub fn random_weights<F: Number>(n: usize, seed: u64) -> Vec<F> {
    let matrix = Random::new(seed).matrix::<F>(n, 1);
    (0..n).map(|i| matrix[(i, 0)]).collect()
}

/// ‖w‖.
pub fn norm<F: Number>(weights: &[F]) -> f64 {
    weights.iter().map(|w| w.abs_sq()).sum::<f64>().sqrt()
}

/// ‖a − b‖.
pub fn distance<F: Number>(a: &[F], b: &[F]) -> f64 {
    assert_eq!(a.len(), b.len(), "tensors of different length");
    a.iter().zip(b).map(|(&x, &y)| (x - y).abs_sq()).sum::<f64>().sqrt()
}

/// Re⟨a, b⟩.
pub fn inner<F: Number>(a: &[F], b: &[F]) -> f64 {
    a.iter().zip(b).map(|(&x, &y)| (x.conjugate() * y).real()).sum()
}

/// 1e-12·max(1, ‖T‖), the tolerance of every law.
pub fn tolerance<F: Number>(weights: &[F]) -> f64 {
    1e-12 * norm(weights).max(1.0)
}

/// `a + s·b`.
fn combine<F: Number>(a: &[F], s: f64, b: &[F]) -> Vec<F> {
    a.iter().zip(b).map(|(&x, &y)| x + y * F::from_real(s)).collect()
}

/// Up to this many weights the trace is taken entry by entry.
const TRACED: usize = 1000;

/// tr P = Σ_i ⟨e_i, P e_i⟩.
pub fn trace<F: Number>(projector: &dyn Projector<F>) -> f64 {
    let n = projector.len();
    let entry = |i: usize| {
        let mut unit = vec![F::ZERO; n];
        unit[i] = F::ONE;
        projector.project(&unit).expect("a unit weight")[i].real()
    };
    (0..n).map(entry).sum()
}

/// P(T), each of the projector's parts by itself.
pub fn part_by_part<F: Number>(projector: &dyn Projector<F>, mut weights: &[F]) -> Vec<F> {
    let mut out = vec![F::ZERO; weights.len()];
    let mut rest = out.as_mut_slice();
    for (part, len) in projector.parts().into_iter().enumerate() {
        let (from, to) = (weights.split_off(..len).expect("parts of weights"), rest.split_off_mut(..len));
        projector.apply_part(part, from, to.expect("parts of the result"));
    }
    assert!(weights.is_empty(), "{} weights in no part", weights.len());
    out
}

/// Asserts all laws of one projector on random weights.
///
/// # Panics
/// Naming the law that fails.
pub fn assert_projector_laws<F: Number>(space: &KernelSpace<F>, projector: &dyn Projector<F>, seed: u64) {
    let name = format!("{} {} -> {}", space.group().name(), space.domain().label(), space.codomain().label());
    let n = space.len();
    assert_eq!(projector.len(), n, "{name}: length");
    let (t, s) = (random_weights::<F>(n, seed), random_weights::<F>(n, seed ^ 0x5eed));
    let project = |w: &[F]| projector.project(w).expect("finite weights of the right length");
    let (pt, ps) = (project(&t), project(&s));
    let tolerance = tolerance(&t);
    let close = |law: &str, error: f64| assert!(error <= tolerance, "{name}: {law}: off by {error:.2e}");

    let haar = HaarProjector::new(space).expect("an enumerable or continuous group");
    close("agrees with the Haar average", distance(&pt, &haar.project(&t).expect("finite weights")));
    close("idempotent", distance(&project(&pt), &pt));
    close("linear", distance(&project(&combine(&t, -1.75, &s)), &combine(&pt, -1.75, &ps)));
    close("self-adjoint", (inner(&pt, &s) - inner(&t, &ps)).abs() / norm(&s));

    assert_eq!(part_by_part(projector, &t), pt, "{name}: part by part");

    let perp = projector.perp(&t).expect("finite weights");
    let energies = projector.energies(&t).expect("finite weights");
    let (equivariant, rest) = (norm(&pt).powi(2), norm(&perp).powi(2));
    let squared = tolerance * norm(&t);
    assert!((energies.equivariant - equivariant).abs() <= squared, "{name}: energy of P(T)");
    assert!((energies.perp - rest).abs() <= squared, "{name}: energy of T − P(T)");
    assert!((equivariant + rest - norm(&t).powi(2)).abs() <= squared, "{name}: Pythagoras");

    for g in space.group().generators() {
        close("P(T) commutes with the action", distance(&space.act(&g, &pt), &pt));
        close("P commutes with the action", distance(&project(&space.act(&g, &t)), &pt));
    }
    close("fixes equivariant maps", distance(&project(&haar.project(&s).expect("finite")), &ps));
    let dim = space.dim_equivariant().expect("characters");
    assert_eq!(projector.rank(), dim, "{name}: rank is dim Hom_G");
    if n <= TRACED {
        assert!((trace(projector) - dim as f64).abs() <= 1e-9 * n as f64, "{name}: trace of P is dim Hom_G");
    }

    let rule = space.group().quadrature(space.degree()).expect("as for the Haar average");
    let mut worst: f64 = 0.0;
    let mean = rule.integrate(|g| {
        let defect = distance(&space.act(g, &t), &t);
        worst = worst.max(defect);
        defect.powi(2)
    });
    assert!((mean - 2.0 * rest).abs() <= 4.0 * squared, "{name}: mean-square defect is 2‖T − P(T)‖²");
    let d = rest.sqrt();
    assert!(worst <= 2.0 * d + tolerance, "{name}: ℰ ≤ 2‖T − P(T)‖");
    if let Some(order) = space.group().order() {
        let factor = if order == 1 { 0.0 } else { (2.0 * order as f64 / (order as f64 - 1.0)).sqrt() };
        assert!(factor * d <= worst + tolerance, "{name}: √(2|G|/(|G|−1))‖T − P(T)‖ ≤ ℰ");
    }
}

/// P_G P_H = P_G = P_H P_G for H ≤ G, both on the same weights.
///
/// # Panics
/// If it does not hold.
pub fn assert_tower_law<F: Number>(larger: &dyn Projector<F>, smaller: &dyn Projector<F>, seed: u64) {
    let t = random_weights::<F>(larger.len(), seed);
    let project = |p: &dyn Projector<F>, w: &[F]| p.project(w).expect("finite weights of the right length");
    let direct = project(larger, &t);
    let tolerance = tolerance(&t);
    assert!(distance(&project(larger, &project(smaller, &t)), &direct) <= tolerance, "P_G P_H = P_G");
    assert!(distance(&project(smaller, &direct), &direct) <= tolerance, "P_H P_G = P_G");
    assert!(smaller.rank() >= larger.rank(), "a smaller group leaves more");
}
