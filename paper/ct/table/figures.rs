//! How training went: validation PSNR and training loss over the epochs.

use super::cells::Cell;
use super::row::{Mode, NETWORKS, head};
use super::tables::DATA;
use crate::targets::Named;
use crate::targets::curves::{points, sheet};
use crate::targets::findings::Figure;
use reynolds::norm::Norm;
use reynolds_report::figure::{Colour, Key, LineChart};

/// Of modes, in their order.
const MODES: [Colour; 5] = [
    Colour(0x33, 0x33, 0x33),
    Colour(0xd5, 0x5e, 0x00),
    Colour(0x77, 0x77, 0x77),
    Colour(0xcc, 0x79, 0xa7),
    Colour(0x00, 0x5a, 0xa0),
];

/// Of norms, in the order of the paper; those of one p are of one colour.
const NORMS: [Colour; 12] = [
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

/// The key of a row in a figure of modes.
pub(super) fn by_mode(cell: &Cell<'_>) -> (Colour, String) {
    (of(Mode::ALL, &MODES, cell.row.mode), cell.row.mode.head().into())
}

/// The key of a row in a figure of norms.
pub(super) fn by_norm(cell: &Cell<'_>) -> (Colour, String) {
    let colour = if cell.row.mode == Mode::Plain { MODES[0] } else { of(Norm::ALL, &NORMS, cell.row.norm) };
    (colour, cell.label.clone())
}

fn of<T: PartialEq>(all: &[T], colours: &[Colour], one: T) -> Colour {
    colours[all.iter().position(|other| *other == one).unwrap_or_default()]
}

/// A row of panels for each network that was trained; each row has its colour and its name in the legend.
pub(super) fn convergence(cells: &[Cell<'_>], key: impl Fn(&Cell<'_>) -> (Colour, String)) -> Figure {
    let mut sheet = sheet();
    let mut legend: Vec<(Colour, String)> = Vec::new();
    let trained = || cells.iter().filter(|cell| cell.row.mode != Mode::Projected);
    for network in NETWORKS {
        let of_network = trained().filter(|cell| cell.row.network == network);
        let lines: Vec<_> = of_network.filter_map(|cell| Some((key(cell), cell.runs.first()?))).collect();
        for (metric, up) in [("validation/psnr", "validation PSNR (dB)"), ("train/loss", "training loss")] {
            let mut chart = LineChart::new("epoch", up);
            if metric == "validation/psnr" {
                chart.from_anywhere();
            }
            for ((colour, _), run) in &lines {
                chart.line(&points(run, metric), *colour, false);
            }
            if !lines.is_empty() {
                sheet.add(head(network), chart, Vec::new());
            }
        }
        let new = lines.into_iter().map(|(key, _)| key).filter(|key| !legend.contains(key)).collect::<Vec<_>>();
        legend.extend(new);
    }
    sheet.legend = legend.into_iter().map(|(colour, name)| Key::Line(colour, false, name)).collect();
    let caption = format!(
        "Validation PSNR and training loss, without the projection penalty, over the epochs of training on {DATA}; the first seed of each \
         row. The loss of the sample-based rows contains its penalty. All seeds are in validation_curves.csv."
    );
    Figure { name: "convergence", svg: sheet.svg(), caption }
}
