//! `reynolds reproduce`: computes one table or figure of the paper and checks its claims.

use std::process::ExitCode;

use anyhow::Result;
use clap::Args;
use reynolds_paper::targets::{Budget, Outcome, OutputFolder, Request, Session, find, targets};
use reynolds_report::terminal;
use reynolds_train::command_line::{SessionArgs, interrupted, models, session};
use reynolds_train::config::Assignment;

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
    /// Number of models trained in parallel; 0 = one per core on a CPU, one on any other device
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = clap::value_parser!(u64).range(0..=4096))]
    jobs: u64,
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
    let request = Request { budget: args.budget, assignments, folder, workers: args.jobs as usize };
    match target.reproduce(&request, Session { device, interrupt, observer: &mut *models() })? {
        Outcome::Interrupted { folder, command } => Ok(interrupted(&folder, &command)),
        Outcome::Finished(reproduction) => {
            terminal::print(&reproduction.to_string())?;
            let short = args.strict && !reproduction.all_held();
            Ok(if short { ExitCode::from(1) } else { ExitCode::SUCCESS })
        }
    }
}

/// `--set`, and the options that stand for it.
fn assignments(args: &ReproduceArgs) -> Result<Vec<Assignment>> {
    let mut all = args.set.iter().map(|text| text.parse()).collect::<Result<Vec<Assignment>, _>>()?;
    let options = [("group", &args.group), ("domain", &args.domain), ("codomain", &args.codomain)];
    all.extend(options.into_iter().filter_map(|(key, value)| Some(Assignment::new(key, value.as_ref()?))));
    Ok(all)
}
