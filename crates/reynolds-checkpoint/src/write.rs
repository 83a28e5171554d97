//! Writing a checkpoint again with some tensors' values replaced.

use super::whole_file::{Sink, write_whole};
use super::{Checkpoint, Entry, Format, Storage, StorageId, Values, values};
use crate::error::{Error, Result};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::io::Write;
use std::path::Path;

/// Gives the new values of a tensor.
pub(super) type Source<'v, 'f> = dyn FnMut(&Entry) -> Result<Values<'v>> + 'f;
/// The tensors to change, by storage.
pub(super) type Changes<'a> = HashMap<StorageId, Vec<&'a Entry>>;

impl Checkpoint {
    /// Writes this checkpoint to `out`, whole or not at all, with the values of the tensors named in `changed` replaced, rounded to nearest
    /// even where the tensor is narrower. All other bytes stay, except for checksums, sizes and offsets in zip formats.
    ///
    /// Tensors that share bytes must be changed together, to equal values.
    ///
    /// # Errors
    /// When `out` is the input, also through links, has another format's extension, or cannot be written; when a name is unknown, a
    /// tensor not floating-point or expanded, or the number of values wrong; when tied tensors would differ.
    pub fn write(&self, out: impl AsRef<Path>, changed: &BTreeMap<String, Values<'_>>) -> Result<()> {
        let names: Vec<&str> = changed.keys().map(String::as_str).collect();
        self.write_with(out, &names, |entry| Ok(changed[&entry.name].borrowed()))
    }

    /// As [`Checkpoint::write`], with `values` called once for each tensor in `names`, in the order of the file, so that only one storage
    /// is in memory at a time. If it returns an error, nothing is written.
    pub fn write_with<'v>(
        &self,
        out: impl AsRef<Path>,
        names: &[&str],
        mut values: impl FnMut(&Entry) -> Result<Values<'v>>,
    ) -> Result<()> {
        let out = out.as_ref();
        let extension = out.extension().unwrap_or_default().to_string_lossy();
        let has_extension = |format: &Format| format.extensions().iter().any(|own| extension.eq_ignore_ascii_case(own));
        let plan = self.changes(names)?;
        if self.format != Format::Safetensors && has_extension(&Format::Safetensors) {
            return self.convert(out, &plan, &mut values);
        }
        if Format::ALL.iter().any(has_extension) && !has_extension(&self.format) {
            let own = self.format.extensions().iter().map(|extension| format!(".{extension}")).collect::<Vec<_>>();
            let expected = format!("an output in the model's format ({}), or .safetensors", own.join(" or "));
            return Err(Error::malformed(out, expected, format!("the extension .{extension}")));
        }
        self.expect_written_back(out)?;
        self.write_outside(out, &plan, &mut values)?;
        write_whole(out, &self.bytes, self.origin.as_ref(), |sink| self.emit(sink, &plan, &mut values))
    }

    /// HDF5 is read only: a damaged file may name as data what it needs itself.
    fn expect_written_back(&self, out: &Path) -> Result<()> {
        match self.format {
            Format::Hdf5 => {
                let expected = "an output ending in .safetensors, which gets all tensors";
                Err(Error::malformed(out, expected, format!("a model in {}, which is not written back", self.format)))
            }
            _ => Ok(()),
        }
    }

    /// The files beside the model, beside the output: under the same names, since the model names them.
    fn write_outside(&self, out: &Path, plan: &Changes<'_>, values: &mut Source<'_, '_>) -> Result<()> {
        let folder = |path: &Path| {
            let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
            std::fs::canonicalize(parent).unwrap_or_else(|_| parent.into())
        };
        for (number, (path, bytes)) in self.outside.iter().enumerate() {
            let target = out.with_file_name(path.file_name().unwrap_or_default());
            if folder(out) == folder(&self.path) {
                let found = format!("the model's own, with {} that the output would share", path.display());
                return Err(Error::malformed(out, "an output in another folder", found));
            }
            if target.exists() && !out.exists() {
                return Err(Error::malformed(&target, "no such file, for the external data of the output", "one"));
            }
            write_whole(&target, bytes, None, |sink| self.emit_pieces(sink, Some(number), bytes.len(), plan, values))?;
        }
        Ok(())
    }

    /// As [`Checkpoint::write`], to any writer, without the files beside the model.
    pub fn write_to(&self, writer: &mut dyn Write, changed: &BTreeMap<String, Values<'_>>) -> Result<()> {
        let names: Vec<&str> = changed.keys().map(String::as_str).collect();
        let plan = self.changes(&names)?;
        self.expect_written_back(&self.path)?;
        if let Some(outside) = plan.iter().find(|(storage, _)| matches!(self.storages[storage.0], Storage::Outside(..)))
        {
            return Err(self.input().bad_tensor(&outside.1[0].name, "data in the model's own file", "external data"));
        }
        self.emit(&mut Sink::new(&self.path, &self.bytes, writer), &plan, &mut |entry| {
            Ok(changed[&entry.name].borrowed())
        })
    }

    /// The tensors to change, by storage. Each is checked, and none shares bytes with one that is not to change.
    fn changes(&self, names: &[&str]) -> Result<Changes<'_>> {
        let mut plan: Changes<'_> = HashMap::new();
        let mut chosen = HashSet::with_capacity(names.len());
        for &name in names {
            let entry = self.entry(name).ok_or_else(|| self.unknown(name))?;
            self.check_readable(entry)?;
            let members = plan.entry(entry.storage).or_default();
            if !chosen.insert(name) {
                return Err(self.input().duplicate(name));
            }
            members.push(entry);
        }
        // The bytes that change, of storages that hold other tensors too.
        let mut changing: HashMap<StorageId, Vec<bool>> = HashMap::new();
        for other in self.entries.iter().filter(|entry| !chosen.contains(entry.name.as_str())) {
            let Some(members) = plan.get(&other.storage) else { continue };
            let marks = changing.entry(other.storage).or_insert_with(|| {
                let mut marks = vec![false; self.storage_length(other.storage)];
                members.iter().for_each(|member| member.mark(&mut marks));
                marks
            });
            if other.touches(marks) {
                let tied = members.iter().find(|member| member.overlaps(other)).unwrap_or(&members[0]);
                return Err(self.tied(tied, other, "to change too, or neither", "a change to this one only"));
            }
        }
        Ok(plan)
    }

    fn emit(&self, sink: &mut Sink<'_>, plan: &Changes<'_>, values: &mut Source<'_, '_>) -> Result<()> {
        if !self.archive.members.is_empty() {
            let owner = |storage: &StorageId| match &self.storages[storage.0] {
                Storage::Member(member) => Some((*member, *storage)),
                _ => None,
            };
            let owners: HashMap<usize, StorageId> = plan.keys().filter_map(owner).collect();
            return self.archive.rewrite(self.input(), sink, &mut |member| match owners.get(&member) {
                None => Ok(None),
                Some(storage) => self.changed_storage(*storage, &plan[storage], values).map(Some),
            });
        }
        self.emit_pieces(sink, None, self.bytes.len(), plan, values)
    }

    /// Writes the model's file again, or one beside it, in which storages are ranges of bytes.
    fn emit_pieces(
        &self,
        sink: &mut Sink<'_>,
        file: Option<usize>,
        length: usize,
        plan: &Changes<'_>,
        values: &mut Source<'_, '_>,
    ) -> Result<()> {
        let piece = |storage: &StorageId| match &self.storages[storage.0] {
            Storage::Plain(range) if file.is_none() => Some((range.start, range.end, *storage)),
            Storage::Outside(number, range) if file == Some(*number) => Some((range.start, range.end, *storage)),
            _ => None,
        };
        let mut changed: Vec<(usize, usize, StorageId)> = plan.keys().filter_map(piece).collect();
        changed.sort_unstable();
        let mut read = 0;
        for (start, end, storage) in changed {
            if start < read {
                let found = "data that another tensor has, too";
                return Err(self.input().bad_tensor(&plan[&storage][0].name, "data of its own", found));
            }
            sink.copy(read..start)?;
            sink.write(&self.changed_storage(storage, &plan[&storage], values)?)?;
            read = end;
        }
        sink.copy(read..length)
    }

    /// The bytes of a storage after the change.
    pub(super) fn changed_storage(
        &self,
        storage: StorageId,
        entries: &[&Entry],
        values: &mut Source<'_, '_>,
    ) -> Result<Vec<u8>> {
        let mut bytes = self.storage(storage.0)?.into_owned();
        self.release_storage(storage);
        let mut written = vec![false; if entries.len() > 1 { bytes.len() } else { 0 }];
        for (number, &entry) in entries.iter().enumerate() {
            let new = values(entry)?;
            if new.len() != entry.numbers() {
                let expected = format!("{} new values for shape {:?}", entry.numbers(), entry.shape);
                return Err(self.input().bad_tensor(&entry.name, expected, format!("{}", new.len())));
            }
            let before = entry.touches(&written).then(|| entry.bytes(&bytes));
            values::encode(entry, &new, &mut bytes);
            drop(new);
            self.release_storage(storage);
            // Views must write the same bits to the elements that they share.
            if let Some(before) = before
                && !entry.agrees(&before, &bytes, &written)
            {
                let earlier = entries[..number].iter().find(|earlier| earlier.overlaps(entry)).unwrap_or(&entry);
                return Err(self.tied(earlier, entry, "to get the same values", "others"));
            }
            if number + 1 < entries.len() {
                entry.mark(&mut written);
            }
        }
        Ok(bytes)
    }

    /// Tensors that share bytes cannot be given different values.
    fn tied(&self, tensor: &Entry, other: &Entry, expected: &str, found: &str) -> Error {
        let expected = format!("\"{}\", which shares its storage, {expected}", other.name);
        self.input().bad_tensor(&tensor.name, expected, found)
    }
}

/// Which bytes of a storage a tensor lies on, in a time that grows with its own length.
impl Entry {
    /// Marks its bytes.
    fn mark(&self, marks: &mut [bool]) {
        let size = self.dtype.size().unwrap_or(1);
        self.for_each_element(size, |at| marks[at..at + size].fill(true));
    }

    /// Whether one of its bytes is marked; for types that are not read one of the storage, for expanded views one of the span.
    fn touches(&self, marks: &[bool]) -> bool {
        if self.is_empty() || marks.is_empty() {
            return false;
        }
        let Some(size) = self.dtype.size() else { return marks.contains(&true) };
        if self.is_contiguous() || self.repeats() {
            return marks[self.span(size)].contains(&true);
        }
        let mut touched = false;
        self.for_each_element(size, |at| touched |= marks[at..at + size].contains(&true));
        touched
    }

    /// Its bytes, element by element.
    fn bytes(&self, storage: &[u8]) -> Vec<u8> {
        let size = self.dtype.size().unwrap_or(1);
        let mut bytes = Vec::with_capacity(self.len() * size);
        self.for_each_element(size, |at| bytes.extend_from_slice(&storage[at..at + size]));
        bytes
    }

    /// Whether its marked bytes are what [`Entry::bytes`] gave before.
    fn agrees(&self, before: &[u8], storage: &[u8], marks: &[bool]) -> bool {
        let size = self.dtype.size().unwrap_or(1);
        let (mut agrees, mut read) = (true, 0);
        self.for_each_element(size, |at| {
            agrees &= (0..size).all(|byte| !marks[at + byte] || before[read + byte] == storage[at + byte]);
            read += size;
        });
        agrees
    }
}
