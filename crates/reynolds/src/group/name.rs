//! Group names: "C4", "D4", "flip", "Oh", "S5", "SO2", "O3", "Z8", "C4 x Z8", and cycles "<(0 1 2 3), (0 2)>".

use std::sync::Arc;

use super::array_group::array_group;
use super::{GroupRef, O2, O3, PermutationGroup, Polygon, Product, SO2, SO3, polyhedral};
use crate::error::{Error, Result};

const EXPECTED: &str = "C<n>, D<n>, S<n>, Z<n>, T, Td, Th, O, Oh, I, Ih, SO2, O2, SO3, O3, a mirror (flip, flip-ud, flip-diag, flip-anti, \
    D2-diag; in 3-D with its array axis: flip-0, C4-1, …), a permutation group \"<(0 1 2), (0 1)>\", or a product \"A x B\"";

/// Largest nesting depth of brackets around products.
const MAX_DEPTH: usize = 16;

/// Reads a group name. Case, spaces, underscores, and brackets around a number or a product are ignored: "SO(3)", "O_h", "c_4"
/// and "C2 x (S3 x SO2)" are understood, and so are "p4" (C4) and "p4m" (D4).
pub fn parse(name: &str) -> Result<GroupRef> {
    parse_product(name, name, 0)
}

fn parse_product(whole: &str, text: &str, depth: usize) -> Result<GroupRef> {
    let mut factors = split_factors(text).into_iter();
    let first = parse_factor(whole, factors.next().unwrap_or_default(), depth)?;
    factors.try_fold(first, |product, factor| {
        let factor = parse_factor(whole, factor, depth)?;
        Ok(Arc::new(Product::new(&product, &factor)?) as GroupRef)
    })
}

/// Splits at "x" or "×" that stand between factors; cycles in "<…>" and products in brackets are left whole.
fn split_factors(name: &str) -> Vec<&str> {
    let mut factors = Vec::new();
    let (mut depth, mut start) = (0, 0);
    for (position, letter) in name.char_indices() {
        match letter {
            '<' | '(' => depth += 1,
            '>' | ')' => depth -= 1,
            'x' | '×' | '*' if depth == 0 => {
                factors.push(&name[start..position]);
                start = position + letter.len_utf8();
            }
            _ => {}
        }
    }
    factors.push(&name[start..]);
    factors
}

/// "C_4" and "C(4)" → "C4"; `None` if there are other brackets.
fn without_brackets(factor: &str) -> Option<String> {
    let plain: String = factor.chars().filter(|c| !matches!(c, ' ' | '_')).collect();
    let plain = match plain.split_once('(') {
        Some((family, number)) => {
            let number = number.strip_suffix(')').filter(|n| n.bytes().all(|b| b.is_ascii_digit()))?;
            format!("{family}{number}")
        }
        None => plain,
    };
    (!plain.contains(')')).then_some(plain)
}

fn parse_factor(whole: &str, factor: &str, depth: usize) -> Result<GroupRef> {
    let factor = factor.trim();
    let unknown = || Error::UnknownGroup { name: whole.into(), expected: EXPECTED.into() };
    if factor.starts_with('<') {
        return Ok(Arc::new(PermutationGroup::from_cycles(factor)?));
    }
    if let Some(inside) = factor.strip_prefix('(').and_then(|rest| rest.strip_suffix(')')) {
        return if depth < MAX_DEPTH { parse_product(whole, inside, depth + 1) } else { Err(unknown()) };
    }
    let plain = without_brackets(factor).ok_or_else(unknown)?.to_lowercase();
    if let Some(group) = array_group(&plain) {
        return Ok(Arc::new(group?));
    }
    Ok(match plain.as_str() {
        "so2" => Arc::new(SO2),
        "o2" => Arc::new(O2),
        "so3" => Arc::new(SO3),
        "o3" => Arc::new(O3),
        "flip" => Arc::new(Polygon::dihedral(1)?),
        "p4" => Arc::new(Polygon::cyclic(4)?),
        "p4m" => Arc::new(Polygon::dihedral(4)?),
        "t" | "td" | "th" | "o" | "oh" | "i" | "ih" => {
            let (first, rest) = plain.split_at(1);
            Arc::new(polyhedral(&(first.to_uppercase() + rest))?)
        }
        _ => {
            let (family, digits) = plain.split_at_checked(1).ok_or_else(unknown)?;
            if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) {
                return Err(unknown());
            }
            // Saturate a number that does not fit; the group refuses it as too large.
            let n = digits.parse().unwrap_or(usize::MAX);
            match family {
                "c" => Arc::new(Polygon::cyclic(n)?),
                "d" => Arc::new(Polygon::dihedral(n)?),
                "s" => Arc::new(PermutationGroup::symmetric(n)?),
                "z" => Arc::new(Polygon::translations(n)?),
                _ => return Err(unknown()),
            }
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::group::Family;

    #[test]
    fn spellings_of_the_literature_are_understood() {
        for (text, name, family) in [
            ("(C6)", "C6", Family::Cyclic(6)),
            ("C_4", "C4", Family::Cyclic(4)),
            ("Z8", "Z8", Family::Translations(8)),
            (" D4 ", "D4", Family::Dihedral(4)),
            ("S5", "S5", Family::Symmetric(5)),
            ("O_h", "Oh", Family::Matrices),
            ("I", "I", Family::Matrices),
            ("<(0 1 2)>", "<(0 1 2)>", Family::Permutations),
            ("C4×Z8", "C4 x Z8", Family::Product),
            ("SO2", "SO2", Family::SO2),
            ("O2", "O2", Family::O2),
            ("SO(3)", "SO3", Family::SO3),
            ("O3", "O3", Family::O3),
            ("c_4", "C4", Family::Cyclic(4)),
            ("p4", "C4", Family::Cyclic(4)),
            ("P4M", "D4", Family::Dihedral(4)),
            ("so2", "SO2", Family::SO2),
            ("oh", "Oh", Family::Matrices),
            ("D1", "flip", Family::Dihedral(1)),
            ("Flip-UD", "flip-ud", Family::Matrices),
            ("d2-diag", "D2-diag", Family::Matrices),
            ("C4-2", "C4-2", Family::Matrices),
        ] {
            let group = parse(text).unwrap();
            assert_eq!((group.name().as_str(), group.family()), (name, family));
        }
    }

    #[test]
    fn bad_names_are_errors_that_list_the_valid_ones() {
        let names = ["", "C", "X7", "C0", "C-1", "C4 x", "x", "SO4", "S99", "Ö3", "<", "C4y"];
        let brackets = ["C(4", "C4)", "(C4", "C(4 x Z)8", "C()4", "()", "(C2)(C4)", "C4 x ()"];
        for text in names.into_iter().chain(brackets).chain(["D99999999999999999999999"]) {
            assert!(parse(text).is_err(), "{text}");
        }
        assert!(matches!(parse(&vec!["C1"; 30_000].join(" x ")), Err(Error::OutOfRange { .. })));
        assert!(parse(&("(".repeat(30_000) + "C1" + &")".repeat(30_000))).is_err());
        assert!(parse("X7").unwrap_err().to_string().contains("expected C<n>"));
    }

    #[test]
    fn brackets_round_products_do_not_change_the_group() {
        let group = parse("C2 x S3 x SO2").unwrap();
        for text in ["(C2 x S3) x SO2", "C2 x (S3 x SO2)", "C(2) x ((S3) x (SO(2)))"] {
            let same = parse(text).unwrap();
            assert_eq!((same.name(), same.identity()), (group.name(), group.identity()), "{text}");
        }
    }
}
