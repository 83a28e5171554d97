//! The project's own measurements of projectors, as ratios within one run.
//!
//! `cargo bench -p reynolds`. What it takes to derive projectors, and other programs beside, are measured by `make compare`.

#![allow(clippy::print_stdout, clippy::unwrap_used, reason = "a benchmark prints, and stops at the first surprise")]

use std::hint::black_box;
use std::time::Instant;

use reynolds::group;
use reynolds::projection::{Dimensions, KernelSpace, Orbits, Projector, derive};
use reynolds::random::Random;
use reynolds::rep::{self, Grid};

fn main() {
    println!(
        "Medians of interleaved runs, one thread unless said otherwise; ratios are what counts on a noisy machine.\n"
    );
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    pool.install(|| {
        c4_stack();
        symmetric_group();
    });
}

/// Seconds of one call.
fn seconds(work: &mut dyn FnMut()) -> f64 {
    let start = Instant::now();
    work();
    start.elapsed().as_secs_f64()
}

/// Medians of each work, run in turns after one unmeasured round.
fn medians(rounds: usize, works: &mut [&mut dyn FnMut()]) -> Vec<f64> {
    let mut times = vec![Vec::with_capacity(rounds); works.len()];
    for round in 0..=rounds {
        for (work, times) in works.iter_mut().zip(&mut times) {
            let time = seconds(*work);
            if round > 0 {
                times.push(time);
            }
        }
    }
    times.iter_mut().for_each(|times| times.sort_by(f64::total_cmp));
    times.iter().map(|times| times[times.len() / 2]).collect()
}

fn random(n: usize) -> Vec<f32> {
    let mut random = Random::new(1);
    (0..n).map(|_| random.normal() as f32).collect()
}

fn verdict(ratio: f64, limit: f64) -> &'static str {
    if ratio <= limit { "ok" } else { "SHORT" }
}

/// C4 on a stack of 36×36×5×5 kernels, 4 million weights: against copying the same bytes.
fn c4_stack() {
    let c4 = group::parse("C4").unwrap();
    let fields = rep::parse_fields(&c4, "9 regular").unwrap();
    let space = KernelSpace::kernel(&fields, &fields, &Grid::new(&c4, 5, 2).unwrap()).unwrap();
    let projector = derive(&space).unwrap();
    let layers = 4_000_000 / space.len() + 1;
    let weights = random(layers * space.len());
    let (mut copy, mut out) = (vec![0.0_f32; weights.len()], vec![0.0_f32; weights.len()]);
    let (layer, mut near) = (&weights[..space.len()], vec![0.0_f32; space.len()]);
    let times = medians(
        31,
        &mut [
            &mut || black_box(&mut copy).copy_from_slice(black_box(&weights)),
            &mut || drop(black_box(projector.project_stack_into(black_box(&weights), black_box(&mut out)))),
            &mut || {
                for _ in 0..layers {
                    drop(black_box(projector.project_into(black_box(layer), black_box(&mut near))));
                }
            },
        ],
    );
    let (bytes, ratio) = (8.0 * weights.len() as f64, times[1] / times[0]);
    println!("C4, {layers} kernels 36x36x5x5 f32, {} weights, {}", weights.len(), projector.form());
    println!("  memcpy                     {:8.3} ms   {:5.1} GB/s", times[0] * 1e3, bytes / times[0] / 1e9);
    println!(
        "  P(W) and both energies     {:8.3} ms   {:5.2} x memcpy (at most 3: {})",
        times[1] * 1e3,
        ratio,
        verdict(ratio, 3.0)
    );
    let each = |time: f64| time / weights.len() as f64 * 1e9;
    println!(
        "  {:.2} ns a weight, {:.2} ns where one kernel stays in the cache: the rest is memory.",
        each(times[1]),
        each(times[2])
    );
    println!(
        "  Floor: 8 bytes a weight; 12 with the reads that scattered stores cause and memcpy's streaming stores avoid.\n"
    );
}

/// Cost independent of |G|: S₃₂ on order-2 → order-2 tensors, against one transposition on the same weights.
fn symmetric_group() {
    let plan = |text: &str| {
        let group = group::parse(text).unwrap();
        let points = rep::permutation(&group).unwrap();
        let pairs = rep::tensor(&points, &points).unwrap();
        Orbits::derive(&KernelSpace::dense(&pairs, &pairs).unwrap()).unwrap().unwrap()
    };
    let start = Instant::now();
    let full = plan("S32");
    let planned = start.elapsed().as_secs_f64();
    let swap = plan("<(0 1)>[32]");
    let weights = random(1 << 20);
    let (mut a, mut b) = (vec![0.0_f32; 1 << 20], vec![0.0_f32; 1 << 20]);
    let times = medians(
        31,
        &mut [&mut || drop(black_box(swap.project_into(black_box(&weights), black_box(&mut a)))), &mut || {
            drop(black_box(full.project_into(black_box(&weights), black_box(&mut b))))
        }],
    );
    let ratio = times[1] / times[0];
    println!("S32 on order-2 -> order-2 tensors, 1048576 weights, {} orbits", full.rank());
    println!("  plan from two generators   {:8.3} s    (at most 0.5: {})", planned, verdict(planned, 0.5));
    println!("  P, one transposition       {:8.3} ms", times[0] * 1e3);
    println!(
        "  P, all 32! permutations    {:8.3} ms   {:5.2} x the transposition (at most 2: {})\n",
        times[1] * 1e3,
        ratio,
        verdict(ratio, 2.0)
    );
}
