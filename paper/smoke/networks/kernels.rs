//! Kernels of all equal layers of a network, cut into layers.

use tch::Tensor;

use reynolds_torch::error::Result;

/// Kernels `[layers, out, n′, in, n, 3, 3]` of fields, with any strides, as one tensor `[out n′, in n, 3, 3]` for each layer: one copy for
/// all, with channels innermost in memory, at which convolutions are fastest.
pub(crate) fn layers_of(kernels: &Tensor) -> Result<Vec<Tensor>> {
    let size = kernels.size();
    let (layers, outputs, inputs) = (size[0], size[1] * size[2], size[3] * size[4]);
    let kernels = kernels.f_permute([0, 1, 2, 5, 6, 3, 4])?.f_contiguous()?;
    let kernels = kernels.f_view([layers, outputs, size[5], size[6], inputs])?.f_permute([0, 1, 4, 2, 3])?;
    // Unlike a selection, the gradient of this is one copy for all layers.
    Ok(kernels.f_unbind(0)?)
}

#[cfg(test)]
mod tests {
    use tch::{Device, Kind};

    use super::*;

    #[test]
    fn layers_hold_the_numbers_of_their_fields_with_channels_innermost() {
        let size: [i64; 7] = [2, 3, 4, 5, 2, 3, 3];
        let kernels = Tensor::arange(size.iter().product::<i64>(), (Kind::Double, Device::Cpu)).view(size.as_slice());
        let plain = kernels.view([2, 12, 10, 3, 3]);
        let layers = layers_of(&kernels).unwrap();
        assert_eq!(layers.len(), 2);
        for (number, layer) in layers.iter().enumerate() {
            assert_eq!(*layer, plain.get(number as i64));
            assert_eq!(layer.stride(), [90, 1, 30, 10]);
        }
        assert_eq!(layers[1].double_value(&[5, 7, 2, 1]), kernels.double_value(&[1, 1, 1, 3, 1, 2, 1]));
    }
}
