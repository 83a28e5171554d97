//! `reynolds bench penalty`: what the penalty costs by itself, and beside what.

use std::process::ExitCode;

use anyhow::{Context, Result, ensure};
use reynolds_bench::{AddedToStep, Convolutions, PenaltyBench, PenaltyBenchRow};
use reynolds_torch::{device, tch};

use super::bench_options::not_over_input;
use crate::args::PenaltyBenchArgs;
use reynolds_report::terminal;

pub(crate) fn run(args: &PenaltyBenchArgs) -> Result<ExitCode> {
    if args.threads > 0 {
        tch::set_num_threads(i32::try_from(args.threads)?);
    }
    not_over_input(("--weights-file", args.weights_file.as_deref()), args.out.as_deref())?;
    let row = bench(args)?.measure(device::parse(&args.device)?, args.out.as_deref())?;
    terminal::print(&if args.json { serde_json::to_string(&row)? + "\n" } else { text(&row) })?;
    Ok(ExitCode::SUCCESS)
}

fn bench(args: &PenaltyBenchArgs) -> Result<PenaltyBench> {
    let size = |value: u64| usize::try_from(value).context("a size that does not fit");
    let network = Convolutions { batch: size(args.batch)?, side: size(args.side)?, pairs: size(args.pairs)? };
    let mut bench = PenaltyBench {
        group: args.group.clone(),
        layers: size(args.layers)?,
        channels: size(args.channels)?,
        kernel: size(args.kernel)?,
        weights: None,
        repeats: size(args.repeats)?,
        network: (args.pairs > 0).then_some(network),
    };
    if let Some(path) = &args.weights_file {
        return bench.with_weights(path).context("--weights-file");
    }
    if let Some(weights) = args.weights {
        ensure!((1.0..=1e9).contains(&weights), "--weights: expected 1 to 1e9, found {weights}");
        bench.layers = ((weights / bench.layer_weights() as f64).round() as usize).max(1);
    }
    Ok(bench)
}

fn text(row: &PenaltyBenchRow) -> String {
    let mut text = format!(
        "{} convolutions {c}x{c}x{k}x{k}, {} regular, {} weights, {}, {} threads; bound in {:.3} s, P takes {} operations{}\n",
        row.layers,
        row.group,
        row.weights,
        row.device,
        row.threads,
        row.bind_seconds,
        row.operations,
        if row.one_pass { ", the squared penalty one pass" } else { "" },
        c = row.channels,
        k = row.kernel
    );
    let lines = [
        ("gradient, squared", row.seconds),
        ("gradient and value, squared", row.with_value),
        ("gradient, plain", row.plain_seconds),
        ("a step of Adam", row.adam_seconds),
        ("what squared adds to it", 1e-6 * row.beside_adam.added_us),
        ("floor: 12 bytes a weight", row.floor_seconds),
        ("floor: 16, with an index", row.indexed_floor_seconds),
    ];
    for (name, seconds) in lines {
        text += &format!("  {name:<28} {:>12.3} ms {:>8.2} floors\n", 1e3 * seconds, seconds / row.floor_seconds);
    }
    row.network.iter().flatten().for_each(|step| text += &added(step));
    text
}

/// The bar is on the upper limit: at most max(0.5 % of the step, 100 µs).
fn added(step: &AddedToStep) -> String {
    let paired = &step.paired;
    let bar = (0.005 * paired.without_us).max(100.0);
    let verdict = match step.added {
        "squared" | "plain" if paired.high_us <= bar => ", within the bar",
        "squared" | "plain" if paired.low_us > bar => ", OVER the bar",
        "squared" | "plain" => ", undecided: too much noise",
        _ => "",
    };
    format!(
        "  a step, batch {}, {s}x{s}: {:<8} {:+.1} us [{:.1}, {:.1}] on {:.2} ms, {:+.2} %, {} pairs{verdict}\n",
        step.batch,
        step.added,
        paired.added_us,
        paired.low_us,
        paired.high_us,
        paired.without_us / 1e3,
        100.0 * paired.added_us / paired.without_us,
        paired.pairs,
        s = step.side
    )
}
