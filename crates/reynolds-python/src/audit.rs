//! Audits of files and of networks in memory, and the command line `reynolds`.

use std::path::PathBuf;

use pyo3::prelude::*;
use reynolds_checkpoint::Checkpoint;
use reynolds_cli::{Model, NamedPlan, audit};
use reynolds_report::audit::AuditReport;

use crate::error::{ReynoldsError, of_any};
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

/// Audits a checkpoint. The file is read, not mapped: a file that shrinks must not end the user's process.
#[pyfunction]
pub(crate) fn audit_file(py: Python<'_>, path: PathBuf, plans: Vec<Typing<'_>>, rank: Option<&str>) -> PyResult<Audit> {
    let bytes = std::fs::read(&path)
        .map_err(|error| ReynoldsError::new_err(format!("{}: cannot read: {error}", path.display())))?;
    audited(py, path, bytes, &plans, rank)
}

/// Audits the bytes of a checkpoint; `label` stands for the path.
#[pyfunction]
pub(crate) fn audit_bytes(
    py: Python<'_>,
    label: PathBuf,
    bytes: Vec<u8>,
    plans: Vec<Typing<'_>>,
    rank: Option<&str>,
) -> PyResult<Audit> {
    audited(py, label, bytes, &plans, rank)
}

fn audited(
    py: Python<'_>,
    label: PathBuf,
    bytes: Vec<u8>,
    plans: &[Typing<'_>],
    rank: Option<&str>,
) -> PyResult<Audit> {
    let plans: Vec<NamedPlan> =
        plans.iter().map(|(fields, plan)| NamedPlan { fields: fields.clone(), plan: plan.plan.clone() }).collect();
    let fields = rank.map(str::parse).transpose().map_err(crate::error::of_core)?;
    let report = || -> anyhow::Result<AuditReport> {
        let model = Model::new(Checkpoint::from_bytes(label, bytes)?);
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
