//! Kernels of all equal layers of a network at once, cut into layers.

use tch::{Device, Tensor};

use crate::error::Result;

/// Kernels `[layers, out, n′, in, n, 3, 3]` of fields, strided as they come, as one tensor `[out n′, in n, 3, 3]` for each layer: one copy
/// for all, with channels innermost in memory on CUDA, where convolutions are fastest so.
///
/// # Errors
/// [`Error::Torch`](crate::Error::Torch) if the device has no room.
pub(super) fn layers_of(kernels: &Tensor) -> Result<Vec<Tensor>> {
    let kernels = laid_out(kernels, matches!(kernels.device(), Device::Cuda(_)))?;
    // Unlike a selection, the gradient of this is one copy for all layers.
    Ok(kernels.f_unbind(0)?)
}

/// `[layers, out n′, in n, 3, 3]`, with or without channels innermost in memory.
fn laid_out(kernels: &Tensor, innermost: bool) -> Result<Tensor> {
    let size = kernels.size();
    let (layers, outputs, inputs) = (size[0], size[1] * size[2], size[3] * size[4]);
    if innermost {
        let kernels = kernels.f_permute([0, 1, 2, 5, 6, 3, 4])?.f_contiguous()?;
        return Ok(kernels.f_view([layers, outputs, size[5], size[6], inputs])?.f_permute([0, 1, 4, 2, 3])?);
    }
    Ok(kernels.f_contiguous()?.f_view([layers, outputs, inputs, size[5], size[6]])?)
}

#[cfg(test)]
mod tests {
    use tch::Kind;

    use super::*;

    #[test]
    fn both_layouts_hold_the_same_numbers_and_one_has_channels_innermost() {
        let size: [i64; 7] = [2, 3, 4, 5, 2, 3, 3];
        let kernels = Tensor::arange(size.iter().product::<i64>(), (Kind::Double, Device::Cpu)).view(size.as_slice());
        let (plain, innermost) = (laid_out(&kernels, false).unwrap(), laid_out(&kernels, true).unwrap());
        assert_eq!(plain.size(), [2, 12, 10, 3, 3]);
        assert_eq!(plain, innermost);
        assert_eq!(innermost.stride(), [1080, 90, 1, 30, 10]);
        assert_eq!(plain.double_value(&[1, 5, 7, 2, 1]), kernels.double_value(&[1, 1, 1, 3, 1, 2, 1]));
        assert_eq!(layers_of(&kernels).unwrap()[1], plain.get(1));
    }
}
