//! A convolution of volumes whose kernels are combinations of a few between two fields.
//!
//! ```text
//! y = K ⋆ x,      K[(o, a), (i, b), x] = Σ_n w[n, a, b] B_n[o, i, x]      a, b copies, o, i components of a field
//! ```
//!
//! One product `[d_out·k³·d_in, n] × [n, copies]` makes all kernels, one copy brings them in layout and precision. Channels go by
//! components, then by copies. There is no bias here: those who follow add it to the scalars alone.

use reynolds::random::Random;
use reynolds::steerable::{RingsConfig, Shells, SphericalIrrep, ring_kernels};
use tch::{Device, Tensor};

use super::conv3d::convolve3d;
use super::{Constant, Layout, Pass, Window};
use crate::error::Result;
use crate::parameters::{Builder, Parameters};

/// The kernels B_n between two fields, or what makes them.
pub trait Kernels: Send {
    /// n, the weights of a pair of copies.
    fn weights(&self) -> usize;

    /// The standard deviation each weight begins with, `[n]`, for so many copies of the input field.
    fn deviations(&self, copies: usize) -> Vec<f64>;

    /// Σ_n B_n w_n: `[d_out·k³·d_in, copies]` of weights `[n, copies]`, on the tape.
    fn expand(&self, parameters: &Parameters, weights: &Tensor) -> Result<Tensor>;
}

/// What a convolution maps: the irreps of one field on either side, and the side of its kernels.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FieldPair {
    /// Of the output, gates included.
    pub codomain: Vec<SphericalIrrep>,
    /// Of the input.
    pub domain: Vec<SphericalIrrep>,
    /// k.
    pub side: usize,
}

impl FieldPair {
    /// Channels of one field: of the output, of the input.
    pub fn dims(&self) -> [usize; 2] {
        [&self.codomain, &self.domain].map(|irreps| irreps.iter().map(|irrep| irrep.dim()).sum())
    }

    /// The standard deviation of a weight of each pair of irreps, `[codomain][domain]`, for so many weights of each between two copies:
    /// 1/√(irreps that reach the output · weights of all copies of this one). He's rule where kernels have several parts.
    pub fn deviations(&self, counts: &[Vec<usize>], copies: usize) -> Vec<Vec<f64>> {
        let of_row = |row: &Vec<usize>| {
            let reach = row.iter().filter(|&&count| count > 0).count();
            row.iter().map(|&count| 1.0 / ((reach * copies * count).max(1) as f64).sqrt()).collect()
        };
        counts.iter().map(of_row).collect()
    }
}

/// The kernels of [`ring_kernels`] for every pair of irreps: the steerable ones, fixed.
#[derive(Debug)]
pub struct Steerable {
    pair: FieldPair,
    counts: Vec<Vec<usize>>,
    basis: Constant,
}

impl Steerable {
    /// Weights go by irreps of the output, irreps of the input, then as [`ring_kernels`].
    pub fn new(pair: &FieldPair) -> Result<Self> {
        let shells = Shells::new(3, pair.side, &RingsConfig::default())?;
        let points = shells.points().len();
        let [outputs, inputs] = pair.dims();
        let (mut counts, mut kernels) = (Vec::new(), Vec::new());
        let mut row = 0;
        for codomain in &pair.codomain {
            let (mut counts_of_row, mut column) = (Vec::new(), 0);
            for domain in &pair.domain {
                let block = ring_kernels(*codomain, *domain, &shells)?;
                counts_of_row.push(block.len());
                kernels.extend(block.into_iter().map(|kernel| (kernel, [row, codomain.dim()], [column, domain.dim()])));
                column += domain.dim();
            }
            counts.push(counts_of_row);
            row += codomain.dim();
        }
        let n = kernels.len();
        let mut basis = vec![0.0; outputs * points * inputs * n];
        for (number, (kernel, [row, rows], [column, columns])) in kernels.iter().enumerate() {
            for (o, i) in (0..*rows).flat_map(|o| (0..*columns).map(move |i| (o, i))) {
                for (point, value) in kernel[(o * columns + i) * points..][..points].iter().enumerate() {
                    basis[(((row + o) * points + point) * inputs + column + i) * n + number] = *value;
                }
            }
        }
        let basis = Constant::new(&basis, &[(outputs * points * inputs) as i64, n as i64])?;
        Ok(Self { pair: pair.clone(), counts, basis })
    }
}

impl Kernels for Steerable {
    fn weights(&self) -> usize {
        self.counts.iter().flatten().sum()
    }

    fn deviations(&self, copies: usize) -> Vec<f64> {
        let deviations = self.pair.deviations(&self.counts, copies);
        let pairs = self.counts.iter().flatten().zip(deviations.iter().flatten());
        pairs.flat_map(|(&count, &deviation)| std::iter::repeat_n(deviation, count)).collect()
    }

    fn expand(&self, _: &Parameters, weights: &Tensor) -> Result<Tensor> {
        Ok(self.basis.like(weights)?.f_matmul(weights)?)
    }
}

/// `[N, copies·d_in, D, H, W]` → `[N, copies·d_out, D′, H′, W′]`.
pub struct SteerableConv3d {
    weight: String,
    kernels: Box<dyn Kernels>,
    copies: [i64; 2],
    dims: [i64; 2],
    window: Window,
    layout: Layout,
}

impl SteerableConv3d {
    /// Adds `name.weight`, `[n, copies out, copies in]`, normal with the deviations of the kernels.
    pub fn new(
        builder: &mut Builder,
        name: &str,
        (pair, kernels): (&FieldPair, Box<dyn Kernels>),
        copies: [usize; 2],
        (window, layout): (Window, Layout),
        random: &mut Random,
    ) -> Result<Self> {
        let weight = format!("{name}.weight");
        let values: Vec<f64> = kernels
            .deviations(copies[1])
            .into_iter()
            .flat_map(|deviation| (0..copies[0] * copies[1]).map(move |_| deviation))
            .map(|deviation| deviation * random.normal())
            .collect();
        builder.real(&weight, &[kernels.weights(), copies[0], copies[1]], &values)?;
        let [copies, dims] = [copies, pair.dims()].map(|sizes| sizes.map(|size| size as i64));
        Ok(Self { weight, kernels, copies, dims, window, layout })
    }

    /// K, `[copies·d_out, copies·d_in, k, k, k]`, on the tape, in layout and precision.
    pub fn kernel(&self, parameters: &Parameters, pass: Pass) -> Result<Tensor> {
        let weight = parameters.get(&self.weight)?;
        let ([a, b], [o, i], k) = (self.copies, self.dims, self.window.side as i64);
        let kernel = self.kernels.expand(parameters, &weight.f_view([-1, a * b])?)?.f_view([o, k, k * k, i, a, b])?;
        let ordered = |order: [i64; 6]| pass.precision.copy(&kernel.f_permute(order)?);
        match (self.layout, kernel.device()) {
            // The depth next to the channels, as convolutions on CUDA fold it with them.
            (Layout::Channels, Device::Cuda(_)) if b * i > 1 => {
                let kernel = ordered([0, 4, 2, 1, 3, 5])?.f_view([a * o, k, k, k, b * i])?;
                Ok(kernel.f_permute([0, 4, 3, 1, 2])?)
            }
            (Layout::Channels, Device::Cuda(_)) => {
                let kernel = ordered([0, 4, 1, 2, 3, 5])?.f_view([a * o, k, k, k, 1])?;
                Ok(kernel.f_permute([0, 4, 1, 2, 3])?)
            }
            _ => Ok(ordered([0, 4, 3, 5, 1, 2])?.f_view([a * o, b * i, k, k, k])?),
        }
    }

    /// K ⋆ x with K from [`SteerableConv3d::kernel`].
    pub fn forward(&self, kernel: &Tensor, input: &Tensor) -> Result<Tensor> {
        convolve3d(input, kernel, None, self.window)
    }
}

#[cfg(test)]
mod tests {
    use reynolds::steerable::wigner_d;
    use tch::Kind;

    use super::*;
    use crate::layers::Mode;
    use crate::precision::Precision;
    use crate::testing::built;

    /// The kernel between copies of a field.
    fn kernel(pair: &FieldPair, copies: [usize; 2]) -> Tensor {
        let window = Window { side: pair.side, stride: 1, padding: 0 };
        let (layer, parameters) = built(|builder| {
            let kernels = (pair, Box::new(Steerable::new(pair)?) as Box<dyn Kernels>);
            SteerableConv3d::new(builder, "c", kernels, copies, (window, Layout::Planes), &mut Random::new(3))
        });
        let pass = Pass { mode: Mode::Train, precision: Precision::F32 };
        layer.kernel(&parameters, pass).unwrap().detach()
    }

    /// Signed permutation matrices with their determinants: the 24 rotations of the cube, and the 24 with a reflection.
    fn turns() -> Vec<(f64, [[f64; 3]; 3])> {
        let orders = [[0, 1, 2], [1, 2, 0], [2, 0, 1], [0, 2, 1], [2, 1, 0], [1, 0, 2]];
        let turn = |(number, order): (usize, [usize; 3]), signs: u32| {
            let mut matrix = [[0.0; 3]; 3];
            for (row, &column) in order.iter().enumerate() {
                matrix[row][column] = if signs >> row & 1 == 1 { -1.0 } else { 1.0 };
            }
            (if (signs.count_ones() % 2 == 1) == (number >= 3) { 1.0 } else { -1.0 }, matrix)
        };
        orders.into_iter().enumerate().flat_map(|order| (0..8).map(move |signs| turn(order, signs))).collect()
    }

    /// D ⊗ 1 on the channels of some copies of a field.
    fn action(irreps: &[SphericalIrrep], copies: usize, (determinant, turn): &(f64, [[f64; 3]; 3])) -> Tensor {
        let proper = turn.map(|row| row.map(|entry| entry * determinant));
        let block = |irrep: &SphericalIrrep| {
            let (d, dim) = (wigner_d(irrep.degree, &proper), irrep.dim());
            let sign = if irrep.odd == Some(true) { *determinant } else { 1.0 };
            let entries: Vec<f64> = (0..dim * dim).map(|at| sign * d[(at / dim, at % dim)]).collect();
            let block = Tensor::from_slice(&entries).view([dim as i64, dim as i64]);
            block.kron(&Tensor::eye(copies as i64, (Kind::Double, Device::Cpu)))
        };
        Tensor::block_diag(&irreps.iter().map(block).collect::<Vec<_>>())
    }

    #[test]
    fn kernels_are_steerable_under_every_turn_of_the_grid() {
        let so3 = |degree| SphericalIrrep { degree, odd: None };
        let o3 = |degree, odd| SphericalIrrep { degree, odd: Some(odd) };
        let rotations = (vec![so3(0), so3(1), so3(3), so3(0)], vec![so3(0), so3(1), so3(2)]);
        let reflections = (vec![o3(0, false), o3(2, false), o3(1, true)], vec![o3(0, true), o3(1, false), o3(1, true)]);
        for (improper, (codomain, domain)) in [(false, rotations), (true, reflections)] {
            for side in [1, 3, 5, 7] {
                let kernel = kernel(&FieldPair { codomain: codomain.clone(), domain: domain.clone(), side }, [2, 3]);
                let flat = kernel.flatten(2, -1);
                let reach = (side as f64 - 1.0) / 2.0;
                let points: Vec<[f64; 3]> = (0..side.pow(3))
                    .map(|p| [p % side, p / side % side, p / (side * side)].map(|at| at as f64 - reach))
                    .collect();
                let place = |x: [f64; 3]| x.iter().rev().fold(0, |index, c| index * side as i64 + (c + reach) as i64);
                for turn in turns().iter().filter(|(determinant, _)| improper || *determinant > 0.0) {
                    let moved = |x: &[f64; 3]| std::array::from_fn(|i| (0..3).map(|j| turn.1[i][j] * x[j]).sum());
                    let order: Vec<i64> = points.iter().map(|x| place(moved(x))).collect();
                    // K(gx) = ρ_out(g) K(x) ρ_in(g)ᵀ.
                    let there = flat.index_select(2, &Tensor::from_slice(&order));
                    let [out, of] = [(&codomain, 2), (&domain, 3)].map(|(irreps, copies)| action(irreps, copies, turn));
                    let here = out.matmul(&flat.permute([2, 0, 1])).matmul(&of.transpose(0, 1)).permute([1, 2, 0]);
                    let [error, size] = [there - here, kernel.shallow_clone()].map(|t| t.norm().double_value(&[]));
                    assert!(error < 1e-12 * size, "side {side}: {error:e} of {size}");
                }
            }
        }
    }

    #[test]
    fn weights_begin_with_hes_deviations_and_components_with_variance_one() {
        let irreps: Vec<SphericalIrrep> = (0..3).map(|degree| SphericalIrrep { degree, odd: None }).collect();
        let pair = FieldPair { codomain: irreps.clone(), domain: irreps, side: 3 };
        let steerable = Steerable::new(&pair).unwrap();
        // Scalars: two rings of degree 0, one of degrees 1 and 2; three irreps reach them.
        assert_eq!(steerable.counts[0], [2, 1, 1]);
        let expected = [1.0 / 30_f64.sqrt(), 1.0 / 30_f64.sqrt(), 1.0 / 15_f64.sqrt(), 1.0 / 15_f64.sqrt()];
        assert!(steerable.deviations(5)[..4].iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-15));
        // Σ over inputs and points of K² is the variance of what white noise becomes: 1 on average over weights.
        let variance = kernel(&pair, [40, 40]).square().sum_dim_intlist([1, 2, 3, 4].as_slice(), false, Kind::Double);
        let mean = variance.mean(Kind::Double).double_value(&[]);
        assert!((mean - 1.0).abs() < 0.05, "{mean}");
    }
}
