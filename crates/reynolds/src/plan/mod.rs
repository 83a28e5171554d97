//! Which symmetry each tensor of a network is held against: a group, and fields for the channels of each layer.
//!
//! ```text
//! tensor name  →  (domain V, codomain V′, projector P onto Hom_G(V, V′) ⊗ L²(grid))
//! ```
//!
//! Typing channels is an assumption, so it is always explicit: by rules over tensor names ([`SymmetryPlan::from_toml`]), or all channels
//! alike ([`SymmetryPlan::uniform`]). [`SymmetryPlan::resolve`] turns it into one [`TypedTensor`] for each tensor that is held against the
//! group, and says of every other tensor why it is not.
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
//! assert_eq!(resolved.layers.len(), 2); // the bias of a planned layer is planned with it
//! assert_eq!(resolved.untyped[0].name, "head.weight");
//! # Ok::<(), reynolds::Error>(())
//! ```

mod build;
mod channel;
mod complex;
mod glob;
mod rules;
mod suggest;
mod toml_text;
mod typed_tensor;
mod uniform;

pub use complex::ComplexTensor;
pub use suggest::suggest;
pub use toml_text::Rule;
pub use typed_tensor::{Exact, Role, TypedTensor};
pub use uniform::UniformFields;

use crate::error::{Error, Result};
use crate::group::{self, GroupRef, Homomorphism};

/// How the tensors of a network are typed.
#[derive(Debug, Clone)]
pub struct SymmetryPlan {
    group: GroupRef,
    /// The inclusion of the subgroup to project onto, if it is not the whole group.
    restriction: Option<Homomorphism>,
    typing: Typing,
}

#[derive(Debug, Clone)]
enum Typing {
    Uniform(UniformFields),
    Rules(Vec<Rule>),
}

/// A plan applied to the tensors of one network.
#[derive(Debug, Clone)]
pub struct ResolvedPlan {
    /// The group that is projected onto.
    pub group: GroupRef,
    /// The tensors that are held against it, in the order they were given.
    pub layers: Vec<TypedTensor>,
    /// The tensors of complex numbers among them.
    pub complex: Vec<ComplexTensor>,
    /// The others.
    pub untyped: Vec<Untyped>,
}

/// A tensor that is left alone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Untyped {
    /// Its name.
    pub name: String,
    /// Why.
    pub reason: String,
}

impl SymmetryPlan {
    /// Types every rank-4 and rank-5 tensor alike.
    ///
    /// # Errors
    /// [`Error::Plan`] for a continuous group, whose channels have to be typed one by one.
    pub fn uniform(group: &GroupRef, fields: UniformFields) -> Result<Self> {
        if group.order().is_none() {
            return Err(Error::plan(
                format!("group {}", group.name()),
                "a plan that types the layers of a continuous group",
                format!("{fields} fields for all"),
            ));
        }
        Ok(Self { group: group.clone(), restriction: None, typing: Typing::Uniform(fields) })
    }

    /// Reads a plan. `group` is a name ([`group::parse`]); `generators` may stand in its place, each a permutation `[1, 2, 0]` or an
    /// orthogonal matrix, as rows or row-major. Every `[[layer]]` has a glob `name` and fields `domain` and `codomain`.
    ///
    /// # Errors
    /// [`Error::Plan`] if it is no TOML of that form; whatever the group may fail with.
    pub fn from_toml(text: &str) -> Result<Self> {
        let (group, rules) = toml_text::read(text)?;
        Ok(Self { group, restriction: None, typing: Typing::Rules(rules) })
    }

    /// A plan of rules, as [`SymmetryPlan::from_toml`] reads them: for names and fields that a program computes.
    ///
    /// # Errors
    /// [`Error::Plan`] if there is no rule.
    pub fn of_rules(group: &GroupRef, rules: Vec<Rule>) -> Result<Self> {
        if rules.is_empty() {
            return Err(Error::plan("layers", "at least one rule", "none"));
        }
        Ok(Self { group: group.clone(), restriction: None, typing: Typing::Rules(rules) })
    }

    /// The same typing, projected onto a smaller group.
    pub fn restricted_to(&self, subgroup: &str) -> Result<Self> {
        let inclusion = group::subgroup(&self.group, subgroup)?;
        Ok(Self { restriction: Some(inclusion), ..self.clone() })
    }

    /// The group of the fields.
    pub fn group(&self) -> &GroupRef {
        &self.group
    }

    /// Types the given tensors, each a name and a shape `[out, in, k…]`, `[out, in]` or `[channels]`.
    ///
    /// # Errors
    /// [`Error::Plan`] if a glob matches nothing, or two match one tensor; [`Error::Tensor`] if a rule does not fit a tensor it matches.
    pub fn resolve(&self, tensors: &[(String, Vec<usize>)]) -> Result<ResolvedPlan> {
        self.resolve_with_complex(tensors, &[])
    }

    /// As [`SymmetryPlan::resolve`], with tensors `[out, in]` of complex numbers beside the real ones. Their fields are characters of SO(2)
    /// in the grammar of [`Irreps`](crate::irreps::Irreps): "4x(-4..4)".
    pub fn resolve_with_complex(
        &self,
        tensors: &[(String, Vec<usize>)],
        complex: &[(String, Vec<usize>)],
    ) -> Result<ResolvedPlan> {
        let group = self.restriction.as_ref().map_or(&self.group, Homomorphism::source).clone();
        match &self.typing {
            Typing::Uniform(fields) => {
                let (layers, mut untyped) = uniform::resolve(self, *fields, tensors)?;
                let reason = "complex numbers: typed only by rules";
                untyped.extend(complex.iter().map(|(name, _)| Untyped { name: name.clone(), reason: reason.into() }));
                Ok(ResolvedPlan { group, layers, complex: Vec::new(), untyped })
            }
            Typing::Rules(rules) => {
                let (layers, complex, untyped) = rules::resolve(self, rules, tensors, complex)?;
                Ok(ResolvedPlan { group, layers, complex, untyped })
            }
        }
    }
}
