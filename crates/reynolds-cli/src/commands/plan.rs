//! `reynolds plan`: a plan to start from.

use anyhow::{Result, bail};
use reynolds::{group, plan};

use crate::args::PlanArgs;
use crate::model::Model;
use reynolds_report::terminal;

pub(crate) fn run(args: &PlanArgs) -> Result<u8> {
    let group = group::parse(&args.group)?;
    let model = Model::open(&args.model)?;
    let text = plan::suggest(&group, &model.network);
    match &args.out {
        Some(path) if path.exists() => {
            bail!("{}: expected the name of a new file, found one that exists (it may hold your edits)", path.display())
        }
        Some(path) => {
            model.write_beside(path, &text)?;
            let [on, off] = ["\n[[layer]]", "\n# [[layer]]"].map(|head| text.matches(head).count());
            terminal::print(&format!("wrote {}: {on} rules, and {off} commented out\n", path.display()))?;
        }
        None => terminal::print(&text)?,
    }
    Ok(0)
}
