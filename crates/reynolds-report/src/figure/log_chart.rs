//! Times over sizes on logarithmic axes: measured points, fitted power laws, and a floor.

use super::path::path;
use super::svg::{Anchor, Frame, Svg, number};
use super::{Colour, Drawing, TICK_SIZE};
use crate::axis::Axis;

/// Height of the plot itself, of numbers and name below it, and of a line of the legend.
const PLOT_HEIGHT: f64 = 230.0;
const AXIS_HEIGHT: f64 = 38.0;
const ROW_HEIGHT: f64 = 14.0;

/// Room between the outermost points and the frame.
const INSET: f64 = 10.0;

/// Colours of points, in turn; shapes tell them apart where colours do not.
const COLOURS: [Colour; 6] =
    [Colour::BLUE, Colour::RED, Colour::ORANGE, Colour(0x1f, 0x7a, 0x4d), Colour(0x6b, 0x3f, 0xa0), Colour::NAVY];

/// Half the width of the ends of a bar.
const CAP: f64 = 2.4;

const FLOOR: &str = "#777777";

/// Measured points with the power law through some of them, or a floor. Points and bars that are not above 0 are left out.
#[derive(Debug, Clone, Default)]
pub struct Curve {
    /// Text in the legend.
    pub label: String,
    /// (x, y).
    pub points: Vec<[f64; 2]>,
    /// Upright bars: x, and y at both ends.
    pub bars: Vec<[f64; 3]>,
    /// Both ends of the power law.
    pub law: Option<[[f64; 2]; 2]>,
    /// Whether it is a grey line without marks, below the curves.
    pub is_floor: bool,
}

/// Seconds over sizes on logarithmic axes, with a legend below.
#[derive(Debug, Clone, Default)]
pub struct LogChart {
    /// Label of the x axis.
    pub across: String,
    /// Label of the y axis.
    pub up: String,
    /// Names of places on the x axis, instead of powers of ten.
    pub ticks: Vec<(f64, String)>,
    /// In the order of the legend.
    pub curves: Vec<Curve>,
    /// Lines of text below the legend.
    pub notes: Vec<String>,
}

impl LogChart {
    /// The height of the plot with its axis and its legend.
    pub fn height(&self) -> f64 {
        PLOT_HEIGHT + AXIS_HEIGHT + ROW_HEIGHT * (self.curves.len() + self.notes.len()) as f64
    }

    fn draw_axes(&self, svg: &mut Svg, frame: Frame, across: &Axis, up: &Axis) {
        let (base, edge) = (frame.y + frame.height, frame.x);
        for (value, _) in up.ticks() {
            let y = up.place(value);
            svg.line([edge, y], [edge + frame.width, y], "#e2e2e2", 0.5);
            svg.text([edge - 5.0, y + 0.35 * TICK_SIZE], &duration(value), TICK_SIZE, Anchor::End);
        }
        let named = across.ticks().into_iter().map(|(value, _)| (value, size(value)));
        for (value, text) in if self.ticks.is_empty() { named.collect() } else { self.ticks.clone() } {
            let x = across.place(value);
            svg.line([x, frame.y], [x, base], "#e2e2e2", 0.5);
            svg.text([x, base + 4.0 + TICK_SIZE], &text, TICK_SIZE, Anchor::Middle);
        }
        svg.rectangle(frame, "none", " stroke=\"#444444\" stroke-width=\"0.8\"");
        let below = [edge + frame.width / 2.0, base + 9.0 + 2.0 * TICK_SIZE];
        svg.text(below, &self.across, TICK_SIZE + 1.0, Anchor::Middle);
        svg.turned_text([edge - 40.0, frame.y + frame.height / 2.0], &self.up, TICK_SIZE + 1.0, Anchor::Middle);
    }

    fn draw_curve(&self, svg: &mut Svg, number: usize, curve: &Curve, across: &Axis, up: &Axis) {
        let at = |point: &[f64; 2]| [across.place(point[0]), up.place(point[1])];
        let places: Vec<[f64; 2]> = curve.points.iter().filter(is_positive).map(at).collect();
        if curve.is_floor {
            let line = path(&[places]);
            svg.path(&line, &format!("fill=\"none\" stroke=\"{FLOOR}\" stroke-width=\"1.4\""));
            return;
        }
        let colour = COLOURS[number % COLOURS.len()];
        // From point to point, faint, so that few of them are seen to belong together.
        svg.path(
            &path(std::slice::from_ref(&places)),
            &format!("fill=\"none\" stroke=\"{colour}\" stroke-width=\"0.8\" stroke-opacity=\"0.3\""),
        );
        if let Some(law) = &curve.law {
            svg.path(&path(&[law.iter().map(at).collect()]), &dashed(colour));
        }
        for &[x, low, high] in curve.bars.iter().filter(is_positive) {
            let [[x, bottom], [_, top]] = [at(&[x, low]), at(&[x, high])];
            let cap = |y: f64| vec![[x - CAP, y], [x + CAP, y]];
            let bar = path(&[vec![[x, bottom], [x, top]], cap(bottom), cap(top)]);
            svg.path(&bar, &format!("fill=\"none\" stroke=\"{colour}\" stroke-width=\"0.9\""));
        }
        places.iter().for_each(|place| mark(svg, number, *place));
    }

    fn draw_legend(&self, svg: &mut Svg, left: f64, top: f64) {
        let mut marked = 0;
        for (row, curve) in self.curves.iter().enumerate() {
            let y = top + ROW_HEIGHT * row as f64;
            if curve.is_floor {
                svg.line([left, y], [left + 24.0, y], FLOOR, 1.4);
            } else {
                if curve.law.is_some() {
                    let line = path(&[vec![[left, y], [left + 24.0, y]]]);
                    svg.path(&line, &dashed(COLOURS[marked % COLOURS.len()]));
                }
                mark(svg, marked, [left + 12.0, y]);
                marked += 1;
            }
            svg.text([left + 30.0, y + 0.35 * (TICK_SIZE + 1.0)], &curve.label, TICK_SIZE + 1.0, Anchor::Start);
        }
        for (row, note) in (self.curves.len()..).zip(&self.notes) {
            let y = top + ROW_HEIGHT * row as f64;
            svg.text([left, y + 0.35 * TICK_SIZE], note, TICK_SIZE, Anchor::Start);
        }
    }
}

impl Drawing for LogChart {
    /// The upper part of the frame is the plot, below it are axis and legend; both axes are always labelled.
    fn draw(&self, svg: &mut Svg, frame: Frame, _left: bool, _bottom: bool) {
        let plot = Frame { height: PLOT_HEIGHT, ..frame };
        let points = || {
            let of = |curve: &'_ Curve| -> Vec<[f64; 2]> {
                curve.points.iter().filter(is_positive).chain(curve.law.iter().flatten()).copied().collect()
            };
            self.curves.iter().flat_map(of)
        };
        let named = self.ticks.iter().map(|tick| tick.0);
        let across =
            Axis::logarithmic(points().map(|p| p[0]).chain(named), plot.x + INSET, plot.x + plot.width - INSET);
        let bars = self.curves.iter().flat_map(|curve| &curve.bars).filter(is_positive);
        let ends = bars.flat_map(|bar| [bar[1], bar[2]]);
        let up = Axis::logarithmic(points().map(|p| p[1]).chain(ends), plot.y + plot.height - INSET, plot.y + INSET);
        let (Some(across), Some(up)) = (across, up) else { return };
        self.draw_axes(svg, plot, &across, &up);
        let floors = self.curves.iter().filter(|curve| curve.is_floor);
        floors.for_each(|curve| self.draw_curve(svg, 0, curve, &across, &up));
        let marked = self.curves.iter().filter(|curve| !curve.is_floor).enumerate();
        marked.for_each(|(number, curve)| self.draw_curve(svg, number, curve, &across, &up));
        self.draw_legend(svg, plot.x, plot.y + PLOT_HEIGHT + AXIS_HEIGHT);
    }
}

/// Whether a point or a bar can be drawn on logarithmic axes.
fn is_positive<const N: usize>(values: &&[f64; N]) -> bool {
    values.iter().all(|value| value.is_finite() && *value > 0.0)
}

/// The style of a fitted line.
fn dashed(colour: Colour) -> String {
    format!("fill=\"none\" stroke=\"{colour}\" stroke-width=\"1.1\" stroke-dasharray=\"5 2.5\"")
}

/// A disk, square, triangle, diamond, triangle on its head or ring.
fn mark(svg: &mut Svg, which: usize, [x, y]: [f64; 2]) {
    let colour = COLOURS[which % COLOURS.len()];
    let r = 3.2;
    let circle = || {
        let [left, y, r] = [x - r, y, r].map(number);
        format!("M{left} {y}a{r} {r} 0 1 0 {d} 0a{r} {r} 0 1 0 -{d} 0Z", d = number(6.4))
    };
    let corners: &[[f64; 2]] = match which % 6 {
        1 => &[[-2.9, -2.9], [2.9, -2.9], [2.9, 2.9], [-2.9, 2.9]],
        2 => &[[0.0, -3.8], [3.6, 2.6], [-3.6, 2.6]],
        3 => &[[0.0, -4.1], [4.1, 0.0], [0.0, 4.1], [-4.1, 0.0]],
        4 => &[[0.0, 3.8], [3.6, -2.6], [-3.6, -2.6]],
        5 => return svg.path(&circle(), &format!("fill=\"#ffffff\" stroke=\"{colour}\" stroke-width=\"1.4\"")),
        _ => &[],
    };
    let corners: Vec<String> =
        corners.iter().map(|[dx, dy]| format!("{} {}", number(x + dx), number(y + dy))).collect();
    let outline = if corners.is_empty() { circle() } else { format!("M{}Z", corners.join("L")) };
    svg.path(&outline, &format!("fill=\"{colour}\" stroke=\"#ffffff\" stroke-width=\"0.6\""));
}

/// "20 µs".
fn duration(seconds: f64) -> String {
    let units = [(1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns")];
    let (unit, name) = units.into_iter().find(|(unit, _)| seconds >= 0.999 * unit).unwrap_or((1e-9, "ns"));
    format!("{} {name}", short(seconds / unit))
}

/// "500", "10⁶" or "2·10⁵".
fn size(value: f64) -> String {
    if value < 999.0 {
        return short(value);
    }
    let decade = (value.log10() + 1e-9).floor();
    let factor = short(value / 10f64.powf(decade));
    let digits = ['⁰', '¹', '²', '³', '⁴', '⁵', '⁶', '⁷', '⁸', '⁹'];
    let power: String = format!("{decade}").chars().filter_map(|c| Some(digits[c.to_digit(10)? as usize])).collect();
    if factor == "1" { format!("10{power}") } else { format!("{factor}·10{power}") }
}

/// A round number without trailing zeros.
fn short(value: f64) -> String {
    let text = format!("{value:.4}");
    text.trim_end_matches('0').trim_end_matches('.').into()
}

#[cfg(test)]
mod tests {
    use super::super::drawn;
    use super::*;

    fn curve(label: &str, points: &[[f64; 2]]) -> Curve {
        Curve { label: label.into(), points: points.into(), ..Curve::default() }
    }

    fn chart(curves: Vec<Curve>) -> LogChart {
        LogChart { curves, ..LogChart::default() }
    }

    fn text(chart: &LogChart) -> String {
        drawn(chart, [50.0, 10.0, 220.0, chart.height()])
    }

    #[test]
    fn points_law_floor_and_legend_are_drawn() {
        let law = Some([[1e2, 1e-6], [1e4, 1e-3]]);
        let sum = Curve { law, ..curve("Haar sum: 1.50, claimed 1.5", &[[1e2, 1e-6], [1e4, 1e-3]]) };
        let floor = Curve { is_floor: true, ..curve("floor: a copy", &[[1e2, 1e-7], [1e4, 1e-5]]) };
        let text = text(&LogChart { across: "weights N".into(), up: "time".into(), ..chart(vec![sum, floor]) });
        // x from 60 to 260 over two decades, y from 230 to 20 over four.
        assert!(text.contains("d=\"M60 177.5L260 20\"") && text.contains("stroke-dasharray"), "{text}");
        assert!(text.contains("d=\"M60 230L260 125\"") && text.contains(FLOOR), "{text}");
        for label in ["Haar sum: 1.50, claimed 1.5", "floor: a copy", "weights N", "time", "10⁴", "100 ns", "1 ms"] {
            assert!(text.contains(&format!(">{label}</text>")), "{label}: {text}");
        }
        assert!(text.starts_with("<svg ") && text.ends_with("</svg>\n") && !text.contains("NaN"));
        assert_eq!(text.matches("<text").count(), text.matches("</text>").count());
    }

    #[test]
    fn bars_have_their_ends_and_the_legend_with_its_notes_lies_below_the_plot() {
        let bars = vec![[1e2, 1e-6, 1e-3], [1e4, 0.0, 1.0]];
        let floor = Curve { is_floor: true, ..curve("b", &[[1e3, 1e-5]]) };
        let chart = LogChart {
            notes: vec!["bars: c".into()],
            ..chart(vec![Curve { bars, ..curve("a", &[[1e2, 1e-5], [1e4, 1e-5]]) }, floor])
        };
        assert_eq!(chart.height(), LogChart::default().height() + 3.0 * ROW_HEIGHT);
        let text = text(&chart);
        // x from 60 to 260; y from 230 to 20 over the three decades of the one bar that can be drawn.
        assert!(text.contains("d=\"M60 230L60 20M57.6 230L62.4 230M57.6 20L62.4 20\""), "{text}");
        let base = |label: &str| -> f64 {
            let line = text.lines().find(|line| line.ends_with(&format!(">{label}</text>"))).unwrap();
            line.split("y=\"").nth(1).unwrap().split('"').next().unwrap().parse().unwrap()
        };
        assert!([10.0 + PLOT_HEIGHT, base("a"), base("b"), base("bars: c"), 10.0 + chart.height()].is_sorted());
    }

    #[test]
    fn points_that_are_not_positive_are_left_out() {
        let mut chart = chart(vec![curve("a", &[[0.0, 1.0], [1.0, f64::NAN]])]);
        assert!(!text(&chart).contains("<path"));
        chart.curves.push(curve("one", &[[5.0, 1e-9]]));
        chart.ticks = vec![(5.0, "five".into())];
        let text = text(&chart);
        assert!(text.contains(">five</text>") && !text.contains("NaN") && !text.contains("inf"), "{text}");
    }

    #[test]
    fn durations_and_sizes_are_short_texts() {
        assert_eq!([2e-5, 1e-3, 1.0, 5e-10, 1e-9].map(duration), ["20 µs", "1 ms", "1 s", "0.5 ns", "1 ns"]);
        let sizes = [2.0, 500.0, 1e3, 1e12, 2e3, 5e5].map(size);
        assert_eq!(sizes, ["2", "500", "10³", "10¹²", "2·10³", "5·10⁵"]);
    }
}
