//! The loop on a GPU; without one these tests print so and pass.

use reynolds_torch::tch::Device;
use reynolds_torch::{Precision, device};
use reynolds_train::config::PenaltyStep;
use reynolds_train::experiment::Experiment;
use reynolds_train::interrupt::Interrupt;
use reynolds_train::run::Outcome;

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
