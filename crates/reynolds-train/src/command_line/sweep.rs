//! `sweep`: trains over a grid of settings and seeds, each run in a process of its own.

use std::fs;
use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use reynolds_report::terminal;
use serde::{Deserialize, Serialize};

use super::SweepArgs;
use super::session::{assignments, consecutive, interrupted, say, session};
use crate::experiment::Experiments;
use crate::interrupt::Interrupt;
use crate::sweep::{Axis, Grid, Launcher, Row, Status, Sweep};

/// Experiment, grid and seeds of a sweep; stored in its folder beside the settings that its runs share.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Definition {
    experiment: String,
    /// As after `--grid`.
    grid: Vec<String>,
    seeds: u64,
}

const DEFINITION: &str = "sweep.toml";
const SETTINGS: &str = "settings.toml";

pub(super) fn run(program: &str, experiments: &Experiments, args: &SweepArgs) -> Result<ExitCode> {
    let (_, interrupt) = session(&args.session)?;
    let definition = definition(args)?;
    let experiment = experiments.find(&definition.experiment)?;
    let kept = args.session.resume.as_ref().map(|folder| folder.join(SETTINGS));
    let file = kept.as_deref().or(args.settings.config.as_deref());
    let assignments = assignments(&args.settings.set)?;
    let settings = experiment.load(file, &assignments)?;
    let seeds: Vec<u64> = consecutive(settings.seed, definition.seeds)?.collect();
    let axes = definition.grid.iter().map(|text| text.parse()).collect::<Result<Vec<Axis>, _>>()?;
    let grid = Grid { experiment, file, assignments: &assignments, axes: &axes, seeds: &seeds };
    let jobs = usize::try_from(args.jobs)?;
    let points = grid.points(jobs)?;
    let folder = match &args.session.resume {
        Some(folder) => folder.clone(),
        None => grid.folder(&args.session.runs)?,
    };
    let files = match kept {
        Some(_) => Vec::new(),
        None => vec![(SETTINGS, settings.text), (DEFINITION, toml::to_string(&definition)?)],
    };
    let (launcher, device) = (Launcher::this_program()?, args.session.device.clone());
    let sweep = Sweep { folder, experiment: definition.experiment, device, jobs, launcher, points, files };
    carry_out(program, &sweep, &interrupt)
}

fn carry_out(program: &str, sweep: &Sweep, interrupt: &Interrupt) -> Result<ExitCode> {
    let (mut done, total) = (0, sweep.points.len());
    let report = sweep.run(interrupt, &mut |row| {
        done += 1;
        say(&format!("[{done}/{total}] {}", line(row)));
    })?;
    if report.interrupted() {
        let command = format!("{program} sweep {} --resume {}", sweep.experiment, terminal::shell_word(&sweep.folder));
        return Ok(interrupted(&sweep.folder, &command));
    }
    terminal::print(&format!("{}\n{}\n", report.means().text(false).trim_end(), report.csv.display()))?;
    match report.check() {
        Ok(()) => Ok(ExitCode::SUCCESS),
        Err(error) => {
            say(&error.to_string());
            Ok(ExitCode::from(1))
        }
    }
}

/// From the arguments, or with `--resume` from the folder.
fn definition(args: &SweepArgs) -> Result<Definition> {
    let Some(folder) = &args.session.resume else {
        let experiment = args.experiment.clone().context("expected an experiment")?;
        return Ok(Definition { experiment, grid: args.grid.clone(), seeds: args.seeds });
    };
    let file = folder.join(DEFINITION);
    let text = fs::read_to_string(&file)
        .with_context(|| format!("{}: expected the folder of a sweep, with its {DEFINITION}", folder.display()))?;
    let definition: Definition = toml::from_str(&text).with_context(|| file.display().to_string())?;
    if let Some(asked) = args.experiment.as_ref().filter(|asked| **asked != definition.experiment) {
        bail!("{}: expected a sweep of \"{asked}\", found one of \"{}\"", file.display(), definition.experiment);
    }
    Ok(definition)
}

fn line(row: &Row) -> String {
    let values: Vec<String> = row.values.iter().map(ToString::to_string).collect();
    let what = match &row.status {
        Status::Waiting => "waiting".into(),
        Status::AlreadyFinished => "was finished already".into(),
        Status::Finished => "finished".into(),
        Status::Interrupted => "stopped".into(),
        Status::Failed(message) => format!("failed: {}", terminal::printable(message)),
    };
    format!("{} seed={}: {what}", values.join(" "), row.seed)
}
