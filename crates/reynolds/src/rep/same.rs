//! Equality of representations by value.

use std::sync::Arc;

use faer::Mat;

use super::Rep;
use crate::group;
use crate::scalar::Scalar;

/// Whether two representations are equal: one group, and π(g) = π′(g) to the bit for its generators, hence for every g.
///
/// Sums are compared summand by summand, copies unrolled; a sum is not equal to its own matrices written as one summand. Labels do not
/// matter, and neither does where the two were built.
///
/// ```
/// use reynolds::{group, rep};
/// let read = |text| rep::parse_fields(&group::parse("C4")?, text);
/// assert!(rep::same(&read("3 trivial + 6 regular")?, &read("trivial + 2 irrep(0) + 6 regular")?));
/// assert!(!rep::same(&read("4 trivial")?, &read("regular")?));
/// # Ok::<(), reynolds::Error>(())
/// ```
pub fn same<F: Scalar>(a: &Rep<F>, b: &Rep<F>) -> bool {
    if Arc::ptr_eq(a, b) {
        return true;
    }
    if a.dim() != b.dim() || !group::same(a.group(), b.group()) {
        return false;
    }
    match (a.summands(), b.summands()) {
        (None, None) => same_matrices(a, b),
        (left, right) => same_summands(left.unwrap_or(&[(1, a.clone())]), right.unwrap_or(&[(1, b.clone())])),
    }
}

/// Index of a representation in `known`: of the same object, else of an equal one.
pub(crate) fn position<'a, F: Scalar>(
    mut known: impl Iterator<Item = &'a Rep<F>> + Clone,
    representation: &Rep<F>,
) -> Option<usize> {
    let itself = known.clone().position(|other| Arc::ptr_eq(other, representation));
    itself.or_else(|| known.position(|other| same(other, representation)))
}

/// Compares lists of summands in which equal neighbours may be grouped differently.
fn same_summands<F: Scalar>(a: &[(usize, Rep<F>)], b: &[(usize, Rep<F>)]) -> bool {
    let (mut left, mut right) = (a.iter().cloned(), b.iter().cloned());
    let (mut one, mut other) = (left.next(), right.next());
    loop {
        match (one, other) {
            (None, None) => return true,
            (Some((n, x)), Some((m, y))) if same(&x, &y) => {
                let both = n.min(m);
                one = if n > both { Some((n - both, x)) } else { left.next() };
                other = if m > both { Some((m - both, y)) } else { right.next() };
            }
            _ => return false,
        }
    }
}

/// Compares matrices at the generators. Dense ones only where there is no signed permutation: that of the regular representation of S₈
/// takes 13 GB.
fn same_matrices<F: Scalar>(a: &Rep<F>, b: &Rep<F>) -> bool {
    let identity = a.group().identity();
    let (left, right) = (a.signed_permutation(&identity), b.signed_permutation(&identity));
    if left.is_some() != right.is_some() || a.degree() != b.degree() {
        return false;
    }
    let generators = a.group().generators();
    match left {
        Some(_) => generators.iter().all(|g| a.signed_permutation(g) == b.signed_permutation(g)),
        None => generators.iter().all(|g| equal(&a.matrix(g), &b.matrix(g))),
    }
}

fn equal<F: Scalar>(a: &Mat<F>, b: &Mat<F>) -> bool {
    (0..a.ncols()).all(|j| (0..a.nrows()).all(|i| a[(i, j)] == b[(i, j)]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rep::{self, parse_fields};

    fn fields(group: &str, text: &str) -> Rep {
        parse_fields(&group::parse(group).unwrap(), text).unwrap()
    }

    #[test]
    fn representations_built_twice_are_equal() {
        for (group, text) in [
            ("C5", "2 regular + 3 irrep(1)"),
            ("D4", "quotient(C2) + vector"),
            ("S4", "permutation^2"),
            ("Oh", "vector"),
            ("S3", "irrep([2,1])"),
            ("O3", "8x0e + 4x1o"),
            ("C4 x Z3", "regular"),
        ] {
            assert!(same(&fields(group, text), &fields(group, text)), "{text} of {group}");
        }
        assert!(same(&fields("C4", "3 trivial + 3 trivial"), &fields("C4", "6 trivial")));
        assert!(same(&rep::trivial(&group::parse("C4").unwrap()), &fields("C4", "trivial")));
    }

    #[test]
    fn representations_with_other_matrices_or_groups_are_not_equal() {
        for (first, second) in [
            (("C4", "regular"), ("C4", "4 trivial")),
            (("C4", "regular"), ("D2", "regular")),
            (("C5", "irrep(1)"), ("C5", "irrep(2)")),
            (("O3", "1x1o"), ("O3", "1x1e")),
            (("C4", "regular + trivial"), ("C4", "trivial + regular")),
            (("C4", "2 regular"), ("C4", "3 regular")),
        ] {
            assert!(!same(&fields(first.0, first.1), &fields(second.0, second.1)), "{first:?} {second:?}");
        }
    }

    #[test]
    fn a_representation_finds_itself_before_an_equal_one() {
        let [first, second] = [(), ()].map(|()| rep::regular(&group::parse("C4").unwrap()).unwrap());
        let known = [&first, &second];
        assert_eq!(position(known.into_iter(), &second), Some(1));
        assert_eq!(position(known.into_iter().take(1), &second), Some(0));
    }
}
