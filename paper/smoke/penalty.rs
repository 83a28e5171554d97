//! The projection penalty of a network that forecasts smoke, as the training loop asks for it.

use std::rc::Rc;

use crate::smoke::networks::NetworkPenalty;
use reynolds::norm::Norm;
use reynolds::penalty::{Form, PenaltyConfig};
use reynolds_torch::Parameters;
use reynolds_torch::tch::Tensor;

use reynolds_train::config::at_least_zero;
use reynolds_train::error::{Error, Result};
use reynolds_train::regulariser::Regulariser;

/// Refuses what these networks have no gradient for.
pub(super) fn check(penalty: &PenaltyConfig) -> Result<()> {
    let refused = |key: &str, expected: &str, found: String| {
        let why = "for the penalty of these networks is the squared Frobenius norm";
        Err(Error::config(key, format!("{expected}, {why}"), found))
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

/// λ_G Σ‖P(W)‖² + λ_⊥ Σ‖W − P(W)‖² on the parameters of a task.
pub(super) struct HeldNetwork {
    penalty: Rc<dyn NetworkPenalty>,
    parameters: Rc<Parameters>,
    lambda_g: f64,
    lambda_perp: f64,
}

impl HeldNetwork {
    pub(super) fn new(penalty: Rc<dyn NetworkPenalty>, parameters: Rc<Parameters>, config: PenaltyConfig) -> Self {
        Self { penalty, parameters, lambda_g: config.lambda_g, lambda_perp: config.lambda_perp }
    }
}

impl Regulariser for HeldNetwork {
    fn add_gradient(&self, _flat: &Tensor, gradient: &mut Tensor) -> Result<()> {
        let _value = self.penalty.add_gradient(&self.parameters, self.lambda_g, self.lambda_perp, gradient)?;
        Ok(())
    }

    fn value(&self, flat: &Tensor) -> Result<Tensor> {
        let unused = flat.f_zeros_like()?;
        Ok(self.penalty.add_gradient(&self.parameters, self.lambda_g, self.lambda_perp, &unused)?)
    }

    fn set_lambda_perp(&mut self, lambda_perp: f64) -> Result<()> {
        at_least_zero("penalty.lambda_perp", lambda_perp)?;
        self.lambda_perp = lambda_perp;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_no_gradient_is_refused_by_its_key() {
        let with = |change: fn(&mut PenaltyConfig)| {
            let mut config = PenaltyConfig { lambda_perp: 0.1, ..PenaltyConfig::default() };
            change(&mut config);
            check(&config).map_err(|error| error.to_string())
        };
        assert!(with(|_| {}).is_ok());
        let why = ", for the penalty of these networks is the squared Frobenius norm, found";
        let message = |text: &str, found: &str| Err(format!("config: penalty.{text}{why} {found}"));
        assert_eq!(with(|c| c.norm = Norm::Spectral), message("norm: expected \"frobenius\"", "\"spectral\""));
        assert_eq!(with(|c| c.form = Form::Plain), message("form: expected \"squared\"", "\"plain\""));
        assert_eq!(with(|c| c.whole = true), message("whole: expected false", "true"));
    }
}
