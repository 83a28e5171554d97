//! Tables for the terminal.

use std::fmt::Write;

use reynolds::audit::{LayerAudit, Total};
use reynolds::plan::Role;

use super::table::{Cell, table};
use super::{AuditReport, DEFECT_NOTE, Projected, RankSection, bracket, by_reason, fields, shape};
use crate::args::ProjectArgs;
use reynolds_report::terminal::printable;

const RED: u8 = 31;
const GREEN: u8 = 32;
const YELLOW: u8 = 33;

/// The whole report of an audit.
pub(crate) fn text(file: &str, audits: &[AuditReport], ranking: &[RankSection], colour: bool) -> String {
    let (mut text, file) = (String::new(), printable(file));
    match audits {
        [trivial, regular] => {
            // Writing to a string cannot fail, here and below.
            let _ = writeln!(
                text,
                "{file} under {}, channels taken for scalars (trivial) and for regular fields",
                trivial.group
            );
            text += "Neither is known: choose one with --fields, or type layers with --plan.\n\n";
            text += &side_by_side(trivial, regular, colour);
        }
        _ => {
            for audit in audits {
                let _ = writeln!(text, "{file} under {}, {} fields\n", audit.group, audit.fields);
                text += &one(audit, colour);
            }
        }
    }
    if !audits.is_empty() {
        let _ = writeln!(
            text,
            "\nenergy = ‖P(W)‖²/‖W‖²; chance = the same magnitudes with random signs; excess = (energy − chance)/(1 − chance)"
        );
        let _ = writeln!(text, "{DEFECT_NOTE}");
    }
    for audit in audits {
        text += &remarks(audit, audits.len() > 1);
    }
    for section in ranking {
        let _ = writeln!(text, "\nWhich symmetry? {}\n{}", section.what, section.verdict);
        if !section.ranked.is_empty() {
            text.push('\n');
            text += &ranked(section, colour);
        }
    }
    text
}

fn energy(value: f64, excess: f64) -> Cell {
    let colour = if excess > 0.9 {
        GREEN
    } else if excess > 0.1 {
        YELLOW
    } else {
        RED
    };
    Cell::coloured(format!("{value:.4}"), colour)
}

fn total_energy(total: &Total) -> Cell {
    total.energy().zip(total.excess()).map_or_else(|| share(None), |(value, excess)| energy(value, excess))
}

/// A share, or a dash where nothing was measured.
fn share(value: Option<f64>) -> Cell {
    value.map_or_else(|| "–".into(), |value| format!("{value:.4}").into())
}

fn number(value: f64) -> Cell {
    super::number(value).into()
}

/// Whether it is a bias or norm parameter that breaks nothing: only counted, not listed.
fn is_constant(layer: &LayerAudit) -> bool {
    let within_rounding = layer.not_finite.is_none() && layer.distance() <= 1e-6 * layer.norm();
    layer.role != Role::Weight && within_rounding
}

fn largest_share(layer: &LayerAudit) -> String {
    let share = |s: &reynolds::audit::Share| format!("{} {:.0} %", s.irrep, 100.0 * s.square / layer.energies.perp);
    layer.isotypic.first().map(share).unwrap_or_default()
}

fn one(audit: &AuditReport, colour: bool) -> String {
    let head =
        ["layer", "shape", "fields", "defect in", "‖W‖", "energy", "chance", "dim", "excess", "‖W−P(W)‖", "worst"];
    let mut rows = Vec::new();
    for layer in audit.layers.iter().filter(|layer| !is_constant(layer)) {
        let mut row: Vec<Cell> = vec![layer.name.as_str().into(), shape(&layer.shape).into(), fields(layer).into()];
        if let Some((index, value)) = &layer.not_finite {
            row.push(Cell::coloured(format!("{value} at {index}"), RED));
            row.extend((0..7).map(|_| Cell::from("")));
        } else if layer.acts_trivially {
            row.push("fixed by the group".into());
            row.extend([number(layer.norm())].into_iter().chain((0..6).map(|_| Cell::from(""))));
        } else {
            row.push(largest_share(layer).into());
            row.extend([
                number(layer.norm()),
                energy(layer.energy(), layer.excess()),
                layer.random_signs.map_or("".into(), |chance| format!("{chance:.4}").into()),
                format!("{:.4}", layer.chance).into(),
                format!("{:.4}", layer.excess()).into(),
                number(layer.distance()),
                bracket(layer).into(),
            ]);
        }
        rows.push(row);
    }
    let total = &audit.total;
    rows.push(vec![
        Cell::coloured(format!("all {} weights", total.layers), 1),
        format!("{}", total.weights).into(),
        "".into(),
        "".into(),
        number(total.energies.total().sqrt()),
        total_energy(total),
        share(total.energy().map(|_| total.random_signs)),
        share(total.energy().map(|_| total.chance)),
        share(total.excess()),
        number(total.energies.perp.sqrt()),
        "".into(),
    ]);
    table(&head, 4, rows, colour)
}

fn side_by_side(trivial: &AuditReport, regular: &AuditReport, colour: bool) -> String {
    let head = ["layer", "shape", "trivial: energy", "chance", "excess", "regular: energy", "chance", "excess"];
    let cells = |layer: Option<&LayerAudit>| -> Vec<Cell> {
        match layer {
            Some(layer) if !layer.acts_trivially && layer.not_finite.is_none() => vec![
                energy(layer.energy(), layer.excess()),
                format!("{:.4}", layer.random_signs.unwrap_or(layer.chance)).into(),
                format!("{:.4}", layer.excess()).into(),
            ],
            Some(layer) if layer.acts_trivially => vec!["fixed".into(), "".into(), "".into()],
            Some(_) => vec![Cell::coloured("not finite", RED), "".into(), "".into()],
            None => vec!["does not fit".into(), "".into(), "".into()],
        }
    };
    let mut rows = Vec::new();
    let mut names: Vec<&LayerAudit> = trivial.layers.iter().collect();
    names.extend(regular.layers.iter().filter(|layer| !trivial.layers.iter().any(|other| other.name == layer.name)));
    for layer in names.into_iter().filter(|layer| !is_constant(layer)) {
        let find = |audit: &'_ AuditReport| audit.layers.iter().position(|other| other.name == layer.name);
        let mut row: Vec<Cell> = vec![layer.name.as_str().into(), shape(&layer.shape).into()];
        row.extend(cells(find(trivial).map(|at| &trivial.layers[at])));
        row.extend(cells(find(regular).map(|at| &regular.layers[at])));
        rows.push(row);
    }
    let mut row: Vec<Cell> = vec![Cell::coloured("all weights", 1), "".into()];
    for total in [&trivial.total, &regular.total] {
        row.push(total_energy(total));
        row.push(share(total.energy().map(|_| total.random_signs)));
        row.push(share(total.excess()));
    }
    rows.push(row);
    table(&head, 2, rows, colour)
}

fn remarks(audit: &AuditReport, name_fields: bool) -> String {
    let mut text = String::new();
    let prefix = if name_fields { format!("{}: ", audit.fields) } else { String::new() };
    for layer in &audit.layers {
        for note in &layer.notes {
            let _ = writeln!(text, "{prefix}{}: {}", printable(&layer.name), printable(note));
        }
    }
    let constant = audit.layers.iter().filter(|layer| is_constant(layer)).count();
    if constant > 0 {
        let _ = writeln!(text, "{prefix}{constant} biases and norm parameters are constant inside fields");
    }
    for line in by_reason(&audit.untyped) {
        let _ = writeln!(text, "{prefix}not measured: {}", printable(&line));
    }
    if text.is_empty() { text } else { format!("\n{text}") }
}

fn ranked(section: &RankSection, colour: bool) -> String {
    let rows = section.ranked.iter().map(|row| {
        let total = &row.total;
        let same = match row.same_as.is_empty() {
            true => String::new(),
            false => format!("indistinguishable from {}", row.same_as.join(", ")),
        };
        vec![
            row.group.as_str().into(),
            same.into(),
            total_energy(total),
            share(total.energy().map(|_| total.random_signs)),
            share(total.excess()),
        ]
    });
    table(&["group", "", "energy", "chance", "excess"], 2, rows.collect(), colour)
}

/// The report of a projection.
pub(crate) fn projected(args: &ProjectArgs, group: &str, rows: &[Projected], broken: &[String]) -> String {
    let mut lines = Vec::new();
    let (mut norm, mut moved) = (0.0, 0.0);
    for row in rows {
        norm += row.norm * row.norm;
        moved += row.moved * row.moved;
        let share = if row.norm > 0.0 { row.moved / row.norm } else { 0.0 };
        lines.push(vec![
            row.name.as_str().into(),
            shape(&row.shape).into(),
            row.role.name().into(),
            number(row.norm),
            number(row.moved),
            format!("{:.2} %", 100.0 * share).into(),
        ]);
    }
    let share = if norm > 0.0 { (moved / norm).sqrt() } else { 0.0 };
    lines.push(vec![
        format!("total of {} tensors", rows.len()).into(),
        "".into(),
        "".into(),
        number(norm.sqrt()),
        number(moved.sqrt()),
        format!("{:.2} %", 100.0 * share).into(),
    ]);
    let head = ["tensor", "shape", "role", "‖W‖", "moved", "of ‖W‖"];
    let [from, to] = [&args.model, &args.out].map(|path| printable(&path.display().to_string()));
    let mut text = format!("{from} -> {to}, onto {group}\n\n");
    text += &table(&head, 3, lines, super::colour());
    if !broken.is_empty() {
        text += "\nWhat may still break equivariance:\n";
        broken.iter().for_each(|line| text += &format!("  {}\n", printable(line)));
    }
    text
}
