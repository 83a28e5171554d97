//! A PNG of some volumes: a row for each class, four tiles for each volume.
//!
//! ```text
//! v[side/2, ·, ·]   v[·, side/2, ·]   v[·, ·, side/2]   max over the first index        earlier index downwards
//! ```

use super::Volumes;
use crate::data::error::{Error, Result};
use crate::data::mosaic::Mosaic;

const VIEWS: usize = 4;

/// Fewest pixels along a side of a tile: smaller volumes are enlarged by a whole number.
const TILE: usize = 84;

const GAP: usize = 4;

const EMPTY: u8 = 255;

const LIMIT: usize = 16_384;

/// A PNG of `each` volumes of every class, evenly spaced among those of the class; missing ones are white.
pub fn preview(volumes: &Volumes, classes: usize, each: usize) -> Result<Vec<u8>> {
    let side = volumes.side;
    if side == 0 || classes == 0 || each == 0 {
        let found = format!("side {side}, {classes} classes, {each} of each");
        return Err(Error::setting("volumes to show", "at least one of each", found));
    }
    if let Some(label) = volumes.labels.iter().find(|&&label| usize::from(label) >= classes) {
        return Err(Error::setting("label", format!("below {classes}"), label));
    }
    let zoom = TILE.div_ceil(side);
    let most = (LIMIT + GAP) / (side * zoom + GAP);
    if each > most / VIEWS || classes > most {
        return Err(Error::setting("image", format!("at most {LIMIT} pixels a side"), "more"));
    }
    let mut shown: Vec<Option<[Vec<u8>; VIEWS]>> = Vec::new();
    for class in 0..classes {
        let members: Vec<usize> = (0..volumes.count()).filter(|&n| usize::from(volumes.labels[n]) == class).collect();
        let of_place = |place: usize| members.get(place * members.len() / each.min(members.len()).max(1));
        let place = |place: usize| of_place(place).map(|&number| views(volumes.image(number), side));
        shown.extend((0..each).map(place));
    }
    let mosaic = Mosaic { side, zoom, gap: GAP, columns: VIEWS * each };
    Ok(mosaic.png(classes, |tile, row, column| {
        [shown[tile / VIEWS].as_ref().map_or(EMPTY, |views| views[tile % VIEWS][row * side + column]); 3]
    }))
}

/// The three slices through the middle and the largest values along the first index, `[side, side]` each.
fn views(voxels: &[u8], side: usize) -> [Vec<u8>; VIEWS] {
    let middle = side / 2;
    let at = |x: usize, y: usize, z: usize| voxels[(x * side + y) * side + z];
    let image = |value: &dyn Fn(usize, usize) -> u8| (0..side * side).map(|n| value(n / side, n % side)).collect();
    [
        image(&|row, column| at(middle, row, column)),
        image(&|row, column| at(row, middle, column)),
        image(&|row, column| at(row, column, middle)),
        image(&|row, column| (0..side).map(|x| at(x, row, column)).max().unwrap_or(0)),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::mosaic::decoded;

    #[test]
    fn tiles_are_the_middle_slices_and_the_brightest_values_by_class() {
        // v = 100x + 10y + z on 2³, and the same plus one; classes 1 and 0.
        let voxel = |n: usize| (100 * (n / 4) + 10 * (n / 2 % 2) + n % 2) as u8;
        let images = (0..8).map(voxel).chain((0..8).map(|n| voxel(n) + 1)).collect();
        let volumes = Volumes { side: 2, images, labels: vec![1, 0] };
        let (width, rows) = decoded(&preview(&volumes, 3, 1).unwrap());
        let pixel = |x: usize, y: usize| rows[y * (1 + 3 * width) + 1 + 3 * x];
        // The last pixel of a tile is its entry (1, 1), the one at its left (1, 0).
        let corner = |view: usize, class: usize| (view * (TILE + GAP), class * (TILE + GAP));
        for (class, more) in [(0, 1), (1, 0)] {
            for (view, [first, last]) in [[100, 111], [10, 111], [1, 111], [100, 111]].iter().enumerate() {
                let (x, y) = corner(view, class);
                assert_eq!(pixel(x, y), first + more, "{class} {view}");
                assert_eq!(pixel(x + TILE - 1, y + TILE - 1), last + more, "{class} {view}");
            }
        }
        let (x, y) = corner(0, 1);
        assert_eq!(pixel(x + TILE - 1, y), 101);
        let (x, y) = corner(0, 2);
        assert_eq!((pixel(x, y), width), (EMPTY, 4 * TILE + 3 * GAP));
    }

    #[test]
    fn empty_previews_and_unknown_labels_are_refused() {
        let volumes = Volumes { side: 1, images: vec![0, 0], labels: vec![0, 2] };
        assert_eq!(preview(&volumes, 2, 1).unwrap_err().to_string(), "label: expected below 2, found 2");
        assert!(preview(&volumes, 3, 0).is_err() && preview(&volumes, 0, 1).is_err());
        assert!(preview(&volumes, 3, usize::MAX).is_err());
        assert!(preview(&volumes, 3, 1).is_ok());
    }
}
