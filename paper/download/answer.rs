//! What a server's answer means for a file of which some bytes are there.

use anyhow::{Result, bail};
use ureq::http::{HeaderMap, StatusCode, header};

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
pub(super) fn read(status: StatusCode, headers: &HeaderMap, have: u64) -> Result<Answer> {
    let text = |name: header::HeaderName| headers.get(name).map(|value| String::from_utf8_lossy(value.as_bytes()));
    if let Some(encoding) = text(header::CONTENT_ENCODING).filter(|encoding| encoding != "identity") {
        bail!("expected the file as it is, found it encoded as {encoding}");
    }
    let length = text(header::CONTENT_LENGTH).and_then(|length| length.trim().parse::<u64>().ok());
    let answer = match status {
        StatusCode::OK => Answer::Whole(length),
        StatusCode::PARTIAL_CONTENT if have > 0 => {
            let range = text(header::CONTENT_RANGE).unwrap_or_default();
            match content_range(&range) {
                Some((first, last, total)) if first == have && last + 1 == total => Answer::Rest(total),
                _ => Answer::Elsewhere(if range.is_empty() { "none".into() } else { range.into_owned() }),
            }
        }
        StatusCode::RANGE_NOT_SATISFIABLE if have > 0 => Answer::Beyond,
        _ => bail!("expected the file, found the answer {status}"),
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

    fn head(headers: &[(header::HeaderName, &str)]) -> HeaderMap {
        headers.iter().map(|(name, value)| (name.clone(), value.parse().unwrap())).collect()
    }

    #[test]
    fn ranges_must_begin_where_the_file_ends_and_go_to_its_end() {
        let partial =
            |range: &str| read(StatusCode::PARTIAL_CONTENT, &head(&[(header::CONTENT_RANGE, range)]), 5).unwrap();
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
        assert_eq!(read(StatusCode::PARTIAL_CONTENT, &head(&[]), 5).unwrap(), Answer::Elsewhere("none".into()));
    }

    #[test]
    fn answers_that_are_no_file_are_refused() {
        let refused = |status, headers: &[(header::HeaderName, &str)], have| {
            read(status, &head(headers), have).unwrap_err().to_string()
        };
        let message = "expected the file, found the answer 404 Not Found";
        assert_eq!(refused(StatusCode::NOT_FOUND, &[], 5), message);
        assert!(refused(StatusCode::PARTIAL_CONTENT, &[(header::CONTENT_RANGE, "bytes 0-9/10")], 0).contains("206"));
        assert!(refused(StatusCode::RANGE_NOT_SATISFIABLE, &[], 0).contains("416"));
        assert!(refused(StatusCode::OK, &[(header::CONTENT_ENCODING, "gzip")], 0).ends_with("encoded as gzip"));
        let message = "expected a file of at most 2147483648 bytes, found one of 2147483649";
        assert_eq!(refused(StatusCode::OK, &[(header::CONTENT_LENGTH, "2147483649")], 0), message);
        let range = [(header::CONTENT_RANGE, "bytes 5-2147483648/2147483649")];
        assert_eq!(refused(StatusCode::PARTIAL_CONTENT, &range, 5), message);
        assert_eq!(read(StatusCode::OK, &head(&[]), 5).unwrap(), Answer::Whole(None));
    }
}
