//! All channels typed alike: as scalars, or as regular fields.

use std::fmt;
use std::str::FromStr;

use super::build::Builder;
use super::{SymmetryPlan, TypedTensor, Untyped, channel};
use crate::error::{Error, Result};
use crate::rep::{self, Rep};

/// What every channel of a network is taken for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum UniformFields {
    /// Scalars: only the grids of the kernels are turned.
    Trivial,
    /// Regular fields, orientation fastest: channel = |G|·p + α.
    Regular,
}

impl fmt::Display for UniformFields {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Trivial => "trivial",
            Self::Regular => "regular",
        })
    }
}

impl FromStr for UniformFields {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        match text {
            "trivial" => Ok(Self::Trivial),
            "regular" => Ok(Self::Regular),
            _ => Err(Error::Parse { what: "fields", text: text.into(), expected: "regular or trivial".into() }),
        }
    }
}

/// Types every kernel that the fields fit, and with regular fields the tensors of one number per channel that stand beside one.
pub(super) fn resolve(
    plan: &SymmetryPlan,
    fields: UniformFields,
    tensors: &[(String, Vec<usize>)],
) -> Result<(Vec<TypedTensor>, Vec<Untyped>)> {
    let kind = match fields {
        UniformFields::Trivial => rep::trivial(&plan.group),
        UniformFields::Regular => rep::regular(&plan.group)?,
    };
    let of = |channels: usize| rep::sum(&plan.group, &[(channels / kind.dim(), kind.clone())]);
    let mut builder = Builder::new(plan);
    let mut typed: Vec<Option<std::result::Result<TypedTensor, String>>> = Vec::new();
    for (name, shape) in tensors {
        typed.push(match shape.len() {
            _ if channel::is_optimizer_state(name) => {
                Some(Err("state of an optimizer, not weights: typed only by a plan".into()))
            }
            4 | 5 => Some(kernel(&mut builder, name, shape, &kind, &of)?),
            1 => None,
            rank => Some(Err(format!("rank {rank}: typed only by a plan"))),
        });
    }
    for (index, (name, shape)) in tensors.iter().enumerate() {
        if typed[index].is_none() {
            let verdict = beside(&mut builder, name, shape, fields, tensors, &typed, &of)?;
            typed[index] = Some(verdict);
        }
    }
    let (mut layers, mut untyped) = (Vec::new(), Vec::new());
    for ((name, _), verdict) in tensors.iter().zip(typed) {
        match verdict.expect("every tensor has been looked at") {
            Ok(layer) => layers.push(layer),
            Err(reason) => untyped.push(Untyped { name: name.clone(), reason }),
        }
    }
    Ok((layers, untyped))
}

fn kernel(
    builder: &mut Builder<'_>,
    name: &str,
    shape: &[usize],
    kind: &Rep,
    of: &impl Fn(usize) -> Result<Rep>,
) -> Result<std::result::Result<TypedTensor, String>> {
    for (side, channels) in [("input", shape[1]), ("output", shape[0])] {
        if channels == 0 || channels % kind.dim() != 0 {
            return Ok(Err(format!("{channels} {side} channels do not split into fields of {}", kind.dim())));
        }
    }
    match builder.weight(name, shape, (&of(shape[1])?, &of(shape[0])?), false) {
        Ok(mut layer) => {
            if shape[2].is_multiple_of(2) {
                layer.warnings = super::parity::warnings(&super::Rule::default(), shape[2]);
            }
            Ok(Ok(layer))
        }
        Err(error @ (Error::NoAction { .. } | Error::Shape { .. } | Error::OutOfRange { .. })) => {
            Ok(Err(error.to_string()))
        }
        Err(error) => Err(error.of_tensor(name)),
    }
}

/// A tensor of rank 1: in the fields of the layer it stands beside.
fn beside(
    builder: &mut Builder<'_>,
    name: &str,
    shape: &[usize],
    fields: UniformFields,
    tensors: &[(String, Vec<usize>)],
    typed: &[Option<std::result::Result<TypedTensor, String>>],
    of: &impl Fn(usize) -> Result<Rep>,
) -> Result<std::result::Result<TypedTensor, String>> {
    if fields == UniformFields::Trivial {
        return Ok(Err("rank 1: one number per scalar channel, which the group fixes".into()));
    }
    let Some(role) = channel::role(name) else {
        return Ok(Err("rank 1: not known to be a bias or a norm parameter".into()));
    };
    let is_layer = |index: usize| matches!(&typed[index], Some(Ok(layer)) if layer.role == super::Role::Weight);
    let (mut layers, mut others) = (Vec::new(), Vec::new());
    let may_own = |(name, shape): &(String, Vec<usize>)| shape.len() >= 2 && !channel::is_optimizer_state(name);
    for (index, (other, shape)) in tensors.iter().enumerate().filter(|(_, tensor)| may_own(tensor)) {
        let list = if is_layer(index) { &mut layers } else { &mut others };
        list.push((other.as_str(), shape[0], shape[1]));
    }
    match channel::owner(name, shape[0], &layers, &others) {
        Some(_) => Ok(Ok(builder.channels(name, shape, &of(shape[0])?, role).map_err(|e| e.of_tensor(name))?)),
        None => Ok(Err("rank 1: beside no layer that is typed".into())),
    }
}
