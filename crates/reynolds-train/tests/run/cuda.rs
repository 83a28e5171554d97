//! The loop on a GPU; on a machine that has none these tests say so and pass.

use std::path::Path;

use reynolds_torch::tch::Device;
use reynolds_torch::{Precision, device};
use reynolds_train::config::RunConfig;
use reynolds_train::experiment::Experiment;
use reynolds_train::interrupt::Interrupt;
use reynolds_train::progress::Silent;
use reynolds_train::run::{Outcome, Place, Session, resume, run};

use crate::logistic::{Fault, Logistic, LogisticSettings};

fn gpu() -> Option<Device> {
    match device::parse("cuda:0") {
        Ok(device) => Some(device),
        Err(error) => {
            eprintln!("skipped: {error}");
            None
        }
    }
}

fn config() -> RunConfig<LogisticSettings> {
    let mut config = Logistic::default().defaults();
    config.train.epochs = 20;
    config.train.clip = 0.5;
    config.penalty.lambda_perp = 0.01;
    config
}

fn begin(config: &RunConfig<LogisticSettings>, fault: Fault, place: &Path, device: Device) -> Outcome {
    let interrupt = match &fault {
        Fault::Interrupted(_, interrupt) => interrupt.clone(),
        _ => Interrupt::new(),
    };
    let session = Session { device, interrupt, observer: &mut Silent };
    run(&Logistic { fault }, config, &Place::Exactly(place.into()), session).unwrap()
}

fn final_loss(outcome: &Outcome) -> f64 {
    outcome.summary().unwrap().last_metrics["test/loss"]
}

#[test]
fn a_run_stopped_on_a_gpu_goes_on_there_and_ends_where_the_processor_ends() {
    let Some(gpu) = gpu() else { return };
    let root = tempfile::tempdir().unwrap();
    let on_processor = final_loss(&begin(&config(), Fault::None, &root.path().join("a"), Device::Cpu));
    let folder = root.path().join("b");
    let stopped = begin(&config(), Fault::Interrupted(31, Interrupt::new()), &folder, gpu);
    assert!(matches!(stopped, Outcome::Interrupted { epoch: 7, .. }), "{stopped:?}");
    let session = Session { device: gpu, interrupt: Interrupt::new(), observer: &mut Silent };
    let on_gpu = final_loss(&resume(&Logistic::default(), &folder, session).unwrap());
    // 80 steps of 0.05 in single precision, sums in another order.
    assert!((on_processor - on_gpu).abs() < 1e-4, "{on_processor} {on_gpu}");
}

#[test]
fn bf16_trains_as_far_as_f32() {
    let Some(gpu) = gpu() else { return };
    let root = tempfile::tempdir().unwrap();
    let mut half = config();
    half.train.precision = Precision::Bf16;
    let [full, half] = [config(), half].map(|config| {
        let name = config.train.precision.name();
        final_loss(&begin(&config, Fault::None, &root.path().join(name), gpu))
    });
    // Eight bits of mantissa: two parts in a thousand of each product.
    assert!((full - half).abs() < 0.02 * full, "{full} {half}");
}
