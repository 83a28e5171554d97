//! Volumes `[N, C, D, H, W]` in memory: as they are written, or with channels innermost.
//!
//! Layers that treat every voxel alike see both as `[B, C, I]`: outer places, channels, inner places.
//!
//! ```text
//! as written           B = N            I = D·H·W
//! channels innermost   B = N·D·H·W      I = 1
//! ```

use tch::Tensor;

use crate::error::Result;

/// Whether volumes have channels innermost.
pub(crate) fn channels_innermost(volumes: &Tensor) -> bool {
    volumes.size()[1] > 1 && volumes.stride()[1] == 1
}

/// `[B, C, I]`, without a copy where memory is dense.
pub(crate) fn flatten(volumes: &Tensor) -> Result<Tensor> {
    let size = volumes.size();
    if channels_innermost(volumes) {
        Ok(volumes.f_permute([0, 2, 3, 4, 1])?.f_reshape([-1, size[1], 1])?)
    } else {
        Ok(volumes.f_reshape([size[0], size[1], -1])?)
    }
}

/// `[B, C′, I]` as volumes `[N, C′, D, H, W]`, of the size and in the order of memory of those it was made of.
pub(crate) fn unflatten(flat: &Tensor, like: &Tensor) -> Result<Tensor> {
    let (size, channels) = (like.size(), flat.size()[1]);
    if channels_innermost(like) {
        Ok(flat.f_reshape([size[0], size[2], size[3], size[4], channels])?.f_permute([0, 4, 1, 2, 3])?)
    } else {
        Ok(flat.f_reshape([size[0], channels, size[2], size[3], size[4]])?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{innermost, normal};

    #[test]
    fn both_layouts_come_back_without_a_copy() {
        let plain = normal(&[2, 3, 3, 4, 5], 1);
        for (volumes, shape) in [(&plain, [2, 3, 60]), (&innermost(&plain), [120, 3, 1])] {
            let flat = flatten(volumes).unwrap();
            assert_eq!(flat.size(), shape);
            let back = unflatten(&flat, volumes).unwrap();
            assert_eq!((back.data_ptr(), back.stride()), (volumes.data_ptr(), volumes.stride()));
            assert_eq!(back, plain);
        }
    }
}
