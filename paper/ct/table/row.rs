//! The rows of the table: three networks, each trained in five ways.

use serde::{Deserialize, Serialize};

pub(super) use crate::ct::CtMode as Mode;
use crate::ct::networks::Architecture;
use crate::targets::Named;

/// Networks in the order of the paper.
pub(super) const NETWORKS: [Architecture; 3] = [Architecture::Acdnet, Architecture::Dicdnet, Architecture::Oscnet];

/// As in the paper.
pub(super) fn head(network: Architecture) -> &'static str {
    match network {
        Architecture::Acdnet => "ACDNet",
        Architecture::Dicdnet => "DICDNet",
        Architecture::Oscnet => "OSCNet",
    }
}

impl Named for Architecture {
    const ALL: &'static [Self] = &NETWORKS;

    fn name(self) -> String {
        head(self).to_lowercase()
    }
}

/// A number for each network.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct PerNetwork<T> {
    pub(super) acdnet: T,
    pub(super) dicdnet: T,
    pub(super) oscnet: T,
}

impl<T: Copy> PerNetwork<T> {
    pub(super) fn of(&self, network: Architecture) -> T {
        match network {
            Architecture::Acdnet => self.acdnet,
            Architecture::Dicdnet => self.dicdnet,
            Architecture::Oscnet => self.oscnet,
        }
    }
}

/// What tables need to know of a mode.
pub(super) trait InTable: Copy {
    /// As in the table.
    fn head(self) -> &'static str;

    /// The mode whose weights it has: test-time projection trains nothing of its own.
    fn trained_as(self) -> Self;

    /// Before the names of its metrics in what came of the model it is trained as.
    fn prefix(self) -> &'static str;
}

impl InTable for Mode {
    fn head(self) -> &'static str {
        match self {
            Self::Plain => "plain",
            Self::Sample => "+ sample-based",
            Self::Projected => "+ test-time projection",
            Self::Rpp => "+ RPP",
            Self::Penalty => "+ projection penalty (ours)",
        }
    }

    fn trained_as(self) -> Self {
        if self == Self::Projected { Self::Plain } else { self }
    }

    fn prefix(self) -> &'static str {
        if self == Self::Projected { "projected/" } else { "" }
    }
}

/// A network in a mode.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Row {
    pub(super) network: Architecture,
    pub(super) mode: Mode,
}

impl Row {
    /// "DICDNet + RPP", "DICDNet".
    pub(super) fn label(self) -> String {
        match self.mode {
            Mode::Plain => head(self.network).into(),
            mode => format!("{} {}", head(self.network), mode.head()),
        }
    }

    /// "dicdnet-rpp".
    pub(super) fn name(self) -> String {
        format!("{}-{}", self.network.name(), self.mode.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_are_fifteen_rows_with_names_of_their_own_and_twelve_that_are_trained() {
        let rows = || NETWORKS.into_iter().flat_map(|network| Mode::ALL.iter().map(move |&mode| Row { network, mode }));
        let names: std::collections::BTreeSet<String> = rows().map(Row::name).collect();
        assert_eq!((names.len(), rows().filter(|row| row.mode.trained_as() == row.mode).count()), (15, 12));
        let label = Row { network: Architecture::Dicdnet, mode: Mode::Penalty }.label();
        assert_eq!(label, "DICDNet + projection penalty (ours)");
    }
}
