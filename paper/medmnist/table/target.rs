//! The targets whose models are trained: which each wants, and what comes of them.

use std::ops::Range;

use super::settings::{Own, Sensitivity, Shapes, Table, TargetSettings};
use super::volume_run::{CURVES, VolumeRun, together};
use super::{accuracy, budget, confusion, sensitivity, shapes};
use crate::medmnist::MedExperiment;
use crate::medmnist::sets::Set;
use crate::targets::engine::Session;
use crate::targets::findings::Findings;
use crate::targets::point::{Frame, Point};
use crate::targets::{Budget, Target, curves};
use reynolds_train::error::Result;
use reynolds_train::experiment::Experiment;

/// Keys that say which models are wanted.
pub(crate) trait Trains: Own {
    /// Whose volumes are needed.
    fn sets(&self) -> Vec<Set>;

    /// Models of each cell.
    fn seeds(&self) -> u64;

    /// What is trained, as far as is known.
    fn wanted(settings: &TargetSettings<Self>, frame: &Frame) -> Vec<VolumeRun>;

    /// Models in all rounds, and their steps.
    fn amount(settings: &TargetSettings<Self>) -> (usize, usize) {
        let runs = Self::wanted(settings, &Frame::default());
        (runs.len(), runs.iter().map(VolumeRun::steps).sum())
    }
}

impl<O: Trains> TargetSettings<O> {
    /// From the run's on.
    pub(super) fn seeds(&self) -> Range<u64> {
        self.run.seed..self.run.seed.saturating_add(self.own.seeds())
    }

    /// These models with every seed.
    pub(super) fn over_seeds(&self, models: &[VolumeRun]) -> Vec<VolumeRun> {
        models.iter().flat_map(|run| self.seeds().map(|seed| run.seeded(seed))).collect()
    }
}

/// A table or figure of MedMNIST whose models are trained.
pub(crate) struct TrainingTarget<O> {
    name: &'static str,
    about: &'static str,
    budget: fn(Budget) -> TargetSettings<O>,
    findings: fn(&TargetSettings<O>, &Frame) -> Findings,
}

/// Paper: `tab:medmnist`.
pub(crate) const ACCURACY: TrainingTarget<Table> = TrainingTarget {
    name: "table-medmnist",
    about: "nine networks classify MedMNIST volumes, under SO(3) and O(3) (tab:medmnist)",
    budget: budget::table,
    findings: accuracy::findings,
};

/// Paper: `fig:sweep_lambdas_medmnist`.
pub(crate) const SENSITIVITY: TrainingTarget<Sensitivity> = TrainingTarget {
    name: "fig-sensitivity",
    about: "accuracy of ours over a grid of λ_G and λ_⊥, by set and group (fig:sweep_lambdas_medmnist)",
    budget: budget::sensitivity,
    findings: sensitivity::findings,
};

/// Paper: `fig:confusion_medmnist`.
pub(crate) const CONFUSION: TrainingTarget<Table> = TrainingTarget {
    name: "fig-confusion",
    about: "confusion matrices of the CNN, the SCNN and ours side by side (fig:confusion_medmnist)",
    budget: budget::confusion,
    findings: confusion::findings,
};

/// No figure of the paper: what its method should do where the symmetry is known.
pub(crate) const SHAPES: TrainingTarget<Shapes> = TrainingTarget {
    name: "fig-shapes",
    about: "pairs of generated shapes that differ by a turn or a reflection alone, and the best λ_⊥ as the symmetry is broken (section 4.4)",
    budget: budget::shapes,
    findings: shapes::findings,
};

impl<O: Trains> Target for TrainingTarget<O> {
    type Settings = TargetSettings<O>;

    fn name(&self) -> &'static str {
        self.name
    }

    fn about(&self) -> &'static str {
        self.about
    }

    fn settings(&self, budget: Budget) -> Self::Settings {
        (self.budget)(budget)
    }

    fn shown(&self, settings: &Self::Settings) -> Vec<(String, String)> {
        settings.shown()
    }

    fn plan(&self, settings: &Self::Settings) -> Result<Option<String>> {
        let (models, steps) = O::amount(settings);
        Ok(Some(format!("{models} models of {} epochs, {steps} steps in all", settings.run.train.epochs)))
    }

    fn points(&self, settings: &Self::Settings) -> Result<Vec<Box<dyn Point>>> {
        self.more(settings, &Frame::default())
    }

    /// A file that is missing is told before anything is trained.
    fn prepare(&self, settings: &Self::Settings, session: &mut Session<'_>) -> Result<bool> {
        for set in settings.own.sets() {
            let mut run = settings.run.clone();
            run.settings.data.set = set;
            if !MedExperiment.prepare(&run, &session.interrupt)? {
                return Ok(false);
            }
        }
        Ok(!session.interrupt.requested())
    }

    fn more(&self, settings: &Self::Settings, frame: &Frame) -> Result<Vec<Box<dyn Point>>> {
        Ok(together(O::wanted(settings, frame)))
    }

    fn findings(&self, settings: &Self::Settings, frame: &Frame) -> Result<Findings> {
        let files = vec![("validation_curves.csv", curves::csv(frame, &CURVES))];
        Ok(Findings { files, ..(self.findings)(settings, frame) })
    }
}
