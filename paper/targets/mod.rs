//! The figures and tables of the paper by name: trains what one needs, draws it, and says which of the paper's claims held.
//!
//! ```text
//! target ──settings──► points ──queue──► points/<id>/summary.json ──► frame ──► findings: tables, figures, claims
//!          budget, --set         ▲                                      │
//!                                └──────────── more points ◄────────────┘
//!
//! runs/reproduce/<target>/<UTC time>-<id>/
//!   config.toml       target, budget and settings
//!   points/<id>/      every finished model, from which a stopped reproduction is resumed
//!   figures/*.svg  *.csv  results.json  report.html
//! ```
//!
//! Points are independent and each is trained by one thread, on a GPU of a process of its own if there are several at a time, so that results do not depend on how many are trained at a time. A target may
//! ask for more points once it knows the first results, such as the other seeds of a selected λ_⊥.
//!
//! ```
//! use reynolds_paper::targets::{self, Budget};
//! let names: Vec<_> = targets::targets().iter().map(|target| target.name()).collect();
//! assert!(names.contains(&"fig-so2"));
//! assert!(targets::find("fig-so2")?.settings_text(Budget::Quick).contains("seeds = 5"));
//! # Ok::<(), reynolds_train::Error>(())
//! ```

pub(crate) mod columns;
pub(crate) mod cost;
pub(crate) mod curves;
mod document;
pub(crate) mod engine;
pub(crate) mod findings;
pub(crate) mod judge;
pub mod lists;
pub(crate) mod point;
pub(crate) mod provenance;
pub(crate) mod published;
pub(crate) mod runs;
pub(crate) mod sample;
pub(crate) mod store;
#[cfg(test)]
pub(crate) mod synthetic;
pub(crate) mod training;

use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::ct::table as ct;
use crate::medmnist::table as medmnist;
use crate::smoke::table as smoke;
use crate::so2::{fig_projection, fig_rings, fig_so2};
use reynolds_train::config::{self, RunConfig, Settings};
use reynolds_train::error::{Error, Result};

pub use engine::{Jobs, Outcome, OutputFolder, Request, Session};
pub use findings::{Figure, Findings, Reproduction};
pub use lists::{Chosen, Named, Numbers};
pub use point::{Entry, Frame, Point, PointSession, Trained};
pub use sample::Sample;

/// How much is computed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Budget {
    /// Minutes: figures of SO(2) with 5 seeds, the rest small and with 2 or fewer
    Quick,
    /// Figures of SO(2) with 10 seeds; the rest with 3 or fewer, for an accelerator
    Standard,
    /// Figures of SO(2) with 20 seeds; the rest as in the paper
    Full,
}

impl Budget {
    pub fn name(self) -> &'static str {
        match self {
            Self::Quick => "quick",
            Self::Standard => "standard",
            Self::Full => "full",
        }
    }

    /// Models of each kind where they are small.
    pub(crate) fn seeds(self) -> u64 {
        match self {
            Self::Quick => 5,
            Self::Standard => 10,
            Self::Full => 20,
        }
    }
}

/// A table or figure that can be made by name: `reynolds reproduce NAME`.
pub trait Target: Sync {
    /// Its own keys beside those of the experiment that it trains.
    type Settings: Settings;

    fn name(&self) -> &'static str;

    /// One sentence, with the paper's label.
    fn about(&self) -> &'static str;

    fn settings(&self, budget: Budget) -> Self::Settings;

    /// The settings that a reader is shown, as keys and values.
    fn shown(&self, settings: &Self::Settings) -> Vec<(String, String)> {
        config::lines(settings)
    }

    /// One line on how much there is to do, printed before it begins.
    fn plan(&self, settings: &Self::Settings) -> Result<Option<String>> {
        let _ = settings;
        Ok(None)
    }

    /// The points it needs from the start.
    fn points(&self, settings: &Self::Settings) -> Result<Vec<Box<dyn Point>>>;

    /// Makes the data that the models are trained on; `false` if interrupted. Not called where all points are finished.
    fn prepare(&self, settings: &Self::Settings, session: &mut Session<'_>) -> Result<bool> {
        let _ = (settings, session);
        Ok(true)
    }

    /// The points it needs beside these, given their results; asked until it names none that is new.
    fn more(&self, settings: &Self::Settings, frame: &Frame) -> Result<Vec<Box<dyn Point>>> {
        let _ = (settings, frame);
        Ok(Vec::new())
    }

    fn findings(&self, settings: &Self::Settings, frame: &Frame) -> Result<Findings>;
}

/// A target whose settings are known only as text.
pub trait AnyTarget: Sync {
    fn name(&self) -> &'static str;

    fn about(&self) -> &'static str;

    /// TOML.
    fn settings_text(&self, budget: Budget) -> String;

    fn reproduce(&self, request: &Request, session: Session<'_>) -> Result<Outcome>;

    /// Trains one point of a reproduction: the process of a model.
    fn train_point(&self, reproduction: &Path, id: &str, session: &PointSession<'_>) -> Result<()>;
}

impl<T: Target> AnyTarget for T {
    fn name(&self) -> &'static str {
        Target::name(self)
    }

    fn about(&self) -> &'static str {
        Target::about(self)
    }

    fn settings_text(&self, budget: Budget) -> String {
        config::text(&self.settings(budget))
    }

    fn reproduce(&self, request: &Request, session: Session<'_>) -> Result<Outcome> {
        engine::reproduce(self, request, session)
    }

    fn train_point(&self, reproduction: &Path, id: &str, session: &PointSession<'_>) -> Result<()> {
        engine::train_point(self, reproduction, id, session)
    }
}

/// Trains the point with this id of a reproduction in a folder.
pub fn train_point(reproduction: &Path, id: &str, session: &PointSession<'_>) -> Result<()> {
    find(&document::name(reproduction)?)?.train_point(reproduction, id, session)
}

pub fn targets() -> [&'static dyn AnyTarget; 14] {
    [
        &fig_projection::Projection,
        &fig_so2::LAMBDA_PATH,
        &fig_so2::LAMBDA_GRID,
        &fig_rings::ROW,
        &fig_rings::GRID,
        &smoke::TableSmoke,
        &ct::TABLE,
        &ct::FIGURE,
        &ct::NORMS,
        &medmnist::ACCURACY,
        &medmnist::Efficiency,
        &medmnist::SENSITIVITY,
        &medmnist::CONFUSION,
        &medmnist::SHAPES,
    ]
}

pub fn find(name: &str) -> Result<&'static dyn AnyTarget> {
    targets().into_iter().find(|target| target.name() == name).ok_or_else(|| {
        let names: Vec<_> = targets().iter().map(|target| target.name()).collect();
        Error::unknown("target", name, &names)
    })
}

/// Refuses keys of a run that a target sets, each given with the key of the target that it follows from.
pub(crate) fn refuse_set<S: Settings>(run: &RunConfig<S>, usual: &RunConfig<S>, keys: &[(&str, &str)]) -> Result<()> {
    for (key, found) in config::changed(run, usual) {
        if let Some((_, by)) = keys.iter().find(|(set, _)| *set == key) {
            return Err(Error::config(key, format!("its default (set by the target's key {by})"), found));
        }
    }
    Ok(())
}

/// Points of one kind among those of others.
pub(crate) fn boxed<P: Point + 'static>(points: impl IntoIterator<Item = P>) -> Vec<Box<dyn Point>> {
    points.into_iter().map(|point| Box::new(point) as Box<dyn Point>).collect()
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
}
