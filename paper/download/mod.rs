//! Files from the network: resumed where they stopped, compared with a checksum, and moved into place whole.
//!
//! ```text
//! GET, Range: bytes=LENGTH-  ──append──►  NAME.part  ──MD5 as expected──►  synchronised, renamed to NAME
//!   200: from the start      206: from LENGTH on, if Content-Range says so      416: once more, from the start
//! ```
//!
//! Whatever ends a transfer, the prefix that arrived stays in `NAME.part` for the next call; only what was wholly received and has another
//! checksum is removed.

mod answer;
mod curl;
mod fetch;
mod part;
#[cfg(test)]
mod tests;

pub(crate) use curl::Client;
pub(crate) use fetch::{Outcome, Wanted, fetch};
