//! `table-smoke`: relaxed equivariant networks with and without the projection penalty, on smoke whose symmetry is broken a little.
//!
//! ```text
//! first    every column without +Reg at all seeds, and +Reg at seed 0 for every λ_⊥ of the sweep
//! then     +Reg at the other seeds, for the λ_⊥ with the least validation error
//! ```
//!
//! Paper: section "Imperfectly Symmetric Dynamical Systems", `tab:hyperparams_smoke`.

mod cells;
mod claims;
mod column;
mod figures;
mod notes;
mod paper;
mod plume_model;
mod rollouts;
mod settings;
#[cfg(test)]
mod synthetic;
mod tables;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};
use toml::Table;

use crate::smoke::{check_windows, data_folder, ensure_needed};
use crate::targets::curves;
use crate::targets::engine::Session;
use crate::targets::findings::Findings;
use crate::targets::point::{Entry, Frame, Point};
use crate::targets::{Budget, Target, boxed};
use cells::{Cell, cells, selected};
use plume_model::{PREDICTION, PlumeModel, TRUTH};
use reynolds_train::error::Result;
use settings::{Setup, of_budget, own_key};

/// Paper: the table of section "Imperfectly Symmetric Dynamical Systems".
pub(crate) struct TableSmoke;

/// The models of the first phase, row by row.
fn sooner(setup: &Setup) -> Result<Vec<PlumeModel>> {
    let mut models = Vec::new();
    for &kind in &setup.kinds {
        for column in setup.columns_of(kind) {
            match column.without_penalty() {
                Some(_) => {
                    let sweep = setup.lambda_perp.iter().map(|&lambda| setup.model(kind, column, lambda, 0));
                    models.extend(sweep.collect::<Result<Vec<_>>>()?);
                }
                None => {
                    let seeds = (0..setup.seeds).map(|seed| setup.model(kind, column, 0.0, seed));
                    models.extend(seeds.collect::<Result<Vec<_>>>()?);
                }
            }
        }
    }
    Ok(models)
}

/// The models of the second phase: the other seeds of what was selected.
fn later(setup: &Setup, models: &Frame) -> Result<Vec<PlumeModel>> {
    let mut more = Vec::new();
    for &kind in &setup.kinds {
        for column in setup.columns_of(kind).filter(|column| column.without_penalty().is_some()) {
            if let Some(lambda) = selected(setup, models, kind, column)? {
                let seeds = (1..setup.seeds).map(|seed| setup.model(kind, column, lambda, seed));
                more.extend(seeds.collect::<Result<Vec<_>>>()?);
            }
        }
    }
    Ok(more)
}

impl Target for TableSmoke {
    fn name(&self) -> &'static str {
        "table-smoke"
    }

    fn about(&self) -> &'static str {
        "forecasts of smoke whose symmetry is broken a little, with and without the penalty (section 4.2)"
    }

    fn settings(&self, budget: Budget) -> Table {
        of_budget(budget)
    }

    fn applying(&self, settings: &Table) -> Table {
        Setup::new(settings).map_or_else(|_| settings.clone(), |setup| setup.applying())
    }

    fn models(&self, settings: &Table) -> Result<Vec<Box<dyn Point>>> {
        let setup = Setup::new(settings)?;
        for &kind in &setup.kinds {
            check_windows(kind, setup.data.counts()).map_err(own_key(kind))?;
        }
        let models = sooner(&setup)?;
        let mut seen = BTreeSet::new();
        for model in &models {
            if seen.insert((model.kind().to_string(), model.config.settings.model.architecture)) {
                model.check()?;
            }
        }
        Ok(boxed(models))
    }

    fn prepare(&self, settings: &Table, session: &mut Session<'_>) -> Result<bool> {
        let setup = Setup::new(settings)?;
        for &kind in &setup.kinds {
            let folder = data_folder(&setup.data.folder);
            if !ensure_needed(kind, &folder, setup.data.counts(), 0, &session.interrupt)? {
                return Ok(false);
            }
        }
        Ok(!session.interrupt.requested())
    }

    fn more(&self, settings: &Table, models: &Frame) -> Result<Vec<Box<dyn Point>>> {
        Ok(boxed(later(&Setup::new(settings)?, models)?))
    }

    fn findings(&self, settings: &Table, models: &Frame) -> Result<Findings> {
        let setup = Setup::new(settings)?;
        let cells = cells(&setup, models)?;
        let mut figures = Vec::new();
        for &kind in &setup.kinds {
            figures.extend(rollouts::figure(kind, &cells, setup.data.rollout));
        }
        figures.push(figures::by_step(&setup, &cells));
        figures.extend(figures::sweep(&setup, models, &cells)?);
        figures.push(figures::validation(&setup, &cells));
        Ok(Findings {
            tables: vec![
                tables::errors(&setup, &cells),
                tables::mean_squares(&setup, &cells),
                tables::networks(&setup, &cells)?,
            ],
            csv: tables::csv(&setup, &cells)?,
            files: vec![
                ("validation_curves.csv", curves::csv(models, &["train/loss", "validation/rmse"])),
                ("errors_by_step.csv", tables::errors_by_step(models)),
            ],
            more: results(&cells, models),
            figures,
            checks: claims::checks(&setup.kinds, &cells),
            notes: notes::notes(&setup),
        })
    }
}

/// Cells and curves for results.json; pictures of rollouts are in the figures alone.
fn results(cells: &[Cell<'_>], models: &Frame) -> Map<String, Value> {
    let of_cell = |cell: &Cell<'_>| {
        let mut value = json!({
            "kind": cell.kind.to_string(),
            "column": cell.column.name(),
            "lambda_perp": cell.lambda_perp,
            "seeds": cell.runs.iter().map(|(seed, _)| seed).collect::<Vec<_>>(),
            "diverged": cell.diverged(),
        });
        for test in cells::Test::ALL {
            let (gain, error) = cell.gain(test);
            let paper = paper::published(cell.kind, cell.column, test);
            value[test.name()] = json!({
                "rmse": cell.test(test, "rmse").values(),
                "mse": cell.test(test, "mse").values(),
                "gain": gain,
                "gain_se": error,
                "trained": cell.is_trained(test),
                "paper": paper.map(|(mean, deviation)| [mean, deviation]),
            });
        }
        value
    };
    let of_model = |entry: &Entry| {
        let arrays = entry.trained.arrays.iter().filter(|(name, _)| *name != PREDICTION && *name != TRUTH);
        (entry.id.clone(), arrays.map(|(name, values)| (name.clone(), json!(values))).collect::<Map<_, _>>().into())
    };
    let curves: Map<String, Value> = models.iter().map(of_model).collect();
    Map::from_iter([
        ("cells".to_string(), cells.iter().map(of_cell).collect::<Vec<_>>().into()),
        ("curves".to_string(), curves.into()),
    ])
}
