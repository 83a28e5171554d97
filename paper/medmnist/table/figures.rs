//! How training went: validation accuracy and training loss over the epochs, and accuracies as bars of points.

use crate::medmnist::networks::{Architecture, Symmetry};

use super::cells::Cell;
use super::settings::TableSettings;
use crate::medmnist::rows::Row;
use crate::targets::Named;
use crate::targets::curves::{points, sheet};
use crate::targets::findings::Figure;
use reynolds_report::figure::{Colour, Key, LineChart};

fn colour(row: Row) -> Colour {
    match row.architecture {
        Architecture::Cnn => Colour(0x33, 0x33, 0x33),
        Architecture::Scnn => Colour(0xd5, 0x5e, 0x00),
        Architecture::Rpp => Colour(0xcc, 0x79, 0xa7),
        Architecture::Pscnn => Colour(0x00, 0x9e, 0x73),
        Architecture::Ours => Colour(0x00, 0x5a, 0xa0),
    }
}

/// O(3) is dashed.
fn dashed(row: Row) -> bool {
    row.group == Symmetry::O3
}

const PANELS: [(&str, &str); 2] = [("validation/accuracy", "validation accuracy"), ("train/loss", "training loss")];

/// Accuracies with their spread, then curves of the first seed: a row of panels for each set.
pub(super) fn convergence(settings: &TableSettings, cells: &[Cell<'_>]) -> Vec<Figure> {
    vec![accuracies(settings, cells), curves(settings, cells)]
}

/// Rows along x, mean test accuracy ± deviation along y.
fn accuracies(settings: &TableSettings, cells: &[Cell<'_>]) -> Figure {
    let mut sheet = sheet();
    for set in settings.sets.iter() {
        let mut chart = LineChart::new("row", "test accuracy");
        chart.from_anywhere();
        for cell in cells.iter().filter(|cell| cell.set == set) {
            let place = settings.rows.iter().position(|row| row == cell.row).unwrap_or_default() as f64;
            let accuracy = cell.accuracy();
            // Half a place wide, so that one number can be seen.
            let points = [-0.3, 0.0, 0.3].map(|aside| [place + aside, accuracy.mean()]);
            chart.line_with_bars(&points, &[0.0, accuracy.deviation(), 0.0], colour(cell.row), dashed(cell.row));
        }
        let name = |row: Row| row.name().replace("pscnn", "P");
        chart.ticks(settings.rows.iter().enumerate().map(|(place, row)| (place as f64, name(row))).collect());
        sheet.add(set.head(), chart, Vec::new());
    }
    sheet.legend = legend(settings);
    let caption = "Test accuracy, mean ± standard deviation over seeds, of every row and set.".into();
    Figure { name: "accuracy", svg: sheet.svg(), caption }
}

fn curves(settings: &TableSettings, cells: &[Cell<'_>]) -> Figure {
    let mut sheet = sheet();
    for set in settings.sets.iter() {
        for (metric, up) in PANELS {
            let mut chart = LineChart::new("epoch", up);
            chart.from_anywhere();
            for cell in cells.iter().filter(|cell| cell.set == set) {
                let curve = cell.runs.first().map(|(_, run)| points(run, metric)).unwrap_or_default();
                chart.line(&curve, colour(cell.row), dashed(cell.row));
            }
            sheet.add(set.head(), chart, Vec::new());
        }
    }
    sheet.legend = legend(settings);
    let caption = "Validation accuracy and training loss over the epochs, the first seed of each row; all seeds are in validation_curves.csv.".into();
    Figure { name: "convergence", svg: sheet.svg(), caption }
}

fn legend(settings: &TableSettings) -> Vec<Key> {
    settings.rows.iter().map(|row| Key::Line(colour(row), dashed(row), row.label())).collect()
}
