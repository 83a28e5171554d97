//! Symmetry plans: a group, and the fields of the channels of each tensor.
//!
//! ```text
//! tensor name  →  (domain V, codomain V′, projector P onto Hom_G(V, V′) ⊗ L²(grid))
//! ```
//!
//! Fields are an assumption, so they are always explicit: rules over tensor names ([`SymmetryPlan::from_toml`]), or the same fields for all
//! channels ([`SymmetryPlan::uniform`]). [`SymmetryPlan::resolve`] gives one [`TypedTensor`] for each tensor with fields and, for every other
//! tensor, the reason why it has none.
//!
//! ```
//! use reynolds::plan::SymmetryPlan;
//! let plan = SymmetryPlan::from_toml(r#"
//!     group = "C4"
//!     [[layer]]
//!     name = "body.*.weight"
//!     domain = "2 regular"
//!     codomain = "2 regular"
//! "#)?;
//! let tensors = [("body.0.weight", vec![8, 8, 3, 3]), ("body.0.bias", vec![8]), ("head.weight", vec![10, 8])];
//! let tensors = tensors.map(|(name, shape)| (name.to_string(), shape));
//! let resolved = plan.resolve(&tensors)?;
//! assert_eq!(resolved.layers.len(), 2); // the bias has the codomain of its layer
//! assert_eq!(resolved.untyped[0].name, "head.weight");
//! # Ok::<(), reynolds::Error>(())
//! ```

mod build;
mod channel;
mod complex;
mod convolution;
mod glob;
mod rules;
mod suggest;
mod toml_text;
mod typed_tensor;
mod uniform;

pub(crate) use channel::is_optimizer_state;
pub use complex::ComplexTensor;
pub use convolution::{Axis, Convolution};
pub use suggest::suggest;
pub use toml_text::{Rule, RuleKind};
pub use typed_tensor::{ExactAction, Role, Sampling, TypedTensor};
pub use uniform::{UniformFields, is_convolution};

use std::collections::HashMap;

use crate::error::{Error, Result};
use crate::group::{self, GroupRef, Homomorphism};

/// A group and the fields of a network's tensors.
#[derive(Debug, Clone)]
pub struct SymmetryPlan {
    group: GroupRef,
    /// The inclusion of the subgroup that is projected onto, unless that is the whole group.
    restriction: Option<Homomorphism>,
    typing: Typing,
}

#[derive(Debug, Clone)]
enum Typing {
    Uniform(UniformFields),
    Rules(Vec<Rule>),
}

/// What is known of a network besides the values of its tensors.
#[derive(Debug, Clone, Default)]
pub struct Network {
    /// Names and shapes `[out, in, k…]`, `[out, in]` or `[channels]` of its real tensors.
    pub tensors: Vec<(String, Vec<usize>)>,
    /// Those of its complex tensors, `[out, in]`.
    pub complex: Vec<(String, Vec<usize>)>,
    /// Convolutions by the names of their weights, where strides and paddings are known.
    pub convolutions: HashMap<String, Convolution>,
}

impl Network {
    /// Real tensors of these names and shapes.
    pub fn of(tensors: &[(String, Vec<usize>)]) -> Self {
        Self { tensors: tensors.to_vec(), ..Self::default() }
    }
}

/// A plan applied to the tensors of one network.
#[derive(Debug, Clone)]
pub struct ResolvedPlan {
    /// The group that is projected onto.
    pub group: GroupRef,
    /// The real tensors with fields, in the given order.
    pub layers: Vec<TypedTensor>,
    /// The complex tensors with fields.
    pub complex: Vec<ComplexTensor>,
    /// All other tensors.
    pub untyped: Vec<Untyped>,
    /// Layers whose domain is not the codomain of the layer before them, though both have as many channels: their names, and the remark.
    pub changed_fields: Vec<(String, String)>,
}

/// A tensor without fields.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Untyped {
    /// Name of the tensor.
    pub name: String,
    /// Why it has no fields.
    pub reason: String,
}

impl Untyped {
    /// What is said of one number for each scalar channel.
    const HARMLESS: &str = "one number per scalar channel, which the group leaves as it is";

    /// Whether the group leaves it as it is, so that it breaks nothing.
    pub fn is_harmless(&self) -> bool {
        self.reason == Self::HARMLESS
    }
}

impl SymmetryPlan {
    /// The same kind of fields for every tensor of rank 4 or 5.
    ///
    /// # Errors
    /// [`Error::Plan`] for a continuous group.
    pub fn uniform(group: &GroupRef, fields: UniformFields) -> Result<Self> {
        if group.order().is_none() {
            return Err(Error::plan(
                format!("group {}", group.name()),
                "a plan with the fields of each layer, as for every continuous group (`reynolds plan` writes a draft)",
                format!("{fields} fields for all layers"),
            ));
        }
        Ok(Self { group: group.clone(), restriction: None, typing: Typing::Uniform(fields) })
    }

    /// Reads a plan. `group` is a name ([`group::parse`]); `generators` may stand in its place, each a permutation `[1, 2, 0]` or an
    /// orthogonal matrix, as rows or row-major. Every `[[layer]]` has a glob `name` and fields `domain` and `codomain`.
    pub fn from_toml(text: &str) -> Result<Self> {
        let (group, rules) = toml_text::read(text)?;
        Self::of_rules(&group, rules)
    }

    /// A plan of at least one rule, for names and fields that a program computes.
    pub fn of_rules(group: &GroupRef, rules: Vec<Rule>) -> Result<Self> {
        if rules.is_empty() {
            return Err(Error::plan("layers", "at least one [[layer]]", "none"));
        }
        Ok(Self { group: group.clone(), restriction: None, typing: Typing::Rules(rules) })
    }

    /// The same fields, projected onto a smaller group.
    pub fn restricted_to(&self, subgroup: &str) -> Result<Self> {
        let inclusion = group::subgroup(&self.group, subgroup)?;
        Ok(Self { restriction: Some(inclusion), ..self.clone() })
    }

    /// The group of the fields.
    pub fn group(&self) -> &GroupRef {
        &self.group
    }

    /// The plan for tensors of these names and shapes `[out, in, k…]`, `[out, in]` or `[channels]`.
    ///
    /// # Errors
    /// [`Error::Plan`] if a glob matches no tensor, or two match one; [`Error::Tensor`] if a rule does not fit a tensor it matches.
    pub fn resolve(&self, tensors: &[(String, Vec<usize>)]) -> Result<ResolvedPlan> {
        self.resolve_network(&Network::of(tensors))
    }

    /// As [`SymmetryPlan::resolve`], with complex tensors and what is known of convolutions. The fields of complex tensors are characters of SO(2)
    /// in the grammar of [`Irreps`](crate::irreps::Irreps): "4x(-4..4)"; a real tensor `[out, in, 2]` with such fields is taken for a complex one.
    pub fn resolve_network(&self, network: &Network) -> Result<ResolvedPlan> {
        let group = self.restriction.as_ref().map_or(&self.group, Homomorphism::source).clone();
        match &self.typing {
            Typing::Uniform(fields) => {
                let (layers, mut untyped) = uniform::resolve(self, *fields, network)?;
                let reason = "complex numbers: typed only by rules";
                let complex = network.complex.iter();
                untyped.extend(complex.map(|(name, _)| Untyped { name: name.clone(), reason: reason.into() }));
                Ok(ResolvedPlan { group, layers, complex: Vec::new(), untyped, changed_fields: Vec::new() })
            }
            Typing::Rules(rules) => {
                rules::resolve(self, rules, network).map(|resolved| ResolvedPlan { group, ..resolved })
            }
        }
    }
}
