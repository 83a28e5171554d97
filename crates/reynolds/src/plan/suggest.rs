//! A plan to start from.

use std::collections::HashMap;
use std::fmt::Write;

use super::build::Builder;
use super::{SymmetryPlan, Typing, channel, glob, is_convolution};
use crate::error::Result;
use crate::group::GroupRef;
use crate::rep::parse_fields;

/// A plan for these tensors, as text to be edited. Kernels get regular fields if their channels split into them, else scalars; norm parameters
/// get the fields of their layer; linear maps are commented out, since their fields cannot be guessed, with the codomain of the layer before
/// as their domain where it has as many channels. Every other rule has been tried: one that does not fit is commented out with the reason.
/// The state of an optimizer is left out.
pub fn suggest(group: &GroupRef, tensors: &[(String, Vec<usize>)]) -> String {
    let order = group.order().and_then(|n| usize::try_from(n).ok()).filter(|&n| n > 0);
    let points = group.point_permutation(&group.identity()).map(|points| points.len());
    let fields = |channels: usize| match order {
        Some(order) if channels.is_multiple_of(order) => format!("{} regular", channels / order),
        _ => format!("{channels} trivial"),
    };
    let mut text = format!(
        "# A plan to start from. Fields are a guess: say here what the channels are, then\n\
         #   reynolds audit MODEL --plan THIS\n\
         # Add stride, padding and input (its side) to a layer, and the audit says whether the network commutes there.\n\
         group = \"{}\"\n",
        group.name()
    );
    let plan = SymmetryPlan { group: group.clone(), restriction: None, typing: Typing::Rules(vec![]) };
    let tensors: Vec<&(String, Vec<usize>)> =
        tensors.iter().filter(|(name, _)| !channel::is_optimizer_state(name)).collect();
    // The bias of a transposed convolution has as many numbers as its weight's second axis.
    let of_module = |(name, shape): &&(String, Vec<usize>)| match (channel::split(name), &shape[..]) {
        ((module, own), [length]) if own == "bias" => Some((module, *length)),
        _ => None,
    };
    let biases: HashMap<String, usize> = tensors.iter().filter_map(of_module).collect();
    let mut verdicts: HashMap<&[usize], Option<String>> = HashMap::new();
    let mut typed: HashMap<&str, (String, String)> = HashMap::new();
    // Name, output channels and codomain of the layer before.
    let mut before: Option<(&str, usize, String)> = None;
    for (name, shape) in tensors.iter().filter(|(_, shape)| shape.len() >= 2) {
        let (out, into) = (shape[0], shape[1]);
        let (domain, codomain, off) = match (shape.len(), points) {
            (2, Some(n)) if out.is_multiple_of(n) && into.is_multiple_of(n) => {
                (format!("{} permutation", into / n), format!("{} permutation", out / n), None)
            }
            _ if is_convolution(shape) && group.point_matrix(&group.identity()).is_some() => {
                (fields(into), fields(out), None)
            }
            _ => {
                let known = before.as_ref().filter(|(_, channels, _)| *channels == into);
                let from =
                    known.map_or(String::new(), |(name, ..)| format!("; the domain is what {} gives", spelt(name)));
                let domain = known.map_or_else(|| format!("{into} trivial"), |(_, _, fields)| fields.clone());
                (
                    domain,
                    format!("{out} trivial"),
                    Some(format!("off: its fields cannot be guessed from its shape{from}")),
                )
            }
        };
        // Equal shapes get equal fields, so one of each is built.
        let mut build = || build_once(&plan, shape, &domain, &codomain).err().map(|error| error.to_string());
        let refused =
            || verdicts.entry(shape).or_insert_with(&mut build).as_ref().map(|why| format!("does not fit: {why}"));
        let off = off.or_else(refused);
        let comment = if off.is_some() { "# " } else { "" };
        let transposed = shape.len() > 2 && into != out && biases.get(&channel::split(name).0) == Some(&into);
        let (first, second) = if transposed { (&codomain, &domain) } else { (&domain, &codomain) };
        let kind = if transposed { format!("{comment}kind = \"transposed\"\n") } else { String::new() };
        // Writing to a string cannot fail.
        let _ = off.map(|reason| write!(text, "\n# {}", reason.replace('\n', " ")));
        let _ = write!(
            text,
            "\n{comment}[[layer]]  # {shape:?}\n{comment}name = {}\n{kind}{comment}domain = \"{first}\"\n{comment}codomain = \"{second}\"\n",
            quoted(name),
        );
        before = Some((name, if transposed { into } else { out }, second.clone()));
        if comment.is_empty() {
            typed.insert(name, (domain, codomain));
        }
    }
    let layers = channel::Layers::new(tensors.iter().map(|&tensor| (tensor, typed.contains_key(&*tensor.0))));
    for (name, shape) in tensors.iter().filter(|(_, shape)| shape.len() == 1) {
        let Some((owner, output)) = layers.owner(name, shape[0]) else { continue };
        let Some(role) = channel::role(name) else { continue };
        let (domain, codomain) = &typed[owner];
        let fields = if output { codomain } else { domain };
        let _ =
            write!(text, "\n[[layer]]\nname = {}\nkind = \"{}\"\ncodomain = \"{fields}\"\n", quoted(name), role.name());
    }
    text
}

/// Tries a rule on a shape.
fn build_once(plan: &SymmetryPlan, shape: &[usize], domain: &str, codomain: &str) -> Result<()> {
    let (domain, codomain) = (parse_fields(&plan.group, domain)?, parse_fields(&plan.group, codomain)?);
    Builder::new(plan).weight("", shape, (&domain, &codomain)).map(|_| ())
}

/// A tensor's name as a TOML string that matches it and nothing else.
fn quoted(name: &str) -> String {
    format!("\"{}\"", spelt(&glob::escape(name)))
}

/// As inside a TOML string. What nobody sees, such as letters that turn the direction of writing, is spelt out: plans are printed to terminals.
fn spelt(name: &str) -> String {
    let mut text = String::new();
    for letter in name.chars() {
        match letter {
            '"' | '\\' => text.extend(['\\', letter]),
            _ if letter != '\'' && letter.escape_debug().len() > 1 => {
                let _ = write!(text, "\\U{:08X}", u32::from(letter));
            }
            _ => text.push(letter),
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::group;

    #[test]
    fn a_plan_shows_what_nobody_sees_in_a_name_and_matches_it() {
        let group = group::parse("C4").unwrap();
        for name in ["a\u{202e}b", "\u{1b}[31m", "a\nb", "q\"'\\", "層.é", "*[x]"] {
            let tensors = [(format!("{name}.weight"), vec![4, 4, 3, 3]), ("head".to_string(), vec![2, 4])];
            let text = suggest(&group, &tensors);
            assert!(!text.contains(['\u{202e}', '\u{1b}']) && text.contains("the domain is what "), "{text}");
            let plan = SymmetryPlan::from_toml(&text).unwrap().resolve(&tensors).unwrap();
            assert_eq!(plan.layers[0].name, tensors[0].0);
            assert_eq!((plan.layers.len(), plan.untyped.len()), (1, 1), "{text}");
        }
    }
}
