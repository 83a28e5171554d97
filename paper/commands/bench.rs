//! `reynolds bench ct`: steps of the CT networks, one row a combination of what was repeated.

use std::process::{Command, ExitCode, Stdio};

use anyhow::{Context, Result, bail, ensure};
use reynolds_bench::{DeviceMemory, Paired};
use reynolds_paper::ct::{CtBench, CtBenchRow};
use reynolds_train::command_line::say;
use reynolds_torch::device;
use serde::Deserialize;
use serde::de::value::{BorrowedStrDeserializer, Error as NameError};

use crate::args::CtBenchArgs;
use reynolds_report::terminal;

pub(crate) fn run(args: &CtBenchArgs) -> Result<ExitCode> {
    let rows = rows(args)?;
    if !args.json {
        terminal::print(&head())?;
    }
    // libtorch gives no memory back: on a device every row has a process of its own, so that it has a peak of its own.
    if args.device == "cpu" || rows.len() == 1 {
        for row in &rows {
            terminal::print(&measured(row, args)?)?;
        }
        return Ok(ExitCode::SUCCESS);
    }
    let mut code = ExitCode::SUCCESS;
    for row in &rows {
        // What does not fit on the device leaves the other rows.
        match in_a_process("ct", &options(row, args), &head(), args.json) {
            Ok(text) => terminal::print(&text)?,
            Err(error) => {
                say(&format!("{error:#}"));
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
                    rows.push(CtBench {
                        architecture: named("--architecture", architecture)?,
                        stages: size(args.stages)?,
                        blocks: size(args.blocks)?,
                        mode: named("--mode", mode)?,
                        norm,
                        batch: size(batch)?,
                        side: size(args.side)?,
                        precision: named("--precision", precision)?,
                        steps: size(args.steps)?,
                        warmup: size(args.warmup)?,
                        pairs: size(args.pairs)?,
                    });
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

fn measured(row: &CtBench, args: &CtBenchArgs) -> Result<String> {
    // Counted from before the device is touched.
    let number = args.device.strip_prefix("cuda:").and_then(|number| number.parse().ok());
    let memory = number.and_then(DeviceMemory::begin);
    let row = row.measure(device::parse(&args.device)?, memory.as_ref())?;
    Ok(if args.json { serde_json::to_string(&row)? + "\n" } else { line(&row) })
}

fn options(row: &CtBench, args: &CtBenchArgs) -> Vec<String> {
    let texts = [
        ("architecture", format!("{:?}", row.architecture).to_lowercase()),
        ("mode", row.mode.name().to_string()),
        ("precision", row.precision.name().to_string()),
        ("norm", args.norm.clone()),
        ("device", args.device.clone()),
    ];
    let numbers = [
        ("batch", row.batch),
        ("side", row.side),
        ("stages", row.stages),
        ("blocks", row.blocks),
        ("steps", row.steps),
        ("warmup", row.warmup),
        ("pairs", row.pairs),
    ];
    let all = texts.into_iter().chain(numbers.map(|(key, value)| (key, value.to_string())));
    all.flat_map(|(key, value)| [format!("--{key}"), value]).collect()
}

/// One row of `reynolds bench WHAT`, measured by this program started again.
pub(crate) fn in_a_process(what: &str, options: &[String], head: &str, json: bool) -> Result<String> {
    let program = std::env::current_exe().context("cannot find this program")?;
    let mut command = Command::new(program);
    command.args(["bench", what]).args(options);
    if json {
        command.arg("--json");
    }
    let output = command.stderr(Stdio::inherit()).output().context("cannot start this program again")?;
    ensure!(output.status.success(), "a row failed: {}", output.status);
    let text = String::from_utf8(output.stdout).context("expected text of a row")?;
    // The row alone, without the head.
    match text.lines().last() {
        Some(line) if json => Ok(format!("{line}\n")),
        Some(_) => Ok(text.strip_prefix(head).unwrap_or(&text).into()),
        None => bail!("expected a row, found nothing"),
    }
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
