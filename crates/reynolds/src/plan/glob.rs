//! Patterns over tensor names.
//!
//! ```text
//! *  any characters     ?  one character     [a-c] [!a-c]  one of a set, or none of it     {a,b}  either     \*  a star
//! **/  at the beginning or after a slash: any folders, or none
//! ```
//!
//! The syntax is that of the crate globset (a test compares the two), except that an empty alternative never matches. globset's regular
//! expressions take long to compile, and are slower on the plans of exact names that `reynolds plan` suggests.

use std::iter::Peekable;
use std::str::Chars;

/// Deepest nesting of braces.
const DEPTH: usize = 16;

/// A parsed pattern.
#[derive(Debug)]
pub(super) struct Glob {
    /// The literal beginning: the whole pattern for most rules of a suggested plan.
    prefix: String,
    rest: Vec<Token>,
}

#[derive(Debug)]
enum Token {
    Any,
    /// `**/`.
    Folders,
    One,
    Character(char),
    Set {
        ranges: Vec<(char, char)>,
        inverted: bool,
    },
    Either(Vec<Vec<Token>>),
}

impl Glob {
    /// Parses a pattern; the error says what is wrong with it.
    pub(super) fn new(pattern: &str) -> Result<Self, &'static str> {
        let mut chars = pattern.chars().peekable();
        let mut tokens = sequence(&mut chars, 0)?;
        if chars.next().is_some() {
            return Err("a } that nothing opens");
        }
        let literal = |token: &Token| if let Token::Character(c) = token { Some(*c) } else { None };
        let prefix: String = tokens.iter().map_while(literal).collect();
        let rest = tokens.split_off(prefix.chars().count());
        Ok(Self { prefix, rest })
    }

    /// The only name that matches, if the pattern has no wildcards.
    pub(super) fn literal(&self) -> Option<&str> {
        self.rest.is_empty().then_some(&self.prefix)
    }

    /// Whether the whole name matches.
    pub(super) fn is_match(&self, name: &str) -> bool {
        let Some(name) = name.strip_prefix(&self.prefix) else { return false };
        if self.rest.is_empty() {
            return name.is_empty();
        }
        let name: Vec<char> = name.chars().collect();
        let mut reached = vec![false; name.len() + 1];
        reached[0] = true;
        after(&self.rest, &name, reached)[name.len()]
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

/// Tokens up to the end, a closing brace or, inside braces, a comma, which are not consumed.
fn sequence(rest: &mut Peekable<Chars<'_>>, depth: usize) -> Result<Vec<Token>, &'static str> {
    let mut tokens = Vec::new();
    while let Some(c) = rest.next_if(|&c| c != '}' && !(depth > 0 && c == ',')) {
        match c {
            '*' if is_folders(&tokens, rest) => {
                rest.nth(1);
                tokens.push(Token::Folders);
            }
            '*' => tokens.push(Token::Any),
            '?' => tokens.push(Token::One),
            '\\' => tokens.push(Token::Character(rest.next().ok_or("a \\ with nothing after it")?)),
            '[' => tokens.push(set(rest)?),
            '{' if depth == DEPTH => return Err("braces within braces, more than 16 deep"),
            '{' => {
                let mut either = vec![sequence(rest, depth + 1)?];
                while rest.next_if_eq(&',').is_some() {
                    either.push(sequence(rest, depth + 1)?);
                }
                rest.next().ok_or("a { that nothing closes")?;
                either.retain(|tokens| !tokens.is_empty());
                if either.is_empty() {
                    return Err("braces with nothing in them");
                }
                tokens.push(Token::Either(either));
            }
            c => tokens.push(Token::Character(c)),
        }
    }
    Ok(tokens)
}

/// Whether a star that follows these tokens begins `**/`.
fn is_folders(before: &[Token], rest: &Peekable<Chars<'_>>) -> bool {
    let mut next = rest.clone();
    matches!(before.last(), None | Some(Token::Folders | Token::Character('/')))
        && next.next() == Some('*')
        && next.next() == Some('/')
}

/// What follows a `[`. A `]` that comes first and a `-` that comes first or last are literal.
fn set(rest: &mut Peekable<Chars<'_>>) -> Result<Token, &'static str> {
    const OPEN: &str = "a [ that nothing closes";
    let inverted = rest.next_if(|&c| c == '!' || c == '^').is_some();
    let first = rest.next().ok_or(OPEN)?;
    let mut ranges = vec![(first, first)];
    loop {
        match rest.next().ok_or(OPEN)? {
            ']' => break,
            '-' if rest.peek() == Some(&']') => ranges.push(('-', '-')),
            '-' => {
                let to = rest.next().ok_or(OPEN)?;
                if let Some((from, last)) = ranges.last_mut() {
                    *last = to;
                    if *from > to {
                        return Err("a range that runs backwards");
                    }
                }
            }
            c => ranges.push((c, c)),
        }
    }
    Ok(match ranges[..] {
        [(only, last)] if only == last && !inverted => Token::Character(only),
        _ => Token::Set { ranges, inverted },
    })
}

/// Which positions of the name, `[len + 1]`, can be reached through the tokens. Time is linear in the name and in the pattern.
fn after(tokens: &[Token], name: &[char], mut reached: Vec<bool>) -> Vec<bool> {
    for token in tokens {
        if !reached.contains(&true) {
            break;
        }
        reached = match token {
            Token::Any => {
                let first = reached.iter().position(|&here| here).unwrap_or(reached.len());
                (0..reached.len()).map(|at| at >= first).collect()
            }
            Token::Folders => {
                let first = reached.iter().position(|&here| here).unwrap_or(reached.len());
                (0..reached.len()).map(|at| reached[at] || (at > first && name[at - 1] == '/')).collect()
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
        Token::Any | Token::Folders | Token::One | Token::Either(_) => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matches(pattern: &str, name: &str) -> bool {
        Glob::new(pattern).unwrap().is_match(name)
    }

    #[test]
    fn patterns_mean_what_they_mean_to_globset() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../golden/globs.txt");
        let text = std::fs::read_to_string(path).unwrap();
        for line in text.lines() {
            let [pattern, name, verdict] = line.split('\t').collect::<Vec<_>>()[..] else { panic!("{line}") };
            let ours = match Glob::new(pattern) {
                Ok(glob) if glob.is_match(name) => "yes",
                Ok(_) => "no",
                Err(_) => "error",
            };
            assert_eq!(ours, verdict, "{pattern} on {name}");
        }
        assert!(text.lines().count() > 6000);
    }

    #[test]
    fn what_is_not_closed_or_empty_is_refused() {
        for pattern in ["[", "[]", "[!]", "[a-", "{a,b", "a}", "{a,{b,c}", "[z-a]", "a\\", "x{,}", &"{".repeat(100_000)]
        {
            assert!(Glob::new(pattern).is_err(), "{pattern}");
        }
        assert!(matches("x{,.y}", "x.y") && !matches("x{,.y}", "x"), "an alternative of nothing is left out");
    }

    #[test]
    fn an_escaped_name_matches_itself_alone_without_a_search() {
        let name = "a[0]{1,2}*?\\-!^,.ß";
        assert_eq!(Glob::new(&escape(name)).unwrap().literal(), Some(name));
        assert_eq!(Glob::new("a*").unwrap().literal(), None);
        assert!(matches(&escape(name), name));
        assert!(!matches(&escape(name), "a0{1,2}*?\\-!^,.ß") && !matches(&escape("a*"), "ab"));
    }

    #[test]
    fn many_stars_take_no_time() {
        assert!(!matches(&"*a".repeat(200), &"a".repeat(199)));
        assert!(matches(&"*a".repeat(200), &"a".repeat(200)));
    }
}
