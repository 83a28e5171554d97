//! Networks that forecast a plume of smoke from its last frames, one architecture a file.
//!
//! ```text
//! frames [N, 2T, H, W]  ──network──►  next frame [N, 2, H, W]        channels t₀x, t₀y, t₁x, t₁y, …
//! ```
//!
//! What a network computes from its parameters alone (mixed kernels, sampled bases) is assembled once for all steps of a rollout.
//!
//! Paper: section "Imperfectly Symmetric Dynamical Systems"; architectures after Wang, Walters and Yu (ICML 2022).

mod conv;
mod hermite_gauss;
mod kernels;
mod local_net;
mod locally_connected;
#[cfg(test)]
mod precision;
mod product;
mod rotation;
mod scaling;
mod span;
mod translation;

use reynolds::random::Random;
use serde::{Deserialize, Serialize};
use tch::Tensor;

pub use hermite_gauss::HermiteGauss;
pub use locally_connected::LocallyConnected;
use reynolds_torch::error::{Error, Result};
pub use reynolds_torch::layers::Mode;
use reynolds_torch::parameters::{Builder, Parameters};

/// No network of the table has more parameters.
pub const MOST_PARAMETERS: usize = 10_000_000;

/// The symmetry that the data almost have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Symmetry {
    /// Shifts.
    Translation,
    /// Quarter turns, C4.
    #[default]
    Rotation,
    /// Changes of size.
    Scaling,
}

/// A column of the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Architecture {
    /// A plain convolutional network; under translation it is `Equiv`.
    Conv,
    /// Exactly equivariant: convolutional or C4-steerable. For changes of size the scale-steerable network, of which one scale is read: a
    /// plain network of 3 × 3 convolutions, the last 5 × 5, that nothing ties to any symmetry.
    Equiv,
    /// Residual pathway prior: an equivariant layer and an unconstrained one, added.
    Rpp,
    /// Locally connected, with a constraint that ties neighbours or turned copies.
    Clcnn,
    /// An equivariant backbone that is told a global vector by an unconstrained encoder.
    Lift,
    /// Relaxed group convolution.
    Rgroup,
    /// Relaxed steerable convolution; there is none for translation. For changes of size it computes the same functions as `Equiv`.
    #[default]
    Rsteer,
}

/// What the projection penalty is taken on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Held {
    /// The linear layer that the weights are mixed into.
    #[default]
    Operator,
    /// The mixing weights themselves.
    Mixing,
}

/// Sizes of a network.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct SmokeNetConfig {
    /// "conv", "equiv", "rpp", "clcnn", "lift", "rgroup" or "rsteer".
    pub architecture: Architecture,
    /// Channels or fields between the layers, as each architecture counts them.
    pub hidden: usize,
    /// Convolutions.
    pub layers: usize,
    /// Filter banks of a relaxed group convolution.
    pub banks: usize,
    /// α, the strength of the architecture's own constraint ([`Forecaster::constraint`]); of no effect where it has none, as in "conv".
    pub alpha: f64,
    /// What the projection penalty is taken on: "operator" or "mixing".
    pub held: Held,
}

impl Default for SmokeNetConfig {
    fn default() -> Self {
        Self { architecture: Architecture::Rsteer, hidden: 92, layers: 5, banks: 2, alpha: 0.0, held: Held::Operator }
    }
}

/// What the data fix: frames that a network sees and their side.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Frames {
    /// T, frames seen.
    pub count: usize,
    /// H = W.
    pub side: usize,
}

impl Default for Frames {
    fn default() -> Self {
        Self { count: 10, side: 64 }
    }
}

/// A network that forecasts the next frame.
pub trait Forecaster {
    /// What the forward pass needs of the parameters alone, on the tape; once for all steps of a rollout. May be empty.
    ///
    /// # Errors
    /// [`Error::Torch`] if the device has no room.
    fn assemble(&self, parameters: &Parameters) -> Result<Vec<Tensor>>;

    /// The next frame `[N, 2, H, W]` of `[N, 2T, H, W]`.
    ///
    /// # Errors
    /// [`Error::Torch`] if the shape does not fit or the device has no room.
    fn forward(&self, parameters: &Parameters, assembled: &[Tensor], frames: &Tensor, mode: Mode) -> Result<Tensor>;

    /// The baseline's own constraint on its weights, without its strength α, a scalar on the tape; `None` if it has none. The training
    /// loss gets (α c)² (Wang's code passes α c through the mean square).
    ///
    /// # Errors
    /// [`Error::Torch`] if the device has no room.
    fn constraint(&self, parameters: &Parameters, assembled: &[Tensor]) -> Result<Option<Tensor>> {
        let _ = (parameters, assembled);
        Ok(None)
    }

    /// The projection penalty of this network; `None` if nothing of it is relaxed.
    ///
    /// # Errors
    /// If a projector cannot be derived.
    fn penalty(&self, parameters: &Parameters, held: Held) -> Result<Option<Box<dyn NetworkPenalty>>> {
        let _ = (parameters, held);
        Ok(None)
    }
}

/// λ_G Σ‖P(W)‖² + λ_⊥ Σ‖W − P(W)‖² over the relaxed layers of a network, Frobenius, W as [`Held`] says.
pub trait NetworkPenalty {
    /// Adds the gradient by the flat parameters to `gradient`, `[len]`, in place; the penalty, a scalar on the device and off the tape.
    /// Never waits for the device. May be called under a guard against the tape.
    ///
    /// # Errors
    /// [`Error::Torch`] if the device has no room.
    fn add_gradient(
        &self,
        parameters: &Parameters,
        lambda_g: f64,
        lambda_perp: f64,
        gradient: &Tensor,
    ) -> Result<Tensor>;

    /// (Σ‖P(W)‖², Σ‖W − P(W)‖²).
    ///
    /// # Errors
    /// [`Error::Torch`] if the device has no room.
    fn energies(&self, parameters: &Parameters) -> Result<(f64, f64)>;

    /// W ← P(W) in every relaxed layer, by changing the mixing weights in place.
    ///
    /// # Errors
    /// [`Error::Torch`] if the device has no room.
    fn project(&self, parameters: &Parameters) -> Result<()>;
}

impl SmokeNetConfig {
    /// Adds the parameters of a network to `builder`.
    ///
    /// # Errors
    /// [`Error::Setting`] if a size is out of range, there is no such network, or it has more than [`MOST_PARAMETERS`].
    pub fn build(
        &self,
        symmetry: Symmetry,
        frames: Frames,
        builder: &mut Builder,
        random: &mut Random,
    ) -> Result<Box<dyn Forecaster>> {
        for (what, value, least, most) in
            [("hidden", self.hidden, 1, 4096), ("layers", self.layers, 2, 64), ("banks", self.banks, 1, 64)]
        {
            if !(least..=most).contains(&value) {
                return Err(Error::setting(what, format!("from {least} to {most}"), value));
            }
        }
        if !(self.alpha.is_finite() && self.alpha >= 0.0) {
            return Err(Error::setting("alpha", "a finite number, at least 0", self.alpha));
        }
        let network = self.network(symmetry, frames, builder, random)?;
        self.at_most(builder.entries().iter().map(|entry| entry.len()).sum())?;
        Ok(network)
    }

    /// Refuses a network of `count` parameters if these are too many. Networks ask before they draw, for memory may not hold them.
    fn at_most(&self, count: usize) -> Result<()> {
        if count <= MOST_PARAMETERS {
            return Ok(());
        }
        let expected = format!("a network of at most {MOST_PARAMETERS} parameters");
        Err(Error::setting("hidden", expected, format!("{} with {count}", self.hidden)))
    }

    fn network(
        &self,
        symmetry: Symmetry,
        frames: Frames,
        builder: &mut Builder,
        random: &mut Random,
    ) -> Result<Box<dyn Forecaster>> {
        match symmetry {
            Symmetry::Translation => translation::network(self, frames, builder, random),
            Symmetry::Rotation => rotation::network(self, frames, builder, random),
            Symmetry::Scaling => scaling::network(self, frames, builder, random),
        }
    }

    /// The error of an architecture that a symmetry does not have.
    fn not_there(&self, symmetry: Symmetry) -> Error {
        let found = format!("{:?} for {symmetry:?}", self.architecture).to_lowercase();
        let expected = match symmetry {
            Symmetry::Translation => "equiv, rpp, clcnn, lift or rgroup",
            Symmetry::Rotation | Symmetry::Scaling => "conv, equiv, rpp, clcnn, lift, rgroup or rsteer",
        };
        Error::setting("architecture", expected, found)
    }
}
