//! The loop: accumulation, penalty, clipping, schedules, early stopping, numbers that are none.

use reynolds_torch::optimiser::{Adam, AdamConfig};
use reynolds_torch::tch::{Device, Kind, Tensor};
use reynolds_torch::{Parameters, anneal};
use reynolds_train::config::{Mode, RunConfig, Selection};
use reynolds_train::experiment::Experiment;
use reynolds_train::interrupt::Interrupt;
use reynolds_train::journal::Memory;
use reynolds_train::metrics::Summary;
use reynolds_train::progress::Silent;
use reynolds_train::schedule::{Schedule, Shape};
use reynolds_train::task::{Metrics, Moment, Split, Task};
use reynolds_train::train::{Ending, train};
use reynolds_train::{Error, Result};

use crate::logistic::{Fault, Logistic, LogisticSettings, LogisticTask};

type Config = RunConfig<LogisticSettings>;

fn trained(task: &dyn Task, config: &Config) -> (Result<Ending>, Memory) {
    let mut memory = Memory::default();
    let ending = train(task, &config.train, &config.penalty, &mut memory, &mut Silent, &Interrupt::new());
    (ending, memory)
}

fn finished(task: &dyn Task, config: &Config) -> (Summary, Memory) {
    match trained(task, config) {
        (Ok(Ending::Finished(summary)), memory) => (summary, memory),
        (other, _) => panic!("{other:?}"),
    }
}

fn weights(task: &LogisticTask) -> Vec<f32> {
    Vec::try_from(task.parameters().flat()).unwrap()
}

fn defaults() -> Config {
    Logistic::default().defaults()
}

fn build(config: &Config) -> LogisticTask {
    LogisticTask::new(config, Device::Cpu, Fault::None).unwrap()
}

#[test]
fn the_same_seed_gives_the_same_weights_and_another_seed_others() {
    let run = |seed| {
        let config = Config { seed, ..defaults() };
        let task = build(&config);
        let (summary, memory) = finished(&task, &config);
        (weights(&task), summary, memory.records)
    };
    assert_eq!(run(1), run(1));
    assert_ne!(run(1).0, run(2).0);
}

#[test]
fn training_lowers_the_loss() {
    let mut config = defaults();
    config.train.epochs = 40;
    let task = build(&config);
    let (_, memory) = finished(&task, &config);
    let loss = |index: usize| memory.records[index].values["train/loss"];
    assert!(loss(39) < 0.7 * loss(0), "{} {}", loss(0), loss(39));
}

#[test]
fn accumulated_minibatches_are_one_batch() {
    let mut whole = defaults();
    whole.settings.data.batch = 32;
    let mut parts = defaults();
    parts.train.accumulate = 4;
    let (one, four) = (build(&whole), build(&parts));
    let (whole_memory, parts_memory) = (finished(&one, &whole).1, finished(&four, &parts).1);
    for (a, b) in weights(&one).iter().zip(weights(&four)) {
        // Five steps of 0.05 from sums of 32 terms in another order; Adam divides by a moment of the same size.
        assert!((a - b).abs() < 1e-5, "{a} {b}");
    }
    assert_eq!(whole_memory.records[4].step, 5);
    assert_eq!(parts_memory.records[4].step, 5);
    let losses = [&whole_memory, &parts_memory].map(|memory| memory.records[0].values["train/loss"]);
    assert!((losses[0] - losses[1]).abs() < 1e-6);
}

#[test]
fn the_penalty_is_added_once_per_step_after_accumulation_and_before_clipping() {
    // By hand: the mean gradient of two minibatches, plus 2λW once, no longer than 0.3, into Adam.
    let mut config = defaults();
    config.train.epochs = 1;
    config.train.accumulate = 2;
    config.train.clip = 0.3;
    config.penalty.lambda_perp = 0.3;
    let task = build(&config);
    let (_, memory) = finished(&task, &config);
    assert_eq!(task.penalties.get(), 2);

    let by_hand = build(&config);
    let parameters = by_hand.parameters();
    let mut adam = Adam::new(AdamConfig::default(), parameters.flat()).unwrap();
    for pair in [[0, 1], [2, 3]] {
        let gradients = pair.map(|step| {
            let loss = by_hand.loss(Moment { epoch: 0, step }).unwrap();
            parameters.gradient(&loss).unwrap()
        });
        let flat = parameters.flat();
        let gradient = (&gradients[0] + &gradients[1]) / 2.0 + flat * 0.6;
        let length = f64::try_from(gradient.norm()).unwrap();
        assert!(length > 0.3, "there is something to clip");
        let gradient = gradient * (0.3 / (length + 1e-6));
        adam.step(flat, &gradient, 0.05).unwrap();
    }
    for (a, b) in weights(&task).iter().zip(weights(&by_hand)) {
        assert!((a - b).abs() < 1e-6, "{a} {b}");
    }
    // Recorded at the end of the epoch.
    let penalty = 0.3 * f64::try_from(parameters.flat().square().sum(Kind::Float)).unwrap();
    let values = &memory.records[0].values;
    assert!((values["penalty"] - penalty).abs() < 1e-6 * penalty);
    assert_eq!(values["lambda_perp"], 0.3);
}

#[test]
fn a_last_step_with_fewer_minibatches_takes_their_own_mean() {
    let mut config = defaults();
    config.train.epochs = 1;
    config.train.accumulate = 3;
    let task = build(&config);
    let (summary, _) = finished(&task, &config);
    assert_eq!(summary.steps, 2);
    let by_hand = build(&config);
    let parameters = by_hand.parameters();
    let mut adam = Adam::new(AdamConfig::default(), parameters.flat()).unwrap();
    for steps in [0..3, 3..4] {
        let count = steps.len() as f64;
        let mut gradient = parameters.flat().zeros_like();
        for step in steps {
            gradient += parameters.gradient(&by_hand.loss(Moment { epoch: 0, step }).unwrap()).unwrap();
        }
        adam.step(parameters.flat(), &(gradient / count), 0.05).unwrap();
    }
    for (a, b) in weights(&task).iter().zip(weights(&by_hand)) {
        assert!((a - b).abs() < 1e-6, "{a} {b}");
    }
}

#[test]
fn lambda_perp_grows_from_step_to_step() {
    let mut config = defaults();
    config.penalty.lambda_perp = 2.0;
    config.penalty.anneal = anneal::Anneal { shape: anneal::Shape::Linear, start: 0.0, epochs: 2.0 };
    let (_, memory) = finished(&build(&config), &config);
    // At the last of four steps: t = 3/4, 7/4, then past the end.
    let seen: Vec<f64> = memory.records.iter().map(|record| record.values["lambda_perp"]).collect();
    assert_eq!(seen, [0.75, 1.75, 2.0, 2.0, 2.0]);
}

#[test]
fn the_learning_rate_follows_its_schedule() {
    let mut config = defaults();
    config.train.schedule = Schedule { shape: Shape::Exponential, gamma: 0.5, ..Schedule::default() };
    let (_, memory) = finished(&build(&config), &config);
    let seen: Vec<f64> = memory.records.iter().map(|record| record.values["learning_rate"]).collect();
    assert_eq!(seen, [0.05, 0.025, 0.0125, 0.00625, 0.003125]);
}

/// One parameter w with loss 100 w: its gradient is 100 at every step.
struct Slope {
    parameters: Parameters,
    validation: Vec<f64>,
    evaluations: std::cell::Cell<usize>,
}

impl Slope {
    fn new(validation: &[f64]) -> Self {
        let mut builder = Parameters::builder();
        builder.real("w", &[1], &[1.0]).unwrap();
        let parameters = builder.build(Kind::Double, Device::Cpu).unwrap();
        Self { parameters, validation: validation.to_vec(), evaluations: Default::default() }
    }
}

impl Task for Slope {
    fn parameters(&self) -> &Parameters {
        &self.parameters
    }

    fn steps_per_epoch(&self) -> usize {
        1
    }

    fn loss(&self, _: Moment) -> Result<Tensor> {
        Ok(self.parameters.get("w").unwrap().sum(Kind::Double) * 100.0)
    }

    fn evaluate(&self, split: Split) -> Result<Metrics> {
        let weight = f64::try_from(self.parameters.flat().get(0))?;
        if split == Split::Test {
            return Ok(Metrics::from([("weight".into(), weight)]));
        }
        let number = self.evaluations.replace(self.evaluations.get() + 1);
        let value = self.validation.get(number).copied().unwrap_or(weight);
        Ok(Metrics::from([("score".into(), value), ("weight".into(), weight)]))
    }
}

#[test]
fn clipping_bounds_the_gradient_that_the_moments_see() {
    // With β₁ = β₂ = 0 and a large ε, Adam's step is η g/(|g| + ε).
    let mut config = defaults();
    config.train.epochs = 1;
    config.train.clip = 2.0;
    config.train.learning_rate = 1.0;
    config.train.optimiser = AdamConfig { beta1: 0.0, beta2: 0.0, epsilon: 8.0, ..AdamConfig::default() };
    config.train.early_stopping.metric = "score".into();
    let task = Slope::new(&[]);
    let (summary, _) = finished(&task, &config);
    let weight = summary.last_metrics["test/weight"];
    let clipped = 100.0 * 2.0 / (100.0 + 1e-6);
    assert!((weight - (1.0 - clipped / (clipped + 8.0))).abs() < 1e-12, "{weight}");
}

#[test]
fn early_stopping_counts_evaluations_without_a_better_one_and_keeps_the_best() {
    let scores = [0.5, 0.7, 0.6, 0.7, 0.69, 0.9];
    let mut config = defaults();
    config.train.epochs = 20;
    config.train.early_stopping.metric = "score".into();
    config.train.early_stopping.mode = Mode::Max;
    config.train.early_stopping.patience = 3;
    let task = Slope::new(&scores);
    let (summary, memory) = finished(&task, &config);
    assert!(summary.stopped_early);
    assert_eq!((summary.epochs, memory.records.len()), (5, 5));
    let best = summary.best.unwrap();
    assert_eq!((best.epoch, best.value), (2, 0.7));
    // Each step of Adam with one sign of gradient is η = 0.05 up to ε.
    let near = |a: f64, b: f64| assert!((a - b).abs() < 1e-9, "{a} {b}");
    near(summary.best_metrics["test/weight"], 1.0 - 2.0 * 0.05);
    near(summary.last_metrics["test/weight"], 1.0 - 5.0 * 0.05);
    near(f64::try_from(task.parameters.flat().get(0)).unwrap(), 1.0 - 5.0 * 0.05);

    config.train.weights = Selection::Best;
    let task = Slope::new(&scores);
    let (summary, _) = finished(&task, &config);
    near(f64::try_from(task.parameters.flat().get(0)).unwrap(), 1.0 - 2.0 * 0.05);
    assert_eq!(summary.metrics(), &summary.best_metrics);
}

#[test]
fn lower_is_better_in_mode_min_and_a_small_gain_is_none() {
    let mut config = defaults();
    config.train.epochs = 4;
    config.train.early_stopping.metric = "score".into();
    config.train.early_stopping.min_delta = 0.1;
    let (summary, _) = finished(&Slope::new(&[0.5, 0.45, 0.35, 0.6]), &config);
    assert_eq!(summary.best.map(|best| (best.epoch, best.value)), Some((3, 0.35)));
    assert!(!summary.stopped_early);
}

#[test]
fn the_second_metric_decides_between_equals_alone() {
    let mut config = defaults();
    config.train.epochs = 5;
    config.train.early_stopping.metric = "score".into();
    config.train.early_stopping.mode = Mode::Max;
    let best = |scores: &[f64], config: &Config| finished(&Slope::new(scores), config).0.best.unwrap();
    // The weight falls with every step, so that a later one of equals is the better one; a higher score beats any weight.
    let (equals, higher) = ([0.5, 0.7, 0.7, 0.6, 0.7], [0.5, 0.7, 0.9, 0.7, 0.6]);
    assert_eq!([best(&equals, &config).epoch, best(&higher, &config).epoch], [2, 3]);
    assert_eq!(best(&equals, &config).tie, None);
    config.train.early_stopping.ties = "weight".into();
    assert_eq!([best(&equals, &config).epoch, best(&higher, &config).epoch], [5, 3]);
    let tie = best(&equals, &config).tie.unwrap();
    assert!((tie - (1.0 - 5.0 * 0.05)).abs() < 1e-9, "{tie}");
    // One that is better among equals ends the wait for a better one.
    config.train.early_stopping.patience = 2;
    assert_eq!(finished(&Slope::new(&equals), &config).0.epochs, 5);
    config.train.early_stopping.ties = String::new();
    assert_eq!(finished(&Slope::new(&equals), &config).0.epochs, 4);
    config.train.early_stopping.ties = "f1".into();
    let message = trained(&Slope::new(&equals), &config).0.unwrap_err().to_string();
    assert!(
        message.starts_with("config: train.early_stopping.ties: expected one of \"score\", \"weight\""),
        "{message}"
    );
}

#[test]
fn evaluation_waits_for_its_turn_and_the_last_epoch_always_has_one() {
    let mut config = defaults();
    config.train.evaluate_every = 2;
    let (_, memory) = finished(&build(&config), &config);
    let evaluated: Vec<bool> =
        memory.records.iter().map(|record| record.values.contains_key("validation/loss")).collect();
    assert_eq!(evaluated, [false, true, false, true, true]);
}

#[test]
fn the_last_evaluation_is_not_done_again_at_the_end() {
    let mut config = defaults();
    config.train.epochs = 3;
    config.train.early_stopping.metric = String::new();
    let task = Slope::new(&[0.1, 0.2, 0.3, 0.4]);
    let (summary, memory) = finished(&task, &config);
    assert_eq!(task.evaluations.get(), 3);
    assert_eq!(summary.last_metrics["validation/score"], 0.3);
    assert_eq!(memory.records[2].values["validation/score"], 0.3);
    assert!((summary.last_metrics["validation/weight"] - summary.last_metrics["test/weight"]).abs() < 1e-15);
}

#[test]
fn a_metric_that_no_evaluation_has_is_refused_with_those_there_are() {
    let mut config = defaults();
    config.train.early_stopping.metric = "f1".into();
    let message = trained(&build(&config), &config).0.unwrap_err().to_string();
    let expected = r#"train.early_stopping.metric: expected one of "accuracy", "loss" (or "" for none), found "f1""#;
    assert_eq!(message, format!("config: {expected}"));
}

#[test]
fn what_is_not_finite_stops_the_run_and_is_named() {
    let config = defaults();
    for (fault, quantity) in [(Fault::NotANumber(9), "the loss"), (Fault::Infinite(11), "a weight")] {
        let task = LogisticTask::new(&config, Device::Cpu, fault).unwrap();
        let (ending, memory) = trained(&task, &config);
        let message = ending.unwrap_err().to_string();
        assert_eq!(message, format!("epoch 3: {quantity} is not finite: there is no checkpoint yet"));
        assert_eq!(memory.records.len(), 2);
    }
    let mut config = defaults();
    config.train.early_stopping.metric = "score".into();
    let message = trained(&Slope::new(&[f64::NAN]), &config).0.unwrap_err().to_string();
    assert!(message.starts_with("epoch 1: validation/score is not finite"), "{message}");
}

#[test]
fn a_look_inside_an_epoch_finds_it_sooner_and_changes_nothing() {
    let mut config = defaults();
    config.train.look_every = 1;
    let looked = build(&config);
    let (summary, memory) = finished(&looked, &config);
    let plain = build(&defaults());
    assert_eq!((summary, memory.records), {
        let (summary, memory) = finished(&plain, &defaults());
        (summary, memory.records)
    });
    assert_eq!(weights(&looked), weights(&plain));
}

#[test]
fn a_penalty_without_anything_to_hold_is_refused() {
    let mut config = defaults();
    config.penalty.lambda_g = 0.5;
    let message = trained(&Slope::new(&[]), &config).0.unwrap_err().to_string();
    assert!(message.starts_with("config: penalty.lambda_g: expected 0, for this model has no parameter"), "{message}");
}

#[test]
fn a_task_without_minibatches_is_refused() {
    let mut config = defaults();
    config.settings.data.points = 0;
    let message = trained(&build(&config), &config).0.unwrap_err().to_string();
    assert_eq!(message, "config: data: expected at least one minibatch an epoch, found none");
}

#[test]
fn bf16_is_refused_on_the_processor() {
    let mut config = defaults();
    config.train.precision = reynolds_torch::Precision::Bf16;
    let error = trained(&build(&config), &config).0.unwrap_err();
    assert!(matches!(&error, Error::Config { key, .. } if key == "train.precision"), "{error}");
}
