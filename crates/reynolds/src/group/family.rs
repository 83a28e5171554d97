//! The family of a group: what code dispatches on. Names are for reading, printing and errors.

/// The family of a group, with its parameter.
///
/// ```
/// use reynolds::group::{self, Family};
/// assert_eq!(group::parse("D_4")?.family(), Family::Dihedral(4));
/// assert_eq!(group::parse("SO(3)")?.family(), Family::SO3);
/// # Ok::<(), reynolds::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Family {
    /// C_N, the turns of the plane by 2πk/N.
    Cyclic(usize),
    /// Z_n, the translations of n points on a circle.
    Translations(usize),
    /// D_N, the turns and reflections of a regular N-gon; its order is 2N.
    Dihedral(usize),
    /// S_n, all permutations of n points.
    Symmetric(usize),
    /// A finite group of orthogonal matrices: T, T_d, T_h, O, O_h, I, I_h, or closed from generators.
    Matrices,
    /// A group of permutations from generators.
    Permutations,
    /// A direct product; [`Group::as_product`](super::Group::as_product) has its factors.
    Product,
    /// SO(2), the turns of the plane.
    SO2,
    /// O(2), the turns and reflections of the plane.
    O2,
    /// SO(3), the rotations of space.
    SO3,
    /// O(3), the rotations of space and the point reflection.
    O3,
    /// A group that is implemented outside this crate.
    Other,
}
