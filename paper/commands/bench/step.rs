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
    /// Minibatch size (data.batch); may be repeated, one row each
    #[arg(long, value_name = "N")]
    batch: Vec<String>,
    /// Interleaved step pairs (with/without penalty) for the overhead estimate; 0 = off. Uses the penalty of the settings, or λ_⊥ = 1
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = whole(0..=1_000_000))]
    pairs: usize,
    /// Number of timed steps
    #[arg(long, value_name = "K", default_value_t = 50, value_parser = whole(1..=1_000_000))]
    steps: usize,
    /// Number of steps before the timed ones
    #[arg(long, value_name = "W", default_value_t = 5, value_parser = whole(0..=1_000_000))]
    warmup: usize,
    /// Device for tensors: cpu or cuda:N
    #[arg(long, value_name = "DEVICE", default_value = "cpu", value_parser = device::parse)]
    device: Device,
    /// Print one JSON object per row
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &StepArgs) -> Result<ExitCode> {
    let steps = steps(args)?;
    // libtorch gives no memory back, so on a device every row is measured in a process of its own.
    let here = args.device == Device::Cpu || steps.len() == 1;
    let launcher = Launcher::this_program()?;
    // A signal ends a measurement in this process at once.
    let interrupt = if here { Interrupt::new() } else { Interrupt::on_signal() };
    let measured = |step: &dyn AnyStep| -> Result<Option<Trained>> {
        if here {
            return Ok(Some(step.measure(args.device)?));
        }
        Ok(step.in_a_child(&launcher, args.device, &interrupt)?)
    };
    if !args.json {
        terminal::print(HEAD)?;
    }
    let mut code = ExitCode::SUCCESS;
    for step in &steps {
        match measured(step.as_ref()) {
            Ok(Some(measured)) => print(args.json, &step.row(args.device, &measured), text)?,
            Ok(None) => return Ok(ExitCode::from(INTERRUPTED)),
            Err(error) if here => return Err(error),
            // A row that does not fit on the device does not end the others.
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

/// The head of the table. Its words are as wide as their columns, which are printed row by row.
const HEAD: &str =
    "experiment batch type   train ms  samples/s   infer ms  samples/s memory MiB  build ms   bind ms  parameters\n";

fn text(row: &StepRow) -> String {
    let memory = row.peak_memory_mib.map_or("-".into(), |memory| format!("{memory:.0}"));
    let mut text = format!("{:>10} {:>5} {:>4}", row.experiment, row.batch, row.precision);
    text += &format!(" {:>10.3} {:>10.2}", row.train_ms, row.train_samples_per_s);
    text += &format!(" {:>10.3} {:>10.2}", row.inference_ms, row.inference_samples_per_s);
    text += &format!(" {memory:>10} {:>9.1} {:>9.1} {:>11}\n", row.build_ms, row.bind_ms, row.parameters);
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
