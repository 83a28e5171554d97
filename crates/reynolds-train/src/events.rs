//! TensorBoard event files: scalars only.
//!
//! ```text
//! record:   length u64 · masked crc32c of it u32 · bytes · masked crc32c of them u32, little-endian
//! bytes:    Event { 1: wall_time f64, 2: step i64, 3: file_version text | 5: Summary }, protocol buffers
//! Summary:  repeated 1: Value { 1: tag text, 2: simple_value f32 }
//! ```

use crate::task::Metrics;

/// The record that every event file begins with.
pub(crate) fn header(wall_time: f64) -> Vec<u8> {
    let mut event = Message::default();
    event.double(1, wall_time);
    event.bytes(3, b"brain.Event:2");
    frame(&event.0)
}

/// The record of some scalars at one step.
pub(crate) fn scalars(wall_time: f64, step: usize, scalars: &Metrics) -> Vec<u8> {
    let mut summary = Message::default();
    for (tag, value) in scalars {
        let mut scalar = Message::default();
        scalar.bytes(1, tag.as_bytes());
        scalar.float(2, *value as f32);
        summary.bytes(1, &scalar.0);
    }
    let mut event = Message::default();
    event.double(1, wall_time);
    event.tag(2, 0);
    event.varint(step as u64);
    event.bytes(5, &summary.0);
    frame(&event.0)
}

/// The bytes with length and checksums around them.
fn frame(bytes: &[u8]) -> Vec<u8> {
    let length = (bytes.len() as u64).to_le_bytes();
    [&length[..], &masked(&length), bytes, &masked(bytes)].concat()
}

/// TensorFlow's masked CRC-32C.
fn masked(bytes: &[u8]) -> [u8; 4] {
    crc32c::crc32c(bytes).rotate_right(15).wrapping_add(0xa282_ead8).to_le_bytes()
}

/// A protocol buffer.
#[derive(Default)]
struct Message(Vec<u8>);

impl Message {
    /// Kinds of fields: 0 varint, 1 eight bytes, 2 length and bytes, 5 four bytes.
    fn tag(&mut self, field: u64, kind: u64) {
        self.varint(field << 3 | kind);
    }

    /// Seven bits a byte, lowest first, the high bit set on all but the last.
    fn varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.0.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.0.push(value as u8);
    }

    fn double(&mut self, field: u64, value: f64) {
        self.tag(field, 1);
        self.0.extend(value.to_le_bytes());
    }

    fn float(&mut self, field: u64, value: f32) {
        self.tag(field, 5);
        self.0.extend(value.to_le_bytes());
    }

    fn bytes(&mut self, field: u64, bytes: &[u8]) {
        self.tag(field, 2);
        self.varint(bytes.len() as u64);
        self.0.extend(bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scalar_is_the_bytes_worked_out_by_hand() {
        let record = scalars(1.0, 300, &[("a".into(), 0.5)].into());
        #[rustfmt::skip]
        let event = [
            0x09, 0, 0, 0, 0, 0, 0, 0xf0, 0x3f,     // field 1, eight bytes: 1.0
            0x10, 0xac, 0x02,                       // field 2, varint: 300 = 0b10_0101100
            0x2a, 0x0a,                             // field 5, ten bytes
            0x0a, 0x08,                             //   field 1, eight bytes
            0x0a, 0x01, b'a',                       //     field 1: "a"
            0x15, 0, 0, 0, 0x3f,                    //     field 2, four bytes: 0.5
        ];
        assert_eq!(record[..8], [event.len() as u8, 0, 0, 0, 0, 0, 0, 0]);
        assert_eq!(record[12..record.len() - 4], event);
    }

    #[test]
    fn a_version_header_is_what_tensorboard_writes() {
        // The length 24 and its masked checksum open every file that TensorFlow's writer makes with a header at an f64 time.
        let record = header(0.0);
        assert_eq!(record[..12], [24, 0, 0, 0, 0, 0, 0, 0, 0xa3, 0x7f, 0x4b, 0x22]);
        assert_eq!(&record[12 + 11..12 + 24], b"brain.Event:2");
    }
}
