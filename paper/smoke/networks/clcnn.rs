//! CLCNN: locally connected layers with a constraint c that ties the kernels of neighbouring pixels, turned copies or sizes.
//!
//! ```text
//! [ local3 → activation ] × (L − 1) → local3            ELU for shifts, else ReLU; c is a sum over layers
//! translation   mean |w(y + 1, x) − w(y, x)| + mean |w(y, x + 1) − w(y, x)|
//! rotation      Σ_{j=1..3} mean |w − A_j w|²            (A_j w)(d) = ρ(j) w(R_j⁻¹d) ρ(j)ᵀ
//! scaling       mean |R_d w − R_{d′} w|                 d = −1, −½, 0, ½, 1 and d′ the d before it
//! ```
//!
//! Rotation: pairs of channels are vectors; `hidden` is even. Turns keep lengths, so c is 8 Σ‖w − P(w)‖² / numbers, with P the mean over the
//! quarter turns at each pixel: kernels of different pixels are not compared, as in Wang's code. There kernels turn the other way round than
//! vectors; here they turn together.
//!
//! Scaling: R_d w is w shrunk or dilated by d, cut to the (k − 1)² points at offsets −1 and 0 along each axis; the largest is the neighbour
//! of the smallest, both as in Wang's code. All differences of R_d are one product with a fixed matrix.
//!
//! Wang's code does not use its biases and normalisations; there are none here. All weights begin uniform in ±1/√(9 in), as those for shifts
//! do there.

use super::Symmetry;
use super::conv::KERNEL;
use super::scaling::{Resampling, TAPS, shifts};
use super::*;
use tch::Reduction;

const SIZES: usize = 5;

pub(crate) struct Clcnn {
    layers: Vec<LocallyConnected>,
    tied: Tied,
}

pub(crate) enum Tied {
    Neighbours,
    /// (−1)^{a+b} for components a and b, `[2, 1, 1, 1, 2]`.
    Turns(Constant),
    /// R_d − R_{d′} at the middle points, [(d, point), tap].
    Sizes(Constant),
}

impl Clcnn {
    /// Adds `layers.N.weight`.
    pub(crate) fn new(new: &mut Construction<'_>) -> Result<Self> {
        let (pairs, side) = (new.pairs(), new.frames.side);
        let tied = match new.symmetry {
            Symmetry::Translation => Tied::Neighbours,
            Symmetry::Rotation if !new.config.hidden.is_multiple_of(2) => {
                return Err(Error::setting("hidden", "an even number, of vectors' components", new.config.hidden));
            }
            Symmetry::Rotation => Tied::Turns(Constant::new(&[1.0, -1.0, -1.0, 1.0], &[2, 1, 1, 1, 2])?),
            Symmetry::Scaling => Tied::Sizes(differences()?),
        };
        new.config.at_most(pairs.iter().map(|pair| LocallyConnected::count(*pair, KERNEL, side)).sum())?;
        let layer = |(number, pair): (usize, &[usize; 2])| {
            LocallyConnected::new(new, &format!("layers.{number}"), *pair, KERNEL)
        };
        Ok(Self { layers: pairs.iter().enumerate().map(layer).collect::<Result<_>>()?, tied })
    }
}

impl Network for Clcnn {
    fn forward(&self, parameters: &Parameters, _: &[Tensor], frames: &Tensor, _: Pass) -> Result<Tensor> {
        let mut features = LocallyConnected::pixels_first(frames)?;
        for (number, layer) in self.layers.iter().enumerate() {
            features = layer.forward(parameters, &features)?;
            if number + 1 < self.layers.len() {
                features = if let Tied::Neighbours = self.tied { features.f_elu()? } else { features.f_relu()? };
            }
        }
        LocallyConnected::images(&features)
    }

    fn prior(&self, parameters: &Parameters) -> Result<Option<Tensor>> {
        let terms = self.layers.iter().map(|layer| self.tied.cost(&layer.weight(parameters)?));
        Ok(Some(Tensor::f_stack(&terms.collect::<Result<Vec<_>>>()?, 0)?.f_sum(parameters.flat().kind())?))
    }
}

impl Tied {
    /// The constraint of one layer, whose weights are `[H, W, out, k, k, in]`.
    fn cost(&self, weight: &Tensor) -> Result<Tensor> {
        match self {
            Self::Neighbours => variation(weight, [0, 1]),
            Self::Turns(signs) => {
                let (weight, signs) = (pairs(weight)?, signs.like(weight)?);
                // A half turn leaves vectors on both sides as they are: their signs cancel. A turn by 270° is as far as one by 90°.
                let quarter = weight.f_mse_loss(&turned(&weight, &signs)?, Reduction::Mean)?;
                let half = weight.f_mse_loss(&weight.f_flip([2, 3])?, Reduction::Mean)?;
                Ok(quarter.f_mul_scalar(2.0)?.f_add(&half)?)
            }
            Self::Sizes(differences) => {
                let kernels = weight.f_view([-1, TAPS as i64, weight.size()[5]])?;
                Ok(differences.like(weight)?.f_matmul(&kernels)?.f_abs()?.f_mean(weight.kind())?)
            }
        }
    }
}

/// mean |w(y + 1, x) − w(y, x)| + mean |w(y, x + 1) − w(y, x)| of a field whose pixels lie along these axes.
pub(crate) fn variation(field: &Tensor, [rows, columns]: [i64; 2]) -> Result<Tensor> {
    let along = |axis: i64| -> Result<Tensor> {
        let less = field.size()[axis as usize] - 1;
        let difference = field.f_narrow(axis, 1, less)?.f_sub(&field.f_narrow(axis, 0, less)?)?;
        Ok(difference.f_abs()?.f_mean(field.kind())?)
    };
    Ok(along(rows)?.f_add(&along(columns)?)?)
}

/// w `[H, W, out, k, k, in]` as `[pixels · vectors out, 2, k, k, vectors in, 2]`.
fn pairs(weight: &Tensor) -> Result<Tensor> {
    let size = weight.size();
    Ok(weight.f_view([-1, 2, size[3], size[4], size[5] / 2, 2])?)
}

/// A₁ w of [`pairs`]: turned by +90°, (vx, vy) → (−vy, vx) on both sides.
fn turned(pairs: &Tensor, signs: &Tensor) -> Result<Tensor> {
    Ok(pairs.f_rot90(-1, [2, 3])?.f_flip([1, 5])?.f_mul(signs)?)
}

fn differences() -> Result<Constant> {
    let maps: Vec<Resampling> = shifts(SIZES).map(Resampling::new).collect();
    let entry = |map: &Resampling, point: usize, tap: usize| {
        let corner = map.side() / 2 - KERNEL / 2;
        map.entry([corner + point / (KERNEL - 1), corner + point % (KERNEL - 1)], tap)
    };
    let points = (KERNEL - 1) * (KERNEL - 1);
    let mut values = Vec::with_capacity(SIZES * points * TAPS);
    for size in 0..SIZES {
        let (map, before) = (&maps[size], &maps[(size + SIZES - 1) % SIZES]);
        for point in 0..points {
            values.extend((0..TAPS).map(|tap| entry(before, point, tap) - entry(map, point, tap)));
        }
    }
    Constant::new(&values, &[(SIZES * points) as i64, TAPS as i64])
}

#[cfg(test)]
mod tests {
    use reynolds_torch::layers::convolve;
    use tch::Kind;

    use super::*;
    use crate::smoke::networks::tests::turned_frames;
    use crate::testing::normal;

    /// Weights of a layer, and (−1)^{a+b}.
    fn weight() -> (Tensor, Tensor) {
        (
            pairs(&(normal(&[6, 6, 4, 3, 3, 4], 3) * 0.1)).unwrap(),
            Tensor::from_slice(&[1.0, -1.0, -1.0, 1.0]).view([2, 1, 1, 1, 2]),
        )
    }

    #[test]
    fn the_constraint_is_the_sum_over_three_turns_and_eight_times_the_distance_from_their_mean() {
        let tied = Tied::Turns(Constant::new(&[1.0, -1.0, -1.0, 1.0], &[2, 1, 1, 1, 2]).unwrap());
        let ours = tied.cost(&(normal(&[6, 6, 4, 3, 3, 4], 3) * 0.1)).unwrap().double_value(&[]);
        let (weight, signs) = weight();
        let (mut copy, mut mean, mut turns) = (weight.shallow_clone(), &weight / 4.0, 0.0);
        for _ in 1..4 {
            copy = turned(&copy, &signs).unwrap();
            turns += (&weight - &copy).square().mean(Kind::Double).double_value(&[]);
            mean += &copy / 4.0;
        }
        let distance = 8.0 * (&weight - &mean).square().mean(Kind::Double).double_value(&[]);
        assert!((turned(&copy, &signs).unwrap() - weight).abs().max().double_value(&[]) < 1e-15);
        assert!((ours - turns).abs() < 1e-14 && (ours - distance).abs() < 1e-14, "{ours} {turns} {distance}");
        assert!(ours > 0.01);
    }

    #[test]
    fn a_kernel_that_is_its_own_turned_copy_commutes_with_turns() {
        let (weight, signs) = weight();
        let weight = weight.narrow(0, 0, 2);
        let mut sum = weight.shallow_clone();
        for _ in 1..4 {
            sum = turned(&sum, &signs).unwrap() + &weight;
        }
        let frames = normal(&[2, 4, 6, 6], 4);
        let defect = |kernel: &Tensor| {
            let kernel = kernel.contiguous().view([4, 3, 3, 4]).permute([0, 3, 1, 2]);
            let run = |frames: &Tensor| convolve(frames, &kernel, None, 1).unwrap();
            let difference = run(&turned_frames(&frames)) - turned_frames(&run(&frames));
            difference.abs().max().double_value(&[])
        };
        assert!(defect(&sum) < 1e-13 && defect(&weight) > 0.1, "{} {}", defect(&sum), defect(&weight));
    }
}
