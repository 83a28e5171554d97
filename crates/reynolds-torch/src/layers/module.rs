//! Layers as modules of tch, for networks that are put together with `tch::nn`.
//!
//! A module panics where the layer's own `forward` returns an error, as all modules of tch do.
//!
//! ```
//! use reynolds::random::Random;
//! use reynolds_torch::layers::{Linear, Module};
//! use reynolds_torch::{Parameters, tch::{Device, Kind, Tensor, nn, nn::Module as _}};
//! let (mut builder, mut random) = (Parameters::builder(), Random::new(0));
//! let first = Linear::new(&mut builder, "first", 2, 8, &mut random)?;
//! let second = Linear::new(&mut builder, "second", 8, 1, &mut random)?;
//! let parameters = builder.build(Kind::Float, Device::Cpu)?;
//! let network = nn::seq()
//!     .add(Module::new(first, &parameters))
//!     .add_fn(|x| x.relu())
//!     .add(Module::new(second, &parameters));
//! let loss = network.forward(&Tensor::ones([5, 2], (Kind::Float, Device::Cpu))).square().mean(Kind::Float);
//! assert_eq!(parameters.gradient(&loss)?.size(), [parameters.len() as i64]);
//! # Ok::<(), reynolds_torch::Error>(())
//! ```

use tch::{Tensor, nn};

use super::{BatchNorm, ComplexLinear, Conv2d, Linear, Mode};
use crate::error::Result;
use crate::parameters::Parameters;

/// A layer that does the same in training and evaluation.
pub trait Forward: std::fmt::Debug + Send {
    /// The output of a forward pass.
    fn forward(&self, parameters: &Parameters, input: &Tensor) -> Result<Tensor>;
}

impl Forward for Linear {
    fn forward(&self, parameters: &Parameters, input: &Tensor) -> Result<Tensor> {
        Linear::forward(self, parameters, input)
    }
}

impl Forward for ComplexLinear {
    fn forward(&self, parameters: &Parameters, input: &Tensor) -> Result<Tensor> {
        ComplexLinear::forward(self, parameters, input)
    }
}

impl Forward for Conv2d {
    fn forward(&self, parameters: &Parameters, input: &Tensor) -> Result<Tensor> {
        Conv2d::forward(self, parameters, &self.kernel(parameters)?, input)
    }
}

/// A layer with its parameters: a `tch::nn::Module`, or for [`BatchNorm`] a `tch::nn::ModuleT`.
#[derive(Debug)]
pub struct Module<L> {
    layer: L,
    parameters: Parameters,
}

impl<L> Module<L> {
    /// Shares the parameters: what is trained is trained here, too.
    pub fn new(layer: L, parameters: &Parameters) -> Self {
        Self { layer, parameters: parameters.shallow_clone() }
    }
}

impl<L: Forward> nn::Module for Module<L> {
    fn forward(&self, input: &Tensor) -> Tensor {
        self.layer.forward(&self.parameters, input).unwrap_or_else(|error| panic!("{error}"))
    }
}

impl nn::ModuleT for Module<BatchNorm> {
    fn forward_t(&self, input: &Tensor, train: bool) -> Tensor {
        let mode = if train { Mode::Train } else { Mode::Evaluate };
        self.layer.forward(&self.parameters, input, mode).unwrap_or_else(|error| panic!("{error}"))
    }
}

#[cfg(test)]
mod tests {
    use reynolds::random::Random;
    use tch::nn::{Module as _, ModuleT};

    use super::*;
    use crate::testing::{built, normal};

    #[test]
    fn a_module_is_its_layer_and_shares_its_parameters() {
        let ((conv, norm), parameters) = built(|builder| {
            let conv = Conv2d::new(builder, "conv", [3, 4], 3, &mut Random::new(1))?;
            Ok((conv, BatchNorm::new(builder, "norm", 4, 1)?))
        });
        let (input, kernel) = (normal(&[2, 3, 5, 5], 2), conv.kernel(&parameters).unwrap());
        let features = Module::new(conv.clone(), &parameters).forward(&input);
        assert!(features.equal(&conv.forward(&parameters, &kernel, &input).unwrap()));
        let module = Module::new(norm.clone(), &parameters);
        let evaluated = || norm.forward(&parameters, &features, Mode::Evaluate).unwrap();
        let before = module.forward_t(&features, false);
        assert!(before.equal(&evaluated()));
        // Training moves the statistics of both.
        let _ = module.forward_t(&features, true);
        assert!(!evaluated().equal(&before));
    }
}
