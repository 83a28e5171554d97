//! Patterns over tensor names.
//!
//! ```text
//! *  any characters     ?  one character     [a-c] [!a-c]  one of a set, or none of it     {a,b}  either     \*  a star
//! ```
//!
//! As globset has them (a test compares the two), whose regular expressions took longer to build than the rest of a first audit.

use std::iter::Peekable;
use std::str::Chars;

/// Braces within braces, at most.
const DEPTH: usize = 16;

/// A pattern, read.
#[derive(Debug)]
pub(super) struct Glob(Vec<Token>);

#[derive(Debug)]
enum Token {
    Any,
    One,
    Character(char),
    Set { ranges: Vec<(char, char)>, inverted: bool },
    Either(Vec<Vec<Token>>),
}

impl Glob {
    /// Reads a pattern; the error says what is wrong with it.
    pub(super) fn new(pattern: &str) -> Result<Self, &'static str> {
        let mut rest = pattern.chars().peekable();
        let tokens = sequence(&mut rest, 0)?;
        if rest.next().is_some() { Err("a } that nothing opens") } else { Ok(Self(tokens)) }
    }

    /// Whether the whole name matches.
    pub(super) fn is_match(&self, name: &str) -> bool {
        let name: Vec<char> = name.chars().collect();
        let mut reached = vec![false; name.len() + 1];
        reached[0] = true;
        after(&self.0, &name, reached)[name.len()]
    }
}

/// A pattern that matches this name and no other.
pub(super) fn escape(name: &str) -> String {
    let mut pattern = String::with_capacity(name.len());
    for c in name.chars() {
        match c {
            '*' | '?' | '[' | ']' | '{' | '}' | '\\' => pattern.extend(['[', c, ']']),
            c => pattern.push(c),
        }
    }
    pattern
}

/// Tokens up to the end, or up to a brace or (inside braces, so many deep) a comma, which is left.
fn sequence(rest: &mut Peekable<Chars<'_>>, depth: usize) -> Result<Vec<Token>, &'static str> {
    let mut tokens = Vec::new();
    while let Some(c) = rest.next_if(|&c| c != '}' && !(depth > 0 && c == ',')) {
        tokens.push(match c {
            '*' => Token::Any,
            '?' => Token::One,
            '\\' => Token::Character(rest.next().ok_or("a \\ with nothing after it")?),
            '[' => set(rest)?,
            '{' if depth == DEPTH => return Err("braces within braces, more than 16 deep"),
            '{' => {
                let mut either = vec![sequence(rest, depth + 1)?];
                while rest.next_if_eq(&',').is_some() {
                    either.push(sequence(rest, depth + 1)?);
                }
                rest.next().ok_or("a { that nothing closes")?;
                Token::Either(either)
            }
            c => Token::Character(c),
        });
    }
    Ok(tokens)
}

/// What follows a `[`: a `]` or a `-` that comes first stands for itself.
fn set(rest: &mut Peekable<Chars<'_>>) -> Result<Token, &'static str> {
    const OPEN: &str = "a [ that nothing closes";
    let inverted = rest.next_if(|&c| c == '!' || c == '^').is_some();
    let mut ranges = Vec::new();
    loop {
        let first = rest.next().ok_or(OPEN)?;
        if first == ']' && !ranges.is_empty() {
            return Ok(Token::Set { ranges, inverted });
        }
        let mut last = first;
        if rest.next_if_eq(&'-').is_some() {
            if rest.peek() == Some(&']') {
                ranges.push(('-', '-'));
            } else {
                last = rest.next().ok_or(OPEN)?;
            }
        }
        if first > last {
            return Err("a range that runs backwards");
        }
        ranges.push((first, last));
    }
}

/// Where in the name one may be after the tokens, given where before: `[len + 1]`. Linear in name and pattern, whatever they are.
fn after(tokens: &[Token], name: &[char], mut reached: Vec<bool>) -> Vec<bool> {
    for token in tokens {
        reached = match token {
            Token::Any => {
                let first = reached.iter().position(|&here| here).unwrap_or(reached.len());
                (0..reached.len()).map(|at| at >= first).collect()
            }
            Token::Either(either) => {
                let mut union = vec![false; reached.len()];
                for tokens in either {
                    for (here, also) in union.iter_mut().zip(after(tokens, name, reached.clone())) {
                        *here |= also;
                    }
                }
                union
            }
            one => (0..reached.len()).map(|at| at > 0 && reached[at - 1] && takes(one, name[at - 1])).collect(),
        };
    }
    reached
}

/// Whether a token of one character takes this one.
fn takes(token: &Token, c: char) -> bool {
    match token {
        Token::Character(own) => *own == c,
        Token::Set { ranges, inverted } => ranges.iter().any(|&(first, last)| first <= c && c <= last) != *inverted,
        Token::Any | Token::One | Token::Either(_) => true,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn matches(pattern: &str, name: &str) -> bool {
        Glob::new(pattern).unwrap().is_match(name)
    }

    #[test]
    fn patterns_match_whole_names() {
        for (pattern, yes, no) in [
            ("conv1.weight", "conv1.weight", "conv1.weight2"),
            ("layer*.weight", "layer1.0/conv.weight", "layer1.0.bias"),
            ("a*", "a", "ba"),
            ("layer?.*", "layer4.", "layer10.conv"),
            ("layer[1-3].w", "layer2.w", "layer4.w"),
            ("layer[!1-3x].w", "layer4.w", "layerx.w"),
            ("[^a]", "b", "a"),
            ("[]a]", "]", "b"),
            ("[-a]", "-", "b"),
            ("[a-]", "-", "b"),
            ("*.{weight,bias}", "a.bias", "a.scale"),
            ("{conv*,fc}.w[12]", "conv9.w2", "fc.w"),
            ("x{,.y}", "x", "x.y.y"),
            ("{a,{b,c*}d}", "c.d", "c"),
            ("a,b", "a,b", "a"),
            ("\\*\\\\", "*\\", "a\\"),
            ("ß?", "ßλ", "ß"),
        ] {
            assert!(matches(pattern, yes), "{pattern} should match {yes}");
            assert!(!matches(pattern, no), "{pattern} should not match {no}");
        }
    }

    #[test]
    fn what_is_not_closed_is_refused() {
        for pattern in ["[", "[]", "[!]", "[a-", "{a,b", "a}", "{a,{b,c}", "[z-a]", "a\\", &"{".repeat(100_000)] {
            assert!(Glob::new(pattern).is_err(), "{pattern}");
        }
    }

    #[test]
    fn an_escaped_name_matches_itself_alone() {
        let name = "a[0]{1,2}*?\\-!^,.ß";
        assert!(matches(&escape(name), name));
        assert!(!matches(&escape(name), "a0{1,2}*?\\-!^,.ß") && !matches(&escape("a*"), "ab"));
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 4096, max_global_rejects: 65_536, ..ProptestConfig::default() })]

        /// But for what follows: an empty alternative, which is allowed here and skipped there, and two stars, which there are about folders.
        #[test]
        fn patterns_mean_what_they_mean_to_globset(pattern in r"([ab.\-]|\*|\?|\[!?[ab\-\]]{1,3}\]|\{|\}|,|\\[ab*]){0,8}", name in "[ab.,*\\-]{0,5}") {
            let empty = ["{,", ",,", ",}", "{}"].iter().any(|part| pattern.contains(part));
            prop_assume!(!empty && !pattern.contains("**"));
            let (ours, theirs) = (Glob::new(&pattern), globset::Glob::new(&pattern));
            prop_assert_eq!(ours.is_ok(), theirs.is_ok(), "{:?}, {:?}", &ours, &theirs);
            if let (Ok(ours), Ok(theirs)) = (ours, theirs) {
                prop_assert_eq!(ours.is_match(&name), theirs.compile_matcher().is_match(&name));
            }
        }
    }

    #[test]
    fn many_stars_take_no_time() {
        assert!(!matches(&"*a".repeat(200), &"a".repeat(199)));
        assert!(matches(&"*a".repeat(200), &"a".repeat(200)));
    }
}
