//! Projectors beside copying the same bytes, as ratios within one run: `cargo bench -p reynolds-bench`. What it takes to derive projectors, and
//! other programs beside, are measured by `make compare`.

#![allow(clippy::print_stdout, clippy::unwrap_used, reason = "a benchmark prints, and stops at the first surprise")]

use std::hint::black_box;

use reynolds::group;
use reynolds::projection::{Dimensions, KernelSpace, Lowered, Projector, derive};
use reynolds::random::Random;
use reynolds::rep::{self, Grid};
use reynolds_bench::{Clock, Work};

fn main() {
    println!("Medians of interleaved runs, one thread; ratios are what counts on a noisy machine.\n");
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    pool.install(|| {
        c4_stack();
        symmetric_group();
    });
}

/// Medians of P on each of these weights and of copying the first of them, which take turns.
fn medians<const N: usize>(rounds: usize, works: [(&Lowered, &[f32]); N]) -> (f64, [f64; N]) {
    let mut copy = vec![0.0_f32; works[0].1.len()];
    let mut all: Vec<Work<'_>> = vec![Box::new(|| {
        black_box(&mut copy).copy_from_slice(black_box(works[0].1));
        Ok(())
    })];
    for (projector, weights) in works {
        let mut out = vec![0.0_f32; weights.len()];
        all.push(Box::new(move || {
            let whole = weights.len() == projector.len();
            black_box(match whole {
                true => projector.project_into(black_box(weights), black_box(&mut out))?,
                false => projector.project_stack_into(black_box(weights), black_box(&mut out))?,
            });
            Ok(())
        }));
    }
    let times = Clock::HOST.turns(rounds, &mut all).unwrap();
    (times[0].median(), std::array::from_fn(|number| times[number + 1].median()))
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
    let (copy, [stack, near]) = medians(31, [(&projector, &weights), (&projector, &weights[..space.len()])]);
    let (n, ratio) = (weights.len() as f64, stack / copy);
    println!("C4, {layers} kernels 36x36x5x5 f32, {n} weights, {}", projector.form());
    println!("  memcpy                     {:8.3} ms   {:5.1} GB/s", copy * 1e3, 8.0 * n / copy / 1e9);
    let ok = verdict(ratio, 3.0);
    println!("  P(W) and both energies     {:8.3} ms   {ratio:5.2} x memcpy (at most 3: {ok})", stack * 1e3);
    let (each, cached) = (stack / n * 1e9, near / space.len() as f64 * 1e9);
    println!("  {each:.2} ns a weight, {cached:.2} ns where one kernel stays in the cache: the rest is memory.");
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
        derive(&KernelSpace::dense(&pairs, &pairs).unwrap()).unwrap()
    };
    let mut full = None;
    let planned = Clock::HOST.seconds(1, || {
        full = Some(plan("S32"));
        Ok(())
    });
    let (full, planned, swap) = (full.unwrap(), planned.unwrap(), plan("<(0 1)>[32]"));
    let weights = random(1 << 20);
    let (_, [one, all]) = medians(31, [(&swap, &weights), (&full, &weights)]);
    println!("S32 on order-2 -> order-2 tensors, 1048576 weights, {} orbits", full.rank());
    println!("  plan from two generators   {planned:8.3} s    (at most 0.5: {})", verdict(planned, 0.5));
    println!("  P, one transposition       {:8.3} ms", one * 1e3);
    let (ratio, ok) = (all / one, verdict(all / one, 2.0));
    println!("  P, all 32! permutations    {:8.3} ms   {ratio:5.2} x the transposition (at most 2: {ok})\n", all * 1e3);
}
