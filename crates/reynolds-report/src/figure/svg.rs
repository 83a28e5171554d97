//! SVG text, element by element.

use std::fmt::Write as _;

use crate::escape::escape;

const FONT: &str = "Helvetica, Arial, 'Liberation Sans', 'DejaVu Sans', sans-serif";

/// A rectangle of the sheet, in points.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Frame {
    /// Left.
    pub x: f64,
    /// Top.
    pub y: f64,
    /// Width.
    pub width: f64,
    /// Height.
    pub height: f64,
}

impl Frame {
    /// The SVG attributes.
    pub(super) fn sides(self) -> String {
        let [x, y, width, height] = [self.x, self.y, self.width, self.height].map(number);
        format!("x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\"")
    }
}

/// The part of a text that lies at its position.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Anchor {
    Start,
    Middle,
    End,
}

/// An SVG document, drawn from back to front. The same calls give the same bytes.
#[derive(Debug, Clone)]
pub struct Svg {
    width: f64,
    height: f64,
    body: String,
    clips: usize,
}

impl Svg {
    /// A white sheet.
    pub(super) fn new(width: f64, height: f64) -> Self {
        let mut svg = Self { width, height, body: String::new(), clips: 0 };
        svg.rectangle(Frame { x: 0.0, y: 0.0, width, height }, "#ffffff", "");
        svg
    }

    /// A filled rectangle; `more` are further attributes, such as ` stroke="#000"`.
    pub fn rectangle(&mut self, frame: Frame, fill: &str, more: &str) {
        self.push(format_args!("<rect {} fill=\"{fill}\"{more}/>", frame.sides()));
    }

    pub(super) fn line(&mut self, from: [f64; 2], to: [f64; 2], stroke: &str, width: f64) {
        let [x1, y1, x2, y2, width] = [from[0], from[1], to[0], to[1], width].map(number);
        self.push(format_args!(
            "<line x1=\"{x1}\" y1=\"{y1}\" x2=\"{x2}\" y2=\"{y2}\" stroke=\"{stroke}\" stroke-width=\"{width}\"/>"
        ));
    }

    /// Lines or areas in the path language.
    pub(super) fn path(&mut self, path: &str, attributes: &str) {
        if !path.is_empty() {
            self.push(format_args!("<path d=\"{path}\" {attributes}/>"));
        }
    }

    pub(super) fn image(&mut self, attributes: &str) {
        self.push(format_args!("<image {attributes}/>"));
    }

    /// Text of this size on its base line. `_x` and `_{xyz}` are written as subscripts.
    pub(super) fn text(&mut self, at: [f64; 2], text: &str, size: f64, anchor: Anchor) {
        self.styled_text(at, text, size, anchor, "");
    }

    /// As [`Svg::text`], with further attributes, such as ` fill="#fff"`.
    pub(super) fn styled_text(&mut self, at: [f64; 2], text: &str, size: f64, anchor: Anchor, more: &str) {
        let anchor = match anchor {
            Anchor::Start => "start",
            Anchor::Middle => "middle",
            Anchor::End => "end",
        };
        let [x, y, em] = [at[0], at[1], size].map(number);
        let text = with_subscripts(text, size);
        self.push(format_args!(
            "<text x=\"{x}\" y=\"{y}\" font-size=\"{em}\" text-anchor=\"{anchor}\"{more}>{text}</text>"
        ));
    }

    /// Text from bottom to top.
    pub(super) fn turned_text(&mut self, at: [f64; 2], text: &str, size: f64, anchor: Anchor) {
        self.styled_text(at, text, size, anchor, &format!(" transform=\"rotate(-90 {:.2} {:.2})\"", at[0], at[1]));
    }

    /// Draws inside the frame only.
    pub(super) fn clipped(&mut self, frame: Frame, draw: impl FnOnce(&mut Self)) {
        self.clips += 1;
        let (clip, sides) = (self.clips, frame.sides());
        self.push(format_args!("<clipPath id=\"clip{clip}\"><rect {sides}/></clipPath>"));
        self.push(format_args!("<g clip-path=\"url(#clip{clip})\">"));
        draw(self);
        self.push(format_args!("</g>"));
    }

    fn push(&mut self, element: std::fmt::Arguments<'_>) {
        // Writing to a string cannot fail.
        let _ = writeln!(self.body, "{element}");
    }

    pub(super) fn finish(self) -> String {
        let [width, height] = [self.width, self.height].map(number);
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" \
             height=\"{height}\" font-family=\"{FONT}\" fill=\"#1c1c1c\">\n{}</svg>\n",
            self.body
        )
    }
}

/// Two decimals, none of them a trailing zero.
pub(super) fn number(value: f64) -> String {
    let text = format!("{value:.2}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    if text == "-0" { "0".into() } else { text.into() }
}

/// Escaped text in which `_x` and `_{xyz}` stand lower and smaller.
fn with_subscripts(text: &str, size: f64) -> String {
    let (drop, small) = (number(0.25 * size), number(0.75 * size));
    let mut out = String::new();
    let mut rest = text;
    while let Some(place) = rest.find('_') {
        let (before, after) = (&rest[..place], &rest[place + 1..]);
        let braced = after.strip_prefix('{').and_then(|inner| inner.split_once('}'));
        let single = || after.chars().next().map(|c| after.split_at(c.len_utf8()));
        let Some((lowered, tail)) = braced.or_else(single) else { break };
        out += &escape(before);
        let lowered = escape(lowered);
        let _ = write!(out, "<tspan dy=\"{drop}\" font-size=\"{small}\">{lowered}</tspan>");
        // An empty tspan would not move the base line back: U+200A is a hair space.
        let _ = write!(out, "<tspan dy=\"-{drop}\">\u{200a}</tspan>");
        rest = tail;
    }
    out + &escape(rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short() {
        assert_eq!([1.0, -0.001, 2.5, -3.25, 10.0, 0.126].map(number), ["1", "0", "2.5", "-3.25", "10", "0.13"]);
    }

    #[test]
    fn subscripts_are_lowered_and_everything_is_escaped() {
        let text = with_subscripts("λ_G < 1 & λ_{max}", 10.0);
        let sub =
            |s: &str| format!("<tspan dy=\"2.5\" font-size=\"7.5\">{s}</tspan><tspan dy=\"-2.5\">\u{200a}</tspan>");
        assert_eq!(text, format!("λ{} &lt; 1 &amp; λ{}", sub("G"), sub("max")));
        assert_eq!(with_subscripts("a_", 10.0), "a_");
    }

    #[test]
    fn elements_are_closed_and_clips_numbered() {
        let mut svg = Svg::new(10.0, 10.0);
        let frame = Frame { x: 0.0, y: 0.0, width: 5.0, height: 5.0 };
        svg.clipped(frame, |svg| svg.line([0.0, 0.0], [1.0, 1.0], "#000", 1.0));
        svg.clipped(frame, |svg| svg.text([0.0, 1.0], "<", 3.0, Anchor::End));
        let text = svg.finish();
        assert_eq!(text.matches("<g ").count(), text.matches("</g>").count());
        assert!(text.contains("url(#clip1)") && text.contains("url(#clip2)") && text.contains(">&lt;</text>"));
    }
}
