//! A small line chart in SVG, coloured by the page's style sheet.

use std::fmt::Write;

use super::axis::Axis;
use super::escape::escape;

/// One line of a chart.
#[derive(Debug, Clone, PartialEq)]
pub struct Series {
    /// Its name in the legend.
    pub name: String,
    /// (x, y), x rising; points that are not finite break the line.
    pub points: Vec<(f64, f64)>,
}

/// Lines over one axis, with a logarithmic scale where values are positive and span more than three decades.
#[derive(Debug, Clone, PartialEq)]
pub struct Chart {
    /// What is drawn.
    pub title: String,
    /// What x is.
    pub across: String,
    /// The lines.
    pub series: Vec<Series>,
}

const WIDTH: f64 = 440.0;
const HEIGHT: f64 = 220.0;
const LEFT: f64 = 58.0;
const RIGHT: f64 = 18.0;
const TOP: f64 = 8.0;
const BOTTOM: f64 = 34.0;
/// Colours of the style sheet; further lines begin anew.
const COLOURS: usize = 6;
/// Points of a line beyond which neighbours are thinned to their extremes.
const MOST_POINTS: usize = 800;

impl Chart {
    /// The chart, or nothing where no point is finite.
    pub(super) fn svg(&self) -> Option<String> {
        let points =
            self.series.iter().flat_map(|series| &series.points).filter(|(x, y)| x.is_finite() && y.is_finite());
        let across = Axis::linear(points.clone().map(|p| p.0), LEFT, WIDTH - RIGHT)?;
        let up = Axis::fitting(points.map(|p| p.1), HEIGHT - BOTTOM, TOP)?;
        let (title, height) = (escape(&self.title), HEIGHT + 16.0 * self.series.len().div_ceil(2) as f64);
        let mut svg = format!(
            "<svg class=\"chart\" viewBox=\"0 0 {WIDTH} {height}\" role=\"img\" aria-label=\"{title}\">\n<title>{title}</title>\n"
        );
        self.axes(&mut svg, &across, &up);
        for (number, series) in self.series.iter().enumerate() {
            let _ = writeln!(svg, "<path class=\"s{}\" d=\"{}\"/>", number % COLOURS, path(series, &across, &up));
        }
        self.legend(&mut svg);
        Some(svg + "</svg>\n")
    }

    fn axes(&self, svg: &mut String, across: &Axis, up: &Axis) {
        let floor = HEIGHT - BOTTOM;
        for (value, text) in up.ticks() {
            let y = up.place(value);
            let _ = writeln!(svg, "<path class=\"grid\" d=\"M{LEFT} {y:.1}H{}\"/>", WIDTH - RIGHT);
            let _ = writeln!(svg, "<text class=\"end\" x=\"{}\" y=\"{:.1}\">{text}</text>", LEFT - 5.0, y + 3.5);
        }
        for (value, text) in across.ticks() {
            let _ = writeln!(
                svg,
                "<text class=\"mid\" x=\"{:.1}\" y=\"{}\">{text}</text>",
                across.place(value),
                floor + 13.0
            );
        }
        let _ = writeln!(svg, "<path class=\"axis\" d=\"M{LEFT} {TOP}V{floor}H{}\"/>", WIDTH - RIGHT);
        let (middle, name) = ((LEFT + WIDTH - RIGHT) / 2.0, escape(&self.across));
        let _ = writeln!(svg, "<text class=\"mid\" x=\"{middle}\" y=\"{}\">{name}</text>", floor + 27.0);
    }

    fn legend(&self, svg: &mut String) {
        for (number, series) in self.series.iter().enumerate() {
            let x = LEFT + (number % 2) as f64 * (WIDTH - LEFT) / 2.0;
            let y = HEIGHT + 12.0 + 16.0 * (number / 2) as f64;
            let _ = writeln!(svg, "<path class=\"s{}\" d=\"M{x} {}h16\"/>", number % COLOURS, y - 4.0);
            let _ = writeln!(svg, "<text x=\"{}\" y=\"{y}\">{}</text>", x + 22.0, escape(&series.name));
        }
    }
}

/// A line as SVG draws it, lifted at points that are not finite.
fn path(series: &Series, across: &Axis, up: &Axis) -> String {
    let (mut text, mut down) = (String::new(), false);
    for (x, y) in thinned(&series.points) {
        if !(x.is_finite() && y.is_finite()) {
            down = false;
            continue;
        }
        // A lone point still shows: the line goes to itself.
        let (x, y) = (across.place(x), up.place(y));
        let _ = if down { write!(text, "L{x:.1} {y:.1}") } else { write!(text, "M{x:.1} {y:.1}h0") };
        down = true;
    }
    text
}

/// At most about [`MOST_POINTS`] points: of each bucket of neighbours the least and the greatest, in order.
fn thinned(points: &[(f64, f64)]) -> Vec<(f64, f64)> {
    if points.len() <= MOST_POINTS {
        return points.to_vec();
    }
    let bucket = points.len().div_ceil(MOST_POINTS / 2);
    let extremes = |bucket: &[(f64, f64)]| -> Vec<(f64, f64)> {
        if bucket.iter().any(|point| !point.1.is_finite()) {
            return bucket.to_vec();
        }
        let by_value = |a: &&(f64, f64), b: &&(f64, f64)| a.1.total_cmp(&b.1);
        let (Some(&least), Some(&greatest)) = (bucket.iter().min_by(by_value), bucket.iter().max_by(by_value)) else {
            return Vec::new();
        };
        if least.0 <= greatest.0 { vec![least, greatest] } else { vec![greatest, least] }
    };
    points.chunks(bucket).flat_map(extremes).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chart(points: Vec<(f64, f64)>) -> Chart {
        Chart { title: "loss".into(), across: "epoch".into(), series: vec![Series { name: "train".into(), points }] }
    }

    #[test]
    fn the_line_ends_in_the_corners_of_the_plot() {
        let svg = chart(vec![(0.0, 1.0), (5.0, 3.0), (10.0, 2.0)]).svg().unwrap();
        assert!(svg.contains("d=\"M58.0 186.0h0L240.0 8.0L422.0 97.0\""), "{svg}");
        assert!(svg.contains(">1.5<") && svg.contains(">10<"), "{svg}");
    }

    #[test]
    fn non_finite_points_break_the_line_and_without_points_nothing_is_drawn() {
        let svg = chart(vec![(0.0, 1.0), (1.0, f64::NAN), (2.0, 2.0)]).svg().unwrap();
        assert_eq!(svg.matches("h0").count(), 2, "{svg}");
        assert!(chart(vec![(0.0, f64::INFINITY)]).svg().is_none() && chart(vec![]).svg().is_none());
    }

    #[test]
    fn thinning_keeps_extremes_and_order() {
        let mut points: Vec<(f64, f64)> = (0..10_000).map(|n| (n as f64, (n as f64 / 100.0).sin())).collect();
        points[7777].1 = 40.0;
        let thin = thinned(&points);
        assert!(thin.len() <= MOST_POINTS && thin.contains(&(7777.0, 40.0)));
        assert!(thin.windows(2).all(|pair| pair[0].0 <= pair[1].0));
    }
}
