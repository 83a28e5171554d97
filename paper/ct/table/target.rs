//! The three targets: which models each wants, and what comes of them.

use std::collections::BTreeSet;
use std::sync::Arc;

use reynolds::norm::Norm;
use reynolds_train::config::{self, Settings};
use reynolds_train::error::{Error, Result};

use super::cells::{Asked, Cell};
use super::cost::RowCost;
use super::pictures::{self, Shown};
use super::row::{InTable, Row};
use super::run::{CURVES, CtRun, SharedData};
use super::settings::{Costs, Free, Modes, Norms, TargetSettings};
use super::training::Training;
use super::{budget, claims, cost_claims, figures, norms, notes, tables, written};
use crate::ct::{CtTask, ensure_pairs};
use crate::targets::curves;
use crate::targets::engine::Session;
use crate::targets::findings::{Figure, Findings};
use crate::targets::point::{Frame, Point};
use crate::targets::{Budget, Target, boxed};

/// Paper: `tab:ct_mar`.
pub(crate) struct TableCt;

/// Paper: `tab:norm_comparison`.
pub(crate) struct TableNorms;

/// Paper: `fig:ct_mar`.
pub(crate) struct FigCt;

impl Costs {
    /// Themselves, if they are measured.
    fn asked(&self) -> Option<&Self> {
        Some(self).filter(|costs| costs.efficiency)
    }
}

impl<'a> Asked<'a> {
    /// What is trained of these rows, each once however many rows are tested on it.
    pub(super) fn runs(self, rows: &[(Row, Norm)], seeds: u64) -> Vec<CtRun> {
        let shared = Arc::new(SharedData::default());
        let of_row = |(row, norm)| {
            let seeds = self.training.all_seeds().take(seeds as usize);
            seeds.map(move |seed| self.training.model(row, norm, seed))
        };
        let runs = trained(rows).into_iter().flat_map(of_row);
        runs.map(|run| CtRun { shared: Arc::clone(&shared), ..run }).collect()
    }

    /// What is measured of them.
    pub(super) fn costs(self, rows: &[(Row, Norm)]) -> Vec<RowCost> {
        let of_row = |costs| {
            let rows = trained(rows).into_iter();
            rows.map(move |(row, norm)| RowCost::new(costs, self.training, row, norm))
        };
        self.costs.into_iter().flat_map(of_row).collect()
    }

    fn points(self, rows: &[(Row, Norm)], seeds: u64) -> Result<Vec<Box<dyn Point>>> {
        let runs = self.runs(rows, seeds);
        let mut seen = BTreeSet::new();
        for run in &runs {
            run.run.validate()?;
            if seen.insert(run.row.network) {
                CtTask::check(&run.run.settings.model)?;
            }
        }
        let mut points = boxed(runs);
        points.extend(boxed(self.costs(rows)));
        Ok(points)
    }

    /// What all targets find.
    fn findings(self, frame: &Frame, cells: &[Cell<'_>]) -> Findings {
        let mut notes = notes::notes(self);
        notes.extend(notes::left_out(cells));
        Findings {
            files: vec![("validation_curves.csv", curves::csv(frame, &CURVES))],
            more: written::results(cells, frame),
            notes,
            ..Findings::default()
        }
    }
}

/// The rows whose models are trained, each once.
fn trained(rows: &[(Row, Norm)]) -> Vec<(Row, Norm)> {
    let mut trained = Vec::new();
    for &(row, norm) in rows {
        let row = (Row { mode: row.mode.trained_as(), ..row }, norm);
        if !trained.contains(&row) {
            trained.push(row);
        }
    }
    trained
}

fn prepare(training: &Training, session: &Session<'_>) -> Result<bool> {
    let (data, threads) = (&training.run.settings.data, training.run.train.threads);
    Ok(ensure_pairs(data, threads, &session.interrupt)? && !session.interrupt.requested())
}

fn drawn(cells: &[Cell<'_>]) -> Result<(Vec<Figure>, Vec<Shown>)> {
    let (mut drawn, mut shown) = (Vec::new(), Vec::new());
    for case in ["figure", "test"] {
        if let Some((figure, numbers)) = pictures::figure(cells, case)? {
            drawn.push(figure);
            shown.extend(numbers);
        }
    }
    Ok((drawn, shown))
}

impl TargetSettings<Modes, Costs> {
    pub(super) fn asked(&self) -> Asked<'_> {
        Asked { training: &self.training, costs: self.costs.asked() }
    }
}

impl TargetSettings<Norms, Costs> {
    pub(super) fn asked(&self) -> Asked<'_> {
        Asked { training: &self.training, costs: self.costs.asked() }
    }
}

impl TargetSettings<Modes, Free> {
    pub(super) fn asked(&self) -> Asked<'_> {
        Asked { training: &self.training, costs: None }
    }
}

impl Target for TableCt {
    type Settings = TargetSettings<Modes, Costs>;

    fn name(&self) -> &'static str {
        "table-ct"
    }

    fn about(&self) -> &'static str {
        "metal artefact reduction of three networks in five modes, quality and cost (tab:ct_mar)"
    }

    fn settings(&self, budget: Budget) -> Self::Settings {
        budget::table(budget)
    }

    fn shown(&self, settings: &Self::Settings) -> Vec<(String, String)> {
        settings.training.shown(config::lines(settings))
    }

    fn points(&self, settings: &Self::Settings) -> Result<Vec<Box<dyn Point>>> {
        settings.asked().points(&settings.rows(), settings.training.seeds)
    }

    fn prepare(&self, settings: &Self::Settings, session: &mut Session<'_>) -> Result<bool> {
        prepare(&settings.training, session)
    }

    fn findings(&self, settings: &Self::Settings, frame: &Frame) -> Result<Findings> {
        let cells = settings.asked().cells(frame, &settings.rows());
        let mut findings = settings.asked().findings(frame, &cells);
        findings.csv = written::csv(&settings.costs.measured_batches, &cells, false);
        findings.tables = vec![tables::quality(&settings.training, &cells)];
        findings.tables.extend(tables::precisions(&cells));
        findings.tables.extend(tables::efficiency(&settings.costs, &cells));
        findings.figures = drawn(&cells)?.0;
        findings.figures.push(figures::convergence(&cells));
        findings.checks = claims::checks(&cells);
        findings.checks.extend(cost_claims::checks(&cells));
        Ok(findings)
    }
}

impl Target for TableNorms {
    type Settings = TargetSettings<Norms, Costs>;

    fn name(&self) -> &'static str {
        "table-norms"
    }

    fn about(&self) -> &'static str {
        "the projection penalty of metal artefact reduction under twelve norms, quality and cost (tab:norm_comparison)"
    }

    fn settings(&self, budget: Budget) -> Self::Settings {
        budget::norms(budget)
    }

    fn shown(&self, settings: &Self::Settings) -> Vec<(String, String)> {
        settings.training.shown(config::lines(settings))
    }

    fn points(&self, settings: &Self::Settings) -> Result<Vec<Box<dyn Point>>> {
        let norm = settings.training.run.penalty.norm;
        if norm != Norm::default() {
            let expected = format!("\"{}\", for `norms` says which", Norm::default());
            return Err(Error::config("penalty.norm", expected, format!("\"{norm}\"")));
        }
        settings.asked().points(&settings.rows(), settings.training.seeds)
    }

    fn prepare(&self, settings: &Self::Settings, session: &mut Session<'_>) -> Result<bool> {
        prepare(&settings.training, session)
    }

    fn findings(&self, settings: &Self::Settings, frame: &Frame) -> Result<Findings> {
        let cells = settings.asked().norm_cells(frame, &settings.rows());
        let mut findings = settings.asked().findings(frame, &cells);
        findings.csv = written::csv(&settings.costs.measured_batches, &cells, true);
        findings.tables = vec![norms::table(&settings.training, &cells)];
        findings.figures = vec![figures::norm_convergence(&cells)];
        findings.checks = norms::checks(&cells);
        findings.notes.push(notes::norm_notes());
        Ok(findings)
    }
}

impl Target for FigCt {
    type Settings = TargetSettings<Modes, Free>;

    fn name(&self) -> &'static str {
        "fig-ct"
    }

    fn about(&self) -> &'static str {
        "a pelvic slice with two implants as three networks leave it in three modes (fig:ct_mar)"
    }

    fn settings(&self, budget: Budget) -> Self::Settings {
        budget::figure(budget)
    }

    fn shown(&self, settings: &Self::Settings) -> Vec<(String, String)> {
        settings.training.shown(config::lines(settings))
    }

    /// The first seed of each row.
    fn points(&self, settings: &Self::Settings) -> Result<Vec<Box<dyn Point>>> {
        settings.asked().points(&settings.rows(), 1)
    }

    fn prepare(&self, settings: &Self::Settings, session: &mut Session<'_>) -> Result<bool> {
        prepare(&settings.training, session)
    }

    fn findings(&self, settings: &Self::Settings, frame: &Frame) -> Result<Findings> {
        let cells = settings.asked().cells(frame, &settings.rows());
        let mut findings = settings.asked().findings(frame, &cells);
        let (drawn, shown) = drawn(&cells)?;
        findings.csv = written::csv(&[], &cells, false);
        findings.tables = vec![tables::pictures(&shown), tables::quality(&settings.training, &cells)];
        findings.figures = drawn;
        findings.figures.push(figures::convergence(&cells));
        Ok(findings)
    }
}
