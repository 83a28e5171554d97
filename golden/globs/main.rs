//! What globset 0.4.21 says of random patterns: writes ../globs.txt, one line each of pattern, name and `yes`, `no`, or `error` (no name).
//!
//! For a pattern that it reads there are up to two names that match and two that do not, among all short ones. Left out is where
//! reynolds means something else on purpose: folders and nothing else, braces with nothing in them, braces together with two stars.

use std::collections::BTreeSet;
use std::fmt::Write;

/// Patterns are up to eight of these; `[` and `[!` go on with up to six [`MEMBERS`] and a `]`.
const PIECES: [&str; 16] = ["a", "b", ".", "/", "-", "*", "*", "**/", "?", "[", "[!", "{", "}", ",", "\\a", "\\*"];
const MEMBERS: [&str; 5] = ["a", "b", "c", "-", "]"];
const NAMES: [char; 7] = ['a', 'b', '.', '/', ',', '*', '-'];
const PATTERNS: usize = 3000;

struct Random(u64);

impl Random {
    fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 33) as usize % end
    }
}

fn pattern(random: &mut Random) -> String {
    let mut text = String::new();
    for _ in 0..=random.below(8) {
        let piece = PIECES[random.below(PIECES.len())];
        text += piece;
        if piece.starts_with('[') {
            for _ in 0..=random.below(6) {
                text += MEMBERS[random.below(MEMBERS.len())];
            }
            text += "]";
        }
    }
    text
}

/// All names of at most four characters.
fn names() -> Vec<String> {
    let (mut all, mut last) = (vec![String::new()], vec![String::new()]);
    for _ in 0..4 {
        last = last.iter().flat_map(|name| NAMES.iter().map(move |c| format!("{name}{c}"))).collect();
        all.extend(last.iter().cloned());
    }
    all
}

/// Whether some pair of braces holds an alternative and nothing but empty ones.
fn has_empty_braces(pattern: &str) -> bool {
    let mut text = pattern.to_string();
    loop {
        let shorter = text.replace("{,", "{").replace(",}", "}");
        if shorter == text {
            return text.contains("{}");
        }
        text = shorter;
    }
}

fn main() {
    let (mut random, names) = (Random(2026), names());
    let (mut seen, mut text) = (BTreeSet::new(), String::new());
    while seen.len() < PATTERNS {
        let pattern = pattern(&mut random);
        let folders_alone = pattern.trim_start_matches("**/").is_empty();
        let braces_and_folders = pattern.contains('{') && pattern.contains("**");
        if folders_alone || braces_and_folders || has_empty_braces(&pattern) || !seen.insert(pattern.clone()) {
            continue;
        }
        let Ok(glob) = globset::Glob::new(&pattern) else {
            writeln!(text, "{pattern}\t\terror").expect("a string takes everything");
            continue;
        };
        let matcher = glob.compile_matcher();
        let start = random.below(names.len());
        for (verdict, word) in [(true, "yes"), (false, "no")] {
            let around = names[start..].iter().chain(&names[..start]);
            for name in around.filter(|name| matcher.is_match(name) == verdict).take(2) {
                writeln!(text, "{pattern}\t{name}\t{word}").expect("a string takes everything");
            }
        }
    }
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../globs.txt");
    std::fs::write(path, text).expect("golden/ can be written");
}
