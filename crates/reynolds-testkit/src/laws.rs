//! The laws of groups, as assertions that every group runs.
//!
//! ```text
//! (ab)c = a(bc),   eg = g = ge,   gg⁻¹ = e = g⁻¹g,   ⟨generators⟩ = G,   ∫ π(g) X σ(g)* dλ(g) = δ_πσ Σ_m ⟨C_m, X⟩ C_m / d_π
//! ```
//!
//! Small groups are checked on all elements, large and continuous ones on a fixed random sample.
//!
//! ```
//! let square = reynolds::group::parse("D4")?;
//! reynolds_testkit::laws::assert_group_laws(&square);
//! # Ok::<(), reynolds::Error>(())
//! ```

use std::collections::HashSet;

use faer::Mat;
use reynolds::group::{self, ENUMERATION_LIMIT, Element, GroupRef};
use reynolds::haar;
use reynolds::irrep::Irrep;
use reynolds::random::Random;
use reynolds::rep::Representation;
use reynolds::scalar::Scalar;

pub use crate::representation_laws::assert_representation_laws;

/// Up to which order all elements are taken as the sample.
const SMALL: u128 = 48;

/// How many random elements stand for a larger group.
const SAMPLE: usize = 24;

/// Largest degree of the irreps of a continuous group that the laws look at.
const DEGREE: usize = 3;

/// The tolerance on entries of size one.
pub(crate) const TOLERANCE: f64 = 1e-12;

/// The largest |entry|; infinite if one is NaN, which faer's norms pass over.
pub(crate) fn size<F: Scalar>(matrix: &Mat<F>) -> f64 {
    let entries = (0..matrix.ncols()).flat_map(|j| (0..matrix.nrows()).map(move |i| (i, j)));
    let squares = entries.map(|at| matrix[at].abs_sq());
    squares.fold(0.0, |largest: f64, square| if square.is_nan() { f64::INFINITY } else { largest.max(square) }).sqrt()
}

/// All elements of a small group; of any other the identity, the generators and random elements.
pub(crate) fn sample(group: &GroupRef) -> Vec<Element> {
    if let Some(order) = group.order().filter(|&order| order <= SMALL) {
        return (0..order).map(Element::Finite).collect();
    }
    let drawn = haar::sample(group.as_ref(), SAMPLE, &mut Random::new(17)).expect("a group of this crate");
    [group.identity()].into_iter().chain(group.generators()).chain(drawn).collect()
}

/// Whether two elements are equal, up to rounding in a continuous group.
fn same_element(g: &Element, h: &Element) -> bool {
    match (g, h) {
        (Element::Finite(a), Element::Finite(b)) => a == b,
        (Element::Planar(a), Element::Planar(b)) => {
            a.reflected == b.reflected && size(&(a.matrix() - b.matrix())) < TOLERANCE
        }
        (Element::Spatial(a), Element::Spatial(b)) => {
            a.inverted == b.inverted && size(&(a.matrix() - b.matrix())) < TOLERANCE
        }
        (Element::Pair(a), Element::Pair(b)) => same_element(&a.0, &b.0) && same_element(&a.1, &b.1),
        _ => false,
    }
}

/// All laws of a group: those of its elements, quadrature, irreps.
pub fn assert_group_laws(group: &GroupRef) {
    assert_element_laws(group);
    assert_quadrature(group);
    if group.order().is_none_or(|order| order <= ENUMERATION_LIMIT) {
        assert_irreps(group);
    }
}

/// The laws of the elements of a group, however large: axioms, numbering, generation, transversals, actions on points.
pub fn assert_element_laws(group: &GroupRef) {
    assert_axioms(group);
    assert_numbering(group);
    assert_transversals(group);
    assert_actions(group);
}

/// Associativity, identity and inverse.
fn assert_axioms(group: &GroupRef) {
    let name = group.name();
    let sample = sample(group);
    let e = group.identity();
    for g in &sample {
        assert!(same_element(&group.multiply(&e, g), g), "{name}: e·{g:?}");
        assert!(same_element(&group.multiply(g, &e), g), "{name}: {g:?}·e");
        let inverse = group.inverse(g);
        assert!(same_element(&group.multiply(g, &inverse), &e), "{name}: {g:?} and its inverse");
        assert!(same_element(&group.multiply(&inverse, g), &e), "{name}: the inverse and {g:?}");
    }
    let mut random = Random::new(23);
    let mut pick = || &sample[random.below(sample.len())];
    for _ in 0..500 {
        let (a, b, c) = (pick(), pick(), pick());
        let left = group.multiply(&group.multiply(a, b), c);
        let right = group.multiply(a, &group.multiply(b, c));
        assert!(same_element(&left, &right), "{name}: ({a:?} {b:?}) {c:?}");
    }
}

/// The identity is number 0, products are numbered below |G|, and generators reach every element.
fn assert_numbering(group: &GroupRef) {
    let name = group.name();
    let generators = group.generators();
    assert!(generators.iter().all(|g| !same_element(g, &group.identity())), "{name}: the identity generates nothing");
    let Some(order) = group.order() else { return };
    assert_eq!(group.identity(), Element::Finite(0), "{name}: number of the identity");
    if order > ENUMERATION_LIMIT {
        return;
    }
    for s in &generators {
        let images: HashSet<u128> = (0..order).map(|g| group.multiply(s, &Element::Finite(g)).index()).collect();
        assert!(images.len() as u128 == order && images.iter().all(|&g| g < order), "{name}: {s:?} permutes G");
    }
    let mut reached = vec![false; order as usize];
    reached[0] = true;
    let mut queue = vec![group.identity()];
    while let Some(g) = queue.pop() {
        for s in &generators {
            let product = group.multiply(&g, s);
            if !std::mem::replace(&mut reached[product.index() as usize], true) {
                queue.push(product);
            }
        }
    }
    assert!(reached.iter().all(|&hit| hit), "{name}: the generators generate a proper subgroup");
}

/// Every element is t₁t₂⋯t_k with tᵢ in the i-th transversal in exactly one way, and every Tᵢ⋯T_k is a subgroup.
fn assert_transversals(group: &GroupRef) {
    let name = group.name();
    let Some(order) = group.order() else {
        assert!(group.transversals().is_err(), "{name}: a continuous group has no finite chain");
        return;
    };
    let transversals = group.transversals().unwrap_or_else(|error| panic!("{name}: {error}"));
    assert!(transversals.iter().all(|t| t[0] == group.identity()), "{name}: the identity comes first");
    let lengths = transversals.iter().map(|t| t.len() as u128);
    assert_eq!(lengths.product::<u128>(), order, "{name}: lengths of the transversals");
    if order > 2000 {
        return;
    }
    let mut tail = HashSet::from([0]);
    for (number, transversal) in transversals.iter().enumerate().rev() {
        let times =
            |t: &Element| tail.iter().map(|&g| group.multiply(t, &Element::Finite(g)).index()).collect::<Vec<_>>();
        let products: Vec<u128> = transversal.iter().flat_map(times).collect();
        tail = products.iter().copied().collect();
        assert_eq!(tail.len(), products.len(), "{name}: products from transversal {number} on are distinct");
        for t in transversals[number..].iter().flatten() {
            let closed = tail.iter().all(|&g| tail.contains(&group.multiply(&Element::Finite(g), t).index()));
            assert!(closed, "{name}: transversals from {number} on form a subgroup");
        }
    }
}

/// Point matrices are orthogonal and multiply; point permutations are permutations and compose.
fn assert_actions(group: &GroupRef) {
    let name = group.name();
    let sample = sample(group);
    let mut random = Random::new(29);
    for g in &sample {
        let h = &sample[random.below(sample.len())];
        let product = group.multiply(g, h);
        if let Some(matrix) = group.point_matrix(g) {
            let unit = Mat::<f64>::identity(matrix.nrows(), matrix.nrows());
            assert!(size(&(&matrix * matrix.transpose() - unit)) < TOLERANCE, "{name}: {g:?} is orthogonal");
            let other = group.point_matrix(h).expect("all elements act or none");
            let both = group.point_matrix(&product).expect("all elements act or none");
            assert!(size(&(both - matrix * other)) < TOLERANCE, "{name}: matrix of {g:?} {h:?}");
        }
        if let Some(image) = group.point_permutation(g) {
            let distinct: HashSet<&u32> = image.iter().filter(|&&j| (j as usize) < image.len()).collect();
            assert_eq!(distinct.len(), image.len(), "{name}: {g:?} permutes points");
            if let Some(found) = group.permuting(&image) {
                let again = group.point_permutation(&found);
                assert_eq!(again.as_ref(), Some(&image), "{name}: element that permutes as {g:?}");
            } else {
                assert!(group.order().is_some_and(|order| order > ENUMERATION_LIMIT), "{name}: no element like {g:?}");
            }
            let other = group.point_permutation(h).expect("all elements act or none");
            let composed: Vec<u32> = other.iter().map(|&j| image[j as usize]).collect();
            assert_eq!(group.point_permutation(&product), Some(composed), "{name}: permutation of {g:?} {h:?}");
        }
    }
}

/// The weights sum to one, and the matrix elements of irreps up to the given degree integrate to 0, those of the trivial irrep to 1.
fn assert_quadrature(group: &GroupRef) {
    if group.order().is_some_and(|order| order > 1000) {
        return;
    }
    let name = group.name();
    for degree in 0..=2 * DEGREE {
        let rule = group.quadrature(degree).expect("a compact group has a quadrature");
        let total: f64 = rule.weights.iter().sum();
        assert!((total - 1.0).abs() < TOLERANCE && rule.weights.iter().all(|&w| w > 0.0), "{name}: weights");
        for (number, irrep) in group.clone().irreps(degree).expect("has irreps").iter().enumerate() {
            let mut mean = rule.integrate_matrix((irrep.dim(), irrep.dim()), |g| irrep.matrix(g));
            if number == 0 {
                mean -= Mat::<f64>::identity(1, 1);
            }
            assert!(size(&mean) < TOLERANCE, "{name}: degree {degree}, mean of {}", irrep.label());
        }
        if group.order().is_some() {
            break; // exact for every function
        }
    }
}

/// The irreps are representations, the trivial one first, pairwise inequivalent, with the commutant they claim, and complete.
fn assert_irreps(group: &GroupRef) {
    let name = group.name();
    let irreps = group.clone().irreps(DEGREE).expect("has irreps");
    assert_eq!(irreps[0].dim(), 1, "{name}: the first irrep");
    assert!(sample(group).iter().all(|g| irreps[0].character(g) == 1.0), "{name}: the first irrep is trivial");
    if let Some(order) = group.order() {
        // Over ℂ, type ℂ gives two of half the dimension and type ℍ one of half: Σ d² / dim End_G = |G|.
        let squares: usize = irreps.iter().map(|irrep| irrep.dim().pow(2) / irrep.endomorphism_type().dim()).sum();
        assert_eq!(squares as u128, order, "{name}: the irreps are complete");
    }
    let labels: HashSet<String> = irreps.iter().map(Representation::label).collect();
    assert_eq!(labels.len(), irreps.len(), "{name}: labels are distinct");
    for irrep in &irreps {
        assert_representation_laws(&irrep.clone().into());
    }
    if group.order().is_none_or(|order| order <= 200) {
        assert_schur(group, &irreps);
    }
}

/// Schur orthogonality: ∫ π(g) X σ(g)* dλ(g) is 0 for π ≠ σ and the projection of X onto End_G(V) for π = σ.
fn assert_schur(group: &GroupRef, irreps: &[Irrep]) {
    let name = group.name();
    let mut random = Random::new(31);
    for (i, pi) in irreps.iter().enumerate() {
        for (j, sigma) in irreps.iter().enumerate() {
            let x: Mat<f64> = random.matrix(pi.dim(), sigma.dim());
            let rule = group.quadrature(pi.degree() + sigma.degree()).expect("a compact group has a quadrature");
            let term = |g: &Element| pi.matrix(g) * &x * sigma.matrix(g).transpose();
            let mut mean = rule.integrate_matrix((pi.dim(), sigma.dim()), term);
            if i == j {
                for unit in pi.commutant() {
                    let overlap: f64 = (0..pi.dim()).map(|k| (unit.transpose() * &x)[(k, k)]).sum();
                    mean -= (overlap / pi.dim() as f64) * unit;
                }
            }
            let scale = x.norm_l2().max(1.0);
            assert!(size(&mean) < TOLERANCE * scale, "{name}: Schur for {} and {}", pi.label(), sigma.label());
        }
    }
}

/// Parsing the name gives the same group: name, order, numbering and action.
pub fn assert_name_round_trip(group: &GroupRef) {
    let name = group.name();
    let read = group::parse(&name).unwrap_or_else(|error| panic!("{name}: {error}"));
    assert_eq!(read.name(), name);
    assert_eq!(read.order(), group.order(), "{name}: order");
    let sample = sample(group);
    for pair in sample.windows(2) {
        let (ours, theirs) = (group.multiply(&pair[0], &pair[1]), read.multiply(&pair[0], &pair[1]));
        assert!(same_element(&ours, &theirs), "{name}: product of {pair:?}");
        assert_eq!(group.point_permutation(&ours), read.point_permutation(&ours), "{name}: {ours:?}");
    }
}
