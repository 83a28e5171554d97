//! The points of a grid, with their settings.

use std::path::{Path, PathBuf};

use super::{Axis, Row, Status, name};
use crate::config::Assignment;
use crate::error::{Error, Result};
use crate::experiment::AnyExperiment;
use crate::point_folder::PointFolder;
use crate::threads;

/// Settings that all points share, and the axes along which they differ.
pub struct Grid<'a> {
    /// What is trained.
    pub experiment: &'a AnyExperiment,
    /// `--config`.
    pub file: Option<&'a Path>,
    /// `--set`.
    pub assignments: &'a [Assignment],
    /// `--grid`, the last one fastest.
    pub axes: &'a [Axis],
    /// Fastest of all.
    pub seeds: &'a [u64],
}

/// One run of a sweep.
#[derive(Debug, Clone, PartialEq)]
pub struct Point {
    /// A value for each axis.
    pub values: Vec<Assignment>,
    /// Its seed.
    pub seed: u64,
    /// Its complete settings as TOML.
    pub text: String,
}

impl Grid<'_> {
    /// Every combination, with settings that have been checked. Where the settings leave the number of threads open, the processors are
    /// shared out among `jobs`.
    ///
    /// # Errors
    /// [`Error::Config`] if an axis is given twice or is the seed; as [`AnyExperiment::load`], for the first point that is refused.
    pub fn points(&self, jobs: usize) -> Result<Vec<Point>> {
        for (index, axis) in self.axes.iter().enumerate() {
            let taken = axis.key == "seed" || axis.key == "experiment";
            if taken || self.axes[..index].iter().any(|other| other.key == axis.key) {
                return Err(Error::Config {
                    origin: "--grid".into(),
                    key: axis.key.clone(),
                    expected: "a key that is given once, and neither seed nor experiment".into(),
                    found: format!("\"{}\"", axis.key),
                });
            }
        }
        let mut combinations = vec![Vec::new()];
        for axis in self.axes {
            let longer = |values: &Vec<Assignment>| {
                let values = values.clone();
                axis.values.iter().map(move |value| {
                    let mut values = values.clone();
                    values.push(Assignment::new(&axis.key, value).given_with("--grid"));
                    values
                })
            };
            combinations = combinations.iter().flat_map(longer).collect();
        }
        let seeded = combinations.iter().flat_map(|values| self.seeds.iter().map(move |&seed| (values, seed)));
        seeded.map(|(values, seed)| self.point(values.clone(), seed, jobs)).collect()
    }

    fn point(&self, values: Vec<Assignment>, seed: u64, jobs: usize) -> Result<Point> {
        let mut assignments = self.assignments.to_vec();
        assignments.extend(values.iter().cloned());
        assignments.push(Assignment::new("seed", seed));
        let mut run = self.experiment.load(self.file, &assignments)?;
        if run.train().threads == 0 {
            run.set_threads((threads::resolve(0) / jobs.max(1)).max(1));
        }
        Ok(Point { values, seed, text: run.text() })
    }

    /// The settings with no axis and seed 0.
    pub(super) fn shared_settings(&self) -> Result<String> {
        let mut assignments = self.assignments.to_vec();
        assignments.push(Assignment::new("seed", 0));
        Ok(self.experiment.load(self.file, &assignments)?.text())
    }
}

impl Point {
    /// Where its run lies in the folder of the sweep.
    pub fn folder(&self, sweep: &Path) -> PathBuf {
        sweep.join(name::of_point(self))
    }

    /// Its row before anything has run; writes config.toml if it is not there.
    pub(super) fn prepare(&self, sweep: &Path) -> Result<Row> {
        let folder = PointFolder::new(self.folder(sweep), self.text.clone());
        folder.check()?;
        folder.begin()?;
        let summary = folder.summary()?;
        let status = if summary.is_some() { Status::AlreadyFinished } else { Status::Waiting };
        Ok(Row { values: self.values.clone(), seed: self.seed, folder: folder.path().into(), status, summary })
    }
}
