//! Images from maps and back, by kernels for one image channel that samples share or have each for itself.
//!
//! ```text
//! A = Σ_c C_c ⋆ M_c           compose      [N, C, H, W] → [N, 1, H, W]
//! Cᵀ ⋆ r                      analyse      [N, 1, H, W] → [N, C, H, W], the adjoint in M
//! M_c ⋆ r on k × k shifts     correlate    → [N, C, k²], the adjoint in C
//! ```
//!
//! As convolutions these have no work for matrix units (`docs/gpu-notes.md`). With the k² shifts U `[k², HW]` of an image all three are
//! products of matrices: M = CU, A = sum of shifts of CᵀM, and UMᵀ. One product a sample would leave a GPU idle but for a few
//! multiprocessors: an image is cut in bands of R rows, a product each, and the products are added.
//!
//! The tape keeps what is multiplied, and U is k² images. So an image is shifted sideways alone, to k images `[H, k, W]`: the R + k − 1 rows
//! that a band reaches are one matrix of them, in place. Kernels are spread over these rows,
//!
//! ```text
//! M[w, (r, c)] = Σ_{y, x} U[(y, x), w] S[(y, x), (r, c)],     S[(y, x), (r, c)] = C_c(y − r, x), zero outside the kernel
//! ```
//!
//! which is (R + k − 1)/k times the work. For 36 maps of 256², k = 9 and R = 8 a sample is 0.7 GFLOP, and the tape keeps 2.4 MB of it in place
//! of 21 MB of U.

use reynolds_torch::error::Result;
use tch::{Kind, Tensor};

/// Rows of a band at most. Of 256 rows 32 bands a sample: with 4 samples as many products as an H200 has multiprocessors.
const ROWS: i64 = 8;

/// How images `[N, 1, H, W]` are cut.
#[derive(Debug, Clone, Copy)]
struct Bands {
    samples: i64,
    /// Of a sample.
    count: i64,
    /// R.
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

    /// Bands of a sample and of k − 1 rows of zeros or more: samples follow each other at whole bands.
    fn padded(self) -> i64 {
        self.count + (self.side + self.rows - 2) / self.rows
    }

    /// What bands reach of an image that is shifted sideways, `[padded bands, reach · k, W]`: bands that overlap, of N(H + k − 1)kW numbers.
    fn reached(self, image: &Tensor) -> Result<Tensor> {
        let (half, side, rows) = (self.side / 2, self.side, self.padded() * self.rows);
        let lines = image.f_constant_pad_nd([half, half, half, rows - self.height() - half])?;
        // Of the last bands of zeros too there is something to reach.
        let lines = lines.f_reshape([self.samples * rows, -1])?.f_constant_pad_nd([0, 0, 0, side - 1])?;
        let shifts = lines.f_unfold(1, self.width, 1)?.f_contiguous()?;
        Ok(shifts.f_unfold(0, self.reach(), self.rows)?.f_permute([0, 3, 1, 2])?.f_flatten(1, 2)?)
    }

    /// S, `[padded bands, reach · k, R · C]`, of kernels as [`analyse`] has them. Kernels that samples share are there once.
    fn spread(self, matrix: &Tensor) -> Result<Tensor> {
        let (side, rows, reach, channels) = (self.side, self.rows, self.reach(), channels(matrix));
        let kernels = matrix.f_reshape([-1, channels, side, side])?.f_permute([0, 2, 3, 1])?;
        let kernels = kernels.f_constant_pad_nd([0, 0, 0, 0, 0, rows])?.f_unsqueeze(1)?;
        let samples = kernels.size()[0];
        // A kernel with R zeros below it, R times, and read again in lines that are one row shorter: every one begins a row later.
        let lines = kernels.f_expand([samples, rows, side + rows, side, channels], false)?;
        let lines = lines.f_reshape([samples, rows * (side + rows), side, channels])?.f_narrow(1, 0, rows * reach)?;
        let spread = lines.f_view([samples, rows, reach, side, channels])?.f_permute([0, 2, 3, 1, 4])?;
        let spread = spread.f_reshape([samples, 1, reach * side, rows * channels])?;
        let spread = spread.f_expand([self.samples, self.padded(), reach * side, rows * channels], false)?;
        Ok(spread.f_reshape([-1, reach * side, rows * channels])?)
    }

    /// Numbers `[padded bands, reach · k, R · C]` as kernels `[N, C, k²]`: the adjoint of [`Bands::spread`].
    fn gathered(self, spread: &Tensor) -> Result<Tensor> {
        let (side, rows, reach, kind) = (self.side, self.rows, self.reach(), None::<Kind>);
        let sums = spread.f_view([self.samples, self.padded(), reach, side, rows, -1])?;
        let sums = sums.f_sum_dim_intlist([1].as_slice(), false, kind)?.f_permute([0, 3, 1, 2, 4])?;
        let lines = sums.f_reshape([self.samples, rows * reach, side, -1])?;
        let lines =
            lines.f_constant_pad_nd([0, 0, 0, 0, 0, rows])?.f_view([self.samples, rows, side + rows, side, -1])?;
        let kernels = lines.f_sum_dim_intlist([1].as_slice(), false, kind)?.f_narrow(1, 0, side)?;
        Ok(kernels.f_permute([0, 3, 1, 2])?.f_flatten(2, 3)?)
    }

    /// Products `[padded bands, W, R · C]` as maps `[N, C, H, W]`, with channels innermost in memory.
    fn maps(self, products: &Tensor) -> Result<Tensor> {
        let maps =
            products.f_view([self.samples, self.padded(), self.width, self.rows, -1])?.f_narrow(1, 0, self.count)?;
        let maps = maps.f_permute([0, 1, 3, 2, 4])?.f_reshape([self.samples, self.height(), self.width, -1])?;
        Ok(maps.f_permute([0, 3, 1, 2])?)
    }

    /// Maps `[N, C, H, W]` as `[padded bands, W, R · C]`: the adjoint of [`Bands::maps`].
    fn lying(self, maps: &Tensor) -> Result<Tensor> {
        let zeros = self.padded() * self.rows - self.height();
        let maps = maps.f_permute([0, 2, 3, 1])?.f_constant_pad_nd([0, 0, 0, 0, 0, zeros])?;
        let maps = maps.f_view([self.samples * self.padded(), self.rows, self.width, -1])?;
        Ok(maps.f_transpose(1, 2)?.f_flatten(2, 3)?)
    }

    /// The image that shifts `[bands, k², points]` add up to.
    fn overlaid(self, shifts: &Tensor) -> Result<Tensor> {
        let (half, reach) = (self.side / 2, self.reach());
        // One operation takes all channels, but samples one after the other: bands and samples are channels here.
        let shifts = shifts.f_view([1, -1, self.rows * self.width])?;
        let bands = shifts.f_col2im([reach, self.width], [self.side, self.side], [1, 1], [0, half], [1, 1])?;
        let bands = bands.f_view([self.samples, self.count, reach, self.width])?.f_transpose(1, 2)?;
        let bands = bands.f_reshape([1, self.samples * reach, -1])?;
        let image = bands.f_col2im([self.height(), self.width], [reach, 1], [1, 1], [half, 0], [self.rows, 1])?;
        Ok(image.f_view([self.samples, 1, self.height(), self.width])?)
    }

    /// Maps `[N, C, H, W]` as `[bands, C, points]`: a view where channels are innermost.
    fn points(self, maps: &Tensor) -> Result<Tensor> {
        let channels = maps.size()[1];
        let maps = maps.f_permute([0, 2, 3, 1])?.f_reshape([-1, self.rows * self.width, channels])?;
        Ok(maps.f_transpose(1, 2)?)
    }

    /// The matrix of every band, transposed: `[bands, k², C]`.
    fn each(self, matrix: &Tensor) -> Result<Tensor> {
        let (taps, channels) = (self.side * self.side, channels(matrix));
        let each = matrix.f_reshape([-1, 1, channels, taps])?;
        let each = each.f_expand([self.samples, self.count, channels, taps], false)?;
        Ok(each.f_reshape([-1, channels, taps])?.f_transpose(1, 2)?)
    }
}

/// Maps `[N, C, H, W]` with M_c(p) = Σ_k matrix[c, k] r(p + k − centre) of images `[N, 1, H, W]`, channels innermost in memory.
/// `matrix`, `[C, k²]` or `[N, C, k²]`, has rows as [`dictionary::matrix`](super::dictionary::matrix) has them.
pub(super) fn analyse(matrix: &Tensor, image: &Tensor) -> Result<Tensor> {
    let bands = Bands::of(image, taps(matrix));
    bands.maps(&bands.reached(image)?.f_transpose(1, 2)?.f_bmm(&bands.spread(matrix)?)?)
}

/// The images `[N, 1, H, W]` of maps `[N, C, H, W]`: the adjoint of [`analyse`].
pub(super) fn compose(matrix: &Tensor, maps: &Tensor) -> Result<Tensor> {
    let bands = Bands::of(maps, taps(matrix));
    bands.overlaid(&bands.each(matrix)?.f_bmm(&bands.points(maps)?)?)
}

/// Σ_p M_c(p) r(p + k − centre) for the `taps` shifts k, `[N, C, taps]`: what ⟨[`analyse`](fn@analyse)(matrix, r), M⟩ is multiplied with in
/// every entry of the matrix.
pub(super) fn correlate(maps: &Tensor, image: &Tensor, taps: i64) -> Result<Tensor> {
    let bands = Bands::of(image, taps);
    bands.gathered(&bands.reached(image)?.f_bmm(&bands.lying(maps)?)?)
}

/// Of a matrix `[…, C, k²]`.
fn taps(matrix: &Tensor) -> i64 {
    matrix.size().last().copied().unwrap_or(1)
}

fn channels(matrix: &Tensor) -> i64 {
    matrix.size().iter().rev().nth(1).copied().unwrap_or(1)
}

#[cfg(test)]
mod tests {
    use super::super::dictionary;
    use super::*;
    use crate::testing::{largest, normal};
    use reynolds_torch::layers::convolve;

    /// Heights of one band, of several, and of bands of one row; against one convolution for each sample.
    #[test]
    fn they_are_the_convolutions_of_each_sample() {
        for (height, width) in [(6, 11), (16, 5), (12, 12), (11, 7)] {
            let kernels = normal(&[3, 4, 9, 9], 1);
            let (maps, image) = (normal(&[3, 4, height, width], 2), normal(&[3, 1, height, width], 3));
            let matrices = kernels.unbind(0).iter().map(|one| dictionary::matrix(one).unwrap()).collect::<Vec<_>>();
            let matrix = Tensor::stack(&matrices, 0);
            let (composed, analysed) = (compose(&matrix, &maps).unwrap(), analyse(&matrix, &image).unwrap());
            for sample in 0..3 {
                let one = |tensor: &Tensor| tensor.narrow(0, sample, 1);
                let image_of = convolve(&one(&maps), &one(&kernels), None, 1).unwrap();
                assert!(largest(&one(&composed) - &image_of) < 1e-12, "{height} {width}");
                let maps_of =
                    one(&image).conv_transpose2d(&one(&kernels), None::<Tensor>, [1, 1], [4, 4], [0, 0], 1, [1, 1]);
                assert!(largest(&one(&analysed) - &maps_of) < 1e-12, "{height} {width}");
            }
            let innermost = maps.permute([0, 2, 3, 1]).contiguous().permute([0, 3, 1, 2]);
            assert!(largest(&compose(&matrix, &innermost).unwrap() - &composed) < 1e-12);
        }
    }

    /// All three are gradients of ⟨C, M, r⟩ = Σ_{c, k, p} C_c(k) M_c(p) r(p + k − centre), and so are their own gradients.
    #[test]
    fn each_is_the_adjoint_of_the_others_and_so_are_their_gradients() {
        for (height, width) in [(6, 11), (16, 5), (11, 7), (24, 3), (3, 9), (1, 1)] {
            for shared in [false, true] {
                let of = |seed, size: &[i64]| normal(size, seed).set_requires_grad(true);
                let matrix = if shared { of(7, &[4, 81]) } else { of(7, &[3, 4, 81]) };
                let (maps, image) = (of(8, &[3, 4, height, width]), of(9, &[3, 1, height, width]));
                let (analysed, composed) = (analyse(&matrix, &image).unwrap(), compose(&matrix, &maps).unwrap());
                let correlated = correlate(&maps, &image, 81).unwrap();
                let forms = [&analysed * &maps, &composed * &image, &correlated * &matrix];
                let mut kernels = correlated.shallow_clone();
                if shared {
                    kernels = kernels.sum_dim_intlist([0].as_slice(), false, Kind::Double);
                }
                for form in forms.map(|products| products.sum(Kind::Double)) {
                    let slopes = Tensor::run_backward(&[form], &[&matrix, &maps, &image], true, false);
                    for (slope, expected) in slopes.iter().zip([&kernels, &analysed, &composed]) {
                        assert!(largest(slope - expected) < 1e-11, "{height} {width} {shared}");
                    }
                }
            }
        }
    }

    /// What is multiplied is the image shifted k times, not k² times: bands are views of it.
    #[test]
    fn bands_overlap_in_memory() {
        let image = normal(&[2, 1, 32, 6], 1);
        let bands = Bands::of(&image, 81);
        let reached = bands.reached(&image).unwrap();
        assert_eq!((reached.size(), reached.stride()), (vec![10, 144, 6], vec![8 * 9 * 6, 6, 1]));
        assert_eq!(bands.spread(&normal(&[4, 81], 2)).unwrap().stride(), [0, 32, 1]);
    }
}
