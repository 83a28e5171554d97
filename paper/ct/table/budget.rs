//! The settings of the CT targets as the budgets have them.

use reynolds::penalty::Form;
use reynolds_torch::Precision;
use reynolds_train::experiment::Experiment;
use reynolds_train::schedule::Schedule;

use super::row::{Mode, NETWORKS};
use super::settings::{Costs, PerNetwork, TargetSettings, Training};
use crate::ct::CtExperiment;
use crate::ct::modes::sample_weight;
use crate::ct::networks::Architecture;
use crate::targets::{Budget, Chosen};

/// `table-ct`: three networks in five modes.
pub(super) fn table(budget: Budget) -> TargetSettings {
    let (modes, costs) = (Some(Chosen::all()), Some(costs(budget)));
    TargetSettings { modes, norms: None, costs, training: training(budget) }
}

/// `table-norms`: DICDNet under every norm, not squared, as in the paper's ablation.
pub(super) fn norms(budget: Budget) -> TargetSettings {
    let mut settings = TargetSettings { modes: None, norms: Some(Chosen::all()), ..table(budget) };
    settings.training.networks = Chosen::new(&[Architecture::Dicdnet]);
    settings.training.run.penalty.form = Form::Plain;
    settings
}

/// `fig-ct`: the modes that the paper shows.
pub(super) fn figure(budget: Budget) -> TargetSettings {
    let modes = Some(Chosen::new(&[Mode::Plain, Mode::Sample, Mode::Penalty]));
    TargetSettings { modes, costs: None, ..table(budget) }
}

/// A run in every mode at once, each with its published strength.
fn training(budget: Budget) -> Training {
    let mut run = CtExperiment.defaults();
    [Mode::Sample, Mode::Rpp, Mode::Penalty].iter().for_each(|mode| mode.add_to(&mut run));
    run.train.schedule = Schedule { gamma: run.train.schedule.gamma, ..Schedule::default() };
    let data = &mut run.settings.data;
    let (seeds, sample_batch, decay_at, dicdnet);
    match budget {
        Budget::Quick => {
            (data.side, data.train, data.validation, data.test) = (64, 48, 8, 16);
            (data.steps, data.batch, data.patch, run.train.epochs) = (25, 4, 32, 4);
            (seeds, sample_batch, decay_at, dicdnet) = (1, 4, vec![0.75], 0);
        }
        Budget::Standard => {
            (data.side, data.train, data.validation, data.test) = (256, 240, 16, 60);
            (data.steps, data.batch, data.patch, run.train.epochs) = (100, 16, 64, 4);
            (seeds, sample_batch, decay_at, dicdnet) = (1, 16, vec![0.6, 0.8, 0.9], 15);
        }
        Budget::Full => {
            (data.side, data.train, data.validation, data.test) = (512, 6000, 60, 200);
            (data.steps, data.batch, data.patch, run.train.epochs) = (500, 12, 256, 80);
            (seeds, sample_batch, decay_at, dicdnet) = (3, 4, vec![0.625], 0);
        }
    }
    Training {
        seeds,
        networks: Chosen::new(&NETWORKS),
        sample_batch,
        decay_at,
        epochs: PerNetwork { dicdnet, ..PerNetwork::default() },
        sample_weight: PerNetwork { acdnet: sample_weight(Architecture::Acdnet), ..PerNetwork::default() },
        run,
    }
}

fn costs(budget: Budget) -> Costs {
    let (measured_side, measured_steps) = match budget {
        Budget::Quick => (32, 2),
        Budget::Standard => (256, 20),
        Budget::Full => (256, 50),
    };
    Costs {
        efficiency: true,
        measured_side,
        measured_steps,
        measured_batches: vec![4, 12],
        measured_precision: Precision::F32,
        sample_at_largest: true,
    }
}
