//! The figures.

use super::series::{Panel, Plot, Series};
use reynolds_report::figure::{Curve, LogChart, Sheet};

const WIDTH: f64 = 350.0;

/// Explanation of the marks.
const CAPTION: [&str; 2] = [
    "points: medians over turns; bars: quartiles; dashed: power laws through the upper half",
    "±: standard error of the exponent, by the scatter of the points it is fitted to",
];

/// A figure as an SVG document: panels beside each other.
pub(super) fn svg(plot: &Plot) -> String {
    let mut charts: Vec<LogChart> = plot.panels.iter().map(chart).collect();
    if let Some(first) = charts.first_mut() {
        first.notes = CAPTION.map(String::from).into();
    }
    let height = charts.iter().map(LogChart::height).fold(0.0, f64::max);
    let mut sheet = Sheet::new(charts.len().max(1), WIDTH);
    (sheet.panel, sheet.label_room, sheet.tick_room, sheet.shared_axes) = ([WIDTH, height], 50.0, 0.0, false);
    for (panel, chart) in plot.panels.iter().zip(charts) {
        sheet.add(&panel.title, chart, Vec::new());
    }
    sheet.svg()
}

fn chart(panel: &Panel) -> LogChart {
    let up = if panel.per_weight { "time per weight" } else { "time" };
    // Without the ticks of sizes that only another panel has.
    let largest = panel.series.iter().flat_map(|series| &series.points).map(|point| point.x).fold(0.0, f64::max);
    let ticks = panel.ticks.iter().filter(|tick| tick.0 <= largest).cloned().collect();
    let curve = |series: &Series| Curve {
        label: label(series),
        points: panel.drawn(series),
        bars: if series.floor { Vec::new() } else { panel.bars(series) },
        law: series.fit.map(|fit| [fit.from, fit.to].map(|x| [x, fit.at(x)])),
        is_floor: series.floor,
    };
    let curves = panel.series.iter().map(curve).collect();
    LogChart { across: panel.across.clone(), up: up.into(), ticks, curves, notes: Vec::new() }
}

/// "orbits (ours): exponent 1.02 ± 0.01 (claimed 1)".
fn label(series: &Series) -> String {
    let Some(fit) = series.fit else { return series.name.clone() };
    let exponent = format!("{:.2}", fit.exponent).replace('-', "−");
    let error = fit.standard_error.map_or(String::new(), |error| format!(" ± {error:.2}"));
    let claimed = series.claimed.map_or(String::new(), |claimed| format!(" (claimed {claimed})"));
    format!("{}: exponent {exponent}{error}{claimed}", series.name)
}

#[cfg(test)]
mod tests {
    use super::super::series::Point;
    use super::*;
    use crate::Times;

    fn point(weights: usize, seconds: f64) -> Point {
        Point::new(weights as f64, weights, &Times::new(vec![seconds]))
    }

    #[test]
    fn the_axis_ends_where_the_points_do() {
        let ticks = [(1.0, "one".to_string()), (2.0, "two".into()), (3.0, "three".into())];
        let mut panel = Panel::new("P", "N").ticks(ticks.into_iter()).series("a", None, "");
        [1, 2].into_iter().for_each(|weights| panel.add("a", point(weights, 1.0)));
        let text = svg(&Plot { name: "p".into(), panels: vec![panel] });
        assert!(text.contains(">two</text>") && !text.contains(">three</text>"), "{text}");
    }

    #[test]
    fn a_legend_has_the_exponent_beside_the_claimed_one_and_the_floor_last() {
        let mut panel =
            Panel::new("P", "N").floor("copy").series("band-limited", Some(0.5), "ours").series("one", None, "");
        for weights in [1, 10, 100] {
            panel.add("band-limited", point(weights, 1.0 / weights as f64));
            panel.add("copy", point(weights, 1e-9));
        }
        panel.add("one", point(1, 1.0));
        let panel = panel.fitted();
        let labels: Vec<String> = panel.series.iter().map(label).collect();
        assert_eq!(labels, ["band-limited: exponent −1.00 ± 0.00 (claimed 0.5)", "one", "copy"]);
        let text = svg(&Plot { name: "p".into(), panels: vec![panel] });
        assert!(labels.iter().all(|label| text.contains(&format!(">{label}</text>"))), "{text}");
        assert!(CAPTION.iter().all(|line| text.contains(&format!(">{line}</text>"))), "{text}");
    }
}
