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

    /// Initial standard deviation of each weight, `[n]`, for a number of copies of the input field.
    fn deviations(&self, copies: usize) -> Vec<f64>;

    /// Σ_n B_n w_n: `[d_out·k³·d_in, copies]` of weights `[n, copies]`, on the tape.
    fn expand(&self, parameters: &Parameters, weights: &Tensor) -> Result<Tensor>;
}

/// The irreps of one output and one input field, and the side of the kernels between them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FieldPair {
    /// Irreps of the output, gates included.
    pub codomain: Vec<SphericalIrrep>,
    /// Irreps of the input.
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
        let points = shells.points.len();
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
    use tch::Kind;

    use super::*;
    use crate::layers::Mode;
    use crate::precision::Precision;
    use crate::testing::{built, largest};

    /// The weights and the kernel between copies of a field.
    fn kernel(pair: &FieldPair, copies: [usize; 2]) -> (Tensor, Tensor) {
        let window = Window { side: pair.side, stride: 1, padding: 0 };
        let (layer, parameters) = built(|builder| {
            let kernels = (pair, Box::new(Steerable::new(pair)?) as Box<dyn Kernels>);
            SteerableConv3d::new(builder, "c", kernels, copies, (window, Layout::Planes), &mut Random::new(3))
        });
        let pass = Pass { mode: Mode::Train, precision: Precision::F32 };
        (parameters.get("c.weight").unwrap().detach(), layer.kernel(&parameters, pass).unwrap().detach())
    }

    /// Pair by pair of irreps, channels by components, then by copies.
    #[test]
    fn kernels_are_combinations_of_the_steerable_ones_of_the_core() {
        let o3 = |degree, odd| SphericalIrrep { degree, odd: Some(odd) };
        let (codomain, domain) = (vec![o3(0, false), o3(2, false), o3(1, true)], vec![o3(0, true), o3(1, false)]);
        for side in [1, 3, 5] {
            let pair = FieldPair { codomain: codomain.clone(), domain: domain.clone(), side };
            let (weights, found) = kernel(&pair, [2, 3]);
            let ([outputs, inputs], points) = (pair.dims().map(|dim| dim as i64), side.pow(3) as i64);
            let expected = Tensor::zeros([outputs, 2, inputs, 3, points], (Kind::Double, Device::Cpu));
            let shells = Shells::new(3, side, &RingsConfig::default()).unwrap();
            let (mut number, mut row) = (0, 0);
            for out in &codomain {
                let mut column = 0;
                for of in &domain {
                    let [rows, columns] = [out.dim() as i64, of.dim() as i64];
                    for block in ring_kernels(*out, *of, &shells).unwrap() {
                        let block = Tensor::from_slice(&block).view([rows, 1, columns, 1, points]);
                        let mut place = expected.narrow(0, row, rows).narrow(2, column, columns);
                        place += block * weights.get(number).view([1, 2, 1, 3, 1]);
                        number += 1;
                    }
                    column += columns;
                }
                row += out.dim() as i64;
            }
            assert!(largest(&(found.view_as(&expected) - expected)) < 1e-13);
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
        let variance = kernel(&pair, [40, 40]).1.square().sum_dim_intlist([1, 2, 3, 4].as_slice(), false, Kind::Double);
        let mean = variance.mean(Kind::Double).double_value(&[]);
        assert!((mean - 1.0).abs() < 0.05, "{mean}");
    }
}
