//! The laws every projector of an exact action obeys.

use reynolds::penalty::{Form, PenaltyConfig};
use reynolds::projection::{Dimensions, HaarProjector, KernelSpace, Lowered, Projector, Tiling};
use reynolds::proximal::Proximal;
use reynolds::random::Random;
use reynolds::scalar::Scalar;

/// Standard normal weights.
pub fn random_weights<F: Scalar>(n: usize, seed: u64) -> Vec<F> {
    let matrix = Random::new(seed).matrix::<F>(n, 1);
    (0..n).map(|i| matrix[(i, 0)]).collect()
}

/// ‖w‖.
pub fn norm<F: Scalar>(weights: &[F]) -> f64 {
    weights.iter().map(|w| w.abs_sq()).sum::<f64>().sqrt()
}

/// ‖a − b‖.
pub fn distance<F: Scalar>(a: &[F], b: &[F]) -> f64 {
    assert_eq!(a.len(), b.len(), "tensors of different length");
    a.iter().zip(b).map(|(&x, &y)| (x - y).abs_sq()).sum::<f64>().sqrt()
}

/// The largest |aᵢ − bᵢ|; infinite if one is NaN.
pub fn largest_difference<F: Scalar>(a: &[F], b: &[F]) -> f64 {
    assert_eq!(a.len(), b.len(), "tensors of different length");
    let differences = a.iter().zip(b).map(|(&x, &y)| (x - y).abs_sq().sqrt());
    differences.fold(0.0, |largest: f64, d| if d.is_nan() { f64::INFINITY } else { largest.max(d) })
}

/// Re⟨a, b⟩.
pub fn inner<F: Scalar>(a: &[F], b: &[F]) -> f64 {
    a.iter().zip(b).map(|(&x, &y)| (x.conjugate() * y).real()).sum()
}

/// 1e-12·max(1, ‖T‖), the tolerance of every law.
pub fn tolerance<F: Scalar>(weights: &[F]) -> f64 {
    1e-12 * norm(weights).max(1.0)
}

/// `a + s·b`.
fn combine<F: Scalar>(a: &[F], s: f64, b: &[F]) -> Vec<F> {
    a.iter().zip(b).map(|(&x, &y)| x + y * F::from_real(s)).collect()
}

/// Up to this many weights the trace is taken entry by entry.
const TRACED: usize = 2000;

/// tr P = Σ_i ⟨e_i, P e_i⟩.
pub fn trace<F: Scalar>(projector: &dyn Projector<F>) -> f64 {
    let n = projector.len();
    let entry = |i: usize| {
        let mut unit = vec![F::ZERO; n];
        unit[i] = F::ONE;
        projector.project(&unit).expect("a unit weight")[i].real()
    };
    (0..n).map(entry).sum()
}

/// P(T), each of the projector's parts by itself.
pub fn part_by_part<F: Scalar>(projector: &dyn Projector<F>, mut weights: &[F]) -> Vec<F> {
    let mut out = vec![F::ZERO; weights.len()];
    let mut rest = out.as_mut_slice();
    for (part, len) in projector.parts().into_iter().enumerate() {
        let (from, to) = (weights.split_off(..len).expect("parts of weights"), rest.split_off_mut(..len));
        projector.apply_part(part, from, to.expect("parts of the result"));
    }
    assert!(weights.is_empty(), "{} weights in no part", weights.len());
    out
}

/// The laws of every orthogonal projector: P² = P = P*, linearity, Pythagoras, tr P = rank; and P part by part is P.
pub fn assert_orthogonal_projector<F: Scalar>(name: &str, projector: &dyn Projector<F>, seed: u64) {
    let n = projector.len();
    let (t, s) = (random_weights::<F>(n, seed), random_weights::<F>(n, seed ^ 0x5eed));
    let project = |w: &[F]| projector.project(w).expect("finite weights of the right length");
    let (pt, ps) = (project(&t), project(&s));
    let tolerance = tolerance(&t);
    let close = |law: &str, error: f64| assert!(error <= tolerance, "{name}: {law}: off by {error:.2e}");
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
    // No cancellation: what is left of an equivariant map is rounding squared.
    let left = projector.energies(&pt).expect("finite weights").perp;
    assert!(left <= (0.1 * tolerance).powi(2), "{name}: energy of P(T) − P(P(T)) is {left:.1e}");
    if n <= TRACED {
        let error = (trace(projector) - projector.rank() as f64).abs();
        assert!(error <= 1e-10, "{name}: the trace of P is off its rank by {error:.1e}");
    }
    assert_proximal_laws(name, projector, &t);
}

/// The laws of the proximal step: nothing at strength 0, the projection at a huge λ_⊥, uniform shrinking at equal strengths, and the
/// conditions of a minimum over all weights otherwise.
fn assert_proximal_laws<F: Scalar>(name: &str, projector: &dyn Projector<F>, t: &[F]) {
    let pt = projector.project(t).expect("finite weights");
    let stepped = |penalty: PenaltyConfig| {
        let mut weights = t.to_vec();
        let factors = Proximal::new(penalty).and_then(|step| step.unscaled().apply(projector, &mut weights, 0.3));
        (weights, factors.expect("finite weights"))
    };
    let close =
        |law: &str, error: f64| assert!(error <= tolerance(t), "{name}: proximal step, {law}: off by {error:.2e}");
    assert_eq!(stepped(PenaltyConfig::default()).0, t, "{name}: a step of strength 0");
    close("a huge strength projects", distance(&stepped(PenaltyConfig::perp(1e300)).0, &pt));
    let equal = PenaltyConfig { lambda_g: 0.5, lambda_perp: 0.5, ..PenaltyConfig::default() };
    let shrunk: Vec<F> = t.iter().map(|&w| w * F::from_real(1.0 / 1.3)).collect();
    close("equal strengths shrink W", distance(&stepped(equal).0, &shrunk));
    for (form, whole) in [(Form::Squared, false), (Form::Squared, true), (Form::Plain, false), (Form::Plain, true)] {
        for (lambda_g, lambda_perp) in [(0.02, 0.7), (0.7, 0.02), (20.0, 0.5), (0.5, 20.0)] {
            let penalty = PenaltyConfig { lambda_g, lambda_perp, form, whole, ..PenaltyConfig::default() };
            let strengths = (0.3 * lambda_g, 0.3 * lambda_perp);
            let error = optimality_gap(projector, t, &stepped(penalty).0, (form, whole), strengths);
            close(&format!("{penalty:?} is minimised over all weights"), error);
        }
    }
}

/// How far W − V is from the subdifferential at V of the penalty with strengths `g` and `h`: 0 exactly if V minimises
/// ½‖V − W‖² + penalty(V) over all weights, because that is strictly convex.
fn optimality_gap<F: Scalar>(
    projector: &dyn Projector<F>,
    w: &[F],
    v: &[F],
    form: (Form, bool),
    (g, h): (f64, f64),
) -> f64 {
    let split = |x: &[F]| {
        let kept = projector.project(x).expect("finite weights");
        let rest = combine(x, -1.0, &kept);
        (kept, rest)
    };
    let force = combine(w, -1.0, v);
    let ((pv, qv), (pf, qf)) = (split(v), split(&force));
    // ‖force − λ x/‖x‖‖, and at x = 0 how much of the force is beyond the ball of radius λ. The force turns with x, by λ/‖x‖ for each unit
    // that x is off: what is left is measured by how far x is off, or a short x that is right to the last digit would fail.
    let beyond = |force: &[F], x: &[F], lambda: f64| match norm(x) {
        n if n > tolerance(w) => norm(&combine(force, -lambda / n, x)) / (1.0 + lambda / n),
        _ => (norm(force) - lambda).max(0.0),
    };
    match form {
        (Form::Squared, whole) => {
            let left = combine(&force, -2.0 * g, if whole { v } else { &pv });
            norm(&combine(&left, -2.0 * h, &qv))
        }
        (Form::Plain, false) => beyond(&pf, &pv, g).hypot(beyond(&qf, &qv, h)),
        (Form::Plain, true) if norm(v) > tolerance(w) => {
            let (pf, qf) = split(&combine(&force, -g / norm(v), v));
            norm(&pf).hypot(beyond(&qf, &qv, h)) / (1.0 + g / norm(v))
        }
        (Form::Plain, true) => (norm(&pf).hypot((norm(&qf) - h).max(0.0)) - g).max(0.0),
    }
}

/// The laws of the projector of an exact action, on random weights: those of [`assert_orthogonal_projector`], agreement with the Haar
/// average, commutation with the action, its rank, and the bounds of the defect.
pub fn assert_projector_laws<F: Scalar>(space: &KernelSpace<F>, projector: &dyn Projector<F>, seed: u64) {
    let name = format!("{} {} -> {}", space.group().name(), space.domain().label(), space.codomain().label());
    assert_eq!(projector.len(), space.len(), "{name}: length");
    assert_orthogonal_projector(&name, projector, seed);
    let (t, s) = (random_weights::<F>(space.len(), seed), random_weights::<F>(space.len(), seed ^ 0x5eed));
    let project = |w: &[F]| projector.project(w).expect("finite weights of the right length");
    let (pt, ps) = (project(&t), project(&s));
    let tolerance = tolerance(&t);
    let close = |law: &str, error: f64| assert!(error <= tolerance, "{name}: {law}: off by {error:.2e}");

    let haar = HaarProjector::new(space).expect("an enumerable or continuous group");
    close("agrees with the Haar average", distance(&pt, &haar.project(&t).expect("finite weights")));
    for g in space.group().generators() {
        close("P(T) commutes with the action", distance(&space.act(&g, &pt), &pt));
        close("P commutes with the action", distance(&project(&space.act(&g, &t)), &pt));
    }
    close("fixes equivariant maps", distance(&project(&haar.project(&s).expect("finite")), &ps));
    assert_eq!(projector.rank(), space.dim_equivariant().expect("characters"), "{name}: rank is dim Hom_G");

    let rule = space.group().quadrature(space.degree()).expect("as for the Haar average");
    let mut worst: f64 = 0.0;
    let mean = rule.integrate(|g| {
        let defect = distance(&space.act(g, &t), &t);
        worst = worst.max(defect);
        defect.powi(2)
    });
    let rest = distance(&t, &pt).powi(2);
    assert!((mean - 2.0 * rest).abs() <= 4.0 * tolerance * norm(&t), "{name}: mean-square defect is 2‖T − P(T)‖²");
    let d = rest.sqrt();
    assert!(worst <= 2.0 * d + tolerance, "{name}: ℰ ≤ 2‖T − P(T)‖");
    if let Some(order) = space.group().order() {
        let factor = if order == 1 { 0.0 } else { (2.0 * order as f64 / (order as f64 - 1.0)).sqrt() };
        assert!(factor * d <= worst + tolerance, "{name}: √(2|G|/(|G|−1))‖T − P(T)‖ ≤ ℰ");
    }
}

/// P_G P_H = P_G = P_H P_G for H ≤ G, both on the same weights.
pub fn assert_tower_law<F: Scalar>(larger: &dyn Projector<F>, smaller: &dyn Projector<F>, seed: u64) {
    let t = random_weights::<F>(larger.len(), seed);
    let project = |p: &dyn Projector<F>, w: &[F]| p.project(w).expect("finite weights of the right length");
    let direct = project(larger, &t);
    let tolerance = tolerance(&t);
    assert!(distance(&project(larger, &project(smaller, &t)), &direct) <= tolerance, "P_G P_H = P_G");
    assert!(distance(&project(smaller, &direct), &direct) <= tolerance, "P_H P_G = P_G");
    assert!(smaller.rank() >= larger.rank(), "a smaller group leaves more");
}

/// The laws of a lowered projector: those above, and [`assert_tiles`].
pub fn assert_lowered_laws<F: Scalar>(space: &KernelSpace<F>, projector: &Lowered<F>, seed: u64) {
    assert_projector_laws(space, projector, seed);
    assert_tiles(projector, seed);
}

/// Tile by tile a projector is the projector: every real number, or coordinate, is in one tile, the tiles project as the projector does,
/// and their ranks add up to its own.
pub fn assert_tiles<F: Scalar>(projector: &Lowered<F>, seed: u64) -> Tiling {
    let form = projector.form();
    let tiling = projector.tiling().expect("a projector that can be tiled");
    let numbers = tiling.len() / projector.len();
    let parts = |weights: Vec<F>| -> Vec<f64> {
        weights.into_iter().flat_map(|w| w.real_parts().into_iter().take(numbers)).collect()
    };
    let weights = random_weights::<F>(projector.len(), seed);
    let expected = parts(projector.project(&weights).expect("finite weights of the right length"));
    let mut seen = vec![0; tiling.coordinates()];
    tiling.tiles().iter().for_each(|&tile| tiling.places(tile).for_each(|place| seen[place] += 1));
    assert!(seen.iter().all(|&times| times == 1), "{form}: a number that is not in exactly one tile");
    assert_eq!(tiling.rank(), numbers * projector.rank(), "{form}: rank of the tiles");
    let error = largest_difference(&tiling.project(&parts(weights)), &expected);
    assert!(error < 1e-12, "{form}: tiles are off by {error:e}");
    tiling
}
