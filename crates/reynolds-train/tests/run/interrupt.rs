//! Signals, sent to this test program as a child.
#![cfg(unix)]

use std::path::Path;
use std::process::{Child, Command};
use std::time::Duration;

use reynolds_torch::tch::Device;
use reynolds_train::experiment::Experiment;
use reynolds_train::interrupt::Interrupt;
use reynolds_train::progress::Silent;
use reynolds_train::run::{Outcome, OutputFolder, run};
use rustix::process::{Pid, Signal, kill_process};

use crate::logistic::{Fault, Logistic, session};

const FOLDER: &str = "REYNOLDS_TEST_INTERRUPT";
const STUCK: &str = "REYNOLDS_TEST_STUCK";

/// The child process: trains for very long, or never finishes the first minibatch.
#[test]
#[ignore = "run by the tests of signals as a child"]
fn child() {
    let Ok(folder) = std::env::var(FOLDER) else { return };
    let fault = if std::env::var(STUCK).is_ok() { Fault::Stuck(0) } else { Fault::None };
    let mut config = Logistic::default().defaults();
    config.train.epochs = 1_000_000;
    config.train.checkpoint_every = 1_000_000;
    let interrupt = Interrupt::on_signal();
    std::fs::write(Path::new(&folder).join("ready"), "").unwrap();
    let folder = OutputFolder::Exactly(Path::new(&folder).join("run"));
    let outcome = run(&Logistic { fault }, &config, &folder, session(&mut Silent, Device::Cpu, &interrupt)).unwrap();
    std::process::exit(if matches!(outcome, Outcome::Interrupted { .. }) { 3 } else { 4 });
}

fn start(folder: &Path, stuck: bool) -> Child {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "interrupt::child", "--include-ignored"]).env(FOLDER, folder);
    command.stdout(std::process::Stdio::null());
    if stuck {
        command.env(STUCK, "1");
    }
    let child = command.spawn().unwrap();
    while !folder.join("ready").exists() {
        std::thread::sleep(Duration::from_millis(5));
    }
    child
}

fn send(child: &Child, signal: Signal) {
    kill_process(Pid::from_raw(child.id() as i32).unwrap(), signal).unwrap();
}

#[test]
fn a_signal_lets_the_step_finish_and_saves() {
    for signal in [Signal::INT, Signal::TERM] {
        let root = tempfile::tempdir().unwrap();
        let mut child = start(root.path(), false);
        send(&child, signal);
        assert_eq!(child.wait().unwrap().code(), Some(3));
        assert!(root.path().join("run/checkpoints/last.safetensors").is_file());
        assert!(!root.path().join("run/summary.json").exists());
    }
}

#[test]
fn a_second_signal_quits_at_once() {
    let root = tempfile::tempdir().unwrap();
    let mut child = start(root.path(), true);
    send(&child, Signal::INT);
    std::thread::sleep(Duration::from_millis(200));
    assert!(child.try_wait().unwrap().is_none(), "the first signal waits for the step");
    send(&child, Signal::INT);
    assert_eq!(child.wait().unwrap().code(), Some(130));
}
