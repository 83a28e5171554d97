//! What the benchmarks say of the options they were given.

use std::path::Path;

use anyhow::{Error, Result, anyhow, bail};
use clap::{Command, CommandFactory};
use reynolds_train::Error as LabError;

use crate::args::Args;

/// Refuses to write over the file that was read; both by the names of their options.
pub(crate) fn not_over_input(input: (&str, Option<&Path>), out: Option<&Path>) -> Result<()> {
    let (option, Some(file)) = input else { return Ok(()) };
    match (file.canonicalize(), out.map(Path::canonicalize)) {
        (Ok(given), Some(Ok(out))) if given == out => {
            bail!("--out: expected another file than that of {option}, found {}", file.display())
        }
        _ => Ok(()),
    }
}

/// A setting that was refused, as the option that gave it: there is no file of settings here.
pub(crate) fn by_option(error: Error) -> Error {
    let Some(LabError::Config { origin, key, expected, found }) = error.downcast_ref() else { return error };
    let option = key.rsplit('.').next().unwrap_or(key).replace('_', "-");
    if origin == "config" && is_option(&option) {
        anyhow!("--{option}: expected {expected}, found {found}")
    } else {
        error
    }
}

/// Whether a benchmark has it.
fn is_option(name: &str) -> bool {
    let takes = |command: &Command| command.get_arguments().any(|argument| argument.get_long() == Some(name));
    Args::command().find_subcommand("bench").is_some_and(|bench| bench.get_subcommands().any(takes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_setting_that_is_an_option_is_called_so() {
        let said = |error: LabError| by_option(error.into()).to_string();
        assert_eq!(said(LabError::config("repeats", "at least 1", 0)), "--repeats: expected at least 1, found 0");
        assert_eq!(said(LabError::config("model.max_degrees", "one", "two")), "--max-degrees: expected one, found two");
        assert_eq!(
            said(LabError::config("model.colour", "red", "blue")),
            "config: model.colour: expected red, found blue"
        );
    }
}
