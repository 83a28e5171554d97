//! The figures and tables of the paper by name: trains what one needs, draws it, and says which of the paper's claims held.
//!
//! ```text
//! runs/reproduce/<target>/<UTC time>-<id>/
//!   config.toml       target, budget and settings
//!   checkpoints/      every finished model, so that a stopped reproduction goes on
//!   figures/*.svg  *.csv  results.json  report.html
//! ```
//!
//! Models are independent of each other and each is trained by one thread, so that the result does not depend on how many are trained
//! at a time. A target may ask for more models once it knows what came of the first, such as the other seeds of a selected λ_⊥.
//!
//! ```
//! use reynolds_paper::targets::{self, Budget};
//! let names: Vec<_> = targets::targets().iter().map(|target| target.name()).collect();
//! assert!(names.contains(&"fig-so2"));
//! assert_eq!(targets::find("fig-so2")?.settings(Budget::Quick)["seeds"].as_integer(), Some(5));
//! # Ok::<(), reynolds_train::Error>(())
//! ```

pub(crate) mod curves;
pub(crate) mod difference;
pub(crate) mod drive;
pub(crate) mod findings;
pub(crate) mod model;
pub(crate) mod pool;
pub(crate) mod provenance;
pub(crate) mod runs;
pub(crate) mod sample;
pub(crate) mod setting;

use std::str::FromStr;

use toml::{Table, Value};

use reynolds_train::error::{Error, Result};

use crate::so2::{fig_projection, fig_rings, fig_so2, fig_so2_grid};

pub use drive::{Outcome, Place, Request, Session, reproduce};
pub use findings::{Figure, Findings, Reproduction};
pub use model::{Entry, Model, Models, Trained};
pub use sample::Sample;

/// How much is computed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Budget {
    /// 5 seeds where models are small, and little of what is large.
    Quick,
    /// 10 seeds where models are small, and what an accelerator does in an hour of what is large.
    Standard,
    /// 20 seeds where models are small, and all of the paper's of what is large.
    Full,
}

impl Budget {
    /// "quick", "standard" or "full".
    pub fn name(self) -> &'static str {
        match self {
            Self::Quick => "quick",
            Self::Standard => "standard",
            Self::Full => "full",
        }
    }

    /// Models of each kind where they are small. The epochs are the paper's in every budget.
    fn seeds(self) -> i64 {
        match self {
            Self::Quick => 5,
            Self::Standard => 10,
            Self::Full => 20,
        }
    }
}

impl FromStr for Budget {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let all = [Self::Quick, Self::Standard, Self::Full];
        let found = all.into_iter().find(|budget| budget.name() == text);
        found.ok_or_else(|| Error::config("budget", "quick, standard or full", format!("\"{text}\"")))
    }
}

/// A table or figure that can be made by name: `reynolds reproduce NAME`.
pub trait Target: Sync {
    /// As on the command line.
    fn name(&self) -> &'static str;

    /// One sentence, with the paper's label.
    fn about(&self) -> &'static str;

    /// All settings, as a budget has them; these keys may be changed.
    fn settings(&self, budget: Budget) -> Table;

    /// The settings that matter for what is asked for, to be shown.
    fn applying(&self, settings: &Table) -> Table {
        settings.clone()
    }

    /// How much there is to do, in a line, told before it is begun; `None` if there is nothing to be said.
    ///
    /// # Errors
    /// [`Error::Config`] if a setting is out of range.
    fn plan(&self, settings: &Table) -> Result<Option<String>> {
        let _ = settings;
        Ok(None)
    }

    /// The models it needs from the start.
    ///
    /// # Errors
    /// [`Error::Config`] if a setting is out of range.
    fn models(&self, settings: &Table) -> Result<Vec<Box<dyn Model>>>;

    /// Makes what the models are trained on, before any is; `false` if someone interrupted. Called again when a reproduction goes on, unless
    /// all its models are finished.
    ///
    /// # Errors
    /// If it cannot be made.
    fn prepare(&self, settings: &Table, session: &mut Session<'_>) -> Result<bool> {
        let _ = (settings, session);
        Ok(true)
    }

    /// The models it needs beside these, now that it is known what came of them; asked until there is none that is not among them.
    ///
    /// # Errors
    /// If they cannot be chosen.
    fn more(&self, settings: &Table, models: &Models) -> Result<Vec<Box<dyn Model>>> {
        let _ = (settings, models);
        Ok(Vec::new())
    }

    /// What comes of the trained models.
    ///
    /// # Errors
    /// If something cannot be computed.
    fn findings(&self, settings: &Table, models: &Models) -> Result<Findings>;
}

/// Every target, in the order of the paper.
pub fn targets() -> [&'static dyn Target; 14] {
    [
        &fig_projection::Projection,
        &fig_so2::LambdaPath,
        &fig_so2_grid::LambdaGrid,
        &fig_rings::ROW,
        &fig_rings::GRID,
        &crate::smoke::table::TableSmoke,
        &crate::ct::table::TABLE,
        &crate::ct::table::FIGURE,
        &crate::ct::table::NORMS,
        &crate::medmnist::table::ACCURACY,
        &crate::medmnist::table::EFFICIENCY,
        &crate::medmnist::table::SENSITIVITY,
        &crate::medmnist::table::CONFUSION,
        &crate::medmnist::table::SHAPES,
    ]
}

/// The target of that name.
///
/// # Errors
/// [`Error::Config`] with all names.
pub fn find(name: &str) -> Result<&'static dyn Target> {
    targets().into_iter().find(|target| target.name() == name).ok_or_else(|| {
        let names: Vec<_> = targets().iter().map(|target| target.name()).collect();
        Error::config("target", format!("one of {}", names.join(", ")), format!("\"{name}\""))
    })
}

/// Models of one kind among those of others.
pub(crate) fn boxed<M: Model + 'static>(models: impl IntoIterator<Item = M>) -> Vec<Box<dyn Model>> {
    models.into_iter().map(|model| Box::new(model) as Box<dyn Model>).collect()
}

/// Settings of an SO(2) target that trains: seeds by the budget, epochs as in the paper.
pub(crate) fn training_settings(budget: Budget) -> Table {
    Table::from_iter([
        ("seeds".to_string(), Value::Integer(budget.seeds())),
        ("epochs".to_string(), Value::Integer(200)),
    ])
}

/// A setting that is a count, at least `least`.
pub(crate) fn count(settings: &Table, key: &str, least: u64) -> Result<u64> {
    let value = settings.get(key).and_then(Value::as_integer).unwrap_or_default();
    let found = u64::try_from(value).ok().filter(|value| (least..=1_000_000).contains(value));
    found.ok_or_else(|| Error::config(key, format!("a whole number, at least {least}"), value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets_are_found_by_name_and_others_are_listed() {
        for target in targets() {
            assert_eq!(find(target.name()).unwrap().about(), target.about());
        }
        let message = find("fig-so3").err().unwrap().to_string();
        assert!(message.contains("fig-so2-grid") && message.contains("\"fig-so3\""), "{message}");
    }

    #[test]
    fn every_budget_has_at_least_five_seeds() {
        for budget in [Budget::Quick, Budget::Standard, Budget::Full] {
            assert!(count(&training_settings(budget), "seeds", 5).is_ok());
            assert_eq!(budget.name().parse::<Budget>().unwrap(), budget);
        }
        assert!("huge".parse::<Budget>().is_err());
        assert!(count(&Table::new(), "seeds", 1).is_err());
    }
}
