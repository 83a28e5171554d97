//! The same fields for all channels: scalars or regular fields.

use std::fmt;
use std::str::FromStr;

use super::build::Builder;
use super::convolution::{self, Convolution};
use super::{Network, Rule, SymmetryPlan, TypedTensor, Untyped, channel};
use crate::error::{Error, Result};
use crate::rep::{self, Rep};

/// The fields that all channels of a network are taken for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum UniformFields {
    /// Scalars: the group acts on the grids of the kernels only.
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

/// Longest kernel with one axis: longer ones are embeddings and tokens, `[1, positions, channels]`.
const LONGEST_ROW: usize = 64;

/// Whether a tensor of this shape is taken for convolution kernels `[out, in, k…]` with one to three axes.
pub fn is_convolution(shape: &[usize]) -> bool {
    match shape.len() {
        3 => shape[2] <= LONGEST_ROW,
        rank => matches!(rank, 4 | 5),
    }
}

/// A tensor with fields, or why it has none.
type Verdict = std::result::Result<TypedTensor, String>;

/// Gives fields to every kernel that they fit and, with regular fields, to the biases and norms that belong to one.
pub(super) fn resolve(
    plan: &SymmetryPlan,
    fields: UniformFields,
    Network { tensors, convolutions, .. }: &Network,
) -> Result<(Vec<TypedTensor>, Vec<Untyped>)> {
    let kind = match fields {
        UniformFields::Trivial => rep::trivial(&plan.group),
        UniformFields::Regular => rep::regular(&plan.group)?,
    };
    let of = |channels: usize| rep::sum(&plan.group, &[(channels / kind.dim(), kind.clone())]);
    let mut builder = Builder::new(plan);
    let mut verdicts: Vec<Verdict> = Vec::new();
    for (name, shape) in tensors {
        verdicts.push(match (shape.len(), fields) {
            _ if channel::is_optimizer_state(name) => {
                Err("state of an optimiser, not weights: measured only where a plan names it".into())
            }
            _ if is_convolution(shape) => kernel(&mut builder, (name, shape, convolutions.get(name)), &kind, &of)?,
            (1, UniformFields::Trivial) => Err(Untyped::HARMLESS.into()),
            (1, UniformFields::Regular) if channel::role(name).is_none() => {
                Err("one number per channel, but by its name neither a bias nor a norm parameter".into())
            }
            (1, UniformFields::Regular) => Err("one number per channel of a layer that is not measured".into()),
            (rank, _) => Err(format!("{rank} dimensions: its fields have to be given in a plan")),
        });
    }
    if fields == UniformFields::Regular {
        let weights = tensors.iter().zip(&verdicts).filter(|((name, _), _)| !channel::is_optimizer_state(name));
        let layers = channel::Layers::new(weights.map(|(tensor, verdict)| (tensor, verdict.is_ok())));
        for ((name, shape), verdict) in tensors.iter().zip(&mut verdicts) {
            let role = channel::role(name).filter(|_| shape.len() == 1 && !channel::is_optimizer_state(name));
            if let Some(role) = role
                && layers.owner(name, shape[0]).is_some()
            {
                let layer = builder.channels(name, shape, &of(shape[0])?, role);
                *verdict = Ok(layer.map_err(|error| error.of_tensor(name))?);
            }
        }
    }
    let (mut layers, mut untyped) = (Vec::new(), Vec::new());
    for ((name, _), verdict) in tensors.iter().zip(verdicts) {
        match verdict {
            Ok(layer) => layers.push(layer),
            Err(reason) => untyped.push(Untyped { name: name.clone(), reason }),
        }
    }
    Ok((layers, untyped))
}

fn kernel(
    builder: &mut Builder<'_>,
    (name, shape, file): (&str, &[usize], Option<&Convolution>),
    kind: &Rep,
    of: &impl Fn(usize) -> Result<Rep>,
) -> Result<Verdict> {
    // One input channel: a scalar, or each kernel of a depthwise convolution for itself, which the group permutes like its channel.
    let single = shape[1] == 1;
    for (side, channels) in [("input", shape[1]), ("output", shape[0])] {
        if channels == 0 || (channels % kind.dim() != 0 && !(single && side == "input")) {
            return Ok(Err(format!("{channels} {side} channels do not split into fields of {}", kind.dim())));
        }
    }
    let into = if single { rep::trivial(kind.group()) } else { of(shape[1])? };
    match builder.weight(name, shape, (&into, &of(shape[0])?)) {
        Ok(layer) => {
            let (sampling, warnings) = convolution::sampling(&Rule::default(), file, kind.group(), &shape[2..]);
            Ok(Ok(TypedTensor { warnings, sampling: Some(sampling), ..layer }))
        }
        Err(error @ (Error::NoAction { .. } | Error::Shape { .. } | Error::OutOfRange { .. })) => {
            Ok(Err(error.to_string()))
        }
        Err(error) => Err(error.of_tensor(name)),
    }
}
