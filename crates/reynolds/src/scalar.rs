//! The number types: [`Weight`], what a tensor holds; [`Real`], its real numbers; [`Scalar`], the field of a representation.
//!
//! | | f32 | f64 | c32 | c64 |
//! |---|---|---|---|---|
//! | [`Weight`], over the field | f64 | f64 | c64 | c64 |
//! | [`Real`] | yes | yes | | |
//! | [`Scalar`] | | yes | | yes |

use std::fmt::Debug;
use std::ops::{Add, AddAssign, Div, Mul, Neg, Sub, SubAssign};

use faer::traits::ComplexField;
use faer::{Mat, MatRef, c32, c64};

use crate::error::Result;
use crate::group::GroupRef;
use crate::irrep::{Irrep, unitary_dual};

/// What a weight tensor holds: `f32`, `f64` or complex numbers of them.
///
/// Projectors have real coefficients, so a complex tensor is projected like a pair of real ones.
pub trait Weight:
    Copy
    + Debug
    + PartialEq
    + Send
    + Sync
    + Default
    + Add<Output = Self>
    + Sub<Output = Self>
    + Neg<Output = Self>
    + AddAssign
    + SubAssign
    + 'static
{
    /// The type of its coefficients and energies.
    type Real: Real;
    /// The field of the representations it is a weight of: `f64` if it is real, else `c64`.
    type Field: Scalar;
    /// The real and the imaginary part.
    fn real_parts(self) -> [Self::Real; 2];
    /// The weight of a real and an imaginary part, which a real type drops.
    fn from_real_parts(parts: [Self::Real; 2]) -> Self;
    /// |w|².
    fn energy(self) -> Self::Real;
    /// The real numbers that the weights are; `None` if they are complex.
    fn as_real(weights: &[Self]) -> Option<&[Self::Real]>;
    /// The same, mutable.
    fn as_real_mut(weights: &mut [Self]) -> Option<&mut [Self::Real]>;

    /// `factor · self`.
    #[inline(always)]
    fn scale(self, factor: Self::Real) -> Self {
        let [re, im] = self.real_parts();
        Self::from_real_parts([re * factor, im * factor])
    }
    /// The same weight in double precision.
    #[inline(always)]
    fn to_c64(self) -> c64 {
        let [re, im] = self.real_parts();
        c64::new(re.to_f64(), im.to_f64())
    }
    /// The nearest weight of this type to a double-precision complex number; a real type drops the imaginary part.
    #[inline(always)]
    fn from_c64(value: c64) -> Self {
        Self::from_real_parts([value.re, value.im].map(Self::Real::from_f64))
    }
    /// The weight in the field of the representation.
    #[inline(always)]
    fn lift(self) -> Self::Field {
        Self::Field::from_c64(self.to_c64())
    }
    /// The nearest weight.
    #[inline(always)]
    fn lower(value: Self::Field) -> Self {
        Self::from_c64(value.to_c64())
    }
    /// Whether no part is NaN or infinite.
    fn is_finite_weight(self) -> bool {
        let z = self.to_c64();
        z.re.is_finite() && z.im.is_finite()
    }
}

/// The real floating-point types that coefficients and energies of a weight live in.
pub trait Real:
    Weight<Real = Self, Field = f64> + ComplexField<Real = Self> + PartialOrd + Mul<Output = Self> + Div<Output = Self>
{
    /// The distance from 1 to the next larger number of this type.
    const EPSILON: f64;
    /// The nearest number of this type.
    fn from_f64(value: f64) -> Self;
    /// One or zero.
    fn from_bool(value: bool) -> Self;
    /// The same number in double precision.
    fn to_f64(self) -> f64;
    /// A matrix in this precision.
    fn matrix(rounded: &Rounded) -> MatRef<'_, Self>;
}

/// The field a representation is written over: `f64` (orthogonal) or `c64` (unitary).
pub trait Scalar: Weight<Real = f64, Field = Self> + ComplexField<Real = f64> + Mul<Output = Self> {
    /// The number zero.
    const ZERO: Self;
    /// The number one.
    const ONE: Self;
    /// The irreducible representations of a group over this field, as [`crate::group::Group::irreps`] and [`unitary_dual`] give them.
    fn irreps(group: &GroupRef, max_degree: usize) -> Result<Vec<Irrep<Self>>>;

    /// A real number in this field.
    #[inline(always)]
    fn from_real(value: f64) -> Self {
        Self::from_real_parts([value, 0.0])
    }
    /// The complex conjugate.
    #[inline(always)]
    fn conjugate(self) -> Self {
        let [re, im] = self.real_parts();
        Self::from_real_parts([re, -im])
    }
    /// |z|².
    #[inline(always)]
    fn abs_sq(self) -> f64 {
        self.energy()
    }
    /// The real part.
    #[inline(always)]
    fn real(self) -> f64 {
        self.real_parts()[0]
    }
}

impl Scalar for f64 {
    const ZERO: Self = 0.0;
    const ONE: Self = 1.0;
    fn irreps(group: &GroupRef, max_degree: usize) -> Result<Vec<Irrep<Self>>> {
        group.clone().irreps(max_degree)
    }
}

impl Scalar for c64 {
    const ZERO: Self = c64 { re: 0.0, im: 0.0 };
    const ONE: Self = c64 { re: 1.0, im: 0.0 };
    fn irreps(group: &GroupRef, max_degree: usize) -> Result<Vec<Irrep<Self>>> {
        unitary_dual(group, max_degree)
    }
}

macro_rules! weights {
    ($($real:ident, $complex:ident, $precision:ident);*) => {$(
        impl Weight for $real {
            type Real = $real;
            type Field = f64;
            #[inline(always)]
            fn real_parts(self) -> [$real; 2] {
                [self, 0.0]
            }
            #[inline(always)]
            fn from_real_parts([re, _]: [$real; 2]) -> Self {
                re
            }
            #[inline(always)]
            fn energy(self) -> $real {
                self * self
            }
            fn as_real(weights: &[Self]) -> Option<&[$real]> {
                Some(weights)
            }
            fn as_real_mut(weights: &mut [Self]) -> Option<&mut [$real]> {
                Some(weights)
            }
        }

        impl Weight for $complex {
            type Real = $real;
            type Field = c64;
            #[inline(always)]
            fn real_parts(self) -> [$real; 2] {
                [self.re, self.im]
            }
            #[inline(always)]
            fn from_real_parts([re, im]: [$real; 2]) -> Self {
                Self::new(re, im)
            }
            #[inline(always)]
            fn energy(self) -> $real {
                self.re * self.re + self.im * self.im
            }
            fn as_real(_: &[Self]) -> Option<&[$real]> {
                None
            }
            fn as_real_mut(_: &mut [Self]) -> Option<&mut [$real]> {
                None
            }
        }

        impl Real for $real {
            const EPSILON: f64 = $real::EPSILON as f64;
            #[inline(always)]
            fn from_f64(value: f64) -> Self {
                value as $real
            }
            #[inline(always)]
            fn from_bool(value: bool) -> Self {
                $real::from(u8::from(value))
            }
            #[inline(always)]
            fn to_f64(self) -> f64 {
                f64::from(self)
            }
            fn matrix(rounded: &Rounded) -> MatRef<'_, Self> {
                MatRef::from_column_major_slice(&rounded.$precision, rounded.shape.0, rounded.shape.1)
            }
        }
    )*};
}
weights!(f32, c32, single; f64, c64, double);

/// A matrix in each precision that weights may have.
///
/// Columns follow each other without padding. That of [`Mat`] is uninitialised memory which products read too: where it holds denormal
/// numbers they take up to a hundred times as long.
#[derive(Debug, Clone)]
pub struct Rounded {
    shape: (usize, usize),
    single: Vec<f32>,
    double: Vec<f64>,
}

impl From<Mat<f64>> for Rounded {
    fn from(matrix: Mat<f64>) -> Self {
        let double: Vec<f64> = matrix.col_iter().flat_map(|column| column.iter().copied()).collect();
        Self { shape: matrix.shape(), single: double.iter().map(|&value| value as f32).collect(), double }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Products took up to a hundred times as long, from one projector to the next.
    #[test]
    fn matrices_that_are_multiplied_with_have_no_gaps() {
        for (rows, columns) in [(3, 2), (17, 5), (1, 1), (4, 0), (0, 4)] {
            let matrix = Mat::from_fn(rows, columns, |i, j| (i + 10 * j) as f64);
            let rounded = Rounded::from(matrix.clone());
            let (single, double) = (f32::matrix(&rounded), f64::matrix(&rounded));
            assert_eq!((single.col_stride(), double.col_stride()), (rows as isize, rows as isize));
            assert_eq!(double, matrix);
            assert_eq!(single, Mat::from_fn(rows, columns, |i, j| (i + 10 * j) as f32));
        }
    }
}
