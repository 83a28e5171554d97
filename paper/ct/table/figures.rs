//! How training went: validation PSNR and training loss over the epochs.

use super::cells::Cell;
use super::row::{Mode, head};
use super::tables::DATA;
use crate::ct::networks::Architecture;
use crate::targets::Named;
use crate::targets::curves::{points, sheet};
use crate::targets::findings::Figure;
use reynolds::norm::Norm;
use reynolds_report::figure::{Colour, Key, LineChart};

/// Of modes, in their order.
const MODES: [u32; 5] = [0x333333, 0xd55e00, 0x777777, 0xcc79a7, 0x005aa0];

/// Of norms, in the order of the paper; those of one p are of one hue.
const NORMS: [u32; 12] = [
    0xd55e00, 0x005aa0, 0xcc79a7, 0x009e73, 0x5fc4a4, 0xa8e0cf, 0xc8aa00, 0xddc855, 0xeee09a, 0x56b4e9, 0x8ccdf1,
    0xc0e4f8,
];

/// The key of a row in a figure of modes.
pub(super) fn by_mode(cell: &Cell<'_>) -> (Colour, String) {
    (of(Mode::ALL, &MODES, cell.row.mode), cell.row.mode.head().into())
}

/// The key of a row in a figure of norms.
pub(super) fn by_norm(cell: &Cell<'_>) -> (Colour, String) {
    let plain = of(Mode::ALL, &MODES, Mode::Plain);
    let colour = if cell.row.mode == Mode::Plain { plain } else { of(Norm::ALL, &NORMS, cell.row.norm) };
    (colour, cell.label.clone())
}

fn of<T: PartialEq>(all: &[T], colours: &[u32], one: T) -> Colour {
    let [_, red, green, blue] = colours[all.iter().position(|other| *other == one).unwrap_or_default()].to_be_bytes();
    Colour(red, green, blue)
}

/// A row of panels for each network that was trained; each row has its colour and its name in the legend.
pub(super) fn convergence(cells: &[Cell<'_>], key: impl Fn(&Cell<'_>) -> (Colour, String)) -> Figure {
    let mut sheet = sheet();
    let mut legend: Vec<(Colour, String)> = Vec::new();
    let trained = || cells.iter().filter(|cell| cell.row.mode != Mode::Projected);
    for network in Architecture::ALL {
        let of_network = trained().filter(|cell| cell.row.network == network);
        let lines: Vec<_> = of_network.filter_map(|cell| Some((key(cell), cell.runs.first()?))).collect();
        for (metric, up) in [("validation/psnr", "validation PSNR (dB)"), ("train/loss", "training loss")] {
            let mut chart = LineChart::new("epoch", up);
            if metric == "validation/psnr" {
                chart.free_y_axis();
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
