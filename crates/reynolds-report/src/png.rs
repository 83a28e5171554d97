//! Images as PNG files.

use std::io::Write;

use flate2::Compression;
use flate2::write::ZlibEncoder;

/// The file of an eight-bit RGB image, `[height, width, 3]`.
pub fn png(width: usize, height: usize, pixels: &[u8]) -> Vec<u8> {
    let mut out = b"\x89PNG\r\n\x1a\n".to_vec();
    let mut header = Vec::new();
    header.extend((width as u32).to_be_bytes());
    header.extend((height as u32).to_be_bytes());
    header.extend([8, 2, 0, 0, 0]);
    chunk(&mut out, b"IHDR", &header);
    let mut packed = ZlibEncoder::new(Vec::new(), Compression::best());
    for row in pixels.chunks_exact(width * 3) {
        packed.write_all(&[0]).and_then(|()| packed.write_all(row)).expect("a vector takes whatever is written");
    }
    chunk(&mut out, b"IDAT", &packed.finish().expect("a vector takes whatever is written"));
    chunk(&mut out, b"IEND", &[]);
    out
}

fn chunk(out: &mut Vec<u8>, kind: &[u8; 4], data: &[u8]) {
    out.extend((data.len() as u32).to_be_bytes());
    let start = out.len();
    out.extend(kind);
    out.extend(data);
    let crc = crc32fast::hash(&out[start..]);
    out.extend(crc.to_be_bytes());
}
