//! The columns of the smoke table as data: networks, the sizes that they have at full width, and the published errors.
//!
//! Sizes are published for RGroup of translation and RSteer of rotation. RSteer of scaling is published with 64 (16.8 million parameters)
//! and has 48 here, below the cap of ten million; RGroup of rotation is that of a later study. The others are ours: Equiv and RPP have the
//! fields of RSteer, Conv as many channels as RSteer has in all, the rest what stays below the cap.

use super::*;
use crate::smoke::networks::Architecture::{self, Clcnn, Conv, Equiv, Lift, Rgroup, Rpp, Rsteer};
use crate::targets::published::Published;
use std::collections::BTreeMap;
use std::sync::LazyLock;

/// A network, with or without the penalty.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Column {
    pub(super) head: &'static str,
    pub(super) network: Architecture,
    /// Whether the projection penalty stands in place of the constraint that the network comes with.
    pub(super) reg: bool,
    /// Hidden size at width 1 under translation, rotation and scaling; 0 where the row does not have the column.
    hidden: [usize; 3],
    /// In figures, where +Reg is dashed.
    pub(super) colour: Colour,
}

const fn column(head: &'static str, network: Architecture, hidden: [usize; 3], colour: Colour) -> Column {
    Column { head, network, reg: false, hidden, colour }
}

const RGROUP: Column = column("RGroup", Rgroup, [128, 130, 128], Colour(0x00, 0x5a, 0xa0));
const RSTEER: Column = column("RSteer", Rsteer, [0, 92, 48], Colour(0xd5, 0x5e, 0x00));

/// In the order of the paper.
pub(super) const COLUMNS: [Column; 9] = [
    // Under translation Conv is Equiv.
    column("Conv", Conv, [0, 4 * 92, 4 * 48], Colour(0x56, 0xb4, 0xe9)),
    column("Equiv", Equiv, [128, 92, 48], Colour(0x00, 0x9e, 0x73)),
    column("RPP", Rpp, [6, 92, 48], Colour(0xcc, 0x79, 0xa7)),
    column("CLCNN", Clcnn, [6, 6, 6], Colour(0xc8, 0xaa, 0x00)),
    column("Lift", Lift, [64, 64, 64], Colour(0x8c, 0x56, 0x4b)),
    RGROUP,
    Column { head: "RGroup+Reg", reg: true, ..RGROUP },
    RSTEER,
    Column { head: "RSteer+Reg", reg: true, ..RSTEER },
];

static PAPER: LazyLock<Published> = LazyLock::new(|| Published::read(&[include_str!("../../published/smoke.toml")]));

impl Named for Column {
    const ALL: &'static [Self] = &COLUMNS;

    fn name(self) -> String {
        self.head.to_lowercase()
    }
}

impl Named for Symmetry {
    const ALL: &'static [Self] = &Symmetry::ALL;

    fn name(self) -> String {
        self.to_string()
    }
}

impl Column {
    pub(super) fn exists(self, kind: Symmetry) -> bool {
        self.hidden[kind as usize] > 0
    }

    /// The column of the same network without the penalty; `None` if this one has none.
    pub(super) fn without_penalty(self) -> Option<Self> {
        COLUMNS.into_iter().find(|other| self.reg && !other.reg && other.network == self.network)
    }

    /// The name of its network in settings.
    pub(super) fn network_name(self) -> String {
        self.without_penalty().unwrap_or(self).name()
    }

    /// The paper's mean and deviation; `None` where it has none.
    pub(super) fn published(self, kind: Symmetry, test: Subset) -> Option<(f64, f64)> {
        PAPER.mean_and_deviation(&format!("{kind}-{}", self.name()), test.name())
    }

    #[cfg(test)]
    pub(super) fn of(network: Architecture, reg: bool) -> Self {
        let found = COLUMNS.into_iter().find(|column| column.network == network && column.reg == reg);
        found.unwrap_or_else(|| panic!("no column of {network:?}"))
    }
}

/// Hidden sizes of the networks of a row at width 1, by [`Column::network_name`].
pub(super) fn hidden(kind: Symmetry) -> BTreeMap<String, usize> {
    let there = COLUMNS.iter().filter(|column| column.exists(kind));
    there.map(|column| (column.network_name(), column.hidden[kind as usize])).collect()
}

/// A hidden size by a factor, at least the smallest that the network can have, in whole multiples of that.
pub(super) fn scaled(network: Architecture, hidden: usize, width: f64) -> usize {
    let unit = match network {
        // A quarter or half of the fields are the encoder's.
        Lift => 4,
        // Channels are pairs.
        Clcnn => 2,
        _ => 1,
    };
    ((hidden as f64 * width / unit as f64).round() as usize).max(1) * unit
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn translation_has_six_columns_and_the_others_nine_all_of_them_published() {
        for (kind, count) in [(Symmetry::Translation, 6), (Symmetry::Rotation, 9), (Symmetry::Scaling, 9)] {
            let there: Vec<Column> = COLUMNS.into_iter().filter(|column| column.exists(kind)).collect();
            assert_eq!(there.len(), count);
            for column in COLUMNS {
                let published = Subset::TESTS.map(|test| column.published(kind, test).is_some());
                assert_eq!(published, [there.contains(&column); 2], "{kind} {}", column.head);
            }
        }
        assert_eq!(Column::of(Rsteer, true).published(Symmetry::Rotation, Subset::Domain), Some((0.58, 0.0)));
        assert!(!hidden(Symmetry::Translation).contains_key("rsteer"));
        assert_eq!(hidden(Symmetry::Scaling)["conv"], 192);
    }

    #[test]
    fn a_column_with_the_penalty_knows_the_one_without() {
        let pairs = COLUMNS.into_iter().filter_map(|column| Some([column.head, column.without_penalty()?.head]));
        assert_eq!(pairs.collect::<Vec<_>>(), [["RGroup+Reg", "RGroup"], ["RSteer+Reg", "RSteer"]]);
    }

    #[test]
    fn sizes_stay_what_the_networks_can_have() {
        assert_eq!(scaled(Rsteer, 92, 0.25), 23);
        assert_eq!(scaled(Lift, 64, 0.1), 8);
        assert_eq!(scaled(Clcnn, 6, 0.1), 2);
        assert_eq!(scaled(Conv, 128, 1.0), 128);
    }
}
