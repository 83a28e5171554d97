//! The norms by name, checked on the way in and on the way out.

use std::fmt;
use std::str::FromStr;

use super::{entrywise, spectral};
use crate::error::{Error, Result, all_finite, finite};
use crate::scalar::{Real, Weight};

/// An exponent of an entrywise norm.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Exponent {
    /// 1.
    One = 1,
    /// 2.
    Two,
    /// 3.
    Three,
}

impl Exponent {
    /// All exponents, in order.
    pub const ALL: [Self; 3] = [Self::One, Self::Two, Self::Three];

    /// The number.
    pub fn get(self) -> i32 {
        self as i32
    }
}

/// A norm of a weight matrix. The paper's ablation of norms runs over all of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Norm {
    /// (Σ|a|²)^½, the paper's ‖·‖_HS; the only one for which W = P(W) + (W − P(W)) is an orthogonal split.
    #[default]
    Frobenius,
    /// The largest singular value.
    Spectral,
    /// The largest |a|.
    Max,
    /// The q-norm of the p-norms of the rows. Paper: `tab:norm_comparison`.
    Entrywise {
        /// The exponent inside a row.
        p: Exponent,
        /// The exponent across rows.
        q: Exponent,
    },
}

impl Norm {
    /// The twelve norms: Frobenius, spectral, max and the nine (p,q).
    pub fn all() -> Vec<Self> {
        let mut norms = vec![Self::Frobenius, Self::Spectral, Self::Max];
        norms.extend(Exponent::ALL.iter().flat_map(|&p| Exponent::ALL.iter().map(move |&q| Self::Entrywise { p, q })));
        norms
    }

    /// N(A) for `matrix`, row-major `[rows, len / rows]`; [`Error::OutOfRange`] if it overflows.
    pub fn value<T: Weight>(self, matrix: &[T], rows: usize) -> Result<f64> {
        let columns = check(matrix, rows)?;
        let value = match self {
            Self::Frobenius => entrywise::value(matrix, columns, 2, 2),
            Self::Spectral => spectral::value(matrix, rows)?,
            Self::Max => entrywise::largest(matrix),
            Self::Entrywise { p, q } => entrywise::value(matrix, columns, p.get(), q.get()),
        };
        finite("norm", value)
    }

    /// N(A) and a subgradient of N at A, of the same shape; 0 at 0.
    ///
    /// Ties, relative to the largest, with ε that of the weight type: entries within 32ε, singular values within
    /// 32ε·√max(rows, columns), the spread that rounding of the entries gives them.
    pub fn value_and_gradient<T: Weight>(self, matrix: &[T], rows: usize) -> Result<(f64, Vec<T>)> {
        let columns = check(matrix, rows)?;
        if entrywise::largest(matrix) == 0.0 {
            return Ok((0.0, vec![T::default(); matrix.len()]));
        }
        let (value, gradient) = match self {
            Self::Frobenius => entrywise::value_and_gradient(matrix, columns, 2, 2),
            Self::Spectral => {
                let tolerance = tie_tolerance::<T>() * (rows.max(columns) as f64).sqrt();
                spectral::value_and_gradient(matrix, rows, tolerance)?
            }
            Self::Max => entrywise::largest_and_gradient(matrix, tie_tolerance::<T>()),
            Self::Entrywise { p, q } => entrywise::value_and_gradient(matrix, columns, p.get(), q.get()),
        };
        Ok((finite("norm", value)?, gradient))
    }
}

/// Relative distance within which entries count as equal: a few roundings, as an average over a group makes.
fn tie_tolerance<T: Weight>() -> f64 {
    32.0 * <T::Real as Real>::EPSILON
}

/// The number of columns of a matrix with `rows` rows.
pub(crate) fn columns_of_rows<T>(matrix: &[T], rows: usize) -> Result<usize> {
    if rows == 0 || matrix.is_empty() || !matrix.len().is_multiple_of(rows) {
        let expected = format!("a positive multiple of {} rows", rows.max(1));
        return Err(Error::shape("weight matrix", expected, matrix.len()));
    }
    Ok(matrix.len() / rows)
}

/// The number of columns, of a matrix without NaN.
fn check<T: Weight>(matrix: &[T], rows: usize) -> Result<usize> {
    let columns = columns_of_rows(matrix, rows)?;
    all_finite(matrix).map(|()| columns)
}

impl fmt::Display for Norm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Frobenius => f.pad("frobenius"),
            Self::Spectral => f.pad("spectral"),
            Self::Max => f.pad("max"),
            Self::Entrywise { p, q } => f.pad(&format!("({},{})", p.get(), q.get())),
        }
    }
}

impl FromStr for Norm {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let compact: String = text.to_lowercase().split_whitespace().collect();
        Self::all().into_iter().find(|norm| norm.to_string() == compact).ok_or_else(|| Error::Parse {
            what: "norm",
            text: text.into(),
            expected: "frobenius, spectral, max or (p,q) with p and q among 1, 2, 3".into(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_round_trips() {
        for norm in Norm::all() {
            assert_eq!(norm.to_string().parse::<Norm>().unwrap(), norm);
        }
        assert_eq!(" ( 3, 1 ) ".parse::<Norm>().unwrap().to_string(), "(3,1)");
        assert_eq!("Frobenius".parse::<Norm>().unwrap(), Norm::Frobenius);
        for bad in ["(4,1)", "l2", "", "(1)", "(0,1)"] {
            assert!(matches!(bad.parse::<Norm>(), Err(Error::Parse { .. })), "{bad}");
        }
    }

    #[test]
    fn bad_matrices_are_errors() {
        for norm in Norm::all() {
            assert!(matches!(norm.value::<f64>(&[], 1), Err(Error::Shape { .. })));
            assert!(matches!(norm.value(&[1.0, 2.0, 3.0], 2), Err(Error::Shape { .. })));
            assert!(matches!(norm.value(&[1.0], 0), Err(Error::Shape { .. })));
            assert!(matches!(norm.value_and_gradient(&[1.0, f64::NAN], 1), Err(Error::NotFinite { index: 1, .. })));
        }
    }

    #[test]
    fn every_norm_is_homogeneous_at_every_scale() {
        let a = [1.0_f64, -2.0, 0.5, 2.0, 2.0, 0.25];
        for norm in Norm::all() {
            let (value, gradient) = norm.value_and_gradient(&a, 2).unwrap();
            for exponent in [-1000, -700, -500, 500, 700, 1000] {
                let factor = 2.0_f64.powi(exponent);
                let b = a.map(|x| x * factor);
                let (scaled, slope) = norm.value_and_gradient(&b, 2).unwrap();
                assert!((scaled / factor - value).abs() < 1e-13 * value, "{norm} at 2^{exponent}: {scaled:e}");
                assert!((norm.value(&b, 2).unwrap() / factor - value).abs() < 1e-13 * value, "{norm} at 2^{exponent}");
                assert!(slope.iter().zip(&gradient).all(|(x, y)| (x - y).abs() < 1e-13), "{norm} at 2^{exponent}");
            }
            // Subnormal numbers keep their value.
            assert!((norm.value(&[3e-310, 0.0], 1).unwrap() / 3e-310 - 1.0).abs() < 1e-12, "{norm}");
        }
    }

    #[test]
    fn overflow_is_an_error() {
        for norm in Norm::all().into_iter().filter(|&norm| norm != Norm::Max) {
            let huge = [1.7e308; 4];
            assert!(matches!(norm.value(&huge, 2), Err(Error::OutOfRange { .. })), "{norm}");
            assert!(matches!(norm.value_and_gradient(&huge, 2), Err(Error::OutOfRange { .. })), "{norm}");
        }
    }

    #[test]
    fn zero_matrix_has_zero_gradient() {
        for norm in Norm::all() {
            assert_eq!(norm.value_and_gradient(&[0.0_f32; 6], 2).unwrap(), (0.0, vec![0.0; 6]));
        }
    }
}
