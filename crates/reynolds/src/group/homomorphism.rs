//! Homomorphisms φ: H → G, along which representations are pulled back: inclusions of subgroups, projections of products.

use std::fmt;
use std::sync::Arc;

use super::{Element, GroupRef};
use crate::error::Result;
use crate::rep::{self, Rep};
use crate::scalar::Scalar;

/// The map of a homomorphism.
pub(crate) type Map = Arc<dyn Fn(&Element) -> Element + Send + Sync>;

/// A homomorphism from `source` to `target`.
#[derive(Clone)]
pub struct Homomorphism {
    source: GroupRef,
    target: GroupRef,
    map: Map,
}

impl fmt::Debug for Homomorphism {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Homomorphism({} -> {})", self.source.name(), self.target.name())
    }
}

impl Homomorphism {
    /// A map the caller knows to be a homomorphism.
    pub(crate) fn trusted(source: &GroupRef, target: &GroupRef, map: Map) -> Self {
        Self { source: source.clone(), target: target.clone(), map }
    }

    /// H.
    pub fn source(&self) -> &GroupRef {
        &self.source
    }

    /// G.
    pub fn target(&self) -> &GroupRef {
        &self.target
    }

    /// φ(h).
    pub fn apply(&self, h: &Element) -> Element {
        (self.map)(h)
    }

    /// π∘φ, a representation of H; along an inclusion this is the restriction of π to H.
    ///
    /// # Errors
    /// [`crate::Error::GroupMismatch`] if π is no representation of the target.
    pub fn pull_back<F: Scalar>(&self, representation: &Rep<F>) -> Result<Rep<F>> {
        super::check_same(&self.target, representation.group())?;
        Ok(rep::restricted(representation, self))
    }
}
