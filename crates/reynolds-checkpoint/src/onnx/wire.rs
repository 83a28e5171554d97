//! The wire format of protocol buffers: fields one after the other, read in place.
//!
//! ```text
//! field   tag = number·8 + type, as a varint:   0 varint   1 eight bytes   2 length · bytes   5 four bytes
//! ```

use std::ops::Range;

/// What a field holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Wire {
    Number(u64),
    /// These bytes of the file: a text, a message, packed numbers, or four or eight bytes.
    Bytes(Range<usize>),
}

/// The fields of the message in a range of the file.
#[derive(Debug, Clone)]
pub(super) struct Fields<'a> {
    file: &'a [u8],
    at: usize,
    end: usize,
}

/// A message that does not follow the wire format, and where.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Damage(pub(super) usize);

impl<'a> Fields<'a> {
    pub(super) fn of(file: &'a [u8], range: Range<usize>) -> Self {
        Self { file, at: range.start, end: range.end.min(file.len()) }
    }

    fn varint(&mut self) -> Option<u64> {
        let mut number = 0_u64;
        for shift in (0..70).step_by(7) {
            let byte = *self.file[..self.end].get(self.at)?;
            self.at += 1;
            // Of the tenth byte one bit is left.
            number |= u64::from(byte & 0x7f).checked_shl(shift)?;
            if byte < 0x80 {
                return Some(number);
            }
        }
        None
    }

    fn field(&mut self) -> Option<(u64, Wire)> {
        let tag = self.varint()?;
        let length = match tag & 7 {
            0 => return self.varint().map(|number| (tag >> 3, Wire::Number(number))),
            1 => 8,
            2 => usize::try_from(self.varint()?).ok()?,
            5 => 4,
            _ => return None,
        };
        let end = self.at.checked_add(length).filter(|&end| end <= self.end)?;
        let range = self.at..end;
        self.at = end;
        Some((tag >> 3, Wire::Bytes(range)))
    }
}

impl Iterator for Fields<'_> {
    type Item = Result<(u64, Wire), Damage>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.at >= self.end {
            return None;
        }
        let start = self.at;
        let field = self.field().ok_or(Damage(start));
        if field.is_err() {
            self.at = self.end;
        }
        Some(field)
    }
}

/// The numbers of a repeated field: packed, or one at a time.
pub(super) fn numbers(file: &[u8], wire: &Wire, into: &mut Vec<i64>) -> Result<(), Damage> {
    match wire {
        Wire::Number(number) => into.push(*number as i64),
        Wire::Bytes(range) => {
            let mut packed = Fields::of(file, range.clone());
            while packed.at < packed.end {
                let at = packed.at;
                into.push(packed.varint().ok_or(Damage(at))? as i64);
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_read_in_place_and_damage_is_found() {
        // 1: 150, 2: "ab", 3: four bytes.
        let message = [0x08, 0x96, 0x01, 0x12, 2, b'a', b'b', 0x1d, 1, 2, 3, 4];
        let all: Result<Vec<_>, _> = Fields::of(&message, 0..12).collect();
        assert_eq!(all.unwrap(), [(1, Wire::Number(150)), (2, Wire::Bytes(5..7)), (3, Wire::Bytes(8..12))]);
        for bad in [
            &[0x12, 3, b'a'][..],
            &[0x08],
            &[0x0b],
            &[0xff; 11],
            &[0x12, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1],
        ] {
            assert!(Fields::of(bad, 0..bad.len()).any(|field| field.is_err()), "{bad:?}");
        }
        let mut found = vec![];
        numbers(
            &[0x96, 0x01, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1],
            &Wire::Bytes(0..12),
            &mut found,
        )
        .unwrap();
        assert_eq!(found, [150, -1]);
    }
}
