//! The five targets: which models each wants, and what comes of them.

use toml::Table;

use super::budget::{Of, of_budget};
use super::cells::cells;
use super::med_model::{CURVES, MedModel};
use super::settings::{Point, Setup};
use super::{claims, confusion, efficiency, figures, notes, sensitivity, shapes, tables, tuning, written};
use crate::targets::curves;
use crate::targets::engine::Session;
use crate::targets::findings::Findings;
use crate::targets::point::{Frame, Point};
use crate::targets::{Budget, Target, boxed};
use reynolds_train::error::Result;

/// A table or figure of MedMNIST.
pub(crate) struct MedTarget {
    pub(super) name: &'static str,
    pub(super) about: &'static str,
    pub(super) of: Of,
}

impl MedTarget {
    /// What is trained, as far as is known.
    pub(super) fn points(&self, setup: &Setup, models: &Frame) -> Result<Vec<Point>> {
        match self.of {
            Of::Accuracy | Of::Confusion => tuning::wanted(setup, models),
            Of::Sensitivity => Ok(sensitivity::wanted(setup)),
            Of::Shapes => Ok(shapes::wanted(setup)),
            Of::Efficiency => Ok(Vec::new()),
        }
    }

    /// Models in all rounds, and their steps.
    pub(super) fn amount(&self, setup: &Setup) -> Result<(usize, usize)> {
        let (mut models, mut steps) = (0, 0);
        match self.of {
            Of::Accuracy | Of::Confusion => {
                for &set in &setup.sets {
                    let count: usize = setup.rows.iter().map(|&row| setup.tuning.count(row, set, setup.seeds)).sum();
                    (models, steps) = (models + count, steps + count * setup.steps(set));
                }
            }
            Of::Sensitivity | Of::Shapes => {
                for point in self.points(setup, &Frame::default())? {
                    (models, steps) = (models + 1, steps + setup.steps(point.set));
                }
            }
            Of::Efficiency => models = setup.rows.len(),
        }
        Ok((models, steps))
    }

    fn trained(&self, setup: &Setup, models: &Frame) -> Result<Vec<MedModel>> {
        self.points(setup, models)?.iter().map(|point| setup.model(point)).collect()
    }

    /// Tables, figures and claims of what was trained.
    fn of_cells(&self, setup: &Setup, models: &Frame, findings: &mut Findings) -> Result<()> {
        let cells = cells(setup, models)?;
        findings.tables = vec![tables::accuracy(setup, &cells)];
        findings.more = written::results(&cells, models);
        if self.of == Of::Confusion {
            findings.tables.extend(confusion::table(setup, &cells));
            findings.figures = vec![confusion::figure(setup, &cells)];
            findings.csv = confusion::csv(&cells);
            findings.checks = confusion::checks(&cells);
            return Ok(());
        }
        findings.tables.extend(setup.sets.iter().map(|&set| tables::of_set(setup, &cells, set)));
        findings.tables.extend(tables::tried(&tuning::tried(setup, models)?));
        findings.csv = written::csv(&cells);
        findings.figures = figures::convergence(setup, &cells);
        findings.checks = claims::checks(&cells);
        Ok(())
    }
}

impl Target for MedTarget {
    fn name(&self) -> &'static str {
        self.name
    }

    fn about(&self) -> &'static str {
        self.about
    }

    fn settings(&self, budget: Budget) -> Table {
        of_budget(budget, self.of)
    }

    fn plan(&self, settings: &Table) -> Result<Option<String>> {
        let setup = Setup::new(settings)?;
        let (models, steps) = self.amount(&setup)?;
        Ok(Some(match self.of {
            Of::Efficiency => format!("{models} rows to measure, a process each"),
            _ => format!("{models} models of {} epochs, {steps} steps in all", setup.epochs),
        }))
    }

    fn models(&self, settings: &Table) -> Result<Vec<Box<dyn Point>>> {
        let setup = Setup::new(settings)?;
        match self.of {
            Of::Efficiency => Ok(boxed(setup.rows.iter().map(|&row| setup.measured(row)))),
            _ => Ok(boxed(self.trained(&setup, &Frame::default())?)),
        }
    }

    fn prepare(&self, settings: &Table, session: &mut Session<'_>) -> Result<bool> {
        if self.of != Of::Efficiency {
            // A file that is missing is told before anything is trained.
            let setup = Setup::new(settings)?;
            for &set in &setup.sets {
                if !setup.prepare(set, &session.interrupt)? {
                    return Ok(false);
                }
            }
        }
        Ok(!session.interrupt.requested())
    }

    fn more(&self, settings: &Table, models: &Frame) -> Result<Vec<Box<dyn Point>>> {
        Ok(boxed(self.trained(&Setup::new(settings)?, models)?))
    }

    fn findings(&self, settings: &Table, models: &Frame) -> Result<Findings> {
        let setup = Setup::new(settings)?;
        let mut findings = Findings { notes: notes::notes(self.of, &setup), ..Findings::default() };
        if self.of != Of::Efficiency {
            findings.files = vec![("validation_curves.csv", curves::csv(models, &CURVES))];
        }
        match self.of {
            Of::Accuracy | Of::Confusion => self.of_cells(&setup, models, &mut findings)?,
            Of::Efficiency => {
                let costs = efficiency::costs(&setup, models);
                findings.tables = vec![efficiency::table(&setup, &costs)];
                findings.csv = efficiency::csv(&costs);
                findings.checks = efficiency::checks(&costs);
            }
            Of::Sensitivity => {
                let maps = sensitivity::maps(&setup, models)?;
                findings.tables = vec![sensitivity::table(&setup, &maps)];
                findings.csv = sensitivity::csv(&maps);
                findings.figures = vec![sensitivity::figure(&setup, &maps)];
                findings.checks = sensitivity::checks(&maps);
            }
            Of::Shapes => {
                let all = shapes::found(&setup, models)?;
                findings.tables = vec![shapes::table(&setup, &all)];
                findings.csv = shapes::csv(&all);
                findings.figures = vec![shapes::figure(&setup, &all)];
                findings.checks = shapes::checks(&setup, &all);
            }
        }
        Ok(findings)
    }
}
