//! Names of folders that depend on nothing but what they stand for.

use super::{Grid, Point};
use crate::error::Result;

/// The longest name that is written out.
const LONGEST: usize = 120;

/// `<experiment>-<grid keys>-<checksum of the shared settings, the grid with its values, and the seeds>`.
pub(super) fn of_sweep(grid: &Grid<'_>) -> Result<String> {
    // Sorted by key: the name depends on no order of fields.
    let shared = grid.shared_settings()?.parse::<toml::Table>().map_or_else(|_| String::new(), |tree| tree.to_string());
    let keys: Vec<&str> = grid.axes.iter().map(|axis| axis.key.rsplit('.').next().unwrap_or_default()).collect();
    let axes: Vec<String> = grid.axes.iter().map(|axis| format!("{}={}", axis.key, axis.values.join(","))).collect();
    let whole = format!("{}\nseeds {:?}\n{shared}", axes.join("\n"), grid.seeds);
    let words: Vec<&str> = std::iter::once(grid.experiment.name()).chain(keys).collect();
    let name: String = clean(&words.join("-")).chars().take(LONGEST).collect();
    Ok(format!("{name}-{:08x}", crc32c::crc32c(whole.as_bytes())))
}

/// `key=value,…,seed=n`; with a checksum where letters had to go.
pub(super) fn of_point(point: &Point) -> String {
    let parts = point.values.iter().map(|assignment| assignment.to_string());
    let whole = parts.chain([format!("seed={}", point.seed)]).collect::<Vec<_>>().join(",");
    let name: String = clean(&whole).chars().take(LONGEST).collect();
    if name == whole { name } else { format!("{name}-{:08x}", crc32c::crc32c(whole.as_bytes())) }
}

/// Letters that every file system and shell takes.
fn clean(text: &str) -> String {
    let good = |letter: char| letter.is_ascii_alphanumeric() || "=,._-+".contains(letter);
    text.chars().map(|letter| if good(letter) { letter } else { '_' }).collect()
}
