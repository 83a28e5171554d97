//! The space a weight tensor lives in: Hom(V, V′) ⊗ L²(grid), with its action of G.
//!
//! ```text
//! (A(g)K)(x) = π′(g) K(g⁻¹x) π(g)*
//! ```
//!
//! A dense map is a kernel on a grid of one point. Since λ(g) = λ(g⁻¹), averaging A over G is the Reynolds operator.

use crate::error::{Error, Result};
use crate::group::{self, Element, GroupRef};
use crate::rep::{self, Grid, Rep, Representation};
use crate::scalar::Scalar;

/// The largest layer: a terabyte in single precision.
const MAX_WEIGHTS: usize = 1 << 38;

/// Kernels `[dim V′, dim V, k…]` from `domain` V to `codomain` V′ over an optional grid on which G acts.
#[derive(Debug, Clone)]
pub struct KernelSpace<F: Scalar = f64> {
    domain: Rep<F>,
    codomain: Rep<F>,
    grid: Option<Grid>,
}

impl KernelSpace {
    /// Vectors of `fields`, or feature maps with such a vector at every one of the `positions`: maps from the trivial representation.
    pub fn features(fields: &Rep, positions: Option<&Grid>) -> Result<Self> {
        Self::build(&rep::trivial(fields.group()), fields, positions)
    }
}

impl<F: Scalar> KernelSpace<F> {
    /// Dense maps V → V′.
    ///
    /// # Errors
    /// [`Error::OutOfRange`] if a dimension is zero or the layer has over 2³⁸ weights.
    pub fn dense(domain: &Rep<F>, codomain: &Rep<F>) -> Result<Self> {
        Self::build(domain, codomain, None)
    }

    /// Convolution kernels from V to V′ over `grid`.
    pub fn kernel(domain: &Rep<F>, codomain: &Rep<F>, grid: &Grid) -> Result<Self> {
        Self::build(domain, codomain, Some(grid))
    }

    fn build(domain: &Rep<F>, codomain: &Rep<F>, grid: Option<&Grid>) -> Result<Self> {
        group::expect_same(domain.group(), codomain.group())?;
        if let Some(grid) = grid {
            group::expect_same(domain.group(), grid.group())?;
        }
        if domain.dim() == 0 || codomain.dim() == 0 {
            return Err(Error::range("dimension of a representation", "at least 1", 0));
        }
        let points = grid.map_or(1, Grid::points);
        let len = codomain.dim().checked_mul(domain.dim()).and_then(|pairs| pairs.checked_mul(points));
        if len.is_none_or(|len| len > MAX_WEIGHTS) {
            let got = format!("{} x {} x {points}", codomain.dim(), domain.dim());
            return Err(Error::range("weights of a layer", format!("at most {MAX_WEIGHTS}"), got));
        }
        Ok(Self { domain: domain.clone(), codomain: codomain.clone(), grid: grid.cloned() })
    }

    /// The group.
    pub fn group(&self) -> &GroupRef {
        self.domain.group()
    }

    /// π on the input V.
    pub fn domain(&self) -> &Rep<F> {
        &self.domain
    }

    /// π′ on the output V′.
    pub fn codomain(&self) -> &Rep<F> {
        &self.codomain
    }

    /// The grid, if these are convolution kernels.
    pub fn grid(&self) -> Option<&Grid> {
        self.grid.as_ref()
    }

    /// Number of grid points; 1 for a dense map.
    pub fn points(&self) -> usize {
        self.grid.as_ref().map_or(1, Grid::points)
    }

    /// Row-major shape `[out, in, k…]`.
    pub fn shape(&self) -> Vec<usize> {
        let mut shape = vec![self.codomain.dim(), self.domain.dim()];
        if let Some(grid) = &self.grid {
            shape.extend(grid.shape());
        }
        shape
    }

    /// Number of weights, dim Hom(V, V′)·points.
    pub fn len(&self) -> usize {
        self.codomain.dim() * self.domain.dim() * self.points()
    }

    /// Always false: representations have at least one dimension.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether G permutes the weights, with signs.
    pub(crate) fn is_permuted(&self) -> bool {
        let e = self.group().identity();
        self.codomain.signed_permutation(&e).is_some() && self.domain.signed_permutation(&e).is_some()
    }

    /// Degree to which a quadrature has to be exact to average the action.
    pub fn degree(&self) -> usize {
        self.domain.degree() + self.codomain.degree()
    }

    /// A(g)K for one element; `kernel` is row-major `[out, in, points]`.
    ///
    /// # Panics
    /// If the kernel has another length.
    pub fn act(&self, g: &Element, kernel: &[F]) -> Vec<F> {
        let (rows, columns, points) = (self.codomain.dim(), self.domain.dim(), self.points());
        assert_eq!(kernel.len(), self.len(), "a kernel of shape {:?}", self.shape());
        let left = self.codomain.matrix(g);
        let right = self.domain.matrix(g);
        let moved = self.grid.as_ref().map(|grid| grid.permutation(g));
        let mut out = vec![F::ZERO; kernel.len()];
        let mut slice = faer::Mat::<F>::zeros(rows, columns);
        for x in 0..points {
            for o in 0..rows {
                for i in 0..columns {
                    slice[(o, i)] = kernel[(o * columns + i) * points + x];
                }
            }
            let turned = &left * &slice * right.adjoint();
            let to = moved.as_ref().map_or(x, |image| image[x] as usize);
            for o in 0..rows {
                for i in 0..columns {
                    out[(o * columns + i) * points + to] = turned[(o, i)];
                }
            }
        }
        out
    }

    /// dim Hom_G from characters: `∫ χ′(g) · conj χ(g) · χ_grid(g) dλ(g)`.
    ///
    /// # Errors
    /// [`Error::TooLarge`] if the group cannot be enumerated.
    pub fn dim_equivariant(&self) -> Result<usize> {
        let rule = self.group().quadrature(self.degree())?;
        let dim: f64 = rule.integrate(|g| {
            let spatial = self.grid.as_ref().map_or(1.0, |grid| Representation::<f64>::character(grid, g));
            (self.codomain.character(g) * self.domain.character(g).conjugate()).real() * spatial
        });
        Ok(dim.round() as usize)
    }
}
