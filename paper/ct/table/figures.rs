//! How training went: validation PSNR and training loss over the epochs.

use super::cells::Cell;
use super::row::{InTable, Mode, NETWORKS, head};
use super::tables::DATA;
use crate::targets::Named;
use crate::targets::curves::{points, sheet};
use crate::targets::findings::Figure;
use reynolds_report::figure::{Colour, Key, LineChart, Sheet};

const GREY: Colour = Colour(0x77, 0x77, 0x77);

fn colour(mode: Mode) -> Colour {
    match mode {
        Mode::Plain => Colour(0x33, 0x33, 0x33),
        Mode::Sample => Colour(0xd5, 0x5e, 0x00),
        Mode::Projected => GREY,
        Mode::Rpp => Colour(0xcc, 0x79, 0xa7),
        Mode::Penalty => Colour(0x00, 0x5a, 0xa0),
    }
}

/// Colours of norms, in the order of the paper; those of one p are of one colour.
const NORM_COLOURS: [Colour; 13] = [
    Colour(0x33, 0x33, 0x33),
    Colour(0xd5, 0x5e, 0x00),
    Colour(0x00, 0x5a, 0xa0),
    Colour(0xcc, 0x79, 0xa7),
    Colour(0x00, 0x9e, 0x73),
    Colour(0x5f, 0xc4, 0xa4),
    Colour(0xa8, 0xe0, 0xcf),
    Colour(0xc8, 0xaa, 0x00),
    Colour(0xdd, 0xc8, 0x55),
    Colour(0xee, 0xe0, 0x9a),
    Colour(0x56, 0xb4, 0xe9),
    Colour(0x8c, 0xcd, 0xf1),
    Colour(0xc0, 0xe4, 0xf8),
];

/// A panel of one curve of these cells, each with its colour; nothing if there is none.
fn add(sheet: &mut Sheet, title: String, metric: &str, up: &str, lines: &[(&Cell<'_>, Colour)]) {
    let mut chart = LineChart::new("epoch", up);
    if metric == "validation/psnr" {
        chart.from_anywhere();
    }
    for (cell, colour) in lines {
        let curve = cell.runs.first().map(|(_, run)| points(run, metric)).unwrap_or_default();
        chart.line(&curve, *colour, false);
    }
    sheet.add(title, chart, Vec::new());
}

const PANELS: [(&str, &str); 2] = [("validation/psnr", "validation PSNR (dB)"), ("train/loss", "training loss")];

/// Curves of `table-ct`, a row of panels for each network that was trained.
pub(super) fn convergence(cells: &[Cell<'_>]) -> Figure {
    let trained = || cells.iter().filter(|cell| !cell.runs.is_empty() && cell.row.mode != Mode::Projected);
    let mut sheet = sheet();
    for network in NETWORKS {
        let of_network = trained().filter(|cell| cell.row.network == network);
        let lines: Vec<(&Cell<'_>, Colour)> = of_network.map(|cell| (cell, colour(cell.row.mode))).collect();
        for (metric, up) in PANELS.into_iter().filter(|_| !lines.is_empty()) {
            add(&mut sheet, head(network).into(), metric, up, &lines);
        }
    }
    let shown = Mode::ALL.iter().copied().filter(|mode| trained().any(|cell| cell.row.mode == *mode));
    sheet.legend = shown.map(|mode| Key::Line(colour(mode), false, mode.head().into())).collect();
    Figure { name: "convergence", svg: sheet.svg(), caption: caption() }
}

/// Curves of `table-norms`.
pub(super) fn norm_convergence(cells: &[Cell<'_>]) -> Figure {
    let mut sheet = sheet();
    for network in NETWORKS {
        let of_network = cells.iter().filter(|cell| !cell.runs.is_empty() && cell.row.network == network);
        let lines: Vec<(&Cell<'_>, Colour)> = of_network.zip(NORM_COLOURS).collect();
        for (metric, up) in PANELS.into_iter().filter(|_| !lines.is_empty()) {
            add(&mut sheet, head(network).into(), metric, up, &lines);
        }
        if sheet.legend.is_empty() {
            sheet.legend = lines.iter().map(|(cell, colour)| Key::Line(*colour, false, cell.label.clone())).collect();
        }
    }
    Figure { name: "convergence", svg: sheet.svg(), caption: caption() }
}

fn caption() -> String {
    format!(
        "Validation PSNR and training loss, without the projection penalty, over the epochs of training on {DATA}; the first seed of each \
         row. The loss of the sample-based rows contains its penalty. All seeds are in validation_curves.csv."
    )
}
