//! What a network costs: measured by a process of its own, while nothing else runs.
//!
//! ```text
//! reynolds bench ct --architecture dicdnet --mode penalty --batch 4 --batch 12 … --json     one child a row
//! ```
//!
//! A child's peak memory is that of one network in one mode, whatever was trained before it. A batch that fails, as one for which there
//! is no room, is left out with its reason; only where the smallest fails is that an error.

use crate::ct::networks::{Architecture, MarNetConfig};
use reynolds::norm::Norm;
use reynolds_torch::device;
use reynolds_torch::tch::Device;
use serde_json::Value as Json;
use toml::{Table, Value};

use super::row::{Mode, name};
use crate::targets::point::{Point, Trained};
use reynolds_train::error::{Error, Result};
use reynolds_train::interrupt::Interrupt;
use reynolds_train::sweep::Launcher;
use reynolds_train::task::Metrics;

/// How it is measured.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Measuring {
    /// Pixels along a side of an image.
    pub(super) side: usize,
    /// Steps that are timed.
    pub(super) steps: usize,
    /// Images of a minibatch, increasing.
    pub(super) batches: Vec<usize>,
    /// "f32" or "bf16".
    pub(super) precision: String,
    /// Stages and blocks of the networks.
    pub(super) model: MarNetConfig,
}

/// The cost of one network in one mode.
#[derive(Debug, Clone)]
pub(super) struct Measured {
    pub(super) network: Architecture,
    pub(super) mode: Mode,
    /// Of the projection penalty.
    pub(super) norm: Norm,
    pub(super) how: Measuring,
    /// What is started.
    pub(super) launcher: Launcher,
}

impl Measured {
    fn arguments(&self, batches: &[usize], device: Device) -> Vec<String> {
        let how = &self.how;
        let mut pairs = vec![("architecture", name(self.network)), ("mode", self.mode.name().into())];
        pairs.extend(batches.iter().map(|batch| ("batch", batch.to_string())));
        pairs.extend([
            ("side", how.side.to_string()),
            ("steps", how.steps.to_string()),
            ("precision", how.precision.clone()),
            ("stages", how.model.stages.to_string()),
            ("blocks", how.model.blocks.to_string()),
            ("device", device::name(device)),
        ]);
        if self.mode == Mode::Penalty {
            pairs.push(("norm", self.norm.to_string()));
        }
        let options = pairs.into_iter().flat_map(|(key, value)| [format!("--{key}"), value]);
        ["bench", "ct"].map(String::from).into_iter().chain(options).chain(["--json".to_string()]).collect()
    }

    /// The numbers of each batch under "batch4/…".
    fn read(&self, batches: &[usize], printed: &str) -> Result<Metrics> {
        let wrong = |found: String| Error::file(&self.launcher.program, "JSON of a measurement", found);
        let lines = printed.lines().filter(|line| line.trim_start().starts_with('{'));
        let rows: Vec<Json> =
            lines.map(serde_json::from_str).collect::<Result<_, _>>().map_err(|error| wrong(error.to_string()))?;
        let mut metrics = Metrics::new();
        for &batch in batches {
            let Some(row) = rows.iter().find(|row| row["batch"].as_u64() == Some(batch as u64)) else {
                return Err(wrong(format!("none of batch {batch}")));
            };
            for key in KEYS {
                metrics.insert(format!("batch{batch}/{key}"), row[key].as_f64().unwrap_or(f64::NAN));
            }
        }
        let parameters = rows.iter().find_map(|row| row["parameters"].as_f64());
        metrics.insert("parameters".into(), parameters.unwrap_or(f64::NAN));
        Ok(metrics)
    }
}

/// What is kept of a measurement.
const KEYS: [&str; 5] = ["train_ms", "train_images_per_s", "inference_ms", "inference_images_per_s", "peak_memory_mib"];

/// Between a batch and the reason why it was not measured, in the name of a metric: "batch12/left out: no room".
pub(super) const LEFT_OUT: &str = "/left out: ";

/// What the child said.
fn reason(error: Error) -> String {
    match error {
        Error::File { found, .. } => found,
        other => other.to_string(),
    }
}

impl Point for Measured {
    fn id(&self) -> String {
        let norm = match (self.mode, self.norm) {
            (Mode::Penalty, norm) if norm != Norm::Frobenius => format!("-{}", spelt(norm)),
            _ => String::new(),
        };
        format!("measured-{}-{}{norm}", name(self.network), self.mode.name())
    }

    fn config(&self) -> Table {
        let list = self.how.batches.iter().map(|&batch| Value::Integer(batch as i64)).collect();
        Table::from_iter([
            ("network".to_string(), Value::String(name(self.network))),
            ("mode".to_string(), Value::String(self.mode.name().into())),
            ("norm".to_string(), Value::String(self.norm.to_string())),
            ("side".to_string(), Value::Integer(self.how.side as i64)),
            ("steps".to_string(), Value::Integer(self.how.steps as i64)),
            ("batches".to_string(), Value::Array(list)),
            ("precision".to_string(), Value::String(self.how.precision.clone())),
            ("stages".to_string(), Value::Integer(self.how.model.stages as i64)),
            ("blocks".to_string(), Value::Integer(self.how.model.blocks as i64)),
        ])
    }

    fn train(&self, device: Device, interrupt: &Interrupt) -> Result<Option<Trained>> {
        let mut batches = &self.how.batches[..];
        let mut left_out = Metrics::new();
        loop {
            match (self.launcher.printed(&self.arguments(batches, device), interrupt), batches) {
                (Ok(None), _) => return Ok(None),
                (Ok(Some(printed)), _) => {
                    let mut metrics = self.read(batches, &printed)?;
                    metrics.append(&mut left_out);
                    return Ok(Some(Trained { metrics, ..Trained::default() }));
                }
                (Err(error), [fewer @ .., most]) if !fewer.is_empty() => {
                    left_out.insert(format!("batch{most}{LEFT_OUT}{}", reason(error)), 1.0);
                    batches = fewer;
                }
                (Err(error), _) => return Err(error),
            }
        }
    }

    fn alone(&self) -> bool {
        true
    }
}

/// A norm as a file can be named: "1-2" for (1,2).
pub(super) fn spelt(norm: Norm) -> String {
    norm.to_string().trim_matches(['(', ')']).replace(',', "-")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn measured(script: &str) -> Measured {
        let before = ["-c", script, "program"].map(Into::into).to_vec();
        Measured {
            network: Architecture::Dicdnet,
            mode: Mode::Penalty,
            norm: "(1,2)".parse().unwrap(),
            how: Measuring {
                side: 64,
                steps: 3,
                batches: vec![4, 12],
                precision: "bf16".into(),
                model: MarNetConfig::default(),
            },
            launcher: Launcher { program: "/bin/sh".into(), before },
        }
    }

    #[test]
    fn a_row_is_asked_for_by_its_name_and_a_norm_only_where_there_is_a_penalty() {
        let model = measured("");
        let expected = "bench ct --architecture dicdnet --mode penalty --batch 4 --batch 12 --side 64 --steps 3 --precision bf16 --stages \
                        10 --blocks 3 --device cuda:1 --norm (1,2) --json";
        assert_eq!(model.arguments(&[4, 12], Device::Cuda(1)).join(" "), expected);
        assert_eq!((model.id().as_str(), model.alone()), ("measured-dicdnet-penalty-1-2", true));
        let plain = Measured { mode: Mode::Plain, ..model };
        assert!(!plain.arguments(&[4], Device::Cpu).contains(&"--norm".to_string()));
        assert_eq!(plain.id(), "measured-dicdnet-plain");
    }

    #[test]
    #[cfg(unix)]
    fn what_the_child_prints_is_kept_by_batch_and_what_it_does_not_is_missed() {
        let line = |batch: u32| {
            format!(
                "echo '{{\"batch\":{batch},\"train_images_per_s\":{},\"peak_memory_mib\":null,\"parameters\":7}}'",
                2 * batch
            )
        };
        let of = |script: &str| measured(script).train(Device::Cpu, &Interrupt::new());
        let trained = of(&format!("echo measuring; {}; {}", line(4), line(12))).unwrap().unwrap();
        let numbers = ["batch4/train_images_per_s", "batch12/train_images_per_s", "parameters"];
        assert_eq!(numbers.map(|name| trained.metric(name)), [8.0, 24.0, 7.0]);
        assert!(trained.metric("batch4/peak_memory_mib").is_nan());
        // "$*" has the options: there is no room for twelve.
        let short = format!("case \"$*\" in *\"batch 12\"*) echo 'error: no room' >&2; exit 2;; esac; {}", line(4));
        let fitting = of(&short).unwrap().unwrap();
        assert!(
            fitting.metric("batch4/train_images_per_s") == 8.0 && fitting.metric("batch12/train_images_per_s").is_nan()
        );
        let names = |trained: &Trained| -> Vec<String> {
            trained.metrics.keys().filter(|name| name.contains(LEFT_OUT)).cloned().collect()
        };
        assert!(names(&trained).is_empty());
        assert!(matches!(&names(&fitting)[..], [name] if name.starts_with("batch12/") && name.contains("no room")));
        let missing = of(&line(4)).unwrap_err().to_string();
        assert!(missing.contains("expected JSON of a measurement, found none of batch 12"), "{missing}");
        let failed = of("echo 'error: no room' >&2; exit 2").unwrap_err().to_string();
        assert!(failed.contains("no room"), "{failed}");
    }
}
