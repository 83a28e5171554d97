//! Many runs of one experiment: a grid of settings × seeds, each run in a process of its own.
//!
//! ```text
//! <root>/sweeps/<name>/
//!   <key=value,…,seed=n>/     the run folder of a point
//!   sweep.csv                 status, folder, grid keys, seed, final metrics: a row a point
//!
//! PROGRAM run EXPERIMENT --sweep PID --resume FOLDER --device DEVICE       the process of a point
//! ```
//!
//! The settings of all points are checked before the first process starts, and their config.toml written, so that new and resumed runs are
//! started alike. Finished runs are left alone; a run that fails is reported, and the others go on.

mod axis;
mod child;
mod point;
mod table;

use std::path::PathBuf;

pub use axis::Axis;
pub use child::{Launcher, end_with_sweep};
pub use point::{Grid, Point};
pub use table::{Row, Status};

use crate::error::{Error, Result};
use crate::interrupt::Interrupt;
use crate::queue;
use crate::run_folder::Lock;
use reynolds_checkpoint::whole_file;

/// A sweep.
#[derive(Debug)]
pub struct Sweep {
    /// Folder of the sweep.
    pub folder: PathBuf,
    /// Name of the experiment.
    pub experiment: String,
    /// "cpu" or "cuda:N".
    pub device: String,
    /// Processes at a time.
    pub jobs: usize,
    /// How to start a process.
    pub launcher: Launcher,
    /// From [`Grid::points`].
    pub points: Vec<Point>,
    /// Names and texts of further files for its folder, written once it is locked.
    pub files: Vec<(&'static str, String)>,
}

/// The result of a sweep.
#[derive(Debug)]
pub struct Report {
    /// One for each point, in their order.
    pub rows: Vec<Row>,
    /// File of the table.
    pub csv: PathBuf,
}

impl Report {
    /// An error if a run failed.
    pub fn check(&self) -> Result<()> {
        let failed = self.rows.iter().filter(|row| matches!(row.status, Status::Failed(_))).count();
        match failed {
            0 => Ok(()),
            failed => Err(Error::Sweep { failed, total: self.rows.len() }),
        }
    }

    /// Means of the validation metrics over seeds, a line a point.
    pub fn means(&self) -> reynolds_report::Table {
        table::means(&self.rows)
    }

    /// Whether it was cancelled before all runs were done.
    pub fn interrupted(&self) -> bool {
        self.rows.iter().any(|row| matches!(row.status, Status::Interrupted | Status::Waiting))
    }
}

impl Sweep {
    /// Runs what is not finished; calls `told` and rewrites the table as each run ends.
    ///
    /// # Errors
    /// If another process runs this sweep, or a folder has a run with other settings. A run that fails is no error: see [`Report::check`].
    pub fn run(&self, interrupt: &Interrupt, told: &mut dyn FnMut(&Row)) -> Result<Report> {
        let _lock = Lock::take(&self.folder)?;
        for (name, text) in &self.files {
            whole_file::write(&self.folder.join(name), text.as_bytes())?;
        }
        let mut rows = self.points.iter().map(|point| point.prepare(&self.folder)).collect::<Result<Vec<_>>>()?;
        let csv = self.folder.join("sweep.csv");
        let write = |rows: &[Row]| whole_file::write(&csv, table::csv(rows).as_bytes());
        write(&rows)?;
        rows.iter().filter(|row| row.status == Status::AlreadyFinished).for_each(&mut *told);
        let waiting = |(_, row): &(usize, &Row)| row.status == Status::Waiting;
        let order: Vec<usize> = rows.iter().enumerate().filter(waiting).map(|(index, _)| index).collect();
        let folders: Vec<PathBuf> = rows.iter().map(|row| row.folder.clone()).collect();
        let work = |index: usize| Ok(self.launcher.run(&self.experiment, &folders[index], &self.device, interrupt));
        queue::run_jobs(&order, self.jobs, interrupt, &work, &mut |index, status| {
            rows[index].finish(status)?;
            write(&rows)?;
            told(&rows[index]);
            Ok(())
        })?;
        Ok(Report { rows, csv })
    }
}
