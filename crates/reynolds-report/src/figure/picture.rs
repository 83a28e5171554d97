//! A picture in shades of grey, pixel by pixel: a PNG inside the SVG, so that it stays small and sharp.

use crate::png;

use super::Drawing;
use super::svg::{Frame, Svg};

/// Pixels `[rows, columns]` from the top.
#[derive(Debug, Clone)]
pub struct Picture {
    columns: usize,
    grey: Vec<u8>,
}

impl Picture {
    /// Row-major values from the top: black at `low` or less and for NaN, white at `high` or more. Panics unless they fill whole rows.
    pub fn new(columns: usize, values: &[f32], low: f32, high: f32) -> Self {
        assert!(columns > 0 && !values.is_empty() && values.len().is_multiple_of(columns), "{} values", values.len());
        // The cast saturates, and takes NaN to 0.
        let grey = values.iter().map(|value| (255.0 * (value - low) / (high - low)).round() as u8).collect();
        Self { columns, grey }
    }
}

impl Drawing for Picture {
    fn draw(&self, svg: &mut Svg, frame: Frame, _left: bool, _bottom: bool) {
        let pixels: Vec<u8> = self.grey.iter().flat_map(|&grey| [grey; 3]).collect();
        let data = base64(&png(self.columns, self.grey.len() / self.columns, &pixels));
        svg.image(&format!(
            "{} preserveAspectRatio=\"none\" style=\"image-rendering:pixelated\" href=\"data:image/png;base64,{data}\"",
            frame.sides()
        ));
        svg.rectangle(frame, "none", " stroke=\"#444444\" stroke-width=\"0.6\"");
    }
}

/// RFC 4648.
fn base64(bytes: &[u8]) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for three in bytes.chunks(3) {
        let bits = three.iter().enumerate().fold(0_u32, |bits, (at, &byte)| bits | u32::from(byte) << (16 - 8 * at));
        for at in 0..4 {
            let letter = LETTERS[(bits >> (18 - 6 * at)) as usize & 63] as char;
            text.push(if at <= three.len() { letter } else { '=' });
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::super::drawn;
    use super::*;

    /// The test vectors of RFC 4648, section 10.
    #[test]
    fn base64_is_that_of_the_standard() {
        for (bytes, text) in
            [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foob", "Zm9vYg=="), ("foobar", "Zm9vYmFy")]
        {
            assert_eq!(base64(bytes.as_bytes()), text);
        }
    }

    #[test]
    fn values_are_shades_between_the_ends_of_the_window() {
        let picture = Picture::new(3, &[-5.0, 10.0, 20.0, 15.0, 99.0, f32::NAN], 10.0, 20.0);
        assert_eq!(picture.grey, [0, 0, 255, 128, 255, 0]);
        let text = drawn(&picture, [1.0, 2.0, 6.0, 4.0]);
        assert!(text.contains("<image x=\"1\" y=\"2\" width=\"6\" height=\"4\""), "{text}");
        assert!(text.contains("base64,iVBORw0KGgo"), "{text}");
    }
}
