//! Tensors typed by rules over their names.

use super::build::Builder;
use super::glob::Glob;
use super::{ComplexTensor, Role, Rule, SymmetryPlan, TypedTensor, Untyped, channel, complex};
use crate::error::{Error, Result};
use crate::irreps::Irreps;
use crate::rep::{Rep, parse_fields};

/// A rule with its glob and its fields parsed.
struct Ready<'a> {
    rule: &'a Rule,
    glob: Glob,
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
        let glob = Glob::new(&rule.name).map_err(|found| rule.error("name", "a glob", found))?;
        if rule.stride == Some(0) {
            return Err(rule.error("stride", "at least 1", 0));
        }
        let read = |text: &str| {
            let read = match text.parse::<Irreps>() {
                Ok(irreps) if irreps.is_complex() => irreps.complex_rep(&plan.group).map(|_| Fields::Complex),
                _ => parse_fields(&plan.group, text).map(Fields::Real),
            };
            read.map_err(|error| rule.error("fields", "fields", error))
        };
        let domain = rule.domain.as_deref().map(read).transpose()?;
        Ok(Self { rule, glob, domain, codomain: read(&rule.codomain)? })
    }

    fn real<'f>(&self, fields: &'f Fields) -> Result<&'f Rep> {
        match fields {
            Fields::Real(fields) => Ok(fields),
            Fields::Complex => Err(self.rule.error("fields", "fields of real numbers", "orders of either sign")),
        }
    }

    fn layer(&self, builder: &mut Builder<'_>, name: &str, shape: &[usize]) -> Result<TypedTensor> {
        let by_name = if shape.len() == 1 { channel::role(name).unwrap_or(Role::Bias) } else { Role::Weight };
        match self.rule.kind.unwrap_or(by_name) {
            Role::Weight => {
                let missing = || self.rule.error("domain", "a domain for a weight", "none");
                let domain = self.domain.as_ref().ok_or_else(missing)?;
                let mut layer = builder.weight(name, shape, (self.real(domain)?, self.real(&self.codomain)?))?;
                if shape.len() > 2 {
                    layer.warnings = sampling_warnings(self.rule, &shape[2..]);
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
            Err(Error::plan(format!("tensor {name}"), "exactly one matching rule", got))
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
        return Err(idle.rule.error("name", "a pattern that matches a tensor", got));
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

/// The bias of a layer with a rule, where no rule matches the bias itself.
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

/// Where the sampling of a convolution with a kernel of these sides breaks the symmetry. A strided convolution samples positions that are
/// symmetric about the centre of its input only if (H + 2·padding − k) is divisible by the stride.
pub(super) fn sampling_warnings(rule: &Rule, sides: &[usize]) -> Vec<String> {
    let mut warnings = Vec::new();
    let (stride, padding) = (rule.stride.unwrap_or(1), rule.padding.unwrap_or(0));
    let mut sides = sides.to_vec();
    sides.dedup();
    for side in sides {
        if let (Some(input), true) = (rule.input, stride > 1) {
            let span = (input + 2 * padding).checked_sub(side);
            match span {
                None => warnings.push(format!("kernel of side {side} is larger than its input {input} + 2·{padding}")),
                Some(span) if !span.is_multiple_of(stride) => warnings.push(format!(
                    "stride {stride}: ({input} + 2·{padding} − {side}) = {span} is not divisible by it, so the samples are off centre"
                )),
                Some(_) => {}
            }
        }
        if side.is_multiple_of(2) {
            warnings.push(format!("even kernel of side {side}: exact only with equal padding on all sides"));
        }
    }
    warnings
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

    #[test]
    fn a_strided_layer_is_exact_only_on_inputs_of_the_right_parity() {
        let rule = |input| Rule { stride: Some(2), padding: Some(1), input: Some(input), ..Rule::default() };
        assert!(sampling_warnings(&rule(33), &[3, 3]).is_empty());
        assert!(sampling_warnings(&rule(32), &[3])[0].contains("31 is not divisible"));
        assert!(sampling_warnings(&rule(0), &[3])[0].contains("larger"));
        assert!(sampling_warnings(&Rule::default(), &[2])[0].contains("even"));
    }
}
