//! The loop: accumulation, penalty, clipping, schedules, early stopping, non-finite numbers.

use reynolds_torch::anneal;
use reynolds_torch::optimiser::{Adam, AdamConfig};
use reynolds_train::config::{Mode, Selection};
use reynolds_train::interrupt::Interrupt;
use reynolds_train::journal::Memory;
use reynolds_train::metrics::Summary;
use reynolds_train::prelude::*;
use reynolds_train::progress::Silent;
use reynolds_train::schedule::{Schedule, Shape};
use reynolds_train::train::{Ending, train};

use crate::logistic::{Config, Fault, Logistic, LogisticTask};

fn trained(task: &mut dyn Task, config: &Config) -> (Result<Ending>, Memory) {
    let mut memory = Memory::default();
    let ending = train(task, &config.train, &config.penalty, &mut memory, &mut Silent, &Interrupt::new());
    (ending, memory)
}

fn finished(task: &mut dyn Task, config: &Config) -> (Summary, Memory) {
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

/// The defaults with an edit.
fn with(edit: impl FnOnce(&mut Config)) -> Config {
    let mut config = defaults();
    edit(&mut config);
    config
}

/// The numbers of one name, epoch by epoch.
fn seen(memory: &Memory, name: &str) -> Vec<f64> {
    memory.records.iter().map(|record| record.values[name]).collect()
}

fn near(a: &[f32], b: &[f32], tolerance: f32) {
    assert!(a.iter().zip(b).all(|(a, b)| (a - b).abs() < tolerance), "{a:?} {b:?}");
}

fn build(config: &Config) -> LogisticTask {
    LogisticTask::new(config, Device::Cpu, Fault::None).unwrap()
}

#[test]
fn the_same_seed_gives_the_same_weights_and_another_seed_others() {
    let run = |seed| {
        let config = Config { seed, ..defaults() };
        let mut task = build(&config);
        let (summary, memory) = finished(&mut task, &config);
        (weights(&task), summary, memory.records)
    };
    assert_eq!(run(1), run(1));
    assert_ne!(run(1).0, run(2).0);
}

#[test]
fn training_lowers_the_loss() {
    let config = with(|config| config.train.epochs = 40);
    let losses = seen(&finished(&mut build(&config), &config).1, "train/loss");
    assert!(losses[39] < 0.7 * losses[0], "{losses:?}");
}

#[test]
fn accumulated_minibatches_are_one_batch() {
    let whole = with(|config| config.settings.data.batch = 32);
    let parts = with(|config| config.train.accumulate = 4);
    let (mut one, mut four) = (build(&whole), build(&parts));
    let memories = [finished(&mut one, &whole).1, finished(&mut four, &parts).1];
    // Five steps of 0.05 from sums of 32 terms in another order; Adam divides by a moment of the same size.
    near(&weights(&one), &weights(&four), 1e-5);
    assert_eq!(memories.each_ref().map(|memory| memory.records[4].step), [5, 5]);
    let losses = memories.map(|memory| memory.records[0].values["train/loss"]);
    assert!((losses[0] - losses[1]).abs() < 1e-6);
}

/// The weights after steps of Adam by hand, each with the mean gradient of these minibatches, changed by `change` (weights, gradient).
fn by_hand(
    config: &Config,
    steps: &[std::ops::Range<usize>],
    change: impl Fn(&Tensor, Tensor) -> Tensor,
) -> LogisticTask {
    let mut task = build(config);
    let mut adam = Adam::new(AdamConfig::default(), task.parameters().flat()).unwrap();
    for steps in steps {
        let gradient = |step| task.parameters().gradient(&task.loss(Moment { epoch: 0, step }).unwrap()).unwrap();
        let sum = steps.clone().map(gradient).reduce(|sum, gradient| sum + gradient).unwrap();
        let gradient = change(task.parameters().flat(), sum / steps.len() as f64);
        adam.step(task.parameters_mut().flat_mut(), &gradient, 0.05).unwrap();
    }
    task
}

#[test]
fn the_penalty_is_added_once_per_step_after_accumulation_and_before_clipping() {
    // By hand: the mean gradient of two minibatches, plus 2λ(W − P(W)) once, no longer than 0.1, into Adam.
    let config = with(|config| {
        (config.train.epochs, config.train.accumulate, config.train.clip) = (1, 2, 0.1);
        config.penalty.lambda_perp = 0.3;
    });
    let mut task = build(&config);
    let (_, memory) = finished(&mut task, &config);
    // P replaces both weights by their mean.
    let start = task.parameters().entries().iter().find(|entry| entry.name == "weight").unwrap().start as i64;
    let perp = |flat: &Tensor| {
        let (perp, weights) = (flat.zeros_like(), flat.narrow(0, start, 2));
        perp.narrow(0, start, 2).copy_(&(&weights - weights.mean(Kind::Float)));
        perp
    };
    let by_hand = by_hand(&config, &[0..2, 2..4], |flat, gradient| {
        let gradient = gradient + perp(flat) * 0.6;
        let length = f64::try_from(gradient.norm()).unwrap();
        assert!(length > 0.1, "there is something to clip");
        gradient * (0.1 / (length + 1e-6))
    });
    near(&weights(&task), &weights(&by_hand), 1e-6);
    // Recorded at the end of the epoch.
    let penalty = 0.3 * f64::try_from(perp(by_hand.parameters().flat()).square().sum(Kind::Float)).unwrap();
    let values = &memory.records[0].values;
    assert!((values["penalty"] - penalty).abs() < 1e-5 * penalty, "{values:?} {penalty}");
    assert_eq!(values["lambda_perp"], 0.3);
}

#[test]
fn a_last_step_with_fewer_minibatches_takes_their_own_mean() {
    let config = with(|config| (config.train.epochs, config.train.accumulate) = (1, 3));
    let mut task = build(&config);
    assert_eq!(finished(&mut task, &config).0.steps, 2);
    near(&weights(&task), &weights(&by_hand(&config, &[0..3, 3..4], |_, gradient| gradient)), 1e-6);
}

#[test]
fn lambda_perp_and_the_learning_rate_follow_their_schedules() {
    let config = with(|config| {
        config.penalty.lambda_perp = 2.0;
        config.penalty.anneal = anneal::Anneal { shape: anneal::Shape::Linear, start: 0.0, epochs: 2.0 };
        config.train.schedule = Schedule { shape: Shape::Exponential, gamma: 0.5, ..Schedule::default() };
    });
    let (_, memory) = finished(&mut build(&config), &config);
    // At the last of four steps: t = 3/4, 7/4, then past the end.
    assert_eq!(seen(&memory, "lambda_perp"), [0.75, 1.75, 2.0, 2.0, 2.0]);
    assert_eq!(seen(&memory, "learning_rate"), [0.05, 0.025, 0.0125, 0.00625, 0.003125]);
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

    fn parameters_mut(&mut self) -> &mut Parameters {
        &mut self.parameters
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

/// The defaults, watching the score.
fn watching(edit: impl FnOnce(&mut Config)) -> Config {
    with(|config| {
        config.train.early_stopping.metric = "score".into();
        edit(config);
    })
}

#[test]
fn clipping_bounds_the_gradient_that_the_moments_see() {
    // With β₁ = β₂ = 0 and a large ε, Adam's step is η g/(|g| + ε).
    let config = watching(|config| {
        (config.train.epochs, config.train.clip, config.train.learning_rate) = (1, 2.0, 1.0);
        config.train.optimiser = AdamConfig { beta1: 0.0, beta2: 0.0, epsilon: 8.0, ..AdamConfig::default() };
    });
    let weight = finished(&mut Slope::new(&[]), &config).0.last_metrics["test/weight"];
    let clipped = 100.0 * 2.0 / (100.0 + 1e-6);
    assert!((weight - (1.0 - clipped / (clipped + 8.0))).abs() < 1e-12, "{weight}");
}

#[test]
fn early_stopping_counts_evaluations_without_a_better_one_and_keeps_the_best() {
    let scores = [0.5, 0.7, 0.6, 0.7, 0.69, 0.9];
    let mut config = watching(|config| {
        config.train.epochs = 20;
        (config.train.early_stopping.mode, config.train.early_stopping.patience) = (Mode::Max, 3);
    });
    // Each step of Adam with one sign of gradient is η = 0.05 up to ε.
    let after = |weight: f64, steps: f64| assert!((weight - (1.0 - steps * 0.05)).abs() < 1e-9, "{weight} {steps}");
    let left = |task: &Slope| f64::try_from(task.parameters.flat().get(0)).unwrap();
    let mut task = Slope::new(&scores);
    let (summary, memory) = finished(&mut task, &config);
    assert!(summary.stopped_early);
    assert_eq!((summary.epochs, memory.records.len()), (5, 5));
    assert_eq!(summary.best.map(|best| (best.epoch, best.value)), Some((2, 0.7)));
    after(summary.best_metrics["test/weight"], 2.0);
    after(summary.last_metrics["test/weight"], 5.0);
    after(left(&task), 5.0);

    config.train.weights = Selection::Best;
    let mut task = Slope::new(&scores);
    let (summary, _) = finished(&mut task, &config);
    after(left(&task), 2.0);
    assert_eq!(summary.metrics(), &summary.best_metrics);
}

#[test]
fn lower_is_better_in_mode_min_and_a_small_gain_is_none() {
    let config = watching(|config| (config.train.epochs, config.train.early_stopping.min_delta) = (4, 0.1));
    let (summary, _) = finished(&mut Slope::new(&[0.5, 0.45, 0.35, 0.6]), &config);
    assert_eq!(summary.best.map(|best| (best.epoch, best.value)), Some((3, 0.35)));
    assert!(!summary.stopped_early);
}

#[test]
fn the_second_metric_decides_between_equals_alone() {
    let config = |ties: &str, patience: usize| {
        watching(|config| {
            config.train.epochs = 5;
            let stopping = &mut config.train.early_stopping;
            (stopping.mode, stopping.ties, stopping.patience) = (Mode::Max, ties.into(), patience);
        })
    };
    let best = |scores: &[f64], ties: &str| finished(&mut Slope::new(scores), &config(ties, 0)).0.best.unwrap();
    // The weight falls with every step, so that a later one of equals is the better one; a higher score beats any weight.
    let (equals, higher) = ([0.5, 0.7, 0.7, 0.6, 0.7], [0.5, 0.7, 0.9, 0.7, 0.6]);
    assert_eq!([best(&equals, "").epoch, best(&higher, "").epoch], [2, 3]);
    assert_eq!([best(&equals, "weight").epoch, best(&higher, "weight").epoch], [5, 3]);
    assert_eq!(best(&equals, "").tie, None);
    let tie = best(&equals, "weight").tie.unwrap();
    assert!((tie - (1.0 - 5.0 * 0.05)).abs() < 1e-9, "{tie}");
    // One that is better among equals ends the wait for a better one.
    assert_eq!(["weight", ""].map(|ties| finished(&mut Slope::new(&equals), &config(ties, 2)).0.epochs), [5, 4]);
    let message = trained(&mut Slope::new(&equals), &config("f1", 0)).0.unwrap_err().to_string();
    let expected = "config: train.early_stopping.ties: expected one of \"score\", \"weight\"";
    assert!(message.starts_with(expected), "{message}");
}

#[test]
fn evaluation_waits_for_its_turn_and_the_last_epoch_always_has_one() {
    let config = with(|config| config.train.evaluate_every = 2);
    let (_, memory) = finished(&mut build(&config), &config);
    let evaluated = memory.records.iter().map(|record| record.values.contains_key("validation/loss"));
    assert_eq!(evaluated.collect::<Vec<_>>(), [false, true, false, true, true]);
}

#[test]
fn the_last_evaluation_is_not_done_again_at_the_end() {
    let config = with(|config| {
        config.train.epochs = 3;
        config.train.early_stopping.metric = String::new();
    });
    let mut task = Slope::new(&[0.1, 0.2, 0.3, 0.4]);
    let (summary, memory) = finished(&mut task, &config);
    assert_eq!(task.evaluations.get(), 3);
    assert_eq!(summary.last_metrics["validation/score"], 0.3);
    assert_eq!(memory.records[2].values["validation/score"], 0.3);
    assert!((summary.last_metrics["validation/weight"] - summary.last_metrics["test/weight"]).abs() < 1e-15);
}

#[test]
fn a_non_finite_number_stops_the_run_and_is_named() {
    let config = defaults();
    for (fault, quantity) in [(Fault::NotANumber(9), "the loss"), (Fault::Infinite(11), "a weight")] {
        let mut task = LogisticTask::new(&config, Device::Cpu, fault).unwrap();
        let (ending, memory) = trained(&mut task, &config);
        let message = ending.unwrap_err().to_string();
        assert_eq!(message, format!("epoch 3: {quantity} is not finite: there is no checkpoint yet"));
        assert_eq!(memory.records.len(), 2);
    }
    let message = trained(&mut Slope::new(&[f64::NAN]), &watching(|_| ())).0.unwrap_err().to_string();
    assert!(message.starts_with("epoch 1: validation/score is not finite"), "{message}");
}

#[test]
fn a_look_inside_an_epoch_changes_nothing() {
    let run = |config: Config| {
        let mut task = build(&config);
        let (summary, memory) = finished(&mut task, &config);
        (weights(&task), summary, memory.records)
    };
    assert_eq!(run(with(|config| config.train.look_every = 1)), run(defaults()));
}

#[test]
fn settings_that_do_not_fit_the_task_are_refused() {
    let of = |edit: fn(&mut Config)| {
        let config = with(edit);
        trained(&mut build(&config), &config).0.unwrap_err().to_string()
    };
    let metric = of(|config| config.train.early_stopping.metric = "f1".into());
    let expected = r#"expected one of "accuracy", "loss", "seen" (or "" for none), found "f1""#;
    assert_eq!(metric, format!("config: train.early_stopping.metric: {expected}"));
    let none = of(|config| config.settings.data.points = 0);
    assert_eq!(none, "config: data: expected at least one minibatch an epoch, found none");
    let precision = of(|config| config.train.precision = reynolds_torch::Precision::Bf16);
    assert!(precision.starts_with("config: train.precision: "), "{precision}");
    let nothing_held = trained(&mut Slope::new(&[]), &with(|config| config.penalty.lambda_g = 0.5)).0.unwrap_err();
    let expected = "config: penalty.lambda_g: expected 0: this model has no regularised parameters";
    assert!(nothing_held.to_string().starts_with(expected), "{nothing_held}");
}
