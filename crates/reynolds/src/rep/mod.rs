//! Unitary representations π: G → U(V), orthogonal where V is real.
//!
//! ```text
//! π(gh) = π(g) π(h),      π(g)* π(g) = 1
//! ```
//!
//! A [`Rep`] is shared and immutable. Direct sums keep their summands in sight ([`Representation::summands`]), so that a layer with
//! a thousand equal fields is planned once per pair of kinds, not once per pair of fields. Equal is by value: see [`same()`].
//!
//! ```
//! use reynolds::{group, rep};
//! let c4 = group::parse("C4")?;
//! let fields = rep::sum(&c4, &[(3, rep::trivial(&c4)), (9, rep::regular(&c4)?)])?;
//! assert_eq!(fields.dim(), 39);
//! assert_eq!(fields.label(), "3 trivial + 9 regular");
//! # Ok::<(), reynolds::Error>(())
//! ```

mod decompose;
mod derived;
mod field;
mod formula;
mod grid;
mod induced;
mod matrices;
mod permutation;
mod same;
mod signed_permutation;
mod sum;

use std::fmt::Debug;
use std::sync::Arc;

use faer::Mat;

pub use decompose::{Decomposition, Piece, decompose};
pub(crate) use derived::restricted;
pub use derived::{complexified, dual, subspace, tensor};
pub use field::parse_fields;
pub(crate) use formula::Formula;
pub use grid::Grid;
pub use induced::induced;
pub use matrices::{point, tabulated};
pub use permutation::{permutation, quotient, regular, trivial};
pub(crate) use same::position;
pub use same::same;
pub use signed_permutation::SignedPermutation;
pub use sum::sum;

use crate::group::{Element, GroupRef};
use crate::irrep::Irrep;
use crate::scalar::Scalar;

/// A shared representation over `F`.
pub type Rep<F = f64> = Arc<dyn Representation<F>>;

/// A unitary representation of a compact group on Fⁿ.
pub trait Representation<F: Scalar = f64>: Debug + Send + Sync {
    /// The group G.
    fn group(&self) -> &GroupRef;

    /// n = dim V.
    fn dim(&self) -> usize;

    /// What it is, in the field grammar where that has a word for it ("9 regular").
    fn label(&self) -> String;

    /// π(g), `[n, n]`.
    fn matrix(&self, g: &Element) -> Mat<F>;

    /// The largest angular degree among its matrix elements; 0 for a finite group.
    fn degree(&self) -> usize {
        0
    }

    /// χ(g) = tr π(g).
    fn character(&self, g: &Element) -> F {
        character(self, g)
    }

    /// π(g) as a signed permutation of the basis, where it is one for **every** g of the group; else `None` for every g.
    fn signed_permutation(&self, _g: &Element) -> Option<SignedPermutation> {
        None
    }

    /// The summands with their multiplicities, in basis order (copies outermost), if this is a direct sum.
    fn summands(&self) -> Option<&[(usize, Rep<F>)]> {
        None
    }

    /// The irreducible representation this is, if it is one in its canonical basis.
    fn as_irrep(&self) -> Option<&Irrep<F>> {
        None
    }
}

/// tr π(g), from the signed permutation where there is one.
fn character<F: Scalar>(representation: &(impl Representation<F> + ?Sized), g: &Element) -> F {
    if let Some(moves) = representation.signed_permutation(g) {
        return moves.trace();
    }
    let matrix = representation.matrix(g);
    (0..matrix.nrows()).fold(F::ZERO, |sum, i| sum + matrix[(i, i)])
}
