//! Figures of lines: errors over the steps of a rollout, the sweep of λ_⊥, validation curves.

use super::*;
use crate::targets::curves::{points, sheet};

const GREY: Colour = Colour(0x77, 0x77, 0x77);

/// The columns of these cells, once each.
fn legend(cells: &[Cell<'_>]) -> Vec<Key> {
    let shown = COLUMNS.into_iter().filter(|column| cells.iter().any(|cell| cell.column == *column));
    shown.map(|column| Key::Line(column.colour, column.reg, column.head.into())).collect()
}

/// The mean over runs of an array, entry by entry; runs without it do not count.
fn mean(cell: &Cell<'_>, name: &str) -> Vec<f64> {
    let arrays = cell.runs.iter().map(|(_, run)| run.array(name));
    let arrays: Vec<&[f32]> = arrays.filter(|array| !array.is_empty()).collect();
    let length = arrays.iter().map(|array| array.len()).min().unwrap_or(0);
    let at = |place: usize| arrays.iter().map(|array| f64::from(array[place])).sum::<f64>() / arrays.len() as f64;
    (0..length).map(at).collect()
}

/// (1, first), (2, second), …
fn numbered(values: Vec<f64>) -> Vec<[f64; 2]> {
    values.into_iter().enumerate().map(|(place, value)| [(place + 1) as f64, value]).collect()
}

/// Errors over the steps of the tests' rollouts.
pub(super) fn by_step(settings: &TableSettings, cells: &[Cell<'_>]) -> Figure {
    let mut sheet = sheet();
    for kind in settings.kinds.iter() {
        let row: Vec<&Cell<'_>> = cells.iter().filter(|cell| cell.kind == kind).collect();
        for test in Subset::TESTS.into_iter().filter(|_| !row.is_empty()) {
            let of = |cell: &Cell<'_>, what: &str| numbered(mean(cell, &format!("by_step/{}/{what}", test.name())));
            let mut chart = LineChart::new("step of the rollout", "RMSE");
            for cell in &row {
                chart.line(&of(cell, "rmse"), cell.column.colour, cell.column.reg);
            }
            let trivial = row.iter().map(|cell| of(cell, "persistence")).find(|points| !points.is_empty());
            chart.line(&trivial.unwrap_or_default(), GREY, false);
            sheet.add(format!("{kind}, {test:?}"), chart, Vec::new());
        }
    }
    sheet.legend = legend(cells);
    sheet.legend.push(Key::Line(GREY, false, "persistence".into()));
    let caption = format!(
        "RMSE at each step of the tests' rollouts, mean over {}. Dashed: with +Reg, at the selected λ_⊥.",
        seeds(settings.seeds)
    );
    Figure { name: "error-by-step", svg: sheet.svg(), caption }
}

/// Validation error over epochs, first seed.
pub(super) fn validation(settings: &TableSettings, cells: &[Cell<'_>]) -> Figure {
    let mut sheet = sheet();
    for kind in settings.kinds.iter() {
        let mut row = cells.iter().filter(|cell| cell.kind == kind).peekable();
        if row.peek().is_none() {
            continue;
        }
        let mut chart = LineChart::new("epoch", "validation RMSE");
        for cell in row {
            let run = cell.runs.first().expect("a cell has runs");
            chart.line(&points(run, "validation/rmse"), cell.column.colour, cell.column.reg);
        }
        sheet.add(kind.to_string(), chart, Vec::new());
    }
    sheet.legend = legend(cells);
    let caption = "Validation RMSE over the epochs of training, the first seed of each cell. All seeds and the whole sweep are in \
                   validation_curves.csv."
        .into();
    Figure { name: "validation", svg: sheet.svg(), caption }
}

/// The sweep of λ_⊥ with the first seed, the network without +Reg at the left; `None` if no column with +Reg was run.
pub(super) fn sweep(settings: &TableSettings, models: &Frame, cells: &[Cell<'_>]) -> Option<Figure> {
    let shown = [
        ("validation/rmse".to_string(), Colour::NAVY, false, "validation"),
        (metric(Subset::Future, "rmse"), Colour::ORANGE, false, "Future"),
        (metric(Subset::Domain, "rmse"), Colour::RED, false, "Domain"),
        ("validation/weights/relative_distance".to_string(), Colour::BLUE, true, "‖W − P(W)‖/‖W‖"),
    ];
    let mut sheet = sheet();
    let with: Vec<&Cell<'_>> = cells.iter().filter(|cell| cell.column.reg).collect();
    for cell in &with {
        let points = sweep_of(settings, models, cell.kind, cell.column);
        let mut chart = LineChart::new("λ_⊥", "RMSE, and the part that breaks the symmetry");
        for (metric, colour, dashed, _) in &shown {
            let line = numbered(points.iter().map(|(_, run)| run.metric(metric)).collect());
            chart.line(&line, *colour, *dashed);
        }
        chart.ticks(points.iter().enumerate().map(|(at, (label, _))| ((at + 1) as f64, label.clone())).collect());
        let note = format!("selected: λ_⊥ = {}", strength(cell.lambda_perp));
        sheet.add(format!("{}, {}", cell.kind, cell.column.head), chart, vec![note]);
    }
    sheet.legend = shown.map(|(_, colour, dashed, name)| Key::Line(colour, dashed, name.into())).to_vec();
    let caption = "RMSE, and ‖W − P(W)‖/‖W‖ of the relaxed layers, over λ_⊥, first seed. Leftmost the same network without +Reg, under its own constraint α. Selection looks at the \
                   validation error alone, whose rollouts are those of the loss and shorter than the tests'."
        .into();
    (!with.is_empty()).then(|| Figure { name: "lambda-sweep", svg: sheet.svg(), caption })
}

/// Runs by label: without +Reg if it was run, then each λ_⊥ from the weakest on.
fn sweep_of<'a>(
    settings: &TableSettings,
    models: &'a Frame,
    kind: Symmetry,
    column: Column,
) -> Vec<(String, &'a Trained)> {
    let find = |column, lambda| models.find(&settings.point(kind, column, lambda, settings.run.seed));
    let without = column.without_penalty().and_then(|plain| Some(("without".to_string(), find(plain, 0.0)?)));
    let lambdas = settings.lambda_perp.increasing().into_iter();
    without.into_iter().chain(lambdas.filter_map(|lambda| Some((strength(lambda), find(column, lambda)?)))).collect()
}

#[cfg(test)]
mod tests {
    use super::super::cells::cells;
    use super::super::tests::{models, run, settings};
    use super::*;
    use crate::smoke::networks::Architecture::Rsteer;

    #[test]
    fn every_column_is_a_line_in_each_test() {
        let settings = settings("rotation", "conv,rsteer,rsteer+reg", 2);
        let models = models(&settings, |_| run(0.75, 0.5));
        let cells = cells(&settings, &models);
        // A line and its dots for each column and for persistence, in two panels, and one each in the legend.
        assert_eq!(by_step(&settings, &cells).svg.matches("<path").count(), 4 * (2 * 2 + 1));
        assert_eq!(validation(&settings, &cells).svg.matches("<path").count(), 3 * (2 + 1));
        assert!(by_step(&settings, &[]).svg.starts_with("<svg"));
    }

    #[test]
    fn the_sweep_begins_without_the_penalty_and_rises() {
        let settings = settings("rotation", "rsteer,rsteer+reg", 1);
        let models = models(&settings, |_| run(0.75, 0.5));
        let points = sweep_of(&settings, &models, Symmetry::Rotation, Column::of(Rsteer, true));
        let labels: Vec<&str> = points.iter().map(|(label, _)| label.as_str()).collect();
        assert_eq!(labels, ["without", "1e-6", "1e-4", "1e-2"]);
        let cells = cells(&settings, &models);
        assert!(sweep(&settings, &models, &cells).unwrap().svg.contains("selected"));
        assert!(sweep(&settings, &models, &cells[..1]).is_none());
    }
}
