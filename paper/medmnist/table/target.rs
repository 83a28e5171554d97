//! The targets whose models are trained.

use super::settings::{Own, Sensitivity, Shapes, Table};
use super::volume_run::{CURVES, together};
use super::*;
use crate::targets::engine::Session;

pub(crate) trait Trains: Own {
    fn seeds(&self) -> u64;

    fn wanted(settings: &TargetSettings<Self>, frame: &Frame) -> Vec<VolumeRun>;

    /// Models in all rounds, whichever is the best of a round, and their steps.
    fn amount(settings: &TargetSettings<Self>) -> (usize, usize) {
        let (mut frame, mut steps) = (Frame::default(), 0);
        loop {
            let mut missing = Self::wanted(settings, &frame);
            missing.retain(|run| frame.find(run).is_none());
            if missing.is_empty() {
                return (frame.len(), steps);
            }
            steps += missing.iter().map(VolumeRun::steps).sum::<usize>();
            missing.iter().for_each(|run| frame.insert(run, Trained::default()));
        }
    }
}

impl<O: Trains> TargetSettings<O> {
    /// The sets of the models.
    pub(super) fn sets(&self) -> Vec<Set> {
        let mut sets: Vec<Set> = O::wanted(self, &Frame::default()).iter().map(VolumeRun::set).collect();
        sets.dedup();
        sets
    }

    pub(super) fn seeds(&self) -> Range<u64> {
        self.run.seed..self.run.seed.saturating_add(self.own.seeds())
    }

    pub(super) fn over_seeds(&self, models: &[VolumeRun]) -> Vec<VolumeRun> {
        models.iter().flat_map(|run| self.seeds().map(|seed| run.seeded(seed))).collect()
    }
}

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

    /// Reports a missing file before anything is trained.
    fn prepare(&self, settings: &Self::Settings, session: &mut Session<'_>) -> Result<bool> {
        for set in settings.sets() {
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
        let files = vec![("validation_curves.csv", curves::csv(frame, "curve", "epoch", &CURVES))];
        Ok(Findings { files, ..(self.findings)(settings, frame) })
    }
}
