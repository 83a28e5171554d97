//! Kernels assembled from filters and mixing weights w, and the equivariant component of w.
//!
//! ```text
//! w = P(w) + (w − P(w))      P averages over places: the turns, pixels or sizes of a relaxed group convolution, the positions of a kernel
//! ```

use super::*;

/// A component of w, with P the mean along `axes`.
pub(crate) fn component_of(weights: &Tensor, axes: &[i64], component: Component) -> Result<Tensor> {
    let mean = weights.f_mean_dim(axes, true, weights.kind())?;
    Ok(match component {
        Component::Equivariant => mean.f_expand_as(weights)?,
        Component::Perp => weights.f_sub(&mean)?,
    })
}

/// w ← P(w) in place.
pub(crate) fn project(weights: &Tensor, axes: &[i64]) -> Result<()> {
    let _guard = tch::no_grad_guard();
    let mean = component_of(weights, axes, Component::Equivariant)?;
    weights.f_detach()?.f_copy_(&mean)?;
    Ok(())
}

/// The sum of squares, 0-d.
pub(crate) fn squares(tensor: &Tensor) -> Result<Tensor> {
    Ok(tensor.f_square()?.f_sum(tensor.kind())?)
}

/// The sum of 0-d tensors.
pub(crate) fn total(terms: impl IntoIterator<Item = Result<Tensor>>) -> Result<Tensor> {
    let terms = terms.into_iter().collect::<Result<Vec<_>>>()?;
    Ok(Tensor::f_stack(&terms, 0)?.f_sum(terms[0].kind())?)
}

/// A layer with entries Σ_b w[place of e, b] K_b[e] after taking a component of w, as a matrix `[entries, (place, b)]`. `entries` has the place and
/// the K_b of each entry, `mean` is P[place, place].
pub(crate) fn linear_component(
    places: usize,
    entries: &[(usize, Vec<f64>)],
    mean: impl Fn(usize, usize) -> f64,
    component: Component,
) -> Result<Constant> {
    let count = entries[0].1.len();
    let mut values = Vec::with_capacity(entries.len() * places * count);
    for (place, elements) in entries {
        for from in 0..places {
            let factor = match component {
                Component::Equivariant => mean(*place, from),
                Component::Perp => f64::from(u8::from(*place == from)) - mean(*place, from),
            };
            values.extend(elements.iter().map(|element| element * factor));
        }
    }
    Constant::new(&values, &[entries.len() as i64, (places * count) as i64])
}

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
