//! The laws of the equivariance defect on finite and continuous groups.

use faer::c64;
use proptest::prelude::*;
use reynolds::defect::{self, Bracket};
use reynolds::group::{self, Element, Family, GroupRef};
use reynolds::projection::{Blocks, Chain, Dimensions, HaarProjector, KernelSpace, Orbits, Projector, derive};
use reynolds::random::Random;
use reynolds::rep::{self, Rep};
use reynolds::scalar::Scalar;
use reynolds::{Error, haar};
use reynolds_testkit::projector_laws::{norm, random_weights};
use reynolds_testkit::spaces::{Layer, kernels, space};

/// A sum of irreps of degree up to `max_degree`, two copies of each.
fn irreps(group: &GroupRef, max_degree: usize) -> Rep {
    let parts: Vec<(usize, Rep)> =
        group.clone().irreps(max_degree).unwrap().iter().map(|irrep| (2, irrep.rep().clone())).collect();
    rep::sum(group, &parts).unwrap()
}

/// Spaces over finite groups: permutation, matrix and kernel actions.
const FINITE: [Layer; 6] = [
    ("C4", "regular", "regular", 3, 2),
    ("D4", "vector", "regular", 3, 2),
    (
        "S4",
        "permutation",
        "2 irrep([4]) + 2 irrep([3,1]) + 2 irrep([2,2]) + 2 irrep([2,1,1]) + 2 irrep([1,1,1,1])",
        0,
        0,
    ),
    ("C3", "2 irrep(0) + 2 irrep(1)", "regular", 0, 0),
    ("O", "vector", "2 irrep(0) + 2 irrep(1) + 2 irrep(2) + 2 irrep(3) + 2 irrep(4)", 0, 0),
    ("C5", "3 vector + 2 trivial", "3 vector + 2 trivial", 0, 0),
];

fn finite_space(which: usize) -> KernelSpace {
    kernels(FINITE[which])
}

/// The dense maps of a sum of irreps to itself.
fn on_irreps(name: &str, degree: usize) -> KernelSpace {
    let field = irreps(&group::parse(name).unwrap(), degree);
    KernelSpace::dense(&field, &field).unwrap()
}

/// The laws of the bracket on a group with a quadrature, of a random map: it holds every defect at a node, lies between √2·d and 2d, and the
/// mean square is 2d². The bracket, the defect at the worst element found and d.
fn assert_bracketed<F: Scalar>(space: &KernelSpace<F>, seed: u64) -> (Bracket, f64, f64) {
    let name = space.group().name();
    let projector = HaarProjector::new(space).unwrap();
    let t: Vec<F> = random_weights(space.len(), seed);
    let d = norm(&projector.perp(&t).unwrap());
    let worst = defect::worst(space, &projector, &t).unwrap();
    let slack = 1.0 + 1e-11;
    assert!(worst.lower <= worst.upper, "{name}: {worst:?}");
    assert!(2.0_f64.sqrt() * d <= worst.lower * slack && worst.upper <= 2.0 * d * slack, "{name}: {worst:?}");
    let square = |h: &Element| norm(&defect::at(space, h, &t).unwrap()).powi(2);
    let rule = space.group().quadrature(2 * space.degree()).unwrap();
    assert!(rule.nodes.iter().all(|h| square(h).sqrt() <= worst.upper * slack), "{name}: {worst:?}");
    assert!((rule.integrate(square) - 2.0 * d * d).abs() < 1e-11 * norm(&t).powi(2), "{name}");
    let found = square(worst.found.as_ref().unwrap()).sqrt();
    (worst, found, d)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

    /// Mean over g of ‖Δ_g(T)‖² = 2‖T − P(T)‖²; the enumerated worst case is the largest of them and obeys the bracket.
    #[test]
    fn finite_groups_obey_the_mean_and_the_bracket(seed in any::<u64>(), which in 0..FINITE.len()) {
        let space = finite_space(which);
        let projector = HaarProjector::new(&space).unwrap();
        let t = random_weights::<f64>(space.len(), seed);
        let d = norm(&projector.perp(&t).unwrap());
        let all = group::elements(space.group().as_ref()).unwrap();
        let squares: Vec<f64> = all.iter().map(|g| norm(&defect::at(&space, g, &t).unwrap()).powi(2)).collect();
        let tolerance = 1e-12 * norm(&t).powi(2).max(1.0);
        let mean = squares.iter().sum::<f64>() / all.len() as f64;
        prop_assert!((mean - 2.0 * d * d).abs() < tolerance);

        let worst = defect::worst(&space, &projector, &t).unwrap();
        let largest = squares.iter().copied().fold(0.0, f64::max).sqrt();
        prop_assert!(worst.lower <= largest && largest <= worst.upper && worst.width() < 1e-10, "{worst:?} {largest}");
        let found = norm(&defect::at(&space, &worst.found.unwrap(), &t).unwrap());
        prop_assert!((found - largest).abs() < 1e-12 * largest.max(1.0));
        let order = all.len() as f64;
        prop_assert!((2.0 * order / (order - 1.0)).sqrt() * d <= largest * (1.0 + 1e-12));
        prop_assert!(largest <= 2.0 * d * (1.0 + 1e-12));
    }

    /// ‖Δ_g‖ of an almost equivariant map is resolved, not drowned in ‖T‖.
    #[test]
    fn small_defects_are_resolved(seed in any::<u64>()) {
        let space = finite_space(0);
        let projector = HaarProjector::new(&space).unwrap();
        let t = random_weights::<f64>(space.len(), seed);
        let equivariant = projector.project(&t).unwrap();
        let whole = defect::worst(&space, &projector, &t).unwrap().upper;
        let almost: Vec<f64> = equivariant.iter().zip(&t).map(|(p, w)| p + 1e-9 * (w - p)).collect();
        let small = defect::worst(&space, &projector, &almost).unwrap().upper;
        prop_assert!((small / (1e-9 * whole) - 1.0).abs() < 1e-5);
    }

    /// On SO(2), O(2), SO(3), O(3) the interval is at most 1 % wide, holds every sampled defect, and its lower end is attained.
    #[test]
    fn continuous_groups_are_bracketed_within_one_percent(seed in any::<u64>(), which in 0..4_usize) {
        let (name, degrees) = [("SO2", (3, 2)), ("O2", (2, 3)), ("SO3", (1, 2)), ("O3", (1, 1))][which];
        let g = group::parse(name).unwrap();
        let space = KernelSpace::dense(&irreps(&g, degrees.0), &irreps(&g, degrees.1)).unwrap();
        let (worst, found, _) = assert_bracketed(&space, seed);
        prop_assert!(worst.width() <= 0.01, "{name}: {worst:?}");
        prop_assert!((found - worst.lower).abs() < 1e-9 * found, "{name}: {found} {worst:?}");
    }
}

/// P(T) commutes with the group, whichever form computed P and whichever judges; T itself does not.
#[test]
fn equivariant_maps_have_no_defect() {
    for which in 0..FINITE.len() {
        let space = finite_space(which);
        let mut forms: Vec<(&str, Box<dyn Projector<f64>>)> = vec![
            ("haar", Box::new(HaarProjector::new(&space).unwrap())),
            ("derived", Box::new(derive(&space).unwrap())),
            ("chain", Box::new(Chain::derive(&space).unwrap())),
        ];
        if which == 0 {
            forms.push(("orbits", Box::new(Orbits::derive(&space).unwrap().unwrap())));
        }
        if which >= 2 {
            forms.push(("blocks", Box::new(Blocks::derive(&space).unwrap())));
        }
        let t = random_weights::<f64>(space.len(), 31 + which as u64);
        for (name, form) in &forms {
            let equivariant = form.project(&t).unwrap();
            for (judge, projector) in &forms {
                let upper = defect::worst(&space, projector.as_ref(), &equivariant).unwrap().upper;
                assert!(upper <= 1e-12 * norm(&t), "{name} judged by {judge} on space {which}: {upper:e}");
            }
            let lower = defect::worst(&space, form.as_ref(), &t).unwrap().lower;
            assert!(lower > 0.1 * norm(&t), "{name} on space {which}: {lower:e}");
            let none = defect::worst(&space, form.as_ref(), &vec![0.0; t.len()]).unwrap();
            assert_eq!((none.lower, none.upper, none.found), (0.0, 0.0, None));
        }
    }
}

/// ℰ(cT) = |c| ℰ(T), from the subnormal numbers to the largest, on every kind of group.
#[test]
fn brackets_scale_with_the_map() {
    let continuous = ["SO2", "O2", "SO3", "O3", "SO2 x C2"].map(|name| on_irreps(name, 1));
    let dense = [("C4", "regular"), ("S12", "permutation")].map(|(name, field)| space(name, field, field, 0, 0));
    for space in (0..FINITE.len()).map(finite_space).chain(continuous).chain(dense) {
        let projector = derive(&space).unwrap();
        let t = random_weights::<f64>(space.len(), 3);
        let expected = defect::worst(&space, &projector, &t).unwrap();
        let name = space.group().name();
        assert!(expected.lower > 0.1, "{name}");
        // Where the lower end is what a search met, rounding of c·T may send it elsewhere; a power of two rounds nothing.
        let searched = matches!(space.group().family(), Family::Product | Family::Symmetric(12));
        let powers = [-996, -565, -531, 531, 565, 996].map(|k| 2.0_f64.powi(k));
        for c in [1e-300, 1e-170, 1e-160, 1e-20, 1e20, 1e150, 1e160, 1e300].into_iter().chain(powers) {
            let scaled: Vec<f64> = t.iter().map(|w| c * w).collect();
            let found = defect::worst(&space, &projector, &scaled).unwrap();
            let close = |found: f64, expected: f64| (found / (c * expected) - 1.0).abs() < 1e-12;
            let lower = close(found.lower, expected.lower) || (searched && !powers.contains(&c));
            assert!(lower && close(found.upper, expected.upper), "{name} at {c:e}: {found:?} {expected:?}");
            assert!(found.lower <= found.upper && found.lower > c);
        }
        let huge: Vec<f64> = t.iter().map(|w| 1.7e308 * w.signum()).collect();
        assert!(defect::worst(&space, &projector, &huge).is_err(), "{name}");
        let tiny: Vec<f64> = t.iter().map(|w| 1e-310 * w).collect();
        let found = defect::worst(&space, &projector, &tiny).unwrap();
        assert!((found.upper / (1e-310 * expected.upper) - 1.0).abs() < 1e-9, "{name}: {found:?}");
    }
}

/// Squares that cannot be represented are errors, not infinity or NaN.
#[test]
fn squares_that_overflow_are_errors() {
    let space = finite_space(0);
    let projector = derive(&space).unwrap();
    let all = group::elements(space.group().as_ref()).unwrap();
    let t: Vec<f64> = random_weights::<f64>(space.len(), 3).iter().map(|w| 1e160 * w).collect();
    assert!(matches!(defect::squares(&space, &projector, &t, &all), Err(Error::OutOfRange { .. })));
    let t: Vec<f64> = t.iter().map(|w| 1e-15 * w).collect();
    assert!(defect::squares(&space, &projector, &t, &all).unwrap()[1] > 1e289);
}

/// A rotation-angle function whose peak is known: T = diag(1, 0, 0) on l = 1 is turned by a quarter at worst.
#[test]
fn worst_case_on_so3_by_hand() {
    let space = space("SO3", "vector", "vector", 0, 0);
    let projector = HaarProjector::new(&space).unwrap();
    let mut t = vec![0.0; 9];
    t[0] = 1.0;
    // ‖R e₁e₁ᵀ Rᵀ − e₁e₁ᵀ‖² = 2 − 2⟨Re₁, e₁⟩² is at most 2.
    let worst = defect::worst(&space, &projector, &t).unwrap();
    assert!((worst.lower - 2.0_f64.sqrt()).abs() < 1e-9 && worst.upper >= 2.0_f64.sqrt());
    assert!(worst.width() <= 0.01);
}

/// l ≤ 3 on both sides: degree 6, thirteen samples per angle; a search from many starts never passes the proven end.
#[test]
fn higher_degrees_on_so3_stay_within_one_percent() {
    let space = on_irreps("SO3", 3);
    let projector = derive(&space).unwrap();
    let t = random_weights::<f64>(space.len(), 11);
    let worst = defect::worst(&space, &projector, &t).unwrap();
    assert!(worst.width() <= 0.01);
    for g in haar::sample(space.group().as_ref(), 500, &mut Random::new(5)).unwrap() {
        assert!(norm(&defect::at(&space, &g, &t).unwrap()) <= worst.upper);
    }
}

/// Of degree 0, O(2) and O(3) are seen through det = ±1 alone: T from the sign to the trivial representation turns into −T.
#[test]
fn reflections_count_where_rotations_do_nothing() {
    for name in ["O2", "O3"] {
        let fields = if name == "O2" { "irrep(0) + irrep(0,-)" } else { "1x0e + 1x0o" };
        let space = space(name, fields, fields, 0, 0);
        let worst = defect::worst(&space, &derive(&space).unwrap(), &[5.0, 1.0, 0.0, 3.0]).unwrap();
        assert!(worst.lower <= 2.0 && 2.0 <= worst.upper && worst.width() < 1e-10, "{name}: {worst:?}");
    }
}

/// No grid is laid on SO(2) × C2: the mean-square bracket, its lower end raised by the quadrature's nodes.
#[test]
fn other_continuous_groups_keep_the_plain_bracket() {
    let (worst, found, d) = assert_bracketed(&on_irreps("SO2 x C2", 1), 9);
    assert!((worst.upper - 2.0 * d).abs() < 1e-10 && found <= worst.lower * (1.0 + 1e-11));
}

/// Complex maps between unitary representations obey the same laws.
#[test]
fn complex_maps_are_bracketed() {
    for name in ["SO2", "C5", "S3"] {
        let g = group::parse(name).unwrap();
        let parts: Vec<(usize, Rep<c64>)> =
            <c64 as Scalar>::irreps(&g, 2).unwrap().iter().map(|irrep| (2, irrep.rep().clone())).collect();
        let field = rep::sum(&g, &parts).unwrap();
        let (worst, found, _) = assert_bracketed(&KernelSpace::dense(&field, &field).unwrap(), 12);
        assert!((found - worst.lower).abs() < 1e-9 * found && worst.width() < 0.01, "{name}: {found} {worst:?}");
    }
}

/// S₁₂ has 479,001,600 elements: bracket and search instead of enumeration, and the search attains the upper end here.
#[test]
fn large_permutation_groups_are_searched() {
    let space = space("S12", "permutation", "permutation", 0, 0);
    let projector = derive(&space).unwrap();
    assert_eq!(projector.rank(), 2); // DeepSets: the mean of the diagonal and of the rest
    let mut t = vec![0.0; 144];
    for i in 0..12 {
        t[i * 12 + i] = if i % 2 == 0 { 1.0 } else { -1.0 };
    }
    // An odd ↔ even exchange turns T into −T: ℰ = 2‖T‖ = 2d.
    let worst = defect::worst(&space, &projector, &t).unwrap();
    let d = 12.0_f64.sqrt();
    assert!(2.0 * d <= worst.upper && worst.upper < 2.0 * d + 1e-10, "{worst:?}");
    assert!((worst.lower - 2.0 * d).abs() < 1e-9, "{worst:?}");
    assert!(matches!(worst.found, Some(Element::Finite(_))));
}

/// A projector of another space is refused.
#[test]
fn foreign_projectors_are_refused() {
    let space = finite_space(0);
    let t = vec![1.0; space.len()];
    let foreign = derive(&finite_space(3)).unwrap();
    assert!(matches!(defect::worst(&space, &foreign, &t), Err(Error::Shape { .. })));
    assert!(defect::worst(&space, &HaarProjector::new(&space).unwrap(), &t[1..]).is_err());
}
