//! Homomorphisms φ: H → G, along which representations are pulled back, and above all the inclusions of subgroups H ≤ G.
//!
//! ```
//! use reynolds::group;
//! let d4 = group::parse("D4")?;
//! let inclusion = group::subgroup(&d4, "C2")?;
//! let half_turn = inclusion.apply(&group::Element::Finite(1));
//! assert_eq!(half_turn, group::Element::Finite(2));
//! assert!(group::subgroup(&d4, "C3").is_err());
//! # Ok::<(), reynolds::Error>(())
//! ```

use std::fmt;
use std::sync::Arc;

use faer::Mat;

use super::{Element, Family, GroupRef, Planar, Spatial, expect_same, parse};
use crate::error::{Error, Result};
use crate::rep::{self, Rep};
use crate::scalar::Scalar;

/// The map of a homomorphism.
type Map = Arc<dyn Fn(&Element) -> Element + Send + Sync>;

/// A homomorphism from `source` to `target`.
#[derive(Clone)]
pub struct Homomorphism {
    source: GroupRef,
    target: GroupRef,
    map: Map,
}

impl fmt::Debug for Homomorphism {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Homomorphism({} -> {})", self.source.name(), self.target.name())
    }
}

impl Homomorphism {
    /// A map that is known to be a homomorphism.
    pub(crate) fn trusted(source: &GroupRef, target: &GroupRef, map: Map) -> Self {
        Self { source: source.clone(), target: target.clone(), map }
    }

    /// H.
    pub fn source(&self) -> &GroupRef {
        &self.source
    }

    /// G.
    pub fn target(&self) -> &GroupRef {
        &self.target
    }

    /// φ(h).
    pub fn apply(&self, h: &Element) -> Element {
        (self.map)(h)
    }

    /// π∘φ, a representation of H; along an inclusion this is the restriction of π to H.
    pub fn pull_back<F: Scalar>(&self, representation: &Rep<F>) -> Result<Rep<F>> {
        expect_same(&self.target, representation.group())?;
        Ok(rep::restricted(representation, self))
    }
}

/// The inclusion of the standard copy of the named group: point groups by their matrices (planar ones turn about z in space), S_m in
/// S_n by fixing the last points, Z_m in Z_n as the multiples of n/m, and in a product, a subgroup of the first factor that has it.
/// [`Error::NotASubgroup`] if its matrices or permutations are not elements of `group`.
pub fn subgroup(group: &GroupRef, name: &str) -> Result<Homomorphism> {
    include(&parse(name)?, group)
}

fn include(source: &GroupRef, group: &GroupRef) -> Result<Homomorphism> {
    if source.order() == Some(1) {
        let identity = group.identity();
        return Ok(Homomorphism::trusted(source, group, Arc::new(move |_| identity.clone())));
    }
    if let (Some(m), Some(n)) = (translations(source), translations(group))
        && n.is_multiple_of(m)
    {
        let step = n / m;
        let map = move |h: &Element| Element::Finite(h.index() * step);
        return Ok(Homomorphism::trusted(source, group, Arc::new(map)));
    }
    if let Some(reason) = source.generators().iter().find_map(|h| embed(source, group, h).err()) {
        let refused = || Error::NotASubgroup { subgroup: source.name(), group: group.name(), reason };
        return in_a_factor(source, group).ok_or_else(refused);
    }
    let (inner, outer) = (source.clone(), group.clone());
    let map = move |h: &Element| embed(&inner, &outer, h).expect("generators are embedded, so every element is");
    Ok(Homomorphism::trusted(source, group, Arc::new(map)))
}

/// n, if the group is Z_n.
fn translations(group: &GroupRef) -> Option<u128> {
    if let Family::Translations(n) = group.family() { Some(n as u128) } else { None }
}

/// The inclusion into the first factor of a product that has the subgroup.
fn in_a_factor(source: &GroupRef, group: &GroupRef) -> Option<Homomorphism> {
    let product = group.as_product()?.clone();
    let (first, second) = product.factors();
    let map: Map = if let Ok(inclusion) = include(source, first) {
        Arc::new(move |h| product.join(inclusion.apply(h), product.factors().1.identity()))
    } else {
        let inclusion = include(source, second).ok()?;
        Arc::new(move |h| product.join(product.factors().0.identity(), inclusion.apply(h)))
    };
    Some(Homomorphism::trusted(source, group, map))
}

/// The element of `group` that moves points as `h` does.
fn embed(source: &GroupRef, group: &GroupRef, h: &Element) -> std::result::Result<Element, String> {
    if let (Some(small), Some(large)) = (source.point_permutation(h), group.point_permutation(&group.identity())) {
        return find_permutation(group, &small, large.len());
    }
    let (Some(small), Some(large)) = (source.point_matrix(h), group.point_matrix(&group.identity())) else {
        return Err("they act on different kinds of points".into());
    };
    let matrix = match (small.nrows(), large.nrows()) {
        (a, b) if a == b => small,
        (2, 3) => Mat::from_fn(3, 3, |i, j| match (i, j) {
            (2, 2) => 1.0,
            (2, _) | (_, 2) => 0.0,
            _ => small[(i, j)],
        }),
        (a, b) => return Err(format!("it moves {a} coordinates, the group {b}")),
    };
    match group.identity() {
        Element::Planar(_) | Element::Spatial(_) => isometry(group, &matrix),
        _ => {
            let order = group.order().unwrap_or(0);
            let same = |g: &Element| group.point_matrix(g).is_some_and(|m| (m - &matrix).norm_max() < 1e-9);
            (0..order)
                .map(Element::Finite)
                .find(same)
                .ok_or_else(|| "one of its generators is not an element of the group".into())
        }
    }
}

fn find_permutation(group: &GroupRef, small: &[u32], degree: usize) -> std::result::Result<Element, String> {
    if small.len() > degree {
        return Err(format!("it moves {} points, the group {degree}", small.len()));
    }
    let image: Vec<u32> = small.iter().copied().chain(small.len() as u32..degree as u32).collect();
    group.permuting(&image).ok_or_else(|| "one of its generators is not an element of the group".into())
}

/// The element of SO(2), O(2), SO(3) or O(3) with this matrix.
fn isometry(group: &GroupRef, matrix: &Mat<f64>) -> std::result::Result<Element, String> {
    let reflected = matrix.determinant() < 0.0;
    if reflected && matches!(group.family(), Family::SO2 | Family::SO3) {
        return Err(format!("SO({}) holds no reflections", matrix.nrows()));
    }
    if matrix.nrows() == 2 {
        return Ok(Element::Planar(Planar::new(matrix[(0, 1)].atan2(matrix[(1, 1)]), reflected)));
    }
    let sign = if reflected { -1.0 } else { 1.0 };
    let rotation = std::array::from_fn(|i| std::array::from_fn(|j| sign * matrix[(i, j)]));
    Ok(Element::Spatial(Spatial { rotation, inverted: reflected }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::group::elements;

    #[test]
    fn translations_and_factors_are_subgroups() {
        for (group, name, image) in [
            ("Z8", "Z4", 2),
            ("Z8", "Z8", 1),
            ("C4 x Z8", "C4", 8),
            ("C4 x Z8", "C2", 16),
            ("C4 x Z8", "Z4", 2),
            ("C4 x Z8 x S3", "Z8", 6),
        ] {
            let target = parse(group).unwrap();
            let inclusion = subgroup(&target, name).unwrap();
            let source = inclusion.source().clone();
            assert_eq!(inclusion.apply(&Element::Finite(1)), Element::Finite(image), "{name} in {group}");
            for g in elements(source.as_ref()).unwrap() {
                for h in elements(source.as_ref()).unwrap() {
                    let product = target.multiply(&inclusion.apply(&g), &inclusion.apply(&h));
                    assert_eq!(inclusion.apply(&source.multiply(&g, &h)), product, "{name} in {group}");
                }
            }
        }
        let half_turn = subgroup(&parse("SO2 x Z8").unwrap(), "C2").unwrap().apply(&Element::Finite(1));
        assert!(matches!(half_turn, Element::Pair(pair) if pair.1 == Element::Finite(0)));
        for (group, name) in [("Z8", "Z3"), ("C4 x Z8", "C3"), ("C4 x Z8", "Z16"), ("C4", "Z4")] {
            let refused = subgroup(&parse(group).unwrap(), name);
            assert!(matches!(refused, Err(Error::NotASubgroup { .. })), "{name} in {group}");
        }
    }
}
