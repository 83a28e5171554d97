//! `reynolds bench`: measurements.

mod metrics;
mod penalty;
mod projection;
mod scaling;
mod step;

use std::ops::RangeInclusive;
use std::path::Path;
use std::process::ExitCode;

use anyhow::{Error, Result, anyhow, bail};
use clap::builder::RangedU64ValueParser;
use clap::{CommandFactory, Subcommand};
use reynolds_report::terminal;
use reynolds_train::Error as LabError;
use serde::Serialize;
use serde::de::value::{Error as NameError, StrDeserializer};
use serde::de::{Deserialize, IntoDeserializer};

#[derive(Debug, Subcommand)]
pub(crate) enum BenchCommand {
    /// Training steps of an experiment on random data: time, memory, and overhead of the projection penalty
    Step(step::StepArgs),
    /// One projection P(W), for any group and fields: time to derive P, to apply it, and to copy as many bytes
    Projection(projection::ProjectionArgs),
    /// PSNR and SSIM of the images in a file, as the CT experiment computes them: values and time
    Metrics(metrics::MetricsArgs),
    /// The projection penalty of a stack of convolutions: its time beside an Adam step and a copy, and its overhead in training
    Penalty(penalty::PenaltyArgs),
    /// Growth of cost with the number of weights, group order, kernel side and band limit: figures and fitted exponents
    Scaling(scaling::ScalingArgs),
}

impl BenchCommand {
    pub(super) fn carry_out(&self) -> Result<ExitCode> {
        let (name, done) = match self {
            Self::Step(args) => ("step", step::run(args)),
            Self::Projection(args) => ("projection", projection::run(args)),
            Self::Metrics(args) => ("metrics", metrics::run(args)),
            Self::Penalty(args) => ("penalty", penalty::run(args)),
            Self::Scaling(args) => ("scaling", scaling::run(args)),
        };
        done.map_err(|error| by_option(name, error))
    }
}

/// A whole number in a range.
fn whole(range: RangeInclusive<u64>) -> RangedU64ValueParser<usize> {
    RangedU64ValueParser::new().range(range)
}

/// A name as in settings.
fn named<T: for<'a> Deserialize<'a>>(name: &str) -> Result<T, NameError> {
    let text: StrDeserializer<'_, NameError> = name.into_deserializer();
    T::deserialize(text)
}

/// One JSON object, or text for people.
fn print<R: Serialize>(json: bool, row: &R, text: impl FnOnce(&R) -> String) -> Result<()> {
    terminal::print(&if json { serde_json::to_string(row)? + "\n" } else { text(row) })
}

/// Refuses to write over the input file, which `option` named.
fn not_over_input((option, input): (&str, Option<&Path>), out: Option<&Path>) -> Result<()> {
    match (input.map(Path::canonicalize), out.map(Path::canonicalize)) {
        (Some(Ok(given)), Some(Ok(out))) if given == out => {
            let file = input.unwrap_or(&given).display();
            bail!("--out: expected another file than that of {option}, found {file}")
        }
        _ => Ok(()),
    }
}

/// Names a refused setting by the option of the benchmark that sets it, if there is one.
fn by_option(bench: &str, error: Error) -> Error {
    let Some(LabError::Config { origin, key, expected, found }) = error.downcast_ref() else { return error };
    let option = key.rsplit('.').next().unwrap_or(key).replace('_', "-");
    let command = super::Args::command();
    let command = command.find_subcommand("bench").and_then(|command| command.find_subcommand(bench));
    let takes = |command: &clap::Command| command.get_arguments().any(|other| other.get_long() == Some(&option));
    if origin == "config" && command.is_some_and(takes) {
        anyhow!("--{option}: expected {expected}, found {found}")
    } else {
        error
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_setting_that_is_an_option_is_called_so() {
        for (bench, key, expected) in [
            ("metrics", "repeats", "--repeats: expected red, found blue"),
            ("projection", "model.max_degrees", "--max-degrees: expected red, found blue"),
            ("projection", "model.colour", "config: model.colour: expected red, found blue"),
            ("step", "data.batch", "--batch: expected red, found blue"),
            ("step", "data.side", "config: data.side: expected red, found blue"),
        ] {
            assert_eq!(by_option(bench, LabError::config(key, "red", "blue").into()).to_string(), expected);
        }
    }
}
