//! The rows of the table: a plain CNN, then for each group what is equivariant, and how it is relaxed.

use crate::medmnist::networks::{Architecture, Nonlinearity, Symmetry, VolumeNetConfig};

/// A network and the group that it is held against.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Row {
    pub(super) architecture: Architecture,
    /// Of the CNN the group whose channels it has.
    pub(super) group: Symmetry,
}

const fn row(architecture: Architecture, group: Symmetry) -> Row {
    Row { architecture, group }
}

impl Row {
    pub(super) const CNN: Self = row(Architecture::Cnn, Symmetry::So3);

    /// In the order of the paper.
    pub(super) const ALL: [Self; 9] = [
        Self::CNN,
        row(Architecture::Scnn, Symmetry::So3),
        row(Architecture::Rpp, Symmetry::So3),
        row(Architecture::Pscnn, Symmetry::So3),
        row(Architecture::Ours, Symmetry::So3),
        row(Architecture::Scnn, Symmetry::O3),
        row(Architecture::Rpp, Symmetry::O3),
        row(Architecture::Pscnn, Symmetry::O3),
        row(Architecture::Ours, Symmetry::O3),
    ];

    /// The SCNN of a group.
    pub(super) fn scnn(group: Symmetry) -> Self {
        row(Architecture::Scnn, group)
    }

    /// Ours of a group.
    pub(super) fn ours(group: Symmetry) -> Self {
        row(Architecture::Ours, group)
    }

    /// Another network of the same group.
    pub(super) fn beside(self, architecture: Architecture) -> Self {
        if architecture == Architecture::Cnn { Self::CNN } else { row(architecture, self.group) }
    }

    /// Whether a projection penalty holds it.
    pub(super) fn is_ours(self) -> bool {
        self.architecture == Architecture::Ours
    }

    /// What follows the convolutions: ours alone can be chosen.
    pub(super) fn nonlinearity(self, model: &VolumeNetConfig) -> Nonlinearity {
        if self.is_ours() { model.nonlinearity } else { Nonlinearity::default() }
    }

    /// "cnn", "so3-ours".
    pub(super) fn name(self) -> String {
        match self.architecture {
            Architecture::Cnn => "cnn".into(),
            _ => format!("{}-{}", group_name(self.group), self.architecture_name()),
        }
    }

    /// As on the command line.
    pub(super) fn architecture_name(self) -> &'static str {
        match self.architecture {
            Architecture::Cnn => "cnn",
            Architecture::Scnn => "scnn",
            Architecture::Rpp => "rpp",
            Architecture::Pscnn => "pscnn",
            Architecture::Ours => "ours",
        }
    }

    /// "CNN", "SO(3) ours".
    pub(super) fn label(self) -> String {
        let head = match self.architecture {
            Architecture::Cnn => return "CNN".into(),
            Architecture::Scnn => "SCNN",
            Architecture::Rpp => "RPP",
            Architecture::Pscnn => "P-SCNN",
            Architecture::Ours => "ours",
        };
        format!("{} {head}", group_head(self.group))
    }
}

/// Both groups, in the order of the paper.
pub(super) const GROUPS: [Symmetry; 2] = [Symmetry::So3, Symmetry::O3];

/// "so3", "o3".
pub(super) fn group_name(group: Symmetry) -> &'static str {
    match group {
        Symmetry::So3 => "so3",
        Symmetry::O3 => "o3",
    }
}

/// "SO(3)", "O(3)".
pub(super) fn group_head(group: Symmetry) -> &'static str {
    match group {
        Symmetry::So3 => "SO(3)",
        Symmetry::O3 => "O(3)",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_are_nine_rows_with_names_of_their_own() {
        let names: std::collections::BTreeSet<String> = Row::ALL.into_iter().map(Row::name).collect();
        assert_eq!((names.len(), Row::ALL[0].name(), Row::ALL[8].label()), (9, "cnn".into(), "O(3) ours".into()));
        assert_eq!(Row::ours(Symmetry::O3).beside(Architecture::Cnn), Row::CNN);
        assert_eq!(Row::ours(Symmetry::O3).beside(Architecture::Scnn), Row::scnn(Symmetry::O3));
    }
}
