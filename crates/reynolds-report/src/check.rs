//! A claim of the paper, and whether it held.

use std::fmt;

use serde::Serialize;

/// A claim, whether it held, and the numbers that decided it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Check {
    /// What is claimed, as a sentence without a full stop.
    pub claim: String,
    /// Whether it held.
    pub held: bool,
    /// What was found.
    pub found: String,
}

impl Check {
    /// A claim with its verdict and the numbers that decided it.
    pub fn new(claim: impl Into<String>, held: bool, found: impl Into<String>) -> Self {
        Self { claim: claim.into(), held, found: found.into() }
    }

    /// "held" or "not held".
    pub fn verdict(&self) -> &'static str {
        if self.held { "held" } else { "not held" }
    }
}

impl fmt::Display for Check {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let colon = if self.found.is_empty() { "" } else { ": " };
        write!(f, "{:<8}  {}{colon}{}", self.verdict(), self.claim, self.found)
    }
}

#[cfg(test)]
mod tests {
    use super::Check;

    #[test]
    fn a_check_says_its_verdict_first() {
        assert_eq!(Check::new("it falls", false, "1 2").to_string(), "not held  it falls: 1 2");
        assert_eq!(Check::new("it falls", true, "").to_string(), "held      it falls");
    }
}
