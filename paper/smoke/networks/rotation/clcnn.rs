//! Locally connected layers whose kernel at every pixel is held close to its own turned copies.
//!
//! ```text
//! [ local3 → ReLU ] × (L − 1) → local3        c = Σ_layers Σ_{j=1..3} mean |w − A_j w|²,   (A_j w)(d) = ρ(j) w(R_j⁻¹d) ρ(j)ᵀ
//! ```
//!
//! Channels are read in pairs, as vectors; `hidden` is even. A turn keeps lengths, so c is 8 Σ ‖w − P(w)‖² / numbers, with P the mean over
//! the quarter turns at each pixel by itself: kernels of different pixels are not compared, as in Wang's code. There kernels turn the other
//! way round than vectors; here they turn together.

use reynolds::random::Random;
use tch::{Reduction, Tensor};

use crate::smoke::networks::local_net::LocalNet;
use crate::smoke::networks::{Forecaster, Frames, Mode, SmokeNetConfig};
use reynolds_torch::error::{Error, Result};
use reynolds_torch::layers::Constant;
use reynolds_torch::parameters::{Builder, Parameters};

/// The constrained locally connected network for quarter turns.
#[derive(Debug)]
pub(super) struct Clcnn {
    body: LocalNet,
    /// (−1)^{a+b} for components a and b, `[2, 1, 1, 1, 2]`.
    signs: Constant,
}

impl Clcnn {
    /// Adds the parameters of [`LocalNet`].
    ///
    /// # Errors
    /// [`Error::Setting`] if `hidden` is odd; as [`SmokeNetConfig::build`].
    pub(super) fn new(
        config: &SmokeNetConfig,
        frames: Frames,
        builder: &mut Builder,
        random: &mut Random,
    ) -> Result<Self> {
        if !config.hidden.is_multiple_of(2) {
            return Err(Error::setting("hidden", "an even number, of vectors' components", config.hidden));
        }
        let signs = Constant::new(&[1.0, -1.0, -1.0, 1.0], &[2, 1, 1, 1, 2])?;
        Ok(Self { body: LocalNet::new(config, frames, builder, random)?, signs })
    }
}

/// w `[H, W, out, k, k, in]` as `[pixels · vectors out, 2, k, k, vectors in, 2]`.
fn pairs(weight: &Tensor) -> Result<Tensor> {
    let size = weight.size();
    let (kernel, inputs) = (size[3], size[5]);
    Ok(weight.f_view([-1, 2, kernel, kernel, inputs / 2, 2])?)
}

/// A₁ w of [`pairs`]: turned by +90°, (vx, vy) → (−vy, vx) on both sides.
fn turned(pairs: &Tensor, signs: &Tensor) -> Result<Tensor> {
    Ok(pairs.f_rot90(-1, [2, 3])?.f_flip([1, 5])?.f_mul(signs)?)
}

impl Forecaster for Clcnn {
    fn assemble(&self, _: &Parameters) -> Result<Vec<Tensor>> {
        Ok(Vec::new())
    }

    fn forward(&self, parameters: &Parameters, _: &[Tensor], frames: &Tensor, _: Mode) -> Result<Tensor> {
        self.body.forward(parameters, frames, Tensor::f_relu)
    }

    fn constraint(&self, parameters: &Parameters, _: &[Tensor]) -> Result<Option<Tensor>> {
        let signs = self.signs.like(parameters.flat())?;
        let of_layer = |weight: Tensor| -> Result<Tensor> {
            let weight = pairs(&weight)?;
            // A half turn leaves vectors on both sides as they are: their signs cancel. A turn by 270° is as far as one by 90°.
            let quarter = weight.f_mse_loss(&turned(&weight, &signs)?, Reduction::Mean)?;
            let half = weight.f_mse_loss(&weight.f_flip([2, 3])?, Reduction::Mean)?;
            Ok(quarter.f_mul_scalar(2.0)?.f_add(&half)?)
        };
        let layers = self.body.weights(parameters).map(|weight| of_layer(weight?)).collect::<Result<Vec<_>>>()?;
        let kind = parameters.flat().kind();
        Ok(Some(Tensor::f_stack(&layers, 0)?.f_sum(kind)?))
    }
}

#[cfg(test)]
mod tests {
    use tch::{Device, Kind};

    use super::*;
    use crate::smoke::networks::{Architecture, Symmetry};
    use reynolds_torch::layers::convolve;

    const FRAMES: Frames = Frames { count: 2, side: 6 };

    fn clcnn() -> (Clcnn, Parameters) {
        let config = SmokeNetConfig { hidden: 4, layers: 3, ..SmokeNetConfig::default() };
        let mut builder = Parameters::builder();
        let network = Clcnn::new(&config, FRAMES, &mut builder, &mut Random::new(3)).unwrap();
        (network, builder.build(Kind::Double, Device::Cpu).unwrap())
    }

    /// Frames turned by +90°.
    fn turned_frames(frames: &Tensor) -> Tensor {
        let size = frames.size();
        let vectors = frames.rot90(-1, [2, 3]).view([size[0], size[1] / 2, 2, size[2], size[3]]);
        Tensor::stack(&[-vectors.select(2, 1), vectors.select(2, 0)], 2).view(size.as_slice())
    }

    #[test]
    fn the_constraint_is_the_sum_over_three_turns_and_eight_times_the_distance_from_their_mean() {
        let (network, parameters) = clcnn();
        let ours = f64::try_from(network.constraint(&parameters, &[]).unwrap().unwrap().detach()).unwrap();
        let signs = network.signs.like(parameters.flat()).unwrap();
        let (mut turns, mut distance) = (0.0, 0.0);
        for weight in network.body.weights(&parameters).map(Result::unwrap) {
            let weight = pairs(&weight.detach()).unwrap();
            let (mut copy, mut mean) = (weight.shallow_clone(), &weight / 4.0);
            for _ in 1..4 {
                copy = turned(&copy, &signs).unwrap();
                turns += f64::try_from((&weight - &copy).square().mean(Kind::Double)).unwrap();
                mean += &copy / 4.0;
            }
            distance += 8.0 * f64::try_from((&weight - &mean).square().mean(Kind::Double)).unwrap();
            assert!(f64::try_from((turned(&copy, &signs).unwrap() - weight).abs().max()).unwrap() < 1e-15);
        }
        assert!((ours - turns).abs() < 1e-14 && (ours - distance).abs() < 1e-14, "{ours} {turns} {distance}");
        assert!(ours > 0.01);
    }

    #[test]
    fn a_kernel_that_is_its_own_turned_copy_commutes_with_turns() {
        let (network, parameters) = clcnn();
        let signs = network.signs.like(parameters.flat()).unwrap();
        let weight = network.body.weights(&parameters).next().unwrap().unwrap().detach().get(0).get(0);
        let size = weight.size();
        let weight = pairs(&weight.unsqueeze(0).unsqueeze(0)).unwrap();
        let mut sum = weight.shallow_clone();
        for _ in 1..4 {
            sum = turned(&sum, &signs).unwrap() + &weight;
        }
        let frames = Tensor::arange(2 * 4 * 36, (Kind::Double, Device::Cpu)).sin().view([2, 4, 6, 6]);
        let defect = |kernel: &Tensor| {
            let kernel = kernel.view(size.as_slice()).permute([0, 3, 1, 2]);
            let run = |frames: &Tensor| convolve(frames, &kernel, None, 1).unwrap();
            let difference = run(&turned_frames(&frames)) - turned_frames(&run(&frames));
            f64::try_from(difference.abs().max()).unwrap()
        };
        assert!(defect(&sum) < 1e-13 && defect(&weight) > 0.1, "{} {}", defect(&sum), defect(&weight));
    }

    #[test]
    fn hidden_channels_are_whole_vectors() {
        let config = SmokeNetConfig { architecture: Architecture::Clcnn, hidden: 5, ..SmokeNetConfig::default() };
        let built = config.build(Symmetry::Rotation, FRAMES, &mut Parameters::builder(), &mut Random::new(1));
        let message = built.err().unwrap().to_string();
        assert_eq!(message, "hidden: expected an even number, of vectors' components, found 5");
    }
}
