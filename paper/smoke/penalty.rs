//! The projection penalty of layers whose kernels are assembled from filters ψ and mixing weights w: P acts on w, the network assembles.
//!
//! ```text
//! λ_G Σ‖A(ψ, P(w))‖² + λ_⊥ Σ‖A(ψ, w − P(w))‖²        Frobenius, over the relaxed layers; the gradient by the tape, to w and ψ
//! ```
//!
//! Where P on w is the Reynolds projection of the kernels, as for shifts and turns, this is λ_G Σ‖P(W)‖² + λ_⊥ Σ‖W − P(W)‖².

use std::rc::Rc;

use reynolds::norm::Norm;
use reynolds::penalty::{Form, PenaltyConfig};
use reynolds_torch::Parameters;
use reynolds_torch::tch::{self, Kind, Tensor};

use crate::network::{Component, Network};
use reynolds_train::config::{PenaltySettings, at_least_zero};
use reynolds_train::error::{Error, Result};
use reynolds_train::regulariser::Regulariser;

/// Refuses settings that these networks have no penalty for.
pub(super) fn check_settings(penalty: &PenaltySettings) -> Result<()> {
    penalty.check_assembled()?;
    check(&penalty.penalty())
}

pub(super) fn check(penalty: &PenaltyConfig) -> Result<()> {
    let refused = |key: &str, expected: &str, found: String| {
        let why = "these networks have the squared Frobenius norm alone";
        Err(Error::config(key, format!("{expected} ({why})"), found))
    };
    if penalty.norm != Norm::Frobenius {
        return refused("penalty.norm", "\"frobenius\"", format!("\"{}\"", penalty.norm));
    }
    if penalty.form != Form::Squared {
        return refused("penalty.form", "\"squared\"", "\"plain\"".into());
    }
    if penalty.whole {
        return refused("penalty.whole", "false", "true".into());
    }
    Ok(())
}

/// Adds the gradient by the flat parameters to `gradient`, `[len]`, in place; returns the penalty, a 0-d tensor off the tape. Does not
/// synchronise; a term of strength 0 in [λ_G, λ_⊥] costs nothing. May be called under `no_grad`.
pub fn add_gradient(
    network: &dyn Network,
    parameters: &Parameters,
    strengths: [f64; 2],
    gradient: &mut Tensor,
) -> Result<Tensor> {
    tch::with_grad(|| {
        let mut terms = Vec::new();
        for (component, strength) in [Component::Equivariant, Component::Perp].into_iter().zip(strengths) {
            if strength != 0.0
                && let Some(energy) = network.energy(parameters, component)?
            {
                terms.push(energy.f_mul_scalar(strength)?);
            }
        }
        let value = match &terms[..] {
            [] => return Ok(Tensor::f_zeros([], (gradient.kind(), gradient.device()))?),
            [term] => term.shallow_clone(),
            [first, rest @ ..] => first.f_add(&rest[0])?,
        };
        parameters.add_gradient(&value, gradient)?;
        Ok(value.f_detach()?)
    })
}

/// Both energies, in double precision; `None` if no layer is relaxed.
pub fn energies(network: &dyn Network, parameters: &Parameters) -> Result<Option<(f64, f64)>> {
    let _guard = tch::no_grad_guard();
    let parameters = parameters.to_kind(Kind::Double)?;
    let energy = |component: Component| -> Result<Option<f64>> {
        Ok(network.energy(&parameters, component)?.map(|energy| energy.f_double_value(&[])).transpose()?)
    };
    Ok(energy(Component::Equivariant)?.zip(energy(Component::Perp)?))
}

/// The penalty of a network for the training loop.
pub(super) struct AssembledPenalty {
    pub(super) network: Rc<dyn Network>,
    /// [λ_G, λ_⊥].
    pub(super) strengths: [f64; 2],
}

impl Regulariser for AssembledPenalty {
    fn add_gradient(&self, parameters: &Parameters, gradient: &mut Tensor) -> Result<()> {
        add_gradient(&*self.network, parameters, self.strengths, gradient).map(drop)
    }

    fn value(&self, parameters: &Parameters) -> Result<Tensor> {
        add_gradient(&*self.network, parameters, self.strengths, &mut parameters.flat().f_zeros_like()?)
    }

    fn set_lambda_perp(&mut self, lambda_perp: f64) -> Result<()> {
        at_least_zero("penalty.lambda_perp", lambda_perp)?;
        self.strengths[1] = lambda_perp;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use reynolds_train::config::PenaltyStep;

    use super::*;

    #[test]
    fn what_has_no_gradient_is_refused_by_its_key() {
        let with = |change: fn(&mut PenaltyConfig)| {
            let mut config = PenaltyConfig { lambda_perp: 0.1, ..PenaltyConfig::default() };
            change(&mut config);
            check(&config).map_err(|error| error.to_string())
        };
        assert!(with(|_| {}).is_ok());
        let why = " (these networks have the squared Frobenius norm alone), found";
        let message = |text: &str, found: &str| Err(format!("config: penalty.{text}{why} {found}"));
        assert_eq!(with(|c| c.norm = Norm::Spectral), message("norm: expected \"frobenius\"", "\"spectral\""));
        assert_eq!(with(|c| c.form = Form::Plain), message("form: expected \"squared\"", "\"plain\""));
        assert_eq!(with(|c| c.whole = true), message("whole: expected false", "true"));
        for lambda_perp in [0.0, 1.0] {
            let settings = PenaltySettings { step: PenaltyStep::Decoupled, lambda_perp, ..PenaltySettings::default() };
            let decoupled = check_settings(&settings).unwrap_err().to_string();
            let expected = "config: penalty.step: expected \"gradient\": the regularised weights";
            assert!(decoupled.starts_with(expected), "{decoupled}");
        }
        let target = check_settings(&PenaltySettings { target: Some(0.1), ..PenaltySettings::default() })
            .unwrap_err()
            .to_string();
        assert!(target.starts_with("config: penalty.target: expected \"none\": the regularised weights"), "{target}");
    }
}
