//! The numbers of a tensor in their own precision.

use std::borrow::Cow;

/// Row-major values of one tensor, borrowed or owned.
///
/// ```
/// use reynolds::Values;
/// let values = Values::from(&[1.0_f32, 2.5][..]);
/// assert_eq!(values.len(), 2);
/// assert_eq!(values.to_f64()[1], 2.5);
/// assert_eq!(values.first_not_finite(), None);
/// ```
#[derive(Debug, Clone, PartialEq)]
pub enum Values<'a> {
    /// Single precision.
    F32(Cow<'a, [f32]>),
    /// Double precision.
    F64(Cow<'a, [f64]>),
}

/// The same expression of the values in either precision.
macro_rules! of_either {
    ($values:expr, |$slice:ident| $result:expr) => {
        match $values {
            Values::F32($slice) => $result,
            Values::F64($slice) => $result,
        }
    };
}

impl Values<'_> {
    /// Number of elements.
    pub fn len(&self) -> usize {
        of_either!(self, |values| values.len())
    }

    /// Whether there are no elements.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The same values, owned.
    pub fn into_owned(self) -> Values<'static> {
        of_either!(self, |values| values.into_owned().into())
    }

    /// The same values, borrowed from here.
    pub fn borrowed(&self) -> Values<'_> {
        of_either!(self, |values| (&**values).into())
    }

    /// The same values in single precision, rounded; borrowed if they are in it.
    pub fn to_f32(&self) -> Cow<'_, [f32]> {
        match self {
            Self::F32(values) => Cow::Borrowed(values),
            Self::F64(values) => values.iter().map(|&value| value as f32).collect(),
        }
    }

    /// The same values in double precision; borrowed if they are in it.
    pub fn to_f64(&self) -> Cow<'_, [f64]> {
        match self {
            Self::F32(values) => values.iter().map(|&value| f64::from(value)).collect(),
            Self::F64(values) => Cow::Borrowed(values),
        }
    }

    /// The first value that is NaN or infinite, with its index.
    pub fn first_not_finite(&self) -> Option<(usize, String)> {
        of_either!(self, |values| {
            let at = values.iter().position(|value| !value.is_finite())?;
            Some((at, values[at].to_string()))
        })
    }

    /// Whether every value is zero.
    pub fn is_zero(&self) -> bool {
        of_either!(self, |values| values.iter().all(|&value| value == 0.0))
    }
}

macro_rules! from_precision {
    ($($float:ty, $variant:ident);*) => {$(
        impl<'a> From<&'a [$float]> for Values<'a> {
            fn from(values: &'a [$float]) -> Self {
                Self::$variant(Cow::Borrowed(values))
            }
        }

        impl From<Vec<$float>> for Values<'_> {
            fn from(values: Vec<$float>) -> Self {
                Self::$variant(Cow::Owned(values))
            }
        }
    )*};
}
from_precision!(f32, F32; f64, F64);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_other_precision_is_copied() {
        let (single, double) = (Values::from(vec![0.5_f32, 0.1]), Values::from(vec![0.5_f64, 0.1]));
        assert!(matches!(single.to_f32(), Cow::Borrowed(_)) && matches!(double.to_f64(), Cow::Borrowed(_)));
        assert_eq!(*single.to_f64(), [0.5, f64::from(0.1_f32)]);
        assert_eq!(*double.to_f32(), [0.5, 0.1_f32]);
        assert!(matches!(single.borrowed(), Values::F32(Cow::Borrowed(_))));
        assert_eq!(single.borrowed().into_owned(), single);
        assert_ne!(single, double);
    }

    #[test]
    fn values_that_are_no_numbers_are_found() {
        for (values, found) in [
            (Values::from(vec![0.0_f32, f32::NAN]), Some((1, "NaN".to_string()))),
            (Values::from(vec![f64::NEG_INFINITY]), Some((0, "-inf".to_string()))),
            (Values::from(vec![0.0_f64, -0.0]), None),
        ] {
            assert_eq!((values.first_not_finite(), values.is_zero()), (found.clone(), found.is_none()));
        }
        assert!(Values::from(Vec::<f32>::new()).is_empty());
    }
}
