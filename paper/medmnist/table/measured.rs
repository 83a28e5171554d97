//! What a network costs: measured by a process of its own, while nothing else runs.
//!
//! ```text
//! reynolds bench medmnist --model ours --group so3 --batch 32 --batch 48 … --json     one child a row
//! ```

use crate::medmnist::networks::{Nonlinearity, VolumeNetConfig};
use reynolds_torch::tch::Device;
use reynolds_torch::{Precision, device};
use serde_json::Value as Json;
use toml::{Table, Value};

use super::row::{Row, group_name};
use crate::targets::point::{Point, Trained};
use reynolds_train::error::{Error, Result};
use reynolds_train::interrupt::Interrupt;
use reynolds_train::sweep::Launcher;
use reynolds_train::task::Metrics;

/// How it is measured.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Measuring {
    /// Volumes of a minibatch that is trained on.
    pub(super) train_batch: usize,
    /// Volumes that are evaluated together.
    pub(super) inference_batch: usize,
    /// Steps that are timed.
    pub(super) steps: usize,
    pub(super) precision: Precision,
    /// Width and nonlinearity of the networks.
    pub(super) model: VolumeNetConfig,
}

/// The cost of one row.
#[derive(Debug, Clone)]
pub(super) struct Measured {
    pub(super) row: Row,
    pub(super) how: Measuring,
    /// What is started.
    pub(super) launcher: Launcher,
}

/// What is kept of a row at the batch of training, and at that of inference.
const TRAIN: [&str; 5] = ["train_ms", "train_samples_per_s", "peak_memory_mib", "build_ms", "parameters"];
const INFERENCE: [&str; 2] = ["inference_ms", "inference_samples_per_s"];

impl Measured {
    /// Both batches, each once.
    fn batches(&self) -> Vec<usize> {
        let Measuring { train_batch, inference_batch, .. } = self.how;
        if train_batch == inference_batch { vec![train_batch] } else { vec![train_batch, inference_batch] }
    }

    fn nonlinearity(&self) -> &'static str {
        match self.row.nonlinearity(&self.how.model) {
            Nonlinearity::Pointwise => "pointwise",
            Nonlinearity::Gated => "gated",
        }
    }

    fn arguments(&self, device: Device) -> Vec<String> {
        let mut pairs =
            vec![("model", self.row.architecture_name().to_string()), ("group", group_name(self.row.group).into())];
        pairs.extend(self.batches().into_iter().map(|batch| ("batch", batch.to_string())));
        pairs.extend([
            ("steps", self.how.steps.to_string()),
            ("precision", self.how.precision.name().into()),
            ("width", self.how.model.width.to_string()),
            ("nonlinearity", self.nonlinearity().into()),
            ("device", device::name(device)),
        ]);
        let options = pairs.into_iter().flat_map(|(key, value)| [format!("--{key}"), value]);
        ["bench", "medmnist"].map(String::from).into_iter().chain(options).chain(["--json".to_string()]).collect()
    }

    fn read(&self, printed: &str) -> Result<Metrics> {
        let wrong = |found: String| Error::file(&self.launcher.program, "JSON of a measurement", found);
        let lines = printed.lines().filter(|line| line.trim_start().starts_with('{'));
        let rows: Vec<Json> =
            lines.map(serde_json::from_str).collect::<Result<_, _>>().map_err(|error| wrong(error.to_string()))?;
        let mut metrics = Metrics::new();
        let Measuring { train_batch, inference_batch, .. } = self.how;
        for (batch, keys) in [(train_batch, &TRAIN[..]), (inference_batch, &INFERENCE[..])] {
            let Some(row) = rows.iter().find(|row| row["batch"].as_u64() == Some(batch as u64)) else {
                return Err(wrong(format!("none of batch {batch}")));
            };
            metrics.extend(keys.iter().map(|key| (key.to_string(), row[*key].as_f64().unwrap_or(f64::NAN))));
        }
        Ok(metrics)
    }
}

impl Point for Measured {
    fn id(&self) -> String {
        format!("measured-{}", self.row.name())
    }

    fn config(&self) -> Table {
        let integer = |value: usize| Value::Integer(value as i64);
        Table::from_iter([
            ("row".to_string(), Value::String(self.row.name())),
            ("train_batch".to_string(), integer(self.how.train_batch)),
            ("inference_batch".to_string(), integer(self.how.inference_batch)),
            ("steps".to_string(), integer(self.how.steps)),
            ("precision".to_string(), Value::String(self.how.precision.name().into())),
            ("width".to_string(), integer(self.how.model.width)),
            ("nonlinearity".to_string(), Value::String(self.nonlinearity().into())),
        ])
    }

    fn train(&self, device: Device, interrupt: &Interrupt) -> Result<Option<Trained>> {
        let Some(printed) = self.launcher.printed(&self.arguments(device), interrupt)? else { return Ok(None) };
        Ok(Some(Trained { metrics: self.read(&printed)?, ..Trained::default() }))
    }

    fn alone(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::medmnist::networks::Symmetry;

    fn measured(script: &str) -> Measured {
        let before = ["-c", script, "program"].map(Into::into).to_vec();
        Measured {
            row: Row::ours(Symmetry::O3),
            how: Measuring {
                train_batch: 32,
                inference_batch: 48,
                steps: 3,
                precision: Precision::Bf16,
                model: VolumeNetConfig::default(),
            },
            launcher: Launcher { program: "/bin/sh".into(), before },
        }
    }

    #[test]
    fn a_row_is_asked_for_by_its_network_and_group() {
        let model = measured("");
        let expected = "bench medmnist --model ours --group o3 --batch 32 --batch 48 --steps 3 --precision bf16 --width 0 --nonlinearity \
                        pointwise --device cuda:1 --json";
        assert_eq!(model.arguments(Device::Cuda(1)).join(" "), expected);
        assert_eq!((model.id().as_str(), model.alone()), ("measured-o3-ours", true));
        // Ours alone is gated when that is asked for.
        let mut gated = measured("");
        gated.how.model.nonlinearity = Nonlinearity::Gated;
        assert_eq!(gated.nonlinearity(), "gated");
        gated.row = Row::scnn(Symmetry::O3);
        assert_eq!(gated.nonlinearity(), "pointwise");
    }

    #[test]
    #[cfg(unix)]
    fn training_is_read_at_its_batch_and_inference_at_the_other() {
        let line = |batch: u32| {
            format!(
                "echo '{{\"batch\":{batch},\"train_samples_per_s\":{},\"inference_samples_per_s\":{},\"peak_memory_mib\":null}}'",
                2 * batch,
                3 * batch
            )
        };
        let of = |script: &str| measured(script).train(Device::Cpu, &Interrupt::new());
        let trained = of(&format!("echo measuring; {}; {}", line(32), line(48))).unwrap().unwrap();
        assert_eq!(["train_samples_per_s", "inference_samples_per_s"].map(|key| trained.metric(key)), [64.0, 144.0]);
        assert!(trained.metric("peak_memory_mib").is_nan());
        let missing = of(&line(32)).unwrap_err().to_string();
        assert!(missing.contains("expected JSON of a measurement, found none of batch 48"), "{missing}");
        assert!(of("echo 'error: no room' >&2; exit 2").unwrap_err().to_string().contains("no room"));
    }
}
