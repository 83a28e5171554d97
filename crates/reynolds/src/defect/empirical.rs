//! The defect of a black-box map, measured on data.

use crate::error::{Error, Result, all_finite};
use crate::group::{Element, expect_same};
use crate::norm::length;
use crate::rep::Rep;

/// What was measured over K points and L group elements.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Empirical {
    /// `ℰ_emp = Σ_{k,l} ‖π′(g_l) T(x_k) − T(π(g_l) x_k)‖`, as the paper prints it: a sum, so it grows with K and L.
    pub sum: f64,
    /// The same divided by K·L.
    pub mean: f64,
    /// The mean divided by the spread of T, (mean ‖T(x_k) − mean T‖²)^½; infinite if T is constant on the data and not
    /// equivariant, 0 if it is constant and equivariant.
    pub relative: f64,
}

/// Measures ‖π′(g) T(x) − T(π(g) x)‖ over all `points` and `elements`.
///
/// ```
/// use reynolds::{defect, group, rep};
/// let c4 = group::parse("C4")?;
/// let (plane, scalar) = (rep::point(&c4)?, rep::trivial(&c4));
/// let points = [vec![1.0, 0.0], vec![0.0, 2.0]];
/// let turns = group::elements(c4.as_ref())?;
/// let radius = |x: &[f64]| vec![x[0].hypot(x[1])];
/// assert_eq!(defect::empirical(radius, &plane, &scalar, &points, &turns)?.sum, 0.0);
/// let first = |x: &[f64]| vec![x[0]];
/// assert!(defect::empirical(first, &plane, &scalar, &points, &turns)?.relative > 1.0);
/// # Ok::<(), reynolds::Error>(())
/// ```
///
/// # Errors
/// [`Error::Shape`] if there is no point or element, or one has the wrong dimension; [`Error::OutOfRange`] if a sum overflows.
pub fn empirical(
    map: impl Fn(&[f64]) -> Vec<f64>,
    domain: &Rep,
    codomain: &Rep,
    points: &[Vec<f64>],
    elements: &[Element],
) -> Result<Empirical> {
    if elements.is_empty() {
        return Err(Error::shape("group elements", "at least one", 0));
    }
    let map = checked(map, domain, codomain, points)?;
    let values = points.iter().map(|x| map(x)).collect::<Result<Vec<_>>>()?;
    let mut sum = 0.0;
    for g in elements {
        let (input, output) = (domain.matrix(g), codomain.matrix(g));
        for (x, value) in points.iter().zip(&values) {
            sum += distance(&apply(&output, value), &map(&apply(&input, x))?);
        }
    }
    let count = points.len() as f64;
    let centre: Vec<f64> = (0..codomain.dim()).map(|i| values.iter().map(|v| v[i]).sum::<f64>() / count).collect();
    let spread = length(values.iter().map(|v| distance(v, &centre))) / count.sqrt();
    let mean = sum / (count * elements.len() as f64);
    if !(sum.is_finite() && spread.is_finite()) {
        return Err(Error::range("defect on the data", "sums that do not overflow", sum.max(spread)));
    }
    let relative = if mean == 0.0 { 0.0 } else { mean / spread };
    Ok(Empirical { sum, mean, relative })
}

/// The map with its inputs' and outputs' dimensions checked.
pub(crate) fn checked<'a>(
    map: impl Fn(&[f64]) -> Vec<f64> + 'a,
    domain: &Rep,
    codomain: &Rep,
    points: &[Vec<f64>],
) -> Result<impl Fn(&[f64]) -> Result<Vec<f64>> + 'a> {
    expect_same(domain.group(), codomain.group())?;
    if points.is_empty() {
        return Err(Error::shape("points", "at least one", 0));
    }
    if let Some(bad) = points.iter().find(|x| x.len() != domain.dim()) {
        return Err(Error::shape("point", format!("{} coordinates", domain.dim()), bad.len()));
    }
    all_finite(&points.concat())?;
    let dim = codomain.dim();
    Ok(move |x: &[f64]| {
        let value = map(x);
        if value.len() != dim {
            return Err(Error::shape("value of the map", format!("{dim} coordinates"), value.len()));
        }
        all_finite(&value).map(|()| value)
    })
}

/// M x.
pub(crate) fn apply(matrix: &faer::Mat<f64>, x: &[f64]) -> Vec<f64> {
    (0..matrix.nrows()).map(|i| x.iter().enumerate().map(|(j, v)| matrix[(i, j)] * v).sum()).collect()
}

/// ‖a − b‖.
pub(crate) fn distance(a: &[f64], b: &[f64]) -> f64 {
    length(a.iter().zip(b).map(|(x, y)| x - y))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{group, rep};

    #[test]
    fn sum_mean_and_relative_by_hand() {
        // C2 swaps the two coordinates of ℝ²; T(x) = x₀ on (0, 1) and (2, 5): differences 1 and 3 at the swap, 0 at e.
        let c2 = group::parse("C2").unwrap();
        let (domain, codomain) = (rep::regular(&c2).unwrap(), rep::trivial(&c2));
        let points = [vec![0.0, 1.0], vec![2.0, 5.0]];
        let both = [Element::Finite(0), Element::Finite(1)];
        let measured = empirical(|x| vec![x[0]], &domain, &codomain, &points, &both).unwrap();
        assert_eq!(measured, Empirical { sum: 4.0, mean: 1.0, relative: 1.0 });
    }

    #[test]
    fn bad_input_is_an_error() {
        let c2 = group::parse("C2").unwrap();
        let (two, one) = (rep::regular(&c2).unwrap(), rep::trivial(&c2));
        let (points, all) = ([vec![0.0, 1.0]], [Element::Finite(0)]);
        let first = |x: &[f64]| vec![x[0]];
        assert!(empirical(first, &two, &one, &[], &all).is_err());
        assert!(empirical(first, &two, &one, &points, &[]).is_err());
        assert!(empirical(first, &two, &one, &[vec![0.0]], &all).is_err());
        assert!(empirical(first, &two, &two, &points, &all).is_err());
        assert!(empirical(|_: &[f64]| vec![f64::NAN], &two, &one, &points, &all).is_err());
        // A map may swallow a NaN; the point is refused before it can.
        let clipped = |x: &[f64]| vec![x[0].max(0.0)];
        let points = [vec![0.0, 1.0], vec![f64::NAN, 1.0]];
        assert!(matches!(empirical(clipped, &two, &one, &points, &all), Err(Error::NotFinite { index: 2, .. })));
        let other = rep::trivial(&group::parse("C3").unwrap());
        assert!(matches!(empirical(first, &two, &other, &points, &all), Err(Error::GroupMismatch { .. })));
    }
}
