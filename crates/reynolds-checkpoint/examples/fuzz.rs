//! Mutates valid checkpoints and feeds them to the readers and the writer: no input may panic, hang or allocate without bound.
//!
//! ```text
//! cargo run --release -p reynolds-checkpoint --example fuzz -- --executions 3000000 [--seed 1]
//! ```
//!
//! `--executions` is per group of seed files. Every execution opens the mutated file; if that succeeds, all tensors are read, and sometimes
//! changed, written, read again and compared. Run it under `ulimit -v`, so that a disproportionate allocation aborts.
//!
//! `--executions 4000000 --seed 3`, with the overflow checks of `make fuzz` and a limit of 4 GB: 24 million executions, no panic. 3.7 %
//! (safetensors), 7.3 % (npz), 5.3 % (inside a member), 11.5 % (deflated), 11.4 % (PyTorch), 4.5 % (inside the pickle) passed the header.
#![allow(clippy::print_stdout, clippy::expect_used, reason = "a command-line tool; a failure is a finding")]

use reynolds::random::Random;
use reynolds_checkpoint::{Checkpoint, Values};
use reynolds_testkit::files::{Member, stored, zip};
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::process::ExitCode;
use std::time::Instant;

/// Numbers at the edges of what a field can hold.
const EDGES: [u64; 12] =
    [0, 1, 2, 0x7F, 0xFF, 0xFFFF, 0x7FFF_FFFF, 0xFFFF_FFFE, 0xFFFF_FFFF, 1 << 40, i64::MAX as u64, u64::MAX];

/// One small damage.
fn mutate(bytes: &mut Vec<u8>, other: &[u8], random: &mut Random) {
    if bytes.is_empty() {
        bytes.push(random.bits() as u8);
        return;
    }
    // The pickle or JSON header comes first, so half of the damage is done in the first half of the file. Zeros and Z are mostly padding:
    // try a few other places.
    let reach = if random.below(2) == 0 { bytes.len() } else { bytes.len().div_ceil(2) };
    let mut at = random.below(reach);
    for _ in 0..4 {
        if matches!(bytes[at], 0 | b'Z') {
            at = random.below(reach);
        }
    }
    match random.below(10) {
        0..=2 => bytes[at] ^= 1 << random.below(8),
        3 | 4 => bytes[at] = random.bits() as u8,
        5 => {
            let (width, edge) = ([1, 2, 4, 8][random.below(4)], EDGES[random.below(EDGES.len())].to_le_bytes());
            let end = (at + width).min(bytes.len());
            bytes[at..end].copy_from_slice(&edge[..end - at]);
        }
        6 => {
            // Digits are what JSON and .npy headers are made of.
            let digits: Vec<usize> = (0..bytes.len()).filter(|&at| bytes[at].is_ascii_digit()).collect();
            if !digits.is_empty() {
                bytes[digits[random.below(digits.len())]] = b'0' + random.below(10) as u8;
            }
        }
        7 => {
            let length = random.below(16).min(bytes.len() - at);
            bytes.drain(at..at + length);
        }
        8 => {
            let from = random.below(other.len());
            let piece = &other[from..(from + random.below(24)).min(other.len())];
            bytes.splice(at..at, piece.iter().copied());
        }
        _ => match random.below(4) {
            0 => bytes.truncate(at),
            _ => {
                let (from, length) = (random.below(bytes.len()), random.below(16));
                let piece = bytes[from..(from + length).min(bytes.len())].to_vec();
                let end = (at + piece.len()).min(bytes.len());
                bytes[at..end].copy_from_slice(&piece[..end - at]);
            }
        },
    }
}

/// The members of a valid archive in which nothing is compressed.
fn unpack(archive: &[u8]) -> Vec<Member> {
    let number = |at: usize, width: usize| {
        archive[at..at + width].iter().rev().fold(0, |number, &byte| number << 8 | usize::from(byte))
    };
    let end = archive.len() - 22;
    let (mut at, mut members) = (number(end + 16, 4), Vec::new());
    for _ in 0..number(end + 10, 2) {
        let (size, name, extra) = (number(at + 24, 4), number(at + 28, 2), number(at + 30, 2));
        let local = number(at + 42, 4);
        let start = local + 30 + number(local + 26, 2) + number(local + 28, 2);
        let text = String::from_utf8_lossy(&archive[at + 46..at + 46 + name]);
        members.push(stored(&text, &archive[start..start + size]));
        at += 46 + name + extra;
    }
    members
}

/// The seed with a few damages: anywhere, or, if `inside`, in one member of an archive that stays valid around it.
fn damaged(seed: &[u8], other: &[u8], inside: bool, random: &mut Random) -> Vec<u8> {
    let damages = 1 + random.below(4);
    if !inside {
        let mut bytes = seed.to_vec();
        (0..damages).for_each(|_| mutate(&mut bytes, other, random));
        return bytes;
    }
    let mut members = unpack(seed);
    // The first member of a PyTorch file is the pickle.
    let which = if members[0].name.ends_with("data.pkl") { 0 } else { random.below(members.len()) };
    (0..damages).for_each(|_| mutate(&mut members[which].contents, other, random));
    zip(&members)
}

/// How far executions came.
#[derive(Default)]
struct Reached {
    opened: u64,
    read: u64,
    rewritten: u64,
}

/// Opens, reads, and if `rewrite` changes, writes and reads again.
fn execute(label: &Path, bytes: Vec<u8>, rewrite: bool, reached: &mut Reached) {
    let Ok(checkpoint) = Checkpoint::from_bytes(label, bytes) else { return };
    reached.opened += 1;
    let mut changed = BTreeMap::new();
    for entry in checkpoint.entries() {
        let Ok(values) = checkpoint.read(entry) else { continue };
        assert_eq!(values.len(), entry.numbers());
        reached.read += 1;
        if rewrite && changed.len() < 3 {
            // Every type has the number one.
            changed.insert(entry.name.clone(), Values::from(vec![1.0_f32; values.len()]));
        }
    }
    let mut out = Vec::new();
    if !rewrite || checkpoint.write_to(&mut out, &changed).is_err() {
        return;
    }
    let again = Checkpoint::from_bytes(label, out).expect("what was written opens");
    reached.rewritten += 1;
    for (name, _) in changed {
        let values = again.read(again.entry(&name).expect("the tensor is there")).expect("what was written reads");
        assert!(values.to_f64().iter().all(|&x| x == 1.0));
    }
}

fn argument(name: &str, default: u64) -> u64 {
    let arguments: Vec<String> = std::env::args().collect();
    let at = arguments.iter().position(|argument| argument == name);
    at.and_then(|at| arguments.get(at + 1)).and_then(|value| value.parse().ok()).unwrap_or(default)
}

fn main() -> ExitCode {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../golden/checkpoints");
    let (executions, seed) = (argument("--executions", 100_000), argument("--seed", 1));
    let torch = "state_dict.pt protocol4.pt tied.pt tensor.pt views.pt columns.pt dtypes.pt scored.pt nested.pth surrounded.pt module.pt";
    let torch: Vec<&str> = torch.split(' ').collect();
    let legacy = ["legacy.pt", "surrounded_legacy.pt", "module_legacy.pt"];
    let groups: [(&str, bool, &[&str]); 9] = [
        ("safetensors", false, &["plain.safetensors"]),
        ("npz", false, &["stored.npz"]),
        ("npz, inside a member", true, &["stored.npz"]),
        ("PyTorch", false, &torch),
        ("PyTorch, inside the pickle", true, &torch),
        ("npz, deflated", false, &["deflated.npz"]),
        ("PyTorch, legacy", false, &legacy),
        ("ONNX", false, &["network.onnx"]),
        ("HDF5", false, &["weights.h5", "chunked.h5"]),
    ];
    std::panic::set_hook(Box::new(|_| {}));
    for (title, inside, group) in groups {
        let seeds: Vec<Vec<u8>> =
            group.iter().map(|name| std::fs::read(folder.join(name)).expect("a seed file")).collect();
        let (mut random, mut reached, start) = (Random::new(seed), Reached::default(), Instant::now());
        for execution in 0..executions {
            let which = random.below(seeds.len());
            let other = random.below(seeds.len());
            let bytes = damaged(&seeds[which], &seeds[other], inside, &mut random);
            let rewrite = random.below(4) == 0;
            let run = AssertUnwindSafe(|| execute(Path::new(group[which]), bytes.clone(), rewrite, &mut reached));
            if let Err(panic) = catch_unwind(run) {
                let finding = std::env::temp_dir().join(format!("finding.{}", group[which]));
                std::fs::write(&finding, &bytes).expect("the finding can be kept");
                let message = panic.downcast_ref::<String>().cloned().unwrap_or_default();
                println!(
                    "panic at execution {execution} of seed {seed}: {message}; the input is {}",
                    finding.display()
                );
                return ExitCode::FAILURE;
            }
        }
        println!(
            "{title}: {executions} executions, {:.1} % past the header, {} tensors read, {} files rewritten, no panic, {:.0} s",
            100.0 * reached.opened as f64 / executions as f64,
            reached.read,
            reached.rewritten,
            start.elapsed().as_secs_f64()
        );
    }
    ExitCode::SUCCESS
}
