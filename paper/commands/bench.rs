//! `reynolds bench ct`: steps of the CT networks, one row a combination of what was repeated.

use std::process::ExitCode;

use anyhow::{Context, Result};
use reynolds_bench::Paired;
use reynolds_paper::ct::networks::MarNetConfig;
use reynolds_paper::ct::{CtBench, CtBenchRow};
use reynolds_paper::targets::cost::{self, Cost};
use reynolds_torch::{device, tch::Device};
use reynolds_train::command_line::{INTERRUPTED, say};
use reynolds_train::interrupt::Interrupt;
use reynolds_train::sweep::Launcher;
use serde::Deserialize;
use serde::de::value::{BorrowedStrDeserializer, Error as NameError};

use crate::args::CtBenchArgs;
use reynolds_report::terminal;

pub(crate) fn run(args: &CtBenchArgs) -> Result<ExitCode> {
    let (rows, device) = (rows(args)?, device::parse(&args.device)?);
    if !args.json {
        terminal::print(&head())?;
    }
    let print = |row: &CtBench, measured| {
        let row = CtBenchRow::new(row, device, &measured);
        terminal::print(&if args.json { serde_json::to_string(&row)? + "\n" } else { line(&row) })?;
        anyhow::Ok(())
    };
    // libtorch gives no memory back: on a device every row has a process of its own, so that it has a peak of its own.
    if device == Device::Cpu || rows.len() == 1 {
        for row in &rows {
            print(row, row.measure(device)?)?;
        }
        return Ok(ExitCode::SUCCESS);
    }
    let (launcher, interrupt) = (Launcher::this_program()?, Interrupt::on_signal());
    let mut code = ExitCode::SUCCESS;
    for row in &rows {
        // What does not fit on the device leaves the other rows.
        match cost::in_a_child(row, &launcher, device, &interrupt) {
            Ok(Some(measured)) => print(row, measured)?,
            Ok(None) => return Ok(ExitCode::from(INTERRUPTED)),
            Err(error) => {
                say(&error.to_string());
                code = ExitCode::from(1);
            }
        }
    }
    Ok(code)
}

/// Every combination, architectures outermost.
fn rows(args: &CtBenchArgs) -> Result<Vec<CtBench>> {
    let size = |value: u64| usize::try_from(value).context("a size that does not fit");
    let norm = args.norm.parse().with_context(|| format!("--norm: {}", args.norm))?;
    let mut rows = Vec::new();
    for architecture in &args.architecture {
        for mode in &args.mode {
            for precision in &args.precision {
                for &batch in &args.batch {
                    let model = MarNetConfig {
                        architecture: named("--architecture", architecture)?,
                        stages: size(args.stages)?,
                        blocks: size(args.blocks)?,
                        ..MarNetConfig::default()
                    };
                    let mut row = CtBench::new(model, named("--mode", mode)?);
                    (row.steps, row.warmup, row.pairs) = (size(args.steps)?, size(args.warmup)?, size(args.pairs)?);
                    (row.run.settings.data.batch, row.run.settings.data.side) = (size(batch)?, size(args.side)?);
                    row.run.train.precision = named("--precision", precision)?;
                    row.run.penalty.norm = norm;
                    rows.push(row);
                }
            }
        }
    }
    Ok(rows)
}

/// A name as in settings.
pub(crate) fn named<'a, T: Deserialize<'a>>(option: &str, name: &'a str) -> Result<T> {
    let text: BorrowedStrDeserializer<'a, NameError> = BorrowedStrDeserializer::new(name);
    T::deserialize(text).with_context(|| format!("{option}: {name}"))
}

fn head() -> String {
    format!(
        "{:<9} {:<10} {:>5} {:>5} {:<5} {:>11} {:>10} {:>11} {:>10} {:>11} {:>11}\n",
        "network",
        "mode",
        "batch",
        "side",
        "type",
        "train ms",
        "images/s",
        "infer ms",
        "images/s",
        "memory MiB",
        "parameters"
    )
}

fn line(row: &CtBenchRow) -> String {
    let memory = row.peak_memory_mib.map_or("-".into(), |memory| format!("{memory:.0}"));
    let name = format!("{:?}", row.architecture).to_lowercase();
    let mut text = format!(
        "{name:<9} {:<10} {:>5} {:>5} {:<5} {:>11.3} {:>10.2} {:>11.3} {:>10.2} {memory:>11} {:>11}\n",
        row.mode.name(),
        row.batch,
        row.side,
        row.precision.name(),
        row.train_ms,
        row.train_images_per_s,
        row.inference_ms,
        row.inference_images_per_s,
        row.parameters
    );
    if let Some(pairs) = &row.pairs {
        text += &added(&row.norm, pairs);
    }
    text
}

/// What the projection penalty adds to a step.
pub(crate) fn added(norm: &str, pairs: &Paired) -> String {
    let share = 100.0 * pairs.added_us / pairs.without_us;
    format!(
        "  penalty ({norm}): {:+.1} us [{:.1}, {:.1}] on {:.2} ms, {share:+.2} %, {} pairs\n",
        pairs.added_us,
        pairs.low_us,
        pairs.high_us,
        pairs.without_us / 1e3,
        pairs.pairs
    )
}
