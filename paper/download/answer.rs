//! What a server's answer means for a file of which some bytes are there.

use anyhow::{Result, bail};

use super::curl::Head;

/// The most bytes a file may have: no set is nearly as large.
pub(super) const LIMIT: u64 = 2 << 30;

/// Where the body belongs.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Answer {
    /// The whole file, of so many bytes where the server says.
    Whole(Option<u64>),
    /// What follows the bytes that are there, up to so many in all.
    Rest(u64),
    /// There is nothing after the bytes that are there.
    Beyond,
    /// A range that does not begin where the bytes that are there end: what the server says.
    Elsewhere(String),
}

/// Reads the head of an answer to a request for what follows `have` bytes.
pub(super) fn read(head: &Head, have: u64) -> Result<Answer> {
    if let Some(encoding) = head.header("content-encoding").filter(|&encoding| encoding != "identity") {
        bail!("expected the file as it is, found it encoded as {encoding}");
    }
    let length = head.header("content-length").and_then(|length| length.parse::<u64>().ok());
    let answer = match head.status {
        200 => Answer::Whole(length),
        206 if have > 0 => {
            let range = head.header("content-range").unwrap_or_default();
            match content_range(range) {
                Some((first, last, total)) if first == have && last + 1 == total => Answer::Rest(total),
                _ => Answer::Elsewhere(if range.is_empty() { "none".into() } else { range.into() }),
            }
        }
        416 if have > 0 => Answer::Beyond,
        _ => bail!("expected the file, found the answer {}", head.line),
    };
    if let Answer::Whole(Some(total)) | Answer::Rest(total) = answer
        && total > LIMIT
    {
        bail!("expected a file of at most {LIMIT} bytes, found one of {total}");
    }
    Ok(answer)
}

/// First and last byte and the length of the whole, of `bytes 5-9/10`.
fn content_range(text: &str) -> Option<(u64, u64, u64)> {
    let (range, total) = text.trim().strip_prefix("bytes ")?.split_once('/')?;
    let (first, last) = range.split_once('-')?;
    let numbers = (first.parse().ok()?, last.parse().ok()?, total.parse().ok()?);
    (numbers.0 <= numbers.1 && numbers.1 < numbers.2).then_some(numbers)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(line: &str, headers: &[(&str, &str)], have: u64) -> Result<Answer> {
        let headers: String = headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
        let text = format!("HTTP/1.1 {line}\r\n{headers}\r\nbody");
        super::read(&Head::read(&mut text.as_bytes()).unwrap().unwrap(), have)
    }

    #[test]
    fn ranges_must_begin_where_the_file_ends_and_go_to_its_end() {
        let partial = |range: &str| read("206 Partial Content", &[("Content-Range", range)], 5).unwrap();
        assert_eq!(partial("bytes 5-9/10"), Answer::Rest(10));
        for range in [
            "bytes 4-9/10",
            "bytes 5-8/10",
            "bytes 5-9/*",
            "bytes 5-9",
            "items 5-9/10",
            "bytes 9-5/10",
            "bytes 5-10/10",
        ] {
            assert_eq!(partial(range), Answer::Elsewhere(range.into()));
        }
        assert_eq!(read("206 Partial Content", &[], 5).unwrap(), Answer::Elsewhere("none".into()));
    }

    #[test]
    fn answers_that_are_no_file_are_refused() {
        let refused = |line, headers: &[(&str, &str)], have| read(line, headers, have).unwrap_err().to_string();
        let message = "expected the file, found the answer 404 Not Found";
        assert_eq!(refused("404 Not Found", &[], 5), message);
        assert!(refused("206 Partial Content", &[("Content-Range", "bytes 0-9/10")], 0).contains("206"));
        assert!(refused("416 Range Not Satisfiable", &[], 0).contains("416"));
        assert!(refused("200 OK", &[("Content-Encoding", "gzip")], 0).ends_with("encoded as gzip"));
        let message = "expected a file of at most 2147483648 bytes, found one of 2147483649";
        assert_eq!(refused("200 OK", &[("Content-Length", "2147483649")], 0), message);
        let range = [("Content-Range", "bytes 5-2147483648/2147483649")];
        assert_eq!(refused("206 Partial Content", &range, 5), message);
        assert_eq!(read("200 OK", &[], 5).unwrap(), Answer::Whole(None));
    }
}
