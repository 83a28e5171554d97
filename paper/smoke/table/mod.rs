//! `table-smoke`: relaxed equivariant networks with and without the projection penalty, on smoke whose symmetry is broken a little.
//!
//! ```text
//! first    every column without +Reg at all seeds, and +Reg at the first seed for every λ_⊥ of the sweep
//! then     +Reg at the other seeds, for the λ_⊥ with the least validation error
//! ```
//!
//! Paper: section "Imperfectly Symmetric Dynamical Systems", `tab:hyperparams_smoke`.

mod cells;
mod claims;
mod columns;
mod figures;
mod notes;
mod point;
mod rollouts;
mod settings;
mod tables;
#[cfg(test)]
mod tests;

// What most files here need.
use crate::smoke::data::{Subset, Symmetry};
use crate::smoke::networks::Architecture;
use crate::smoke::table::cells::{Cell, cell, cells, metric, selected};
use crate::smoke::table::columns::{COLUMNS, Column};
use crate::smoke::table::point::{PREDICTION, SmokePoint, TRUTH, drawn_steps};
use crate::smoke::table::settings::{TableSettings, strength};
use crate::targets::runs::{Runs, in_common, seeds};
use crate::targets::sample::three_digits;
use crate::targets::training::Shared;
use crate::targets::{
    Budget, Chosen, Figure, Findings, Frame, Named, Numbers, Point, PointSession, Sample, Session, Target, Trained,
    boxed, curves,
};
use reynolds_report::figure::{Colour, Key, LineChart, Scale, Shading};
use reynolds_report::{Check, Table};
use reynolds_train::config::{RunConfig, Selection, Settings};
use reynolds_train::experiment::Experiment;
use reynolds_train::{Error, Result};
use std::sync::Arc;

use crate::smoke::{check_windows, ensure_needed};
use serde_json::Map;
use std::collections::BTreeSet;

/// Columns of errors_by_step.csv.
const BY_STEP: [&str; 4] = ["future/rmse", "future/persistence", "domain/rmse", "domain/persistence"];

pub(crate) struct TableSmoke;

/// Columns without +Reg at all seeds; +Reg at the first seed for every λ_⊥ and, once the sweep is known, at the others for the selected one.
fn wanted(settings: &TableSettings, frame: &Frame) -> Vec<SmokePoint> {
    let mut points = Vec::new();
    for kind in settings.kinds.iter() {
        for column in settings.columns_of(kind) {
            let point = |lambda, seed| settings.point(kind, column, lambda, seed);
            if !column.reg {
                points.extend(settings.all_seeds().map(|seed| point(0.0, seed)));
                continue;
            }
            let sweep = settings.lambda_perp.increasing().into_iter();
            points.extend(sweep.map(|lambda| point(lambda, settings.run.seed)));
            if let Some(lambda) = selected(settings, frame, kind, column) {
                points.extend(settings.all_seeds().skip(1).map(|seed| point(lambda, seed)));
            }
        }
    }
    points
}

/// Points that load the frames of a data set once.
fn sharing(points: Vec<SmokePoint>) -> Vec<Box<dyn Point>> {
    let shared = Arc::<Shared<_>>::default();
    boxed(points.into_iter().map(|point| SmokePoint { shared: Arc::clone(&shared), ..point }))
}

impl Target for TableSmoke {
    type Settings = TableSettings;

    fn name(&self) -> &'static str {
        "table-smoke"
    }

    fn about(&self) -> &'static str {
        "forecasts of smoke whose symmetry is broken a little, with and without the penalty (section 4.2)"
    }

    fn settings(&self, budget: Budget) -> TableSettings {
        TableSettings::of_budget(budget)
    }

    fn shown(&self, settings: &TableSettings) -> Vec<(String, String)> {
        settings.shown()
    }

    fn points(&self, settings: &TableSettings) -> Result<Vec<Box<dyn Point>>> {
        settings.data().try_for_each(|data| check_windows(&data))?;
        let points = wanted(settings, &Frame::default());
        let mut seen = BTreeSet::new();
        for point in &points {
            if seen.insert((point.kind().name(), point.column.network)) {
                point.check()?;
            }
        }
        Ok(sharing(points))
    }

    fn prepare(&self, settings: &TableSettings, session: &mut Session<'_>) -> Result<bool> {
        for data in settings.data() {
            if !ensure_needed(&data, settings.run.train.threads, &session.interrupt)? {
                return Ok(false);
            }
        }
        Ok(!session.interrupt.requested())
    }

    fn more(&self, settings: &TableSettings, frame: &Frame) -> Result<Vec<Box<dyn Point>>> {
        Ok(sharing(wanted(settings, frame)))
    }

    fn findings(&self, settings: &TableSettings, frame: &Frame) -> Result<Findings> {
        let cells = cells(settings, frame);
        let mut figures = Vec::new();
        for kind in settings.kinds.iter() {
            figures.extend(rollouts::figure(kind, &cells, settings.run.settings.data.rollout));
        }
        figures.push(figures::by_step(settings, &cells));
        figures.extend(figures::sweep(settings, frame, &cells));
        figures.push(figures::validation(settings, &cells));
        Ok(Findings {
            tables: vec![
                tables::errors(settings, &cells),
                tables::mean_squares(settings, &cells),
                tables::networks(&cells),
            ],
            csv: tables::csv(&cells),
            files: vec![
                ("validation_curves.csv", curves::csv(frame, "curve", "epoch", &["train/loss", "validation/rmse"])),
                ("errors_by_step.csv", curves::csv(frame, "by_step", "step", &BY_STEP)),
            ],
            more: Map::from_iter([
                ("cells".to_string(), tables::json(&cells)),
                // Pictures of rollouts are in the figures alone.
                ("curves".to_string(), curves::json(frame.iter(), |name| name != PREDICTION && name != TRUTH)),
            ]),
            figures,
            checks: claims::checks(settings.kinds.as_slice(), &cells),
            notes: notes::notes(settings),
        })
    }
}
