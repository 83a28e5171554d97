//! `reynolds audit` of 100 million single-precision weights under C4, against summing the same file: `cargo bench -p reynolds-cli`.
//!
//! Each is a process of its own that maps the file, which lies in the page cache, and both use the same number of threads.

#![allow(clippy::print_stdout, clippy::unwrap_used, reason = "a benchmark prints, and stops at the first surprise")]

use std::fs::File;
use std::hint::black_box;
use std::io::{BufWriter, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use rayon::prelude::*;
use reynolds::random::Random;
use reynolds_checkpoint::{Checkpoint, Values};

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
    write(&path);
    let audit = |fields: &str| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_reynolds"));
        command.arg("audit").arg(&path).args(["--group", "C4", "--fields", fields, "--json"]).stdout(Stdio::null());
        assert!(command.status().unwrap().success());
    };
    let summed = || {
        let this = std::env::current_exe().unwrap();
        assert!(Command::new(this).arg("--sum").arg(&path).status().unwrap().success());
    };
    let [mut sums, mut trivial, mut regular] = [const { Vec::new() }; 3];
    for round in 0..=ROUNDS {
        let times = [seconds(summed), seconds(|| audit("trivial")), seconds(|| audit("regular"))];
        if round > 0 {
            sums.push(times[0]);
            trivial.push(times[1]);
            regular.push(times[2]);
        }
    }
    let weights = LAYERS * SHAPE.iter().product::<usize>();
    let threads = rayon::current_num_threads();
    println!("audit of {weights} f32 weights under C4, {threads} threads, the least of {ROUNDS} interleaved runs");
    let base = least(&sums);
    println!("  sum of the file            {:8.1} ms", base * 1e3);
    for (name, times) in [("trivial", &trivial), ("regular", &regular)] {
        let time = least(times);
        let ratio = time / base;
        let verdict = if ratio <= 3.0 { "ok" } else { "SHORT" };
        println!("  audit, {name} fields      {:8.1} ms   {ratio:5.2} x the sum (at most 3: {verdict})", time * 1e3);
    }
}

fn write(path: &Path) {
    let bytes = 4 * SHAPE.iter().product::<usize>();
    let entry = |n: usize| {
        let (start, end) = (n * bytes, (n + 1) * bytes);
        format!("\"layer{n}.weight\":{{\"dtype\":\"F32\",\"shape\":{SHAPE:?},\"data_offsets\":[{start},{end}]}}")
    };
    let mut header = format!("{{{}}}", (0..LAYERS).map(entry).collect::<Vec<_>>().join(","));
    header += &" ".repeat(8 - header.len() % 8);
    let mut file = BufWriter::new(File::create(path).unwrap());
    file.write_all(&(header.len() as u64).to_le_bytes()).unwrap();
    file.write_all(header.as_bytes()).unwrap();
    let mut random = Random::new(1);
    for _ in 0..LAYERS * bytes / 4 {
        file.write_all(&(random.uniform() as f32 - 0.5).to_le_bytes()).unwrap();
    }
    file.flush().unwrap();
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

/// What the work itself takes: other programs on the machine can only add to it.
fn least(times: &[f64]) -> f64 {
    times.iter().copied().fold(f64::INFINITY, f64::min)
}
