//! What became of each point, as a table.

use std::collections::BTreeSet;
use std::path::PathBuf;

use reynolds_report::{Csv, csv::Field};

use crate::config::Assignment;
use crate::error::Result;
use crate::metrics::Summary;
use crate::run_folder;

/// What became of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Status {
    /// It has not been started.
    Waiting,
    /// It was finished before.
    AlreadyFinished,
    /// It is finished.
    Finished,
    /// It was stopped, and can go on.
    Interrupted,
    /// It failed, with this message.
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
    /// The seed.
    pub seed: u64,
    /// The run's folder.
    pub folder: PathBuf,
    /// What became of it.
    pub status: Status,
    /// What it came to, if it is finished.
    pub summary: Option<Summary>,
}

impl Row {
    /// Takes in how a child ended.
    pub(super) fn finish(&mut self, status: Status) -> Result<()> {
        self.status = status;
        self.summary = run_folder::summary(&self.folder)?;
        Ok(())
    }
}

/// All rows as CSV: status, folder, grid keys, seed, final metrics. What a run has not got is left empty.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::task::Metrics;

    #[test]
    fn rows_without_metrics_are_left_empty_and_commas_are_quoted() {
        let summary = Summary {
            epochs: 1,
            steps: 1,
            stopped_early: false,
            weights: crate::config::Selection::Last,
            best: None,
            last_metrics: Metrics::from([("test/accuracy".into(), 0.1 + 0.2)]),
            best_metrics: Metrics::new(),
            exact_since: Default::default(),
        };
        let row = |seed, status, summary| Row {
            values: vec![Assignment::new("penalty.norm", "(2,1)")],
            seed,
            folder: format!("sweep/run{seed}").into(),
            status,
            summary,
        };
        let rows = [row(0, Status::Finished, Some(summary)), row(1, Status::Failed("no".into()), None)];
        let expected = "status,folder,penalty.norm,seed,test/accuracy\n\
                        finished,run0,\"(2,1)\",0,0.30000000000000004\n\
                        failed,run1,\"(2,1)\",1,\n";
        assert_eq!(csv(&rows), expected);
    }
}
