//! The field grammar: "3 trivial + 9 regular", "10 irrep(1)", "quotient(C2)", "16x0e + 4x1o".

use super::{Rep, Representation, permutation, point, quotient, regular, sum, trivial};
use crate::error::{Error, Result};
use crate::group::{self, GroupRef};
use crate::irreps::Irreps;

const EXPECTED: &str = "terms \"N name\" joined by +, name one of trivial, regular, irrep(k), quotient(H), permutation, vector; \
    or irreps such as \"16x0e + 4x1o\"";

/// Reads the fields of a layer's channels as a real representation.
///
/// ```
/// use reynolds::{group, rep};
/// let c4 = group::parse("C4")?;
/// let fields = rep::parse_fields(&c4, "3 trivial + 9 regular + irrep(1)")?;
/// assert_eq!(fields.dim(), 3 + 36 + 2);
/// assert!(rep::parse_fields(&c4, "9 irregular").is_err());
/// # use reynolds::rep::Representation;
/// # Ok::<(), reynolds::Error>(())
/// ```
///
/// # Errors
/// [`Error::Parse`] if the text is not in the grammar; whatever the named representation may fail with.
pub fn parse_fields(group: &GroupRef, text: &str) -> Result<Rep> {
    let bad = || Error::Parse { what: "fields", text: text.into(), expected: EXPECTED.into() };
    if let Ok(irreps) = text.parse::<Irreps>() {
        return irreps.real_rep(group);
    }
    let mut summands = Vec::new();
    for term in text.split('+') {
        let term = term.trim();
        let (copies, name) = match term.split_once(char::is_whitespace) {
            Some((count, name)) => (count.parse().map_err(|_| bad())?, name.trim()),
            None => (1, term),
        };
        summands.push((copies, field(group, name)?.ok_or_else(bad)?));
    }
    let fields = sum(group, &summands)?;
    if fields.dim() == 0 { Err(bad()) } else { Ok(fields) }
}

fn field(group: &GroupRef, name: &str) -> Result<Option<Rep>> {
    let inside = |word: &str| name.strip_prefix(word)?.strip_prefix('(')?.strip_suffix(')');
    Ok(Some(match name {
        "trivial" => trivial(group),
        "regular" => regular(group)?,
        "permutation" => permutation(group)?,
        "vector" => point(group)?,
        _ => {
            if let Some(subgroup) = inside("quotient") {
                quotient(&group::subgroup(group, subgroup)?)?
            } else if let Some(which) = inside("irrep") {
                irrep(group, which.trim())?
            } else {
                return Ok(None);
            }
        }
    }))
}

/// The irrep of this label ("1", "0,-", "[3,1]"), else of this number in the list.
fn irrep(group: &GroupRef, which: &str) -> Result<Rep> {
    let number = which.parse::<usize>().ok();
    let irreps = group.clone().irreps(number.unwrap_or(0).min(group::MAX_DEGREE))?;
    let wanted = [which.to_string(), format!("irrep({which})")];
    let labelled = irreps.iter().position(|irrep| wanted.contains(&irrep.label()));
    let found = labelled.or(number.filter(|&k| k < irreps.len()));
    match found {
        Some(index) => Ok(irreps[index].clone().into()),
        None => {
            let labels: Vec<_> = irreps.iter().map(Representation::label).collect();
            Err(Error::range(format!("irrep of {}", group.name()), labels.join(", "), which))
        }
    }
}
