//! The number types: [`Scalar`], the field of a representation, and [`Weight`], what a tensor holds.

use std::fmt::Debug;
use std::ops::{Add, AddAssign, Div, Mul, Neg, Sub, SubAssign};

use faer::traits::ComplexField;
use faer::{Mat, MatRef, c32, c64};

use crate::error::Result;
use crate::group::GroupRef;
use crate::irrep::{Irrep, unitary_dual};

/// The field a representation is written over: `f64` (orthogonal) or `c64` (unitary).
pub trait Scalar:
    ComplexField<Real = f64>
    + Copy
    + Debug
    + PartialEq
    + Send
    + Sync
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Neg<Output = Self>
    + AddAssign
    + SubAssign
    + 'static
{
    /// The number zero.
    const ZERO: Self;
    /// The number one.
    const ONE: Self;
    /// A real number in this field.
    fn from_real(value: f64) -> Self;
    /// `re + i·im`; a real field drops the imaginary part.
    fn from_parts(re: f64, im: f64) -> Self;
    /// The complex conjugate.
    fn conjugate(self) -> Self;
    /// |z|².
    fn abs_sq(self) -> f64;
    /// The real part.
    fn real(self) -> f64;
    /// The irreducible representations of a group over this field, as [`crate::group::Group::irreps`] and
    /// [`crate::irrep::unitary_dual`] give them.
    ///
    /// # Errors
    /// As those.
    fn irreps(group: &GroupRef, max_degree: usize) -> Result<Vec<Irrep<Self>>>;
}

impl Scalar for f64 {
    const ZERO: Self = 0.0;
    const ONE: Self = 1.0;
    fn from_real(value: f64) -> Self {
        value
    }
    fn from_parts(re: f64, _im: f64) -> Self {
        re
    }
    fn conjugate(self) -> Self {
        self
    }
    fn abs_sq(self) -> f64 {
        self * self
    }
    fn real(self) -> f64 {
        self
    }
    fn irreps(group: &GroupRef, max_degree: usize) -> Result<Vec<Irrep<Self>>> {
        group.clone().irreps(max_degree)
    }
}

impl Scalar for c64 {
    const ZERO: Self = c64 { re: 0.0, im: 0.0 };
    const ONE: Self = c64 { re: 1.0, im: 0.0 };
    fn from_real(value: f64) -> Self {
        c64::new(value, 0.0)
    }
    fn from_parts(re: f64, im: f64) -> Self {
        c64::new(re, im)
    }
    fn conjugate(self) -> Self {
        c64::new(self.re, -self.im)
    }
    fn abs_sq(self) -> f64 {
        self.re * self.re + self.im * self.im
    }
    fn real(self) -> f64 {
        self.re
    }
    fn irreps(group: &GroupRef, max_degree: usize) -> Result<Vec<Irrep<Self>>> {
        unitary_dual(group, max_degree)
    }
}

/// The real floating-point types that coefficients and energies of a weight live in.
pub trait Real:
    ComplexField<Real = Self>
    + Copy
    + Debug
    + PartialEq
    + PartialOrd
    + Send
    + Sync
    + Default
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
    + Neg<Output = Self>
    + AddAssign
    + SubAssign
    + 'static
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

/// A matrix in each precision that weights may have.
///
/// Column after column without gaps: a column of [`Mat`] ends in memory that nobody has written, products read it with the rest, and where it
/// looks like a denormal number they take up to a hundred times as long.
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

impl Real for f32 {
    const EPSILON: f64 = f32::EPSILON as f64;
    fn from_f64(value: f64) -> Self {
        value as f32
    }
    #[inline(always)]
    fn from_bool(value: bool) -> Self {
        f32::from(u8::from(value))
    }
    fn to_f64(self) -> f64 {
        f64::from(self)
    }
    fn matrix(rounded: &Rounded) -> MatRef<'_, Self> {
        MatRef::from_column_major_slice(&rounded.single, rounded.shape.0, rounded.shape.1)
    }
}

impl Real for f64 {
    const EPSILON: f64 = f64::EPSILON;
    fn from_f64(value: f64) -> Self {
        value
    }
    #[inline(always)]
    fn from_bool(value: bool) -> Self {
        f64::from(u8::from(value))
    }
    fn to_f64(self) -> f64 {
        self
    }
    fn matrix(rounded: &Rounded) -> MatRef<'_, Self> {
        MatRef::from_column_major_slice(&rounded.double, rounded.shape.0, rounded.shape.1)
    }
}

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
    /// `factor · self`.
    fn scale(self, factor: Self::Real) -> Self;
    /// |w|².
    fn energy(self) -> Self::Real;
    /// Whether no part is NaN or infinite.
    fn is_finite_weight(self) -> bool;
    /// The nearest weight of this type to a double-precision complex number; a real type drops the imaginary part.
    fn from_c64(value: c64) -> Self;
    /// The same weight in double precision.
    fn to_c64(self) -> c64;
    /// The real numbers that the weights are; `None` if they are complex.
    fn as_real(weights: &[Self]) -> Option<&[Self::Real]>;
    /// The same, to be written.
    fn as_real_mut(weights: &mut [Self]) -> Option<&mut [Self::Real]>;
    /// The real and the imaginary part.
    fn real_parts(self) -> [Self::Real; 2];
    /// The weight of a real and an imaginary part, which a real type drops.
    fn from_real_parts(parts: [Self::Real; 2]) -> Self;
}

macro_rules! real_weight {
    ($($real:ty),*) => {$(
        impl Weight for $real {
            type Real = $real;
            #[inline(always)]
            fn scale(self, factor: $real) -> Self {
                self * factor
            }
            #[inline(always)]
            fn energy(self) -> $real {
                self * self
            }
            fn is_finite_weight(self) -> bool {
                self.is_finite()
            }
            #[inline(always)]
            fn from_c64(value: c64) -> Self {
                value.re as $real
            }
            #[inline(always)]
            fn to_c64(self) -> c64 {
                c64::new(f64::from(self), 0.0)
            }
            fn as_real(weights: &[Self]) -> Option<&[$real]> {
                Some(weights)
            }
            fn as_real_mut(weights: &mut [Self]) -> Option<&mut [$real]> {
                Some(weights)
            }
            fn real_parts(self) -> [$real; 2] {
                [self, 0.0]
            }
            fn from_real_parts([re, _]: [$real; 2]) -> Self {
                re
            }
        }
    )*};
}
real_weight!(f32, f64);

macro_rules! complex_weight {
    ($($complex:ty, $real:ty);*) => {$(
        impl Weight for $complex {
            type Real = $real;
            #[inline(always)]
            fn scale(self, factor: $real) -> Self {
                Self::new(self.re * factor, self.im * factor)
            }
            #[inline(always)]
            fn energy(self) -> $real {
                self.re * self.re + self.im * self.im
            }
            fn is_finite_weight(self) -> bool {
                self.re.is_finite() && self.im.is_finite()
            }
            #[inline(always)]
            fn from_c64(value: c64) -> Self {
                Self::new(value.re as $real, value.im as $real)
            }
            #[inline(always)]
            fn to_c64(self) -> c64 {
                c64::new(f64::from(self.re), f64::from(self.im))
            }
            fn as_real(_: &[Self]) -> Option<&[$real]> {
                None
            }
            fn as_real_mut(_: &mut [Self]) -> Option<&mut [$real]> {
                None
            }
            fn real_parts(self) -> [$real; 2] {
                [self.re, self.im]
            }
            fn from_real_parts([re, im]: [$real; 2]) -> Self {
                Self::new(re, im)
            }
        }
    )*};
}
complex_weight!(c32, f32; c64, f64);

/// Weights over the field `F` of a representation: real ones over `f64`, complex ones over `c64`.
pub trait Over<F: Scalar>: Weight {
    /// The weight in the field of the representation.
    fn lift(self) -> F;
    /// The nearest weight.
    fn lower(value: F) -> Self;
}

impl Over<f64> for f32 {
    fn lift(self) -> f64 {
        f64::from(self)
    }
    fn lower(value: f64) -> Self {
        value as f32
    }
}

impl Over<f64> for f64 {
    fn lift(self) -> f64 {
        self
    }
    fn lower(value: f64) -> Self {
        value
    }
}

impl Over<c64> for c32 {
    fn lift(self) -> c64 {
        self.to_c64()
    }
    fn lower(value: c64) -> Self {
        Self::from_c64(value)
    }
}

impl Over<c64> for c64 {
    fn lift(self) -> c64 {
        self
    }
    fn lower(value: c64) -> Self {
        value
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
