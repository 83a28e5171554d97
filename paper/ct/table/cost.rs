//! The cost of a row: at each minibatch, by itself.

use super::row::{Mode, Row};
use super::settings::Costs;
use crate::ct::networks::MarNetConfig;
use crate::ct::{CtExperiment, CtSettings};
use crate::step::Step;
use crate::targets::cost::{Cost, Part};
use reynolds_train::config::RunConfig;
use reynolds_train::experiment::Experiment;
use serde_json::json;

/// What is measured at a minibatch, and what it is called in the table under "batch4/…".
const NUMBERS: [(&str, &str); 5] = [
    ("train_ms", "train_ms"),
    ("train_samples_per_s", "train_images_per_s"),
    ("inference_ms", "inference_ms"),
    ("inference_samples_per_s", "inference_images_per_s"),
    ("peak_memory_mib", "peak_memory_mib"),
];

impl Costs {
    /// Images of the minibatches of a row, increasing.
    pub(super) fn batches(&self, row: Row) -> &[usize] {
        let smallest_alone = row.mode == Mode::Sample && !self.sample_at_largest;
        if smallest_alone { &self.measured_batches[..1] } else { &self.measured_batches }
    }

    /// As `reynolds bench step ct` measures it: the penalty in its default form and the published strengths.
    pub(super) fn of(&self, of: &RunConfig<CtSettings>, row: Row) -> Cost<CtExperiment> {
        let mut run = CtExperiment.defaults();
        run.settings.model = MarNetConfig { architecture: row.network, ..of.settings.model.clone() };
        row.mode.add_to(&mut run);
        (run.settings.data.side, run.settings.data.patch) = (self.measured_side, self.measured_side);
        run.train.precision = self.measured_precision;
        run.penalty.norm = row.norm;
        let bench = Step::<CtExperiment> { steps: self.measured_steps, ..Step::new(run) };
        let part = |(number, &batch): (usize, &usize)| {
            let mut step = bench.clone();
            step.run.settings.data.batch = batch;
            let mut kept: Vec<_> = NUMBERS.map(|(name, here)| (name, format!("batch{batch}/{here}"))).into();
            kept.push(("parameters", "parameters".into()));
            Part { step, kept, failure: (number > 0).then(|| format!("batch{batch}")) }
        };
        let batches = self.batches(row);
        let parts: Vec<_> = batches.iter().enumerate().map(part).collect();
        let settings = json!({ "batches": batches, "bench": parts[0].step });
        Cost { id: format!("measured-{}", row.id()), settings, parts, launcher: None }
    }
}

#[cfg(test)]
mod tests {
    use super::super::settings::table;
    use super::*;
    use crate::ct::networks::Architecture;
    use crate::targets::{Budget, Point};
    use reynolds_torch::Precision;

    fn cost(mode: Mode) -> Cost<CtExperiment> {
        let mut settings = table(Budget::Quick);
        let costs = &mut settings.costs;
        (costs.measured_side, costs.measured_precision, costs.sample_at_largest) = (64, Precision::Bf16, false);
        settings.run.settings.model.stages = 3;
        let row = Row { network: Architecture::Oscnet, mode, norm: "(1,2)".parse().unwrap() };
        settings.costs.of(&settings.run, row)
    }

    #[test]
    fn a_cost_is_the_bench_of_its_row_and_named_by_its_norm_where_there_is_a_penalty() {
        let cost = self::cost(Mode::Penalty);
        let Step { steps, warmup, pairs, run } = &cost.parts[0].step;
        assert_eq!((*steps, *warmup, *pairs), (2, 5, 0));
        let expected = MarNetConfig { architecture: Architecture::Oscnet, stages: 3, ..MarNetConfig::default() };
        assert_eq!((&run.settings.model, run.settings.data.side), (&expected, 64));
        assert_eq!((run.train.precision, run.penalty.norm.to_string().as_str()), (Precision::Bf16, "(1,2)"));
        let [small, large] = &cost.parts[..] else { panic!("two minibatches") };
        assert_eq!([small, large].map(|part| part.step.run.settings.data.batch), [4, 12]);
        assert!(small.failure.is_none() && large.failure.as_deref() == Some("batch12"));
        assert!(large.kept.contains(&("train_samples_per_s", "batch12/train_images_per_s".into())));
        assert_eq!((cost.id().as_str(), cost.alone()), ("measured-oscnet-penalty-1-2", true));
        assert_eq!(self::cost(Mode::Plain).id(), "measured-oscnet-plain");
        assert_eq!(cost.settings()["batches"], json!([4, 12]));
        assert_eq!(self::cost(Mode::Sample).parts.len(), 1, "at the smallest batch alone");
    }
}
