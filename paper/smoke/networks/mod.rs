//! Networks that forecast a plume of smoke from its last frames, one architecture a file.
//!
//! ```text
//! frames [N, 2T, H, W]  ──network──►  next frame [N, 2, H, W]        channels t₀x, t₀y, t₁x, t₁y, …
//! ```
//!
//! Kernels depend on the parameters alone and are assembled once for all steps of a rollout.
//!
//! Paper: section "Imperfectly Symmetric Dynamical Systems"; architectures after Wang, Walters and Yu (ICML 2022).

mod body;
mod clcnn;
mod conv;
mod hermite_gauss;
mod kernels;
mod lift;
mod locally_connected;
mod rotation;
mod rpp;
mod scaling;
#[cfg(test)]
mod tests;
mod translation;

// What most files here need.
use crate::network::{Component, Network, within};
use crate::smoke::networks::body::{Body, Layer, norms};
use crate::smoke::networks::kernels::{component_of, layers_of, linear_component, project, squares, total};
use reynolds_torch::layers::{BatchNorm, Constant, Conv2d, Linear, Pass, convolve, kernel_layout, uniform};
use reynolds_torch::{Error, Parameters, Result};
use tch::Tensor;

pub use crate::smoke::data::Symmetry;
use hermite_gauss::HermiteGauss;
use locally_connected::LocallyConnected;
use reynolds::random::Random;
use reynolds_torch::parameters::Builder;
use serde::{Deserialize, Serialize};

/// The paper's cap.
const MOST_PARAMETERS: usize = 10_000_000;

/// A column of the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Architecture {
    /// A plain convolutional network; for translation this is `Equiv`.
    Conv,
    /// Exactly equivariant: convolutional or C4-steerable. For changes of size scale-steerable, of which one scale is read: a plain network of
    /// 3 × 3 convolutions, the last 5 × 5, without any symmetry.
    Equiv,
    /// Residual pathway prior: the sum of an equivariant and an unconstrained layer.
    Rpp,
    /// Locally connected, with a constraint that ties neighbours or turned copies.
    Clcnn,
    /// An equivariant backbone that gets a global vector from an unconstrained encoder.
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
pub enum Regularised {
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
    /// `conv`, `equiv`, `rpp`, `clcnn`, `lift`, `rgroup` or `rsteer`.
    pub architecture: Architecture,
    /// Channels or fields between the layers.
    pub hidden: usize,
    /// Number of convolutions.
    pub layers: usize,
    /// Filter banks of a relaxed group convolution.
    pub banks: usize,
    /// α, the strength of the architecture's own constraint, if it has one.
    pub alpha: f64,
    /// What the penalty is taken on: `operator`, the linear layer that the weights are mixed into, or `mixing`, the mixing weights themselves.
    pub regularised: Regularised,
}

impl Default for SmokeNetConfig {
    fn default() -> Self {
        Self {
            architecture: Architecture::Rsteer,
            hidden: 92,
            layers: 5,
            banks: 2,
            alpha: 0.0,
            regularised: Regularised::Operator,
        }
    }
}

/// The input of a network.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Frames {
    /// T.
    pub count: usize,
    /// H = W.
    pub side: usize,
}

impl Default for Frames {
    fn default() -> Self {
        Self { count: 10, side: 64 }
    }
}

/// What a network is made from.
pub(crate) struct Construction<'a> {
    config: &'a SmokeNetConfig,
    symmetry: Symmetry,
    frames: Frames,
    builder: &'a mut Builder,
    random: &'a mut Random,
}

impl Construction<'_> {
    /// Channels from and to which each layer maps: 2T to `hidden`, `hidden` to `hidden`, …, `hidden` to 2.
    fn pairs(&self) -> Vec<[usize; 2]> {
        let mut widths = vec![self.config.hidden; self.config.layers + 1];
        (widths[0], widths[self.config.layers]) = (2 * self.frames.count, 2);
        widths.windows(2).map(|pair| [pair[0], pair[1]]).collect()
    }

    /// Adds a parameter, uniform in ±1/√`fan_in`.
    fn uniform(&mut self, name: &str, shape: &[usize], fan_in: usize) -> Result<()> {
        let bound = 1.0 / (fan_in as f64).sqrt();
        self.builder.real(name, shape, &uniform(shape.iter().product(), bound, self.random))
    }
}

/// First layer, equal layers between, last layer: name, number of layers, and what they map from and to.
fn stacks<T: Copy>(
    layers: usize,
    [input, hidden, output]: [T; 3],
) -> impl Iterator<Item = (&'static str, usize, [T; 2])> {
    let all = [("first", 1, [input, hidden]), ("hidden", layers - 2, [hidden; 2]), ("last", 1, [hidden, output])];
    all.into_iter().filter(|(_, layers, _)| *layers > 0)
}

/// Convolutions by assembled kernels, some with biases, and ReLU between them.
fn convolutions<'a>(
    frames: &Tensor,
    layers: impl ExactSizeIterator<Item = (&'a Tensor, Option<&'a Tensor>)>,
) -> Result<Tensor> {
    let (mut features, count) = (frames.shallow_clone(), layers.len());
    for (number, (kernel, bias)) in layers.enumerate() {
        features = convolve(&features, kernel, bias, 1)?;
        if number + 1 < count {
            features = features.f_relu_()?;
        }
    }
    Ok(features)
}

impl SmokeNetConfig {
    /// Adds the parameters of a network to `builder`.
    pub fn build(
        &self,
        symmetry: Symmetry,
        frames: Frames,
        builder: &mut Builder,
        random: &mut Random,
    ) -> Result<Box<dyn Network>> {
        within("hidden", self.hidden, 1..=4096)?;
        within("layers", self.layers, 2..=64)?;
        within("banks", self.banks, 1..=64)?;
        if !(self.alpha.is_finite() && self.alpha >= 0.0) {
            return Err(Error::setting("alpha", "a finite number, at least 0", self.alpha));
        }
        let network = network(&mut Construction { config: self, symmetry, frames, builder: &mut *builder, random })?;
        self.at_most(builder.entries().iter().map(|entry| entry.len()).sum())?;
        Ok(network)
    }

    /// Refuses a network of too many parameters. Networks ask before they draw them, because memory may not hold them.
    fn at_most(&self, count: usize) -> Result<()> {
        if count <= MOST_PARAMETERS {
            return Ok(());
        }
        let expected = format!("a network of at most {MOST_PARAMETERS} parameters");
        Err(Error::setting("hidden", expected, format!("{} with {count}", self.hidden)))
    }
}

fn network(new: &mut Construction<'_>) -> Result<Box<dyn Network>> {
    use Architecture::{Clcnn, Conv, Equiv, Lift, Rgroup, Rpp, Rsteer};
    use Symmetry::{Rotation, Scaling, Translation};
    let pairs = new.pairs();
    Ok(match (new.config.architecture, new.symmetry) {
        (Equiv, Translation) | (Conv, Rotation) | (Conv, Scaling) => {
            let normalised = new.symmetry != Scaling;
            new.config.at_most(conv::count(&pairs, normalised))?;
            Box::new(conv::network(new, &pairs, normalised)?)
        }
        (Equiv, Rotation) => {
            let fields = rotation::pairs(new);
            new.config.at_most(rotation::count(&fields))?;
            Box::new(rotation::equiv(new, &fields)?)
        }
        (Equiv, Scaling) => {
            new.config.at_most(scaling::count(&pairs, scaling::Mixing::Shared))?;
            Box::new(scaling::equiv(new, &pairs)?)
        }
        (Rpp, _) => Box::new(rpp::network(new)?),
        (Clcnn, _) => Box::new(clcnn::Clcnn::new(new)?),
        (Lift, _) => Box::new(lift::network(new)?),
        (Rgroup, Translation) => Box::new(translation::Rgroup::new(new)?),
        (Rgroup, Rotation) => Box::new(rotation::Rgroup::new(new)?),
        (Rgroup, Scaling) => Box::new(scaling::Rgroup::new(new)?),
        (Rsteer, Rotation) => Box::new(rotation::Rsteer::new(new)?),
        (Rsteer, Scaling) => Box::new(scaling::Rsteer::new(new)?),
        (Conv | Rsteer, Translation) => {
            let found = format!("{:?} for translation", new.config.architecture).to_lowercase();
            return Err(Error::setting("architecture", "equiv, rpp, clcnn, lift or rgroup", found));
        }
    })
}
