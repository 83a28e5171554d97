//! Channels of a stream: joined, padded and split, keeping their layout.

use reynolds_torch::error::Result;
use tch::Tensor;

/// [X; P], with channels innermost in memory.
pub(super) fn join(image: &Tensor, others: &Tensor) -> Result<Tensor> {
    // libtorch would not know the layout of an image of one channel, and take the other.
    let last = |tensor: &Tensor| tensor.f_permute([0, 2, 3, 1]);
    Ok(Tensor::f_cat(&[last(image)?, last(others)?], 3)?.f_permute([0, 3, 1, 2])?)
}

/// Appends channels of zeros; channels that are innermost in memory stay so.
pub(super) fn pad(maps: &Tensor, padding: i64) -> Result<Tensor> {
    if padding == 0 {
        return Ok(maps.shallow_clone());
    }
    let last = maps.f_permute([0, 2, 3, 1])?;
    if last.is_contiguous() {
        return Ok(last.f_constant_pad_nd([0, padding])?.f_permute([0, 3, 1, 2])?);
    }
    Ok(maps.f_constant_pad_nd([0, 0, 0, 0, 0, padding])?)
}

/// The first channels of a stream and the others. Their gradients are joined in the layout of the stream; where channels are innermost libtorch
/// would otherwise change the layout of the gradient, and of all that follows.
pub(super) fn parts(stream: &Tensor, first: i64) -> Result<(Tensor, Tensor)> {
    let sizes = [first, stream.size()[1] - first];
    let last = stream.f_permute([0, 2, 3, 1])?;
    let innermost = last.is_contiguous();
    // Unlike two selections, the gradient of this is one copy.
    let mut parts = if innermost { last.f_split_with_sizes(sizes, 3)? } else { stream.f_split_with_sizes(sizes, 1)? };
    let (second, first) = (parts.pop().expect("two parts"), parts.pop().expect("two parts"));
    let back = |part: Tensor| if innermost { part.f_permute([0, 3, 1, 2]) } else { Ok(part) };
    Ok((back(first)?, back(second)?))
}

/// The first channels alone.
pub(super) fn first(stream: &Tensor, count: i64) -> Result<Tensor> {
    Ok(if count == stream.size()[1] { stream.shallow_clone() } else { parts(stream, count)?.0 })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::largest;
    use tch::{Device, Kind};

    #[test]
    fn gradients_of_parts_lie_as_the_stream_does() {
        for innermost in [false, true] {
            let input = Tensor::arange(2 * 6 * 4 * 3, (Kind::Double, Device::Cpu)).view([2, 6, 4, 3]);
            let stream = if innermost { input.permute([0, 2, 3, 1]).contiguous().permute([0, 3, 1, 2]) } else { input };
            let stream = stream.set_requires_grad(true);
            let (first, second) = parts(&stream, 1).unwrap();
            assert!(largest(&Tensor::cat(&[&first, &second], 1) - &stream) == 0.0);
            for (loss, others) in [
                (first.square().sum(Kind::Double) + second.square().sum(Kind::Double), 2.0),
                (first.square().sum(Kind::Double), 0.0),
            ] {
                let slope = Tensor::run_backward(&[loss], &[&stream], true, false).remove(0);
                assert_eq!(slope.stride(), stream.stride());
                let expected = Tensor::cat(&[&first * 2.0, &second * others], 1);
                assert!(largest(&slope - &expected) < 1e-12);
            }
        }
    }
}
