//! Writing an archive again with some members' contents replaced.
//!
//! Headers, names, extra fields, padding, comments and the order of members stay; of a changed member only checksum, sizes and data
//! change, and where a deflated member grows or shrinks the offsets behind it move.

use super::super::Input;
use super::super::whole_file::Sink;
use super::directory::{ESCAPE, sizes};
use super::{Archive, Member, number};
use crate::error::Result;
use flate2::Compression;
use flate2::write::DeflateEncoder;
use std::io::Write;

/// What a changed member is after the change.
struct Replaced {
    crc: u32,
    size: u64,
    packed: u64,
}

impl Archive {
    /// Writes the archive to `sink`; `replace` gives the new contents of a member by its number, or `None` to keep them.
    pub(in super::super) fn rewrite(
        &self,
        input: Input<'_>,
        sink: &mut Sink<'_>,
        replace: &mut dyn FnMut(usize) -> Result<Option<Vec<u8>>>,
    ) -> Result<()> {
        let mut order: Vec<usize> = (0..self.members.len()).collect();
        order.sort_unstable_by_key(|&member| self.members[member].local);
        let mut directory = input.bytes[self.directory..].to_vec();
        let (mut read, mut written) = (0_usize, 0_u64);
        for number in order {
            let member = &self.members[number];
            if read > member.local {
                let expected = "a header after the descriptor before it";
                return Err(input.bad_tensor(&member.name, expected, "one that begins inside it"));
            }
            sink.copy(read..member.local)?;
            written += (member.local - read) as u64;
            self.patch_offset(input, member, written, &mut directory)?;
            (read, written) = match replace(number)? {
                None => {
                    sink.copy(member.local..member.data.end)?;
                    (member.data.end, written + (member.data.end - member.local) as u64)
                }
                Some(contents) => {
                    let (end, length) = self.write_changed(input, member, contents, sink, &mut directory)?;
                    (end, written + length)
                }
            };
        }
        let rest = read.min(self.directory)..self.directory;
        written += rest.len() as u64;
        sink.copy(rest)?;
        self.patch_end(input, written, &mut directory)?;
        sink.write(&directory)
    }

    /// Writes a changed member, with its header and descriptor; where reading goes on, and the bytes written.
    fn write_changed(
        &self,
        input: Input<'_>,
        member: &Member,
        contents: Vec<u8>,
        sink: &mut Sink<'_>,
        directory: &mut [u8],
    ) -> Result<(usize, u64)> {
        let (crc, size) = (crc32fast::hash(&contents), contents.len() as u64);
        let data = match member.deflated {
            false => contents,
            true => {
                let mut encoder = DeflateEncoder::new(Vec::new(), Compression::default());
                let written = encoder.write_all(&contents).and_then(|()| encoder.finish());
                written.map_err(|error| input.bad_tensor(&member.name, "contents to deflate", error.to_string()))?
            }
        };
        let replaced = Replaced { crc, size, packed: data.len() as u64 };
        let unsuitable = || input.bad_tensor(&member.name, "headers that can hold the new sizes", "32-bit fields");

        let mut header = input.bytes[member.local..member.data.start].to_vec();
        let places = |bytes: &[u8]| -> Option<(usize, usize)> {
            let (name, extra) = (number::<2>(bytes, 26)? as usize, number::<2>(bytes, 28)? as usize);
            let sizes = sizes(bytes, 22, 18, None, 30 + name, extra)?;
            Some((sizes.size.1, sizes.packed.1))
        };
        let (size_at, packed_at) = places(&header).ok_or_else(unsuitable)?;
        // With a descriptor the header's fields are zero, or escaped, and stay so.
        if !member.has_descriptor {
            header[14..18].copy_from_slice(&crc.to_le_bytes());
            put(&mut header, size_at, size_at != 22, replaced.size).ok_or_else(unsuitable)?;
            put(&mut header, packed_at, packed_at != 18, replaced.packed).ok_or_else(unsuitable)?;
        }
        let descriptor = match member.has_descriptor {
            false => Vec::new(),
            true => self.descriptor(input, member, &replaced).ok_or_else(unsuitable)?,
        };
        let record = member.record - self.directory;
        let found = record_places(directory, record).ok_or_else(unsuitable)?;
        directory[record + 16..record + 20].copy_from_slice(&crc.to_le_bytes());
        put(directory, found.0, found.0 != record + 24, replaced.size).ok_or_else(unsuitable)?;
        put(directory, found.1, found.1 != record + 20, replaced.packed).ok_or_else(unsuitable)?;

        sink.write(&header)?;
        sink.write(&data)?;
        sink.write(&descriptor)?;
        let length = header.len() + data.len() + descriptor.len();
        Ok((member.data.end + descriptor.len(), length as u64))
    }

    /// The data descriptor after a changed member, in the form of the old one, found by what it must say: with or without
    /// signature, sizes of 4 or 8 bytes.
    fn descriptor(&self, input: Input<'_>, member: &Member, new: &Replaced) -> Option<Vec<u8>> {
        let build = |signed: bool, wide: bool, crc: u32, packed: u64, size: u64| {
            let mut bytes = if signed { b"PK\x07\x08".to_vec() } else { Vec::new() };
            bytes.extend(crc.to_le_bytes());
            for number in [packed, size] {
                bytes.extend(&number.to_le_bytes()[..if wide { 8 } else { 4 }]);
            }
            bytes
        };
        let rest = &input.bytes[member.data.end..self.directory];
        let (packed, size) = (member.data.len() as u64, member.size as u64);
        let forms = [(true, true), (true, false), (false, true), (false, false)];
        let (signed, wide) = forms
            .into_iter()
            .find(|&(signed, wide)| rest.starts_with(&build(signed, wide, member.crc, packed, size)))?;
        (wide || new.packed.max(new.size) < ESCAPE).then(|| build(signed, wide, new.crc, new.packed, new.size))
    }

    /// Moves the offset in a member's central record.
    fn patch_offset(&self, input: Input<'_>, member: &Member, offset: u64, directory: &mut [u8]) -> Result<()> {
        let record = member.record - self.directory;
        let place = record_places(directory, record).map(|places| places.2);
        place
            .and_then(|place| put(directory, place, place != record + 42, offset))
            .ok_or_else(|| input.bad_tensor(&member.name, "a directory that can hold the new offset", "32-bit fields"))
    }

    /// Moves the directory's offset in the end records.
    fn patch_end(&self, input: Input<'_>, start: u64, directory: &mut [u8]) -> Result<()> {
        let shift = |place: usize| place - self.directory;
        let narrow = shift(self.end) + 16;
        let unsuitable = || input.malformed("an end record that can hold the new offset", "32-bit fields");
        if let Some(end64) = self.end64 {
            put(directory, shift(end64) + 48, true, start).ok_or_else(unsuitable)?;
            let locator = shift(self.end) - 20;
            put(directory, locator + 8, true, start + shift(end64) as u64).ok_or_else(unsuitable)?;
            if number::<4>(directory, narrow) == Some(ESCAPE) {
                return Ok(());
            }
        }
        put(directory, narrow, false, start).ok_or_else(unsuitable)
    }
}

/// Where a central record keeps size, packed size and offset.
fn record_places(directory: &[u8], record: usize) -> Option<(usize, usize, usize)> {
    let name = number::<2>(directory, record + 28)? as usize;
    let extra = number::<2>(directory, record + 30)? as usize;
    let sizes = sizes(directory, record + 24, record + 20, Some(record + 42), record + 46 + name, extra)?;
    Some((sizes.size.1, sizes.packed.1, sizes.offset.1))
}

/// Writes a number to a field of 8 bytes, or of 4 bytes if it fits there.
fn put(bytes: &mut [u8], place: usize, wide: bool, value: u64) -> Option<()> {
    let length = if wide { 8 } else { 4 };
    (wide || value < ESCAPE).then_some(())?;
    bytes.get_mut(place..place + length)?.copy_from_slice(&value.to_le_bytes()[..length]);
    Some(())
}
