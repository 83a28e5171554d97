//! A claim of the paper, and whether it held.

use std::fmt;

use serde::{Serialize, Serializer};

/// Whether a claim held; as JSON the keys `verdict` and, of an undecided one, `reason`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(tag = "verdict", content = "reason", rename_all = "lowercase")]
pub enum Verdict {
    /// The numbers show what is claimed.
    Held,
    /// The numbers show otherwise.
    Fell,
    /// The numbers show neither.
    Undecided(Reason),
}

/// Why a claim is undecided.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reason {
    /// The spread over seeds is not known.
    OneSeed,
    /// A difference is not distinguished from zero.
    SmallDifference,
    /// An interval reaches over the margin within which the claim allows a difference.
    WideSpread,
    /// A network is no better than the trivial answer.
    NotTrained,
}

/// A claim, its verdict, and the numbers that decided it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Check {
    /// What is claimed, as a sentence without a full stop.
    pub claim: String,
    /// Whether it held.
    #[serde(flatten)]
    pub verdict: Verdict,
    /// What was found.
    pub found: String,
}

impl Check {
    /// A claim with its verdict (`true`: held, `false`: fell) and the numbers that decided it.
    pub fn new(claim: impl Into<String>, verdict: impl Into<Verdict>, found: impl Into<String>) -> Self {
        Self { claim: claim.into(), verdict: verdict.into(), found: found.into() }
    }

    /// Whether the numbers show what is claimed.
    pub fn is_held(&self) -> bool {
        self.verdict == Verdict::Held
    }

    /// What was found, and why it decides nothing.
    pub fn details(&self) -> String {
        match self.verdict {
            Verdict::Undecided(reason) if self.found.is_empty() => reason.to_string(),
            Verdict::Undecided(reason) => format!("{}; {reason}", self.found),
            Verdict::Held | Verdict::Fell => self.found.clone(),
        }
    }
}

impl From<bool> for Verdict {
    fn from(held: bool) -> Self {
        if held { Self::Held } else { Self::Fell }
    }
}

impl Verdict {
    /// "held", "fell" or "undecided".
    pub fn name(self) -> &'static str {
        match self {
            Self::Held => "held",
            Self::Fell => "fell",
            Self::Undecided(_) => "undecided",
        }
    }

    /// The verdict on a claim that all of these claims hold together.
    pub fn all(verdicts: impl IntoIterator<Item = Self>) -> Self {
        verdicts.into_iter().fold(Self::Held, |all, one| match (all, one) {
            (Self::Fell, _) | (_, Self::Held) => all,
            (Self::Undecided(_), Self::Undecided(_)) => all,
            _ => one,
        })
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::OneSeed => "one seed",
            Self::SmallDifference => "difference within two standard errors",
            Self::WideSpread => "spread wider than the margin",
            Self::NotTrained => "networks not trained",
        })
    }
}

impl Serialize for Reason {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl fmt::Display for Check {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let details = self.details();
        let colon = if details.is_empty() { "" } else { ": " };
        write!(f, "{:<9}  {}{colon}{details}", self.verdict.name(), self.claim)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Verdict::{Fell, Held, Undecided};

    #[test]
    fn a_check_says_its_verdict_first_and_why_it_is_undecided_last() {
        assert_eq!(Check::new("it falls", false, "1 2").to_string(), "fell       it falls: 1 2");
        assert_eq!(Check::new("it falls", true, "").to_string(), "held       it falls");
        let undecided = |found| Check::new("it falls", Undecided(Reason::OneSeed), found).to_string();
        assert_eq!(["1 2", ""].map(undecided), ["undecided  it falls: 1 2; one seed", "undecided  it falls: one seed"]);
    }

    #[test]
    fn results_have_the_verdict_and_the_reason_as_keys() {
        let json = |verdict| serde_json::to_value(Check::new("a", verdict, "b")).unwrap();
        assert_eq!(json(Fell), serde_json::json!({ "claim": "a", "verdict": "fell", "found": "b" }));
        let undecided = json(Undecided(Reason::NotTrained));
        assert_eq!([&undecided["verdict"], &undecided["reason"]], ["undecided", "networks not trained"]);
    }

    #[test]
    fn together_claims_fall_with_one_and_hold_with_all() {
        let open = Undecided(Reason::SmallDifference);
        assert_eq!([vec![], vec![Held, Held], vec![Held, open]].map(Verdict::all), [Held, Held, open]);
        assert_eq!([vec![open, Fell, Held], vec![Fell, open]].map(Verdict::all), [Fell; 2]);
        assert_eq!(Verdict::all([open, Undecided(Reason::OneSeed)]), open);
    }
}
