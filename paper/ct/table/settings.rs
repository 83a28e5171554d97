//! The settings of the CT targets.
//!
//! ```text
//! table-ct     Modes + Costs + Training { seeds, networks, …, run: every key of a run }
//! table-norms  Norms + Costs + Training
//! fig-ct       Modes         + Training
//! ```

use reynolds::norm::Norm;
use reynolds_torch::Precision;
use reynolds_train::config::{Settings, at_least_one, part};
use reynolds_train::error::{Error, Result};
use serde::{Deserialize, Serialize};

use super::row::{Mode, Row};
use super::training::{RENAMED, Training};
use crate::ct::networks::Architecture;
use crate::targets::{Chosen, Named};

/// What is measured besides.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Costs {
    /// Whether costs are measured.
    pub(super) efficiency: bool,
    /// Pixels along a side of an image.
    pub(super) measured_side: usize,
    pub(super) measured_steps: usize,
    /// Images of a minibatch, increasing.
    pub(super) measured_batches: Vec<usize>,
    pub(super) measured_precision: Precision,
    /// Whether the sample-based penalty is measured at every batch, and not at the smallest alone.
    pub(super) sample_at_largest: bool,
}

/// The rows of `table-ct` and `fig-ct`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Modes {
    pub(super) modes: Chosen<Mode>,
}

/// The rows of `table-norms`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Norms {
    pub(super) norms: Chosen<Norm>,
}

/// No costs: a figure has none.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Free {}

/// All settings of a target.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct TargetSettings<Rows, Costs> {
    #[serde(flatten)]
    pub(super) rows: Rows,
    #[serde(flatten)]
    pub(super) costs: Costs,
    #[serde(flatten)]
    pub(super) training: Training,
}

impl Settings for Costs {
    fn validate(&self) -> Result<()> {
        if !self.efficiency {
            return Ok(());
        }
        at_least_one("measured_side", self.measured_side)?;
        at_least_one("measured_steps", self.measured_steps)?;
        let batches = &self.measured_batches;
        if batches.is_empty() || batches[0] == 0 || !batches.is_sorted_by(|a, b| a < b) {
            return Err(Error::config("measured_batches", "increasing numbers, at least 1", format!("{batches:?}")));
        }
        Ok(())
    }
}

impl Settings for Modes {}
impl Settings for Norms {}
impl Settings for Free {}

impl<Rows: Settings, Costs: Settings> Settings for TargetSettings<Rows, Costs> {
    fn validate(&self) -> Result<()> {
        self.rows.validate()?;
        self.costs.validate()?;
        self.training.validate()
    }

    fn check_kind(&self, defaults: &Self) -> Result<()> {
        self.training.check_kind(&defaults.training)
    }

    fn check_parts(tree: &reynolds_train::config::Tree) -> Result<()> {
        Training::check_parts(tree)?;
        part::<Rows>(tree, |_| true)?;
        part::<Costs>(tree, |_| true).map(drop)
    }

    fn renamed() -> &'static [(&'static str, &'static str)] {
        RENAMED
    }
}

impl TargetSettings<Modes, Costs> {
    /// The rows that are asked for, network by network.
    pub(super) fn rows(&self) -> Vec<(Row, Norm)> {
        self.training.rows(self.rows.modes.as_slice())
    }
}

impl TargetSettings<Modes, Free> {
    /// The rows that are asked for and the plain ones, whose models keep what every network sees.
    pub(super) fn rows(&self) -> Vec<(Row, Norm)> {
        let with_plain = |mode: &Mode| *mode == Mode::Plain || self.rows.modes.contains(*mode);
        self.training.rows(&Mode::ALL.iter().copied().filter(with_plain).collect::<Vec<_>>())
    }
}

impl TargetSettings<Norms, Costs> {
    /// Each network without the penalty, then every norm.
    pub(super) fn rows(&self) -> Vec<(Row, Norm)> {
        let of = |network: Architecture| {
            let plain = (Row { network, mode: Mode::Plain }, Norm::Frobenius);
            let norms = self.rows.norms.iter().map(move |norm| (Row { network, mode: Mode::Penalty }, norm));
            std::iter::once(plain).chain(norms)
        };
        self.training.networks.iter().flat_map(of).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::super::cost::RowCost;
    use super::super::synthetic::table;
    use super::*;
    use reynolds_train::config;

    #[test]
    fn the_sample_based_penalty_may_be_measured_at_the_smallest_batch_alone() {
        let settings = table(&[("sample_at_largest", "false")]);
        let batches = |mode| {
            let row = Row { network: Architecture::Dicdnet, mode };
            RowCost::new(&settings.costs, &settings.training, row, Norm::Frobenius).batches
        };
        assert_eq!((batches(Mode::Plain), batches(Mode::Sample)), (vec![4, 12], vec![4]));
    }

    #[test]
    fn a_reader_is_shown_what_differs_and_of_the_networks_those_that_are_trained() {
        let settings = table(&[("networks", "oscnet")]);
        let shown = settings.training.shown(config::lines(&settings));
        let value = |key: &str| shown.iter().find(|(other, _)| other == key).map(|(_, value)| value.as_str());
        assert_eq!(
            (value("epochs.oscnet"), value("epochs.acdnet"), value("sample_weight.dicdnet")),
            (Some("0"), None, None)
        );
        assert_eq!((value("data.side"), value("train.epochs"), value("seeds")), (Some("64"), Some("4"), Some("1")));
        assert_eq!((value("model.stages"), value("experiment")), (None, None), "as in every run");
    }
}
