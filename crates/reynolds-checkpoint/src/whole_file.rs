//! Files written whole or not at all: to a temporary file in the same folder, synchronised to disk and renamed.

use super::map::Bytes;
use crate::error::{Error, Result};
use std::fs::{self, File, Metadata, OpenOptions, Permissions};
use std::io::{self, BufWriter, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};

/// Identity of a file, the same through all links to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Identity(#[cfg(unix)] (u64, u64), #[cfg(not(unix))] PathBuf);

impl Identity {
    /// Device and inode where the system has them, else the resolved path.
    #[cfg(unix)]
    pub(super) fn of(_: &Path, metadata: &Metadata) -> Option<Identity> {
        use std::os::unix::fs::MetadataExt;
        Some(Identity((metadata.dev(), metadata.ino())))
    }

    #[cfg(not(unix))]
    pub(super) fn of(path: &Path, _: &Metadata) -> Option<Identity> {
        fs::canonicalize(path).ok().map(Identity)
    }
}

/// The file that a checkpoint came from.
#[derive(Debug)]
pub(super) struct Origin {
    pub(super) identity: Identity,
    pub(super) permissions: Permissions,
}

/// Refuses folders, devices and pipes.
pub(super) fn expect_ordinary(path: &Path, metadata: &Metadata, expected: &str) -> Result<()> {
    match (metadata.is_file(), metadata.is_dir()) {
        (true, _) => Ok(()),
        (_, is_folder) => {
            Err(Error::malformed(path, expected, if is_folder { "a directory" } else { "a special file" }))
        }
    }
}

/// Number of bytes of the input that are copied, and then released from memory, at a time.
const CHUNK: usize = 1 << 23;

/// An output with its path for messages, and the input that unchanged bytes are copied from.
pub(super) struct Sink<'a> {
    path: &'a Path,
    input: &'a Bytes,
    writer: &'a mut dyn Write,
}

impl<'a> Sink<'a> {
    pub(super) fn new(path: &'a Path, input: &'a Bytes, writer: &'a mut dyn Write) -> Sink<'a> {
        Sink { path, input, writer }
    }

    /// Writes these bytes of the input. The range lies within it.
    pub(super) fn copy(&mut self, range: Range<usize>) -> Result<()> {
        let input = self.input;
        for start in range.clone().step_by(CHUNK) {
            let chunk = start..range.end.min(start + CHUNK);
            self.write(&input[chunk.clone()])?;
            input.release(chunk);
        }
        Ok(())
    }

    pub(super) fn write(&mut self, bytes: &[u8]) -> Result<()> {
        self.writer.write_all(bytes).map_err(Error::io(self.path, "write"))
    }
}

/// A new file in the folder of the output. Where the system can, it has no name until it is whole, so that nothing is left of a process
/// that was killed; elsewhere it has a hidden one and is removed unless it was moved into place.
struct Temporary {
    file: File,
    path: PathBuf,
    named: bool,
}

impl Temporary {
    fn beside(target: &Path) -> io::Result<Temporary> {
        if let Some(file) = unnamed(folder(target)) {
            return Ok(Temporary { file, path: PathBuf::new(), named: false });
        }
        let new = |path: &Path| OpenOptions::new().write(true).create_new(true).open(path);
        under_unused_name(target, new).map(|(path, file)| Temporary { file, path, named: true })
    }

    /// Moves the file into place once it is on disk.
    fn settle(mut self, to: &Path) -> Result<()> {
        let io = |action| Error::io(to, action);
        self.file.sync_all().map_err(io("synchronise"))?;
        if !self.named {
            let linked = under_unused_name(to, |path| link(&self.file, path));
            self.path = linked.map_err(io("name a temporary file beside"))?.0;
            self.named = true;
        }
        fs::rename(&self.path, to).map_err(io("rename a temporary file to"))?;
        self.named = false;
        synchronise_folder(to);
        Ok(())
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        if self.named {
            // The error that led here is the one to report.
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// What `make` makes under the first hidden name beside the target that is not taken, as it is by another thread that writes the same file.
fn under_unused_name<T>(target: &Path, make: impl Fn(&Path) -> io::Result<T>) -> io::Result<(PathBuf, T)> {
    let name = target.file_name().ok_or(io::ErrorKind::InvalidInput)?.to_string_lossy();
    let mut attempt = 0_u32;
    loop {
        let path = folder(target).join(format!(".{name}.{}.{attempt}.tmp", std::process::id()));
        match make(&path) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists && attempt < 1000 => attempt += 1,
            made => return made.map(|made| (path, made)),
        }
    }
}

/// A file without a name, if the system has such files and can name them later.
#[cfg(target_os = "linux")]
fn unnamed(folder: &Path) -> Option<File> {
    use std::os::unix::fs::OpenOptionsExt;
    let unnamed = rustix::fs::OFlags::TMPFILE.bits() as i32;
    let file = OpenOptions::new().write(true).custom_flags(unnamed).open(folder).ok()?;
    descriptor(&file).exists().then_some(file)
}

#[cfg(target_os = "linux")]
fn link(file: &File, path: &Path) -> io::Result<()> {
    use rustix::fs::{AtFlags, CWD, linkat};
    Ok(linkat(CWD, descriptor(file), CWD, path, AtFlags::SYMLINK_FOLLOW)?)
}

#[cfg(target_os = "linux")]
fn descriptor(file: &File) -> PathBuf {
    use std::os::fd::AsRawFd;
    format!("/proc/self/fd/{}", file.as_raw_fd()).into()
}

#[cfg(not(target_os = "linux"))]
fn unnamed(_: &Path) -> Option<File> {
    None
}

#[cfg(not(target_os = "linux"))]
fn link(_: &File, _: &Path) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

/// Writes `out` by `fill`: to a temporary file in the same folder, synchronised to disk and renamed. Refuses to replace the file of that
/// identity, which is the input. The permissions are those of the file that is replaced, else those of the input. Where `out` is a
/// link, a changed checkpoint replaces the file that it leads to, and anything else the link itself.
pub(super) fn write_whole(
    out: &Path,
    input: &Bytes,
    origin: Option<&Origin>,
    fill: impl FnOnce(&mut Sink<'_>) -> Result<()>,
) -> Result<()> {
    let io = |action| Error::io(out, action);
    let mut permissions = origin.map(|origin| origin.permissions.clone());
    let found = if origin.is_some() { fs::metadata(out) } else { fs::symlink_metadata(out) };
    let target = match found {
        Ok(metadata) if metadata.is_symlink() => out.to_path_buf(),
        Ok(metadata) => {
            let existing = Identity::of(out, &metadata);
            if existing.is_some() && existing.as_ref() == origin.map(|origin| &origin.identity) {
                return Err(Error::malformed(out, "an output other than the input", "the input itself"));
            }
            expect_ordinary(out, &metadata, "an ordinary output file")?;
            permissions = Some(metadata.permissions());
            if origin.is_some() { fs::canonicalize(out).map_err(io("resolve"))? } else { out.to_path_buf() }
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            if out.is_symlink() {
                return Err(Error::malformed(out, "an ordinary output file", "a link to a file that does not exist"));
            }
            out.to_path_buf()
        }
        Err(error) => return Err(io("inspect")(error)),
    };
    let temporary = Temporary::beside(&target).map_err(io("create a temporary file beside"))?;
    if let Some(permissions) = permissions {
        temporary.file.set_permissions(permissions).map_err(io("set the permissions of"))?;
    }
    let mut writer = BufWriter::with_capacity(1 << 20, &temporary.file);
    fill(&mut Sink::new(out, input, &mut writer))?;
    writer.flush().map_err(io("write"))?;
    drop(writer);
    temporary.settle(&target)
}

/// Moves a finished file into place: `file`, at `from` in the same folder as `to`, becomes `to` and is on disk when this returns. For files
/// that grow over time, such as downloads.
pub fn move_into_place(file: File, from: &Path, to: &Path) -> Result<()> {
    let io = |action| Error::io(to, action);
    file.sync_all().map_err(io("synchronise"))?;
    drop(file);
    fs::rename(from, to).map_err(io("rename a temporary file to"))?;
    synchronise_folder(to);
    Ok(())
}

/// A rename is durable once the folder is synchronised; systems that cannot open folders need no such step.
fn synchronise_folder(of: &Path) {
    if let Ok(folder) = File::open(folder(of)) {
        let _ = folder.sync_all();
    }
}

/// Writes `bytes` to `out`, whole or not at all: after an error the old file is untouched.
pub fn write(out: &Path, bytes: &[u8]) -> Result<()> {
    write_parts(out, &[bytes])
}

/// Opens a file that grows, made if it is missing and never emptied. A symbolic link is refused, because it may lead to any file of the
/// user: folders of runs come from elsewhere, too.
pub fn open_to_append(path: &Path) -> Result<File> {
    if path.is_symlink() {
        return Err(Error::malformed(path, "an ordinary file", "a symbolic link"));
    }
    let mut options = OpenOptions::new();
    // Refused by the system too, if it became a link since.
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::custom_flags(&mut options, rustix::fs::OFlags::NOFOLLOW.bits() as i32);
    options.create(true).append(true).open(path).map_err(Error::io(path, "open"))
}

/// A new, empty file in place of what is there; a symbolic link is replaced itself.
pub fn create_anew(path: &Path) -> io::Result<File> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    OpenOptions::new().write(true).create_new(true).open(path)
}

/// Checks, before long work, that `out` is not a folder and lies in a folder that exists.
pub fn check(out: &Path) -> Result<()> {
    let folder = folder(out);
    if out.is_dir() {
        return Err(Error::malformed(out, "a file", "a folder"));
    }
    if !folder.is_dir() {
        let found = if folder.exists() { "a file" } else { "nothing" };
        return Err(Error::malformed(out, format!("a folder {} to write to", folder.display()), found));
    }
    Ok(())
}

fn folder(out: &Path) -> &Path {
    out.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// As [`write()`], for several pieces that follow each other.
pub fn write_parts(out: &Path, parts: &[&[u8]]) -> Result<()> {
    write_whole(out, &Bytes::Owned(Vec::new()), None, |sink| parts.iter().try_for_each(|part| sink.write(part)))
}

#[cfg(test)]
mod tests {
    use super::{File, move_into_place, write};

    #[test]
    fn threads_that_write_the_same_file_leave_a_whole_one() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("a.json");
        std::thread::scope(|scope| {
            for byte in 0..8_u8 {
                let file = &file;
                scope.spawn(move || (0..20).for_each(|_| write(file, &[byte; 1000]).unwrap()));
            }
        });
        let bytes = std::fs::read(&file).unwrap();
        assert!(bytes.len() == 1000 && bytes.iter().all(|&byte| byte == bytes[0]));
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_file_is_replaced_and_nothing_else_is_left() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("a.json");
        write(&file, b"one").unwrap();
        write(&file, b"two").unwrap();
        assert_eq!(std::fs::read(&file).unwrap(), b"two");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_file_that_grew_elsewhere_takes_its_place() {
        let folder = tempfile::tempdir().unwrap();
        let [part, whole] = ["a.part", "a.npz"].map(|name| folder.path().join(name));
        std::fs::write(&part, "new").unwrap();
        std::fs::write(&whole, "old").unwrap();
        move_into_place(File::open(&part).unwrap(), &part, &whole).unwrap();
        assert!(!part.exists() && std::fs::read(&whole).unwrap() == b"new");
    }

    #[test]
    fn a_folder_that_is_not_there_is_an_error_that_names_the_file() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("none").join("a.json");
        let message = write(&file, b"one").unwrap_err().to_string();
        assert!(message.contains("a.json: cannot create a temporary file beside"), "{message}");
    }
}
