//! `reynolds bench medmnist`: steps of the networks that tell volumes apart, one row a combination of what was repeated.

use std::process::ExitCode;

use anyhow::{Context, Result};
use reynolds_bench::DeviceMemory;
use reynolds_paper::medmnist::{MedBench, MedBenchRow};
use reynolds_train::command_line::say;
use reynolds_torch::device;

use super::bench::{added, in_a_process, named};
use crate::args::MedBenchArgs;
use reynolds_report::terminal;

pub(crate) fn run(args: &MedBenchArgs) -> Result<ExitCode> {
    let rows = rows(args)?;
    if !args.json {
        terminal::print(&head())?;
    }
    // libtorch gives no memory back, and what was built once is built faster: on a device every row has a process of its own.
    if args.device == "cpu" || rows.len() == 1 {
        for (row, _) in &rows {
            terminal::print(&measured(row, args)?)?;
        }
        return Ok(ExitCode::SUCCESS);
    }
    let mut code = ExitCode::SUCCESS;
    for (_, options) in &rows {
        // What does not fit on the device leaves the other rows.
        match in_a_process("medmnist", options, &head(), args.json) {
            Ok(text) => terminal::print(&text)?,
            Err(error) => {
                say(&format!("{error:#}"));
                code = ExitCode::from(1);
            }
        }
    }
    Ok(code)
}

/// Every combination, models outermost, each with the options that ask for it alone.
fn rows(args: &MedBenchArgs) -> Result<Vec<(MedBench, Vec<String>)>> {
    let size = |value: u64| usize::try_from(value).context("a size that does not fit");
    let mut rows = Vec::new();
    for model in &args.model {
        for group in &args.group {
            for precision in &args.precision {
                for &batch in &args.batch {
                    let row = MedBench {
                        architecture: named("--model", model)?,
                        group: named("--group", group)?,
                        width: size(args.width)?,
                        nonlinearity: named("--nonlinearity", &args.nonlinearity)?,
                        classes: size(args.classes)?,
                        batch: size(batch)?,
                        precision: named("--precision", precision)?,
                        without_penalty: args.without_penalty,
                        steps: size(args.steps)?,
                        warmup: size(args.warmup)?,
                        pairs: size(args.pairs)?,
                    };
                    let options = [
                        ("model", model.clone()),
                        ("group", group.clone()),
                        ("precision", precision.clone()),
                        ("nonlinearity", args.nonlinearity.clone()),
                        ("device", args.device.clone()),
                        ("batch", batch.to_string()),
                        ("width", args.width.to_string()),
                        ("classes", args.classes.to_string()),
                        ("steps", args.steps.to_string()),
                        ("warmup", args.warmup.to_string()),
                        ("pairs", args.pairs.to_string()),
                    ];
                    let options = options.into_iter().flat_map(|(key, value)| [format!("--{key}"), value]);
                    let penalty = args.without_penalty.then(|| "--without-penalty".to_owned());
                    rows.push((row, options.chain(penalty).collect()));
                }
            }
        }
    }
    Ok(rows)
}

fn measured(row: &MedBench, args: &MedBenchArgs) -> Result<String> {
    // Counted from before the device is touched.
    let number = args.device.strip_prefix("cuda:").and_then(|number| number.parse().ok());
    let memory = number.and_then(DeviceMemory::begin);
    let row = row.measure(device::parse(&args.device)?, memory.as_ref())?;
    Ok(if args.json { serde_json::to_string(&row)? + "\n" } else { line(&row) })
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
