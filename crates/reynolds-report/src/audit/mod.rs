//! What an audit of a checkpoint found, and what a projection changed: as text for a terminal, as a page and as JSON.
//!
//! ```
//! use reynolds::audit::{self, Total};
//! use reynolds::group;
//! use reynolds::plan::{SymmetryPlan, UniformFields};
//! use reynolds_report::audit::{AuditReport, Typed};
//! let plan = SymmetryPlan::uniform(&group::parse("C4")?, UniformFields::Trivial)?;
//! let resolved = plan.resolve(&[("conv.weight".to_string(), vec![2, 2, 3, 3])])?;
//! let layers = vec![audit::layer(&resolved.layers[0], &[1.0_f32; 36][..])?];
//! let total = Total::of(&layers);
//! let typed = Typed { group: "C4".into(), fields: "trivial".into(), layers, untyped: resolved.untyped, total };
//! let report = AuditReport { file: "model.npz".into(), typed: vec![typed], rankings: vec![], sampling: None, pictures: vec![] };
//! assert!(report.text(false).contains("model.npz under C4, trivial fields"));
//! assert!(report.page().html().contains("class=\"bar\""));
//! # Ok::<(), reynolds::Error>(())
//! ```

mod course;
mod json;
mod page;
mod pictures;
mod projection;
mod tables;
mod text;

pub use course::Course;
pub use json::SCHEMA;
pub use pictures::KernelPicture;
pub use projection::{ProjectedTensor, ProjectionReport};

use reynolds::audit::{LayerAudit, Total, ranking::Ranking};
use reynolds::plan::{Role, Sampling, TypedTensor, UniformFields, Untyped};

/// All that an audit of one file says.
#[derive(Debug, Clone)]
pub struct AuditReport {
    /// The file.
    pub file: String,
    /// The model through each typing of its channels.
    pub typed: Vec<Typed>,
    /// Groups compared, for each kind of tensors.
    pub rankings: Vec<Ranking>,
    /// What is known of strides and paddings under the group that was found, where no typing is given.
    pub sampling: Option<String>,
    /// Kernels to be drawn on the page.
    pub pictures: Vec<KernelPicture>,
}

impl AuditReport {
    /// What the audit comes to, a sentence each: the symmetry of the weights, how much of it each typing has, and whether the network commutes
    /// at its strides.
    pub fn verdict(&self) -> Vec<String> {
        let ranked = self.rankings.iter().map(|ranking| format!("{}: {}", ranking.what, ranking.verdict()));
        let typed = self.typed.iter().map(Typed::verdict);
        ranked.chain(typed).chain(self.strides()).collect()
    }

    fn strides(&self) -> Option<String> {
        self.typed.iter().find_map(Typed::sampling).or_else(|| self.sampling.clone())
    }
}

/// One model through one typing.
#[derive(Debug, Clone)]
pub struct Typed {
    /// The group.
    pub group: String,
    /// What the channels were taken for.
    pub fields: String,
    /// What was measured.
    pub layers: Vec<LayerAudit>,
    /// Tensors that were not measured, with the reasons.
    pub untyped: Vec<Untyped>,
    /// All weights together.
    pub total: Total,
}

impl Typed {
    /// The excess from which on a model is called nearly equivariant.
    const NEARLY: f64 = 0.9;

    /// Whether all weights together are equivariant, up to rounding of single precision; `None` where nothing was measured.
    fn is_equivariant(&self) -> Option<bool> {
        self.total.energy().map(|energy| 1.0 - energy < 1e-6)
    }

    fn verdict(&self) -> String {
        let Some((energy, excess)) = self.total.energy().zip(self.total.excess()) else {
            return format!("{}, {}: nothing that the group moves was measured.", self.group, typing(&self.fields));
        };
        let word = match excess {
            _ if self.is_equivariant() == Some(true) => "equivariant",
            excess if excess >= Self::NEARLY => "nearly equivariant",
            excess if excess > 0.1 => "partly equivariant",
            excess if excess > -0.1 => "no more equivariant than chance",
            _ => "less equivariant than chance",
        };
        let (group, typing, chance) = (&self.group, typing(&self.fields), self.total.chance);
        format!("{group}, {typing}: {word} (energy {energy:.4}, by chance {chance:.4}).")
    }

    /// What the strides and paddings of all convolutions do together.
    fn network_sampling(&self) -> Option<Sampling> {
        sampled(self.layers.iter().map(|layer| &layer.tensor)).map(|(_, sampling)| sampling).reduce(|a, b| {
            match (a, b) {
                (Sampling::Breaks, _) | (_, Sampling::Breaks) => Sampling::Breaks,
                (Sampling::Unknown, _) | (_, Sampling::Unknown) => Sampling::Unknown,
                _ => Sampling::Commutes,
            }
        })
    }

    /// What is known of strides and paddings, in one line.
    fn sampling(&self) -> Option<String> {
        let line = sampling(self.layers.iter().map(|layer| &layer.tensor))?;
        Some(line[..1].to_uppercase() + &line[1..] + ".")
    }
}

/// What the worst defect is.
const DEFECT_NOTE: &str = "worst = the largest change of a kernel under an element of the group (Frobenius norm; for band-limited kernels: under \
                           the rotations that map the grid to itself; a..b: it lies between); it says nothing about outputs";

/// What z and p are.
const RANKING: &str = "z = how many standard deviations the energy is above that of random signs, every place of a kernel brought to one variance \
                       first; p = its probability by chance, corrected for the number of groups (and layers) tried, of notice below 0.002, and 0 (< 1e-99) for weights that are exactly symmetric. A group is found step by step, each from a smaller one that was \
                       found before: z and p of a layer are those of its least certain step. A larger z in the row of another group is no \
                       evidence for it: groups share part of what they average";

/// What else to try where no group was found for kernels whose channels were taken for scalars.
fn fields_to_try(ranking: &Ranking) -> Option<&'static str> {
    let only_scalars = ranking.found.group.is_none() && ranking.fields == Some(UniformFields::Trivial);
    only_scalars.then_some(
        "Only trivial fields were tried (each channel a scalar). A network of group convolutions has others: try --rank --fields regular, \
         or --group G with a plan.",
    )
}

/// "2 layers: 5040 weights".
fn all_layers(total: &Total) -> String {
    let layers = if total.layers == 1 { "layer" } else { "layers" };
    format!("{} {layers}: {} weights", total.layers, total.weights)
}

/// Whether it is a bias or norm parameter that breaks nothing: on a terminal only counted, not listed.
fn is_constant(layer: &LayerAudit) -> bool {
    let within_rounding = layer.not_finite.is_none() && layer.distance() <= 1e-6 * layer.norm();
    layer.tensor.role != Role::Weight && within_rounding
}

/// "regular fields", or the plan.
fn typing(fields: &str) -> String {
    if fields.starts_with("plan") { fields.into() } else { format!("{fields} fields") }
}

/// Four decimals, or scientific where those would hide it.
fn number(value: f64) -> String {
    let plain = value == 0.0 || (1e-3..1e5).contains(&value.abs());
    if plain { format!("{value:.4}") } else { format!("{value:.3e}") }
}

/// A share, or a dash where nothing was measured.
fn share(value: Option<f64>) -> String {
    value.map_or_else(|| "–".into(), |value| format!("{value:.4}"))
}

fn shape(shape: &[usize]) -> String {
    shape.iter().map(ToString::to_string).collect::<Vec<_>>().join("x")
}

/// Convolutions whose strides and paddings matter: those on whose kernels the group acts, and those of which it is known that they break.
fn sampled<'a>(layers: impl Iterator<Item = &'a TypedTensor>) -> impl Iterator<Item = (&'a TypedTensor, Sampling)> {
    let matters =
        |(layer, sampling): &(&TypedTensor, Sampling)| !layer.acts_trivially() || *sampling == Sampling::Breaks;
    layers.filter_map(|layer| Some((layer, layer.sampling?))).filter(matters)
}

/// What is known of strides and paddings: where the network does not commute with the group whatever the weights are. `None` without
/// convolutions on whose kernels the group acts.
pub fn sampling<'a>(layers: impl Iterator<Item = &'a TypedTensor>) -> Option<String> {
    let mut names: [Vec<&str>; 3] = Default::default();
    for (layer, sampling) in sampled(layers) {
        let kind = match sampling {
            Sampling::Commutes => 0,
            Sampling::Breaks => 1,
            Sampling::Unknown => 2,
        };
        names[kind].push(&layer.name);
    }
    let all: usize = names.iter().map(Vec::len).sum();
    let first = |names: &[&str]| {
        names.iter().take(3).copied().collect::<Vec<_>>().join(", ") + if names.len() > 3 { ", …" } else { "" }
    };
    let breaks = if names[1].is_empty() {
        String::new()
    } else {
        format!("; they break it at {} ({})", names[1].len(), first(&names[1]))
    };
    match (all, names[2].len()) {
        (0, _) => None,
        (_, 0) => {
            Some(format!("strides and paddings keep the symmetry at {} of {all} convolutions{breaks}", names[0].len()))
        }
        (_, unknown) => Some(format!(
            "strides and paddings can break the symmetry, too, whatever the weights are: not known at {unknown} of {all} convolutions, since they \
             are not in the file (a plan gives them: stride, padding, input){breaks}"
        )),
    }
}

/// One line for each reason, with the number of tensors and the first names.
pub fn by_reason(untyped: &[Untyped]) -> Vec<String> {
    let mut reasons: Vec<(&str, Vec<&str>)> = Vec::new();
    for tensor in untyped {
        match reasons.iter_mut().find(|(reason, _)| *reason == tensor.reason) {
            Some((_, names)) => names.push(&tensor.name),
            None => reasons.push((&tensor.reason, vec![&tensor.name])),
        }
    }
    let line = |(reason, names): (&str, Vec<&str>)| {
        let more = if names.len() > 3 { format!(", … {} in all", names.len()) } else { String::new() };
        format!("{}{more}: {reason}", names.iter().take(3).copied().collect::<Vec<_>>().join(", "))
    };
    reasons.into_iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reasons_are_said_once_with_the_first_names() {
        let of = |name: &str, reason: &str| Untyped { name: name.into(), reason: reason.into() };
        let untyped = [of("a", "x"), of("b", "y"), of("c", "x"), of("d", "x"), of("e", "x")];
        assert_eq!(by_reason(&untyped), ["a, c, d, … 4 in all: x", "b: y"]);
    }

    #[test]
    fn a_stride_off_centre_breaks_where_the_group_fixes_all_kernels_too() {
        let rule = "name = \"w\"\ndomain = \"2 trivial\"\ncodomain = \"2 trivial\"\nstride = 2\npadding = 0";
        for (input, expected) in [(8, Some("they break it at 1 (w)")), (9, None)] {
            let text = format!("group = \"C4\"\n[[layer]]\n{rule}\ninput = {input}");
            let plan = reynolds::plan::SymmetryPlan::from_toml(&text).unwrap();
            let resolved = plan.resolve(&[("w".to_string(), vec![2, 2, 1, 1])]).unwrap();
            let line = sampling(resolved.layers.iter());
            assert_eq!(line.is_some(), expected.is_some(), "{line:?}");
            assert!(line.unwrap_or_default().contains(expected.unwrap_or_default()));
        }
    }

    #[test]
    fn tiny_and_huge_numbers_are_scientific() {
        assert_eq!([0.0, 0.25, 1e-9, -2e6].map(number), ["0.0000", "0.2500", "1.000e-9", "-2.000e6"]);
    }
}
