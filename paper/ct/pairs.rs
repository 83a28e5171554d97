//! The pairs of a run: generated if they are missing, and put on a device.

use std::path::{Path, PathBuf};

use super::patches::{CtData, CtSubset};
use super::settings::CtDataConfig;
use crate::ct::data::{self, CtSet, Library, SetConfig};
use crate::data::generate::with_bar;
use reynolds_torch::tch::Device;
use reynolds_train::error::{Error, Result};
use reynolds_train::interrupt::Interrupt;
use reynolds_train::progress::say;

/// The folder of a run: as given; else `$REYNOLDS_DATA/ct-pairs` (or `data/ct-pairs`) if that holds a set with these settings, or a folder in
/// there that is named by the settings.
pub fn pairs_folder(config: &CtDataConfig) -> PathBuf {
    if !config.folder.is_empty() {
        return Path::new(&config.folder).into();
    }
    below(&crate::data::folder("", "ct-pairs"), config)
}

fn below(folder: &Path, config: &CtDataConfig) -> PathBuf {
    if CtSet::open(folder).is_ok_and(|set| check(folder, set.config(), &set_config(config)).is_ok()) {
        return folder.into();
    }
    let CtDataConfig { source, side, train, validation, test, set_seed, .. } = config;
    // The name of a series may have separators of paths.
    let plain = |letter: char| if letter.is_alphanumeric() || "-_".contains(letter) { letter } else { '_' };
    let series: String = config.test_series.chars().map(plain).collect();
    let series = if series.is_empty() { series } else { format!("-{series}") };
    folder.join(format!("{source}-{side}-{train}-{validation}-{test}-seed{set_seed}{series}"))
}

/// Generates the missing pairs of the settings, with a progress bar; `false` if interrupted. A folder with a finished set of at least as many
/// pairs is left as it is. `threads` = 0 takes all.
pub fn ensure_pairs(config: &CtDataConfig, threads: usize, interrupt: &Interrupt) -> Result<bool> {
    let (folder, wanted) = (pairs_folder(config), set_config(config));
    wanted.validate()?;
    if folder.join("set.json").is_file() {
        match CtSet::open(&folder) {
            Ok(set) => {
                check(&folder, set.config(), &wanted)?;
                return made_of(&set, config).map(|()| true);
            }
            Err(reason) => say(&format!("made again: {reason}")),
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

/// Refuses a set that was made of other slices or metal shapes than those that the settings name, if any.
fn made_of(set: &CtSet, config: &CtDataConfig) -> Result<()> {
    if config.slices.is_empty() {
        return Ok(());
    }
    let library = library(config)?;
    for case in CtSubset::ALL.iter().filter_map(|part| set.cases(*part).first()) {
        case.metal(&library, &case.slice(&library)?)?;
    }
    Ok(())
}

/// Puts the pairs of the settings on a device, of a larger set as many of each part, evenly spread.
pub fn open(config: &CtDataConfig, device: Device) -> Result<CtData> {
    let (folder, wanted) = (pairs_folder(config), set_config(config));
    let set = CtSet::open(&folder)?;
    check(&folder, set.config(), &wanted)?;
    let pairs = CtSubset::ALL.into_iter().flat_map(|part| {
        let (count, all) = (wanted.count(part), set.config().count(part));
        let set = &set;
        (0..count).map(move |number| {
            let file = set.file(part, (2 * number + 1) * all / (2 * count));
            let pair = file.pair()?;
            file.release();
            Ok(pair)
        })
    });
    CtData::of_pairs(CtSubset::ALL.map(|part| wanted.count(part)), wanted.side, device, pairs)
}

fn set_config(config: &CtDataConfig) -> SetConfig {
    let CtDataConfig { source, side, train, validation, test, set_seed: seed, .. } = *config;
    let test_series = config.test_series.clone();
    SetConfig { source, side, train, validation, test, seed, test_series, ..SetConfig::default() }
}

/// Refuses a set of other settings, or with fewer pairs of a part.
fn check(folder: &Path, set: &SetConfig, wanted: &SetConfig) -> Result<()> {
    let fewer = CtSubset::ALL.into_iter().find(|part| set.count(*part) < wanted.count(*part));
    let fewer = fewer.map(|part| [wanted, set].map(|config| format!("{} {}", part.name(), config.count(part))));
    let Some([expected, found]) = wanted.differences(set).or(fewer) else { return Ok(()) };
    let expected = format!("a folder that is empty or holds a set of the run's settings ({expected})");
    Err(Error::config("data.folder", expected, format!("{} ({found})", folder.display())))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ct::CtSource;

    fn config(folder: &Path, train: usize) -> CtDataConfig {
        let folder = folder.display().to_string();
        CtDataConfig { folder, side: 16, train, validation: 1, test: 2, patch: 16, ..CtDataConfig::default() }
    }

    fn ensure(config: &CtDataConfig) -> Result<bool> {
        ensure_pairs(config, 1, &Interrupt::new())
    }

    #[test]
    fn an_interrupt_stops_the_making_and_the_same_call_goes_on() {
        let folder = tempfile::tempdir().unwrap();
        let wanted = config(&folder.path().join("set"), 3);
        let interrupt = Interrupt::new();
        interrupt.request();
        assert!(!ensure_pairs(&wanted, 1, &interrupt).unwrap());
        assert!(open(&wanted, Device::Cpu).is_err());
        assert!(ensure(&wanted).unwrap());
        let data = open(&wanted, Device::Cpu).unwrap();
        assert_eq!((data.side(), data.count(CtSubset::Train), data.count(CtSubset::Test)), (16, 3, 2));
        assert!(data.count(CtSubset::Figure) > 0);
    }

    #[test]
    fn fewer_pairs_are_spread_over_a_set_and_more_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let fewer = config(folder.path(), 1);
        assert!(ensure(&config(folder.path(), 3)).unwrap() && ensure(&fewer).unwrap());
        let [all, one] = [&config(folder.path(), 3), &fewer].map(|config| open(config, Device::Cpu).unwrap());
        assert_eq!(one.images(CtSubset::Train, 0).unwrap(), all.images(CtSubset::Train, 1).unwrap());
        let error = ensure(&config(folder.path(), 4)).unwrap_err().to_string();
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
        assert!(ensure(&of(both.path())).unwrap() && ensure(&of(both.path())).unwrap());
        assert!(ensure(&CtDataConfig { slices: String::new(), ..of(both.path()) }).unwrap(), "pairs are enough");
        assert!(ensure(&of(&other.path().join("none"))).is_err());
        let any = CtDataConfig { test_series: String::new(), ..of(both.path()) };
        for (config, expected) in [(of(other.path()), "no series trunk"), (any, "test_series trunk")] {
            let error = ensure(&config).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        }
    }
}
