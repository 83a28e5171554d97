//! The rows of the table and their strengths, of which tables and measurements are made; configs/medmnist-*.toml repeat them.
//!
//! Paper: `tab:medmnist`, `tab:chosen_hyperparams_medmnist`.

use reynolds_train::config::RunConfig;
use reynolds_train::experiment::Experiment;

use super::experiment::MedExperiment;
use super::sets::Set;
use super::settings::MedSettings;
use crate::medmnist::networks::{Architecture, Symmetry};
use crate::targets::Named;

/// A network and its group, of the CNN the group of its channels.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Row {
    pub architecture: Architecture,
    pub group: Symmetry,
}

/// What is tuned; λ is 0 but for ours.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Strengths {
    pub learning_rate: f64,
    pub lambda_g: f64,
    pub lambda_perp: f64,
}

const fn row(architecture: Architecture, group: Symmetry) -> Row {
    Row { architecture, group }
}

/// "cnn", "so3-ours", in the order of the paper.
impl Named for Row {
    const ALL: &'static [Self] = &[
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

    fn name(self) -> String {
        let network = self.label_of_network().to_lowercase().replace('-', "");
        if self == Self::CNN { network } else { format!("{}-{network}", Named::name(self.group)) }
    }
}

impl Named for Symmetry {
    const ALL: &'static [Self] = &[Self::So3, Self::O3];

    fn name(self) -> String {
        Symmetry::name(self).to_lowercase()
    }
}

impl Row {
    pub const CNN: Self = row(Architecture::Cnn, Symmetry::So3);

    pub fn scnn(group: Symmetry) -> Self {
        row(Architecture::Scnn, group)
    }

    pub fn ours(group: Symmetry) -> Self {
        row(Architecture::Ours, group)
    }

    pub(super) fn beside(self, architecture: Architecture) -> Self {
        if architecture == Architecture::Cnn { Self::CNN } else { row(architecture, self.group) }
    }

    pub fn is_ours(self) -> bool {
        self.architecture == Architecture::Ours
    }

    pub(super) fn label(self) -> String {
        let network = self.label_of_network();
        if self == Self::CNN { network.into() } else { format!("{} {network}", group_head(self.group)) }
    }

    fn label_of_network(self) -> &'static str {
        match self.architecture {
            Architecture::Cnn => "CNN",
            Architecture::Scnn => "SCNN",
            Architecture::Rpp => "RPP",
            Architecture::Pscnn => "P-SCNN",
            Architecture::Ours => "ours",
        }
    }

    /// On a set of the paper: of ours as published, of others the learning rates of a work with the same protocol; `None` on other sets, where
    /// strengths are tuned.
    pub fn strengths(self, set: Set) -> Option<Strengths> {
        let [learning_rate, lambda_g, lambda_perp] = match (self.is_ours(), self.group, set) {
            (true, Symmetry::So3, Set::Nodule) => [5e-5, 1e-3, 1.0],
            (true, Symmetry::So3, Set::Organ) => [5e-5, 1e-3, 1e-2],
            (true, Symmetry::So3, Set::Synapse) => [1e-4, 1e-3, 1.0],
            (true, Symmetry::O3, Set::Nodule) => [1e-4, 1e-4, 1e-1],
            (true, Symmetry::O3, Set::Organ) => [1e-4, 1e-3, 1e-3],
            (true, Symmetry::O3, Set::Synapse) => [1e-4, 1e-3, 1e-1],
            (false, _, Set::Nodule) => [5e-5, 0.0, 0.0],
            (false, _, Set::Organ | Set::Synapse) => [1e-4, 0.0, 0.0],
            _ => return None,
        };
        Some(Strengths { learning_rate, lambda_g, lambda_perp })
    }

    /// For costs: those of Nodule, as in the paper.
    pub fn measured_strengths(self) -> Strengths {
        self.strengths(Set::Nodule).expect("a set of the paper")
    }

    /// The settings of a run with this network and these strengths, without a penalty but for ours; settings of other networks are as by
    /// default.
    pub fn run(self, base: &RunConfig<MedSettings>, strengths: Strengths) -> RunConfig<MedSettings> {
        let mut run = base.clone();
        run.settings.model = base.settings.model.of(self.architecture, self.group);
        run.train.learning_rate = strengths.learning_rate;
        if self.is_ours() {
            (run.penalty.lambda_g, run.penalty.lambda_perp) = (strengths.lambda_g, strengths.lambda_perp);
        } else {
            run.penalty = MedExperiment.defaults().penalty;
        }
        run
    }
}

pub(super) fn group_head(group: Symmetry) -> &'static str {
    match group {
        Symmetry::So3 => "SO(3)",
        Symmetry::O3 => "O(3)",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use reynolds_train::config;

    #[test]
    fn rows_have_unique_names_and_published_strengths() {
        let names: std::collections::BTreeSet<String> = Row::ALL.iter().map(|row| row.name()).collect();
        assert_eq!((names.len(), Row::ALL[0].name(), Row::ALL[8].label()), (9, "cnn".into(), "O(3) ours".into()));
        assert_eq!(Row::ours(Symmetry::O3).beside(Architecture::Cnn), Row::CNN);
        for row in Row::ALL {
            assert!(Set::ALL.iter().all(|&set| row.strengths(set).is_some() == set.is_of_paper()));
        }
    }

    #[test]
    fn committed_configurations_are_the_rows_of_the_paper() {
        for set in Set::OF_PAPER {
            for &group in Symmetry::ALL {
                let file = format!("../configs/medmnist-{}-{}.toml", set.name(), Named::name(group));
                let file = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join(file);
                let row = Row::ours(group);
                let mut run = row.run(&MedExperiment.defaults(), row.strengths(set).unwrap());
                run.settings.data.set = set;
                let committed = config::load(&MedExperiment.defaults(), Some(&file), &[]).unwrap();
                assert_eq!(committed, run, "{}", file.display());
            }
        }
    }
}
