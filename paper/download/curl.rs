//! A request by the program `curl`: a library for HTTPS, which one download needs, is twenty crates and some C.

use std::io::{self, BufRead, BufReader, ErrorKind, Read};
use std::process::{Child, ChildStdout, Command, Stdio};

use anyhow::{Context, Result, anyhow, bail};

/// How requests are made.
#[derive(Debug, Clone)]
pub(crate) struct Client {
    pub(super) program: &'static str,
    /// Seconds of silence after which it gives up.
    pub(super) patience: u32,
    /// Whether the environment's proxies are asked.
    pub(super) proxies: bool,
}

impl Client {
    pub(crate) fn new() -> Client {
        Client { program: "curl", patience: 60, proxies: true }
    }

    /// Asks for what follows the first `have` bytes. What was asked of a secure address is never taken from another.
    pub(super) fn get(&self, url: &str, have: u64) -> Result<Response> {
        let schemes = if url.starts_with("https://") { "=https" } else { "=http,https" };
        let patience = self.patience.to_string();
        let mut command = Command::new(self.program);
        // The first option: no settings of the user's.
        command.args(["--disable", "--silent", "--show-error", "--globoff"]);
        command.args(["--include", "--suppress-connect-headers", "--location", "--max-redirs", "10"]);
        command.args(["--proto", schemes, "--proto-redir", schemes]);
        command.args(["--connect-timeout", &patience, "--speed-time", &patience, "--speed-limit", "1"]);
        command.args(["--header", "Accept-Encoding: identity"]);
        command.args(["--user-agent", concat!("reynolds/", env!("CARGO_PKG_VERSION"))]);
        if have > 0 {
            command.args(["--range", &format!("{have}-")]);
        }
        if !self.proxies {
            command.args(["--noproxy", "*"]);
        }
        command.args(["--url", url]).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().map_err(|error| match error.kind() {
            ErrorKind::NotFound => {
                anyhow!("expected the program {}, found none; install it, or put the file there yourself", self.program)
            }
            _ => anyhow!(error).context(format!("cannot start {}", self.program)),
        })?;
        let output = BufReader::new(child.stdout.take().context("curl has an output")?);
        let mut response = Response { child, output, head: Head::default() };
        loop {
            let Some(head) = Head::read(&mut response.output)? else { return Err(response.failure()) };
            if !head.is_followed_by_another() {
                response.head = head;
                return Ok(response);
            }
        }
    }
}

/// An answer whose head has arrived; the process ends with it.
pub(super) struct Response {
    child: Child,
    output: BufReader<ChildStdout>,
    pub(super) head: Head,
}

impl Response {
    /// Why no more arrives, once nothing does.
    pub(super) fn failure(&mut self) -> anyhow::Error {
        let mut said = String::new();
        if let Some(errors) = &mut self.child.stderr {
            // What it has said is enough.
            let _ = errors.read_to_string(&mut said);
        }
        match said.trim() {
            "" => anyhow!("the answer ends too early"),
            said => anyhow!("{said}"),
        }
    }

    /// Whether it ended well, once nothing arrives any more.
    pub(super) fn is_whole(&mut self) -> bool {
        self.child.wait().is_ok_and(|status| status.success())
    }
}

impl Read for Response {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.output.read(buffer)
    }
}

impl Drop for Response {
    fn drop(&mut self) {
        // It may have ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The head of an answer.
#[derive(Debug, Default)]
pub(super) struct Head {
    pub(super) status: u16,
    /// The status and its name.
    pub(super) line: String,
    headers: Vec<(String, String)>,
}

impl Head {
    /// Reads up to the empty line behind it; `None` where nothing is left.
    pub(super) fn read(from: &mut impl BufRead) -> Result<Option<Head>> {
        let mut line = Vec::new();
        let mut next = || -> io::Result<Option<String>> {
            line.clear();
            let count = from.read_until(b'\n', &mut line)?;
            Ok((count > 0).then(|| String::from_utf8_lossy(&line).trim_end().to_string()))
        };
        let Some(first) = next()? else { return Ok(None) };
        let line =
            first.split_once(' ').filter(|(version, _)| version.starts_with("HTTP/")).map(|(_, line)| line.trim());
        let status = line.and_then(|line| line.split(' ').next()?.parse().ok());
        let (Some(line), Some(status)) = (line, status) else { bail!("expected an answer in HTTP, found {first}") };
        let mut head = Head { status, line: line.into(), headers: Vec::new() };
        while let Some(text) = next()?.filter(|text| !text.is_empty()) {
            if let Some((name, value)) = text.split_once(':') {
                head.headers.push((name.to_lowercase(), value.trim().into()));
            }
        }
        Ok(Some(head))
    }

    /// The value of a header by its name in small letters.
    pub(super) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(own, _)| own == name).map(|(_, value)| value.as_str())
    }

    /// An interim answer, or a redirection that curl follows.
    fn is_followed_by_another(&self) -> bool {
        self.status < 200 || ((300..400).contains(&self.status) && self.header("location").is_some())
    }
}
