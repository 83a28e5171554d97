//! What is trained for the rows of the CT targets: the target's own keys beside every key of `reynolds run ct`.
//!
//! The run has the settings of every mode at once; a model of a row is a clone of it that keeps those of its own mode.

use reynolds::norm::Norm;
use reynolds_torch::parametrisation::Parametrisation;
use reynolds_train::config::{self, RunConfig, Settings, at_least_one, at_least_zero};
use reynolds_train::error::{Error, Result};
use reynolds_train::experiment::Experiment;
use reynolds_train::schedule::Shape;
use serde::{Deserialize, Serialize};

use super::row::{Mode, NETWORKS, PerNetwork, Row};
use super::run::CtRun;
use crate::ct::networks::Architecture;
use crate::ct::{CtExperiment, CtSettings};
use crate::targets::{Chosen, Named};

/// Old keys of all three targets.
pub(super) const RENAMED: &[(&str, &str)] = &[
    ("steps", "data.steps"),
    ("batch", "data.batch"),
    ("patch", "data.patch"),
    ("learning_rate", "train.learning_rate"),
    ("precision", "train.precision"),
    ("stages", "model.stages"),
    ("blocks", "model.blocks"),
    ("held", "model.held"),
    ("lambda_perp", "penalty.lambda_perp"),
    ("form", "penalty.form"),
    ("rpp", "train.parametrisation"),
    ("rpp.equivariant", "train.parametrisation.lambda_equivariant"),
    ("rpp.residual", "train.parametrisation.lambda_residual"),
];

/// What is trained, whichever rows are asked for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Training {
    /// Models of each row, with consecutive seeds from `seed` on.
    pub(super) seeds: u64,
    pub(super) networks: Chosen<Architecture>,
    /// Images of a minibatch of the sample-based rows, which have as many images an epoch as the others.
    pub(super) sample_batch: usize,
    /// The learning rate falls at these shares of the epochs; none = `train.schedule` holds.
    pub(super) decay_at: Vec<f64>,
    /// Of a network that is trained longer or shorter than the others; 0 = `train.epochs`.
    pub(super) epochs: PerNetwork<usize>,
    /// Of a network with a weight of its own; 0 = `sample.weight`.
    pub(super) sample_weight: PerNetwork<f64>,
    #[serde(flatten)]
    pub(super) run: RunConfig<CtSettings>,
}

impl Settings for Training {
    fn validate(&self) -> Result<()> {
        at_least_one("seeds", self.seeds as usize)?;
        at_least_one("sample_batch", self.sample_batch)?;
        for network in NETWORKS {
            at_least_zero(&format!("sample_weight.{}", network.name()), self.sample_weight.of(network))?;
        }
        if let Some(share) = self.decay_at.iter().find(|share| !(**share > 0.0 && **share <= 1.0)) {
            return Err(Error::config("decay_at", "numbers above 0, at most 1", share));
        }
        self.check_what_rows_decide()?;
        self.run.validate()
    }

    fn renamed() -> &'static [(&'static str, &'static str)] {
        RENAMED
    }
}

impl Training {
    /// Refuses settings of the run that every row would overwrite.
    fn check_what_rows_decide(&self) -> Result<()> {
        let CtSettings { projected, model, .. } = &self.run.settings;
        let (kind, schedule) = (self.run.train.parametrisation.kind, &self.run.train.schedule);
        let usual = Architecture::default();
        if model.architecture != usual {
            let expected = format!("\"{}\", for `networks` says which are trained", usual.name());
            return Err(Error::config("model.architecture", expected, format!("\"{}\"", model.architecture.name())));
        }
        if *projected {
            return Err(Error::config("projected", "false, for the mode \"projected\" is a row of its own", true));
        }
        if kind != Parametrisation::Residual {
            let expected = "\"residual\", which only the rows of RPP have";
            return Err(Error::config("train.parametrisation.kind", expected, format!("{kind:?}").to_lowercase()));
        }
        if !self.decay_at.is_empty() && (schedule.shape != Shape::Constant || !schedule.milestones.is_empty()) {
            let expected = "[], for `train.schedule` says how the learning rate falls";
            return Err(Error::config("decay_at", expected, format!("{:?}", self.decay_at)));
        }
        Ok(())
    }

    /// From `seed` on.
    pub(super) fn all_seeds(&self) -> std::ops::Range<u64> {
        self.run.seed..self.run.seed.saturating_add(self.seeds)
    }

    /// These modes of every network, with the norm of the projection penalty.
    pub(super) fn rows(&self, modes: &[Mode]) -> Vec<(Row, Norm)> {
        let norm = self.run.penalty.norm;
        let of = |network: Architecture| modes.iter().map(move |&mode| (Row { network, mode }, norm));
        self.networks.iter().flat_map(of).collect()
    }

    /// A model of a row; the norm is that of the projection penalty.
    pub(super) fn model(&self, row: Row, norm: Norm, seed: u64) -> CtRun {
        let mut run = self.run.clone();
        run.seed = seed;
        run.settings.model.architecture = row.network;
        run.penalty.norm = norm;
        if self.epochs.of(row.network) > 0 {
            run.train.epochs = self.epochs.of(row.network);
        }
        if self.sample_weight.of(row.network) > 0.0 {
            run.settings.sample.weight = self.sample_weight.of(row.network);
        }
        if row.mode == Mode::Sample {
            // As many images an epoch as the other rows.
            let data = &mut run.settings.data;
            data.steps = data.steps.saturating_mul(data.batch).div_ceil(self.sample_batch);
            data.batch = self.sample_batch;
        }
        let milestones = milestones(&self.decay_at, run.train.epochs);
        if !milestones.is_empty() {
            (run.train.schedule.shape, run.train.schedule.milestones) = (Shape::MultiStep, milestones);
        }
        row.mode.alone_in(&mut run);
        CtRun { row, run, drawn: seed == self.run.seed, shared: Default::default() }
    }

    /// Those of these lines that a reader is shown: the target's own, without networks that are not asked for, and what differs from the
    /// defaults of the experiment.
    pub(super) fn shown(&self, lines: Vec<(String, String)>) -> Vec<(String, String)> {
        let of_run: Vec<String> = config::lines(&self.run).into_iter().map(|(key, _)| key).collect();
        let changed = config::changed(&self.run, &CtExperiment.defaults());
        let asked = |key: &str| {
            let named = NETWORKS.into_iter().find(|network| key.ends_with(&format!(".{}", network.name())));
            named.is_none_or(|network| self.networks.contains(network))
        };
        let own = |line: &(String, String)| !of_run.contains(&line.0) && asked(&line.0);
        lines.into_iter().filter(|line| own(line) || changed.contains(line)).collect()
    }
}

/// Epochs of these shares of all of them, increasing; those that are none of their own fall together.
fn milestones(shares: &[f64], epochs: usize) -> Vec<usize> {
    let mut milestones: Vec<usize> = shares.iter().map(|share| (share * epochs as f64).round() as usize).collect();
    milestones.retain(|&epoch| epoch > 0 && epoch < epochs);
    milestones.sort_unstable();
    milestones.dedup();
    milestones
}

#[cfg(test)]
mod tests {
    use super::super::budget;
    use super::super::synthetic::{norms, table};
    use super::*;
    use crate::targets::Budget;
    use reynolds_torch::parametrisation::ParametrisationConfig;

    fn run(training: &Training, network: Architecture, mode: Mode) -> RunConfig<CtSettings> {
        training.model(Row { network, mode }, Norm::Frobenius, 1).run
    }

    #[test]
    fn modes_differ_in_what_they_are_and_in_nothing_else() {
        let training = table(&[]).training;
        let of = |mode| run(&training, Architecture::Acdnet, mode);
        let with = |change: fn(&mut RunConfig<CtSettings>)| {
            let mut run = of(Mode::Plain);
            change(&mut run);
            run
        };
        assert_eq!(of(Mode::Penalty), with(|run| run.penalty.lambda_perp = 1.0));
        assert_eq!(of(Mode::Sample), with(|run| run.settings.sample.weight = 1e-6));
        let priors = |run: &mut RunConfig<CtSettings>| {
            let kind = Parametrisation::Residual;
            run.train.parametrisation = ParametrisationConfig { kind, lambda_equivariant: 0.0, lambda_residual: 1e-4 };
        };
        assert_eq!(of(Mode::Rpp), with(priors));
        assert_eq!(with(|_| ()).penalty, CtExperiment.defaults().penalty);
    }

    #[test]
    fn the_full_budget_is_the_published_protocol() {
        let training = budget::table(Budget::Full).training;
        let [plain, sample] = [Mode::Plain, Mode::Sample].map(|mode| run(&training, Architecture::Oscnet, mode));
        assert_eq!((plain.train.epochs, plain.settings.data.batch, sample.settings.data.batch), (80, 12, 4));
        assert_eq!(plain.train.schedule.milestones, [50]);
        assert_eq!(
            (plain.settings.data.patch, plain.settings.data.steps, sample.settings.data.steps),
            (256, 500, 1500)
        );
        assert_eq!((plain.settings.model.stages, sample.settings.sample.weight), (10, 1e-8));
    }

    #[test]
    fn a_network_may_have_epochs_and_a_weight_of_its_own() {
        let given = [("train.epochs", "3"), ("epochs.oscnet", "7"), ("sample.weight", "1e-3")];
        let training = table(&given).training;
        let of = |network| {
            let run = run(&training, network, Mode::Sample);
            (run.train.epochs, run.settings.sample.weight)
        };
        assert_eq!(NETWORKS.map(of), [(3, 1e-6), (3, 1e-3), (7, 1e-3)]);
    }

    #[test]
    fn the_sample_based_row_sees_at_least_as_many_images_an_epoch() {
        let steps = |steps, batch, own| {
            let training = table(&[("data.steps", steps), ("data.batch", batch), ("sample_batch", own)]).training;
            run(&training, Architecture::Dicdnet, Mode::Sample).settings.data.steps
        };
        // 0 goes once through the pairs whatever the batch.
        assert_eq!([steps("25", "4", "4"), steps("5", "4", "3"), steps("0", "4", "2")], [25, 7, 0]);
    }

    #[test]
    fn norms_are_apart_by_commas_or_spaces_and_decays_are_shares_of_the_epochs() {
        for list in ["(1,2),spectral", "spectral (1,2)", "[\"(1,2)\", \"spectral\"]"] {
            let chosen = norms(&[("norms", list)]).rows.norms;
            assert_eq!(chosen.iter().map(Named::name).collect::<Vec<_>>(), ["spectral", "(1,2)"]);
        }
        assert_eq!(norms(&[("norms", "all")]).rows.norms.as_slice().len(), 12);
        assert_eq!(milestones(&[0.6, 0.8, 0.9], 15), [9, 12, 14]);
        assert_eq!(milestones(&[0.6, 0.8, 0.9], 4), [2, 3]);
        assert!(milestones(&[0.75], 1).is_empty());
        let own = [("decay_at", "[]"), ("train.schedule.shape", "multi_step"), ("train.schedule.milestones", "[1]")];
        let schedule = run(&table(&own).training, Architecture::Acdnet, Mode::Plain).train.schedule;
        assert_eq!((schedule.shape, schedule.milestones), (Shape::MultiStep, vec![1]));
    }
}
