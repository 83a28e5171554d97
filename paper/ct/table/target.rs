//! The three targets: which models each wants, and what comes of them.

use std::collections::BTreeSet;

use reynolds::norm::Norm;
use toml::Table;

use super::budget::{Of, of_budget};
use super::cells::{Cell, cells, norm_cells};
use super::ct_model::{CURVES, CtModel};
use super::measured::Measured;
use super::pictures::{self, Shown};
use super::row::{InTable, Mode, Row};
use super::settings::Setup;
use super::{claims, cost_claims, figures, norms, notes, tables, written};
use crate::ct::ensure_pairs;
use crate::targets::curves;
use crate::targets::engine::Session;
use crate::targets::findings::{Figure, Findings};
use crate::targets::point::{Frame, Point};
use crate::targets::{Budget, Target, boxed};
use reynolds_train::error::Result;

/// A table or figure of metal artefact reduction.
pub(crate) struct CtTarget {
    pub(super) name: &'static str,
    pub(super) about: &'static str,
    pub(super) of: Of,
}

impl CtTarget {
    /// The settings in their types. A figure has plain models always: they keep what every network sees.
    pub(super) fn setup(&self, settings: &Table) -> Result<Setup> {
        let mut setup = Setup::new(settings)?;
        if self.of == Of::Pictures && !setup.modes.contains(&Mode::Plain) {
            setup.modes.insert(0, Mode::Plain);
        }
        Ok(setup)
    }

    /// Rows with the norm of their penalty, each once however many rows are tested on it.
    fn trained_rows(&self, setup: &Setup) -> Vec<(Row, Norm)> {
        let rows = match self.of {
            Of::Norms => setup.norm_rows(),
            Of::Modes | Of::Pictures => setup.rows().into_iter().map(|row| (row, Norm::Frobenius)).collect(),
        };
        let mut trained: Vec<(Row, Norm)> = Vec::new();
        for (row, norm) in rows {
            let row = (Row { mode: row.mode.trained_as(), ..row }, norm);
            if !trained.contains(&row) {
                trained.push(row);
            }
        }
        trained
    }

    /// What is trained.
    pub(super) fn trained(&self, setup: &Setup) -> Result<Vec<CtModel>> {
        let seeds = if self.of == Of::Pictures { 1 } else { setup.seeds };
        let mut models = Vec::new();
        for (row, norm) in self.trained_rows(setup) {
            for seed in 0..seeds {
                models.push(setup.model(row, norm, seed)?);
            }
        }
        Ok(models)
    }

    /// What is measured.
    pub(super) fn measured(&self, setup: &Setup) -> Vec<Measured> {
        let rows = self.trained_rows(setup).into_iter().filter(|_| setup.efficiency);
        rows.map(|(row, norm)| setup.measured(row, norm)).collect()
    }

    fn pictures(cells: &[Cell<'_>]) -> Result<(Vec<Figure>, Vec<Shown>)> {
        let (mut drawn, mut shown) = (Vec::new(), Vec::new());
        for case in ["figure", "test"] {
            if let Some((figure, numbers)) = pictures::figure(cells, case)? {
                drawn.push(figure);
                shown.extend(numbers);
            }
        }
        Ok((drawn, shown))
    }
}

impl Target for CtTarget {
    fn name(&self) -> &'static str {
        self.name
    }

    fn about(&self) -> &'static str {
        self.about
    }

    fn settings(&self, budget: Budget) -> Table {
        of_budget(budget, self.of)
    }

    fn applying(&self, settings: &Table) -> Table {
        Setup::new(settings).map_or_else(|_| settings.clone(), |setup| setup.applying())
    }

    fn models(&self, settings: &Table) -> Result<Vec<Box<dyn Point>>> {
        let setup = self.setup(settings)?;
        let trained = self.trained(&setup)?;
        let mut seen = BTreeSet::new();
        for model in &trained {
            if seen.insert(model.row.network) {
                model.check()?;
            }
        }
        let mut models = boxed(trained);
        models.extend(boxed(self.measured(&setup)));
        Ok(models)
    }

    fn prepare(&self, settings: &Table, session: &mut Session<'_>) -> Result<bool> {
        let setup = Setup::new(settings)?;
        Ok(ensure_pairs(&setup.data, 0, &session.interrupt)? && !session.interrupt.requested())
    }

    fn findings(&self, settings: &Table, models: &Frame) -> Result<Findings> {
        let setup = self.setup(settings)?;
        let (cells, is_norms) = match self.of {
            Of::Norms => (norm_cells(&setup, models)?, true),
            Of::Modes | Of::Pictures => (cells(&setup, models)?, false),
        };
        let mut findings = Findings {
            csv: written::csv(&setup, &cells, is_norms),
            files: vec![("validation_curves.csv", curves::csv(models, &CURVES))],
            more: written::results(&cells, models),
            notes: notes::notes(&setup),
            ..Findings::default()
        };
        findings.notes.extend(notes::left_out(&cells));
        match self.of {
            Of::Norms => {
                findings.tables = vec![norms::table(&setup, &cells)];
                findings.figures = vec![figures::norm_convergence(&cells)];
                findings.checks = norms::checks(&cells);
                findings.notes.push(notes::norm_notes());
            }
            Of::Modes => {
                findings.tables = vec![tables::quality(&setup, &cells)];
                findings.tables.extend(tables::precisions(&cells));
                findings.tables.extend(tables::efficiency(&setup, &cells));
                findings.figures = Self::pictures(&cells)?.0;
                findings.figures.push(figures::convergence(&cells));
                findings.checks = claims::checks(&cells);
                findings.checks.extend(cost_claims::checks(&cells));
            }
            Of::Pictures => {
                let (drawn, shown) = Self::pictures(&cells)?;
                findings.tables = vec![tables::pictures(&shown), tables::quality(&setup, &cells)];
                findings.figures = drawn;
                findings.figures.push(figures::convergence(&cells));
            }
        }
        Ok(findings)
    }
}
