//! `[penalty]`: strength and shape of the penalty, and λ_⊥ over time.

use reynolds::norm::Norm;
use reynolds::penalty::{Form, PenaltyConfig};
use reynolds_torch::anneal::Anneal;
use serde::{Deserialize, Serialize};

use super::at_least_zero;
use super::train::under;
use crate::error::{Error, Result};

/// `[penalty]`: [`PenaltyConfig`] as a user writes it, and how λ_⊥ is reached.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct PenaltySettings {
    /// λ_G, on the equivariant part.
    pub lambda_g: f64,
    /// λ_⊥, on the rest.
    pub lambda_perp: f64,
    /// "squared" or "plain".
    #[serde(with = "FormName")]
    pub form: Form,
    /// Put λ_G on the whole W instead of P(W).
    pub whole: bool,
    /// "frobenius", "spectral", "max" or "(p,q)", the q-norm of the p-norms of the output channels, with p and q among 1, 2, 3.
    #[serde(with = "norm")]
    pub norm: Norm,
    /// The factor on λ_⊥ over time.
    pub anneal: Anneal,
}

impl Default for PenaltySettings {
    fn default() -> Self {
        let PenaltyConfig { lambda_g, lambda_perp, norm, form, whole } = PenaltyConfig::default();
        Self { lambda_g, lambda_perp, form, whole, norm, anneal: Anneal::default() }
    }
}

impl PenaltySettings {
    /// Checks ranges.
    pub(super) fn validate(&self) -> Result<()> {
        at_least_zero("penalty.lambda_g", self.lambda_g)?;
        at_least_zero("penalty.lambda_perp", self.lambda_perp)?;
        self.anneal.validate().map_err(|error| under("penalty.anneal", error))
    }

    /// The penalty with λ_⊥ at its full strength.
    pub fn penalty(&self) -> PenaltyConfig {
        let Self { lambda_g, lambda_perp, form, whole, norm, .. } = *self;
        PenaltyConfig { lambda_g, lambda_perp, norm, form, whole }
    }

    /// Whether there is no penalty at all.
    pub fn is_zero(&self) -> bool {
        self.lambda_g == 0.0 && self.lambda_perp == 0.0
    }

    /// λ_⊥ at a time in epochs.
    pub fn lambda_perp_at(&self, time: f64) -> f64 {
        self.lambda_perp * self.anneal.factor(time)
    }

    /// The error of a task that has nothing to hold against a group.
    pub(crate) fn not_applicable(&self) -> Error {
        let key = if self.lambda_perp > 0.0 { "penalty.lambda_perp" } else { "penalty.lambda_g" };
        let value = if self.lambda_perp > 0.0 { self.lambda_perp } else { self.lambda_g };
        Error::config(key, "0, for this model has no parameter that is held against a group", value)
    }
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "Form", rename_all = "lowercase")]
enum FormName {
    Squared,
    Plain,
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
