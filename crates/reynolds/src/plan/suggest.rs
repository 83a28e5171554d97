//! A plan to start from.

use std::collections::HashMap;
use std::fmt::Write;

use super::{
    Network, Rule, RuleKind, Sampling, SymmetryPlan, Typing, channel, convolution, glob, is_convolution, rules,
};
use crate::group::GroupRef;

/// A plan for these tensors, as text to be edited. Kernels get regular fields if their channels split into them, else scalars; norm parameters
/// get the fields of their layer; linear maps are commented out, since their fields cannot be guessed, with the codomain of the layer before
/// as their domain where it has as many channels. Every other rule has been tried: one that does not fit is commented out with the reason.
/// The state of an optimizer is left out. Complex tensors are commented out, too.
pub fn suggest(group: &GroupRef, network: &Network) -> String {
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
        network.tensors.iter().filter(|(name, _)| !channel::is_optimizer_state(name)).collect();
    // The bias of a transposed convolution has as many numbers as its weight's second axis.
    let of_module = |(name, shape): &&(String, Vec<usize>)| match (channel::split(name), &shape[..]) {
        ((module, own), [length]) if own == "bias" => Some((module, *length)),
        _ => None,
    };
    let biases: HashMap<String, usize> = tensors.iter().filter_map(of_module).collect();
    let mut verdicts: HashMap<(&[usize], usize, bool), Option<String>> = HashMap::new();
    let mut typed: HashMap<&str, (String, String)> = HashMap::new();
    // Name, output channels and codomain of the layer before.
    let mut before: Option<(&str, usize, String)> = None;
    for (name, shape) in tensors.iter().filter(|(_, shape)| shape.len() >= 2) {
        let file = network.convolutions.get(name);
        let guess = shape.len() > 2 && shape[0] != shape[1] && biases.get(&channel::split(name).0) == Some(&shape[1]);
        let (transposed, groups) = file.map_or((guess, 1), |file| (file.transposed, file.groups));
        let (out, into) = if transposed { (shape[1] * groups, shape[0]) } else { (shape[0], shape[1] * groups) };
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
        let refused = || {
            let fits = || {
                let kind = transposed.then_some(RuleKind::Transposed);
                let (domain, codomain, groups) = (Some(domain.clone()), codomain.clone(), Some(groups));
                let rule = Rule { name: "*".into(), domain, codomain, kind, groups, ..Rule::default() };
                rules::attempt(&plan, &rule, shape).err().map(|error| error.to_string())
            };
            let verdict = verdicts.entry((shape, groups, transposed)).or_insert_with(fits);
            verdict.as_ref().map(|why| format!("does not fit: {why}"))
        };
        let off = off.or_else(refused);
        let comment = if off.is_some() { "# " } else { "" };
        let mut keys = format!("{comment}domain = \"{domain}\"\n{comment}codomain = \"{codomain}\"\n");
        if transposed {
            keys.insert_str(0, &format!("{comment}kind = \"transposed\"\n"));
        }
        for (key, number) in file.map(|file| file.keys()).unwrap_or_default() {
            keys += &format!("{comment}{key} = {number}\n");
        }
        if let Some(file) = file {
            let kind = transposed.then_some(RuleKind::Transposed);
            keys += &match convolution::sampling(&Rule { kind, ..Rule::default() }, Some(file), group, &shape[2..]) {
                (Sampling::Commutes, _) => "# Stride and padding in the file keep the symmetry.\n".to_string(),
                (Sampling::Breaks, why) => format!("# Breaks the symmetry: {}.\n", why.join("; ").replace('\n', " ")),
                (Sampling::Unknown, _) => String::new(),
            };
        }
        // Writing to a string cannot fail.
        let _ = off.map(|reason| write!(text, "\n# {}", reason.replace('\n', " ")));
        let _ = write!(text, "\n{comment}[[layer]]  # {shape:?}\n{comment}name = {}\n{keys}", quoted(name));
        before = Some((name, out, codomain.clone()));
        if comment.is_empty() {
            // Fields of the second axis, and of the first.
            typed.insert(name, if transposed { (codomain, domain) } else { (domain, codomain) });
        }
    }
    for (name, shape) in network.complex.iter().filter(|(name, _)| !channel::is_optimizer_state(name)) {
        let [out, into] = [0, 1].map(|axis| frequencies(shape.get(axis).copied().unwrap_or(1)));
        let _ = write!(
            text,
            "\n# off: complex numbers; say the frequencies of its channels in place of these and take the # away\n# [[layer]]  # {shape:?}\n\
             # name = {}\n# domain = \"{into}\"\n# codomain = \"{out}\"\n",
            quoted(name)
        );
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

/// Some frequencies that so many channels may have, up to 4.
fn frequencies(channels: usize) -> String {
    let highest = (0..=4).rev().find(|highest| channels.is_multiple_of(2 * highest + 1)).unwrap_or(0);
    format!("{}x(-{highest}..{highest})", channels / (2 * highest + 1))
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
            let text = suggest(&group, &Network::of(&tensors));
            assert!(!text.contains(['\u{202e}', '\u{1b}']) && text.contains("the domain is what "), "{text}");
            let plan = SymmetryPlan::from_toml(&text).unwrap().resolve(&tensors).unwrap();
            assert_eq!(plan.layers[0].name, tensors[0].0);
            assert_eq!((plan.layers.len(), plan.untyped.len()), (1, 1), "{text}");
        }
    }

    #[test]
    fn a_plan_of_many_rules_finds_them_by_name() {
        // A search through all of them for each tensor would compare 10⁸ names.
        let layer = |n: usize| [(format!("m{n}.weight"), vec![4, 4, 1, 1]), (format!("n{n}.bias"), vec![4])];
        let tensors: Vec<_> = (0..10_000).flat_map(layer).collect();
        let plan = SymmetryPlan::from_toml(&suggest(&group::parse("C4").unwrap(), &Network::of(&tensors))).unwrap();
        assert_eq!(plan.resolve(&tensors).unwrap().layers.len(), 20_000);
    }
}
