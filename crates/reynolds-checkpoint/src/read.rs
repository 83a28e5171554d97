//! Reading the values of a tensor.

use super::Dtype;
use super::{Checkpoint, Entry, Input, Storage, StorageId, Values, values};
use crate::error::{Error, Result};
use std::borrow::Cow;

/// The types that are read.
const READABLE: &str = "f32, f64, f16, bf16 or complex numbers";

impl Checkpoint {
    /// The values of a tensor of this checkpoint, row-major. A contiguous, aligned f32 or f64 tensor in an uncompressed file is
    /// borrowed from the memory map; strided tensors are gathered, f16 and bf16 widened. Of a complex number the real part comes first, then
    /// the imaginary one.
    ///
    /// # Errors
    /// When the tensor is of another type, is an expanded view (one stored number for several elements), does not belong to this
    /// checkpoint, or when a compressed member or the checksum of an .npz member is damaged.
    pub fn read(&self, entry: &Entry) -> Result<Values<'_>> {
        let input = self.input();
        self.check_readable(entry)?;
        let storage = self.storage(entry.storage.0)?;
        values::decode(entry, &storage).ok_or_else(|| input.bad_tensor(&entry.name, READABLE, entry.dtype.to_string()))
    }

    /// The row-major bytes of an array of an .npz, which must have the type `descr` with `size` bytes per element.
    pub fn read_plain(&self, entry: &Entry, descr: &str, size: usize) -> Result<Cow<'_, [u8]>> {
        if entry.dtype != Dtype::Other(descr.into()) || !entry.is_contiguous() {
            let order = if entry.is_contiguous() { "" } else { ", column-major" };
            return Err(self.input().bad_tensor(&entry.name, descr, format!("{}{order}", entry.dtype)));
        }
        let place = entry.span(size);
        Ok(match self.storage(entry.storage.0)? {
            Cow::Borrowed(bytes) => Cow::Borrowed(&bytes[place]),
            Cow::Owned(mut bytes) => {
                // In place: volumes are hundreds of megabytes.
                bytes.truncate(place.end);
                bytes.drain(..place.start);
                Cow::Owned(bytes)
            }
        })
    }

    /// Lets the system drop the pages of a tensor from memory until it is read again: for files larger than memory.
    pub fn release(&self, entry: &Entry) {
        self.release_storage(entry.storage);
    }

    pub(super) fn release_storage(&self, storage: StorageId) {
        match self.storages.get(storage.0) {
            Some(Storage::Plain(range)) => self.bytes.release(range.clone()),
            Some(Storage::Member(member)) => self.bytes.release(self.archive.members[*member].data()),
            Some(Storage::Outside(file, range)) => self.outside[*file].1.release(range.clone()),
            Some(Storage::Held(_)) | None => {}
        }
    }

    /// Checks that the entry belongs to this checkpoint, is floating-point and not expanded.
    pub(super) fn check_readable(&self, entry: &Entry) -> Result<()> {
        let input = self.input();
        if self.entry(&entry.name) != Some(entry) {
            return Err(self.unknown(&entry.name));
        }
        if !entry.is_float() {
            return Err(input.bad_tensor(&entry.name, READABLE, entry.dtype.to_string()));
        }
        if entry.repeats() {
            let found = "an expanded view (one number for several elements); save its .contiguous() form";
            return Err(input.bad_tensor(&entry.name, "every element stored", found));
        }
        Ok(())
    }

    pub(super) fn unknown(&self, name: &str) -> Error {
        self.input().malformed("a tensor of the file", format!("the name \"{name}\""))
    }

    /// The bytes of a storage.
    pub(super) fn storage(&self, storage: usize) -> Result<Cow<'_, [u8]>> {
        match &self.storages[storage] {
            Storage::Plain(range) => Ok(Cow::Borrowed(&self.bytes[range.clone()])),
            Storage::Member(member) => self.archive.members[*member].contents(self.input()),
            Storage::Outside(file, range) => Ok(Cow::Borrowed(&self.outside[*file].1[range.clone()])),
            Storage::Held(bytes) => Ok(Cow::Borrowed(bytes)),
        }
    }

    /// Bytes of a storage.
    pub(super) fn storage_length(&self, storage: StorageId) -> usize {
        match &self.storages[storage.0] {
            Storage::Plain(range) | Storage::Outside(_, range) => range.len(),
            Storage::Held(bytes) => bytes.len(),
            Storage::Member(member) => self.archive.members[*member].size,
        }
    }

    pub(super) fn input(&self) -> Input<'_> {
        Input { path: &self.path, bytes: &self.bytes }
    }
}
