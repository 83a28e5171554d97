//! What the commands say: as text, JSON and HTML.

mod html;
mod json;
mod table;
mod text;

pub(crate) use html::html;
pub(crate) use json::json;
pub(crate) use text::{projected, text};

use std::io::IsTerminal;

use reynolds::audit::{LayerAudit, Total, ranking::Ranked};
use reynolds::plan::{Role, Untyped};

/// One model through one typing.
pub(crate) struct AuditReport {
    pub(crate) group: String,
    pub(crate) fields: String,
    pub(crate) layers: Vec<LayerAudit>,
    pub(crate) untyped: Vec<Untyped>,
    pub(crate) total: Total,
}

/// Groups compared on tensors of one kind.
pub(crate) struct RankSection {
    pub(crate) what: String,
    /// Which group the tensors have, in one line.
    pub(crate) verdict: String,
    /// The groups, the best first; none where there was nothing to compare.
    pub(crate) ranked: Vec<Ranked>,
}

/// A tensor before and after projection.
pub(crate) struct Projected {
    pub(crate) name: String,
    pub(crate) shape: Vec<usize>,
    pub(crate) role: Role,
    /// ‖W‖.
    pub(crate) norm: f64,
    /// How far it was moved.
    pub(crate) moved: f64,
}

/// What the table and JSON say of the worst defect.
const DEFECT_NOTE: &str = "worst = largest defect over the group (of a band-limited layer: over the part of it that the grid has), in \
                           kernel-Frobenius norm, not an operator bound";

/// Four decimals, or scientific where those would hide it.
fn number(value: f64) -> String {
    let plain = value == 0.0 || (1e-3..1e5).contains(&value.abs());
    if plain { format!("{value:.4}") } else { format!("{value:.3e}") }
}

/// The worst defect: one number where it is exact, else both ends of its bracket.
fn bracket(layer: &LayerAudit) -> String {
    let Some(worst) = &layer.worst else { return String::new() };
    let (lower, upper) = (worst.bracket.lower, worst.bracket.upper);
    if lower == upper { number(upper) } else { format!("{}..{}", number(lower), number(upper)) }
}

fn fields(layer: &LayerAudit) -> String {
    match layer.domain.is_empty() {
        true => layer.codomain.clone(),
        false => format!("{} -> {}", layer.domain, layer.codomain),
    }
}

fn shape(shape: &[usize]) -> String {
    shape.iter().map(ToString::to_string).collect::<Vec<_>>().join("x")
}

/// One line for each reason, with the number of tensors and the first names.
pub(crate) fn by_reason(untyped: &[Untyped]) -> Vec<String> {
    let mut reasons: Vec<(&str, Vec<&str>)> = Vec::new();
    for tensor in untyped {
        match reasons.iter_mut().find(|(reason, _)| *reason == tensor.reason) {
            Some((_, names)) => names.push(&tensor.name),
            None => reasons.push((&tensor.reason, vec![&tensor.name])),
        }
    }
    let line = |(reason, names): (&str, Vec<&str>)| {
        let more = if names.len() > 3 { format!(", … {} in all", names.len()) } else { String::new() };
        format!("{}{more}: {reason}", names.iter().take(3).copied().collect::<Vec<_>>().join(", "))
    };
    reasons.into_iter().map(line).collect()
}

/// The same in one line, for an error.
pub(crate) fn reasons(untyped: &[Untyped]) -> String {
    by_reason(untyped).join("; ")
}

/// Whether to colour standard output.
pub(crate) fn colour() -> bool {
    std::io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none()
}
