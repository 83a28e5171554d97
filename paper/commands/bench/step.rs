//! `reynolds bench step`: steps of an experiment on random data, one row a minibatch.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use clap::Args;
use reynolds_paper::experiments;
use reynolds_paper::step::{AnyStep, Source, StepRow};
use reynolds_paper::targets::Trained;
use reynolds_report::terminal;
use reynolds_torch::device;
use reynolds_torch::tch::Device;
use reynolds_train::command_line::{INTERRUPTED, say};
use reynolds_train::config::Assignment;
use reynolds_train::interrupt::Interrupt;
use reynolds_train::sweep::Launcher;

use super::{print, whole};

#[derive(Debug, Args)]
pub(crate) struct StepArgs {
    /// Name of the experiment: so2, rings, smoke, ct or medmnist
    experiment: String,
    /// Settings in TOML; override the experiment's defaults
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// One setting, such as model.architecture=dicdnet; overrides the file; may be repeated
    #[arg(long, value_name = "KEY=VALUE")]
    set: Vec<String>,
    /// Samples of a minibatch: data.batch; may be repeated, one row each
    #[arg(long, value_name = "N")]
    batch: Vec<String>,
    /// Interleaved step pairs (with/without penalty) for the overhead estimate; 0 = off. The penalty is that of the settings, else λ_⊥ = 1
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = whole(0..=1_000_000))]
    pairs: usize,
    /// Timed steps, in ten groups
    #[arg(long, value_name = "K", default_value_t = 50, value_parser = whole(1..=1_000_000))]
    steps: usize,
    /// Steps before the timed ones
    #[arg(long, value_name = "W", default_value_t = 5, value_parser = whole(0..=1_000_000))]
    warmup: usize,
    /// Device for tensors: cpu or cuda:N
    #[arg(long, value_name = "DEVICE", default_value = "cpu", value_parser = device::parse)]
    device: Device,
    /// One JSON object a row
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &StepArgs) -> Result<ExitCode> {
    let steps = steps(args)?;
    // libtorch gives no memory back: on a device every row has a process of its own, so that it has a peak of its own.
    let here = args.device == Device::Cpu || steps.len() == 1;
    let launcher = Launcher::this_program()?;
    // A measurement in this process is ended by the signal itself.
    let interrupt = if here { Interrupt::new() } else { Interrupt::on_signal() };
    let measured = |step: &dyn AnyStep| -> Result<Option<Trained>> {
        if here {
            return Ok(Some(step.measure(args.device)?));
        }
        Ok(step.in_a_child(&launcher, args.device, &interrupt)?)
    };
    if !args.json {
        terminal::print(&head())?;
    }
    let mut code = ExitCode::SUCCESS;
    for step in &steps {
        match measured(step.as_ref()) {
            Ok(Some(measured)) => print(args.json, &step.row(args.device, &measured), text)?,
            Ok(None) => return Ok(ExitCode::from(INTERRUPTED)),
            Err(error) if here => return Err(error),
            // What does not fit on the device leaves the other rows.
            Err(error) => {
                say(&format!("{error:#}"));
                code = ExitCode::from(1);
            }
        }
    }
    Ok(code)
}

/// One for each minibatch: all settings are checked before the first is measured.
fn steps(args: &StepArgs) -> Result<Vec<Box<dyn AnyStep>>> {
    let mut assignments = args.set.iter().map(|text| text.parse()).collect::<Result<Vec<Assignment>, _>>()?;
    let counts = [args.steps, args.warmup, args.pairs];
    let step = |assignments: &[Assignment]| {
        experiments::step(&args.experiment, &Source::Given { file: args.config.as_deref(), assignments, counts })
    };
    if args.batch.is_empty() {
        return Ok(vec![step(&assignments)?]);
    }
    let mut steps = Vec::new();
    for batch in &args.batch {
        assignments.push(Assignment::new("data.batch", batch).given_with("--batch"));
        steps.push(step(&assignments)?);
        assignments.pop();
    }
    Ok(steps)
}

/// The columns: head, width.
const COLUMNS: [(&str, usize); 11] = [
    ("experiment", 10),
    ("batch", 5),
    ("type", 4),
    ("train ms", 10),
    ("samples/s", 10),
    ("infer ms", 10),
    ("samples/s", 10),
    ("memory MiB", 10),
    ("build ms", 9),
    ("bind ms", 9),
    ("parameters", 11),
];

fn line(cells: [&str; 11]) -> String {
    let padded = COLUMNS.iter().zip(cells).map(|(&(_, width), cell)| format!("{cell:>width$}"));
    padded.collect::<Vec<_>>().join(" ") + "\n"
}

fn head() -> String {
    line(COLUMNS.map(|(head, _)| head))
}

fn text(row: &StepRow) -> String {
    let memory = row.peak_memory_mib.map_or("-".into(), |memory| format!("{memory:.0}"));
    let [train, inference] = [row.train_ms, row.inference_ms].map(|ms| format!("{ms:.3}"));
    let rates = [row.train_samples_per_s, row.inference_samples_per_s].map(|rate| format!("{rate:.2}"));
    let [build, bind] = [row.build_ms, row.bind_ms].map(|ms| format!("{ms:.1}"));
    let (batch, parameters) = (row.batch.to_string(), row.parameters.to_string());
    let mut text = line([
        &row.experiment,
        &batch,
        row.precision,
        &train,
        &rates[0],
        &inference,
        &rates[1],
        &memory,
        &build,
        &bind,
        &parameters,
    ]);
    if !row.settings.is_empty() {
        let settings: Vec<String> = row.settings.iter().map(|(key, value)| format!("{key}={value}")).collect();
        text += &format!("  {}\n", settings.join(" "));
    }
    if let (Some(pairs), Some(alone)) = (&row.pairs, row.alone_us) {
        let (norm, verdict) = (&row.norm, pairs.verdict());
        text += &format!("  penalty ({norm}): {}, alone {alone:.1} us: {verdict}\n", pairs.text());
    }
    text
}
