//! `reynolds reproduce`: one table or figure of the paper, with its claims checked.

use std::process::ExitCode;

use anyhow::Result;
use reynolds_paper::targets::{Outcome, Place, Request, Session, find, targets};
use reynolds_train::command_line::{interrupted, models, session};
use reynolds_train::config::Assignment;

use crate::args::ReproduceArgs;
use reynolds_report::terminal;

pub(crate) fn run(args: &ReproduceArgs) -> Result<ExitCode> {
    if args.target == "list" {
        let width = targets().iter().map(|target| target.name().len()).max().unwrap_or(0);
        let lines = targets().map(|target| format!("{:<width$}  {}\n", target.name(), target.about()));
        terminal::print(&lines.concat())?;
        return Ok(ExitCode::SUCCESS);
    }
    let target = find(&args.target)?;
    let (device, interrupt) = session(&args.place)?;
    let place = match &args.place.resume {
        Some(folder) => Place::Resume(folder.clone()),
        None => Place::Under(args.place.runs.clone()),
    };
    let assignments = assignments(args)?;
    let budget = args.budget.name().parse()?;
    let request = Request { budget, assignments, place, workers: args.jobs as usize };
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
