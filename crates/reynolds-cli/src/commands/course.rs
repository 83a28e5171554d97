//! `reynolds audit epoch_*.pt`: several checkpoints of one network, in the order of training.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use super::audit::of_plan;
use crate::args::AuditArgs;
use crate::model::Model;
use reynolds_report::audit::Course;
use reynolds_report::terminal;

pub(super) fn run(args: &AuditArgs) -> Result<u8> {
    if args.rank || args.require.is_some() {
        bail!("--rank and --require are for one checkpoint, found {}", args.models.len());
    }
    if args.typing.plan.is_none() && (args.typing.group.is_none() || args.typing.fields.is_none()) {
        bail!(
            "audit of {} checkpoints: expected --plan FILE, or --group G with --fields trivial, regular or auto, found no fields of the channels",
            args.models.len()
        );
    }
    let mut files = args.models.clone();
    files.sort_by_cached_key(natural);
    let mut checkpoints = Vec::with_capacity(files.len());
    for path in &files {
        let model = Model::open(path)?;
        let plan = args.typing.plans(&model)?.into_iter().next().context("one typing")?;
        checkpoints.push((model.file(), of_plan(&model, &plan)?));
    }
    let course = Course { checkpoints };
    if let Some(path) = &args.html {
        Model::open(&files[0])?.write_beside(path, &course.page().html())?;
    }
    terminal::print_prepared(&if args.json { course.json()? } else { course.text(terminal::colour()) })?;
    Ok(0)
}

/// Texts and numbers in turn, so that epoch_9 comes before epoch_10.
fn natural(path: &PathBuf) -> Vec<(String, u64)> {
    let (mut key, mut text) = (Vec::new(), String::new());
    let name = Path::new(path).to_string_lossy();
    let mut letters = name.chars().peekable();
    while let Some(letter) = letters.next() {
        let Some(digit) = letter.to_digit(10) else {
            text.push(letter);
            continue;
        };
        let mut number = u64::from(digit);
        while let Some(digit) = letters.peek().and_then(|letter| letter.to_digit(10)) {
            number = number.saturating_mul(10).saturating_add(u64::from(digit));
            letters.next();
        }
        key.push((std::mem::take(&mut text), number));
    }
    key.push((text, 0));
    key
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_in_names_count_as_numbers() {
        let mut names = ["epoch_10.pt", "epoch_9.pt", "b2.pt", "epoch_9.5.pt"].map(PathBuf::from);
        names.sort_by_cached_key(natural);
        assert_eq!(names, ["b2.pt", "epoch_9.5.pt", "epoch_9.pt", "epoch_10.pt"].map(PathBuf::from));
    }
}
