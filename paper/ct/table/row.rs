//! The rows of the tables: a network in a mode, under a norm.

use reynolds::norm::Exponent::{One, Three, Two};
use reynolds::norm::{Exponent, Norm};

pub(super) use crate::ct::CtMode as Mode;
use crate::ct::networks::Architecture;
use crate::targets::Named;

/// As in the paper.
pub(super) fn head(network: Architecture) -> &'static str {
    ["ACDNet", "DICDNet", "OSCNet"][network as usize]
}

impl Named for Architecture {
    const ALL: &'static [Self] = &Architecture::ALL;

    fn name(self) -> String {
        head(self).to_lowercase()
    }
}

const fn entrywise(p: Exponent, q: Exponent) -> Norm {
    Norm::Entrywise { p, q }
}

impl Named for Norm {
    /// In the paper's order.
    const ALL: &'static [Self] = &[
        Norm::Spectral,
        Norm::Frobenius,
        Norm::Max,
        entrywise(One, One),
        entrywise(One, Two),
        entrywise(One, Three),
        entrywise(Two, One),
        entrywise(Two, Two),
        entrywise(Two, Three),
        entrywise(Three, One),
        entrywise(Three, Two),
        entrywise(Three, Three),
    ];

    fn name(self) -> String {
        self.to_string()
    }
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Row {
    pub(super) network: Architecture,
    pub(super) mode: Mode,
    /// Of the projection penalty.
    pub(super) norm: Norm,
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

    /// As a file can be named: "dicdnet-penalty-1-2" of the norm (1,2).
    pub(super) fn id(self) -> String {
        if self.mode != Mode::Penalty || self.norm == Norm::Frobenius {
            return self.name();
        }
        format!("{}-{}", self.name(), self.norm.to_string().trim_matches(['(', ')']).replace(',', "-"))
    }

    /// The row whose models it tests: test-time projection trains none of its own.
    pub(super) fn trained(self) -> Self {
        Self { mode: if self.mode == Mode::Projected { Mode::Plain } else { self.mode }, ..self }
    }
}
