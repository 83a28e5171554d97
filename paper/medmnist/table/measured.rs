//! What a network costs: measured by processes of their own, while nothing else runs; one at the minibatch of training, and one at that of
//! inference.

use std::slice::from_ref;

use serde_json::json;

use super::settings::EfficiencySettings;
use crate::medmnist::MedBench;
use crate::medmnist::bench::PEAK;
use crate::medmnist::rows::Row;
use crate::targets::Named;
use crate::targets::cost::in_a_child;
use crate::targets::point::{Point, PointSession, Trained};
use reynolds_train::error::Result;
use reynolds_train::sweep::Launcher;

/// The cost of one row.
#[derive(Debug, Clone)]
pub(super) struct Measured {
    row: Row,
    /// At the minibatch of training.
    bench: MedBench,
    inference_batch: usize,
    /// What is started.
    launcher: Launcher,
}

/// What is kept of a row at the batch of training, and at that of inference.
const TRAIN: [&str; 5] = ["train_ms", "train_samples_per_s", PEAK, "build_ms", "parameters"];
const INFERENCE: [&str; 2] = ["inference_ms", "inference_samples_per_s"];

impl Measured {
    /// Of a row, by this program.
    pub(super) fn new(settings: &EfficiencySettings, row: Row) -> Result<Self> {
        let (bench, inference_batch) = (settings.bench(row), settings.inference_batch);
        Ok(Self { row, bench, inference_batch, launcher: Launcher::this_program()? })
    }

    /// The same at the minibatch of inference; the same measurement if that is no other.
    fn at_inference(&self) -> MedBench {
        let mut bench = self.bench.clone();
        bench.run.settings.data.batch = self.inference_batch;
        bench
    }
}

impl Point for Measured {
    fn id(&self) -> String {
        format!("measured-{}", self.row.name())
    }

    fn settings(&self) -> serde_json::Value {
        json!({ "inference_batch": self.inference_batch, "bench": self.bench })
    }

    fn train(&self, session: &PointSession<'_>) -> Result<Option<Trained>> {
        let (train, inference) = (self.bench.clone(), self.at_inference());
        let benches = if train == inference { from_ref(&train).to_vec() } else { vec![train, inference] };
        let mut measured = Vec::new();
        for bench in &benches {
            let Some(trained) = in_a_child(bench, &self.launcher, session.device, session.interrupt)? else {
                return Ok(None);
            };
            measured.push(trained);
        }
        let mut kept = Trained::default();
        for (trained, names) in [(measured.first(), &TRAIN[..]), (measured.last(), &INFERENCE[..])] {
            let Some(Trained { metrics, failures, .. }) = trained else { continue };
            let is_of = |name: &String| names.contains(&name.as_str());
            kept.metrics
                .extend(metrics.iter().filter(|(name, _)| is_of(name)).map(|(name, value)| (name.clone(), *value)));
            kept.failures.extend(
                failures.iter().filter(|(name, _)| is_of(name)).map(|(name, reason)| (name.clone(), reason.clone())),
            );
        }
        Ok(Some(kept))
    }

    fn alone(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use super::super::budget;
    use super::super::synthetic::given;
    use super::*;
    use crate::medmnist::networks::{Nonlinearity, Symmetry};
    use crate::targets::Budget;
    use crate::targets::synthetic::train_point;

    fn measured(row: Row, assignments: &[(&str, &str)], script: &str) -> Measured {
        let settings = given(budget::efficiency(Budget::Quick), assignments);
        let before = ["-c", script].map(Into::into).to_vec();
        Measured { launcher: Launcher { program: "/bin/sh".into(), before }, ..Measured::new(&settings, row).unwrap() }
    }

    #[test]
    fn a_row_is_measured_with_the_settings_of_its_run() {
        let of =
            |row| measured(row, &[("model.nonlinearity", "gated"), ("train.precision", "bf16"), ("steps", "3")], "");
        let ours = of(Row::ours(Symmetry::O3));
        assert_eq!((ours.id().as_str(), ours.alone()), ("measured-o3-ours", true));
        let model = &ours.bench.run.settings.model;
        // Ours alone is gated when that is asked for, and has a penalty.
        assert_eq!((model.group, model.width, model.nonlinearity), (Symmetry::O3, 1, Nonlinearity::Gated));
        assert_eq!((ours.bench.steps, ours.bench.run.train.precision.name()), (3, "bf16"));
        assert!(!ours.bench.run.penalty.is_zero() && !ours.bench.without_penalty);
        let scnn = of(Row::scnn(Symmetry::O3));
        assert_eq!(scnn.bench.run.settings.model.nonlinearity, Nonlinearity::Pointwise);
        assert!(scnn.bench.run.penalty.is_zero());
        let [train, inference] = [&ours.bench, &ours.at_inference()].map(|bench| bench.run.settings.data.batch);
        assert_eq!((train, inference), (32, 48));
        assert_ne!(ours.settings(), measured(Row::ours(Symmetry::O3), &[("inference_batch", "32")], "").settings());
    }

    #[test]
    #[cfg(unix)]
    fn training_is_read_at_its_batch_and_inference_at_the_other() {
        let child = "batch=$(sed -n 's/^batch = //p' \"$1/cost.toml\"); test \"$0\" = cost && echo \
                     \"{\\\"metrics\\\":{\\\"train_samples_per_s\\\":$((2 * batch)),\\\"inference_samples_per_s\\\":$((3 * batch))},\
                     \\\"failures\\\":{\\\"peak_memory_mib\\\":\\\"no driver\\\"}}\" > \"$1/cost.json\"";
        let of = |script: &str| train_point(&measured(Row::CNN, &[], script));
        let trained = of(child).unwrap().unwrap();
        assert_eq!(["train_samples_per_s", "inference_samples_per_s"].map(|key| trained.metric(key)), [64.0, 144.0]);
        assert!(trained.metric(PEAK).is_nan() && trained.failures[PEAK] == "no driver");
        assert!(of("true").unwrap_err().to_string().contains("cost.json"));
        assert!(of("echo 'error: no room' >&2; exit 2").unwrap_err().to_string().contains("no room"));
    }
}
