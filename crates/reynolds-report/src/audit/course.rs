//! Several checkpoints of one network: how symmetry comes and goes in training.

use reynolds::audit::LayerAudit;

use super::{Typed, number, share, typing};
use crate::chart::{Chart, Series};
use crate::page::Report;
use crate::table::Table;
use crate::terminal::{self, printable};

/// One typing of several checkpoints, in the order of training.
#[derive(Debug, Clone)]
pub struct Course {
    /// Files and what was measured in each.
    pub checkpoints: Vec<(String, Typed)>,
}

/// Lines of a chart; beyond them the layers that changed most are drawn.
const MOST_LINES: usize = 12;

impl Course {
    /// The course for a terminal: a row for each checkpoint.
    pub fn text(&self, colour: bool) -> String {
        let Some((_, first)) = self.checkpoints.first() else { return String::new() };
        let head =
            format!("{} checkpoints under {}, {}\n\n", self.checkpoints.len(), first.group, typing(&first.fields));
        printable(head.trim_end()) + "\n\n" + &self.table().fitted(terminal::width()).text(colour)
    }

    fn table(&self) -> Table {
        let mut table = Table::new(["checkpoint", "layers", "energy", "chance", "excess", "‖W‖", "‖W−P(W)‖"]);
        table.left_columns(1).sortable().spare([1, 5, 3]);
        for (file, typed) in &self.checkpoints {
            let total = &typed.total;
            table.row([
                printable(file),
                total.layers.to_string(),
                share(total.energy()),
                share(total.energy().map(|_| total.chance)),
                share(total.excess()),
                number(total.energies.total().sqrt()),
                number(total.energies.perp.sqrt()),
            ]);
        }
        table
    }

    /// The course as a page: energy and defect of each layer over the checkpoints.
    pub fn page(&self) -> Report {
        let mut page = Report::new("Symmetry in the course of training");
        let Some((_, first)) = self.checkpoints.first() else { return page };
        let of = |end: Option<&(String, Typed)>| end.and_then(|(_, typed)| typed.total.energy());
        let ends = [of(self.checkpoints.first()), of(self.checkpoints.last())].map(share);
        page.verdict(&[format!(
            "{}, {}: energy {} in the first of {} checkpoints, {} in the last.",
            first.group,
            typing(&first.fields),
            ends[0],
            self.checkpoints.len(),
            ends[1]
        )]);
        page.charts(&[
            self.chart("energy ‖P(W)‖²/‖W‖²", LayerAudit::energy, Typed::total_energy),
            self.chart("excess over random signs", LayerAudit::excess, |typed| typed.total.excess()),
            self.chart("defect ‖W−P(W)‖/‖W‖", relative, |typed| {
                typed.total.energy().map(|energy| (1.0 - energy).max(0.0).sqrt())
            }),
        ]);
        page.section("Checkpoints").table(self.table());
        page
    }

    /// A quantity of all layers together and of each, over the number of the checkpoint.
    fn chart(&self, title: &str, of: impl Fn(&LayerAudit) -> f64, whole: impl Fn(&Typed) -> Option<f64>) -> Chart {
        let points = |of: &dyn Fn(&Typed) -> Option<f64>| -> Vec<(f64, f64)> {
            let point = |(at, (_, typed)): (usize, &(String, Typed))| (at as f64, of(typed).unwrap_or(f64::NAN));
            self.checkpoints.iter().enumerate().map(point).collect()
        };
        let all = Series { name: "all layers".into(), points: points(&whole) };
        let names = self.checkpoints.first().map(|(_, typed)| &typed.layers).into_iter().flatten();
        let mut lines: Vec<Series> = names
            .filter(|layer| layer.counts())
            .map(|layer| {
                let name = &layer.tensor.name;
                let find = |typed: &Typed| {
                    typed.layers.iter().find(|l| l.tensor.name == *name && l.not_finite.is_none()).map(&of)
                };
                Series { name: name.clone(), points: points(&find) }
            })
            .collect();
        if lines.len() > MOST_LINES {
            lines.sort_by(|a, b| spread(b).total_cmp(&spread(a)));
            lines.truncate(MOST_LINES);
        }
        Chart { title: title.into(), across: "checkpoint".into(), series: [vec![all], lines].concat() }
    }
}

impl Typed {
    fn total_energy(&self) -> Option<f64> {
        self.total.energy()
    }
}

fn relative(layer: &LayerAudit) -> f64 {
    (1.0 - layer.energy()).max(0.0).sqrt()
}

/// Largest minus least value.
fn spread(series: &Series) -> f64 {
    let values = || series.points.iter().map(|point| point.1).filter(|value| value.is_finite());
    values().fold(f64::NEG_INFINITY, f64::max) - values().fold(f64::INFINITY, f64::min)
}
