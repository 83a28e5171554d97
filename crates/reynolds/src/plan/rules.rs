//! Tensors typed by rules over their names.

use super::build::Builder;
use super::glob::Glob;
use super::{Role, Rule, SymmetryPlan, TypedTensor, Untyped, channel, parity};
use crate::error::{Error, Result};
use crate::rep::{Rep, parse_fields};

/// A rule made ready: its glob and its fields read.
struct Ready<'a> {
    rule: &'a Rule,
    glob: Glob,
    role: Option<Role>,
    domain: Option<Rep>,
    codomain: Rep,
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
        let read = |text: &str| parse_fields(&plan.group, text).map_err(|e| Error::plan(here("fields"), "fields", e));
        let domain = rule.domain.as_deref().map(read).transpose()?;
        Ok(Self { rule, glob, role, domain, codomain: read(&rule.codomain)? })
    }

    fn layer(&self, builder: &mut Builder<'_>, name: &str, shape: &[usize]) -> Result<TypedTensor> {
        let by_name = if shape.len() == 1 { channel::role(name).unwrap_or(Role::Bias) } else { Role::Weight };
        match self.role.unwrap_or(by_name) {
            Role::Weight => {
                let domain = self.domain.as_ref().ok_or_else(|| {
                    Error::plan(format!("layer \"{}\"", self.rule.name), "a domain for a weight", "none")
                })?;
                let mut layer = builder.weight(name, shape, (domain, &self.codomain), true)?;
                if shape.len() > 2 {
                    layer.warnings = parity::warnings(self.rule, shape[2]);
                }
                Ok(layer)
            }
            role => builder.channels(name, shape, &self.codomain, role),
        }
    }
}

pub(super) fn resolve(
    plan: &SymmetryPlan,
    rules: &[Rule],
    tensors: &[(String, Vec<usize>)],
) -> Result<(Vec<TypedTensor>, Vec<Untyped>)> {
    let rules: Vec<Ready<'_>> = rules.iter().map(|rule| Ready::new(plan, rule)).collect::<Result<_>>()?;
    if let Some(idle) = rules.iter().find(|rule| !tensors.iter().any(|(name, _)| rule.glob.is_match(name))) {
        let some: Vec<&str> = tensors.iter().take(4).map(|(name, _)| name.as_str()).collect();
        let got = format!("no match among {} tensors ({}, …)", tensors.len(), some.join(", "));
        return Err(Error::plan(format!("layer \"{}\"", idle.rule.name), "a tensor of that name", got));
    }
    let mut matched: Vec<Option<&Ready<'_>>> = Vec::new();
    for (name, _) in tensors {
        let mut hits = rules.iter().filter(|rule| rule.glob.is_match(name));
        let first = hits.next();
        if let (Some(first), Some(second)) = (first, hits.next()) {
            let got = format!("\"{}\" and \"{}\"", first.rule.name, second.rule.name);
            return Err(Error::plan(format!("tensor {name}"), "one rule", got));
        }
        matched.push(first);
    }
    let mut builder = Builder::new(plan);
    let (mut layers, mut untyped) = (Vec::new(), Vec::new());
    for ((name, shape), rule) in tensors.iter().zip(&matched) {
        let layer = match rule {
            Some(rule) => Some(rule.layer(&mut builder, name, shape)),
            None => own_bias(&mut builder, name, shape, tensors, &matched),
        };
        match layer {
            Some(layer) => layers.push(layer.map_err(|error| error.of_tensor(name))?),
            None => untyped.push(Untyped { name: name.clone(), reason: "no rule of the plan matches".into() }),
        }
    }
    Ok((layers, untyped))
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
    let codomain = &weight?.1.as_ref()?.codomain;
    (own == "bias" && shape == [codomain.dim()]).then(|| builder.channels(name, shape, codomain, Role::Bias))
}
