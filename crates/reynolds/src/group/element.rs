//! Group elements.

use std::f64::consts::TAU;

use faer::Mat;

/// An element of a group.
#[derive(Debug, Clone, PartialEq)]
pub enum Element {
    /// The element of this number in a finite group; 0 is the identity.
    Finite(u128),
    /// An element of SO(2) or O(2).
    Planar(Planar),
    /// An element of SO(3) or O(3).
    Spatial(Spatial),
    /// An element of a product in which a factor is continuous.
    Pair(Box<(Element, Element)>),
}

/// The planar isometry r(θ)·sᵉ: first the flip s = diag(−1, 1) if `reflected`, then the turn R(θ).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Planar {
    /// θ in [0, 2π).
    pub angle: f64,
    /// Whether s is applied first.
    pub reflected: bool,
}

impl Planar {
    /// r(θ)·sᵉ, with θ brought into [0, 2π).
    pub fn new(angle: f64, reflected: bool) -> Self {
        Self { angle: angle.rem_euclid(TAU), reflected }
    }

    /// The product; s r(θ) = r(−θ) s.
    pub fn multiply(self, other: Self) -> Self {
        let turned = if self.reflected { -other.angle } else { other.angle };
        Self::new(self.angle + turned, self.reflected != other.reflected)
    }

    /// The inverse; a reflection is its own.
    pub fn inverse(self) -> Self {
        if self.reflected { self } else { Self::new(-self.angle, false) }
    }

    /// The matrix `[2, 2]` on (x, y).
    pub fn matrix(self) -> Mat<f64> {
        self.frequency_matrix(1)
    }

    /// The matrix `[2, 2]` of R(kθ)·diag(−1, 1)ᵉ.
    pub fn frequency_matrix(self, frequency: usize) -> Mat<f64> {
        turn_matrix((frequency as f64 * self.angle).sin_cos(), self.reflected)
    }
}

/// R(θ)·diag(−1, 1)ᵉ, `[2, 2]`, from sin θ and cos θ.
pub(super) fn turn_matrix((sin, cos): (f64, f64), reflected: bool) -> Mat<f64> {
    let sign = if reflected { -1.0 } else { 1.0 };
    let rows = [[cos * sign, sin], [-sin * sign, cos]];
    Mat::from_fn(2, 2, |i, j| rows[i][j])
}

/// The spatial isometry ±R with R a rotation.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Spatial {
    /// R, `[3, 3]`, rows first, on (x, y, z).
    pub rotation: [[f64; 3]; 3],
    /// Whether the point reflection −1 is applied too.
    pub inverted: bool,
}

impl Spatial {
    /// The identity.
    pub const IDENTITY: Self = Self { rotation: [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]], inverted: false };

    /// The proper rotation R_z(α) R_y(β) R_z(γ).
    pub fn from_euler(alpha: f64, beta: f64, gamma: f64) -> Self {
        let about_z = |angle: f64| {
            let (s, c) = angle.sin_cos();
            [[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]]
        };
        let (s, c) = beta.sin_cos();
        let about_y = [[c, 0.0, s], [0.0, 1.0, 0.0], [-s, 0.0, c]];
        let rotation = product(&product(&about_z(alpha), &about_y), &about_z(gamma));
        Self { rotation, inverted: false }
    }

    /// The product.
    pub fn multiply(self, other: Self) -> Self {
        Self { rotation: product(&self.rotation, &other.rotation), inverted: self.inverted != other.inverted }
    }

    /// The inverse.
    pub fn inverse(self) -> Self {
        let r = &self.rotation;
        let rotation = std::array::from_fn(|i| std::array::from_fn(|j| r[j][i]));
        Self { rotation, inverted: self.inverted }
    }

    /// The matrix `[3, 3]` on (x, y, z).
    pub fn matrix(self) -> Mat<f64> {
        let sign = if self.inverted { -1.0 } else { 1.0 };
        Mat::from_fn(3, 3, |i, j| sign * self.rotation[i][j])
    }
}

fn product(a: &[[f64; 3]; 3], b: &[[f64; 3]; 3]) -> [[f64; 3]; 3] {
    std::array::from_fn(|i| std::array::from_fn(|j| (0..3).map(|k| a[i][k] * b[k][j]).sum()))
}

impl Element {
    /// The number of an element of a finite group; panics on any other.
    pub fn index(&self) -> u128 {
        match self {
            Self::Finite(index) => *index,
            other => panic!("expected an element of a finite group, found {other:?}"),
        }
    }

    /// An element of SO(2) or O(2); panics on any other.
    pub fn planar(&self) -> Planar {
        match self {
            Self::Planar(planar) => *planar,
            other => panic!("expected an element of SO(2) or O(2), found {other:?}"),
        }
    }

    /// An element of SO(3) or O(3); panics on any other.
    pub fn spatial(&self) -> Spatial {
        match self {
            Self::Spatial(spatial) => *spatial,
            other => panic!("expected an element of SO(3) or O(3), found {other:?}"),
        }
    }
}
