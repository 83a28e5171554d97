//! The targets whose models are trained: which each wants, and what comes of them.

use super::cells::cells;
use super::settings::{SensitivitySettings, ShapesSettings, TableSettings, shown};
use super::volume_run::{CURVES, VolumeRun, together};
use super::{budget, claims, confusion, figures, notes, sensitivity, shapes, tables, tuning, written};
use crate::medmnist::sets::Set;
use crate::medmnist::{MedExperiment, MedSettings};
use crate::targets::engine::Session;
use crate::targets::findings::Findings;
use crate::targets::point::{Frame, Point};
use crate::targets::{Budget, Target, curves};
use reynolds_train::config::{RunConfig, Settings};
use reynolds_train::error::Result;
use reynolds_train::experiment::Experiment;

/// Settings that say which models are wanted.
pub(crate) trait Training: Settings {
    /// What all models have in common.
    fn run(&self) -> &RunConfig<MedSettings>;

    /// Whose volumes are needed.
    fn sets(&self) -> Vec<Set>;

    /// What is trained, as far as is known.
    fn wanted(&self, frame: &Frame) -> Vec<VolumeRun>;

    /// Models in all rounds, and their steps.
    fn amount(&self) -> (usize, usize) {
        let runs = self.wanted(&Frame::default());
        (runs.len(), runs.iter().map(VolumeRun::steps).sum())
    }
}

/// A table or figure of MedMNIST whose models are trained.
pub(crate) struct Trains<S> {
    name: &'static str,
    about: &'static str,
    budget: fn(Budget) -> S,
    findings: fn(&S, &Frame) -> Findings,
}

/// Paper: `tab:medmnist`.
pub(crate) const ACCURACY: Trains<TableSettings> = Trains {
    name: "table-medmnist",
    about: "classes of MedMNIST volumes told apart by nine networks, SO(3) and O(3) (tab:medmnist)",
    budget: budget::table,
    findings: accuracy,
};

/// Paper: `fig:sweep_lambdas_medmnist`.
pub(crate) const SENSITIVITY: Trains<SensitivitySettings> = Trains {
    name: "fig-sensitivity",
    about: "accuracy of ours over a grid of λ_G and λ_⊥, by set and group (fig:sweep_lambdas_medmnist)",
    budget: budget::sensitivity,
    findings: sensitivity::findings,
};

/// Paper: `fig:confusion_medmnist`.
pub(crate) const CONFUSION: Trains<TableSettings> = Trains {
    name: "fig-confusion",
    about: "confusion matrices of the CNN, the SCNN and ours side by side (fig:confusion_medmnist)",
    budget: budget::confusion,
    findings: confused,
};

/// No figure of the paper: what its method should do where the symmetry is known.
pub(crate) const SHAPES: Trains<ShapesSettings> = Trains {
    name: "fig-shapes",
    about: "pairs of generated shapes that differ by a turn or a reflection alone, and the best λ_⊥ as the symmetry is broken (section 4.4)",
    budget: budget::shapes,
    findings: shapes::findings,
};

fn accuracy(settings: &TableSettings, frame: &Frame) -> Findings {
    let cells = cells(settings, frame);
    let mut tables = vec![tables::accuracy(settings, &cells)];
    tables.extend(settings.sets.iter().map(|set| tables::of_set(settings, &cells, set)));
    tables.extend(tables::tried(&tuning::tried(settings, frame)));
    Findings {
        tables,
        csv: written::csv(&cells),
        more: written::results(&cells, frame),
        figures: figures::convergence(settings, &cells),
        checks: claims::checks(&cells),
        notes: notes::of_table(settings),
        ..Findings::default()
    }
}

fn confused(settings: &TableSettings, frame: &Frame) -> Findings {
    let cells = cells(settings, frame);
    Findings {
        tables: std::iter::once(tables::accuracy(settings, &cells)).chain(confusion::table(settings, &cells)).collect(),
        csv: confusion::csv(&cells),
        more: written::results(&cells, frame),
        figures: vec![confusion::figure(settings, &cells)],
        checks: confusion::checks(&cells),
        notes: notes::of_table(settings),
        ..Findings::default()
    }
}

impl<S: Training> Target for Trains<S> {
    type Settings = S;

    fn name(&self) -> &'static str {
        self.name
    }

    fn about(&self) -> &'static str {
        self.about
    }

    fn settings(&self, budget: Budget) -> S {
        (self.budget)(budget)
    }

    fn shown(&self, settings: &S) -> Vec<(String, String)> {
        shown(settings)
    }

    fn plan(&self, settings: &S) -> Result<Option<String>> {
        let (models, steps) = settings.amount();
        Ok(Some(format!("{models} models of {} epochs, {steps} steps in all", settings.run().train.epochs)))
    }

    fn points(&self, settings: &S) -> Result<Vec<Box<dyn Point>>> {
        Ok(together(settings.wanted(&Frame::default())))
    }

    /// A file that is missing is told before anything is trained.
    fn prepare(&self, settings: &S, session: &mut Session<'_>) -> Result<bool> {
        for set in settings.sets() {
            let mut run = settings.run().clone();
            run.settings.data.set = set;
            if !MedExperiment.prepare(&run, &session.interrupt)? {
                return Ok(false);
            }
        }
        Ok(!session.interrupt.requested())
    }

    fn more(&self, settings: &S, frame: &Frame) -> Result<Vec<Box<dyn Point>>> {
        Ok(together(settings.wanted(frame)))
    }

    fn findings(&self, settings: &S, frame: &Frame) -> Result<Findings> {
        let mut findings = (self.findings)(settings, frame);
        findings.files = vec![("validation_curves.csv", curves::csv(frame, &CURVES))];
        Ok(findings)
    }
}
