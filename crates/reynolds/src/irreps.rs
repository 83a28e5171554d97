//! Lists of irreps as text: "8x0e + 4x1o" for O(3), "8x0 + 4x1" for SO(3), "4x(0..4)" and "4x(-4..4)" for SO(2).
//!
//! Copies are outermost: "4x1o" is four vectors one after the other, "4x(0..2)" four times the orders 0, 1, 2. Negative
//! orders are characters e^{imθ} and make the channels complex; without them the orders are real turns R(mθ).
//!
//! ```
//! use reynolds::{group, irreps::Irreps, rep::Representation};
//! let irreps: Irreps = "8x0e + 4x1o".parse()?;
//! assert_eq!(irreps.to_string(), "8x0e + 4x1o");
//! assert_eq!(irreps.real_rep(&group::parse("O3")?)?.dim(), 8 + 12);
//! let harmonics: Irreps = "4x(-4..4)".parse()?;
//! assert_eq!(harmonics.complex_rep(&group::parse("SO2")?)?.dim(), 36);
//! # Ok::<(), reynolds::Error>(())
//! ```

use std::fmt;
use std::str::FromStr;

use faer::c64;

use crate::error::{Error, Result};
use crate::group::{Family, GroupRef, MAX_DEGREE};
use crate::irrep::Irrep;
use crate::rep::{self, Rep};
use crate::scalar::Scalar;

/// Multiplicities of irreps of SO(2), O(2), SO(3) or O(3).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Irreps {
    terms: Vec<Term>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Term {
    copies: usize,
    first: i32,
    /// The last order, if the term is a range.
    last: Option<i32>,
    parity: Option<char>,
}

impl Term {
    fn orders(&self) -> std::ops::RangeInclusive<i32> {
        self.first..=self.last.unwrap_or(self.first)
    }
}

impl fmt::Display for Irreps {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, term) in self.terms.iter().enumerate() {
            let plus = if index == 0 { "" } else { " + " };
            let parity = term.parity.map(String::from).unwrap_or_default();
            match term.last {
                Some(last) => write!(f, "{plus}{}x({}..{last}){parity}", term.copies, term.first)?,
                None => write!(f, "{plus}{}x{}{parity}", term.copies, term.first)?,
            }
        }
        Ok(())
    }
}

impl FromStr for Irreps {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let terms: Option<Vec<Term>> = text.split('+').map(|term| parse_term(term.trim())).collect();
        let terms = terms.ok_or_else(|| Error::Parse {
            what: "irreps",
            text: text.into(),
            expected: "terms such as 8x0e, 4x1o, 4x2, 4x(0..4) or 4x(-4..4), joined by +".into(),
        })?;
        let ends = |term: &Term| [*term.orders().start(), *term.orders().end()];
        match terms.iter().flat_map(ends).find(|m| m.unsigned_abs() as usize > MAX_DEGREE) {
            Some(degree) => {
                Err(Error::range(format!("degree in irreps \"{text}\""), format!("at most {MAX_DEGREE}"), degree))
            }
            None => Ok(Self { terms }),
        }
    }
}

fn parse_term(term: &str) -> Option<Term> {
    let (copies, rest) = match term.split_once('x') {
        Some((copies, rest)) => (copies.trim().parse().ok()?, rest.trim()),
        None => (1, term),
    };
    let parity = rest.chars().last().filter(|c| matches!(c, 'e' | 'o'));
    let rest = if parity.is_some() { &rest[..rest.len() - 1] } else { rest };
    let (first, last) = match rest.strip_prefix('(').and_then(|inner| inner.strip_suffix(')')) {
        Some(range) => {
            let (first, last) = range.split_once("..")?;
            (first.trim().parse().ok()?, Some(last.trim().parse().ok()?))
        }
        None => (rest.parse().ok()?, None),
    };
    let ordered = last.is_none_or(|last| first <= last);
    (copies > 0 && ordered).then_some(Term { copies, first, last, parity })
}

impl Irreps {
    /// Whether an order is negative, so that the channels are complex.
    pub fn is_complex(&self) -> bool {
        self.terms.iter().any(|term| term.first < 0)
    }

    /// The order of every copy, one after the other.
    pub(crate) fn orders(&self) -> Vec<i32> {
        let copies = |term: &Term| std::iter::repeat_n(term.orders(), term.copies).flatten().collect::<Vec<_>>();
        self.terms.iter().flat_map(copies).collect()
    }

    /// The real representation of SO(2), O(2), SO(3) or O(3).
    ///
    /// O(3) needs parities. SO(3) ignores them, so that one text serves a layer of either group. On O(2), "0o" is irrep(0,-), the
    /// sign of reflections, and "0e" irrep(0); nothing else in the plane has a parity.
    pub fn real_rep(&self, group: &GroupRef) -> Result<Rep> {
        self.build(group, |order, parity| {
            let name = match group.family() {
                Family::O2 if (order, parity) == (0, Some('o')) => "irrep(0,-)".into(),
                Family::O2 if order > 0 && parity.is_some() => return None,
                Family::SO2 if parity.is_some() => return None,
                Family::SO2 | Family::O2 => format!("irrep({order})"),
                Family::SO3 => order.to_string(),
                Family::O3 => format!("{order}{}", parity?),
                _ => return None,
            };
            (order >= 0).then_some(name)
        })
    }

    /// The complex representation of SO(2) by characters e^{imθ}.
    pub fn complex_rep(&self, group: &GroupRef) -> Result<Rep<c64>> {
        let named = group.family() == Family::SO2;
        self.build(group, |order, parity| (named && parity.is_none()).then(|| order.to_string()))
    }

    fn build<F: Scalar>(&self, group: &GroupRef, name: impl Fn(i32, Option<char>) -> Option<String>) -> Result<Rep<F>> {
        let orders = self.terms.iter().flat_map(Term::orders);
        let degree = orders.map(|m| m.unsigned_abs() as usize).max().unwrap_or(0);
        let bad = || Error::Parse {
            what: "irreps",
            text: self.to_string(),
            expected: format!(
                "irreps of {} (O3 needs parities e or o, O2 has them at order 0 only, SO2 has none; only SO2 has negative orders)",
                group.name()
            ),
        };
        if group.order().is_some() {
            return Err(bad());
        }
        let irreps: Vec<Rep<F>> = F::irreps(group, degree)?.into_iter().map(Irrep::into).collect();
        let mut summands = Vec::new();
        for term in &self.terms {
            let mut field = Vec::new();
            for order in term.orders() {
                let label = name(order, term.parity).ok_or_else(bad)?;
                let irrep = irreps.iter().find(|irrep| irrep.label() == label).ok_or_else(bad)?;
                field.push((1, irrep.clone()));
            }
            summands.push((term.copies, rep::sum(group, &field)?));
        }
        rep::sum(group, &summands)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::group;

    #[test]
    fn text_round_trips() {
        for text in ["8x0e + 4x1o", "1x3", "4x(-4..4)", "4x(0..4) + 2x1", "2x(0..3)e"] {
            assert_eq!(text.parse::<Irreps>().unwrap().to_string(), text);
        }
        assert_eq!("0e+1o".parse::<Irreps>().unwrap().to_string(), "1x0e + 1x1o");
    }

    #[test]
    fn bad_texts_are_errors() {
        for text in ["", "x", "8x", "8x0q", "0x1e", "4x(4..-4)", "1x99e", "4x(0-4)", "-1x2"] {
            assert!(text.parse::<Irreps>().is_err(), "{text}");
        }
        let irreps: Irreps = "4x1".parse().unwrap();
        assert!(irreps.real_rep(&group::parse("O3").unwrap()).is_err());
        assert!(irreps.real_rep(&group::parse("C4").unwrap()).is_err());
        assert!("1x-1".parse::<Irreps>().unwrap().real_rep(&group::parse("SO2").unwrap()).is_err());
    }

    #[test]
    fn parities_in_the_plane_are_read_or_refused_never_dropped() {
        let [so2, o2, so3] = ["SO2", "O2", "SO3"].map(|name| group::parse(name).unwrap());
        let read = |text: &str, group: &GroupRef| text.parse::<Irreps>().unwrap().real_rep(group);
        let label = |text: &str| read(text, &o2).unwrap().label();
        assert_eq!(label("2x0o + 1x0e + 1x1"), "2 irrep(0,-) + 1 irrep(0) + 1 irrep(1)");
        for (text, group) in [("1x1o", &o2), ("1x2e", &o2), ("1x(0..1)o", &o2), ("1x0e", &so2), ("1x1o", &so2)] {
            assert!(read(text, group).is_err(), "{text} of {}", group.name());
        }
        assert!("1x1o".parse::<Irreps>().unwrap().complex_rep(&so2).is_err());
        assert_eq!(read("16x0e + 4x1o + 2x2e", &so3).unwrap().dim(), 16 + 12 + 10);
    }

    #[test]
    fn a_degree_too_large_is_named() {
        let message = "1x0 + 1x33".parse::<Irreps>().unwrap_err().to_string();
        assert!(message.ends_with("found 33"), "{message}");
    }
}
