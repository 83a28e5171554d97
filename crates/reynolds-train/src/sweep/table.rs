//! The table of a sweep.

use std::collections::BTreeSet;
use std::path::PathBuf;

use reynolds_report::{Csv, Table, csv::Field};

use crate::config::Assignment;
use crate::error::Result;
use crate::metrics::Summary;
use crate::{page, run_folder};

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

/// Means and standard deviations of the validation metrics over the seeds of each point that has results.
pub(crate) fn means(rows: &[Row]) -> Table {
    let finished = |rows: &[Row]| rows.iter().filter_map(|row| row.summary.clone()).collect::<Vec<_>>();
    let metrics: BTreeSet<String> = finished(rows)
        .iter()
        .flat_map(|summary| {
            summary.metrics().keys().filter(|name| name.starts_with("validation/") && page::shown(name))
        })
        .cloned()
        .collect();
    let keys = rows.first().map(|row| row.values.as_slice()).unwrap_or_default();
    let last = |name: &str| name.rsplit(['.', '/']).next().unwrap_or(name).to_string();
    let head = keys.iter().map(|assignment| last(&assignment.key)).chain(["seeds".into()]);
    let mut table = Table::new(head.chain(metrics.iter().map(|name| last(name))));
    table.caption("on validation data, mean ± standard deviation over seeds");
    for group in rows.chunk_by(|one, other| one.values == other.values) {
        let found = finished(group);
        let cells = metrics.iter().map(|name| {
            let values: Vec<f64> = found.iter().filter_map(|summary| summary.metrics().get(name).copied()).collect();
            let count = values.len() as f64;
            let mean = values.iter().sum::<f64>() / count;
            let spread = (values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (count - 1.0)).sqrt();
            match values.len() {
                0 => String::new(),
                1 => format!("{mean:.4}"),
                _ => format!("{mean:.4} ± {spread:.4}"),
            }
        });
        let values = group[0].values.iter().map(|assignment| assignment.value.clone());
        table.row(values.chain([found.len().to_string()]).chain(cells).collect::<Vec<_>>());
    }
    table
}

#[cfg(test)]
mod tests {
    use super::{Assignment, Row, Status, Summary, means};
    use crate::config::Selection;
    use crate::task::Metrics;

    #[test]
    fn seeds_of_a_point_are_one_line() {
        let row = |strength: &str, seed, accuracy: Option<f64>| Row {
            values: vec![Assignment::new("penalty.lambda_perp", strength)],
            seed,
            folder: "folder".into(),
            status: Status::Finished,
            summary: accuracy.map(|accuracy| Summary {
                epochs: 1,
                steps: 1,
                stopped_early: false,
                weights: Selection::Last,
                best: None,
                last_metrics: Metrics::from([("validation/accuracy".into(), accuracy), ("test/loss".into(), 1.0)]),
                best_metrics: Metrics::new(),
                exact_since: Default::default(),
            }),
        };
        let rows = [row("0", 0, Some(0.5)), row("0", 1, Some(0.7)), row("1", 0, Some(0.9)), row("1", 1, None)];
        let text = means(&rows).text(false);
        let lines: Vec<String> =
            text.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect();
        assert!(lines.contains(&"0 2 0.6000 ± 0.1414".into()) && lines.contains(&"1 1 0.9000".into()), "{text}");
        assert!(lines.contains(&"lambda_perp seeds accuracy".into()), "{text}");
    }
}
