//! The bytes of a file: mapped into memory, or held.
#![allow(unsafe_code, reason = "a memory map has no safe form")]

use std::fs::File;
use std::io;
use std::ops::{Deref, Range};

/// The bytes of a whole file.
#[derive(Debug)]
pub(crate) enum Bytes {
    /// Mapped read-only: pages come in as they are read, and can be dropped again by the system.
    Mapped(memmap2::Mmap),
    /// Owned, in memory.
    Owned(Vec<u8>),
}

impl Bytes {
    /// Maps `file` read-only. An empty file, which cannot be mapped everywhere, is an empty vector.
    ///
    /// Safety argument. The map is private to this value, read-only, and unmapped when it is dropped; no reference to it
    /// outlives it, because `Deref` ties them to `&self`. What the compiler cannot see is another process that shortens or
    /// rewrites the file meanwhile: shortening ends this process with SIGBUS (see [`say_when_shortened`]), rewriting changes numbers under the reader. Both
    /// are what every memory-mapped reader accepts. Within this crate nothing writes to a mapped file: the output is always
    /// another file (`Checkpoint::write` compares device and inode), and it is moved into place by a rename, which leaves
    /// the mapped inode as it is. No value is interpreted where some bit patterns would be invalid: bytes become `u8`, `f32`
    /// and `f64`, for which all patterns are valid, and lengths are read once, checked, and kept.
    pub(crate) fn map(file: &File) -> io::Result<Bytes> {
        if file.metadata()?.len() == 0 {
            return Ok(Bytes::Owned(Vec::new()));
        }
        // SAFETY: see above.
        Ok(Bytes::Mapped(unsafe { memmap2::Mmap::map(file)? }))
    }

    /// Tells the system that these bytes are not needed for now, so that a large file does not count as memory in use. They can be
    /// read again at any time, and come back from the page cache or the disk.
    ///
    /// Safety argument. `MADV_DONTNEED` discards what was written to private pages; this map is shared and read-only, so there is
    /// nothing to discard: a later access finds the same bytes of the same file, also through references that are alive now.
    pub(crate) fn release(&self, range: Range<usize>) {
        #[cfg(unix)]
        if let Bytes::Mapped(map) = self
            && range.end <= map.len()
            && !range.is_empty()
        {
            // SAFETY: see above. Advice that is not taken costs memory, not correctness.
            let _ = unsafe {
                map.unchecked_advise_range(memmap2::UncheckedAdvice::DontNeed, range.start, range.end - range.start)
            };
        }
        #[cfg(not(unix))]
        drop(range);
    }
}

/// For programs, not libraries: a checkpoint that another process shortens while it is read ends this one with one line and exit code 2,
/// in place of a signal without a word.
#[cfg(unix)]
pub fn say_when_shortened() {
    const LINE: &[u8] =
        b"error: a checkpoint was shortened by another process while it was read; try again once it is whole\n";
    let end = || {
        // Nobody is left to hear of a closed output.
        let _ = rustix::io::write(rustix::stdio::stderr(), LINE);
        signal_hook::low_level::exit(2);
    };
    // SAFETY: both calls are single system calls, which a signal handler may make; nothing is allocated or locked.
    let registered = unsafe { signal_hook::low_level::register(signal_hook::consts::SIGBUS, end) };
    // Without it the signal ends the process as before.
    drop(registered);
}

/// There is no such signal.
#[cfg(not(unix))]
pub fn say_when_shortened() {}

impl Deref for Bytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            Bytes::Mapped(map) => map,
            Bytes::Owned(bytes) => bytes,
        }
    }
}
