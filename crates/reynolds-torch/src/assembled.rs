//! Weights that are computed from factors: the penalty's gradient reaches every factor.
//!
//! ```text
//! W = assemble(θ)      ∇_θ = (∂W/∂θ)ᵀ [2λ_G P(W) + 2λ_⊥ (W − P(W))]
//! ```
//!
//! A relaxed group convolution mixes filter banks, W = Σ_l w_l(g) F_l: bilinear in its mixing weights and its filters. The closed form
//! gives the cotangent at W, and one vector–Jacobian product through `assemble` carries it on; nothing is differentiated through P.
//!
//! ```
//! use reynolds::{group, penalty::PenaltyConfig, projection::KernelSpace, rep};
//! use reynolds_torch::{Parameters, assembled::AssembledPenalty, tch::{Device, Kind, Tensor}};
//! let regular = rep::regular(&group::parse("C2")?)?;
//! let space = KernelSpace::dense(&regular, &regular)?;
//! let config = PenaltyConfig { lambda_perp: 1.0, ..PenaltyConfig::default() };
//! let penalty = AssembledPenalty::new(&[("w", &space)], config, Kind::Float, Device::Cpu)?;
//! let mut builder = Parameters::builder();
//! builder.real("mix", &[2], &[1.0, 1.0])?;
//! let parameters = builder.build(Kind::Float, Device::Cpu)?;
//! let rows = Tensor::from_slice(&[3.0_f32, 0.0, 1.0, 0.0]).view([2, 2]);
//! let assembled = parameters.get("mix")?.unsqueeze(1) * rows; // diag(mix) · rows
//! let gradient = parameters.flat().zeros_like();
//! let value = penalty.add_gradient(&parameters, &[assembled], &gradient)?;
//! assert!((f64::try_from(value)? - 5.0).abs() < 1e-6); // ‖[[1.5, −.5], [.5, −1.5]]‖²
//! # Ok::<(), reynolds_torch::Error>(())
//! ```

use reynolds::penalty::PenaltyConfig;
use reynolds::projection::KernelSpace;
use tch::{Device, Kind, Tensor};

use crate::binding::Binding;
use crate::error::{Error, Result};
use crate::parameters::Parameters;
use crate::penalty::Penalty;

/// The projection penalty on assembled weights.
#[derive(Debug)]
pub struct AssembledPenalty {
    /// A flat storage for the assembled weights; the leaves are not used.
    layout: Parameters,
    penalty: Penalty,
}

impl AssembledPenalty {
    /// The penalty on weights of these names and spaces, in the precision and on the device they are assembled in.
    ///
    /// # Errors
    /// [`Error::Parameter`] if a name is given twice; as [`Penalty::new`].
    pub fn new(
        weights: &[(&str, &KernelSpace<f64>)],
        config: PenaltyConfig,
        kind: Kind,
        device: Device,
    ) -> Result<Self> {
        let mut builder = Parameters::builder();
        for (name, space) in weights {
            builder.real(name, &space.shape(), &vec![0.0; space.len()])?;
        }
        let layout = builder.build(kind, device)?;
        let mut binding = Binding::builder(&layout);
        for (name, space) in weights {
            binding.real(name, space)?;
        }
        let penalty = Penalty::new(binding.build()?, config)?;
        Ok(Self { layout, penalty })
    }

    /// The penalty on the flat assembled weights: what changes λ_⊥.
    pub fn penalty_mut(&mut self) -> &mut Penalty {
        &mut self.penalty
    }

    /// The penalty's value, and ⟨W(θ), cotangent⟩: a term for the loss with the penalty's gradient, so that one backward pass serves
    /// both. The weights, on the tape, come in the order they were named. With accumulated gradients it belongs to one minibatch only,
    /// times their number.
    ///
    /// # Errors
    /// [`Error::Parameter`] if the number or a shape differs.
    pub fn surrogate(&self, assembled: &[Tensor]) -> Result<(Tensor, Tensor)> {
        let entries = self.layout.entries();
        if assembled.len() != entries.len() {
            return Err(Error::parameter("assembled weights", entries.len(), assembled.len()));
        }
        for (weight, entry) in assembled.iter().zip(entries) {
            let shape: Vec<i64> = entry.shape.iter().map(|&side| side as i64).collect();
            if weight.size() != shape {
                return Err(Error::parameter(&entry.name, format!("{shape:?}"), format!("{:?}", weight.size())));
            }
        }
        let flat: Vec<Tensor> = assembled.iter().map(|weight| weight.f_reshape([-1])).collect::<Result<_, _>>()?;
        let flat = Tensor::f_cat(&flat, 0)?;
        let mut cotangent = flat.f_zeros_like()?;
        let value = self.penalty.add_gradient_with_value(&flat.f_detach()?, &mut cotangent)?;
        // Its derivative is the vector–Jacobian product.
        Ok((value, flat.f_dot(&cotangent)?))
    }

    /// Adds the gradient by every parameter that the assembled weights depend on to `gradient`, flat `[parameters.len()]`, and returns
    /// the penalty's value. This is a backward pass of its own: weights whose graph a loss has used must be assembled again, or
    /// [`AssembledPenalty::surrogate`] be added to that loss.
    ///
    /// # Errors
    /// As [`AssembledPenalty::surrogate`] and [`Parameters::gradient`].
    pub fn add_gradient(&self, parameters: &Parameters, assembled: &[Tensor], gradient: &Tensor) -> Result<Tensor> {
        let (value, surrogate) = self.surrogate(assembled)?;
        let pulled = parameters.gradient(&surrogate)?;
        let _ = gradient.shallow_clone().f_add_(&pulled)?;
        Ok(value)
    }
}

#[cfg(test)]
mod tests {
    use reynolds::penalty::Form;
    use reynolds::random::Random;
    use reynolds::rep::Grid;
    use reynolds::{group, rep};

    use super::*;

    /// A relaxed C4 convolution, W[g] = Σ_l mix[l, g] · filters[l], two banks, 3×3.
    fn assemble(parameters: &Parameters) -> Tensor {
        let (mix, filters) = (parameters.get("mix").unwrap(), parameters.get("filters").unwrap());
        Tensor::einsum("lg,lgihw->gihw", &[mix, filters], None::<&[i64]>)
    }

    #[test]
    fn the_gradient_of_a_bilinear_layer_is_that_of_finite_differences() {
        let c4 = group::parse("C4").unwrap();
        let fields = rep::regular(&c4).unwrap();
        let space = KernelSpace::kernel(&rep::trivial(&c4), &fields, &Grid::new(&c4, 3, 2).unwrap()).unwrap();
        let mut random = Random::new(11);
        let mut normal = |count: usize| (0..count).map(|_| random.normal()).collect::<Vec<f64>>();
        let mut builder = Parameters::builder();
        builder.real("mix", &[2, 4], &normal(8)).unwrap();
        builder.real("filters", &[2, 4, 1, 3, 3], &normal(72)).unwrap();
        builder.real("head", &[3], &normal(3)).unwrap();
        let parameters = builder.build(Kind::Double, Device::Cpu).unwrap();
        for form in [Form::Squared, Form::Plain] {
            let config = PenaltyConfig { lambda_g: 0.3, lambda_perp: 1.7, form, ..PenaltyConfig::default() };
            let penalty = AssembledPenalty::new(&[("w", &space)], config, Kind::Double, Device::Cpu).unwrap();
            let cost = |gradient: &Tensor| -> f64 {
                let value = penalty.add_gradient(&parameters, &[assemble(&parameters)], gradient).unwrap();
                value.double_value(&[])
            };
            let gradient = parameters.flat().zeros_like();
            cost(&gradient);
            let start = parameters.flat().copy();
            for index in 0..parameters.len() as i64 {
                let at = |step: f64| {
                    parameters.assign(&start).unwrap();
                    let _ = parameters.flat().get(index).g_add_scalar_(step);
                    cost(&start.zeros_like())
                };
                let difference = (at(1e-6) - at(-1e-6)) / 2e-6;
                let closed = gradient.double_value(&[index]);
                assert!((difference - closed).abs() < 1e-7, "{form:?} {index}: {difference} {closed}");
            }
            parameters.assign(&start).unwrap();
            // Mixing weights, filters, and a head that the layer does not use.
            assert!(gradient.narrow(0, 0, 8).abs().min().double_value(&[]) > 0.0);
            assert_eq!(gradient.narrow(0, 80, 3).abs().max().double_value(&[]), 0.0);
        }
    }

    #[test]
    fn one_backward_pass_serves_the_loss_and_the_penalty_of_several_weights() {
        let (two, three) = (group::parse("C2").unwrap(), group::parse("C3").unwrap());
        let dense = |group| {
            let regular = rep::regular(group).unwrap();
            KernelSpace::dense(&regular, &regular).unwrap()
        };
        let config = PenaltyConfig { lambda_g: 0.1, lambda_perp: 2.0, ..PenaltyConfig::default() };
        let weights = [("a", &dense(&two)), ("b", &dense(&three))];
        let penalty = AssembledPenalty::new(&weights, config, Kind::Double, Device::Cpu).unwrap();
        let mut builder = Parameters::builder();
        builder.real("t", &[13], &(0..13).map(|i| f64::from(i).sin()).collect::<Vec<_>>()).unwrap();
        let parameters = builder.build(Kind::Double, Device::Cpu).unwrap();
        let assemble = || {
            let t = parameters.get("t").unwrap().exp();
            [t.narrow(0, 0, 4).view([2, 2]), t.narrow(0, 4, 9).view([3, 3])]
        };
        let loss = |weights: &[Tensor; 2]| weights[0].sin().sum(Kind::Double) + weights[1].cos().sum(Kind::Double);
        let apart = parameters.gradient(&loss(&assemble())).unwrap();
        let value = penalty.add_gradient(&parameters, &assemble(), &apart).unwrap();
        let assembled = assemble();
        let (again, surrogate) = penalty.surrogate(&assembled).unwrap();
        let together = parameters.gradient(&(loss(&assembled) + surrogate)).unwrap();
        assert!((apart - together).abs().max().double_value(&[]) < 1e-12);
        assert_eq!(value.double_value(&[]), again.double_value(&[]));
        let [a, b] = assemble();
        assert!(penalty.surrogate(&[b, a]).is_err());
        // On the tape of nothing there is no gradient.
        let detached = assemble().map(|weight| weight.detach());
        assert!(penalty.add_gradient(&parameters, &detached, &parameters.flat().zeros_like()).is_err());
    }

    #[test]
    fn weights_that_do_not_fit_are_errors() {
        let regular = rep::regular(&group::parse("C2").unwrap()).unwrap();
        let space = KernelSpace::dense(&regular, &regular).unwrap();
        let config = PenaltyConfig::default();
        let penalty = AssembledPenalty::new(&[("w", &space)], config, Kind::Float, Device::Cpu).unwrap();
        let mut builder = Parameters::builder();
        builder.real("a", &[3, 2], &[0.0; 6]).unwrap();
        let parameters = builder.build(Kind::Float, Device::Cpu).unwrap();
        let gradient = parameters.flat().zeros_like();
        assert!(penalty.add_gradient(&parameters, &[parameters.get("a").unwrap()], &gradient).is_err());
        assert!(penalty.add_gradient(&parameters, &[], &gradient).is_err());
    }
}
