//! Square tiles side by side, as one PNG.

use reynolds_report::png;

/// Layout of tiles: `side` values along a side, `zoom` pixels a value, `gap` pixels between tiles.
pub(crate) struct Mosaic {
    pub(crate) side: usize,
    pub(crate) zoom: usize,
    pub(crate) gap: usize,
    pub(crate) columns: usize,
}

impl Mosaic {
    /// A PNG of `rows` rows of tiles on white; `pixel(tile, row, column)` is the colour of a value, rows counted from the top.
    pub(crate) fn png(&self, rows: usize, pixel: impl Fn(usize, usize, usize) -> [u8; 3]) -> Vec<u8> {
        let Self { side, zoom, gap, columns } = *self;
        let pitch = side * zoom + gap;
        let (width, height) = (columns * pitch - gap, rows * pitch - gap);
        let mut pixels = vec![255; width * height * 3];
        for tile in 0..rows * columns {
            let (left, top) = ((tile % columns) * pitch, (tile / columns) * pitch);
            for y in 0..side * zoom {
                let start = ((top + y) * width + left) * 3;
                for (x, shown) in pixels[start..start + side * zoom * 3].chunks_exact_mut(3).enumerate() {
                    shown.copy_from_slice(&pixel(tile, y / zoom, x / zoom));
                }
            }
        }
        png(width, height, &pixels)
    }
}

/// Width and rows of a PNG, a byte of filter before the pixels of each.
#[cfg(test)]
pub(crate) fn decoded(image: &[u8]) -> (usize, Vec<u8>) {
    let width = u32::from_be_bytes(image[16..20].try_into().unwrap()) as usize;
    let data = image.windows(4).position(|w| w == b"IDAT").unwrap() + 4;
    let mut rows = Vec::new();
    std::io::Read::read_to_end(&mut flate2::read::ZlibDecoder::new(&image[data..]), &mut rows).unwrap();
    (width, rows)
}
