//! Images from maps and back, by kernels that every sample has for itself.
//!
//! ```text
//! A = Σ_c C_c ⋆ M_c           compose      [N, C, H, W] → [N, 1, H, W]
//! Cᵀ ⋆ r                      analyse      [N, 1, H, W] → [N, C, H, W], the adjoint in M
//! M_c ⋆ r on k × k shifts     correlate    → [N, C, k²], the adjoint in C
//! ```
//!
//! With the k² shifts U `[k², HW]` of an image all three are products of matrices: M = CU, A = sum of shifts of CᵀM, and UMᵀ. For 8 maps
//! of 256² and k = 9, U is 21 MB a sample, written once and read once, and a product 85 MFLOP. Responses of 32 atoms to 8 maps, which
//! the published form has in place of UMᵀ, are 256 images: 67 MB and 2.7 GFLOP.
//!
//! A sum over all points of a sample is a product with 8 × 81 results, which leaves a GPU idle but for a few multiprocessors. So an image
//! is cut in bands of a few rows, a product each, and the products are added; the same in the gradients of the other two. This is the only
//! place that knows of shifts and bands.

use tch::{Kind, Tensor};

use crate::error::Result;

/// Rows of a band at most. Of 256 rows 32 bands a sample: with 4 samples as many products as an H200 has multiprocessors.
const ROWS: i64 = 8;

/// How images `[N, 1, H, W]` are cut.
#[derive(Debug, Clone, Copy)]
struct Bands {
    samples: i64,
    /// Of a sample.
    count: i64,
    rows: i64,
    width: i64,
    /// k, of the kernels.
    side: i64,
}

impl Bands {
    fn of(features: &Tensor, taps: i64) -> Self {
        let size = features.size();
        let rows = (1..=ROWS).rev().find(|&rows| size[2] % rows == 0).unwrap_or(1);
        Self { samples: size[0], count: size[2] / rows, rows, width: size[3], side: taps.isqrt() }
    }

    fn height(self) -> i64 {
        self.count * self.rows
    }

    /// Rows of a band with those that its kernels reach.
    fn reach(self) -> i64 {
        self.rows + self.side - 1
    }

    /// The shifts `[bands, k², points]` of an image.
    fn shifts(self, image: &Tensor) -> Result<Tensor> {
        let (half, reach) = (self.side / 2, self.reach());
        // One operation takes all channels, but samples one after the other: bands and samples are channels here.
        let bands = image.f_reshape([1, self.samples, self.height(), self.width])?;
        let bands = bands.f_im2col([reach, 1], [1, 1], [half, 0], [self.rows, 1])?;
        let bands = bands.f_view([self.samples, reach, self.count, self.width])?.f_transpose(1, 2)?;
        let bands = bands.f_reshape([1, -1, reach, self.width])?;
        let shifts = bands.f_im2col([self.side, self.side], [1, 1], [0, half], [1, 1])?;
        Ok(shifts.f_view([-1, self.side * self.side, self.rows * self.width])?)
    }

    /// The image that shifts `[bands, k², points]` add up to: the adjoint.
    fn overlaid(self, shifts: &Tensor) -> Result<Tensor> {
        let (half, reach) = (self.side / 2, self.reach());
        let shifts = shifts.f_view([1, -1, self.rows * self.width])?;
        let bands = shifts.f_col2im([reach, self.width], [self.side, self.side], [1, 1], [0, half], [1, 1])?;
        let bands = bands.f_view([self.samples, self.count, reach, self.width])?.f_transpose(1, 2)?;
        let bands = bands.f_reshape([1, self.samples * reach, -1])?;
        let image = bands.f_col2im([self.height(), self.width], [reach, 1], [1, 1], [half, 0], [self.rows, 1])?;
        Ok(image.f_view([self.samples, 1, self.height(), self.width])?)
    }

    /// Maps `[N, C, H, W]` as `[bands, points, C]`: a view where channels are innermost.
    fn points(self, maps: &Tensor) -> Result<Tensor> {
        let channels = maps.size()[1];
        Ok(maps.f_permute([0, 2, 3, 1])?.f_reshape([-1, self.rows * self.width, channels])?)
    }

    /// A matrix `[N, C, k²]` for every band, transposed: `[bands, k², C]`.
    fn each(self, matrix: &Tensor) -> Result<Tensor> {
        let size = matrix.size();
        let each = matrix.f_unsqueeze(1)?.f_expand([self.samples, self.count, size[1], size[2]], false)?;
        Ok(each.f_reshape([-1, size[1], size[2]])?.f_transpose(1, 2)?)
    }
}

/// Maps `[N, C, H, W]`, channels innermost, with M_c(p) = Σ_k matrix[n, c, k] r(p + k − centre) of images `[N, 1, H, W]`; `matrix`,
/// `[N, C, k²]`, has rows as [`dictionary::matrix`](super::dictionary::matrix) has them.
///
/// # Errors
/// [`Error::Torch`](crate::Error::Torch) if the shapes do not fit or the device has no room.
pub(super) fn analyse(matrix: &Tensor, image: &Tensor) -> Result<Tensor> {
    let size = matrix.size();
    let bands = Bands::of(image, size[2]);
    let maps = bands.shifts(image)?.f_transpose(1, 2)?.f_bmm(&bands.each(matrix)?)?;
    Ok(maps.f_view([bands.samples, bands.height(), bands.width, size[1]])?.f_permute([0, 3, 1, 2])?)
}

/// The images `[N, 1, H, W]` of maps `[N, C, H, W]`: the adjoint of [`analyse`].
///
/// # Errors
/// As [`analyse`].
pub(super) fn compose(matrix: &Tensor, maps: &Tensor) -> Result<Tensor> {
    let bands = Bands::of(maps, matrix.size()[2]);
    let shifts = bands.each(matrix)?.f_bmm(&bands.points(maps)?.f_transpose(1, 2)?)?;
    bands.overlaid(&shifts)
}

/// Σ_p M_c(p) r(p + k − centre) for the `taps` shifts k, `[N, C, taps]`: what ⟨[`analyse`](fn@analyse)(matrix, r), M⟩ is multiplied with in
/// every entry of the matrix.
///
/// # Errors
/// As [`analyse`].
pub(super) fn correlate(maps: &Tensor, image: &Tensor, taps: i64) -> Result<Tensor> {
    let bands = Bands::of(image, taps);
    let products = bands.shifts(image)?.f_bmm(&bands.points(maps)?)?;
    let kind: Option<Kind> = None;
    let sums =
        products.f_view([bands.samples, bands.count, taps, -1])?.f_sum_dim_intlist([1].as_slice(), false, kind)?;
    Ok(sums.f_transpose(1, 2)?)
}

#[cfg(test)]
mod tests {
    use reynolds::random::Random;

    use super::super::dictionary;
    use super::*;
    use crate::layers::convolve;

    fn random(seed: u64, size: &[i64]) -> Tensor {
        let mut random = Random::new(seed);
        let numbers: Vec<f64> = (0..size.iter().product()).map(|_: i64| random.normal()).collect();
        Tensor::from_slice(&numbers).view(size)
    }

    fn far(a: &Tensor, b: &Tensor) -> f64 {
        f64::try_from((a - b).abs().max()).unwrap()
    }

    /// Kernels `[N, C, k, k]` as the matrices of their samples.
    fn matrices(kernels: &Tensor) -> Tensor {
        let each = kernels.unbind(0).iter().map(|kernels| dictionary::matrix(kernels).unwrap()).collect::<Vec<_>>();
        Tensor::stack(&each, 0)
    }

    /// Heights of one band, of several, and of bands of one row; against one convolution for each sample.
    #[test]
    fn they_are_the_convolutions_of_each_sample() {
        for (height, width) in [(6, 11), (16, 5), (12, 12), (11, 7)] {
            let kernels = random(1, &[3, 4, 9, 9]);
            let (maps, image) = (random(2, &[3, 4, height, width]), random(3, &[3, 1, height, width]));
            let matrix = matrices(&kernels);
            let (composed, analysed) = (compose(&matrix, &maps).unwrap(), analyse(&matrix, &image).unwrap());
            for sample in 0..3 {
                let one = |tensor: &Tensor| tensor.narrow(0, sample, 1);
                let image_of = convolve(&one(&maps), &one(&kernels), None, 1).unwrap();
                assert!(far(&one(&composed), &image_of) < 1e-12, "{height} {width}");
                let maps_of =
                    one(&image).conv_transpose2d(&one(&kernels), None::<Tensor>, [1, 1], [4, 4], [0, 0], 1, [1, 1]);
                assert!(far(&one(&analysed), &maps_of) < 1e-12, "{height} {width}");
            }
            let innermost = maps.permute([0, 2, 3, 1]).contiguous().permute([0, 3, 1, 2]);
            assert!(far(&compose(&matrix, &innermost).unwrap(), &composed) < 1e-12);
        }
    }

    /// Σ over pixels of (D_j ⋆ M_n)·R, through the responses to every atom.
    #[test]
    fn correlations_with_atoms_are_the_sums_of_responses() {
        for (height, width) in [(12, 12), (16, 9), (7, 10)] {
            let atoms = random(4, &[5, 1, 9, 9]);
            let (maps, image) = (random(5, &[2, 3, height, width]), random(6, &[2, 1, height, width]));
            let atoms_matrix = dictionary::matrix(&atoms).unwrap();
            let found = correlate(&maps, &image, 81).unwrap().matmul(&atoms_matrix.transpose(0, 1));
            let responses = convolve(&maps.view([6, 1, height, width]), &atoms, None, 1).unwrap();
            let responses = responses.view([2, 3, 5, height, width]) * image.unsqueeze(1);
            let expected = responses.sum_dim_intlist([3, 4].as_slice(), false, Kind::Double);
            assert!(far(&found, &expected) < 1e-10, "{height} {width}");
        }
    }
}
