//! The pairs of a run in its folder: made where they are missing, and put on a device.

use std::path::{Path, PathBuf};

use crate::ct::data::{self, CtSet, Library, SetConfig};
use crate::data::generate::with_bar;
use reynolds_torch::tch::Device;

use super::patches::{CtData, CtPart};
use super::settings::CtDataConfig;
use reynolds_train::error::{Error, Result};
use reynolds_train::interrupt::Interrupt;
use reynolds_train::progress::note;

/// Where the environment says that data lie.
const DATA: &str = "REYNOLDS_DATA";

/// The folder of a run's settings: as given; else `$REYNOLDS_DATA/ct-pairs`, or `data/ct-pairs`, if that holds such a set; else one in there
/// that the settings name.
pub fn pairs_folder(config: &CtDataConfig) -> PathBuf {
    if !config.folder.is_empty() {
        return Path::new(&config.folder).into();
    }
    let root = match std::env::var_os(DATA) {
        Some(root) if !root.is_empty() => PathBuf::from(root),
        _ => PathBuf::from("data"),
    };
    below(&root.join("ct-pairs"), config)
}

/// The folder, if it holds a set that serves, else one in it.
fn below(folder: &Path, config: &CtDataConfig) -> PathBuf {
    if CtSet::open(folder).is_ok_and(|set| serves(set.config(), &set_config(config))) {
        return folder.into();
    }
    let CtDataConfig { source, side, train, validation, test, set_seed, .. } = config;
    // A name of a series may hold whatever a path is made of.
    let plain = |letter: char| if letter.is_alphanumeric() || "-_".contains(letter) { letter } else { '_' };
    let series: String = config.test_series.chars().map(plain).collect();
    let series = if series.is_empty() { series } else { format!("-{series}") };
    folder.join(format!("{source}-{side}-{train}-{validation}-{test}-seed{set_seed}{series}"))
}

/// Makes the pairs that the settings ask for and their folder does not hold, with a bar on a terminal; `false` if someone interrupted, after
/// which the same call goes on. A folder that holds a finished set with at least so many pairs is left as it is. `threads` = 0 takes all.
pub fn ensure_pairs(config: &CtDataConfig, threads: usize, interrupt: &Interrupt) -> Result<bool> {
    let (folder, wanted) = (pairs_folder(config), set_config(config));
    wanted.validate()?;
    if folder.join("set.json").is_file() {
        // A set that cannot be read is made again.
        match CtSet::open(&folder) {
            Ok(set) if serves(set.config(), &wanted) => return made_of(&set, config).map(|()| true),
            Ok(set) => return Err(other_set(&folder, set.config(), &wanted)),
            Err(reason) => note(&format!("made again: {reason}")),
        }
    }
    let library = library(config)?;
    let what = format!("simulating CT pairs into {}", folder.display());
    with_bar(&what, threads, interrupt, |report| data::generate(&folder, &wanted, &library, report))
}

fn library(config: &CtDataConfig) -> Result<Library> {
    let slices = (!config.slices.is_empty()).then(|| Path::new(&config.slices));
    Ok(Library::of(config.source, slices)?)
}

/// Refuses a set that was made of other slices or metal shapes than those the settings name. Where they name none, the pairs are enough.
fn made_of(set: &CtSet, config: &CtDataConfig) -> Result<()> {
    if config.slices.is_empty() {
        return Ok(());
    }
    let library = library(config)?;
    for case in CtPart::ALL.iter().filter_map(|part| set.cases(*part).first()) {
        case.metal(&library, &case.slice(&library)?)?;
    }
    Ok(())
}

/// Puts the pairs of the settings on a device; [`ensure_pairs`] has made them. Of a larger set so many of each part, evenly spread.
pub fn open(config: &CtDataConfig, device: Device) -> Result<CtData> {
    let (folder, wanted) = (pairs_folder(config), set_config(config));
    let set = CtSet::open(&folder)?;
    if !serves(set.config(), &wanted) {
        return Err(other_set(&folder, set.config(), &wanted));
    }
    let pairs = CtPart::ALL.into_iter().flat_map(|part| {
        let (count, all) = (wanted.count(part), set.config().count(part));
        let spread = (0..count).map(move |number| (2 * number + 1) * all / (2 * count));
        let set = &set;
        spread.map(move |number| {
            let file = set.file(part, number);
            let pair = file.pair()?;
            file.release();
            Ok(pair)
        })
    });
    CtData::of_pairs(CtPart::ALL.map(|part| wanted.count(part)), wanted.side, device, pairs)
}

fn set_config(config: &CtDataConfig) -> SetConfig {
    let CtDataConfig { source, side, train, validation, test, set_seed: seed, .. } = *config;
    let test_series = config.test_series.clone();
    SetConfig { source, side, train, validation, test, seed, test_series, ..SetConfig::default() }
}

/// Whether a set has what is wanted: the same settings and at least as many pairs of each part.
fn serves(set: &SetConfig, wanted: &SetConfig) -> bool {
    let SetConfig { train, validation, test, .. } = *wanted;
    let enough = CtPart::ALL.iter().all(|part| set.count(*part) >= wanted.count(*part));
    enough && SetConfig { train, validation, test, ..set.clone() } == *wanted
}

fn other_set(folder: &Path, set: &SetConfig, wanted: &SetConfig) -> Error {
    let text = |config: &SetConfig| {
        let SetConfig { source, side, train, validation, test, seed, test_series, .. } = config;
        let series = if test_series.is_empty() { String::new() } else { format!(", tested on {test_series}") };
        format!("{source}, side {side}, seed {seed}, {train} + {validation} + {test} pairs{series}")
    };
    let expected = format!("a folder that is empty or holds a set of the run's settings ({})", text(wanted));
    Error::config("data.folder", expected, format!("{} ({})", folder.display(), text(set)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ct::CtSource;

    fn config(folder: &Path, train: usize) -> CtDataConfig {
        let folder = folder.display().to_string();
        CtDataConfig { folder, side: 16, train, validation: 1, test: 2, patch: 16, ..CtDataConfig::default() }
    }

    #[test]
    fn an_interrupt_stops_the_making_and_the_same_call_goes_on() {
        let folder = tempfile::tempdir().unwrap();
        let wanted = config(&folder.path().join("set"), 3);
        let interrupt = Interrupt::new();
        interrupt.request();
        assert!(!ensure_pairs(&wanted, 1, &interrupt).unwrap());
        assert!(open(&wanted, Device::Cpu).is_err());
        assert!(ensure_pairs(&wanted, 1, &Interrupt::new()).unwrap());
        let data = open(&wanted, Device::Cpu).unwrap();
        assert_eq!((data.side(), data.count(CtPart::Train), data.count(CtPart::Test)), (16, 3, 2));
        assert!(data.count(CtPart::Figure) > 0);
    }

    #[test]
    fn fewer_pairs_are_spread_over_a_set_and_more_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        assert!(ensure_pairs(&config(folder.path(), 3), 1, &Interrupt::new()).unwrap());
        let fewer = config(folder.path(), 1);
        assert!(ensure_pairs(&fewer, 1, &Interrupt::new()).unwrap());
        let all = open(&config(folder.path(), 3), Device::Cpu).unwrap();
        let one = open(&fewer, Device::Cpu).unwrap();
        assert_eq!(one.images(CtPart::Train, 0).unwrap(), all.images(CtPart::Train, 1).unwrap());
        let error = ensure_pairs(&config(folder.path(), 4), 1, &Interrupt::new()).unwrap_err().to_string();
        assert!(error.starts_with("config: data.folder: expected a folder that is empty or holds"), "{error}");
        assert_eq!(below(folder.path(), &fewer), folder.path());
        assert!(below(folder.path(), &config(folder.path(), 4)).ends_with("phantom-16-4-1-2-seed0"));
        let other = CtDataConfig { set_seed: 1, ..config(folder.path(), 3) };
        assert!(ensure_pairs(&other, 1, &Interrupt::new()).is_err() && open(&other, Device::Cpu).is_err());
    }

    #[test]
    fn folders_are_as_given_or_named_by_the_settings() {
        assert_eq!(pairs_folder(&config(Path::new("a/b"), 1)), Path::new("a/b"));
        let named = below(Path::new("nowhere"), &CtDataConfig::default());
        assert_eq!(named, Path::new("nowhere/phantom-256-480-48-60-seed0"));
        let series = CtDataConfig { test_series: "../legs".into(), ..CtDataConfig::default() };
        assert_eq!(below(Path::new("nowhere"), &series), Path::new("nowhere/phantom-256-480-48-60-seed0-___legs"));
    }

    #[test]
    fn a_set_of_other_slices_than_those_named_is_refused() {
        let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("../golden/ct");
        let [pairs, both, other] = [(); 3].map(|()| tempfile::tempdir().unwrap());
        let copy = |name: &str, to: &Path| std::fs::copy(golden.join(name), to.join(name)).map(drop).unwrap();
        ["legs_16.npz", "trunk_16.npz"].iter().for_each(|name| copy(name, both.path()));
        copy("legs_16.npz", other.path());
        let of = |slices: &Path| CtDataConfig {
            source: CtSource::Slices,
            slices: slices.display().to_string(),
            test_series: "trunk".into(),
            ..config(pairs.path(), 2)
        };
        let ensure = |config: &CtDataConfig| ensure_pairs(config, 1, &Interrupt::new());
        assert!(ensure(&of(both.path())).unwrap() && ensure(&of(both.path())).unwrap());
        assert!(ensure(&CtDataConfig { slices: String::new(), ..of(both.path()) }).unwrap(), "pairs are enough");
        assert!(ensure(&of(&other.path().join("none"))).is_err());
        let error = ensure(&of(other.path())).unwrap_err().to_string();
        assert!(error.contains("slices: expected what") && error.contains("no series trunk"), "{error}");
        let error = ensure(&CtDataConfig { test_series: String::new(), ..of(both.path()) }).unwrap_err().to_string();
        assert!(error.contains("tested on trunk"), "{error}");
    }
}
