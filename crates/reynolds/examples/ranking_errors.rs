//! Error rates of `reynolds audit --rank`: one JSON object a line, for results/audit/ranking.jsonl.
//!
//! `cargo run --release --example ranking_errors > results/audit/ranking.jsonl`; with a number as argument so many tensors of each kind.

#![allow(clippy::print_stdout, reason = "its output is what it is for")]

use rayon::prelude::*;
use reynolds::group::PLANAR;
use reynolds_testkit::ranking::{SHAPES, is_exactly, named, noise, planted};

fn main() {
    let tensors: u64 = std::env::args().nth(1).and_then(|count| count.parse().ok()).unwrap_or(1000);
    let count = |holds: &(dyn Fn(u64) -> bool + Sync)| (0..tensors).into_par_iter().filter(|&seed| holds(seed)).count();
    for shape in SHAPES {
        let wrong = count(&|seed| named(shape, &noise(shape, seed)).group.is_some());
        println!("{{\"planted\":null,\"shape\":{shape:?},\"tensors\":{tensors},\"named\":{wrong}}}");
    }
    for shape in [[8, 8, 3, 3], [16, 16, 5, 5]] {
        for group in PLANAR {
            let exact = count(&|seed| is_exactly(&named(&shape, &planted(group, &shape, 0.3, seed, |_| 1.0)), group));
            println!("{{\"planted\":\"{group}\",\"shape\":{shape:?},\"tensors\":{tensors},\"named\":{exact}}}");
        }
    }
}
