//! `run`: trains one experiment, once for each seed.

use std::process::ExitCode;

use anyhow::{Context, Result};
use reynolds_report::terminal::{self, printable, shell_word};

use super::RunArgs;
use super::session::{assignments, consecutive, interrupted, observer, session};
use crate::experiment::{Erased, Experiments};
use crate::run::{Outcome, OutputFolder, Session};
use crate::sweep::end_with_sweep;
use crate::{page, run_folder};

pub(super) fn run(program: &str, experiments: &Experiments, args: &RunArgs) -> Result<ExitCode> {
    if args.experiment.as_deref() == Some("list") {
        terminal::print(&experiments.to_string())?;
        return Ok(ExitCode::SUCCESS);
    }
    args.sweep.map_or(Ok(()), end_with_sweep)?;
    let (device, interrupt) = session(&args.session)?;
    if let Some(folder) = &args.session.resume {
        let name = args.experiment.clone().map_or_else(|| run_folder::experiment(folder), Ok)?;
        let experiment = experiments.find(&name)?.as_ref();
        // Errors in its settings are reported by `resume`.
        let settings = experiment.load(Some(&folder.join("config.toml")), &[]).ok();
        let mut observer = observer(settings.as_ref().map(|settings| &settings.train));
        let session = Session { device, interrupt, observer: &mut *observer };
        return done(program, experiment, &experiment.resume(folder, session)?);
    }
    let experiment = experiments.find(args.experiment.as_deref().context("expected an experiment")?)?.as_ref();
    let run = experiment.load(args.settings.config.as_deref(), &assignments(&args.settings.set)?)?;
    let seeds = consecutive(run.seed, args.seeds)?;
    if args.show {
        terminal::print(&run.text)?;
        return Ok(ExitCode::SUCCESS);
    }
    for seed in seeds {
        let folder = match &args.folder {
            Some(folder) => OutputFolder::Exactly(folder.clone()),
            None => OutputFolder::Under(args.session.runs.clone()),
        };
        let mut observer = observer(Some(&run.train));
        observer.say(&format!("{}, seed {seed}: making data and network", experiment.name()));
        let session = Session { device, interrupt: interrupt.clone(), observer: &mut *observer };
        let code = done(program, experiment, &run.run(seed, &folder, session)?)?;
        if code != ExitCode::SUCCESS {
            return Ok(code);
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Prints the result of a run; writes the report again if it is missing.
fn done(program: &str, experiment: &dyn Erased, outcome: &Outcome) -> Result<ExitCode> {
    let (folder, summary) = match outcome {
        Outcome::Interrupted { folder, .. } => {
            let command = format!("{program} run {} --resume {}", experiment.name(), shell_word(folder));
            return Ok(interrupted(folder, &command));
        }
        Outcome::Finished { folder, summary } | Outcome::AlreadyFinished { folder, summary } => (folder, summary),
    };
    let again = matches!(outcome, Outcome::AlreadyFinished { .. });
    let report = folder.join("report.html");
    if !report.exists() {
        page::write(folder, summary)?;
    }
    // A line a fact: these come from a folder that somebody else may have made.
    let mut lines = vec![format!("{}{}", folder.display(), if again { " was finished already" } else { "" })];
    lines.extend(page::facts(folder)?.iter().map(|(name, fact)| format!("  {name}: {fact}")));
    let metrics: Vec<_> = summary.metrics().iter().filter(|(name, _)| page::shown(name)).collect();
    let width = metrics.iter().map(|(name, _)| name.chars().count()).max().unwrap_or(0);
    lines.extend(metrics.iter().map(|(name, value)| format!("  {name:<width$} {value:.6}")));
    let has = |metric: &str| summary.metrics().keys().any(|name| name.rsplit('/').next() == Some(metric));
    let meanings = experiment.meanings().iter().filter(|(metric, _)| has(metric));
    lines.extend(meanings.map(|(metric, meaning)| format!("  {metric}: {meaning}")));
    let exact = summary.exact_since.iter();
    lines.extend(exact.map(|(layer, step)| format!("  {layer} is exactly equivariant since step {step}")));
    lines.push(format!("report: {}", report.display()));
    terminal::print(&lines.iter().map(|line| printable(line) + "\n").collect::<String>())?;
    Ok(ExitCode::SUCCESS)
}
