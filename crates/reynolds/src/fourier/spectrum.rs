//! The frequency blocks of an operator.

use faer::{Mat, MatRef, c64};

use super::operator_space::expect_shape;
use crate::error::{Error, Result};
use crate::irrep::Irrep;
use crate::rep::Representation;
use crate::scalar::Scalar;

/// The blocks T̂(π, σ) of an operator L²(G, V) → L²(G, V′), with V and V′ of dimension `domain_fibre` and `codomain_fibre`.
///
/// Rows are numbered (π, k, j, v) and columns (σ, k, j, u), each in row-major order, in the orthonormal basis √d_π π(g)_{kj}
/// ⊗ v; G moves k, and j and the fibre form the multiplicity space. Frequencies are numbered as in the dual of the
/// transform. The Frobenius norm is the Hilbert–Schmidt norm of the operator.
///
/// A model that is parameterised spectrally starts here ([`Spectrum::new`]): its projection is one pass over the weights.
///
/// ```
/// use reynolds::fourier::Spectrum;
/// use reynolds::random::Random;
/// use reynolds::{group, irrep};
/// let dual = irrep::unitary_dual(&group::parse("S3")?, 0)?;
/// let spectrum = Spectrum::new(&dual, 1, 1, Random::new(2).matrix(6, 6))?;
/// let projected = spectrum.project();
/// assert_eq!(projected.block(0, 1)?.norm_max(), 0.0);
/// assert_eq!(projected.intertwiner(1)?, spectrum.intertwiner(1)?);
/// assert!(spectrum.block(0, 3).is_err());
/// # Ok::<(), reynolds::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Spectrum {
    dims: Vec<usize>,
    domain_fibre: usize,
    codomain_fibre: usize,
    matrix: Mat<c64>,
}

impl Spectrum {
    /// The blocks as one matrix `[Σ d_π² · codomain_fibre, Σ d_σ² · domain_fibre]`.
    pub fn new(dual: &[Irrep<c64>], domain_fibre: usize, codomain_fibre: usize, matrix: Mat<c64>) -> Result<Self> {
        let dims: Vec<usize> = dual.iter().map(|pi| pi.dim()).collect();
        let count: usize = dims.iter().map(|d| d * d).sum();
        expect_shape("spectrum", &matrix, (count * codomain_fibre, count * domain_fibre))?;
        Ok(Self { dims, domain_fibre, codomain_fibre, matrix })
    }

    /// d_π for each frequency.
    pub fn dims(&self) -> &[usize] {
        &self.dims
    }

    /// dim V and dim V′.
    pub fn fibres(&self) -> (usize, usize) {
        (self.domain_fibre, self.codomain_fibre)
    }

    /// All blocks as one matrix.
    pub fn matrix(&self) -> MatRef<'_, c64> {
        self.matrix.as_ref()
    }

    /// T̂(π, σ), `[d_π² · codomain_fibre, d_σ² · domain_fibre]`.
    pub fn block(&self, pi: usize, sigma: usize) -> Result<MatRef<'_, c64>> {
        let (row, rows) = self.span(pi)?;
        let (column, columns) = self.span(sigma)?;
        let (out, into) = (self.codomain_fibre, self.domain_fibre);
        Ok(self.matrix.submatrix(row * out, column * into, rows * out, columns * into))
    }

    /// B_π = (1/d_π) Tr T̂(π, π), the partial trace over the factor that G moves, `[d_π · codomain_fibre, d_π ·
    /// domain_fibre]`.
    ///
    /// The paper calls it B_π or W_π. Paper: `thm:equiv_fourier`, `thm:vector_block`.
    pub fn intertwiner(&self, pi: usize) -> Result<Mat<c64>> {
        let block = self.block(pi, pi)?;
        let d = self.dims[pi];
        let (rows, columns) = (d * self.codomain_fibre, d * self.domain_fibre);
        let mut trace = Mat::<c64>::zeros(rows, columns);
        for k in 0..d {
            trace += block.submatrix(k * rows, k * columns, rows, columns);
        }
        let share = c64::from_real(1.0 / d as f64);
        Ok(Mat::from_fn(rows, columns, |i, j| trace[(i, j)] * share))
    }

    /// Steps ii and iii of the projection: ⊕_π I ⊗ B_π, the orthogonal projection onto the operators that commute with τ ⊗
    /// 1.
    ///
    /// Paper: `thm:equiv_fourier`, `thm:equiv_decomp_informal`.
    pub fn project(&self) -> Self {
        let mut projected = Mat::zeros(self.matrix.nrows(), self.matrix.ncols());
        for (pi, (at, _)) in self.spans().enumerate() {
            let intertwiner = self.intertwiner(pi).expect("spans are numbered by frequency");
            let (rows, columns) = (intertwiner.nrows(), intertwiner.ncols());
            for k in 0..self.dims[pi] {
                let (row, column) = (at * self.codomain_fibre + k * rows, at * self.domain_fibre + k * columns);
                projected.submatrix_mut(row, column, rows, columns).copy_from(&intertwiner);
            }
        }
        Self { matrix: projected, ..self.clone() }
    }

    /// Σ_{π ≠ σ} ‖T̂(π, σ)‖²: the energy that mixes frequencies.
    pub fn off_diagonal_energy(&self) -> f64 {
        let frequencies = 0..self.dims.len();
        let pairs = frequencies.clone().flat_map(|pi| frequencies.clone().map(move |sigma| (pi, sigma)));
        let energy = |(pi, sigma)| self.block(pi, sigma).expect("a pair of frequencies").squared_norm_l2();
        pairs.filter(|(pi, sigma)| pi != sigma).map(energy).sum()
    }

    /// First basis function and number of basis functions of each frequency.
    fn spans(&self) -> impl Iterator<Item = (usize, usize)> {
        self.dims.iter().scan(0, |at, d| {
            let start = *at;
            *at += d * d;
            Some((start, d * d))
        })
    }

    fn span(&self, pi: usize) -> Result<(usize, usize)> {
        let count = self.dims.len();
        self.spans().nth(pi).ok_or_else(|| Error::range("frequency", format!("0..{count}"), pi))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{group, irrep};

    #[test]
    fn partial_trace_runs_over_the_outer_index() {
        // On the plane of S₃ take T̂ = E₀₀ ⊗ X: the trace over k leaves X / 2, repeated on both diagonal places.
        let dual = irrep::unitary_dual(&group::parse("S3").unwrap(), 0).unwrap();
        assert_eq!(dual.iter().map(|pi| pi.dim()).collect::<Vec<_>>(), [1, 2, 1]);
        let mut matrix = Mat::<c64>::zeros(6, 6);
        matrix[(1, 2)] = c64::new(8.0, 2.0);
        let projected = Spectrum::new(&dual, 1, 1, matrix).unwrap().project();
        assert_eq!(projected.intertwiner(1).unwrap()[(0, 1)], c64::new(4.0, 1.0));
        assert_eq!(projected.matrix()[(1, 2)], c64::new(4.0, 1.0));
        assert_eq!(projected.matrix()[(3, 4)], c64::new(4.0, 1.0));
        assert_eq!(projected.matrix().squared_norm_l2(), 34.0);
    }
}
