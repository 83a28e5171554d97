//! Kernels of all equal layers of a network at once, cut into layers.

use tch::{Device, Tensor};

use crate::error::Result;

/// Kernels `[layers, out, n′, in, n, 3, 3]` of fields, strided as they come, as one tensor `[out n′, in n, 3, 3]` for each layer: one copy
/// for all, with channels innermost in memory on CUDA, where convolutions are fastest so.
///
/// # Errors
/// [`Error::Torch`](crate::Error::Torch) if the device has no room.
pub(super) fn layers_of(kernels: &Tensor) -> Result<Vec<Tensor>> {
    let size = kernels.size();
    let (layers, outputs, inputs) = (size[0], size[1] * size[2], size[3] * size[4]);
    let kernels = match kernels.device() {
        Device::Cuda(_) => {
            let innermost = kernels.f_permute([0, 1, 2, 5, 6, 3, 4])?.f_contiguous()?;
            innermost.f_view([layers, outputs, size[5], size[6], inputs])?.f_permute([0, 1, 4, 2, 3])?
        }
        _ => kernels.f_contiguous()?.f_view([layers, outputs, inputs, size[5], size[6]])?,
    };
    // Unlike a selection, the gradient of this is one copy for all layers.
    Ok(kernels.f_unbind(0)?)
}
