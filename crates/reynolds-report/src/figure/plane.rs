//! A square of the plane: level sets, decision boundaries, points, axes.

use super::colour::{Colour, diverging};
use super::field::{Field, Polyline};
use super::path::path;
use super::svg::{Anchor, Frame, Svg, number};
use super::{Drawing, TICK_SIZE};

/// Bands on each side of zero.
const BANDS: usize = 5;

/// [−reach, reach]² with what is drawn in it, from back to front.
#[derive(Debug, Clone)]
pub struct Plane {
    reach: f64,
    layers: Vec<Layer>,
}

#[derive(Debug, Clone)]
enum Layer {
    LevelSets { field: Field, scale: f64 },
    Boundary { field: Field, colour: Colour, dashed: bool },
    Points { points: Vec<[f64; 2]>, positive: bool },
}

impl Plane {
    /// An empty square.
    pub fn new(reach: f64) -> Self {
        Self { reach, layers: Vec::new() }
    }

    /// Fills ten bands of the values, five on each side of zero, evenly up to ± `scale`; red below zero, blue above.
    pub fn level_sets(&mut self, field: &Field, scale: f64) -> &mut Self {
        self.layers.push(Layer::LevelSets { field: field.clone(), scale });
        self
    }

    /// Draws {f = 0} as a thick line.
    pub fn boundary(&mut self, field: &Field, colour: Colour, dashed: bool) -> &mut Self {
        self.layers.push(Layer::Boundary { field: field.clone(), colour, dashed });
        self
    }

    /// Draws points: blue discs for the class +1, red squares for −1.
    pub fn points(&mut self, points: &[[f64; 2]], labels: &[bool]) -> &mut Self {
        for class in [true, false] {
            let members = points.iter().zip(labels).filter(|(_, label)| **label == class).map(|(point, _)| *point);
            self.layers.push(Layer::Points { points: members.collect(), positive: class });
        }
        self
    }

    fn to_sheet(&self, frame: Frame, [x, y]: [f64; 2]) -> [f64; 2] {
        let at = |value: f64| (value + self.reach) / (2.0 * self.reach);
        [frame.x + at(x) * frame.width, frame.y + (1.0 - at(y)) * frame.height]
    }

    fn lines(&self, frame: Frame, lines: Vec<Polyline>) -> String {
        let lines: Vec<Polyline> =
            lines.into_iter().map(|line| line.into_iter().map(|point| self.to_sheet(frame, point)).collect()).collect();
        path(&lines)
    }

    fn draw_layer(&self, svg: &mut Svg, frame: Frame, layer: &Layer) {
        match layer {
            Layer::LevelSets { field, scale } => {
                svg.rectangle(frame, &band_colour(0).to_string(), "");
                for band in 1..2 * BANDS {
                    let level = scale * (band as f64 / BANDS as f64 - 1.0);
                    let area = self.lines(frame, field.outlines(level));
                    let colour = band_colour(band);
                    svg.path(
                        &area,
                        &format!("fill=\"{colour}\" fill-rule=\"evenodd\" stroke=\"#ffffff\" stroke-width=\"0.4\""),
                    );
                }
            }
            Layer::Boundary { field, colour, dashed } => {
                let line = self.lines(frame, field.lines(0.0));
                let style = "fill=\"none\" stroke-linejoin=\"round\"";
                svg.path(&line, &format!("{style} stroke=\"#ffffff\" stroke-width=\"3.6\" stroke-opacity=\"0.7\""));
                let dashes = if *dashed { " stroke-dasharray=\"5 2.5\"" } else { "" };
                svg.path(&line, &format!("{style} stroke=\"{colour}\" stroke-width=\"2.2\"{dashes}"));
            }
            Layer::Points { points, positive } => {
                let points: Vec<[f64; 2]> = points.iter().map(|&point| self.to_sheet(frame, point)).collect();
                draw_points(svg, &points, *positive);
            }
        }
    }
}

/// The colour of one of the ten bands, from the lowest.
pub(super) fn band_colour(band: usize) -> Colour {
    diverging((band as f64 + 0.5) / BANDS as f64 - 1.0)
}

/// Blue discs or red squares with a white rim: lines of no length with caps.
pub(super) fn draw_points(svg: &mut Svg, points: &[[f64; 2]], positive: bool) {
    let (colour, cap, size) = if positive { (Colour::BLUE, "round", 2.1) } else { (Colour::RED, "square", 1.7) };
    let places: String = points.iter().map(|[x, y]| format!("M{} {}h0", number(*x), number(*y))).collect();
    for (stroke, width) in [("#ffffff".into(), size + 0.6), (colour.to_string(), size)] {
        svg.path(&places, &format!("stroke=\"{stroke}\" stroke-width=\"{width:.1}\" stroke-linecap=\"{cap}\""));
    }
}

impl Drawing for Plane {
    fn draw(&self, svg: &mut Svg, frame: Frame, left: bool, bottom: bool) {
        svg.clipped(frame, |svg| {
            for layer in &self.layers {
                self.draw_layer(svg, frame, layer);
            }
        });
        svg.rectangle(frame, "none", " stroke=\"#444444\" stroke-width=\"0.8\"");
        let whole = self.reach.floor() as i64;
        let step = (whole / 2).max(1);
        for tick in (-whole..=whole).filter(|tick| tick % step == 0) {
            let value = tick as f64;
            let label = tick.to_string().replace('-', "−");
            let [x, y] = self.to_sheet(frame, [value, value]);
            let (base, edge) = (frame.y + frame.height, frame.x);
            svg.line([x, base], [x, base + 3.0], "#444444", 0.8);
            svg.line([edge - 3.0, y], [edge, y], "#444444", 0.8);
            if bottom {
                svg.text([x, base + 4.0 + TICK_SIZE], &label, TICK_SIZE, Anchor::Middle);
            }
            if left {
                svg.text([edge - 5.0, y + 0.35 * TICK_SIZE], &label, TICK_SIZE, Anchor::End);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::drawn;
    use super::*;

    fn field() -> Field {
        let values = Field::square_points(3.0, 41).iter().map(|[x, y]| 2.0 - x.hypot(*y)).collect();
        Field::square(3.0, 41, values)
    }

    #[test]
    fn a_plane_draws_what_it_was_given_and_the_same_each_time() {
        let draw = || {
            let mut plane = Plane::new(3.0);
            plane.level_sets(&field(), 2.0).boundary(&field(), Colour::NAVY, false);
            plane.points(&[[0.0, 0.0], [2.5, 0.0]], &[true, false]);
            drawn(&plane, [10.0, 10.0, 100.0, 100.0])
        };
        let text = draw();
        assert_eq!(text, draw());
        // Eleven areas at most (the outermost levels may be empty), the boundary twice, two classes of points.
        assert!(text.matches("evenodd").count() >= 7, "{text}");
        assert!(text.contains(&Colour::NAVY.to_string()) && text.contains(">−3</text>"));
        // The origin is the middle of the frame, and y grows upwards.
        assert!(text.contains("d=\"M60 60h0\""));
    }

    #[test]
    fn bands_go_from_red_through_white_to_blue() {
        let colours: Vec<Colour> = (0..10).map(band_colour).collect();
        assert!(colours[0].0 > colours[0].2 && colours[9].2 > colours[9].0);
        assert!(colours[4].luminance() > 0.85 && colours[5].luminance() > 0.85);
    }
}
