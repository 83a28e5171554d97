//! Signed permutation matrices, held as indices.

use faer::Mat;

use crate::scalar::Scalar;

/// The map e_j ↦ ±e_i with i = `image[j]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SignedPermutation {
    /// Where each basis vector goes.
    pub image: Vec<u32>,
    /// Whether it changes sign on the way.
    pub negative: Vec<bool>,
}

impl SignedPermutation {
    /// A permutation without signs.
    pub fn unsigned(image: Vec<u32>) -> Self {
        let negative = vec![false; image.len()];
        Self { image, negative }
    }

    /// Reads a matrix; `None` unless every row and column holds exactly one ±1 (within 1e-9).
    pub fn from_matrix<F: Scalar>(matrix: &Mat<F>) -> Option<Self> {
        let n = matrix.ncols();
        let mut image = vec![u32::MAX; n];
        let mut negative = vec![false; n];
        let mut hit = vec![false; matrix.nrows()];
        for j in 0..n {
            for i in 0..matrix.nrows() {
                let entry = matrix[(i, j)];
                if entry.abs_sq() < 1e-18 {
                    continue;
                }
                let minus = entry.real() < 0.0;
                let unit = F::from_real(if minus { -1.0 } else { 1.0 });
                if (entry - unit).abs_sq() > 1e-18 || image[j] != u32::MAX || hit[i] {
                    return None;
                }
                image[j] = i as u32;
                negative[j] = minus;
                hit[i] = true;
            }
            if image[j] == u32::MAX {
                return None;
            }
        }
        Some(Self { image, negative })
    }

    /// The number of basis vectors that it keeps, less the number that it negates.
    pub fn trace<F: Scalar>(&self) -> F {
        let kept = self.image.iter().zip(&self.negative).enumerate().filter(|&(j, (&i, _))| i as usize == j);
        F::from_real(kept.map(|(_, (_, &negative))| if negative { -1.0 } else { 1.0 }).sum())
    }

    /// The matrix `[n, n]`.
    pub fn to_matrix<F: Scalar>(&self) -> Mat<F> {
        let mut matrix = Mat::zeros(self.image.len(), self.image.len());
        for (j, (&i, &negative)) in self.image.iter().zip(&self.negative).enumerate() {
            matrix[(i as usize, j)] = F::from_real(if negative { -1.0 } else { 1.0 });
        }
        matrix
    }
}
