//! The 16 models of the SO(2) grid of penalties:
//! `cargo bench -p reynolds-paper --bench so2 -- [--threads n] [--epochs n] [--form literal|collapsed] [--without-penalty]`.
//!
//! Each model is trained by one thread, in the training loop of `reynolds run` without a folder, and all threads train in parallel. Points
//! and initial weights are made before the clock runs, as in peers/so2.py; projectors are not. `literal` applies the two complex layers one
//! after the other, `collapsed` multiplies their matrices first; without `--form` both are timed. Prints a line for people and one in JSON,
//! whose mean test accuracy and task loss must agree with peers/so2.py.

#![allow(clippy::print_stdout, clippy::unwrap_used, reason = "a benchmark prints, and stops at the first surprise")]

use std::sync::Barrier;
use std::time::Instant;

use reynolds_paper::so2::networks::Form;
use reynolds_paper::so2::{DiskAndArc, PlaneExperiment, PlaneSettings};
use reynolds_torch::tch::Device;
use reynolds_train::config::RunConfig;
use reynolds_train::experiment::Experiment;
use reynolds_train::interrupt::Interrupt;
use reynolds_train::journal::Memory;
use reynolds_train::progress::Silent;
use reynolds_train::task::Task;
use reynolds_train::threads;
use reynolds_train::train::{Ending, train};

const STRENGTHS: [f64; 4] = [0.0, 0.001, 0.01, 0.1];

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let option = |name: &str| {
        let place = arguments.iter().position(|argument| argument == name)?;
        Some(arguments.get(place + 1).unwrap_or_else(|| panic!("{name}: expected a value, found none")).as_str())
    };
    let count = |name: &str, default: usize| option(name).map_or(default, |text| text.parse().unwrap());
    let (workers, epochs) = (count("--threads", threads::resolve(0)), count("--epochs", 200));
    let without = arguments.iter().any(|argument| argument == "--without-penalty");
    let strengths = if without { [0.0; 4] } else { STRENGTHS };
    let forms = match option("--form") {
        None => vec![("literal", Form::Literal), ("collapsed", Form::Collapsed)],
        Some("literal") => vec![("literal", Form::Literal)],
        Some("collapsed") => vec![("collapsed", Form::Collapsed)],
        Some(other) => panic!("--form: expected literal or collapsed, found {other}"),
    };
    for (name, form) in forms {
        all(&[config(form, 5, 0.1, 0.1)], 1);
        let grid: Vec<_> =
            strengths.iter().flat_map(|&g| strengths.map(|perp| config(form, epochs, g, perp))).collect();
        let (results, seconds) = all(&grid, workers);
        let mean = |which: fn(&(f64, f64)) -> f64| results.iter().map(which).sum::<f64>() / results.len() as f64;
        let (accuracy, loss) = (mean(|result| result.0), mean(|result| result.1));
        let rate = grid.len() as f64 / seconds;
        let penalty = if without { ", without the penalty" } else { "" };
        let row = format!("reynolds: SO(2) grid of 16 models, {name}{penalty}, {workers} threads, {epochs} epochs");
        println!("{row:<75} {seconds:>10.2} s");
        println!("{rate:.2} models/s, test accuracy {accuracy:.3}, task loss {loss:.4}");
        let versions = env!("CARGO_PKG_VERSION");
        println!(
            "{{\"row\": \"{row}\", \"seconds\": {seconds}, \"models_per_second\": {rate}, \"accuracy\": {accuracy}, \"loss\": {loss}, \
             \"versions\": {{\"reynolds\": \"{versions}\"}}}}"
        );
    }
}

fn config(form: Form, epochs: usize, lambda_g: f64, lambda_perp: f64) -> RunConfig<PlaneSettings<DiskAndArc>> {
    let mut config = PlaneExperiment::<DiskAndArc>::new().defaults();
    // The peer measures no defect.
    config.settings.data.turns = 1;
    config.settings.model.so2.form = form;
    (config.penalty.lambda_g, config.penalty.lambda_perp) = (lambda_g, lambda_perp);
    (config.train.epochs, config.train.evaluate_every) = (epochs, epochs);
    config
}

/// Trains all models on `workers` threads: the test accuracy and final task loss of each, and the seconds of all training.
fn all(grid: &[RunConfig<PlaneSettings<DiskAndArc>>], workers: usize) -> (Vec<(f64, f64)>, f64) {
    let ready = Barrier::new(workers + 1);
    let work = |worker: usize| {
        threads::set(1);
        let mine = grid.iter().skip(worker).step_by(workers);
        let tasks: Vec<_> =
            mine.map(|config| (config, PlaneExperiment::new().task(config, Device::Cpu).unwrap())).collect();
        ready.wait();
        tasks.into_iter().map(|(config, mut task)| trained(config, &mut task)).collect::<Vec<_>>()
    };
    std::thread::scope(|scope| {
        let work = &work;
        let workers: Vec<_> = (0..workers).map(|worker| scope.spawn(move || work(worker))).collect();
        ready.wait();
        let start = Instant::now();
        let results = workers.into_iter().flat_map(|worker| worker.join().unwrap()).collect();
        (results, start.elapsed().as_secs_f64())
    })
}

fn trained(config: &RunConfig<PlaneSettings<DiskAndArc>>, task: &mut impl Task) -> (f64, f64) {
    let mut journal = Memory::default();
    let ending = train(task, &config.train, &config.penalty, &mut journal, &mut Silent, &Interrupt::new()).unwrap();
    let Ending::Finished(summary) = ending else { panic!("nobody interrupts a benchmark") };
    (summary.metrics()["test/accuracy"], journal.records.last().unwrap().values["train/loss"])
}
