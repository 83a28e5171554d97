//! Images from maps and back, by a dictionary of kernels for one image channel.
//!
//! ```text
//! A = Σ_c F_c ⋆ M_c      [N, C, H, W] → [N, 1, H, W]        Fᵀ ⋆ r      [N, 1, H, W] → [N, C, H, W], the adjoint
//! ```
//!
//! As convolutions these have no work for matrix units. They are products of matrices here: with the k² shifts of the image, or before them
//! (`docs/gpu-notes.md`). On CUDA maps come with channels innermost in memory.

use tch::{Device, Tensor};

use crate::error::Result;

/// Kernels `[…, k, k]` of C atoms as the matrix `[C, k²]` that [`analyse`] and [`compose`] take, both adjoint to each other.
///
/// # Errors
/// [`Error::Torch`](crate::Error::Torch) if the device has no room.
pub(super) fn matrix(kernels: &Tensor) -> Result<Tensor> {
    let size = kernels.size();
    let side = size.last().copied().unwrap_or(1);
    // Reading an image backwards is what tells the adjoint of a correlation from the correlation.
    Ok(kernels.f_reshape([-1, side * side])?.f_flip([1])?)
}

/// Maps `[N, C, H, W]` with M_c(p) = Σ_k matrix[c, k] r(p + k − centre) of an image `[N, 1, H, W]`.
///
/// # Errors
/// [`Error::Torch`](crate::Error::Torch) if the shapes do not fit or the device has no room.
pub(super) fn analyse(matrix: &Tensor, image: &Tensor) -> Result<Tensor> {
    let (size, [atoms, taps]) = (image.size(), shape(matrix));
    let (samples, height, width) = (size[0], size[2], size[3]);
    let side = taps.isqrt();
    let shifts = image.f_im2col([side, side], [1, 1], [side / 2, side / 2], [1, 1])?;
    if matches!(image.device(), Device::Cuda(_)) {
        let matrix = matrix.f_transpose(0, 1)?.f_expand([samples, taps, atoms], false)?;
        let maps = shifts.f_transpose(1, 2)?.f_bmm(&matrix)?;
        return Ok(maps.f_view([samples, height, width, atoms])?.f_permute([0, 3, 1, 2])?);
    }
    let maps = matrix.f_expand([samples, atoms, taps], false)?.f_bmm(&shifts)?;
    Ok(maps.f_view([samples, atoms, height, width])?)
}

/// The image `[N, 1, H, W]` of maps `[N, C, H, W]`: the adjoint of [`analyse`].
///
/// # Errors
/// [`Error::Torch`](crate::Error::Torch) if the shapes do not fit or the device has no room.
pub(super) fn compose(matrix: &Tensor, maps: &Tensor) -> Result<Tensor> {
    let (size, [atoms, taps]) = (maps.size(), shape(matrix));
    let side = taps.isqrt();
    let matrix = matrix.f_transpose(0, 1)?.f_expand([size[0], taps, atoms], false)?;
    let shifts = matrix.f_bmm(&maps.f_flatten(2, 3)?)?;
    let [height, width] = [size[2], size[3]];
    Ok(shifts.f_col2im([height, width], [side, side], [1, 1], [side / 2, side / 2], [1, 1])?)
}

fn shape(matrix: &Tensor) -> [i64; 2] {
    let size = matrix.size();
    [size[0], size[1]]
}

/// `count` atoms of `side` × `side` to begin with, row-major: elongated Gaussians about upright that sum to 1, every third one short.
pub(super) fn atoms(count: usize, side: usize) -> Vec<f64> {
    let centre = (side / 2) as f64;
    let mut values = Vec::with_capacity(count * side * side);
    for number in 0..count {
        let place = number as f64 / (count - 1).max(1) as f64;
        let angle = (50.0 + 70.0 * place).to_radians();
        let (long, short) = if number % 3 == 0 { (1.1 + 0.7 * place, 0.8) } else { (2.3 + 0.8 * place, 1.0) };
        let mut atom = Vec::with_capacity(side * side);
        for row in 0..side {
            for column in 0..side {
                let (x, y) = (column as f64 - centre, centre - row as f64);
                let (along, across) = (x * angle.cos() + y * angle.sin(), y * angle.cos() - x * angle.sin());
                atom.push((-0.5 * ((along / long).powi(2) + (across / short).powi(2))).exp());
            }
        }
        let sum: f64 = atom.iter().sum();
        values.extend(atom.iter().map(|value| value / sum));
    }
    values
}

#[cfg(test)]
mod tests {
    use reynolds::random::Random;
    use tch::Kind;

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

    #[test]
    fn both_are_the_convolutions_they_stand_for() {
        let kernels = random(1, &[1, 4, 9, 9]);
        let (maps, image) = (random(2, &[2, 4, 6, 11]), random(3, &[2, 1, 6, 11]));
        let matrix = matrix(&kernels).unwrap();
        assert!(far(&compose(&matrix, &maps).unwrap(), &convolve(&maps, &kernels, None, 1).unwrap()) < 1e-12);
        let transposed = image.conv_transpose2d(&kernels, None::<Tensor>, [1, 1], [4, 4], [0, 0], 1, [1, 1]);
        assert!(far(&analyse(&matrix, &image).unwrap(), &transposed) < 1e-12);
        // Memory that is laid out otherwise holds the same maps.
        let innermost = maps.permute([0, 2, 3, 1]).contiguous().permute([0, 3, 1, 2]);
        assert!(far(&compose(&matrix, &innermost).unwrap(), &compose(&matrix, &maps).unwrap()) < 1e-12);
    }

    #[test]
    fn atoms_are_positive_sum_to_one_and_stand_upright() {
        let atoms = Tensor::from_slice(&atoms(36, 9)).view([36, 9, 9]);
        assert!(f64::try_from(atoms.min()).unwrap() > 0.0);
        assert!(
            far(
                &atoms.sum_dim_intlist([1, 2].as_slice(), false, Kind::Double),
                &Tensor::ones([36], (Kind::Double, Device::Cpu))
            ) < 1e-14
        );
        let squares = (Tensor::arange(9, (Kind::Double, Device::Cpu)) - 4.0).square();
        let upright = (&atoms * squares.view([9, 1])).sum_dim_intlist([1, 2].as_slice(), false, Kind::Double);
        let lying = (&atoms * squares.view([1, 9])).sum_dim_intlist([1, 2].as_slice(), false, Kind::Double);
        assert!(f64::try_from((upright - lying).min()).unwrap() > 0.0);
    }
}
