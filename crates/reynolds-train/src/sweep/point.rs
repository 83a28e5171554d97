//! The points of a grid, with their settings.

use std::path::{Path, PathBuf};

use super::{Axis, Row, Status};
use crate::config::Assignment;
use crate::error::{Error, Result};
use crate::experiment::AnyExperiment;
use crate::point_folder::PointFolder;
use crate::threads;

/// Most runs of a sweep: each is a folder, and a row of its table.
const MOST_RUNS: u128 = 100_000;

/// A grid of settings.
pub struct Grid<'a> {
    /// Experiment of all runs.
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
    /// Random seed.
    pub seed: u64,
    /// Its complete settings as TOML.
    pub text: String,
}

impl Grid<'_> {
    /// Every combination, with checked settings. `train.threads = 0` becomes an equal share of the processors for each of `jobs`.
    pub fn points(&self, jobs: usize) -> Result<Vec<Point>> {
        for (index, axis) in self.axes.iter().enumerate() {
            let taken = axis.key == "seed" || axis.key == "experiment";
            if taken || self.axes[..index].iter().any(|other| other.key == axis.key) {
                let expected = "a key that is given once, and neither seed nor experiment";
                return Err(Error::given("--grid", &axis.key, expected, format!("\"{}\"", axis.key)));
            }
        }
        let sizes = self.axes.iter().map(|axis| axis.values.len()).chain([self.seeds.len()]);
        let runs = sizes.fold(1_u128, |runs, size| runs.saturating_mul(size as u128));
        if runs > MOST_RUNS {
            return Err(Error::given("--grid", "number of runs", format!("at most {MOST_RUNS}"), runs));
        }
        (0..runs as usize).map(|index| self.combination(index, jobs)).collect()
    }

    /// Seeds are the lowest digit of the index, the axes the higher ones.
    fn combination(&self, index: usize, jobs: usize) -> Result<Point> {
        let (mut left, seed) = (index / self.seeds.len(), self.seeds[index % self.seeds.len()]);
        let mut values = Vec::with_capacity(self.axes.len());
        for axis in self.axes.iter().rev() {
            let value = &axis.values[left % axis.values.len()];
            values.push(Assignment::new(&axis.key, value).given_with("--grid"));
            left /= axis.values.len();
        }
        values.reverse();
        self.point(values, seed, jobs)
    }

    fn point(&self, values: Vec<Assignment>, seed: u64, jobs: usize) -> Result<Point> {
        let mut assignments = self.assignments.to_vec();
        assignments.extend(values.iter().cloned());
        assignments.push(Assignment::new("seed", seed));
        let mut run = self.experiment.load(self.file, &assignments)?;
        if run.train.threads == 0 {
            assignments.push(Assignment::new("train.threads", (threads::resolve(0) / jobs.max(1)).max(1)));
            run = self.experiment.load(self.file, &assignments)?;
        }
        Ok(Point { values, seed, text: run.text })
    }

    /// `<root>/sweeps/<experiment>-<grid keys>-<checksum of shared settings, grid and seeds>`: the same command finds its sweep again, and a
    /// different one gets a folder of its own.
    pub fn folder(&self, root: &Path) -> Result<PathBuf> {
        let mut assignments = self.assignments.to_vec();
        assignments.push(Assignment::new("seed", 0));
        let shared = self.experiment.load(self.file, &assignments)?.text;
        // Sorted by key: the name depends on no order of fields.
        let shared = shared.parse::<toml::Table>().map_or_else(|_| String::new(), |tree| tree.to_string());
        let keys = self.axes.iter().map(|axis| axis.key.rsplit('.').next().unwrap_or_default());
        let axes: Vec<_> = self.axes.iter().map(|axis| format!("{}={}", axis.key, axis.values.join(","))).collect();
        let whole = format!("{}\nseeds {:?}\n{shared}", axes.join("\n"), self.seeds);
        let words: Vec<&str> = std::iter::once(self.experiment.name()).chain(keys).collect();
        let name = format!("{}-{:08x}", clean(&words.join("-")), crc32c::crc32c(whole.as_bytes()));
        Ok(root.join("sweeps").join(name))
    }
}

impl Point {
    /// Its run folder in that of the sweep: `key=value,…,seed=n`, with a checksum if characters had to be replaced.
    pub fn folder(&self, sweep: &Path) -> PathBuf {
        let parts = self.values.iter().map(ToString::to_string);
        let whole = parts.chain([format!("seed={}", self.seed)]).collect::<Vec<_>>().join(",");
        let name = clean(&whole);
        sweep.join(if name == whole { name } else { format!("{name}-{:08x}", crc32c::crc32c(whole.as_bytes())) })
    }

    /// Its row before the sweep runs; writes config.toml if there is none.
    pub(super) fn prepare(&self, sweep: &Path) -> Result<Row> {
        let folder = PointFolder::new(self.folder(sweep), self.text.clone());
        folder.check()?;
        folder.begin()?;
        let summary = folder.summary()?;
        let status = if summary.is_some() { Status::AlreadyFinished } else { Status::Waiting };
        Ok(Row { values: self.values.clone(), seed: self.seed, folder: folder.path().into(), status, summary })
    }
}

/// At most 120 characters, all safe in file names and shells.
fn clean(text: &str) -> String {
    let good = |letter: char| letter.is_ascii_alphanumeric() || "=,._-+".contains(letter);
    text.chars().map(|letter| if good(letter) { letter } else { '_' }).take(120).collect()
}
