//! The loop on a GPU; without one these tests print so and pass.

use reynolds::penalty::Form;
use reynolds_torch::anneal::{self, Anneal};
use reynolds_torch::{Precision, device};
use reynolds_train::config::{PenaltySettings, PenaltyStep, TargetBy};
use reynolds_train::interrupt::Interrupt;
use reynolds_train::journal::Memory;
use reynolds_train::prelude::*;
use reynolds_train::progress::Observer;
use reynolds_train::run::Outcome;
use reynolds_train::train::train;

use crate::logistic::{Config, Fault, Logistic, begin, begin_on, go_on_on};

fn gpu() -> Option<Device> {
    device::parse("cuda:0").inspect_err(|error| eprintln!("skipped: {error}")).ok()
}

fn config() -> Config {
    let mut config = Logistic::default().defaults();
    config.train.epochs = 20;
    config.train.clip = 0.5;
    config.penalty.lambda_perp = 0.01;
    config
}

fn final_loss(outcome: &Outcome) -> f64 {
    outcome.summary().unwrap().last_metrics["test/loss"]
}

#[test]
fn a_run_stopped_on_a_gpu_goes_on_there_and_ends_where_the_processor_ends() {
    let Some(gpu) = gpu() else { return };
    for step in [PenaltyStep::Gradient, PenaltyStep::Decoupled] {
        let root = tempfile::tempdir().unwrap();
        let mut config = config();
        config.penalty.step = step;
        let on_processor = final_loss(&begin(Fault::None, &config, &root.path().join("a")).unwrap());
        let folder = root.path().join("b");
        let stopped = begin_on(gpu, Fault::Interrupted(31, Interrupt::new()), &config, &folder).unwrap();
        assert!(matches!(stopped, Outcome::Interrupted { epoch: 7, .. }), "{stopped:?}");
        let on_gpu = final_loss(&go_on_on(gpu, Fault::None, &folder).unwrap());
        // 80 steps of 0.05 in single precision, sums in another order.
        assert!((on_processor - on_gpu).abs() < 1e-4, "{step:?}: {on_processor} {on_gpu}");
    }
}

/// What is said while a run trains.
#[derive(Default)]
struct Said(Vec<String>);

impl Observer for Said {
    fn say(&mut self, text: &str) {
        self.0.push(text.into());
    }
}

/// All numbers of the records and the weights of a run, what was said, and how many kernels were launched.
fn trained(gpu: Device, config: &Config) -> (Vec<f64>, Vec<String>, u64) {
    let mut task = Logistic::default().task(config, gpu).unwrap();
    let (mut journal, mut said, before) = (Memory::default(), Said::default(), device::launches());
    train(&mut task, &config.train, &config.penalty, &mut journal, &mut said, &Interrupt::new()).unwrap();
    // Evaluated after each epoch, and twice to warm up.
    let replayed = task.passes.replayed();
    assert!(if config.train.graph { replayed >= config.train.epochs - 2 } else { replayed == 0 }, "{replayed}");
    let mut found: Vec<f64> = journal.records.iter().flat_map(|record| record.values.values().copied()).collect();
    found.extend(Vec::<f64>::try_from(task.parameters().flat().to_kind(Kind::Double)).unwrap());
    (found, said.0, device::launches() - before)
}

#[test]
fn replayed_steps_end_where_others_do_with_rates_and_strengths_that_change() {
    let Some(gpu) = gpu() else { return };
    // Settings, minibatches of a step, and whether steps are replayed, or say that their strength changes too often.
    type Change = fn(&mut PenaltySettings);
    let cases: [(Change, usize, bool); 6] = [
        (|_| (), 1, true),
        (|penalty| penalty.step = PenaltyStep::Decoupled, 1, true),
        (|penalty| (penalty.step, penalty.form) = (PenaltyStep::Decoupled, Form::Plain), 3, true),
        (
            |penalty| (penalty.lambda_perp, penalty.target, penalty.target_by) = (0.0, Some(0.3), TargetBy::Dual),
            1,
            true,
        ),
        (|penalty| (penalty.form, penalty.anneal) = (Form::Plain, Anneal::default()), 1, true),
        (|penalty| penalty.form = Form::Plain, 1, false),
    ];
    for (nth, (change, accumulate, replays)) in cases.into_iter().enumerate() {
        let mut config = config();
        config.penalty.anneal = Anneal { shape: anneal::Shape::Linear, start: 0.0, epochs: 10.0 };
        change(&mut config.penalty);
        config.train.accumulate = accumulate;
        config.train.schedule.warmup_steps = 9;
        let (found, said, launches) = trained(gpu, &config);
        config.train.graph = false;
        let (expected, nothing, all) = trained(gpu, &config);
        assert_eq!((said.is_empty(), nothing), (replays, vec![]), "case {nth}: {said:?}");
        assert!(nth > 3 || launches < all / 2, "case {nth}: {launches} launches of {all}");
        let off = found.iter().zip(&expected).map(|(a, b)| (a - b).abs() / b.abs().max(1.0)).fold(0.0, f64::max);
        assert!(off < 1e-5 && found.len() == expected.len(), "case {nth}: {off}");
    }
}

#[test]
fn bf16_trains_as_far_as_f32() {
    let Some(gpu) = gpu() else { return };
    let root = tempfile::tempdir().unwrap();
    let [full, half] = [Precision::F32, Precision::Bf16].map(|precision| {
        let mut config = config();
        config.train.precision = precision;
        final_loss(&begin_on(gpu, Fault::None, &config, &root.path().join(precision.name())).unwrap())
    });
    // Eight bits of mantissa: two parts in a thousand of each product.
    assert!((full - half).abs() < 0.02 * full, "{full} {half}");
}
