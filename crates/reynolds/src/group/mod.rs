//! Compact groups: the [`Group`] trait, the [`Element`]s, and names that parse and print.
//!
//! Every finite group numbers its elements 0, 1, …, with 0 the identity; the order is part of its contract because regular
//! representations are laid out in it. Orders are `u128`, and no operation here enumerates a group unless documented: S₃₂ is
//! as cheap to hold as C₄.
//!
//! Coordinates follow arrays: x grows with the last axis (column), y with the one before (row), z with the one before that.
//! The generator r of C_N and D_N turns an image as `numpy.rot90(+1)` does, so on (x, y) it is
//!
//! ```text
//! R(θ) = [ cos θ   sin θ ]      θ = 2π/N,      s = diag(−1, 1)   (flip of the last axis)
//!        [−sin θ   cos θ ]
//! ```
//!
//! ```
//! use reynolds::group;
//! let g = group::parse("C4 x Z8")?;
//! assert_eq!(g.order(), Some(32));
//! assert_eq!(group::parse(&g.name())?.name(), "C4 x Z8");
//! assert!(group::parse("X7").is_err());
//! # Ok::<(), reynolds::Error>(())
//! ```

mod array_group;
mod classes;
mod element;
mod family;
mod gauss_legendre;
mod generated;
mod name;
mod numeric_irreps;
mod orthogonal;
mod permutation_group;
mod planar_irrep;
mod polygon;
mod polyhedral;
mod product;
mod subgroup;
mod transversal;

use std::fmt::Debug;
use std::sync::Arc;

use faer::Mat;

pub use array_group::{PLANAR, SPATIAL};
pub use classes::{ConjugacyClasses, conjugacy_classes};
pub use element::{Element, Planar, Spatial};
pub use family::Family;
pub use generated::MatrixGroup;
pub use name::parse;
pub use numeric_irreps::numeric_irreps;
pub use orthogonal::{O2, O3, Orthogonal, SO2, SO3};
pub use permutation_group::PermutationGroup;
pub use polygon::Polygon;
pub use polyhedral::polyhedral;
pub use product::Product;
pub use subgroup::{Homomorphism, subgroup};

use crate::error::{Error, Result};
use crate::haar::Quadrature;
use crate::irrep::Irrep;

/// The largest group that is ever enumerated element by element.
pub const ENUMERATION_LIMIT: u128 = 50_000;

/// The largest angular degree (l, or frequency) served by continuous groups.
pub const MAX_DEGREE: usize = 32;

/// A shared group.
pub type GroupRef = Arc<dyn Group>;

/// A compact group G with its Haar measure.
///
/// Elements passed in must be elements of this group; anything else is a bug of the caller and may panic.
pub trait Group: Debug + Send + Sync {
    /// The name; equal names mean equal groups with equal numbering. [`parse`] reads it back, except for matrix groups
    /// made from generators.
    fn name(&self) -> String;

    /// The family it belongs to.
    fn family(&self) -> Family {
        Family::Other
    }

    /// |G|, or `None` for a continuous group.
    fn order(&self) -> Option<u128>;

    /// The neutral element e: number 0 of a finite group.
    fn identity(&self) -> Element {
        Element::Finite(0)
    }

    /// The product gh.
    fn multiply(&self, g: &Element, h: &Element) -> Element;

    /// The inverse g⁻¹.
    fn inverse(&self, g: &Element) -> Element;

    /// Elements that generate G; for a continuous group, a dense subgroup of it.
    fn generators(&self) -> Vec<Element>;

    /// Nodes and weights that integrate matrix elements of the given degree exactly (any function, if G is finite). An error for
    /// a finite group over [`ENUMERATION_LIMIT`], or a degree over four times [`MAX_DEGREE`].
    fn quadrature(&self, _degree: usize) -> Result<Quadrature> {
        Ok(Quadrature::uniform(elements(self)?))
    }

    /// The orthogonal matrix `[d, d]` by which a point group moves (x, y) or (x, y, z); `None` for an abstract group.
    fn point_matrix(&self, _g: &Element) -> Option<Mat<f64>> {
        None
    }

    /// The permutation `j ↦ g·j` of a group that is given as permutations; `None` for any other.
    fn point_permutation(&self, _g: &Element) -> Option<Vec<u32>> {
        None
    }

    /// The element that maps point j to `image[j]`; `None` if there is none or the group is not given as permutations. By default
    /// this searches all elements, and is `None` over [`ENUMERATION_LIMIT`].
    fn permuting(&self, image: &[u32]) -> Option<Element> {
        let order = self.order().filter(|&n| n <= ENUMERATION_LIMIT)?;
        (0..order).map(Element::Finite).find(|g| self.point_permutation(g).as_deref() == Some(image))
    }

    /// This group as a direct product, if it is one.
    fn as_product(&self) -> Option<&Product> {
        None
    }

    /// Transversals T₁, …, T_k, the identity first in each: every element is t₁t₂⋯t_k in exactly one way, and each T_i⋯T_k is a
    /// subgroup. Averaging over one after the other, T_k first, averages over G at a cost of Σ|T_i| instead of |G|.
    fn transversals(&self) -> Result<Vec<Vec<Element>>> {
        transversal::tower(self)
    }

    /// Representatives of the real irreducible representations, the trivial one first; for a continuous group those of
    /// degree at most `max_degree`, for a finite group all. An error where the group is too large to find them numerically.
    fn irreps(self: Arc<Self>, max_degree: usize) -> Result<Vec<Irrep>>;
}

/// All elements of a finite group of order at most [`ENUMERATION_LIMIT`], in its order.
pub fn elements<G: Group + ?Sized>(group: &G) -> Result<Vec<Element>> {
    Ok((0..order_up_to(group, ENUMERATION_LIMIT, "enumeration")?).map(Element::Finite).collect())
}

/// |G|; [`Error::TooLarge`] if it is over `limit` or infinite.
pub(crate) fn order_up_to<G: Group + ?Sized>(group: &G, limit: u128, operation: &'static str) -> Result<u128> {
    group.order().filter(|&order| order <= limit).ok_or_else(|| {
        let got = group.order().map_or("infinitely many elements".into(), |order| order.to_string());
        Error::too_large(group.name(), operation, limit, got)
    })
}

/// Whether two groups are the same, numbering included.
pub fn same(a: &GroupRef, b: &GroupRef) -> bool {
    Arc::ptr_eq(a, b) || a.name() == b.name()
}

/// Refuses two objects that belong to different groups.
pub(crate) fn expect_same(expected: &GroupRef, got: &GroupRef) -> Result<()> {
    match same(expected, got) {
        true => Ok(()),
        false => Err(Error::GroupMismatch { expected: expected.name(), got: got.name() }),
    }
}
