//! Panels in rows, with heads, captions, a legend and a colour bar.

use super::colour::Colour;
use super::heat_map::Shading;
use super::plane::{band_colour, draw_points};
use super::svg::{Anchor, Frame, Svg};
use super::{Drawing, LETTER, TICK_SIZE};

/// Font sizes, and the space around panels.
const TITLE_SIZE: f64 = 11.0;
const CAPTION_SIZE: f64 = 9.5;
const GAP: f64 = 14.0;
const MARGIN: f64 = 12.0;

/// One panel with the text above and below it.
pub struct Panel {
    /// The text above.
    pub title: String,
    /// What is in it.
    pub drawing: Box<dyn Drawing>,
    /// The lines of text below.
    pub caption: Vec<String>,
}

/// An entry of the legend.
#[derive(Debug, Clone)]
pub enum Key {
    /// Points of a class: true for +1.
    Points(bool, String),
    /// A decision boundary; dashed or not.
    Line(Colour, bool, String),
}

impl Key {
    fn text(&self) -> &str {
        let (Self::Points(_, text) | Self::Line(_, _, text)) = self;
        text
    }

    /// The room before the text.
    fn sample(&self) -> f64 {
        match self {
            Self::Points(..) => 9.0,
            Self::Line(..) => 27.0,
        }
    }

    fn width(&self) -> f64 {
        self.sample() + LETTER * CAPTION_SIZE * self.text().chars().count() as f64
    }
}

/// A colour scale from 0 to the deepest colour.
#[derive(Debug, Clone)]
pub struct Scale {
    /// The colours.
    pub shading: Shading,
    /// The value of the deepest colour.
    pub high: f64,
    /// The label.
    pub text: String,
}

/// Panels in rows of equal length, all of one size.
pub struct Sheet {
    /// Panels in a row.
    pub columns: usize,
    /// Width and height of a panel.
    pub panel: [f64; 2],
    /// Panels, row by row.
    pub panels: Vec<Panel>,
    /// Titles of the rows, left of them and turned; none if empty.
    pub row_heads: Vec<String>,
    /// Space left of each panel for labels.
    pub label_room: f64,
    /// Space below each panel for labels.
    pub tick_room: f64,
    /// Whether only the outer panels have numbers at their axes.
    pub shared_axes: bool,
    /// The legend, below all panels.
    pub legend: Vec<Key>,
    /// Label of the bar of ten colours, below the legend; no bar if empty.
    pub colour_bar: String,
    /// Colour scales of fields, side by side below that.
    pub scales: Vec<Scale>,
}

impl Sheet {
    /// Panels in rows of `columns`, all `side` points wide and high.
    pub fn new(columns: usize, side: f64) -> Self {
        Self {
            columns,
            panel: [side, side],
            panels: Vec::new(),
            row_heads: Vec::new(),
            label_room: 16.0,
            tick_room: TICK_SIZE + 6.0,
            shared_axes: true,
            legend: Vec::new(),
            colour_bar: String::new(),
            scales: Vec::new(),
        }
    }

    /// Gives each panel axes of its own, as [`LineChart`](super::LineChart) needs.
    pub fn with_axes(&mut self) {
        (self.label_room, self.tick_room, self.shared_axes) = (46.0, 32.0, false);
    }

    /// Adds a panel.
    pub fn add(
        &mut self,
        title: impl Into<String>,
        drawing: impl Drawing + 'static,
        caption: Vec<String>,
    ) -> &mut Self {
        self.panels.push(Panel { title: title.into(), drawing: Box::new(drawing), caption });
        self
    }

    /// The figure as an SVG document.
    pub fn svg(&self) -> String {
        let [width, height] = self.panel;
        let rows = self.panels.len().div_ceil(self.columns).max(1);
        let heads = if self.row_heads.is_empty() { 0.0 } else { 20.0 };
        let between = if self.shared_axes { GAP } else { GAP + self.label_room };
        let left = MARGIN + heads + self.label_room;
        let total_width = (left + self.columns as f64 * (width + between) - between + MARGIN).max(340.0);
        let row =
            |number: usize| &self.panels[number * self.columns..((number + 1) * self.columns).min(self.panels.len())];
        let above = |number: usize| {
            if row(number).iter().any(|panel| !panel.title.is_empty()) { TITLE_SIZE + 7.0 } else { 0.0 }
        };
        let ticked = |number: usize| !self.shared_axes || number + 1 == rows;
        let below = |number: usize| {
            let lines = row(number).iter().map(|panel| panel.caption.len()).max().unwrap_or(0) as f64;
            let ticks = if ticked(number) { self.tick_room } else { 4.0 };
            ticks + lines * (CAPTION_SIZE + 3.5)
        };
        let panels_height: f64 =
            (0..rows).map(|number| above(number) + height + below(number) + GAP).sum::<f64>() - GAP;
        let legend = if self.legend.is_empty() { 0.0 } else { 24.0 };
        let bar = if self.colour_bar.is_empty() { 0.0 } else { 44.0 };
        let scales = if self.scales.is_empty() { 0.0 } else { 38.0 };
        let mut svg = Svg::new(total_width, 2.0 * MARGIN + panels_height + legend + bar + scales);
        let mut top = MARGIN;
        for number in 0..rows {
            top += above(number);
            for (column, panel) in row(number).iter().enumerate() {
                let frame = Frame { x: left + column as f64 * (width + between), y: top, width, height };
                self.draw_panel(&mut svg, frame, panel, column == 0, ticked(number));
            }
            if let Some(head) = self.row_heads.get(number) {
                let at = [MARGIN + TITLE_SIZE, top + height / 2.0];
                let turn = format!(" transform=\"rotate(-90 {} {})\"", at[0], at[1]);
                svg.styled_text(at, head, TITLE_SIZE, Anchor::Middle, &turn);
            }
            top += height + below(number) + GAP;
        }
        let middle = left + (total_width - left - MARGIN) / 2.0;
        self.draw_legend(&mut svg, [middle, top + 4.0]);
        self.draw_bar(&mut svg, [middle, top + legend]);
        self.draw_scales(&mut svg, [middle, top + legend + bar]);
        svg.finish()
    }

    /// One font size for all captions, small enough for the longest.
    fn caption_size(&self) -> f64 {
        let lines = self.panels.iter().flat_map(|panel| &panel.caption);
        let longest = lines.map(|line| line.chars().count()).max().unwrap_or(0).max(1);
        CAPTION_SIZE.min((self.panel[0] + GAP - 4.0) / (LETTER * longest as f64))
    }

    fn draw_panel(&self, svg: &mut Svg, frame: Frame, panel: &Panel, first: bool, ticked: bool) {
        let middle = frame.x + frame.width / 2.0;
        svg.text([middle, frame.y - 6.0], &panel.title, TITLE_SIZE, Anchor::Middle);
        panel.drawing.draw(svg, frame, first || !self.shared_axes, ticked);
        let ticks = if ticked { self.tick_room } else { 4.0 };
        for (line, text) in panel.caption.iter().enumerate() {
            let y = frame.y + frame.height + ticks + CAPTION_SIZE + line as f64 * (CAPTION_SIZE + 3.5);
            svg.text([middle, y], text, self.caption_size(), Anchor::Middle);
        }
    }

    fn draw_legend(&self, svg: &mut Svg, [middle, y]: [f64; 2]) {
        let total: f64 = self.legend.iter().map(|key| key.width() + GAP).sum::<f64>() - GAP;
        let mut x = middle - total / 2.0;
        for key in &self.legend {
            match key {
                Key::Points(positive, _) => draw_points(svg, &[[x + 3.0, y + 5.0]], *positive),
                Key::Line(colour, dashed, _) => {
                    let dashes = if *dashed { " stroke-dasharray=\"5 2.5\"" } else { "" };
                    let line = format!("M{x:.2} {at:.2}l22 0", at = y + 5.0);
                    svg.path(&line, &format!("stroke=\"{colour}\" stroke-width=\"2.2\"{dashes}"));
                }
            }
            svg.text([x + key.sample(), y + 8.4], key.text(), CAPTION_SIZE, Anchor::Start);
            x += key.width() + GAP;
        }
    }

    fn draw_scales(&self, svg: &mut Svg, [middle, y]: [f64; 2]) {
        let (width, height, steps) = (150.0, 8.0, 32);
        let left = middle - 0.5 * (self.scales.len() as f64 * (width + 2.0 * GAP) - 2.0 * GAP);
        for (number, scale) in self.scales.iter().enumerate() {
            let x = left + number as f64 * (width + 2.0 * GAP);
            let step = width / f64::from(steps);
            for band in 0..steps {
                let colour = scale.shading.colour((f64::from(band) + 0.5) / f64::from(steps) * scale.high);
                let frame = Frame { x: x + f64::from(band) * step, y: y + 4.0, width: step + 0.2, height };
                svg.rectangle(frame, &colour.to_string(), "");
            }
            let base = y + 4.0 + height + TICK_SIZE + 2.0;
            svg.text([x, base], "0", TICK_SIZE, Anchor::Start);
            svg.text([x + width / 2.0, base], &scale.text, CAPTION_SIZE, Anchor::Middle);
            svg.text([x + width, base], &format!("{:.3}", scale.high), TICK_SIZE, Anchor::End);
        }
    }

    fn draw_bar(&self, svg: &mut Svg, [middle, y]: [f64; 2]) {
        if self.colour_bar.is_empty() {
            return;
        }
        let (width, height) = (24.0, 9.0);
        let left = middle - 5.0 * width;
        for band in 0..10 {
            let frame = Frame { x: left + band as f64 * width, y: y + 6.0, width, height };
            svg.rectangle(frame, &band_colour(band).to_string(), " stroke=\"#ffffff\" stroke-width=\"0.4\"");
        }
        for (edge, label) in
            [(0.0, "−1"), (2.0, "−0.6"), (4.0, "−0.2"), (5.0, "0"), (6.0, "0.2"), (8.0, "0.6"), (10.0, "1")]
        {
            svg.text([left + edge * width, y + 6.0 + height + TICK_SIZE + 1.0], label, TICK_SIZE, Anchor::Middle);
        }
        svg.text([middle, y + 6.0 + height + 2.0 * TICK_SIZE + 7.0], &self.colour_bar, CAPTION_SIZE, Anchor::Middle);
    }
}

#[cfg(test)]
mod tests {
    use super::super::{HeatMap, Shading};
    use super::*;

    fn sheet(panels: usize) -> Sheet {
        let mut sheet = Sheet::new(2, 50.0);
        for number in 0..panels {
            let map = HeatMap::new(1, vec![1.0], Shading::Diverging { scale: 1.0 });
            sheet.add(format!("λ_⊥ = {number} <"), map, vec!["a & b".into()]);
        }
        sheet
    }

    #[test]
    fn panels_fill_rows_and_text_is_escaped() {
        let mut sheet = sheet(3);
        sheet.row_heads = vec!["one".into(), "two".into()];
        sheet.legend = vec![Key::Points(true, "+1".into()), Key::Line(Colour::ORANGE, true, "MLP".into())];
        sheet.colour_bar = "logit".into();
        let text = sheet.svg();
        assert_eq!(text.matches("a &amp; b").count(), 3);
        assert!(text.contains("rotate(-90") && text.contains(">MLP</text>") && !text.contains("<<"));
        assert_eq!(text, sheet.svg());
    }

    #[test]
    fn more_rows_make_it_higher_not_wider() {
        let size = |panels| {
            let text = sheet(panels).svg();
            let (_, rest) = text.split_once("viewBox=\"0 0 ").unwrap();
            let numbers: Vec<f64> = rest.split('"').next().unwrap().split(' ').map(|n| n.parse().unwrap()).collect();
            (numbers[0], numbers[1])
        };
        let ((w2, h2), (w4, h4)) = (size(2), size(4));
        assert!(w2 == w4 && h4 > h2 + 50.0);
    }
}
