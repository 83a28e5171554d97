//! Runs from beginning to end, and runs that are stopped on the way.

use std::path::Path;

use reynolds_torch::tch::Device;
use reynolds_train::config::RunConfig;
use reynolds_train::experiment::Experiment;
use reynolds_train::interrupt::Interrupt;
use reynolds_train::metrics::Summary;
use reynolds_train::progress::{Observer, Silent};
use reynolds_train::run::{Outcome, OutputFolder, Session, resume, run};

pub(crate) fn session<'a>(observer: &'a mut dyn Observer, interrupt: &Interrupt) -> Session<'a> {
    Session { device: Device::Cpu, interrupt: interrupt.clone(), observer }
}

pub(crate) fn finished<E: Experiment>(experiment: &E, config: &RunConfig<E::Settings>, folder: &Path) -> Summary {
    let folder = OutputFolder::Exactly(folder.into());
    let outcome = run(experiment, config, &folder, session(&mut Silent, &Interrupt::new())).unwrap();
    let Outcome::Finished { summary, .. } = outcome else { panic!("{outcome:?}") };
    summary
}

/// The tensors of a checkpoint, without the header, which names lengths of files with wall-clock times.
pub(crate) fn weights(folder: &Path) -> Vec<u8> {
    let bytes = std::fs::read(folder.join("checkpoints/last.safetensors")).unwrap();
    let header = u64::from_le_bytes(bytes[..8].try_into().unwrap()) as usize;
    bytes[8 + header..].to_vec()
}

/// Asks for a stop after so many steps.
struct Stop(usize, Interrupt);

impl Observer for Stop {
    fn step(&mut self, done: usize, _: Option<f64>) {
        if done == self.0 {
            self.1.request();
        }
    }
}

/// A run in `folder` that is stopped after so many steps and resumed leaves what the `whole` one did.
pub(crate) fn assert_resumes<E: Experiment>(
    experiment: &E,
    config: &RunConfig<E::Settings>,
    whole: &Path,
    folder: &Path,
    stop: usize,
) {
    let interrupt = Interrupt::new();
    let place = OutputFolder::Exactly(folder.into());
    let outcome = run(experiment, config, &place, session(&mut Stop(stop, interrupt.clone()), &interrupt)).unwrap();
    assert!(matches!(outcome, Outcome::Interrupted { .. }), "{outcome:?}");
    let outcome = resume(experiment, folder, session(&mut Silent, &Interrupt::new())).unwrap();
    assert!(matches!(outcome, Outcome::Finished { .. }), "{outcome:?}");
    assert!(weights(folder) == weights(whole), "stopped after {stop}");
    for file in ["metrics.jsonl", "summary.json"] {
        assert_eq!(std::fs::read(folder.join(file)).unwrap(), std::fs::read(whole.join(file)).unwrap());
    }
}
