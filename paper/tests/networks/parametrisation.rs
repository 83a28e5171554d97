//! Constrained and residual weights through the one training loop.

use std::path::Path;

use reynolds_paper::so2::{DiskAndArc, PlaneExperiment, PlaneSettings};
use reynolds_torch::parametrisation::Parametrisation;
use reynolds_torch::tch::Device;
use reynolds_train::config::RunConfig;
use reynolds_train::experiment::Experiment;
use reynolds_train::interrupt::Interrupt;
use reynolds_train::progress::{Observer, Silent};
use reynolds_train::run::{Outcome, OutputFolder, Session, resume, run};

type So2 = PlaneExperiment<DiskAndArc>;

fn config(kind: Parametrisation) -> RunConfig<PlaneSettings<DiskAndArc>> {
    let mut config = So2::new().defaults();
    config.settings.data.points = 60;
    config.train.epochs = 12;
    config.train.threads = 1;
    config.train.parametrisation.kind = kind;
    config
}

fn session<'a>(observer: &'a mut dyn Observer, interrupt: &Interrupt) -> Session<'a> {
    Session { device: Device::Cpu, interrupt: interrupt.clone(), observer }
}

fn trained(config: &RunConfig<PlaneSettings<DiskAndArc>>, folder: &Path) -> Outcome {
    run(&So2::new(), config, &OutputFolder::Exactly(folder.into()), session(&mut Silent, &Interrupt::new())).unwrap()
}

/// Asks for a stop after some steps.
struct StopAfter(usize, Interrupt);

impl Observer for StopAfter {
    fn step(&mut self, done: usize, _: Option<f64>) {
        if done == self.0 {
            self.1.request();
        }
    }
}

/// The tensors of a checkpoint, without the header that names times.
fn tensors(folder: &Path) -> Vec<u8> {
    let bytes = std::fs::read(folder.join("checkpoints/last.safetensors")).unwrap();
    let header = u64::from_le_bytes(bytes[..8].try_into().unwrap()) as usize;
    bytes[8 + header..].to_vec()
}

#[test]
fn constrained_weights_have_no_defect_and_free_ones_do() {
    let root = tempfile::tempdir().unwrap();
    let defect = |kind: Parametrisation| {
        let outcome = trained(&config(kind), &root.path().join(format!("{kind:?}")));
        outcome.summary().unwrap().last_metrics["test/invariance_error_relative"]
    };
    let (constrained, free) = (defect(Parametrisation::Constrained), defect(Parametrisation::Free));
    assert!(constrained < 300.0 * f64::from(f32::EPSILON) && free > 0.05, "{constrained} {free}");
}

#[test]
fn a_stopped_run_of_every_parametrisation_goes_on_to_the_same_bytes() {
    for kind in [Parametrisation::Free, Parametrisation::Constrained, Parametrisation::Residual] {
        let root = tempfile::tempdir().unwrap();
        let mut config = config(kind);
        if kind == Parametrisation::Residual {
            config.train.parametrisation.lambda_residual = 0.01;
        }
        let whole = root.path().join("whole");
        trained(&config, &whole);
        let stopped = root.path().join("stopped");
        let interrupt = Interrupt::new();
        let mut observer = StopAfter(5, interrupt.clone());
        let folder = OutputFolder::Exactly(stopped.clone());
        let outcome = run(&So2::new(), &config, &folder, session(&mut observer, &interrupt)).unwrap();
        assert!(matches!(outcome, Outcome::Interrupted { .. }));
        resume(&So2::new(), &stopped, session(&mut Silent, &Interrupt::new())).unwrap();
        assert_eq!(tensors(&whole), tensors(&stopped), "{kind:?}");
    }
}

#[test]
fn a_network_with_nothing_to_hold_against_a_group_cannot_be_constrained() {
    let root = tempfile::tempdir().unwrap();
    let mut config = config(Parametrisation::Constrained);
    config.settings.model.network = reynolds_paper::so2::Network::Mlp;
    let folder = OutputFolder::Exactly(root.path().join("run"));
    let error = run(&So2::new(), &config, &folder, session(&mut Silent, &Interrupt::new())).unwrap_err().to_string();
    assert!(error.contains("train.parametrisation.kind"), "{error}");
}
