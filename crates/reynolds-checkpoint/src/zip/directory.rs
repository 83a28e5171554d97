//! Reading the central directory, and checking it against the local headers.

use super::super::Input;
use super::{Archive, Member, number};
use crate::error::Result;
use std::collections::HashSet;

const LOCAL: &[u8] = b"PK\x03\x04";
const RECORD: &[u8] = b"PK\x01\x02";
const END: &[u8] = b"PK\x05\x06";
const END64: &[u8] = b"PK\x06\x06";
const LOCATOR64: &[u8] = b"PK\x06\x07";
/// In a 32-bit field: the number is in the zip64 extra field.
pub(super) const ESCAPE: u64 = 0xFFFF_FFFF;

/// Sizes and offset of a member, and where each is written: in its 32-bit field, or in the zip64 extra field.
pub(super) struct Sizes {
    pub(super) size: (u64, usize),
    pub(super) packed: (u64, usize),
    pub(super) offset: (u64, usize),
}

impl Archive {
    /// Reads and checks all headers of the archive.
    pub(in super::super) fn parse(input: Input<'_>) -> Result<Archive> {
        let cut = || input.malformed("a whole zip archive", "no end record (truncated?)");
        let (end, end64) = find_end(input.bytes).ok_or_else(cut)?;
        let bytes = input.bytes;
        let fields = match end64 {
            None => (number::<2>(bytes, end + 10), number::<4>(bytes, end + 12), number::<4>(bytes, end + 16)),
            Some(at) => (number::<8>(bytes, at + 32), number::<8>(bytes, at + 40), number::<8>(bytes, at + 48)),
        };
        let (Some(count), Some(length), Some(start)) = fields else { return Err(cut()) };
        let after = end64.unwrap_or(end) as u64;
        if start.checked_add(length) != Some(after) {
            let found = format!("one of {length} bytes at {start}");
            return Err(input.malformed(format!("a central directory that ends at {after}"), found));
        }
        let mut archive = Archive { members: Vec::new(), directory: start as usize, end64, end };
        let mut at = archive.directory;
        while at < after as usize {
            at = archive.parse_record(input, at)?;
        }
        if archive.members.len() as u64 != count {
            return Err(input.malformed(format!("{count} members"), format!("{}", archive.members.len())));
        }
        archive.check_members(input)?;
        Ok(archive)
    }

    /// One central record and its local header; where the next record begins.
    fn parse_record(&mut self, input: Input<'_>, at: usize) -> Result<usize> {
        let bytes = &input.bytes[..self.end64.unwrap_or(self.end)];
        let cut = || input.malformed(format!("a central record at {at}"), "something else");
        if bytes.get(at..at + 4) != Some(RECORD) {
            return Err(cut());
        }
        let field = |offset: usize| number::<2>(bytes, at + offset).ok_or_else(cut);
        let (flags, method, crc) = (field(8)?, field(10)?, number::<4>(bytes, at + 16).ok_or_else(cut)?);
        let (name, extra, comment) = (field(28)? as usize, field(30)? as usize, field(32)? as usize);
        let next = at + 46 + name + extra + comment;
        if next > bytes.len() {
            return Err(cut());
        }
        let raw_name = &bytes[at + 46..at + 46 + name];
        let sizes = sizes(bytes, at + 24, at + 20, Some(at + 42), at + 46 + name, extra).ok_or_else(cut)?;
        let not_text = |_| input.malformed("member names in UTF-8", format!("\"{}\"", raw_name.escape_ascii()));
        let name = std::str::from_utf8(raw_name).map_err(not_text)?.to_owned();
        let bad = |expected: &str, found: String| input.bad_tensor(&name, expected, found);
        if leads_out(&name) {
            return Err(input.malformed("member names inside the archive", format!("\"{name}\"")));
        }
        if flags & 1 != 0 {
            return Err(bad("a plain member", "an encrypted one".into()));
        }
        if method != 0 && method != 8 {
            return Err(bad("a stored or deflated member", format!("compression method {method}")));
        }
        let local = usize::try_from(sizes.offset.0).ok().filter(|&local| local < self.directory);
        let local = local.ok_or_else(|| bad("a member before the directory", format!("one at {}", sizes.offset.0)))?;
        let body = &input.bytes[..self.directory];
        let local_field = |offset: usize| number::<2>(body, local + offset).map(|field| field as usize);
        let lengths = local_field(26).zip(local_field(28)).filter(|_| body[local..].starts_with(LOCAL));
        let (local_name, local_extra) = lengths.ok_or_else(|| bad("a local header", format!("none at {local}")))?;
        if body.get(local + 30..local + 30 + local_name) != Some(raw_name) || local_field(8) != Some(method as usize) {
            return Err(bad("a local header that agrees with the directory", "another name or method".into()));
        }
        let start = local + 30 + local_name + local_extra;
        let (size, packed) = (sizes.size.0, sizes.packed.0);
        let end =
            usize::try_from(packed).ok().and_then(|packed| start.checked_add(packed)).filter(|&end| end <= body.len());
        let end = end.ok_or_else(|| bad("data before the directory", format!("{packed} bytes at {start}")))?;
        if method == 0 && size != packed {
            return Err(bad("a stored member of one size", format!("{packed} bytes stored, {size} claimed")));
        }
        let size = usize::try_from(size).ok().filter(|&size| size < isize::MAX as usize);
        self.members.push(Member {
            size: size.ok_or_else(|| bad("a size that fits in memory", format!("{}", sizes.size.0)))?,
            verify: true,
            crc: crc as u32,
            deflated: method == 8,
            has_descriptor: flags & 8 != 0,
            record: at,
            local,
            data: start..end,
            name,
        });
        Ok(next)
    }

    /// Names once each, and members that do not overlap.
    fn check_members(&self, input: Input<'_>) -> Result<()> {
        let mut names = HashSet::with_capacity(self.members.len());
        if let Some(member) = self.members.iter().find(|member| !names.insert(member.name.as_str())) {
            return Err(input.duplicate(&member.name));
        }
        let mut order: Vec<&Member> = self.members.iter().collect();
        order.sort_unstable_by_key(|member| member.local);
        match order.windows(2).find(|pair| pair[1].local < pair[0].data.end) {
            None => Ok(()),
            Some(pair) => Err(input.overlap(&pair[0].name, &pair[1].name)),
        }
    }
}

/// The end record, and the zip64 end record where a locator points to one.
fn find_end(bytes: &[u8]) -> Option<(usize, Option<usize>)> {
    // The end record is 22 bytes and a comment of at most 65535 bytes, which ends the file.
    let earliest = bytes.len().saturating_sub(22 + 65535);
    let last = bytes.len().checked_sub(22)?;
    let end = (earliest..=last).rev().find(|&at| {
        bytes[at..].starts_with(END) && number::<2>(bytes, at + 20) == Some((bytes.len() - at - 22) as u64)
    })?;
    let locator = end.checked_sub(20).filter(|&at| bytes[at..].starts_with(LOCATOR64));
    let end64 = match locator {
        None => None,
        Some(at) => {
            let end64 = usize::try_from(number::<8>(bytes, at + 8)?).ok()?;
            (bytes.get(end64..)?.starts_with(END64) && end64.checked_add(56)? <= at).then_some(end64)?;
            Some(end64)
        }
    };
    Some((end, end64))
}

/// Sizes and offset from the 32-bit fields at the given places, or from the zip64 extra field for those that are escaped.
pub(super) fn sizes(
    bytes: &[u8],
    size: usize,
    packed: usize,
    offset: Option<usize>,
    extra: usize,
    length: usize,
) -> Option<Sizes> {
    let extra_end = extra.checked_add(length).filter(|&end| end <= bytes.len())?;
    let mut wide = None;
    let mut at = extra;
    while at + 4 <= extra_end {
        let (id, field) = (number::<2>(bytes, at)?, number::<2>(bytes, at + 2)? as usize);
        if id == 1 && at + 4 + field <= extra_end {
            wide = Some(at + 4..at + 4 + field);
            break;
        }
        at += 4 + field;
    }
    let mut take = |place: usize| -> Option<(u64, usize)> {
        let narrow = number::<4>(bytes, place)?;
        match &mut wide {
            Some(wide) if narrow == ESCAPE && wide.len() >= 8 => {
                let place = wide.start;
                wide.start += 8;
                Some((number::<8>(bytes, place)?, place))
            }
            _ => Some((narrow, place)),
        }
    };
    // The order of the zip64 field: size, packed size, offset.
    Some(Sizes { size: take(size)?, packed: take(packed)?, offset: offset.map_or(Some((0, 0)), take)? })
}

/// Whether a member's name leads out of the folder it would be unpacked in.
fn leads_out(name: &str) -> bool {
    let absolute = name.starts_with(['/', '\\']) || name.as_bytes().get(1) == Some(&b':');
    absolute || name.contains('\0') || name.split(['/', '\\']).any(|part| part == "..")
}
