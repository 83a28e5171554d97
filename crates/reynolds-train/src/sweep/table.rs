//! The table of a sweep.

use std::collections::BTreeSet;
use std::path::PathBuf;

use reynolds_report::{Csv, csv::Field};

use crate::config::Assignment;
use crate::error::Result;
use crate::metrics::Summary;
use crate::run_folder;

/// The state of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Status {
    /// Not started.
    Waiting,
    /// Finished before.
    AlreadyFinished,
    /// Finished now.
    Finished,
    /// Cancelled; can be resumed.
    Interrupted,
    /// Failed, with this message.
    Failed(String),
}

impl Status {
    fn name(&self) -> &'static str {
        match self {
            Self::Waiting => "waiting",
            Self::AlreadyFinished | Self::Finished => "finished",
            Self::Interrupted => "interrupted",
            Self::Failed(_) => "failed",
        }
    }
}

/// A row of the table.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    /// A value for each axis.
    pub values: Vec<Assignment>,
    /// Random seed.
    pub seed: u64,
    /// The run's folder.
    pub folder: PathBuf,
    /// State of the run.
    pub status: Status,
    /// Its result, if it is finished.
    pub summary: Option<Summary>,
}

impl Row {
    pub(super) fn finish(&mut self, status: Status) -> Result<()> {
        self.status = status;
        self.summary = run_folder::summary(&self.folder)?;
        Ok(())
    }
}

/// Status, folder, grid keys, seed, final metrics; fields of unfinished runs are empty.
pub(super) fn csv(rows: &[Row]) -> String {
    let metrics: BTreeSet<&String> =
        rows.iter().filter_map(|row| row.summary.as_ref()).flat_map(|s| s.metrics().keys()).collect();
    let keys = rows.first().map(|row| row.values.as_slice()).unwrap_or_default();
    let mut head = vec!["status", "folder"];
    head.extend(keys.iter().map(|assignment| assignment.key.as_str()));
    head.push("seed");
    head.extend(metrics.iter().map(|name| name.as_str()));
    let mut csv = Csv::new(head);
    for row in rows {
        let folder = row.folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let mut fields: Vec<Field> = vec![row.status.name().into(), folder.into()];
        fields.extend(row.values.iter().map(|assignment| Field::from(assignment.value.as_str())));
        fields.push(row.seed.into());
        let value = |name: &&String| row.summary.as_ref().and_then(|summary| summary.metrics().get(*name).copied());
        fields.extend(metrics.iter().map(|name| Field::from(value(name))));
        csv.row(fields);
    }
    csv.to_string()
}
