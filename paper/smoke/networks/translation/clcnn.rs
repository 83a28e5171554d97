//! Locally connected layers whose kernels are held close to those of the neighbouring pixels.
//!
//! ```text
//! [ local3 → ELU ] × (L − 1) → local3        c = Σ_layers mean |w(y + 1, x) − w(y, x)| + mean |w(y, x + 1) − w(y, x)|
//! ```

use reynolds::random::Random;
use tch::Tensor;

use super::variation::variation;
use crate::smoke::networks::local_net::LocalNet;
use crate::smoke::networks::{Forecaster, Frames, Mode, SmokeNetConfig};
use reynolds_torch::error::Result;
use reynolds_torch::parameters::{Builder, Parameters};

/// The constrained locally connected network for shifts.
#[derive(Debug)]
pub(super) struct Clcnn {
    body: LocalNet,
}

impl Clcnn {
    /// Adds the parameters of [`LocalNet`].
    ///
    /// # Errors
    /// As [`SmokeNetConfig::build`].
    pub(super) fn new(
        config: &SmokeNetConfig,
        frames: Frames,
        builder: &mut Builder,
        random: &mut Random,
    ) -> Result<Self> {
        Ok(Self { body: LocalNet::new(config, frames, builder, random)? })
    }
}

impl Forecaster for Clcnn {
    fn assemble(&self, _: &Parameters) -> Result<Vec<Tensor>> {
        Ok(Vec::new())
    }

    fn forward(&self, parameters: &Parameters, _: &[Tensor], frames: &Tensor, _: Mode) -> Result<Tensor> {
        self.body.forward(parameters, frames, Tensor::f_elu)
    }

    fn constraint(&self, parameters: &Parameters, _: &[Tensor]) -> Result<Option<Tensor>> {
        let layers = self.body.weights(parameters).map(|weight| variation(&weight?, [0, 1]));
        let layers = layers.collect::<Result<Vec<_>>>()?;
        let kind = parameters.flat().kind();
        Ok(Some(Tensor::f_stack(&layers, 0)?.f_sum(kind)?))
    }
}
