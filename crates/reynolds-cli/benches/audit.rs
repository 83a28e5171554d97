//! `reynolds audit` of 100 million single-precision weights under C4, against summing the same file: `cargo bench -p reynolds-cli`.
//!
//! Each is a process of its own that maps the file, which lies in the page cache, and both use the same number of threads.

#![allow(clippy::print_stdout, clippy::unwrap_used, reason = "a benchmark prints, and stops at the first surprise")]

use std::hint::black_box;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use rayon::prelude::*;
use reynolds::random::Random;
use reynolds_checkpoint::{Checkpoint, Values};
use reynolds_testkit::files::singles;

const LAYERS: usize = 42;
const SHAPE: [usize; 4] = [512, 512, 3, 3];
const ROUNDS: usize = 15;

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    if let [_, flag, path] = &arguments[..]
        && flag == "--sum"
    {
        return sum(Path::new(path));
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.safetensors");
    std::fs::write(&path, model()).unwrap();
    let audit = |fields: &str| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_reynolds"));
        command.arg("audit").arg(&path).args(["--group", "C4", "--fields", fields, "--json"]).stdout(Stdio::null());
        assert!(command.status().unwrap().success());
    };
    let summed = || {
        let this = std::env::current_exe().unwrap();
        assert!(Command::new(this).arg("--sum").arg(&path).status().unwrap().success());
    };
    let mut least = [f64::INFINITY; 3];
    for round in 0..=ROUNDS {
        let times = [seconds(summed), seconds(|| audit("trivial")), seconds(|| audit("regular"))];
        if round > 0 {
            // What the work itself takes: other programs on the machine can only add to it.
            least.iter_mut().zip(times).for_each(|(least, time)| *least = least.min(time));
        }
    }
    let weights = LAYERS * SHAPE.iter().product::<usize>();
    let threads = rayon::current_num_threads();
    println!("audit of {weights} f32 weights under C4, {threads} threads, the least of {ROUNDS} interleaved runs");
    let [base, trivial, regular] = least;
    println!("  sum of the file            {:8.1} ms", base * 1e3);
    for (name, time) in [("trivial", trivial), ("regular", regular)] {
        let ratio = time / base;
        let verdict = if ratio <= 3.0 { "ok" } else { "SHORT" };
        println!("  audit, {name} fields      {:8.1} ms   {ratio:5.2} x the sum (at most 3: {verdict})", time * 1e3);
    }
}

/// Layers of random weights.
fn model() -> Vec<u8> {
    let mut random = Random::new(1);
    let mut draw = || (0..SHAPE.iter().product()).map(|_| random.uniform() as f32 - 0.5).collect();
    let names: Vec<String> = (0..LAYERS).map(|n| format!("layer{n}.weight")).collect();
    singles(&names.iter().map(|name| (name.as_str(), &SHAPE[..], draw())).collect::<Vec<_>>())
}

/// Σw over the whole file, in lanes, on all threads.
fn sum(path: &Path) {
    let checkpoint = Checkpoint::open(path).unwrap();
    let total: f32 = checkpoint
        .entries()
        .par_iter()
        .map(|entry| match checkpoint.read(entry).unwrap() {
            Values::F32(values) => values.par_chunks(1 << 16).map(lanes).sum::<f32>(),
            Values::F64(_) => 0.0,
        })
        .sum();
    black_box(total);
}

fn lanes(values: &[f32]) -> f32 {
    let mut sums = [0.0_f32; 16];
    let (chunks, rest) = values.as_chunks::<16>();
    for chunk in chunks {
        sums.iter_mut().zip(chunk).for_each(|(sum, value)| *sum += value);
    }
    sums.iter().sum::<f32>() + rest.iter().sum::<f32>()
}

fn seconds(work: impl FnOnce()) -> f64 {
    let start = Instant::now();
    work();
    start.elapsed().as_secs_f64()
}
