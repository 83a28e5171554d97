//! The tables of an audit, for terminals and for pages.

use reynolds::audit::ranking::{Ranking, probability};
use reynolds::audit::{IrrepShare, LayerAudit, Total};

use super::{Typed, all_layers, is_constant, number, shape, share};
use crate::cell::{Cell, MarkedBar, Tone};
use crate::table::Table;

/// A row for each layer, with the largest `shares` irreps in which the defect lies.
pub(super) fn layers<'a>(typed: &Typed, layers: impl Iterator<Item = &'a LayerAudit>, shares: usize) -> Table {
    let heads = "layer, shape, fields, W−P(W) lies in, ‖W‖, energy, chance, dim, excess, ‖W−P(W)‖, worst";
    let mut table = Table::new(heads.split(", "));
    table.left_columns(4).sortable().spare([3, 2, 4, 7, 9, 6]);
    for layer in layers {
        let mut row: Vec<Cell> =
            vec![layer.tensor.name.as_str().into(), shape(&layer.tensor.shape).into(), fields(layer).into()];
        if let Some((index, value)) = &layer.not_finite {
            row.push(Cell::from(format!("{value} at {index}")).toned(Tone::Bad));
        } else if layer.tensor.acts_trivially() {
            row.extend(["fixed by the group".into(), number(layer.norm()).into()]);
        } else {
            row.extend([
                largest_shares(layer, shares).into(),
                number(layer.norm()).into(),
                energy(layer.energy(), layer.excess()).sorted_by(layer.energy()).with_bar(bar(layer)),
                layer.chance.map_or_else(String::new, |chance| format!("{chance:.4}")).into(),
                format!("{:.4}", layer.dimension_share()).into(),
                format!("{:.4}", layer.excess()).into(),
                number(layer.distance()).into(),
                worst(layer, &typed.group),
            ]);
        }
        row.resize(11, Cell::default());
        table.row(row);
    }
    table
}

/// The last row of [`layers`], for all weights together.
pub(super) fn total(typed: &Typed) -> [Cell; 11] {
    let total = &typed.total;
    // Where a layer has no chance, the total would mix two kinds of it.
    let has_chance =
        typed.layers.iter().all(|layer| layer.chance.is_some() || layer.tensor.acts_trivially() || layer.norm() == 0.0);
    [
        Cell::from(all_layers(total)).toned(Tone::Strong),
        "".into(),
        "".into(),
        "".into(),
        number(total.energies.total().sqrt()).into(),
        total_energy(total),
        share(total.energy().filter(|_| has_chance).map(|_| total.chance)).into(),
        share(total.energy().map(|_| total.dimension_share)).into(),
        share(total.excess()).into(),
        number(total.energies.perp.sqrt()).into(),
        "".into(),
    ]
}

/// Layers under both uniform typings, side by side.
pub(super) fn side_by_side(trivial: &Typed, regular: &Typed) -> Table {
    let mut table =
        Table::new(["layer", "shape", "trivial: energy", "chance", "excess", "regular: energy", "chance", "excess"]);
    table.left_columns(2).spare([1, 3, 6]);
    let cells = |layer: Option<&LayerAudit>| -> [Cell; 3] {
        match layer {
            Some(layer) if !layer.tensor.acts_trivially() && layer.not_finite.is_none() => [
                energy(layer.energy(), layer.excess()),
                format!("{:.4}", layer.chance.unwrap_or(layer.dimension_share())).into(),
                format!("{:.4}", layer.excess()).into(),
            ],
            Some(layer) if layer.tensor.acts_trivially() => ["fixed".into(), "".into(), "".into()],
            Some(_) => [Cell::from("not finite").toned(Tone::Bad), "".into(), "".into()],
            None => ["does not fit".into(), "".into(), "".into()],
        }
    };
    let both = [trivial, regular];
    let find = |typed: &'_ Typed, name: &str| typed.layers.iter().position(|layer| layer.tensor.name == name);
    let only_regular = regular.layers.iter().filter(|layer| find(trivial, &layer.tensor.name).is_none());
    for layer in trivial.layers.iter().chain(only_regular).filter(|layer| !is_constant(layer)) {
        let found = both.map(|typed| cells(find(typed, &layer.tensor.name).map(|at| &typed.layers[at])));
        let row: [Cell; 2] = [layer.tensor.name.as_str().into(), shape(&layer.tensor.shape).into()];
        table.row(row.into_iter().chain(found.into_iter().flatten()));
    }
    let of_total = |total: &Total| -> [Cell; 3] {
        let chance = total.energy().map(|_| total.chance);
        [total_energy(total), share(chance).into(), share(total.excess()).into()]
    };
    let row = [Cell::from("all layers").toned(Tone::Strong), "".into()];
    table.row(row.into_iter().chain(both.into_iter().flat_map(|typed| of_total(&typed.total))));
    table
}

/// Candidates, the largest z first.
pub(super) fn candidates(ranking: &Ranking) -> Table {
    let heads = ["group", "indistinguishable from", "energy", "chance", "excess", "z", "p"];
    let mut table = Table::new(heads);
    table.left_columns(2).sortable().spare([3, 4]);
    for row in &ranking.groups {
        let total = &row.total;
        table.row([
            row.group.as_str().into(),
            row.same_as.join(", ").into(),
            total_energy(total),
            share(total.energy().map(|_| total.chance)).into(),
            share(total.excess()).into(),
            deviation(row.z),
            probability(row.p).into(),
        ]);
    }
    table
}

/// The group of each tensor.
pub(super) fn found(ranking: &Ranking) -> Table {
    let mut table = Table::new(["layer", "group", "z", "p"]);
    table.left_columns(2).sortable();
    for (name, found) in &ranking.layers {
        let names: Vec<&str> = found.group.iter().chain(&found.same_as).map(String::as_str).collect();
        let group = if names.is_empty() { "none beyond chance".into() } else { names.join(" = ") };
        table.row([name.as_str().into(), group.into(), deviation(found.z), probability(found.p).into()]);
    }
    table
}

fn deviation(z: Option<f64>) -> Cell {
    z.map_or_else(|| "–".into(), |z| format!("{z:.1}")).into()
}

fn energy(value: f64, excess: f64) -> Cell {
    let tone = if excess > 0.9 {
        Tone::Good
    } else if excess > 0.1 {
        Tone::Fair
    } else {
        Tone::Bad
    };
    Cell::from(format!("{value:.4}")).toned(tone)
}

fn total_energy(total: &Total) -> Cell {
    total.energy().zip(total.excess()).map_or_else(|| share(None).into(), |(value, excess)| energy(value, excess))
}

/// The energy, with the energy to expect by chance as its mark.
fn bar(layer: &LayerAudit) -> MarkedBar {
    let (class, mark, what) = match layer.chance {
        Some(chance) => ("signs", chance, "random signs"),
        None => ("dim", layer.dimension_share(), "dim Hom_G/dim Hom"),
    };
    MarkedBar { share: layer.energy(), mark, class, title: format!("{what}: {mark:.4}") }
}

/// The worst defect: one number if it is known up to rounding, else both ends of its bracket; with its group if that is not the group of the audit.
fn worst(layer: &LayerAudit, group: &str) -> Cell {
    let Some(worst) = &layer.worst else { return Cell::default() };
    let (lower, upper) = (worst.bracket.lower, worst.bracket.upper);
    const ROUNDING: f64 = 1e-4;
    let range =
        if upper - lower <= ROUNDING * upper { number(upper) } else { format!("{}..{}", number(lower), number(upper)) };
    let over = if worst.group == group { String::new() } else { format!(" over {}", worst.group) };
    Cell::from(range + &over).sorted_by(upper)
}

fn fields(layer: &LayerAudit) -> String {
    match layer.tensor.domain.is_empty() {
        true => layer.tensor.codomain.clone(),
        false => format!("{} -> {}", layer.tensor.domain, layer.tensor.codomain),
    }
}

fn largest_shares(layer: &LayerAudit, most: usize) -> String {
    let share = |s: &IrrepShare| format!("{} {:.0} %", s.irrep, 100.0 * s.square / layer.energies.perp);
    layer.isotypic.iter().take(most).map(share).collect::<Vec<_>>().join(", ")
}
