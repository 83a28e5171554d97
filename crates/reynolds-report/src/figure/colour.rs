//! Colours that stay apart for the colour-blind, and on paper.

use std::fmt;

/// Red, green, blue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Colour(pub u8, pub u8, pub u8);

impl Colour {
    /// The decision boundary of the network, and axes.
    pub const NAVY: Self = Self(0x0a, 0x24, 0x4d);
    /// The decision boundary of the baseline.
    pub const ORANGE: Self = Self(0xe6, 0x8a, 0x00);
    /// Points of the class +1.
    pub const BLUE: Self = Self(0x14, 0x5d, 0x9c);
    /// Points of the class −1.
    pub const RED: Self = Self(0xb2, 0x2a, 0x1c);

    /// Perceived lightness, from 0 to 1.
    pub(super) fn luminance(self) -> f64 {
        (0.2126 * f64::from(self.0) + 0.7152 * f64::from(self.1) + 0.0722 * f64::from(self.2)) / 255.0
    }

    /// Black or white, whichever is easier to read on it.
    pub(super) fn contrasting(self) -> &'static str {
        if self.luminance() > 0.55 { "#1c1c1c" } else { "#ffffff" }
    }
}

impl fmt::Display for Colour {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "#{:02x}{:02x}{:02x}", self.0, self.1, self.2)
    }
}

/// Red at −1, near white at 0, blue at 1.
const DIVERGING: [Colour; 5] = [
    Colour(0xb4, 0x4a, 0x38),
    Colour(0xe8, 0xac, 0x93),
    Colour(0xf8, 0xf7, 0xf5),
    Colour(0xa0, 0xc4, 0xde),
    Colour(0x3a, 0x78, 0xae),
];

/// Near white at 0, deep blue at 1.
const SEQUENTIAL: [Colour; 4] =
    [Colour(0xfb, 0xfb, 0xf9), Colour(0xb5, 0xd0, 0xe3), Colour(0x4f, 0x8f, 0xbf), Colour(0x0d, 0x3f, 0x75)];

/// Red for −1, near white for 0, blue for 1; clamped beyond, grey for NaN.
pub(crate) fn diverging(value: f64) -> Colour {
    between(&DIVERGING, (value + 1.0) / 2.0)
}

/// Near white for 0, deep blue for 1; clamped beyond.
pub(super) fn sequential(value: f64) -> Colour {
    between(&SEQUENTIAL, value)
}

fn between(anchors: &[Colour], position: f64) -> Colour {
    if position.is_nan() {
        return Colour(0x80, 0x80, 0x80);
    }
    let position = position.clamp(0.0, 1.0) * (anchors.len() - 1) as f64;
    let first = (position as usize).min(anchors.len() - 2);
    let part = position - first as f64;
    let mix = |a: u8, b: u8| (f64::from(a) + part * (f64::from(b) - f64::from(a))).round() as u8;
    let (a, b) = (anchors[first], anchors[first + 1]);
    Colour(mix(a.0, b.0), mix(a.1, b.1), mix(a.2, b.2))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_arms_darken_away_from_the_middle() {
        for step in 0..10 {
            let (near, far) = (f64::from(step) / 10.0, f64::from(step + 1) / 10.0);
            assert!(diverging(near).luminance() > diverging(far).luminance());
            assert!(diverging(-near).luminance() > diverging(-far).luminance());
            assert!(sequential(near).luminance() > sequential(far).luminance());
        }
        assert_eq!(diverging(7.0), diverging(1.0));
        assert_eq!(diverging(f64::NAN).to_string(), "#808080", "NaN is grey");
    }

    #[test]
    fn a_colour_is_written_in_six_digits() {
        assert_eq!(Colour(0, 10, 255).to_string(), "#000aff");
        assert_eq!((sequential(1.0).contrasting(), sequential(0.0).contrasting()), ("#ffffff", "#1c1c1c"));
    }
}
