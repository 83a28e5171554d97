//! `table-ct`, `table-norms` and `fig-ct`: metal artefact reduction by three networks in five modes, the same under twelve norms, and what
//! the slices look like. Test-time projection is a test of the plain models.
//!
//! Paper: section "CT-Scan Metal Artifact Reduction", `tab:ct_mar`, `fig:ct_mar`, `tab:norm_comparison`.

mod cells;
mod claims;
mod cost;
mod cost_claims;
mod figures;
mod notes;
mod pictures;
mod row;
mod run;
mod settings;
mod tables;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::sync::Arc;

use self::cells::{Cell, cells, lines, of_images, of_rows};
use self::row::Row;
use self::run::{CURVES, CtRun};
use self::settings::{Costs, TargetSettings};
use crate::ct::{CtExperiment, CtTask, ensure_pairs};
use crate::targets::cost::Cost;
use crate::targets::engine::Session;
use crate::targets::findings::Findings;
use crate::targets::point::{Frame, Point};
use crate::targets::training::Shared;
use crate::targets::{Budget, Target, boxed, columns, curves};
use reynolds_train::config::Settings;
use reynolds_train::error::Result;
use serde_json::Map;

/// A table or figure of the CT experiment.
pub(crate) struct CtTarget {
    name: &'static str,
    about: &'static str,
    budget: fn(Budget) -> TargetSettings,
    /// Tables, figures, claims and further notes.
    add: fn(&mut Findings, &TargetSettings, &[Cell<'_>]) -> Result<()>,
}

/// Paper: `tab:ct_mar`.
pub(crate) const TABLE: CtTarget = CtTarget {
    name: "table-ct",
    about: "metal artefact reduction of three networks in five modes, quality and cost (tab:ct_mar)",
    budget: settings::table,
    add: |findings, settings, cells| {
        findings.tables.push(tables::quality(settings, cells));
        findings.tables.extend(tables::precisions(cells));
        findings.tables.extend(settings.measured().and_then(|costs| tables::efficiency(costs, cells)));
        findings.figures = pictures::figures(cells)?.0;
        findings.figures.push(figures::convergence(cells, figures::by_mode));
        findings.checks = claims::of_modes(cells);
        findings.checks.extend(cost_claims::of_modes(cells));
        Ok(())
    },
};

/// Paper: `tab:norm_comparison`.
pub(crate) const NORMS: CtTarget = CtTarget {
    name: "table-norms",
    about: "the projection penalty of metal artefact reduction under twelve norms, quality and cost (tab:norm_comparison)",
    budget: settings::norms,
    add: |findings, settings, cells| {
        findings.tables.push(tables::norms(settings, cells));
        findings.figures.push(figures::convergence(cells, figures::by_norm));
        findings.checks = claims::of_norms(cells);
        findings.notes.push(notes::norm_notes());
        Ok(())
    },
};

/// Paper: `fig:ct_mar`.
pub(crate) const FIGURE: CtTarget = CtTarget {
    name: "fig-ct",
    about: "a pelvic slice with two implants as three networks leave it in three modes (fig:ct_mar)",
    budget: settings::figure,
    add: |findings, settings, cells| {
        let (figures, shown) = pictures::figures(cells)?;
        findings.tables = vec![tables::pictures(&shown), tables::quality(settings, cells)];
        findings.figures = figures;
        findings.figures.push(figures::convergence(cells, figures::by_mode));
        Ok(())
    },
};

impl TargetSettings {
    /// The rows whose models are trained, each once however many rows are tested on it.
    fn trained(&self) -> Vec<Row> {
        let mut trained: Vec<Row> = Vec::new();
        for row in self.rows().into_iter().map(Row::trained) {
            if !trained.contains(&row) {
                trained.push(row);
            }
        }
        trained
    }

    fn runs(&self) -> Vec<CtRun> {
        let shared = Arc::new(Shared::default());
        let of_row = |row| self.seeds().map(move |seed| self.model(row, seed));
        let runs = self.trained().into_iter().flat_map(of_row);
        runs.map(|run| CtRun { shared: Arc::clone(&shared), ..run }).collect()
    }

    fn measurements(&self) -> Vec<Cost<CtExperiment>> {
        let of_row =
            |costs: &'_ Costs| self.trained().into_iter().map(|row| costs.of(&self.run, row)).collect::<Vec<_>>();
        self.measured().into_iter().flat_map(of_row).collect()
    }
}

impl Target for CtTarget {
    type Settings = TargetSettings;

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

    fn points(&self, settings: &Self::Settings) -> Result<Vec<Box<dyn Point>>> {
        let runs = settings.runs();
        let mut seen = BTreeSet::new();
        for run in &runs {
            run.run.validate()?;
            if seen.insert(run.row.network) {
                CtTask::check(&run.run.settings.model)?;
            }
        }
        let mut points = boxed(runs);
        points.extend(boxed(settings.measurements()));
        Ok(points)
    }

    fn prepare(&self, settings: &Self::Settings, session: &mut Session<'_>) -> Result<bool> {
        let run = &settings.run;
        let made = ensure_pairs(&run.settings.data, run.train.threads, &session.interrupt)?;
        Ok(made && !session.interrupt.requested())
    }

    fn findings(&self, settings: &Self::Settings, frame: &Frame) -> Result<Findings> {
        let cells = cells(settings, frame);
        let trivial = lines(&cells, ["input", "li"], ["network", "psnr_mean", "ssim_mean"]);
        let mut notes = notes::notes(settings);
        notes.extend(notes::left_out(&cells));
        let with_curves = frame.iter().filter(|entry| !entry.trained.arrays.is_empty());
        let columns = of_images();
        let mut findings = Findings {
            csv: columns::csv(&of_rows(&settings.costs.measured_batches), trivial),
            files: vec![("validation_curves.csv", curves::csv(frame, "curve", "epoch", &CURVES))],
            more: Map::from_iter([
                ("data".to_string(), tables::DATA.into()),
                ("cells".to_string(), cells.iter().map(|cell| columns::json(&columns, cell)).collect()),
                // Pictures are in the figures alone.
                ("curves".to_string(), curves::json(with_curves, |name| !name.starts_with("picture/"))),
            ]),
            notes,
            ..Findings::default()
        };
        (self.add)(&mut findings, settings, &cells)?;
        Ok(findings)
    }
}
