//! Fetching one file.

use std::io::{ErrorKind, Read};
use std::path::Path;

use anyhow::{Context, Result, bail};
use reynolds_paper::medmnist::data::{Md5, verify};

use super::answer::{self, Answer, LIMIT};
use super::curl::{Client, Response};
use super::part::Part;

/// Bytes that are written at a time.
const CHUNK: usize = 1 << 16;

/// What is to be fetched.
pub(crate) struct Wanted<'a> {
    pub(crate) url: &'a str,
    /// Where to; its folder exists.
    pub(crate) target: &'a Path,
    pub(crate) md5: Md5,
    /// Whether a file of another checksum may be replaced.
    pub(crate) force: bool,
}

/// How the file came to be there.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// It was there.
    Kept,
    /// It has so many bytes, of which so many were received by this call.
    Fetched { bytes: u64, received: u64 },
}

/// Fetches a file unless it is there. `report` hears how many bytes there are, and how many there will be where that is known.
pub(crate) fn fetch(client: &Client, wanted: &Wanted<'_>, report: &dyn Fn(u64, Option<u64>)) -> Result<Outcome> {
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
    let mut part = Part::open(target)?;
    // A call that was ended before it could move the file left it whole.
    let whole = part.length() > 0 && Md5::of_file(part.path())? == md5;
    let mut received = 0;
    if !whole {
        received = match receive(client, url, &mut part, report) {
            Ok(received) => received,
            Err(error) => {
                part.leave();
                return Err(error);
            }
        };
        let found = Md5::of_file(part.path())?;
        if found != md5 {
            part.remove()?;
            bail!("{url}: expected a file with the MD5 {md5}, found one with {found}; it was removed");
        }
    }
    let bytes = part.length();
    part.finish()?;
    Ok(Outcome::Fetched { bytes, received })
}

/// Receives what is missing; how many bytes that was.
fn receive(client: &Client, url: &str, part: &mut Part, report: &dyn Fn(u64, Option<u64>)) -> Result<u64> {
    loop {
        let have = part.length();
        let mut response = client.get(url, have).with_context(|| format!("{url}: cannot fetch"))?;
        let answer = answer::read(&response.head, have).with_context(|| url.to_string())?;
        let total = match answer {
            Answer::Whole(total) => {
                part.clear()?;
                total
            }
            Answer::Rest(total) => Some(total),
            Answer::Beyond => {
                part.clear()?;
                continue;
            }
            Answer::Elsewhere(found) => {
                part.clear()?;
                bail!(
                    "{url}: expected the bytes from {have} to the end, found the range {found}; the next call begins again"
                );
            }
        };
        let start = part.length();
        body(url, &mut response, part, total, report)?;
        return Ok(part.length() - start);
    }
}

/// Appends a body; where it ends early what arrived is kept.
fn body(
    url: &str,
    response: &mut Response,
    part: &mut Part,
    total: Option<u64>,
    report: &dyn Fn(u64, Option<u64>),
) -> Result<()> {
    let mut buffer = vec![0; CHUNK];
    let stopped = |length: u64, why: anyhow::Error| {
        let of = total.map_or_else(String::new, |total| format!(" of {total}"));
        why.context(format!("{url}: the transfer ended after {length}{of} bytes; the same command goes on from there"))
    };
    loop {
        report(part.length(), total);
        let count = match response.read(&mut buffer) {
            Ok(0) => break,
            Ok(count) => count,
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            Err(error) => return Err(stopped(part.length(), error.into())),
        };
        if part.length() + count as u64 > total.unwrap_or(LIMIT) {
            part.clear()?;
            bail!("{url}: expected at most {} bytes, found more; the next call begins again", total.unwrap_or(LIMIT));
        }
        part.append(&buffer[..count])?;
    }
    match total {
        Some(total) if part.length() == total => Ok(()),
        None if response.is_whole() => Ok(()),
        _ => Err(stopped(part.length(), response.failure())),
    }
}
