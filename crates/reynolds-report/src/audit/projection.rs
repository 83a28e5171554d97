//! What a projection changed, on a terminal.

use reynolds::plan::Role;

use super::{number, shape};
use crate::Table;
use crate::terminal::{printable, width};

/// The share of ‖W‖ beyond which a reader is warned that the network will compute something else.
const FAR: f64 = 0.3;

/// A checkpoint before and after W ← P(W).
#[derive(Debug, Clone)]
pub struct ProjectionReport {
    /// The file read.
    pub from: String,
    /// The file written.
    pub to: String,
    /// Whether that file existed before.
    pub replaced: bool,
    /// The group projected onto.
    pub group: String,
    /// The tensors that were projected.
    pub tensors: Vec<ProjectedTensor>,
    /// What may still break equivariance.
    pub broken: Vec<String>,
}

/// A tensor before and after projection.
#[derive(Debug, Clone)]
pub struct ProjectedTensor {
    /// Its name.
    pub name: String,
    /// Its shape.
    pub shape: Vec<usize>,
    /// What it is to its layer.
    pub role: Role,
    /// ‖W‖.
    pub norm: f64,
    /// How far it was moved.
    pub moved: f64,
}

impl ProjectionReport {
    /// The report for a terminal.
    pub fn text(&self, colour: bool) -> String {
        let mut table = Table::new(["tensor", "shape", "role", "‖W‖", "moved", "of ‖W‖"]);
        table.left_columns(3).spare([2, 1]);
        let share = |moved: f64, norm: f64| format!("{:.2} %", if norm > 0.0 { 100.0 * moved / norm } else { 0.0 });
        for ProjectedTensor { name, shape: sizes, role, norm, moved } in &self.tensors {
            let numbers = [number(*norm), number(*moved), share(*moved, *norm)];
            table.row([name.clone(), shape(sizes), role.name().into()].into_iter().chain(numbers));
        }
        let over_all = |of: fn(&ProjectedTensor) -> f64| self.tensors.iter().map(|t| of(t).powi(2)).sum::<f64>().sqrt();
        let (norm, moved) = (over_all(|t| t.norm), over_all(|t| t.moved));
        let head = [format!("total of {} tensors", self.tensors.len()), String::new(), String::new()];
        table.row(head.into_iter().chain([number(norm), number(moved), share(moved, norm)]));
        let [from, to] = [&self.from, &self.to].map(|path| printable(path));
        let replaced = if self.replaced { " (replaced)" } else { "" };
        let mut text =
            format!("{from} -> {to}{replaced}, onto {}\n\n{}", self.group, table.fitted(width()).text(colour));
        if moved > FAR * norm {
            text += &format!(
                "\nThe projection moved {:.0} % of ‖W‖: expect the accuracy to be lost; train with the penalty first, or go only part of the way (--blend)\n",
                100.0 * moved / norm
            );
        }
        if !self.broken.is_empty() {
            text += "\nWhat may still break equivariance:\n";
            self.broken.iter().for_each(|line| text += &format!("  {}\n", printable(line)));
        }
        text
    }
}
