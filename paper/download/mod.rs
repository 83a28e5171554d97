//! A file from the network: resumed where it stopped, compared with a checksum, and moved into place whole.
//!
//! ```text
//! curl --continue-at -  ──append──►  NAME.part  ──MD5 as expected──►  synchronised, renamed to NAME
//! ```
//!
//! After a failed transfer the bytes that arrived stay in `NAME.part` for the next call. If a resumed file has the wrong checksum, it is
//! downloaded again from the start; if that one has, too, it is removed.
//!
//! The program `curl` makes the requests: a library for HTTPS would be twenty crates for one download.

#[cfg(test)]
mod tests;

use std::fs::{self, File, TryLockError};
use std::io::{BufRead, BufReader, ErrorKind, Read};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, anyhow, bail};
use reynolds_checkpoint::whole_file;
use reynolds_paper::medmnist::data::{md5_of_file, verify};

/// Maximum file size, far above that of any set.
const LIMIT: u64 = 2 << 30;

/// Least rate of a transfer, in bytes a second.
const LEAST_RATE: u32 = 1000;

/// curl's exit code if the server ignores the requested range.
const NO_RANGES: i32 = 33;

/// What is to be fetched.
pub(crate) struct Wanted<'a> {
    pub(crate) url: &'a str,
    /// Where to; its folder exists.
    pub(crate) target: &'a Path,
    pub(crate) md5: &'a str,
    /// Whether a file of another checksum may be replaced.
    pub(crate) force: bool,
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// It was there.
    Kept,
    /// Size of the file, and how much of it this call received.
    Fetched { bytes: u64, received: u64 },
}

/// Progress callback: bytes so far, and the total if it is known.
pub(crate) type Progress<'a> = &'a dyn Fn(u64, Option<u64>);

/// Downloads a file unless it exists.
pub(crate) fn fetch(client: &Client, wanted: &Wanted<'_>, progress: Progress<'_>) -> Result<Outcome> {
    let Wanted { url, target, md5, force } = *wanted;
    if target.is_dir() {
        bail!("{}: expected a file, found a folder", target.display());
    }
    if target.exists() {
        match verify(target, md5) {
            Ok(()) => return Ok(Outcome::Kept),
            Err(error) if !force => return Err(error).context("not replaced without --force"),
            Err(_) => {}
        }
    }
    let part = PartialFile::open(target)?;
    let mut before = part.length()?;
    // An earlier call may have been stopped between the last byte and the rename.
    if before == 0 || md5_of_file(&part.path)? != md5 {
        let resumed = client.receive(url, &part, progress)?;
        if before > 0 && (!resumed || md5_of_file(&part.path)? != md5) {
            before = 0;
            part.clear()?;
            client.receive(url, &part, progress)?;
        }
        let found = md5_of_file(&part.path)?;
        if found != md5 {
            part.remove()?;
            bail!("{url}: expected a file with the MD5 {md5}, found one with {found}; it was removed");
        }
    }
    let bytes = part.length()?;
    whole_file::move_into_place(part.file, &part.path, target)?;
    Ok(Outcome::Fetched { bytes, received: bytes - before })
}

/// The file `NAME.part` beside the target, locked for this process.
struct PartialFile {
    path: PathBuf,
    file: File,
}

impl PartialFile {
    /// Opens what an earlier call left, or begins.
    fn open(target: &Path) -> Result<Self> {
        let mut name = target.file_name().context("expected a file name, found none")?.to_owned();
        name.push(".part");
        let path = target.with_file_name(name);
        let cannot = |action: &str| format!("{}: cannot {action}", path.display());
        let file = whole_file::open_to_append(&path)?;
        match file.try_lock() {
            Ok(()) => Ok(Self { path, file }),
            Err(TryLockError::WouldBlock) => {
                bail!("{}: another process is downloading this file", path.display())
            }
            Err(TryLockError::Error(error)) => Err(error).with_context(|| cannot("lock")),
        }
    }

    fn length(&self) -> Result<u64> {
        Ok(self.file.metadata().with_context(|| format!("{}: cannot inspect", self.path.display()))?.len())
    }

    fn clear(&self) -> Result<()> {
        self.file.set_len(0).with_context(|| format!("{}: cannot empty", self.path.display()))
    }

    fn remove(&self) -> Result<()> {
        fs::remove_file(&self.path).with_context(|| format!("{}: cannot remove", self.path.display()))
    }
}

/// How requests are made.
#[derive(Debug, Clone)]
pub(crate) struct Client {
    program: &'static str,
    /// Seconds below [`LEAST_RATE`] after which it gives up.
    patience: u32,
    /// Whether the environment's proxies are asked.
    proxies: bool,
}

impl Client {
    pub(crate) fn new() -> Self {
        Self { program: "curl", patience: 60, proxies: true }
    }

    /// Appends the missing bytes; `false` if the server does not resume. An empty part is removed after an error.
    fn receive(&self, url: &str, part: &PartialFile, progress: Progress<'_>) -> Result<bool> {
        match self.transfer(url, part, progress) {
            Err(error) if part.length()? == 0 => {
                part.remove()?;
                Err(error)
            }
            done => done,
        }
    }

    fn transfer(&self, url: &str, part: &PartialFile, progress: Progress<'_>) -> Result<bool> {
        let before = part.length()?;
        let mut child = self.command(url, &part.path).spawn().map_err(|error| match error.kind() {
            ErrorKind::NotFound => {
                anyhow!("expected the program {}, found none; install it, or put the file there yourself", self.program)
            }
            _ => anyhow!(error).context(format!("cannot start {}", self.program)),
        })?;
        let total = Mutex::new(None);
        let total_now = || *total.lock().expect("nobody panics with the lock");
        let headers = BufReader::new(child.stdout.take().context("curl has an output")?);
        let status = thread::scope(|scope| -> Result<_> {
            scope.spawn(|| {
                for line in headers.lines().map_while(Result::ok) {
                    // The last answer counts; those before it are redirections.
                    if let Some(length) = content_length(&line) {
                        *total.lock().expect("nobody panics with the lock") = Some(before + length);
                    }
                }
            });
            loop {
                let length = part.length()?;
                if length > LIMIT {
                    child.kill()?;
                }
                progress(length, total_now());
                if let Some(status) = child.try_wait()? {
                    return Ok(status);
                }
                thread::sleep(Duration::from_millis(20));
            }
        })?;
        let length = part.length()?;
        progress(length, total_now());
        if length > LIMIT {
            part.clear()?;
            bail!("{url}: expected a file of at most {LIMIT} bytes, found more");
        }
        if status.success() || (before > 0 && status.code() == Some(NO_RANGES)) {
            return Ok(status.success());
        }
        let mut said = String::new();
        if let Some(mut errors) = child.stderr.take() {
            errors.read_to_string(&mut said)?;
        }
        let kept = if length > 0 { format!("; {length} bytes are kept for the next call") } else { String::new() };
        bail!("{url}: cannot fetch: {}{kept}", said.trim())
    }

    /// From an https address no redirection to http is followed.
    fn command(&self, url: &str, part: &Path) -> Command {
        let schemes = if url.starts_with("https://") { "=https" } else { "=http,https" };
        let (patience, rate) = (self.patience.to_string(), LEAST_RATE.to_string());
        let mut command = Command::new(self.program);
        // --disable comes first: it ignores the user's curlrc.
        command.args(["--disable", "--silent", "--show-error", "--fail", "--globoff"]);
        command.args(["--location", "--max-redirs", "10", "--proto", schemes, "--proto-redir", schemes]);
        command.args(["--connect-timeout", &patience, "--speed-time", &patience, "--speed-limit", &rate]);
        command.args(["--header", "Accept-Encoding: identity", "--max-filesize", &LIMIT.to_string()]);
        command.args(["--user-agent", concat!("reynolds/", env!("CARGO_PKG_VERSION"))]);
        command.args(["--suppress-connect-headers", "--dump-header", "-", "--continue-at", "-"]);
        if !self.proxies {
            command.args(["--noproxy", "*"]);
        }
        command.arg("--output").arg(part).args(["--url", url]);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }
}

/// The number in a line such as "Content-Length: 100".
fn content_length(line: &str) -> Option<u64> {
    let (name, value) = line.split_once(':')?;
    name.eq_ignore_ascii_case("content-length").then(|| value.trim().parse().ok())?
}
