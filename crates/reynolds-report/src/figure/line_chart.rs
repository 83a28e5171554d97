//! Lines over one axis: curves of errors, sweeps of a setting with their spread.

use super::path::path;
use super::svg::{Anchor, Frame, Svg, number};
use super::{Colour, Drawing, TICK_SIZE};
use crate::axis::Axis;

/// One line.
#[derive(Debug, Clone)]
struct Line {
    colour: Colour,
    dashed: bool,
    points: Vec<[f64; 2]>,
    /// Half the height of the bar at each point; empty = no bars.
    spread: Vec<f64>,
}

/// Lines with axes. The y axis begins at 0, or is logarithmic if the values span more than three decades.
#[derive(Debug, Clone)]
pub struct LineChart {
    across: String,
    up: String,
    lines: Vec<Line>,
    ticks: Vec<(f64, String)>,
    from_zero: bool,
}

impl LineChart {
    /// Labels of the x and y axes.
    pub fn new(across: impl Into<String>, up: impl Into<String>) -> Self {
        Self { across: across.into(), up: up.into(), lines: Vec::new(), ticks: Vec::new(), from_zero: true }
    }

    /// A line through these points, without those that are not finite.
    pub fn line(&mut self, points: &[[f64; 2]], colour: Colour, dashed: bool) -> &mut Self {
        self.line_with_bars(points, &[], colour, dashed)
    }

    /// The same with a bar of ± `spread` at each point; panics unless there is one for each, or none.
    pub fn line_with_bars(&mut self, points: &[[f64; 2]], spread: &[f64], colour: Colour, dashed: bool) -> &mut Self {
        assert!(spread.is_empty() || spread.len() == points.len(), "a bar for each point");
        self.lines.push(Line { colour, dashed, points: points.to_vec(), spread: spread.to_vec() });
        self
    }

    /// Ticks of the x axis, instead of round numbers.
    pub fn ticks(&mut self, ticks: Vec<(f64, String)>) -> &mut Self {
        self.ticks = ticks;
        self
    }

    /// Lets the y axis begin at the least value: for decibels, where 0 means nothing.
    pub fn free_y_axis(&mut self) -> &mut Self {
        self.from_zero = false;
        self
    }

    fn axes(&self, frame: Frame) -> Option<(Axis, Axis)> {
        let points =
            self.lines.iter().flat_map(|line| &line.points).filter(|point| point.iter().all(|v| v.is_finite()));
        let bars = self.lines.iter().flat_map(|line| line.points.iter().zip(&line.spread));
        let feet = bars.clone().filter(|_| !self.from_zero).map(|(point, spread)| point[1] - spread);
        let ends = bars.map(|(point, spread)| point[1] + spread).chain(feet);
        let heights = points.clone().map(|point| point[1]).chain(ends);
        let heights: Vec<f64> = heights.filter(|height| height.is_finite()).collect();
        let across = Axis::linear(points.map(|point| point[0]), frame.x + 6.0, frame.x + frame.width - 6.0)?;
        let (low, high) = (frame.y + frame.height, frame.y + 4.0);
        let up = Axis::fitting(heights.iter().copied(), low, high)?;
        if self.from_zero && up.is_logarithmic() {
            return Some((across, up));
        }
        let zero = self.from_zero.then_some(0.0);
        Some((across, Axis::linear(heights.into_iter().chain(zero), low, high)?))
    }

    fn draw_line(&self, svg: &mut Svg, line: &Line, across: &Axis, up: &Axis) {
        let colour = line.colour;
        let dashes = if line.dashed { " stroke-dasharray=\"5 2.5\"" } else { "" };
        let shown: Vec<[f64; 2]> = line.points.iter().copied().filter(|p| p.iter().all(|v| v.is_finite())).collect();
        if shown.is_empty() {
            return;
        }
        let places: Vec<[f64; 2]> = shown.iter().map(|point| [across.place(point[0]), up.place(point[1])]).collect();
        let style = "fill=\"none\" stroke-linejoin=\"round\"";
        svg.path(
            &path(std::slice::from_ref(&places)),
            &format!("{style} stroke=\"{colour}\" stroke-width=\"1.6\"{dashes}"),
        );
        let dots: String = places.iter().map(|[x, y]| format!("M{} {}h0", number(*x), number(*y))).collect();
        svg.path(&dots, &format!("stroke=\"{colour}\" stroke-width=\"3.4\" stroke-linecap=\"round\""));
        for (point, spread) in line.points.iter().zip(&line.spread) {
            // On a logarithmic axis a bar that reaches below 0 ends at half its middle.
            let least = if up.is_logarithmic() { (point[1] - spread).max(0.5 * point[1]) } else { point[1] - spread };
            let [x, low, high] = [across.place(point[0]), up.place(least), up.place(point[1] + spread)];
            if [x, low, high].iter().all(|place| place.is_finite()) {
                svg.line([x, low], [x, high], &colour.to_string(), 1.0);
            }
        }
    }
}

impl Drawing for LineChart {
    fn draw(&self, svg: &mut Svg, frame: Frame, left: bool, bottom: bool) {
        svg.rectangle(frame, "none", " stroke=\"#444444\" stroke-width=\"0.8\"");
        let Some((across, up)) = self.axes(frame) else { return };
        let (base, edge) = (frame.y + frame.height, frame.x);
        for (value, text) in up.ticks() {
            let y = up.place(value);
            svg.line([edge, y], [edge + frame.width, y], "#dddddd", 0.5);
            if left {
                svg.text([edge - 5.0, y + 0.35 * TICK_SIZE], &text, TICK_SIZE, Anchor::End);
            }
        }
        let ticks = if self.ticks.is_empty() { across.ticks() } else { self.ticks.clone() };
        for (value, text) in ticks.iter().filter(|_| bottom) {
            let x = across.place(*value);
            svg.line([x, base], [x, base + 3.0], "#444444", 0.8);
            svg.text([x, base + 4.0 + TICK_SIZE], text, TICK_SIZE, Anchor::Middle);
        }
        for line in &self.lines {
            self.draw_line(svg, line, &across, &up);
        }
        if bottom {
            let at = [edge + frame.width / 2.0, base + 7.0 + 2.0 * TICK_SIZE];
            svg.text(at, &self.across, TICK_SIZE + 1.0, Anchor::Middle);
        }
        if left {
            svg.turned_text([edge - 34.0, frame.y + frame.height / 2.0], &self.up, TICK_SIZE + 1.0, Anchor::Middle);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drawn(chart: &LineChart) -> String {
        super::super::drawn(chart, [50.0, 10.0, 112.0, 104.0])
    }

    #[test]
    fn lines_stand_on_zero_and_bars_have_room() {
        let mut chart = LineChart::new("step", "RMSE");
        chart.line_with_bars(&[[1.0, 1.0], [3.0, 3.0]], &[0.5, 1.0], Colour::BLUE, false);
        let text = drawn(&chart);
        // y from 0 at 114 to 4 at 14: 25 points a unit; x from 56 to 156.
        assert!(text.contains("d=\"M56 89L156 39\""), "{text}");
        assert!(text.contains("x1=\"156\" y1=\"64\" x2=\"156\" y2=\"14\""), "{text}");
        assert!(text.contains(">RMSE</text>") && text.contains(">step</text>"));
    }

    #[test]
    fn the_y_axis_can_begin_at_the_least_value() {
        let mut chart = LineChart::new("epoch", "PSNR");
        chart.line(&[[1.0, 30.0], [2.0, 40.0]], Colour::BLUE, false);
        let standing = drawn(&chart);
        let text = drawn(chart.free_y_axis());
        assert!(standing.contains(">0</text>") && !text.contains(">0</text>"), "{text}");
        assert!(text.contains("d=\"M56 114L156 14\""), "{text}");
        // Room for both ends of a bar: y from 25 at 114 to 45 at 14.
        let mut chart = LineChart::new("epoch", "PSNR");
        chart.line_with_bars(&[[1.0, 30.0], [2.0, 40.0]], &[5.0, 5.0], Colour::BLUE, false);
        let text = drawn(chart.free_y_axis());
        assert!(text.contains("x1=\"56\" y1=\"114\" x2=\"56\" y2=\"64\""), "{text}");
    }

    #[test]
    fn ticks_can_be_named_and_without_finite_points_only_the_frame_is_drawn() {
        let mut chart = LineChart::new("λ_⊥", "RMSE");
        chart.line(&[[0.0, 1.0], [1.0, f64::NAN], [2.0, 1.0]], Colour::RED, true);
        chart.ticks(vec![(0.0, "0".into()), (2.0, "1e−6".into())]);
        let text = drawn(&chart);
        assert!(text.contains(">1e−6</text>") && !text.contains("NaN"), "{text}");
        let mut empty = LineChart::new("", "");
        assert!(!drawn(empty.line(&[[0.0, f64::INFINITY]], Colour::RED, false)).contains("<path"));
    }

    #[test]
    fn a_line_without_points_leaves_the_others() {
        let mut chart = LineChart::new("step", "RMSE");
        chart.line(&[[1.0, 1.0], [3.0, 4.0]], Colour::BLUE, false);
        let alone = drawn(&chart);
        chart.line(&[], Colour::RED, true).line(&[[2.0, f64::NAN]], Colour::RED, false);
        assert_eq!(drawn(&chart), alone);
    }
}
