//! Projections beside copying the same bytes, as ratios within one run: `cargo bench -p reynolds-bench`. `make compare` measures what it takes
//! to derive projectors, and other programs.

#![allow(clippy::print_stdout, clippy::unwrap_used, reason = "a benchmark prints, and stops at the first surprise")]

use reynolds_bench::{Float, GridSize, ProjectionBench, ProjectionRow};

fn main() {
    println!("Medians of interleaved runs, one thread; ratios are what counts on a noisy machine.\n");
    c4_kernels();
    symmetric_group();
}

/// P between equal fields, on maps or on planar kernels of this side.
fn measured(group: &str, fields: &str, kernel: Option<usize>) -> ProjectionRow {
    let (domain, codomain) = (fields.into(), fields.into());
    let kernel = kernel.map(|side| GridSize { side, dimensions: 2 });
    let (band, precision, check) = (None, Float::F32, false);
    let bench = ProjectionBench {
        group: group.into(),
        domain,
        codomain,
        kernel,
        band,
        precision,
        repeats: 31,
        threads: 1,
        check,
    };
    bench.measure(None).unwrap().0
}

fn verdict(ratio: f64, limit: f64) -> String {
    format!("at most {limit}: {}", if ratio <= limit { "ok" } else { "SHORT" })
}

/// C4 on 5×5 kernels, 4 million weights and as many as stay in the cache: against copying the same bytes.
fn c4_kernels() {
    let [row, near] = ["100 regular", "9 regular"].map(|fields| measured("C4", fields, Some(5)));
    let (n, ratio) = (row.weights as f64, row.seconds / row.copy_seconds);
    println!("C4, kernels {:?} f32, {n} weights, {}", row.shape, row.form);
    println!(
        "  memcpy                     {:8.3} ms   {:5.1} GB/s",
        row.copy_seconds * 1e3,
        8e-9 * n / row.copy_seconds
    );
    println!(
        "  P(W) and both energies     {:8.3} ms   {ratio:5.2} x memcpy ({})",
        row.seconds * 1e3,
        verdict(ratio, 3.0)
    );
    let [each, cached] = [&row, &near].map(|row| row.seconds / row.weights as f64 * 1e9);
    println!("  {each:.2} ns a weight, {cached:.2} ns where the kernel stays in the cache: the rest is memory.");
    println!(
        "  Floor: 8 bytes a weight; 12 with the reads of scattered stores, which memcpy's streaming stores avoid.\n"
    );
}

/// Cost independent of |G|: S₃₂ on order-2 → order-2 tensors, against one transposition on the same weights.
fn symmetric_group() {
    let [full, swap] = ["S32", "<(0 1)>[32]"].map(|group| measured(group, "permutation^2", None));
    println!("S32 on order-2 -> order-2 tensors, {} weights, {} orbits", full.weights, full.rank);
    let first = full.first_build_seconds;
    println!("  plan from two generators   {first:8.3} s    ({})", verdict(first, 0.5));
    println!("  P, one transposition       {:8.3} ms", swap.seconds * 1e3);
    let ratio = full.seconds / swap.seconds;
    let said = verdict(ratio, 2.0);
    println!("  P, all 32! permutations    {:8.3} ms   {ratio:5.2} x the transposition ({said})\n", full.seconds * 1e3);
}
