//! Kernels of a dictionary: how they lie in a matrix, and what they are at first.

use reynolds_torch::error::Result;
use tch::Tensor;

/// Kernels `[…, k, k]` of C atoms as the matrix `[C, k²]` that [`bands`](super::bands) takes.
pub(super) fn matrix(kernels: &Tensor) -> Result<Tensor> {
    let size = kernels.size();
    let side = size.last().copied().unwrap_or(1);
    // Reading an image backwards is what tells the adjoint of a correlation from the correlation.
    Ok(kernels.f_reshape([-1, side * side])?.f_flip([1])?)
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
    use super::*;
    use tch::Kind;

    #[test]
    fn atoms_are_positive_sum_to_one_and_stand_upright() {
        let atoms = Tensor::from_slice(&atoms(36, 9)).view([36, 9, 9]);
        let sums = |tensor: Tensor| tensor.sum_dim_intlist([1, 2].as_slice(), false, Kind::Double);
        let least = |tensor: Tensor| f64::try_from(tensor.min()).unwrap();
        assert!(least(atoms.copy()) > 0.0 && least(-(sums(atoms.copy()) - 1.0).abs()) > -1e-14);
        let squares = (Tensor::arange(9, (Kind::Double, atoms.device())) - 4.0).square();
        let [upright, lying] = [[9, 1], [1, 9]].map(|shape| sums(&atoms * squares.view(shape)));
        assert!(least(upright - lying) > 0.0);
    }
}
