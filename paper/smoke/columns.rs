//! The columns of the smoke table as data, and the sizes that their networks have at full width.
//!
//! Sizes are published for RGroup of translation and RSteer of rotation. RSteer of scaling is published with 64, which has 16.8 million
//! parameters, and has 48 here, below the cap of ten million; RGroup of rotation is as a later study chose it to match RSteer. The others
//! are ours: as many fields as RSteer in Equiv and RPP, as many channels as it has in all in Conv, and else what stays below the cap.

use std::collections::BTreeMap;

use reynolds_report::figure::Colour;

use crate::smoke::data::Kind;
use crate::smoke::networks::Architecture;
use crate::targets::Named;

/// A network, with or without the penalty.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Column {
    /// As in the head of the table.
    pub(crate) head: &'static str,
    pub(crate) network: Architecture,
    /// Whether the projection penalty stands in place of the constraint that the network comes with.
    pub(crate) reg: bool,
    /// Hidden size at width 1 under translation, rotation and scaling; 0 where the row does not have the column.
    hidden: [usize; 3],
    /// In figures; that of +Reg is that of its network, dashed.
    pub(crate) colour: Colour,
}

const RGROUP: Column = Column {
    head: "RGroup",
    network: Architecture::Rgroup,
    reg: false,
    hidden: [128, 130, 128],
    colour: Colour(0x00, 0x5a, 0xa0),
};

/// There is none under translation.
const RSTEER: Column = Column {
    head: "RSteer",
    network: Architecture::Rsteer,
    reg: false,
    hidden: [0, 92, 48],
    colour: Colour(0xd5, 0x5e, 0x00),
};

/// In the order of the paper.
pub(crate) const COLUMNS: [Column; 9] = [
    // Under translation Conv is Equiv.
    Column {
        head: "Conv",
        network: Architecture::Conv,
        reg: false,
        hidden: [0, 4 * 92, 4 * 48],
        colour: Colour(0x56, 0xb4, 0xe9),
    },
    Column {
        head: "Equiv",
        network: Architecture::Equiv,
        reg: false,
        hidden: [128, 92, 48],
        colour: Colour(0x00, 0x9e, 0x73),
    },
    Column {
        head: "RPP",
        network: Architecture::Rpp,
        reg: false,
        hidden: [6, 92, 48],
        colour: Colour(0xcc, 0x79, 0xa7),
    },
    Column {
        head: "CLCNN",
        network: Architecture::Clcnn,
        reg: false,
        hidden: [6, 6, 6],
        colour: Colour(0xc8, 0xaa, 0x00),
    },
    Column {
        head: "Lift",
        network: Architecture::Lift,
        reg: false,
        hidden: [64, 64, 64],
        colour: Colour(0x8c, 0x56, 0x4b),
    },
    RGROUP,
    Column { head: "RGroup+Reg", reg: true, ..RGROUP },
    RSTEER,
    Column { head: "RSteer+Reg", reg: true, ..RSTEER },
];

impl Named for Column {
    const ALL: &'static [Self] = &COLUMNS;

    fn name(self) -> String {
        self.head.to_lowercase()
    }
}

impl Named for Kind {
    const ALL: &'static [Self] = &Kind::ALL;

    fn name(self) -> String {
        self.to_string()
    }
}

impl Column {
    /// Whether the table has it in a row.
    pub(crate) fn exists(self, kind: Kind) -> bool {
        self.hidden[kind as usize] > 0
    }

    /// The column of the same network without the penalty; `None` if this one has none.
    pub(crate) fn without_penalty(self) -> Option<Self> {
        COLUMNS.into_iter().find(|other| self.reg && !other.reg && other.network == self.network)
    }

    /// The name of its network in settings.
    pub(crate) fn network_name(self) -> String {
        self.without_penalty().unwrap_or(self).name()
    }

    /// The column of a network, with or without +Reg.
    #[cfg(test)]
    pub(crate) fn of(network: Architecture, reg: bool) -> Self {
        let found = COLUMNS.into_iter().find(|column| column.network == network && column.reg == reg);
        found.unwrap_or_else(|| panic!("no column of {network:?}"))
    }
}

/// Hidden sizes of the networks of a row at width 1, by [`Column::network_name`].
pub(crate) fn hidden(kind: Kind) -> BTreeMap<String, usize> {
    let there = COLUMNS.iter().filter(|column| column.exists(kind));
    there.map(|column| (column.network_name(), column.hidden[kind as usize])).collect()
}

/// A hidden size by a factor, at least the smallest that the network can have, in whole multiples of that.
pub(crate) fn scaled(network: Architecture, hidden: usize, width: f64) -> usize {
    let unit = match network {
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
        let count = |kind| COLUMNS.iter().filter(|column| column.exists(kind)).count();
        assert_eq!([Kind::Translation, Kind::Rotation, Kind::Scaling].map(count), [6, 9, 9]);
        assert!(!hidden(Kind::Translation).contains_key("rsteer"));
        assert_eq!(hidden(Kind::Scaling)["conv"], 192);
    }

    #[test]
    fn a_column_with_the_penalty_knows_the_one_without() {
        let with: Vec<&str> = COLUMNS.iter().filter(|column| column.reg).map(|column| column.head).collect();
        assert_eq!(with, ["RGroup+Reg", "RSteer+Reg"]);
        let without: Vec<&str> = COLUMNS.iter().filter_map(|column| Some(column.without_penalty()?.head)).collect();
        assert_eq!(without, ["RGroup", "RSteer"]);
    }

    #[test]
    fn sizes_stay_what_the_networks_can_have() {
        assert_eq!(scaled(Architecture::Rsteer, 92, 0.25), 23);
        assert_eq!(scaled(Architecture::Lift, 64, 0.1), 8);
        assert_eq!(scaled(Architecture::Clcnn, 6, 0.1), 2);
        assert_eq!(scaled(Architecture::Conv, 128, 1.0), 128);
    }
}
