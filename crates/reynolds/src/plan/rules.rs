//! Tensors typed by rules over their names.

use std::collections::HashMap;

use super::build::Builder;
use super::convolution::{self, Convolution};
use super::glob::Glob;
use super::{Network, ResolvedPlan, Role, Rule, RuleKind, SymmetryPlan, TypedTensor, Untyped, channel, complex};
use crate::error::{Error, Result};
use crate::group::Element;
use crate::irreps::Irreps;
use crate::rep::{self, Rep, parse_fields};

/// A rule with its glob and its fields parsed.
struct Ready<'a> {
    rule: &'a Rule,
    /// Its pattern, and the pattern without the prefixes of wrappers.
    globs: [Glob; 2],
    domain: Option<Fields>,
    codomain: Fields,
}

/// Fields of real numbers, unless they are characters of either sign.
enum Fields {
    Real(Rep),
    Complex,
}

impl<'a> Ready<'a> {
    fn new(plan: &SymmetryPlan, rule: &'a Rule) -> Result<Self> {
        let glob = |pattern: &str| Glob::new(pattern).map_err(|found| rule.error("name", "a glob", found));
        let globs = [glob(&rule.name)?, glob(&channel::unwrapped(&rule.name))?];
        for (key, number) in [("stride", rule.stride), ("groups", rule.groups)] {
            if number == Some(0) {
                return Err(rule.error(key, "at least 1", 0));
            }
        }
        let read = |text: &str| {
            let read = match text.parse::<Irreps>() {
                Ok(irreps) if irreps.is_complex() => irreps.complex_rep(&plan.group).map(|_| Fields::Complex),
                _ => parse_fields(&plan.group, text).map(Fields::Real),
            };
            read.map_err(|error| Error::Rule { name: rule.name.clone(), source: Box::new(error) })
        };
        let domain = rule.domain.as_deref().map(read).transpose()?;
        Ok(Self { rule, globs, domain, codomain: read(&rule.codomain)? })
    }

    fn real<'f>(&self, fields: &'f Fields) -> Result<&'f Rep> {
        match fields {
            Fields::Real(fields) => Ok(fields),
            Fields::Complex => Err(self.rule.error("fields", "fields of real numbers", "orders of either sign")),
        }
    }

    fn layer(
        &self,
        builder: &mut Builder<'_>,
        (name, shape): (&str, &[usize]),
        file: Option<&Convolution>,
    ) -> Result<TypedTensor> {
        let by_name = if shape.len() == 1 { channel::role(name).unwrap_or(Role::Bias) } else { Role::Weight };
        let transposed = match self.rule.kind {
            Some(kind) => kind == RuleKind::Transposed,
            None => file.is_some_and(|file| file.transposed),
        };
        match self.rule.kind.map_or(by_name, RuleKind::role) {
            Role::Weight => {
                let missing = || self.rule.error("domain", "a domain for a weight", "none");
                let domain = self.real(self.domain.as_ref().ok_or_else(missing)?)?;
                // The weight of a transposed convolution is that of the adjoint map.
                let codomain = self.real(&self.codomain)?;
                let (into, out) = if transposed { (codomain, domain) } else { (domain, codomain) };
                let into = match self.rule.groups.or(file.map(|file| file.groups)) {
                    Some(groups) if groups > 1 => &self.one_group(into, out, groups)?,
                    _ => into,
                };
                let mut layer = builder.weight(name, shape, (into, out))?;
                if transposed {
                    // Named as the layer takes and gives them.
                    std::mem::swap(&mut layer.domain, &mut layer.codomain);
                }
                if shape.len() > 2 {
                    let group = domain.group();
                    let (sampling, warnings) = convolution::sampling(self.rule, file, group, &shape[2..]);
                    (layer.sampling, layer.warnings) = (Some(sampling), warnings);
                }
                Ok(layer)
            }
            role => builder.channels(name, shape, self.real(&self.codomain)?, role),
        }
    }

    /// The fields of the input channels that each output channel of a grouped convolution sees.
    ///
    /// Groups of whole fields: those of the first group, if all are alike. Depthwise, where the group permutes the channels: the kernels are
    /// permuted with them, as from one scalar.
    fn one_group(&self, into: &Rep, out: &Rep, groups: usize) -> Result<Rep> {
        let group = into.group();
        let refuse = |got: &str| {
            Err(self.rule.error("groups", "groups of whole, equal fields, or depthwise on permuted channels", got))
        };
        if !into.dim().is_multiple_of(groups) || !out.dim().is_multiple_of(groups) {
            return refuse(&format!("{groups} groups of {} and {} channels", into.dim(), out.dim()));
        }
        let permuted = |fields: &Rep| {
            let one = |g: &Element| fields.signed_permutation(g).is_some_and(|moved| !moved.negative.contains(&true));
            group.generators().iter().all(one)
        };
        if groups == into.dim() && rep::same(into, out) && permuted(into) {
            return Ok(rep::trivial(group));
        }
        let parts = |fields: &Rep| -> Vec<Rep> {
            let whole = [(1, fields.clone())];
            let parts = fields.summands().unwrap_or(&whole);
            parts.iter().flat_map(|(copies, part)| std::iter::repeat_n(part.clone(), *copies)).collect()
        };
        let split = |fields: &Rep| -> Option<Vec<Vec<Rep>>> {
            let side = fields.dim() / groups;
            let mut blocks: Vec<Vec<Rep>> = vec![vec![]];
            for part in parts(fields) {
                let filled: usize = blocks.last()?.iter().map(|part| part.dim()).sum();
                match filled {
                    full if full == side => blocks.push(vec![part]),
                    _ => blocks.last_mut()?.push(part),
                }
            }
            blocks.iter().all(|block| block.iter().map(|part| part.dim()).sum::<usize>() == side).then_some(blocks)
        };
        let (Some(inner), Some(_)) = (split(into), split(out)) else { return refuse("a field cut by a group") };
        let alike = |block: &Vec<Rep>| {
            block.len() == inner[0].len() && block.iter().zip(&inner[0]).all(|(a, b)| rep::same(a, b))
        };
        if !inner.iter().all(alike) {
            return refuse("groups with different fields");
        }
        let one: Vec<(usize, Rep)> = inner[0].iter().map(|part| (1, part.clone())).collect();
        rep::sum(group, &one)
    }
}

/// Tries a rule on a shape.
pub(super) fn attempt(plan: &SymmetryPlan, rule: &Rule, shape: &[usize]) -> Result<()> {
    Ready::new(plan, rule)?.layer(&mut Builder::new(plan), ("", shape), None).map(|_| ())
}

/// The rules of a plan. Those without wildcards are found by name: a suggested plan has one for every tensor.
struct Rules<'a> {
    all: Vec<Ready<'a>>,
    /// Numbers of the rules without wildcards, by their names and by those without the prefixes of wrappers.
    literal: [HashMap<String, Vec<usize>>; 2],
    /// Numbers of the others.
    patterns: Vec<usize>,
}

impl<'a> Rules<'a> {
    fn new(all: Vec<Ready<'a>>) -> Self {
        let (mut literal, mut patterns) = ([HashMap::new(), HashMap::new()], Vec::new());
        for (number, rule) in all.iter().enumerate() {
            match rule.globs.each_ref().map(Glob::literal) {
                [Some(name), Some(unwrapped)] => {
                    for (rules, name) in literal.iter_mut().zip([name, unwrapped]) {
                        rules.entry(name.to_string()).or_insert_with(Vec::new).push(number);
                    }
                }
                _ => patterns.push(number),
            }
        }
        Self { all, literal, patterns }
    }

    /// Numbers of the rules that match a name, as it stands or without what wrappers add to it.
    fn matching(&self, name: &str) -> Vec<usize> {
        let unwrapped = channel::unwrapped(name);
        let literal = self.literal.iter().zip([name, &unwrapped]).filter_map(|(rules, name)| rules.get(name)).flatten();
        let is_match = |number: &&usize| {
            let [glob, short] = &self.all[**number].globs;
            glob.is_match(name) || short.is_match(&unwrapped)
        };
        let mut numbers: Vec<usize> = literal.chain(self.patterns.iter().filter(is_match)).copied().collect();
        numbers.sort_unstable();
        numbers.dedup();
        numbers
    }

    /// The one rule that types a tensor.
    fn only(&self, name: &str) -> Result<Option<&Ready<'a>>> {
        match self.matching(name)[..] {
            [first, second, ..] => {
                let got = format!("\"{}\" and \"{}\"", self.all[first].rule.name, self.all[second].rule.name);
                Err(Error::plan(format!("tensor {name}"), "exactly one matching rule", got))
            }
            [only] => Ok(Some(&self.all[only])),
            [] => Ok(None),
        }
    }
}

pub(super) fn resolve(
    plan: &SymmetryPlan,
    rules: &[Rule],
    Network { tensors, complex, convolutions }: &Network,
) -> Result<ResolvedPlan> {
    let rules = Rules::new(rules.iter().map(|rule| Ready::new(plan, rule)).collect::<Result<_>>()?);
    let all = tensors.iter().chain(complex);
    let mut is_idle = vec![true; rules.all.len()];
    all.clone().flat_map(|(name, _)| rules.matching(name)).for_each(|number| is_idle[number] = false);
    if let Some((idle, _)) = rules.all.iter().zip(is_idle).find(|(_, is_idle)| *is_idle) {
        let some: Vec<&str> = all.clone().take(4).map(|(name, _)| name.as_str()).collect();
        let got = format!("no match among {} tensors ({}, …)", all.count(), some.join(", "));
        return Err(idle.rule.error("name", "a pattern that matches a tensor", got));
    }
    let matched: Vec<Option<&Ready<'_>>> = tensors.iter().map(|(name, _)| rules.only(name)).collect::<Result<_>>()?;
    let mut weights = HashMap::new();
    for ((name, shape), rule) in tensors.iter().zip(&matched) {
        let (module, own) = channel::split(name);
        if let Some(rule) = rule.filter(|_| matches!(&*own, "weight" | "kernel") && shape.len() >= 2) {
            weights.entry(module).or_insert(rule);
        }
    }
    let mut builder = Builder::new(plan);
    let (mut layers, mut untyped, mut pairs) = (Vec::new(), Vec::new(), Vec::new());
    for ((name, shape), rule) in tensors.iter().zip(&matched) {
        let layer = match rule {
            // Complex numbers in a format that has none: real and imaginary part along a last axis.
            Some(rule) if matches!((&rule.codomain, &shape[..]), (Fields::Complex, [_, _, 2])) => {
                pairs.push((name, &shape[..2]));
                continue;
            }
            Some(rule) => Some(rule.layer(&mut builder, (name, shape), convolutions.get(name))),
            None => own_bias(&mut builder, name, shape, &weights),
        };
        match layer {
            Some(layer) => layers.push(layer.map_err(|error| error.of_tensor(name))?),
            None => untyped.push(unmatched(name)),
        }
    }
    let mut typed = Vec::new();
    for (name, shape) in complex.iter().map(|(name, shape)| (name, &shape[..])).chain(pairs) {
        match rules.only(name)? {
            Some(ready) => {
                let tensor = complex::typed(plan, ready.rule, (name, shape), &typed);
                typed.push(tensor.map_err(|error| error.of_tensor(name))?);
            }
            None => untyped.push(unmatched(name)),
        }
    }
    let changed_fields = changed_fields(tensors, &matched);
    Ok(ResolvedPlan { group: plan.group.clone(), layers, complex: typed, untyped, changed_fields })
}

/// Layers that take other fields than the layer before them in the file gives, with as many channels. Tensors without a rule part them.
fn changed_fields(tensors: &[(String, Vec<usize>)], matched: &[Option<&Ready<'_>>]) -> Vec<(String, String)> {
    let weights: Vec<(&str, Option<&Ready<'_>>)> = tensors
        .iter()
        .zip(matched)
        .filter(|((_, shape), _)| shape.len() >= 2)
        .map(|((name, _), rule)| (name.as_str(), *rule))
        .collect();
    let change = |pair: &[(&str, Option<&Ready<'_>>)]| -> Option<(String, String)> {
        let [(before, Some(first)), (name, Some(second))] = pair else { return None };
        let (Fields::Real(gives), Some(Fields::Real(takes))) = (&first.codomain, &second.domain) else { return None };
        (gives.dim() == takes.dim() && !rep::same(gives, takes)).then(|| {
            let (gives, takes) = (gives.label(), takes.label());
            let remark = format!(
                "takes {takes}, but {before} before it gives {gives}: not equivariant if the one feeds the other"
            );
            (name.to_string(), remark)
        })
    };
    weights.windows(2).filter_map(change).collect()
}

fn unmatched(name: &str) -> Untyped {
    Untyped { name: name.into(), reason: "no rule of the plan matches".into() }
}

/// The bias of a layer with a rule, where no rule matches the bias itself. `weights` are the rules of the weights by their modules.
fn own_bias(
    builder: &mut Builder<'_>,
    name: &str,
    shape: &[usize],
    weights: &HashMap<String, &Ready<'_>>,
) -> Option<Result<TypedTensor>> {
    let (module, own) = channel::split(name);
    let ready = weights.get(&module).filter(|_| own == "bias")?;
    let Fields::Real(codomain) = &ready.codomain else { return None };
    let with_bias = shape == [codomain.dim()] && ready.rule.bias != Some(false);
    with_bias.then(|| builder.channels(name, shape, codomain, Role::Bias))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rule_leaves_the_bias_alone_if_it_says_so() {
        let typed = |bias: &str| {
            let fields = "domain = \"1 regular\"\ncodomain = \"1 regular\"";
            let text = format!("group = \"C4\"\n[[layer]]\nname = \"conv.weight\"\n{fields}\n{bias}");
            let tensors = [("conv.weight", vec![4, 4, 3, 3]), ("conv.bias", vec![4])];
            let tensors = tensors.map(|(name, shape)| (name.to_string(), shape));
            SymmetryPlan::from_toml(&text).unwrap().resolve(&tensors).unwrap().layers.len()
        };
        assert_eq!([typed(""), typed("bias = true"), typed("bias = false")], [2, 2, 1]);
    }

    fn resolved(group: &str, layer: &str, shapes: &[(&str, &[usize])]) -> Result<Vec<TypedTensor>> {
        let tensors: Vec<_> = shapes.iter().map(|(name, shape)| (name.to_string(), shape.to_vec())).collect();
        let text = format!("group = \"{group}\"\n[[layer]]\n{layer}");
        Ok(SymmetryPlan::from_toml(&text)?.resolve(&tensors)?.layers)
    }

    #[test]
    fn a_transposed_convolution_is_the_adjoint_of_one_and_its_bias_is_of_its_output() {
        let layer =
            "name = \"up.weight\"\nkind = \"transposed\"\ndomain = \"2 regular\"\ncodomain = \"1 regular + 3 trivial\"";
        let layers = resolved("C4", layer, &[("module.up.weight", &[8, 7, 2, 2]), ("module.up.bias", &[7])]).unwrap();
        assert_eq!((layers.len(), layers[0].rank(), layers[1].rank()), (2, 8 * 7 * 4 / 4, 1 + 3));
        assert_eq!(
            [&layers[0].domain, &layers[0].codomain, &layers[1].codomain],
            ["2 regular", "1 regular + 3 trivial", "1 regular + 3 trivial"]
        );
    }

    #[test]
    fn groups_of_whole_fields_and_depthwise_kernels_have_fields() {
        let rank = |fields: &str, groups: usize, shape: &[usize]| {
            let layer = format!("name = \"w\"\ngroups = {groups}\ndomain = \"{fields}\"\ncodomain = \"{fields}\"");
            resolved("C4", &layer, &[("w", shape)]).map(|layers| layers[0].rank())
        };
        assert_eq!(rank("4 regular", 2, &[16, 8, 3, 3]).unwrap(), 16 * 8 * 9 / 4);
        assert_eq!(rank("4 regular", 16, &[16, 1, 3, 3]).unwrap(), 16 * 9 / 4);
        for (fields, groups, shape) in [
            ("4 regular", 8, [16, 2, 3, 3]),
            ("2 irrep(1)", 4, [4, 1, 3, 3]),
            ("4 trivial + 1 regular", 2, [8, 4, 3, 3]),
        ] {
            assert!(rank(fields, groups, &shape).unwrap_err().to_string().contains("groups"), "{fields}");
        }
    }
}
