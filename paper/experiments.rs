//! The experiments of the paper by name.
//!
//! ```
//! let experiments = reynolds_paper::experiments::all();
//! assert_eq!(experiments.find("so2")?.name(), "so2");
//! assert!(experiments.find("so3").is_err());
//! # Ok::<(), reynolds_train::Error>(())
//! ```

use reynolds_train::error::Result;
use reynolds_train::experiment::{AnyExperiment, Experiments};

use crate::ct::CtExperiment;
use crate::medmnist::MedExperiment;
use crate::smoke::SmokeExperiment;
use crate::so2::{DiskAndArc, PlaneExperiment, WaveyRings};
use crate::step::{self, AnyStep, Source, Timed};

type MeasuredStep = fn(&Source<'_>) -> Result<Box<dyn AnyStep>>;

/// Every experiment, with what measures its steps.
fn list() -> [(AnyExperiment, MeasuredStep); 5] {
    fn of<E: Timed>() -> (AnyExperiment, MeasuredStep) {
        (E::default().into(), step::step::<E>)
    }
    [
        of::<PlaneExperiment<DiskAndArc>>(),
        of::<PlaneExperiment<WaveyRings>>(),
        of::<SmokeExperiment>(),
        of::<CtExperiment>(),
        of::<MedExperiment>(),
    ]
}

/// Every experiment that can be run by name.
pub fn all() -> Experiments {
    Experiments::new(list().map(|(experiment, _)| experiment).into())
}

/// Steps of an experiment, to be measured.
pub fn step(name: &str, source: &Source<'_>) -> Result<Box<dyn AnyStep>> {
    all().find(name)?;
    let (_, step) = list().into_iter().find(|(experiment, _)| experiment.name() == name).expect("it was found");
    step(source)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    #[test]
    fn every_committed_configuration_loads() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../configs");
        let mut count = 0;
        for entry in std::fs::read_dir(folder).unwrap() {
            let file = entry.unwrap().path();
            let text = std::fs::read_to_string(&file).unwrap();
            let name = text.lines().find_map(|line| line.strip_prefix("experiment = \"")).unwrap();
            super::all().find(name.trim_end_matches('"')).unwrap().load(Some(&file), &[]).unwrap();
            count += 1;
        }
        assert!(count >= 2);
    }
}

#[cfg(test)]
mod settings_page;
