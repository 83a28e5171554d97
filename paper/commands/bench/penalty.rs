//! `reynolds bench penalty`: what the penalty costs by itself, and beside what.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, Result, ensure};
use clap::Args;
use reynolds_bench::{AddedToStep, Convolutions, DecoupledRow, PenaltyBench, PenaltyBenchRow};
use reynolds_torch::device;
use reynolds_torch::tch::{self, Device};

use super::{not_over_input, print, whole};

#[derive(Debug, Args)]
pub(crate) struct PenaltyArgs {
    /// Number of convolutions
    #[arg(long, value_name = "N", default_value_t = 72, value_parser = whole(1..=1_000_000))]
    layers: usize,
    /// Approximate total number of weights, instead of --layers: 1e6
    #[arg(long, value_name = "N", conflicts_with_all = ["layers", "weights_file"])]
    weights: Option<f64>,
    /// An .npz with the array `weights` [layers, channels, channels, kernel, kernel] instead of random ones
    #[arg(long, value_name = "FILE", conflicts_with_all = ["layers", "channels", "kernel"])]
    weights_file: Option<PathBuf>,
    /// Write the gradient of the squared penalty to this .npz, as `gradient`
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Group of the plane; channels are its regular fields: C4 D4 C8 …
    #[arg(long, value_name = "G", default_value = "C4")]
    group: String,
    /// Channels of each convolution, in and out
    #[arg(long, value_name = "C", default_value_t = 36, value_parser = whole(1..=4096))]
    channels: usize,
    /// Side of a kernel in pixels
    #[arg(long, value_name = "K", default_value_t = 5, value_parser = whole(1..=63))]
    kernel: usize,
    /// Number of timed calls, in ten groups
    #[arg(long, value_name = "R", default_value_t = 50, value_parser = whole(1..=1_000_000))]
    repeats: usize,
    /// Interleaved step pairs (with/without penalty) of a network of these convolutions; 0 = off
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = whole(0..=1_000_000))]
    pairs: usize,
    /// Minibatch of that network, in images
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = whole(1..=4096))]
    batch: usize,
    /// Side of those images in pixels
    #[arg(long, value_name = "S", default_value_t = 256, value_parser = whole(1..=4096))]
    side: usize,
    /// CPU threads; 0 = libtorch chooses
    #[arg(long, value_name = "T", default_value_t = 0, value_parser = whole(0..=4096))]
    threads: usize,
    /// Device for tensors: cpu or cuda:N
    #[arg(long, value_name = "DEVICE", default_value = "cpu", value_parser = device::parse)]
    device: Device,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &PenaltyArgs) -> Result<ExitCode> {
    if args.threads > 0 {
        tch::set_num_threads(i32::try_from(args.threads)?);
    }
    not_over_input(("--weights-file", args.weights_file.as_deref()), args.out.as_deref())?;
    let row = bench(args)?.measure(args.device, args.out.as_deref())?;
    print(args.json, &row, text)?;
    Ok(ExitCode::SUCCESS)
}

fn bench(args: &PenaltyArgs) -> Result<PenaltyBench> {
    let mut bench = PenaltyBench {
        group: args.group.clone(),
        layers: args.layers,
        channels: args.channels,
        kernel: args.kernel,
        weights: None,
        repeats: args.repeats,
        network: (args.pairs > 0).then_some(Convolutions { batch: args.batch, side: args.side, pairs: args.pairs }),
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
    row.decoupled.iter().for_each(|step| text += &decoupled(step));
    row.network.iter().flatten().for_each(|step| text += &added(step));
    text
}

fn decoupled(row: &DecoupledRow) -> String {
    let name = format!("decoupled step, {}", row.step);
    let (bytes, floor, moved) = (row.floor_bytes, row.seconds / row.floor_seconds, row.bytes_at_copy_speed);
    let launches = row.launches.map(|count| format!(", {count} launches")).unwrap_or_default();
    let operations = row
        .operations_seconds
        .map(|seconds| format!(", {:.2} of {:.3} ms by plain operations", row.seconds / seconds, 1e3 * seconds));
    format!(
        "  {name:<28} {:>12.3} ms {floor:>8.2} floors of {bytes} bytes, {moved:.1} bytes a weight at the speed of a copy{launches}{}\n",
        1e3 * row.seconds,
        operations.unwrap_or_default()
    )
}

fn added(step: &AddedToStep) -> String {
    let verdict = match step.added {
        "squared" | "plain" => format!(", {}", step.paired.verdict()),
        _ => String::new(),
    };
    let (batch, side, added, text) = (step.batch, step.side, step.added, step.paired.text());
    format!("  a step, batch {batch}, {side}x{side}: {added:<8} {text}{verdict}\n")
}
