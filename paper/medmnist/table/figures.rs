//! Test accuracies with error bars; validation accuracy and training loss over the epochs.

use super::settings::Table;
use super::*;
use crate::targets::curves::points;

const PANELS: [(&str, &str); 2] = [("validation/accuracy", "validation accuracy"), ("train/loss", "training loss")];

fn style(row: Row) -> (Colour, bool) {
    let colour = match row.architecture {
        Architecture::Cnn => Colour(0x33, 0x33, 0x33),
        Architecture::Scnn => Colour(0xd5, 0x5e, 0x00),
        Architecture::Rpp => Colour(0xcc, 0x79, 0xa7),
        Architecture::Pscnn => Colour(0x00, 0x9e, 0x73),
        Architecture::Ours => Colour(0x00, 0x5a, 0xa0),
    };
    (colour, row.group == Symmetry::O3)
}

/// Accuracies with their spread, then curves of the first seed: a row of panels for each set.
pub(super) fn convergence(own: &Table, cells: &[Cell<'_>]) -> Vec<Figure> {
    let mut bars = sheet();
    let mut curves = sheet();
    for set in own.sets.iter() {
        let of_set: Vec<&Cell<'_>> = cells.iter().filter(|cell| cell.run.set() == set).collect();
        add_accuracies(&mut bars, own, set, &of_set);
        for (metric, up) in PANELS {
            let mut chart = LineChart::new("epoch", up);
            chart.free_y_axis();
            for cell in &of_set {
                let (colour, dashed) = style(cell.row());
                let curve = cell.runs.first().map(|run| points(run, metric)).unwrap_or_default();
                chart.line(&curve, colour, dashed);
            }
            curves.add(set.head(), chart, Vec::new());
        }
    }
    let key = |row: Row| Key::Line(style(row).0, style(row).1, row.label());
    let figure = |name, mut sheet: Sheet, caption: &str| {
        sheet.legend = own.rows.iter().map(key).collect();
        Figure { name, svg: sheet.svg(), caption: caption.into() }
    };
    vec![
        figure("accuracy", bars, "Test accuracy, mean ± standard deviation over seeds, of every row and set."),
        figure(
            "convergence",
            curves,
            "Validation accuracy and training loss over the epochs, the first seed of each row; all seeds are in validation_curves.csv.",
        ),
    ]
}

fn add_accuracies(sheet: &mut Sheet, own: &Table, set: Set, cells: &[&Cell<'_>]) {
    let mut chart = LineChart::new("row", "test accuracy");
    chart.free_y_axis();
    for cell in cells {
        let place = own.rows.iter().position(|row| row == cell.row()).unwrap_or_default() as f64;
        let (accuracy, (colour, dashed)) = (cell.accuracy(), style(cell.row()));
        // Half a place wide, so that one number can be seen.
        let points = [-0.3, 0.0, 0.3].map(|aside| [place + aside, accuracy.mean()]);
        chart.line_with_bars(&points, &[0.0, accuracy.deviation(), 0.0], colour, dashed);
    }
    let name = |row: Row| row.name().replace("pscnn", "P");
    chart.ticks(own.rows.iter().enumerate().map(|(place, row)| (place as f64, name(row))).collect());
    sheet.add(set.head(), chart, Vec::new());
}
