//! Cycle notation for lists of generators, printed and read.

use crate::error::{Error, Result};

use super::PermutationGroup;

/// The canonical name of a list of generators: "<(0 1 2 3), (0 2)>", followed by "[degree]" if the last point is fixed.
pub(super) fn name(generators: &[Vec<u32>], degree: usize) -> String {
    let texts: Vec<String> = generators.iter().map(|word| cycles(word)).collect();
    let last_is_moved = generators.iter().any(|word| word[degree - 1] as usize != degree - 1);
    let degree = if last_is_moved { String::new() } else { format!("[{degree}]") };
    format!("<{}>{degree}", texts.join(", "))
}

/// The cycles of one permutation, each from its least point on, "()" for the identity.
fn cycles(word: &[u32]) -> String {
    let moved = disjoint_cycles(word).into_iter().filter(|cycle| cycle.len() > 1);
    let print = |cycle: Vec<usize>| cycle.iter().map(usize::to_string).collect::<Vec<_>>().join(" ");
    let text: String = moved.map(|cycle| format!("({})", print(cycle))).collect();
    if text.is_empty() { "()".into() } else { text }
}

/// The cycles of a permutation, fixed points included, in the order of their least points.
pub(super) fn disjoint_cycles(word: &[u32]) -> Vec<Vec<usize>> {
    let mut seen = vec![false; word.len()];
    let mut cycles = Vec::new();
    for start in 0..word.len() {
        let (mut cycle, mut point) = (Vec::new(), start);
        while !std::mem::replace(&mut seen[point], true) {
            cycle.push(point);
            point = word[point] as usize;
        }
        if !cycle.is_empty() {
            cycles.push(cycle);
        }
    }
    cycles
}

/// Reads generators in cycle notation, such as `"<(0 1 2)(3 4), (0 1)>"` or `"<(0 1)>[5]"`, as lists of images. The cycles of one generator
/// are disjoint; points are separated by spaces or commas; the number of points in brackets defaults to the largest point plus one.
pub(crate) fn parse_cycles(text: &str) -> Result<Vec<Vec<u32>>> {
    let fail = |expected: &str| Error::Parse {
        what: "permutation generators",
        text: text.into(),
        expected: format!("{expected}, as in \"<(0 1 2)(3 4), (0 1)>[6]\""),
    };
    let inner = text.trim().strip_prefix('<').ok_or_else(|| fail("\"<\" first"))?;
    let (list, tail) = inner.split_once('>').ok_or_else(|| fail("a closing \">\""))?;
    let generators: Vec<Vec<Vec<u32>>> = split_generators(list).map_err(fail)?;

    let named = generators.iter().flatten().flatten().max().map_or(0, |&point| point as usize + 1);
    let degree = match tail.trim() {
        "" => named,
        tail => {
            let digits = tail.strip_prefix('[').and_then(|tail| tail.strip_suffix(']'));
            let degree = digits.and_then(|digits| digits.trim().parse::<usize>().ok());
            degree.ok_or_else(|| fail("the number of points in brackets at the end"))?
        }
    };
    if degree < named.max(1) || degree > PermutationGroup::MAX_DEGREE {
        return Err(fail(&format!("{} to {} points", named.max(1), PermutationGroup::MAX_DEGREE)));
    }
    generators
        .iter()
        .map(|cycles| images(cycles, degree).ok_or_else(|| fail("no point twice in a generator")))
        .collect()
}

/// The generators between the angle brackets, each a list of cycles.
fn split_generators(list: &str) -> Result<Vec<Vec<Vec<u32>>>, &'static str> {
    let mut generators = vec![Vec::new()];
    let mut rest = list.trim_start();
    while !rest.is_empty() {
        if let Some(tail) = rest.strip_prefix(',') {
            generators.push(Vec::new());
            rest = tail.trim_start();
            continue;
        }
        let tail = rest.strip_prefix('(').ok_or("cycles in parentheses, generators apart by commas")?;
        let (cycle, tail) = tail.split_once(')').ok_or("a closing \")\"")?;
        let words = cycle.split([' ', ',']).filter(|word| !word.is_empty());
        let points: Result<Vec<u32>, _> = words.map(str::parse::<u32>).collect();
        let points = points.map_err(|_| "points as whole numbers from 0")?;
        if points.iter().any(|&point| point as usize >= PermutationGroup::MAX_DEGREE) {
            return Err("points below 100000");
        }
        generators.last_mut().expect("the list starts with one generator").push(points);
        rest = tail.trim_start();
    }
    if generators.iter().any(Vec::is_empty) {
        Err("a cycle in every generator, () for the identity")
    } else {
        Ok(generators)
    }
}

/// The images of 0, 1, … under disjoint cycles; `None` if a point occurs twice.
fn images(cycles: &[Vec<u32>], degree: usize) -> Option<Vec<u32>> {
    let mut images: Vec<u32> = (0..degree as u32).collect();
    let mut seen = vec![false; degree];
    for cycle in cycles {
        for (i, &point) in cycle.iter().enumerate() {
            if std::mem::replace(&mut seen[point as usize], true) {
                return None;
            }
            images[point as usize] = cycle[(i + 1) % cycle.len()];
        }
    }
    Some(images)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_round_trip() {
        for text in ["<(0 1 2 3), (0 2)>", "<(0 1)>[5]", "<()>[1]", "<(1 3)(2 4), (), (0 4)>", "<(0 1), ()>[3]"] {
            let generators = parse_cycles(text).unwrap();
            assert_eq!(name(&generators, generators[0].len()), text);
        }
    }

    #[test]
    fn loose_notation_is_read_and_printed_canonically() {
        let generators = parse_cycles(" < (3,1, 2)(0) ,(4 0) > [6] ").unwrap();
        assert_eq!(generators, [[0, 2, 3, 1, 4, 5], [4, 1, 2, 3, 0, 5]]);
        assert_eq!(name(&generators, 6), "<(1 2 3), (0 4)>[6]");
    }

    #[test]
    fn malformed_notation_is_an_error() {
        let brackets = ["", "(0 1)", "<(0 1)", "<(0 1>", "<0 1>", "<(0 1)>[", "<(0 1)>[x]", "<()>[0]", "<()>", "<>"];
        let lists = ["<(0 1),>", "<(0 1), , (1 2)>", "<(0 1 0)>", "<(0 1)(1 2)>", "<(0 x)>", "<(-1 2)>"];
        let points = ["<(0 5)>[5]", "<(0 1)>[100001]", "<(0 100000)>", "<(0 99999999999999999999)>"];
        let bad = brackets.into_iter().chain(lists).chain(points);
        for text in bad {
            assert!(matches!(parse_cycles(text), Err(Error::Parse { .. })), "{text}");
        }
    }
}
