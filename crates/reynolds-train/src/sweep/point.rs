//! The points of a grid, with their settings.

use std::path::{Path, PathBuf};

use super::{Axis, Row, Status};
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
    /// [`Error::Config`] if an axis is given twice or is the seed; as [`config::load`](crate::config::load), for the first point that is refused.
    pub fn points(&self, jobs: usize) -> Result<Vec<Point>> {
        for (index, axis) in self.axes.iter().enumerate() {
            let taken = axis.key == "seed" || axis.key == "experiment";
            if taken || self.axes[..index].iter().any(|other| other.key == axis.key) {
                let expected = "a key that is given once, and neither seed nor experiment";
                return Err(Error::given("--grid", &axis.key, expected, format!("\"{}\"", axis.key)));
            }
        }
        let mut combinations: Vec<Vec<Assignment>> = vec![Vec::new()];
        for axis in self.axes {
            let of_axis: Vec<_> =
                axis.values.iter().map(|value| Assignment::new(&axis.key, value).given_with("--grid")).collect();
            let longer = |values: &Vec<Assignment>| {
                of_axis
                    .iter()
                    .map(|value| [values.as_slice(), std::slice::from_ref(value)].concat())
                    .collect::<Vec<_>>()
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

    /// `<root>/sweeps/<experiment>-<grid keys>-<checksum of the shared settings, the grid with its values, and the seeds>`: the same command
    /// finds its sweep again, and another one leaves its table alone.
    pub fn folder(&self, root: &Path) -> Result<PathBuf> {
        let mut assignments = self.assignments.to_vec();
        assignments.push(Assignment::new("seed", 0));
        let shared = self.experiment.load(self.file, &assignments)?.text();
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
    /// Where its run lies in the folder of the sweep: `key=value,…,seed=n`, with a checksum where letters had to go.
    pub fn folder(&self, sweep: &Path) -> PathBuf {
        let parts = self.values.iter().map(ToString::to_string);
        let whole = parts.chain([format!("seed={}", self.seed)]).collect::<Vec<_>>().join(",");
        let name = clean(&whole);
        sweep.join(if name == whole { name } else { format!("{name}-{:08x}", crc32c::crc32c(whole.as_bytes())) })
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

/// Letters that every file system and shell takes, and not too many of them.
fn clean(text: &str) -> String {
    let good = |letter: char| letter.is_ascii_alphanumeric() || "=,._-+".contains(letter);
    text.chars().map(|letter| if good(letter) { letter } else { '_' }).take(120).collect()
}
