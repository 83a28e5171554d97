//! The cost of a row: measured in one process a batch, while nothing else runs, so that peak memory is that of one network in one mode.

use super::row::{Mode, Row};
use super::settings::Costs;
use crate::ct::networks::MarNetConfig;
use crate::ct::{CtExperiment, CtSettings};
use crate::step::Step;
use crate::targets::point::{Point, PointSession, Trained};
use reynolds_torch::tch::Device;
use reynolds_train::config::RunConfig;
use reynolds_train::error::{Error, Result};
use reynolds_train::experiment::Experiment;
use reynolds_train::interrupt::Interrupt;
use reynolds_train::sweep::Launcher;
use serde_json::json;

/// The cost of a row.
#[derive(Debug, Clone)]
pub(super) struct RowCost {
    pub(super) row: Row,
    /// At the smallest batch.
    bench: Step<CtSettings>,
    /// Images of a minibatch, increasing.
    pub(super) batches: Vec<usize>,
}

/// What is kept of a batch under "batch4/…".
const NUMBERS: [&str; 5] =
    ["train_ms", "train_images_per_s", "inference_ms", "inference_images_per_s", "peak_memory_mib"];

impl RowCost {
    /// As `reynolds bench step ct` measures it: the penalty in its default form and the published strengths.
    pub(super) fn new(costs: &Costs, of: &RunConfig<CtSettings>, row: Row) -> Self {
        let mut run = CtExperiment.defaults();
        run.settings.model = MarNetConfig { architecture: row.network, ..of.settings.model.clone() };
        row.mode.add_to(&mut run);
        let mut bench = Step { steps: costs.measured_steps, ..Step::new(run) };
        (bench.run.settings.data.side, bench.run.settings.data.patch) = (costs.measured_side, costs.measured_side);
        bench.run.train.precision = costs.measured_precision;
        bench.run.penalty.norm = row.norm;
        let mut batches = costs.measured_batches.clone();
        if row.mode == Mode::Sample && !costs.sample_at_largest {
            batches.truncate(1);
        }
        bench.run.settings.data.batch = batches.first().copied().unwrap_or_default();
        Self { row, bench, batches }
    }

    /// A batch that fails, as for want of memory, is left out with its reason; that is an error only of the smallest.
    fn measured_by(&self, launcher: &Launcher, device: Device, interrupt: &Interrupt) -> Result<Option<Trained>> {
        let mut all = Trained::default();
        for (number, &batch) in self.batches.iter().enumerate() {
            let mut bench = self.bench.clone();
            bench.run.settings.data.batch = batch;
            match bench.in_a_child(launcher, device, interrupt) {
                Ok(None) => return Ok(None),
                Ok(Some(measured)) => {
                    let measured_as = |name: &str| measured.metric(&name.replace("images", "samples"));
                    let numbers = NUMBERS.map(|name| (format!("batch{batch}/{name}"), measured_as(name)));
                    all.metrics.extend(numbers);
                    all.metrics.insert("parameters".into(), measured.metric("parameters"));
                }
                Err(error) if number == 0 => return Err(error),
                Err(Error::File { found, .. }) => drop(all.failures.insert(format!("batch{batch}"), found)),
                Err(error) => drop(all.failures.insert(format!("batch{batch}"), error.to_string())),
            }
        }
        Ok(Some(all))
    }
}

impl Point for RowCost {
    fn id(&self) -> String {
        format!("measured-{}", self.row.id())
    }

    fn settings(&self) -> serde_json::Value {
        json!({ "batches": self.batches, "bench": self.bench })
    }

    fn train(&self, session: &PointSession<'_>) -> Result<Option<Trained>> {
        self.measured_by(&Launcher::this_program()?, session.device, session.interrupt)
    }

    fn alone(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use super::super::settings::table;
    use super::*;
    use crate::ct::networks::Architecture;
    use crate::targets::Budget;
    use reynolds_torch::Precision;

    fn cost(mode: Mode) -> RowCost {
        let mut settings = table(Budget::Quick);
        let costs = &mut settings.costs;
        (costs.measured_side, costs.measured_precision, costs.sample_at_largest) = (64, Precision::Bf16, false);
        settings.run.settings.model.stages = 3;
        RowCost::new(costs, &settings.run, Row { network: Architecture::Oscnet, mode, norm: "(1,2)".parse().unwrap() })
    }

    #[test]
    fn a_cost_is_the_bench_of_its_row_and_named_by_its_norm_where_there_is_a_penalty() {
        let cost = self::cost(Mode::Penalty);
        let Step { steps, warmup, pairs, run } = &cost.bench;
        assert_eq!((*steps, *warmup, *pairs, &cost.batches[..]), (2, 5, 0, &[4, 12][..]));
        let expected = MarNetConfig { architecture: Architecture::Oscnet, stages: 3, ..MarNetConfig::default() };
        assert_eq!((&run.settings.model, run.settings.data.side), (&expected, 64));
        assert_eq!((run.train.precision, run.penalty.norm.to_string().as_str()), (Precision::Bf16, "(1,2)"));
        assert_eq!((cost.id().as_str(), cost.alone()), ("measured-oscnet-penalty-1-2", true));
        assert_eq!(self::cost(Mode::Plain).id(), "measured-oscnet-plain");
        assert_eq!(cost.settings()["batches"], json!([4, 12]));
        assert_eq!(self::cost(Mode::Sample).batches, [4], "at the smallest batch alone");
    }

    #[test]
    #[cfg(unix)]
    fn results_of_the_child_are_kept_by_batch_and_failures_with_their_reason() {
        let of = |script: &str| {
            let launcher = Launcher { program: "/bin/sh".into(), before: vec!["-c".into(), script.into()] };
            cost(Mode::Penalty).measured_by(&launcher, Device::Cpu, &Interrupt::new())
        };
        // "$1" is the folder; the child is asked for the command cost.
        let write = "test \"$0\" = cost && grep -q 'experiment = \"ct\"' \"$1/cost.toml\" && batch=$(sed -n 's/^batch = //p' \"$1/cost.toml\") && \
                     echo \"{\\\"metrics\\\":{\\\"train_samples_per_s\\\":$((2 * batch)),\\\"parameters\\\":7}}\" > \"$1/cost.json\"";
        let trained = of(write).unwrap().unwrap();
        let numbers = ["batch4/train_images_per_s", "batch12/train_images_per_s", "parameters"];
        assert_eq!(numbers.map(|name| trained.metric(name)), [8.0, 24.0, 7.0]);
        assert!(trained.metric("batch4/peak_memory_mib").is_nan() && trained.failures.is_empty());
        let full = "if grep -q '^batch = 12' \"$1/cost.toml\"; then echo 'error: no room' >&2; exit 2; fi";
        let fitting = of(&format!("{full}; {write}")).unwrap().unwrap();
        assert!(fitting.metric(numbers[0]) == 8.0 && fitting.metric(numbers[1]).is_nan(), "{fitting:?}");
        assert_eq!(fitting.failures.into_iter().collect::<Vec<_>>(), [("batch12".to_string(), "no room".to_string())]);
        let failed = of("echo 'error: no room' >&2; exit 2").unwrap_err().to_string();
        assert!(failed.contains("no room"), "{failed}");
        assert!(of("true").is_err(), "a child that leaves no measurement");
    }
}
