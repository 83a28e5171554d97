//! `reynolds reproduce`: computes one table or figure of the paper and checks its claims.

use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Result;
use clap::Args;
use reynolds_paper::targets::{
    Budget, Jobs, Outcome, OutputFolder, PointSession, Request, Session, find, targets, train_point,
};
use reynolds_report::terminal;
use reynolds_torch::tch::Device;
use reynolds_train::command_line::{INTERRUPTED, SessionArgs, interrupted, models, session};
use reynolds_train::config::Assignment;
use reynolds_train::interrupt::Interrupt;
use reynolds_train::sweep::Launcher;

#[derive(Debug, Args)]
pub(crate) struct ReproduceArgs {
    /// Name of a table or figure of the paper, or `list` to show all
    target: String,
    /// Amount of computation
    #[arg(long, value_enum, default_value_t = Budget::Standard, conflicts_with = "resume")]
    budget: Budget,
    /// Exit with code 1 unless every claim holds
    #[arg(long)]
    strict: bool,
    /// One setting of the target, such as seeds=3; overrides the budget; may be repeated
    #[arg(long, value_name = "KEY=VALUE", conflicts_with = "resume")]
    set: Vec<String>,
    /// Number of models trained in parallel; 0 = one per core on a CPU, one on any other device; auto = the fastest that fits
    /// into the memory of a GPU, by the first steps
    #[arg(long, value_name = "N", default_value = "0", value_parser = jobs)]
    jobs: Jobs,
    /// Train each model in a process of its own, as several at a time on a GPU are
    #[arg(long)]
    processes: bool,
    #[command(flatten)]
    session: SessionArgs,
    /// Symmetry group: C4, D4, SO2, SO3, …
    #[arg(long, value_name = "G", help_heading = "fig-projection", conflicts_with = "resume")]
    group: Option<String>,
    /// Fields of the input, such as "2 regular"
    #[arg(long, value_name = "FIELDS", help_heading = "fig-projection", conflicts_with = "resume")]
    domain: Option<String>,
    /// Fields of the output
    #[arg(long, value_name = "FIELDS", help_heading = "fig-projection", conflicts_with = "resume")]
    codomain: Option<String>,
}

pub(super) fn run(args: &ReproduceArgs) -> Result<ExitCode> {
    if args.target == "list" {
        let width = targets().iter().map(|target| target.name().len()).max().unwrap_or(0);
        let lines = targets().map(|target| format!("{:<width$}  {}\n", target.name(), target.about()));
        terminal::print(&lines.concat())?;
        return Ok(ExitCode::SUCCESS);
    }
    let target = find(&args.target)?;
    let (device, interrupt) = session(&args.session)?;
    let folder = match &args.session.resume {
        Some(folder) => OutputFolder::Resume(folder.clone()),
        None => OutputFolder::Under(args.session.runs.clone()),
    };
    let assignments = assignments(args)?;
    let several = device.is_cuda() && !matches!(args.jobs, Jobs::Number(0 | 1));
    let launcher = if several || args.processes { Some(Launcher::this_program()?) } else { None };
    let request = Request { budget: args.budget, assignments, folder, jobs: args.jobs, launcher };
    match target.reproduce(&request, Session { device, interrupt, observer: &mut *models() })? {
        Outcome::Interrupted { folder, command } => Ok(interrupted(&folder, &command)),
        Outcome::Finished(reproduction) => {
            terminal::print(&reproduction.to_string())?;
            let short = args.strict && !reproduction.all_held();
            Ok(if short { ExitCode::from(1) } else { ExitCode::SUCCESS })
        }
    }
}

/// The process of a model.
pub(super) fn point(
    reproduction: &Path,
    id: &str,
    folder: &Path,
    probe: Option<u64>,
    device: Device,
) -> Result<ExitCode> {
    let (interrupt, probe) = (Interrupt::on_signal(), probe.map(Duration::from_secs));
    train_point(reproduction, id, &PointSession { device, interrupt: &interrupt, folder, probe })?;
    let finished = folder.join("summary.json").is_file();
    Ok(if finished { ExitCode::SUCCESS } else { ExitCode::from(INTERRUPTED) })
}

/// "auto", or a number up to 4096.
fn jobs(text: &str) -> Result<Jobs, String> {
    match text.parse() {
        _ if text == "auto" => Ok(Jobs::Auto),
        Ok(number) if number <= 4096 => Ok(Jobs::Number(number)),
        _ => Err("expected auto or a number up to 4096".into()),
    }
}

/// `--set`, and the options that stand for it.
fn assignments(args: &ReproduceArgs) -> Result<Vec<Assignment>> {
    let mut all = args.set.iter().map(|text| text.parse()).collect::<Result<Vec<Assignment>, _>>()?;
    let options = [("group", &args.group), ("domain", &args.domain), ("codomain", &args.codomain)];
    all.extend(options.into_iter().filter_map(|(key, value)| Some(Assignment::new(key, value.as_ref()?))));
    Ok(all)
}
