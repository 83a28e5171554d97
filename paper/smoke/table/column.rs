//! The columns of the table, and the sizes that their networks have at full width.

use crate::smoke::data::Kind;
use crate::smoke::networks::Architecture;

/// A column of the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Column {
    Conv,
    Equiv,
    Rpp,
    Clcnn,
    Lift,
    Rgroup,
    RgroupReg,
    Rsteer,
    RsteerReg,
}

impl Column {
    /// In the order of the paper.
    pub(super) const ALL: [Self; 9] = [
        Self::Conv,
        Self::Equiv,
        Self::Rpp,
        Self::Clcnn,
        Self::Lift,
        Self::Rgroup,
        Self::RgroupReg,
        Self::Rsteer,
        Self::RsteerReg,
    ];

    /// As in the head of the table.
    pub(super) fn head(self) -> &'static str {
        match self {
            Self::Conv => "Conv",
            Self::Equiv => "Equiv",
            Self::Rpp => "RPP",
            Self::Clcnn => "CLCNN",
            Self::Lift => "Lift",
            Self::Rgroup => "RGroup",
            Self::RgroupReg => "RGroup+Reg",
            Self::Rsteer => "RSteer",
            Self::RsteerReg => "RSteer+Reg",
        }
    }

    /// As in settings, in files and in CSV.
    pub(super) fn name(self) -> String {
        self.head().to_lowercase()
    }

    /// The name of its network in settings.
    pub(super) fn network(self) -> String {
        self.without_penalty().unwrap_or(self).name()
    }

    /// Its network.
    pub(super) fn architecture(self) -> Architecture {
        match self {
            Self::Conv => Architecture::Conv,
            Self::Equiv => Architecture::Equiv,
            Self::Rpp => Architecture::Rpp,
            Self::Clcnn => Architecture::Clcnn,
            Self::Lift => Architecture::Lift,
            Self::Rgroup | Self::RgroupReg => Architecture::Rgroup,
            Self::Rsteer | Self::RsteerReg => Architecture::Rsteer,
        }
    }

    /// The column of the same network without the penalty; `None` if this one has none.
    pub(super) fn without_penalty(self) -> Option<Self> {
        match self {
            Self::RgroupReg => Some(Self::Rgroup),
            Self::RsteerReg => Some(Self::Rsteer),
            _ => None,
        }
    }

    /// Whether the table has it in a row: under translation Conv is Equiv, and there is no RSteer.
    pub(super) fn exists(self, kind: Kind) -> bool {
        kind != Kind::Translation || !matches!(self, Self::Conv | Self::Rsteer | Self::RsteerReg)
    }
}

/// The networks in the order of their columns, by the names of settings.
pub(super) const ARCHITECTURES: [(Architecture, &str); 7] = [
    (Architecture::Conv, "conv"),
    (Architecture::Equiv, "equiv"),
    (Architecture::Rpp, "rpp"),
    (Architecture::Clcnn, "clcnn"),
    (Architecture::Lift, "lift"),
    (Architecture::Rgroup, "rgroup"),
    (Architecture::Rsteer, "rsteer"),
];

/// Whether a row has a column of this network.
pub(super) fn has(kind: Kind, architecture: Architecture) -> bool {
    Column::ALL.iter().any(|column| column.architecture() == architecture && column.exists(kind))
}

/// Hidden size at width 1: published for RGroup of translation and RSteer of rotation; RSteer of scaling is published with 64, which has
/// 16.8 million parameters, and has 48 here, below the cap of ten million; RGroup of rotation as a later study chose it to match RSteer.
/// The others are ours: as many fields as RSteer in Equiv and RPP, as many channels as it has in all in Conv, and else what stays below
/// the cap.
pub(super) fn hidden(kind: Kind, architecture: Architecture) -> usize {
    match (kind, architecture) {
        (Kind::Rotation, Architecture::Rgroup) => 130,
        (Kind::Rotation, Architecture::Conv) => 4 * 92,
        (Kind::Scaling, Architecture::Conv) => 4 * 48,
        (Kind::Rotation, Architecture::Rsteer | Architecture::Equiv | Architecture::Rpp) => 92,
        (Kind::Scaling, Architecture::Rsteer | Architecture::Equiv | Architecture::Rpp) => 48,
        (Kind::Translation, Architecture::Rpp) => 6,
        (_, Architecture::Clcnn) => 6,
        (_, Architecture::Lift) => 64,
        (_, _) => 128,
    }
}

/// Filter banks of RGroup.
pub(super) fn banks(kind: Kind) -> usize {
    match kind {
        Kind::Rotation => 3,
        Kind::Translation | Kind::Scaling => 2,
    }
}

/// A hidden size by a factor, at least the smallest that the network can have, in whole multiples of that.
pub(super) fn scaled(architecture: Architecture, hidden: usize, width: f64) -> usize {
    let unit = match architecture {
        // A quarter or half of the fields are the encoder's.
        Architecture::Lift => 4,
        // Channels are pairs.
        Architecture::Clcnn => 2,
        _ => 1,
    };
    ((hidden as f64 * width / unit as f64).round() as usize).max(1) * unit
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn translation_has_six_columns_and_the_others_nine() {
        let count = |kind| Column::ALL.iter().filter(|column| column.exists(kind)).count();
        assert_eq!([Kind::Translation, Kind::Rotation, Kind::Scaling].map(count), [6, 9, 9]);
        assert!(!has(Kind::Translation, Architecture::Rsteer) && has(Kind::Scaling, Architecture::Conv));
    }

    #[test]
    fn sizes_stay_what_the_networks_can_have() {
        assert_eq!(scaled(Architecture::Rsteer, 92, 0.25), 23);
        assert_eq!(scaled(Architecture::Lift, 64, 0.1), 8);
        assert_eq!(scaled(Architecture::Clcnn, 6, 0.1), 2);
        assert_eq!(scaled(Architecture::Conv, 128, 1.0), 128);
    }
}
