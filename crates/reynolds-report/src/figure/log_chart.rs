//! Times over sizes, both logarithmic: measured points, the power law through some of them, and the floor that nothing passes under.

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

/// Points, a law and a name.
#[derive(Debug, Clone)]
struct Curve {
    label: String,
    points: Vec<[f64; 2]>,
    /// x, and the ends of an upright line.
    bars: Vec<[f64; 3]>,
    /// The ends of a straight line.
    law: Option<[[f64; 2]; 2]>,
    floor: bool,
}

/// Seconds over sizes on logarithmic axes, with a legend below.
#[derive(Debug, Clone)]
pub struct LogChart {
    across: String,
    up: String,
    ticks: Vec<(f64, String)>,
    curves: Vec<Curve>,
    notes: Vec<String>,
}

impl LogChart {
    /// What x is, and whose seconds y are.
    pub fn new(across: impl Into<String>, up: impl Into<String>) -> Self {
        Self { across: across.into(), up: up.into(), ticks: Vec::new(), curves: Vec::new(), notes: Vec::new() }
    }

    /// Names places on the x axis, instead of powers of ten.
    pub fn ticks(&mut self, ticks: Vec<(f64, String)>) -> &mut Self {
        self.ticks = ticks;
        self
    }

    /// Points, and the ends of the power law through some of them; what is not above 0 is left out.
    pub fn points(&mut self, label: &str, points: &[[f64; 2]], law: Option<[[f64; 2]; 2]>) -> &mut Self {
        self.add(label, points, law, false)
    }

    /// Upright bars at the points that came last: x, and y at both ends.
    pub fn bars(&mut self, bars: &[[f64; 3]]) -> &mut Self {
        let shown = |bar: &&[f64; 3]| bar.iter().all(|value| value.is_finite() && *value > 0.0);
        if let Some(curve) = self.curves.last_mut() {
            curve.bars = bars.iter().filter(shown).copied().collect();
        }
        self
    }

    /// A line of text below the legend.
    pub fn note(&mut self, text: &str) -> &mut Self {
        self.notes.push(text.into());
        self
    }

    /// A line without marks, grey, below the curves.
    pub fn floor(&mut self, label: &str, points: &[[f64; 2]]) -> &mut Self {
        self.add(label, points, None, true)
    }

    fn add(&mut self, label: &str, points: &[[f64; 2]], law: Option<[[f64; 2]; 2]>, floor: bool) -> &mut Self {
        let shown = |point: &&[f64; 2]| point.iter().all(|value| value.is_finite() && *value > 0.0);
        let points = points.iter().filter(shown).copied().collect();
        self.curves.push(Curve { label: label.into(), points, bars: Vec::new(), law, floor });
        self
    }

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
        let places: Vec<[f64; 2]> = curve.points.iter().map(at).collect();
        if curve.floor {
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
        for &[x, low, high] in &curve.bars {
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
            if curve.floor {
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
        let points = || self.curves.iter().flat_map(|curve| curve.points.iter().chain(curve.law.iter().flatten()));
        let named = self.ticks.iter().map(|tick| tick.0);
        let across =
            Axis::logarithmic(points().map(|p| p[0]).chain(named), plot.x + INSET, plot.x + plot.width - INSET);
        let ends = self.curves.iter().flat_map(|curve| curve.bars.iter().flat_map(|bar| [bar[1], bar[2]]));
        let up = Axis::logarithmic(points().map(|p| p[1]).chain(ends), plot.y + plot.height - INSET, plot.y + INSET);
        let (Some(across), Some(up)) = (across, up) else { return };
        self.draw_axes(svg, plot, &across, &up);
        let floors = self.curves.iter().filter(|curve| curve.floor);
        floors.for_each(|curve| self.draw_curve(svg, 0, curve, &across, &up));
        let marked = self.curves.iter().filter(|curve| !curve.floor).enumerate();
        marked.for_each(|(number, curve)| self.draw_curve(svg, number, curve, &across, &up));
        self.draw_legend(svg, plot.x, plot.y + PLOT_HEIGHT + AXIS_HEIGHT);
    }
}

/// The style of a fitted line.
fn dashed(colour: Colour) -> String {
    format!("fill=\"none\" stroke=\"{colour}\" stroke-width=\"1.1\" stroke-dasharray=\"5 2.5\"")
}

/// A disk, square, triangle, diamond, triangle on its head or ring.
fn mark(svg: &mut Svg, which: usize, [x, y]: [f64; 2]) {
    let colour = COLOURS[which % COLOURS.len()];
    let polygon = |corners: &[[f64; 2]]| -> String {
        let corners: Vec<String> =
            corners.iter().map(|[dx, dy]| format!("{} {}", number(x + dx), number(y + dy))).collect();
        format!("M{}Z", corners.join("L"))
    };
    let r = 3.2;
    let filled = format!("fill=\"{colour}\" stroke=\"#ffffff\" stroke-width=\"0.6\"");
    let circle = || {
        let [left, y, r] = [x - r, y, r].map(number);
        format!("M{left} {y}a{r} {r} 0 1 0 {d} 0a{r} {r} 0 1 0 -{d} 0Z", d = number(6.4))
    };
    match which % 6 {
        0 => svg.path(&circle(), &filled),
        1 => svg.path(&polygon(&[[-2.9, -2.9], [2.9, -2.9], [2.9, 2.9], [-2.9, 2.9]]), &filled),
        2 => svg.path(&polygon(&[[0.0, -3.8], [3.6, 2.6], [-3.6, 2.6]]), &filled),
        3 => svg.path(&polygon(&[[0.0, -4.1], [4.1, 0.0], [0.0, 4.1], [-4.1, 0.0]]), &filled),
        4 => svg.path(&polygon(&[[0.0, 3.8], [3.6, -2.6], [-3.6, -2.6]]), &filled),
        _ => svg.path(&circle(), &format!("fill=\"#ffffff\" stroke=\"{colour}\" stroke-width=\"1.4\"")),
    }
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
    use super::*;

    fn drawn(chart: &LogChart) -> String {
        let mut svg = Svg::new(300.0, 400.0);
        chart.draw(&mut svg, Frame { x: 50.0, y: 10.0, width: 220.0, height: chart.height() }, true, true);
        svg.finish()
    }

    #[test]
    fn points_law_floor_and_legend_are_drawn() {
        let mut chart = LogChart::new("weights N", "time");
        chart.points("Haar sum: 1.50, claimed 1.5", &[[1e2, 1e-6], [1e4, 1e-3]], Some([[1e2, 1e-6], [1e4, 1e-3]]));
        chart.floor("floor: a copy", &[[1e2, 1e-7], [1e4, 1e-5]]);
        let text = drawn(&chart);
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
    fn bars_have_their_ends_and_room_and_notes_lie_below() {
        let mut chart = LogChart::new("", "");
        let bare = chart.height();
        chart
            .points("a", &[[1e2, 1e-5], [1e4, 1e-5]], None)
            .bars(&[[1e2, 1e-6, 1e-3], [1e4, 0.0, 1.0]])
            .note("bars: b");
        assert_eq!(chart.height(), bare + 2.0 * ROW_HEIGHT);
        let text = drawn(&chart);
        // x from 60 to 260; y from 230 to 20 over the three decades of the one bar that can be drawn.
        assert!(text.contains("d=\"M60 230L60 20M57.6 230L62.4 230M57.6 20L62.4 20\""), "{text}");
        assert!(text.contains(">bars: b</text>"), "{text}");
    }

    #[test]
    fn the_legend_lies_below_the_plot_and_has_room() {
        let mut chart = LogChart::new("", "");
        let bare = chart.height();
        chart.points("a", &[[1.0, 1.0], [9.0, 2.0]], None).floor("b", &[[1.0, 0.5]]);
        assert_eq!(chart.height(), bare + 2.0 * ROW_HEIGHT);
        let text = drawn(&chart);
        let base = |label: &str| -> f64 {
            let line = text.lines().find(|line| line.ends_with(&format!(">{label}</text>"))).unwrap();
            line.split("y=\"").nth(1).unwrap().split('"').next().unwrap().parse().unwrap()
        };
        assert!(base("a") > 10.0 + PLOT_HEIGHT && base("b") > base("a") && base("b") < 10.0 + chart.height());
    }

    #[test]
    fn what_cannot_be_drawn_is_left_out() {
        let mut chart = LogChart::new("", "");
        assert!(!drawn(chart.points("a", &[[0.0, 1.0], [1.0, f64::NAN]], None)).contains("<path"));
        chart.points("one", &[[5.0, 1e-9]], None).ticks(vec![(5.0, "five".into())]);
        let text = drawn(&chart);
        assert!(text.contains(">five</text>") && !text.contains("NaN") && !text.contains("inf"), "{text}");
    }

    #[test]
    fn numbers_are_written_as_people_write_them() {
        assert_eq!([2e-5, 1e-3, 1.0, 5e-10, 1e-9].map(duration), ["20 µs", "1 ms", "1 s", "0.5 ns", "1 ns"]);
        assert_eq!([2.0, 500.0, 1e3, 1e12, 2e3].map(size), ["2", "500", "10³", "10¹²", "2·10³"]);
        assert_eq!(size(5e5), "5·10⁵");
    }
}
