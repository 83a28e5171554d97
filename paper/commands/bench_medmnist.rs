//! `reynolds bench medmnist`: steps of the networks that tell volumes apart, one row a combination of what was repeated.

use std::process::ExitCode;

use anyhow::{Context, Result};
use reynolds_paper::medmnist::networks::Nonlinearity;
use reynolds_paper::medmnist::{MedBench, MedBenchRow, MedExperiment, Row};
use reynolds_paper::targets::Trained;
use reynolds_paper::targets::cost::{Cost, in_a_child};
use reynolds_torch::tch::Device;
use reynolds_torch::{Precision, device};
use reynolds_train::command_line::{INTERRUPTED, say};
use reynolds_train::experiment::Experiment;
use reynolds_train::interrupt::Interrupt;
use reynolds_train::sweep::Launcher;

use super::bench::{added, named};
use crate::args::MedBenchArgs;
use reynolds_report::terminal;

pub(crate) fn run(args: &MedBenchArgs) -> Result<ExitCode> {
    let rows = rows(args)?;
    let (device, launcher) = (device::parse(&args.device)?, Launcher::this_program()?);
    // libtorch gives no memory back, and what was built once is built faster: on a device every row has a process of its own.
    let here = device == Device::Cpu || rows.len() == 1;
    // A measurement in this process is ended by the signal itself.
    let interrupt = if here { Interrupt::new() } else { Interrupt::on_signal() };
    let measured = |row: &MedBench| -> Result<Option<Trained>> {
        if here {
            return Ok(Some(row.measure(device)?));
        }
        Ok(in_a_child(row, &launcher, device, &interrupt)?)
    };
    if !args.json {
        terminal::print(&head())?;
    }
    let mut code = ExitCode::SUCCESS;
    for row in &rows {
        match measured(row) {
            Ok(Some(trained)) => {
                let row = row.row(device, &trained);
                terminal::print(&if args.json { serde_json::to_string(&row)? + "\n" } else { line(&row) })?;
            }
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

/// Every combination, models outermost.
fn rows(args: &MedBenchArgs) -> Result<Vec<MedBench>> {
    let size = |value: u64| usize::try_from(value).context("a size that does not fit");
    let nonlinearity: Nonlinearity = named("--nonlinearity", &args.nonlinearity)?;
    let mut base = MedExperiment.defaults();
    base.settings.model.width = size(args.width)?;
    let mut rows = Vec::new();
    for model in &args.model {
        for group in &args.group {
            let row = Row { architecture: named("--model", model)?, group: named("--group", group)? };
            let mut run = row.run(&base, row.measured_strengths());
            run.settings.model.nonlinearity = nonlinearity;
            for precision in &args.precision {
                run.train.precision = named::<Precision>("--precision", precision)?;
                for &batch in &args.batch {
                    run.settings.data.batch = size(batch)?;
                    rows.push(MedBench {
                        classes: size(args.classes)?,
                        steps: size(args.steps)?,
                        warmup: size(args.warmup)?,
                        pairs: size(args.pairs)?,
                        without_penalty: args.without_penalty,
                        run: run.clone(),
                    });
                }
            }
        }
    }
    Ok(rows)
}

fn head() -> String {
    format!(
        "{:<6} {:<5} {:>5} {:<5} {:>10} {:>10} {:>10} {:>10} {:>10} {:>9} {:>9} {:>11}\n",
        "model",
        "group",
        "batch",
        "type",
        "train ms",
        "samples/s",
        "infer ms",
        "samples/s",
        "memory MiB",
        "build ms",
        "bind ms",
        "parameters"
    )
}

fn line(row: &MedBenchRow) -> String {
    let memory = row.peak_memory_mib.map_or("-".into(), |memory| format!("{memory:.0}"));
    let mut text = format!(
        "{:<6} {:<5} {:>5} {:<5} {:>10.3} {:>10.1} {:>10.3} {:>10.1} {memory:>10} {:>9.1} {:>9.1} {:>11}\n",
        format!("{:?}", row.model).to_lowercase(),
        row.group.name().to_lowercase(),
        row.batch,
        row.precision.name(),
        row.train_ms,
        row.train_samples_per_s,
        row.inference_ms,
        row.inference_samples_per_s,
        row.build_ms,
        row.bind_ms,
        row.parameters
    );
    if let Some(pairs) = &row.pairs {
        text += &added("frobenius", pairs);
    }
    text
}
