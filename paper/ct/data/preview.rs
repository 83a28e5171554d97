//! Pairs at a glance: rows of truth, corrupted, interpolated and metal, as one PNG in a soft-tissue window.

use super::slice::{Pair, hounsfield};
use crate::data::error::{Error, Result};
use crate::data::mosaic::Mosaic;

/// Hounsfield units that are black and white.
const WINDOW: [f32; 2] = [-175.0, 275.0];

const GAP: usize = 4;

/// Smaller images are enlarged by a whole number.
const TILE: usize = 192;

const METAL: [f32; 3] = [250.0, 170.0, 40.0];

/// A PNG with a row for each pair: truth, corrupted, interpolated, and the truth with the metal in colour.
pub fn preview(pairs: &[Pair]) -> Result<Vec<u8>> {
    let side = match pairs {
        [first, ..] if pairs.len() <= 100 => first.side,
        _ => return Err(Error::setting("pairs to show", "1 to 100", pairs.len())),
    };
    if let Some(pair) = pairs.iter().find(|pair| pair.side != side) {
        return Err(Error::setting("side of the pairs to show", side, pair.side));
    }
    let grey = |image: &[f32]| image.iter().map(|&value| [window(hounsfield(value)); 3]).collect::<Vec<_>>();
    let row = |pair: &Pair| [grey(&pair.truth), grey(&pair.corrupted), grey(&pair.interpolated), coloured(pair)];
    Ok(mosaic(&pairs.iter().flat_map(row).collect::<Vec<_>>(), side, 4))
}

/// A PNG of one image in Hounsfield units, `[side, side]`.
pub fn preview_image(side: usize, hu: &[f32]) -> Result<Vec<u8>> {
    if side == 0 || hu.len() != side * side {
        return Err(Error::setting("image to show", format!("{side} × {side} pixels"), hu.len()));
    }
    Ok(mosaic(&[hu.iter().map(|&hu| [window(hu); 3]).collect()], side, 1))
}

fn window(hu: f32) -> u8 {
    (255.0 * (hu - WINDOW[0]) / (WINDOW[1] - WINDOW[0])).clamp(0.0, 255.0).round() as u8
}

fn coloured(pair: &Pair) -> Vec<[u8; 3]> {
    let pixel = |(truth, metal): (&f32, &f32)| {
        let (grey, share) = (f32::from(window(hounsfield(*truth))), metal.clamp(0.0, 1.0));
        METAL.map(|colour| ((1.0 - share) * grey + share * colour).round() as u8)
    };
    pair.truth.iter().zip(&pair.metal).map(pixel).collect()
}

fn mosaic(tiles: &[Vec<[u8; 3]>], side: usize, columns: usize) -> Vec<u8> {
    let mosaic = Mosaic { side, zoom: TILE.div_ceil(side).max(1), gap: GAP, columns };
    mosaic.png(tiles.len() / columns, |tile, row, column| tiles[tile][row * side + column])
}

#[cfg(test)]
mod tests {
    use super::super::slice::attenuation;
    use super::*;
    use crate::data::mosaic::decoded;

    #[test]
    fn a_row_shows_the_window_and_the_metal() {
        let flat = |hu: f32| vec![attenuation(hu); 4];
        let metal = vec![1.0, 0.0, 0.0, 0.0];
        let pair = Pair { side: 2, truth: flat(-175.0), corrupted: flat(275.0), interpolated: flat(50.0), metal };
        let image = preview(&[pair]).unwrap();
        let (_, rows) = decoded(&image);
        let tile = |n: usize| rows[1 + 3 * n * (TILE + GAP)];
        assert_eq!((tile(0), tile(1)), (0, 255));
        assert!(tile(2).abs_diff(128) <= 1 && tile(3) == 250, "{} {}", tile(2), tile(3));
    }

    #[test]
    fn nothing_and_unequal_sides_are_refused() {
        let pair = |side: usize| {
            let image = vec![0.0; side * side];
            Pair { side, truth: image.clone(), corrupted: image.clone(), interpolated: image.clone(), metal: image }
        };
        assert_eq!(preview(&[]).unwrap_err().to_string(), "pairs to show: expected 1 to 100, found 0");
        let error = preview(&[pair(2), pair(3)]).unwrap_err().to_string();
        assert_eq!(error, "side of the pairs to show: expected 2, found 3");
        assert!(preview_image(3, &[0.0; 8]).is_err());
    }
}
