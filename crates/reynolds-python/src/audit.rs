//! Audits of files and of networks in memory, and the command line `reynolds`.

use std::path::PathBuf;

use pyo3::prelude::*;
use reynolds::group;
use reynolds_checkpoint::Checkpoint;
use reynolds_cli::{Model, NamedPlan, audit};
use reynolds_report::audit::AuditReport;

use crate::error::of_any;
use crate::plan::Plan;

/// What an audit found, in three forms.
#[pyclass(frozen, get_all, module = "reynolds._reynolds")]
pub(crate) struct Audit {
    text: String,
    html: String,
    json: String,
}

/// How channels are typed: a plan and its name.
type Typing<'py> = (String, PyRef<'py, Plan>);

/// Audits a checkpoint. The file is read, not mapped: a file that shrinks must not end the user's process. `guess` is a group whose fields are
/// guessed, as `reynolds plan` does, and audited, too.
#[pyfunction]
pub(crate) fn audit_file(
    py: Python<'_>,
    path: PathBuf,
    plans: Vec<Typing<'_>>,
    rank: Option<&str>,
    guess: Option<&str>,
) -> PyResult<Audit> {
    audited(py, || Model::load(&path), &plans, rank, guess)
}

/// Audits the bytes of a checkpoint; `label` stands for the path.
#[pyfunction]
pub(crate) fn audit_bytes(
    py: Python<'_>,
    label: PathBuf,
    bytes: Vec<u8>,
    plans: Vec<Typing<'_>>,
    rank: Option<&str>,
    guess: Option<&str>,
) -> PyResult<Audit> {
    audited(py, || Ok(Model::new(Checkpoint::from_bytes(label, bytes)?)), &plans, rank, guess)
}

fn audited(
    py: Python<'_>,
    open: impl FnOnce() -> anyhow::Result<Model> + Send,
    plans: &[Typing<'_>],
    rank: Option<&str>,
    guess: Option<&str>,
) -> PyResult<Audit> {
    let mut plans: Vec<NamedPlan> =
        plans.iter().map(|(fields, plan)| NamedPlan { fields: fields.clone(), plan: plan.plan.clone() }).collect();
    let fields = rank.map(str::parse).transpose().map_err(crate::error::of_core)?;
    let guess = guess.map(group::parse).transpose().map_err(crate::error::of_core)?;
    let report = || -> anyhow::Result<AuditReport> {
        let model = open()?;
        plans.extend(guess.map(|group| model.guessed(&group)).transpose()?);
        audit(&model, &plans, fields)
    };
    let report = py.detach(report).map_err(of_any)?;
    Ok(Audit { text: report.text(false), html: report.page().html(), json: report.json().map_err(of_any)? })
}

/// The program `reynolds` with these arguments, the first its name; its exit code.
#[pyfunction]
pub(crate) fn command_line(py: Python<'_>, arguments: Vec<String>) -> u8 {
    py.detach(|| reynolds_cli::main(arguments))
}
