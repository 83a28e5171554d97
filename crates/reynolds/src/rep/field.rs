//! The field grammar: "3 trivial + 9 regular", "10 irrep(1)", "quotient(C2)", "permutation^2", "16x0e + 4x1o".

use super::{Rep, Representation, permutation, point, quotient, regular, sum, tensor, trivial};
use crate::error::{Error, Result, did_you_mean};
use crate::group::{self, GroupRef};
use crate::irrep::Irrep;
use crate::irreps::Irreps;

const EXPECTED: &str = "terms \"N name\" joined by +, name one of trivial, regular, irrep(k), quotient(H), permutation, vector, \
    heads(n), each with ^2 to ^8 for a tensor power; or irreps such as \"16x0e + 4x1o\"";

/// The names of fields without their arguments.
const WORDS: [&str; 7] = ["trivial", "regular", "irrep", "quotient", "permutation", "vector", "heads"];

/// The largest tensor power of a field.
const MAX_POWER: usize = 8;

/// How many labels a refusal lists.
const MAX_SHOWN: usize = 24;

/// Reads the fields of a layer's channels as a real representation. An irrep goes by its label, `irrep(1)`, `irrep(0,-)`,
/// `irrep([3,1])`, `irrep(1o)`, never by its place in the list. `name^2` is name ⊗ name, the second factor fastest.
/// `heads(n)` of a permutation group: n channels for each point, which move together, as those of an attention head do.
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
pub fn parse_fields(group: &GroupRef, text: &str) -> Result<Rep> {
    let bad = |name: &str| {
        let hint = did_you_mean(name.split(['^', '(']).next().unwrap_or(name).trim(), WORDS.into_iter());
        Error::Parse { what: "fields", text: text.into(), expected: format!("{EXPECTED}{hint}") }
    };
    if let Ok(irreps) = text.parse::<Irreps>() {
        return irreps.real_rep(group);
    }
    let mut summands = Vec::new();
    for term in text.split('+') {
        let term = term.trim();
        let counted = term.split_once(char::is_whitespace).map(|(count, name)| (count.parse(), name.trim()));
        let (copies, name) = if let Some((Ok(copies), name)) = counted { (copies, name) } else { (1, term) };
        summands.push((copies, field(group, name)?.ok_or_else(|| bad(name))?));
    }
    let fields = sum(group, &summands)?;
    if fields.dim() == 0 { Err(bad("")) } else { Ok(fields) }
}

fn field(group: &GroupRef, name: &str) -> Result<Option<Rep>> {
    let (name, power) = match name.split_once('^') {
        None => (name, 1),
        Some((name, power)) => match power.trim().parse() {
            Ok(power @ 1..=MAX_POWER) => (name.trim(), power),
            _ => return Ok(None),
        },
    };
    let Some(one) = named(group, name)? else { return Ok(None) };
    (1..power).try_fold(one.clone(), |product, _| tensor(&product, &one)).map(Some)
}

fn named(group: &GroupRef, name: &str) -> Result<Option<Rep>> {
    let inside = |word: &str| name.strip_prefix(word)?.strip_prefix('(')?.strip_suffix(')');
    Ok(match name {
        "trivial" => Some(trivial(group)),
        "regular" => Some(regular(group)?),
        "permutation" => Some(permutation(group)?),
        "vector" => Some(point(group)?),
        _ if inside("heads").is_some() => {
            let channels = inside("heads").and_then(|n| n.trim().parse().ok()).filter(|n| *n > 0);
            let Some(channels) = channels else { return Ok(None) };
            Some(tensor(&permutation(group)?, &sum(group, &[(channels, trivial(group))])?)?)
        }
        _ => match (inside("quotient"), labelled(group, name), inside("irrep")) {
            (Some(subgroup), ..) => Some(quotient(&group::subgroup(group, subgroup)?)?),
            (None, None, Some(which)) => return Err(no_such_irrep(group, which.trim())?),
            (None, labelled, _) => labelled,
        },
    })
}

/// The irreps up to the largest number in the text, which is the degree where the group is continuous.
fn irreps_named_in(group: &GroupRef, text: &str) -> Result<Vec<Irrep>> {
    let numbers = text.split(|c: char| !c.is_ascii_digit()).filter_map(|digits| digits.parse::<usize>().ok());
    group.clone().irreps(numbers.max().unwrap_or(0).min(group::MAX_DEGREE))
}

/// The irrep whose label is the name itself ("irrep(0,-)", "1o") or the text inside "irrep(…)" ("irrep(1o)", "irrep([3,1])").
///
/// Labels only, never a position in the list: a number that is no label must not quietly become another irrep.
fn labelled(group: &GroupRef, name: &str) -> Option<Rep> {
    if !name.starts_with("irrep(") && !name.starts_with(|c: char| c == '[' || c.is_ascii_digit()) {
        return None;
    }
    let inside = name.strip_prefix("irrep(").and_then(|rest| rest.strip_suffix(')')).map(str::trim);
    // A group whose irreps cannot be listed has none to name; the caller reports why.
    let mut irreps = irreps_named_in(group, name).ok()?.into_iter();
    let spaceless = inside.map(|which| format!("irrep({which})"));
    let found = irreps.find(|irrep| {
        let label = irrep.label();
        label == name || Some(&label) == spaceless.as_ref() || Some(label.as_str()) == inside
    })?;
    Some(found.into())
}

/// The error for a label that the group does not have.
fn no_such_irrep(group: &GroupRef, which: &str) -> Result<Error> {
    let labels: Vec<String> = irreps_named_in(group, which)?.iter().map(Representation::label).collect();
    let short = |label: &String| match label.strip_prefix("irrep(").and_then(|rest| rest.strip_suffix(')')) {
        Some(inside) if !inside.contains(')') => inside.to_string(),
        _ => label.clone(),
    };
    let mut expected = labels.iter().take(MAX_SHOWN).map(short).collect::<Vec<_>>().join(" | ");
    if labels.len() > MAX_SHOWN {
        expected += &format!(" | … ({} in all)", labels.len());
    }
    if labels.contains(&format!("{which}o")) {
        expected = format!("a parity, {which}e or {which}o");
    }
    Ok(Error::range(format!("irrep of {}", group.name()), expected, which))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(group: &str, text: &str) -> String {
        parse_fields(&group::parse(group).unwrap(), text).unwrap_err().to_string()
    }

    #[test]
    fn a_number_that_is_no_label_is_refused_not_read_as_a_position() {
        // The list of D4 is 0 | 0,- | 1 | 2 | 2,-: position 3 holds irrep(2).
        let message = refusal("D4", "irrep(3)");
        assert!(message.contains("0 | 0,- | 1 | 2 | 2,-"), "{message}");
        assert!(refusal("O2", "irrep(1,-)").contains("0 | 0,- | 1"));
        assert!(refusal("S4", "irrep(1)").contains("[3,1]"));
        assert!(refusal("C4 x C2", "irrep(1)").contains("irrep(1)*irrep(0) | irrep(1)*irrep(1)"));
        assert!(refusal("SO3", "irrep(33)").contains("(33 in all)"));
        assert!(refusal("O", "irrep(5)").contains("0 | 1 | 2 | 3 | 4"));
    }

    #[test]
    fn a_power_is_the_product_of_the_field_with_itself() {
        let s4 = group::parse("S4").unwrap();
        let points = permutation(&s4).unwrap();
        let cubes = parse_fields(&s4, "2 permutation^3 + permutation ^ 1").unwrap();
        let by_hand = tensor(&tensor(&points, &points).unwrap(), &points).unwrap();
        let by_hand = sum(&s4, &[(2, by_hand), (1, points)]).unwrap();
        assert_eq!((cubes.dim(), cubes.label()), (132, by_hand.label()));
        for g in s4.generators() {
            assert_eq!(cubes.matrix(&g), by_hand.matrix(&g));
        }
        for text in ["permutation^0", "permutation^9", "permutation^", "permutation^2^2", "^2"] {
            assert!(refusal("S4", text).contains("tensor power"), "{text}");
        }
        assert!(refusal("S32", "permutation^5").contains("dimension of a tensor product"));
    }

    #[test]
    fn irreps_of_o3_are_named_with_their_parity() {
        let o3 = group::parse("O3").unwrap();
        for (text, dim) in [("irrep(1o)", 3), ("2 irrep(2e) + irrep(0o)", 11)] {
            assert_eq!(parse_fields(&o3, text).unwrap().dim(), dim, "{text}");
        }
        let message = refusal("O3", "irrep(1)");
        assert!(message.contains("a parity, 1e or 1o"), "{message}");
    }
}
