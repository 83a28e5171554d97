//! `[penalty]`: strength and shape of the penalty, when it acts, and λ_⊥ over time.

use reynolds::norm::Norm;
use reynolds::penalty::{Form, PenaltyConfig};
use reynolds_torch::anneal::{Anneal, Shape};
use reynolds_torch::parametrisation::Parametrisation;
use reynolds_torch::proximal::Scope;
use serde::{Deserialize, Serialize};

use super::train::under;
use super::{above_zero, at_least_zero};
use crate::error::{Error, Result};

/// When the penalty acts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PenaltyStep {
    /// Its gradient is added to that of the loss.
    #[default]
    Gradient,
    /// Its proximal map is applied to the weights after the optimiser's step: [`reynolds::proximal`].
    Decoupled,
}

/// How a target is reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TargetBy {
    /// W − P(W) is scaled down where it is too long, after every step.
    #[default]
    Scaling,
    /// λ_⊥ rises while W − P(W) is too long and falls while it is too short.
    Dual,
}

/// `[penalty]`: [`PenaltyConfig`] as a user writes it, when it acts, and how λ_⊥ is reached.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct PenaltySettings {
    /// λ_G, the strength on P(W).
    pub lambda_g: f64,
    /// λ_⊥, the strength on W − P(W).
    pub lambda_perp: f64,
    /// `squared`: λ_G‖P(W)‖² + λ_⊥‖W − P(W)‖² (section 3 of the paper); `plain`: the norms are not squared (section 4.1).
    #[serde(with = "FormName")]
    pub form: Form,
    /// λ_G acts on ‖W‖, not on ‖P(W)‖.
    pub whole: bool,
    /// `frobenius`, `spectral`, `max` or `"(p,q)"`, the q-norm of the p-norms of the output channels, with p and q in 1, 2, 3: `--set
    /// 'penalty.norm="(2,1)"'`.
    #[serde(with = "norm")]
    pub norm: Norm,
    /// `gradient`: the penalty is added to the loss, as in the paper; `decoupled`: a step of its own after the optimiser's.
    pub step: PenaltyStep,
    /// With `form=plain step=decoupled`: λ_⊥ times √(real dimension of the complement), λ_G times √(real rank of P), with `whole` √(real
    /// dimension of W), so that one value serves layers of all sizes; `false` turns it off.
    pub scale: bool,
    /// With `step=decoupled`: factors on both λ by parameter, `--set 'penalty.per_layer=["first.weight=0.5"]'`.
    pub per_layer: Vec<String>,
    /// τ, in place of λ_⊥: keeps ‖W − P(W)‖ ≤ τ‖W‖, for 0 ≤ τ < 1 (0: exactly equivariant); `none`: no target.
    #[serde(with = "target")]
    pub target: Option<f64>,
    /// τ holds for every `layer`, or for the `network` as a whole.
    #[serde(with = "ScopeName")]
    pub target_scope: Scope,
    /// `scaling`: W − P(W) is scaled down after every step; `dual`: λ_⊥ ← max(0, λ_⊥ + `target_rate`·(‖W − P(W)‖/‖W‖ − τ)).
    pub target_by: TargetBy,
    /// For `target_by=dual`: how fast λ_⊥ moves.
    pub target_rate: f64,
    /// The factor on λ_⊥ over time.
    pub anneal: Anneal,
}

impl Default for PenaltySettings {
    fn default() -> Self {
        let PenaltyConfig { lambda_g, lambda_perp, norm, form, whole } = PenaltyConfig::default();
        Self {
            lambda_g,
            lambda_perp,
            form,
            whole,
            norm,
            step: PenaltyStep::Gradient,
            scale: true,
            per_layer: Vec::new(),
            target: None,
            target_scope: Scope::Layer,
            target_by: TargetBy::Scaling,
            target_rate: 1.0,
            anneal: Anneal::default(),
        }
    }
}

impl PenaltySettings {
    /// Checks ranges, and which keys go together.
    pub(super) fn validate(&self) -> Result<()> {
        at_least_zero("penalty.lambda_g", self.lambda_g)?;
        at_least_zero("penalty.lambda_perp", self.lambda_perp)?;
        self.anneal.validate().map_err(|error| under("penalty.anneal", error))?;
        if let Some(target) = self.target.filter(|target| !(0.0..1.0).contains(target)) {
            let expected = "\"none\" or a number from 0, below 1";
            return Err(Error::config("penalty.target", expected, target));
        }
        above_zero("penalty.target_rate", self.target_rate)?;
        self.layer_factors()?;
        let (decoupled, target) = (self.step == PenaltyStep::Decoupled, self.has_target());
        let dual = self.target_by == TargetBy::Dual;
        let (norm, shape) = (format!("\"{}\"", self.norm), format!("\"{:?}\"", self.anneal.shape).to_lowercase());
        let refused = [
            (
                (decoupled || target) && self.norm != Norm::Frobenius,
                "norm",
                "\"frobenius\" with a decoupled step or a target",
                norm,
            ),
            (
                !decoupled && !self.per_layer.is_empty(),
                "per_layer",
                "[] unless step = \"decoupled\"",
                format!("{:?}", self.per_layer),
            ),
            (
                !self.scale && (!decoupled || self.form != Form::Plain),
                "scale",
                "true unless step = \"decoupled\" and form = \"plain\"",
                "false".into(),
            ),
            (
                target && self.lambda_g == 0.0 && !self.per_layer.is_empty(),
                "per_layer",
                "[] with a target, unless lambda_g is above 0",
                format!("{:?}", self.per_layer),
            ),
            (target && self.lambda_perp != 0.0, "lambda_perp", "0 with a target", self.lambda_perp.to_string()),
            (target && self.anneal.shape != Shape::Constant, "anneal.shape", "\"constant\" with a target", shape),
            (
                !target && self.target_scope != Scope::Layer,
                "target_scope",
                "\"layer\" without a target",
                "\"network\"".into(),
            ),
            (!target && dual, "target_by", "\"scaling\" without a target", "\"dual\"".into()),
            (
                !dual && self.target_rate != Self::default().target_rate,
                "target_rate",
                "1 unless target_by = \"dual\"",
                self.target_rate.to_string(),
            ),
        ];
        first(refused)
    }

    /// Refuses to change weights after a step that are made of other trained numbers.
    pub(super) fn check_parametrisation(&self, kind: Parametrisation) -> Result<()> {
        let made = kind != Parametrisation::Free;
        first([
            (
                made && self.step == PenaltyStep::Decoupled,
                "step",
                "\"gradient\" unless train.parametrisation.kind = \"free\"",
                "\"decoupled\"".into(),
            ),
            (
                made && self.has_target(),
                "target",
                "\"none\" unless train.parametrisation.kind = \"free\"",
                target::text(self.target),
            ),
        ])
    }

    /// The penalty with λ_⊥ at its full strength.
    pub fn penalty(&self) -> PenaltyConfig {
        let Self { lambda_g, lambda_perp, form, whole, norm, .. } = *self;
        PenaltyConfig { lambda_g, lambda_perp, norm, form, whole }
    }

    /// Whether there is neither a penalty nor a target.
    pub fn is_zero(&self) -> bool {
        !self.has_strength() && !self.has_target()
    }

    /// Whether λ_G or λ_⊥ is above 0.
    pub(crate) fn has_strength(&self) -> bool {
        self.lambda_g != 0.0 || self.lambda_perp != 0.0
    }

    /// Whether the residual is bounded.
    pub fn has_target(&self) -> bool {
        self.target.is_some()
    }

    /// λ_⊥ at a time in epochs.
    pub fn lambda_perp_at(&self, time: f64) -> f64 {
        self.lambda_perp * self.anneal.factor(time)
    }

    /// Name and factor of each parameter of `per_layer`.
    pub(crate) fn layer_factors(&self) -> Result<Vec<(String, f64)>> {
        let read = |text: &String| {
            let (name, factor) = text.rsplit_once('=')?;
            let factor: f64 = factor.trim().parse().ok()?;
            (factor.is_finite() && factor >= 0.0).then_some((name.trim().to_string(), factor))
        };
        let expected = "\"NAME=FACTOR\" with a finite factor, at least 0";
        let refused = |expected, name: &str| Error::config("penalty.per_layer", expected, format!("\"{name}\""));
        let mut factors: Vec<(String, f64)> = Vec::new();
        for text in &self.per_layer {
            let (name, factor) = read(text).ok_or_else(|| refused(expected, text))?;
            if factors.iter().any(|(known, _)| *known == name) {
                return Err(refused("each parameter once", &name));
            }
            factors.push((name, factor));
        }
        Ok(factors)
    }

    /// Refuses what changes the regularised weights after a step, for models that assemble them from other parameters.
    pub fn check_assembled(&self) -> Result<()> {
        let why = "the regularised weights of this model are assembled from factors, which have no proximal step";
        if self.has_target() {
            return Err(Error::config("penalty.target", format!("\"none\": {why}"), target::text(self.target)));
        }
        if self.step == PenaltyStep::Decoupled {
            return Err(Error::config("penalty.step", format!("\"gradient\": {why}"), "\"decoupled\""));
        }
        Ok(())
    }

    /// The error of a task that has no regularised parameters.
    pub(crate) fn not_applicable(&self) -> Error {
        let (key, off, value) = match self {
            _ if self.has_target() => ("penalty.target", "\"none\"", target::text(self.target)),
            _ if self.lambda_perp > 0.0 => ("penalty.lambda_perp", "0", self.lambda_perp.to_string()),
            _ if self.lambda_g == 0.0 => ("penalty.per_layer", "[]", format!("{:?}", self.per_layer)),
            _ => ("penalty.lambda_g", "0", self.lambda_g.to_string()),
        };
        Error::config(key, format!("{off}: this model has no regularised parameters"), value)
    }
}

/// The first that is refused: whether it is, the key, what was expected there and what was found.
fn first<const N: usize>(refused: [(bool, &str, &str, String); N]) -> Result<()> {
    match refused.into_iter().find(|(refused, ..)| *refused) {
        Some((_, key, expected, found)) => Err(Error::config(format!("penalty.{key}"), expected, found)),
        None => Ok(()),
    }
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "Form", rename_all = "lowercase")]
enum FormName {
    Squared,
    Plain,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "Scope", rename_all = "lowercase")]
enum ScopeName {
    Layer,
    Network,
}

mod norm {
    //! Serde of [`Norm`], by its name.
    use super::Norm;
    use serde::{Deserialize, Deserializer, Serializer, de::Error};

    pub(super) fn serialize<S: Serializer>(norm: &Norm, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(norm)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Norm, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(D::Error::custom)
    }
}

mod target {
    //! Serde of a target: a number, or "none".
    use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error};

    use super::super::NONE;

    pub(super) fn text(target: Option<f64>) -> String {
        target.map_or_else(|| format!("{NONE:?}"), |tau| tau.to_string())
    }

    #[derive(Serialize, Deserialize)]
    #[serde(untagged)]
    enum Written {
        Number(f64),
        Text(String),
    }

    pub(super) fn serialize<S: Serializer>(target: &Option<f64>, serializer: S) -> Result<S::Ok, S::Error> {
        target.map_or_else(|| Written::Text(NONE.into()), Written::Number).serialize(serializer)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<f64>, D::Error> {
        match Written::deserialize(deserializer) {
            Ok(Written::Number(tau)) => Ok(Some(tau)),
            Ok(Written::Text(text)) if text == NONE => Ok(None),
            _ => Err(D::Error::custom("expected \"none\" or a number")),
        }
    }
}
