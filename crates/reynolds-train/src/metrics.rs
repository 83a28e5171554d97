//! The metrics of a run: a record an epoch, and a summary at the end.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::task::{Metrics, Split};

/// One line of metrics.jsonl.
///
/// No wall-clock times: a resumed run writes the same bytes as an uninterrupted one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// From 1: epochs done.
    pub epoch: usize,
    /// Steps of the optimiser done.
    pub step: usize,
    /// "train/loss" (mean over the epoch), "penalty" (at its end), "learning_rate", "lambda_perp", with a decoupled step or a target
    /// "residual", and where there was an evaluation "validation/…". A number that is not finite is written as null.
    #[serde(flatten, with = "nullable")]
    pub values: Metrics,
}

/// The best weights so far.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Best {
    /// From 1: after which epoch.
    pub epoch: usize,
    /// The validation metric that was best.
    pub value: f64,
    /// The second metric, which decides ties, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tie: Option<f64>,
}

/// The result of a finished run: summary.json.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// Epochs done.
    pub epochs: usize,
    /// Steps of the optimiser done.
    pub steps: usize,
    /// Whether early stopping ended the run.
    pub stopped_early: bool,
    /// Which weights were selected: "last" or "best".
    pub weights: crate::config::Selection,
    /// The best evaluation, if a metric is watched.
    pub best: Option<Best>,
    /// "validation/…" and "test/…" of the weights after the last step.
    #[serde(with = "nullable")]
    pub last_metrics: Metrics,
    /// The same of the best weights; empty if there are none.
    #[serde(with = "nullable")]
    pub best_metrics: Metrics,
    /// Parameters that are exactly equivariant in the selected weights, and since which step: the plain form of the decoupled penalty made
    /// their W − P(W) zero, and not all of W, at every step since.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub exact_since: BTreeMap<String, usize>,
}

impl Summary {
    /// The metrics of the selected weights.
    pub fn metrics(&self) -> &Metrics {
        match self.weights {
            crate::config::Selection::Best if self.best.is_some() => &self.best_metrics,
            _ => &self.last_metrics,
        }
    }
}

/// Metrics under the name of their split: "test/accuracy".
pub fn prefixed(split: Split, metrics: Metrics) -> impl Iterator<Item = (String, f64)> {
    metrics.into_iter().map(move |(name, value)| (format!("{}/{name}", split.name()), value))
}

pub mod nullable {
    //! Numbers that are not finite as null, because JSON has none.
    use super::Metrics;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};
    use std::collections::BTreeMap;

    /// Writes numbers; those that are not finite as null.
    pub fn serialize<S: Serializer>(metrics: &Metrics, serializer: S) -> Result<S::Ok, S::Error> {
        let finite = |(name, &value): (_, &f64)| (name, Some(value).filter(|value| value.is_finite()));
        metrics.iter().map(finite).collect::<BTreeMap<&String, Option<f64>>>().serialize(serializer)
    }

    /// Null becomes NaN.
    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Metrics, D::Error> {
        let metrics = BTreeMap::<String, Option<f64>>::deserialize(deserializer)?;
        Ok(metrics.into_iter().map(|(name, value)| (name, value.unwrap_or(f64::NAN))).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_is_one_flat_line_and_reads_back() {
        let values = Metrics::from([("train/loss".into(), 0.1 + 0.2), ("penalty".into(), 1e-300)]);
        let record = Record { epoch: 3, step: 12, values };
        let line = serde_json::to_string(&record).unwrap();
        assert_eq!(line, r#"{"epoch":3,"step":12,"penalty":1e-300,"train/loss":0.30000000000000004}"#);
        assert_eq!(serde_json::from_str::<Record>(&line).unwrap(), record);
        // What is not finite is null, and reads back as NaN.
        let record = Record { epoch: 1, step: 1, values: Metrics::from([("a".into(), f64::INFINITY)]) };
        let line = serde_json::to_string(&record).unwrap();
        assert_eq!(line, r#"{"epoch":1,"step":1,"a":null}"#);
        assert!(serde_json::from_str::<Record>(&line).unwrap().values["a"].is_nan());
    }
}
