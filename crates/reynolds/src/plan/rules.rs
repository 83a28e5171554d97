//! Tensors typed by rules over their names.

use super::build::Builder;
use super::glob::Glob;
use super::{ComplexTensor, Role, Rule, SymmetryPlan, TypedTensor, Untyped, channel, complex, parity};
use crate::error::{Error, Result};
use crate::irreps::Irreps;
use crate::rep::{Rep, parse_fields};

/// A rule made ready: its glob and its fields read.
struct Ready<'a> {
    rule: &'a Rule,
    glob: Glob,
    role: Option<Role>,
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
        let here = |what: &str| format!("layer \"{}\", {what}", rule.name);
        let glob = Glob::new(&rule.name).map_err(|found| Error::plan(here("name"), "a glob", found))?;
        let role = match rule.kind.as_deref() {
            None => None,
            Some("weight") => Some(Role::Weight),
            Some("bias") => Some(Role::Bias),
            Some("scale") => Some(Role::Scale),
            Some(other) => return Err(Error::plan(here("kind"), "weight, bias or scale", other)),
        };
        if rule.stride == Some(0) {
            return Err(Error::plan(here("stride"), "at least 1", 0));
        }
        let read = |text: &str| {
            let read = match text.parse::<Irreps>() {
                Ok(irreps) if irreps.is_complex() => irreps.complex_rep(&plan.group).map(|_| Fields::Complex),
                _ => parse_fields(&plan.group, text).map(Fields::Real),
            };
            read.map_err(|error| Error::plan(here("fields"), "fields", error))
        };
        let domain = rule.domain.as_deref().map(read).transpose()?;
        Ok(Self { rule, glob, role, domain, codomain: read(&rule.codomain)? })
    }

    fn real<'f>(&self, fields: &'f Fields) -> Result<&'f Rep> {
        let here = || format!("layer \"{}\", fields", self.rule.name);
        match fields {
            Fields::Real(fields) => Ok(fields),
            Fields::Complex => Err(Error::plan(here(), "fields of real numbers", "orders of either sign")),
        }
    }

    fn layer(&self, builder: &mut Builder<'_>, name: &str, shape: &[usize]) -> Result<TypedTensor> {
        let by_name = if shape.len() == 1 { channel::role(name).unwrap_or(Role::Bias) } else { Role::Weight };
        match self.role.unwrap_or(by_name) {
            Role::Weight => {
                let domain = self.domain.as_ref().ok_or_else(|| {
                    Error::plan(format!("layer \"{}\"", self.rule.name), "a domain for a weight", "none")
                })?;
                let mut layer = builder.weight(name, shape, (self.real(domain)?, self.real(&self.codomain)?), true)?;
                if shape.len() > 2 {
                    layer.warnings = parity::warnings(self.rule, shape[2]);
                }
                Ok(layer)
            }
            role => builder.channels(name, shape, self.real(&self.codomain)?, role),
        }
    }
}

/// The one rule that types a tensor.
fn only<'a, 'r>(rules: &'a [Ready<'r>], name: &str) -> Result<Option<&'a Ready<'r>>> {
    let mut hits = rules.iter().filter(|rule| rule.glob.is_match(name));
    match (hits.next(), hits.next()) {
        (Some(first), Some(second)) => {
            let got = format!("\"{}\" and \"{}\"", first.rule.name, second.rule.name);
            Err(Error::plan(format!("tensor {name}"), "one rule", got))
        }
        (hit, _) => Ok(hit),
    }
}

pub(super) fn resolve(
    plan: &SymmetryPlan,
    rules: &[Rule],
    tensors: &[(String, Vec<usize>)],
    complex: &[(String, Vec<usize>)],
) -> Result<(Vec<TypedTensor>, Vec<ComplexTensor>, Vec<Untyped>)> {
    let rules: Vec<Ready<'_>> = rules.iter().map(|rule| Ready::new(plan, rule)).collect::<Result<_>>()?;
    let all = tensors.iter().chain(complex);
    if let Some(idle) = rules.iter().find(|rule| !all.clone().any(|(name, _)| rule.glob.is_match(name))) {
        let some: Vec<&str> = all.clone().take(4).map(|(name, _)| name.as_str()).collect();
        let got = format!("no match among {} tensors ({}, …)", all.count(), some.join(", "));
        return Err(Error::plan(format!("layer \"{}\"", idle.rule.name), "a tensor of that name", got));
    }
    let matched: Vec<Option<&Ready<'_>>> = tensors.iter().map(|(name, _)| only(&rules, name)).collect::<Result<_>>()?;
    let mut builder = Builder::new(plan);
    let (mut layers, mut untyped) = (Vec::new(), Vec::new());
    for ((name, shape), rule) in tensors.iter().zip(&matched) {
        let layer = match rule {
            Some(rule) => Some(rule.layer(&mut builder, name, shape)),
            None => own_bias(&mut builder, name, shape, tensors, &matched),
        };
        match layer {
            Some(layer) => layers.push(layer.map_err(|error| error.of_tensor(name))?),
            None => untyped.push(unmatched(name)),
        }
    }
    let mut typed = Vec::new();
    for (name, shape) in complex {
        match only(&rules, name)? {
            Some(ready) => {
                let tensor = complex::typed(plan, ready.rule, (name, shape), &typed);
                typed.push(tensor.map_err(|error| error.of_tensor(name))?);
            }
            None => untyped.push(unmatched(name)),
        }
    }
    Ok((layers, typed, untyped))
}

fn unmatched(name: &str) -> Untyped {
    Untyped { name: name.into(), reason: "no rule of the plan matches".into() }
}

/// The bias of a layer that a rule types, though no rule names the bias itself.
fn own_bias(
    builder: &mut Builder<'_>,
    name: &str,
    shape: &[usize],
    tensors: &[(String, Vec<usize>)],
    matched: &[Option<&Ready<'_>>],
) -> Option<Result<TypedTensor>> {
    let (module, own) = channel::split(name);
    let weight = tensors.iter().zip(matched).find(|((other, shape), rule)| {
        rule.is_some() && shape.len() >= 2 && channel::split(other) == (module, "weight")
    });
    let ready = weight?.1.as_ref()?;
    let Fields::Real(codomain) = &ready.codomain else { return None };
    let with_bias = own == "bias" && shape == [codomain.dim()] && ready.rule.bias != Some(false);
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
}
