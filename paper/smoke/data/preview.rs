//! The speed in evenly spaced frames of a simulation, as one PNG.
//!
//! ```text
//! |w| at the centre of a cell: the means of its two u-faces and of its two v-faces        dark 0 … light: the fastest that is shown
//! ```
//!
//! Tiles read from left to right and down; in each, y points up.

use super::frame::{FRAME, speed};
use super::setting::SIDE;
use crate::data::mosaic::Mosaic;

/// Pixels a cell.
const ZOOM: usize = 2;

const GAP: usize = 4;

/// From speed 0 to the fastest, ever lighter.
const COLOURS: [[f64; 3]; 6] = [
    [8.0, 8.0, 24.0],
    [66.0, 20.0, 92.0],
    [138.0, 36.0, 92.0],
    [208.0, 72.0, 56.0],
    [244.0, 146.0, 42.0],
    [252.0, 246.0, 190.0],
];

/// A PNG of `columns` × `rows` frames of a simulation [frames, 2, 64, 64], the first and the last among them.
pub fn preview(frames: &[f32], columns: usize, rows: usize) -> Vec<u8> {
    let (count, tiles) = (frames.len() / FRAME, columns * rows);
    let shown = |tile: usize| tile * (count - 1) / (tiles - 1).max(1);
    let speeds: Vec<Vec<f64>> = (0..tiles).map(|tile| speed(&frames[shown(tile) * FRAME..][..FRAME], SIDE)).collect();
    let fastest = speeds.iter().flatten().fold(0.0_f64, |most, v| most.max(*v)).max(f64::MIN_POSITIVE);
    let mosaic = Mosaic { side: SIDE, zoom: ZOOM, gap: GAP, columns };
    mosaic.png(rows, |tile, row, column| colour(speeds[tile][(SIDE - 1 - row) * SIDE + column] / fastest))
}

fn colour(share: f64) -> [u8; 3] {
    let place = share.clamp(0.0, 1.0) * (COLOURS.len() - 1) as f64;
    let first = (place as usize).min(COLOURS.len() - 2);
    let rest = place - first as f64;
    std::array::from_fn(|c| ((1.0 - rest) * COLOURS[first][c] + rest * COLOURS[first + 1][c]).round() as u8)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::mosaic::decoded;

    #[test]
    fn a_preview_shows_the_speed_with_y_upwards() {
        // One frame: u = 3 on both faces, v = 4 on both faces of the cell (0, 0) only.
        let mut frame = vec![0.0; FRAME];
        (frame[0], frame[1]) = (3.0, 3.0);
        (frame[SIDE * SIDE], frame[SIDE * SIDE + SIDE]) = (4.0, 4.0);
        let image = preview(&frame, 1, 1);
        assert_eq!(&image[..8], b"\x89PNG\r\n\x1a\n");
        let (_, rows) = decoded(&image);
        let side = SIDE * ZOOM;
        assert_eq!(rows.len(), side * (1 + 3 * side));
        let last = &rows[(side - 1) * (1 + 3 * side) + 1..];
        assert_eq!(&last[..3], &[252, 246, 190]);
        assert_eq!(&rows[1..4], &[8, 8, 24]);
    }
}
