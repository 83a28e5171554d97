//! A projector that equal layers share, so that its indices are held once.

use std::any::Any;
use std::sync::Arc;

use faer::c64;
use reynolds::projection::{Dimensions, Lowered};
use reynolds::scalar::Scalar;

/// A projector of real or of complex weights.
#[derive(Debug, Clone)]
pub(crate) enum Shared {
    Real(Arc<Lowered<f64>>),
    Complex(Arc<Lowered<c64>>),
}

impl Shared {
    pub(crate) fn new<F: Scalar>(projector: &Arc<Lowered<F>>) -> Self {
        let any: Arc<dyn Any + Send + Sync> = projector.clone();
        let complex = |any: Arc<dyn Any + Send + Sync>| any.downcast().expect("fields are real or complex");
        any.downcast().map_or_else(|any| Self::Complex(complex(any)), Self::Real)
    }

    /// Whether both are the same object.
    pub(crate) fn is(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Real(one), Self::Real(other)) => Arc::ptr_eq(one, other),
            (Self::Complex(one), Self::Complex(other)) => Arc::ptr_eq(one, other),
            _ => false,
        }
    }

    /// Whether the core's executor is fast enough for every step: those of chains and of turned blocks take many passes.
    pub(super) fn suits(&self) -> bool {
        fn suits<F: Scalar>(projector: &Lowered<F>) -> bool {
            match projector {
                Lowered::Orbits(_) | Lowered::Basis(_) => true,
                Lowered::Blocks(blocks) => !blocks.is_turned(),
                _ => false,
            }
        }
        match self {
            Self::Real(projector) => suits(projector),
            Self::Complex(projector) => suits(projector),
        }
    }

    /// Real numbers of each part that P acts on independently.
    pub(super) fn parts(&self) -> Vec<usize> {
        match self {
            Self::Real(projector) => projector.parts(),
            Self::Complex(projector) => projector.parts().into_iter().map(|weights| 2 * weights).collect(),
        }
    }
}
