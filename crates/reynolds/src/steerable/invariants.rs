//! Coupling tensors: the invariants of V′ ⊗ V ⊗ V_J, from which every steerable kernel is made.
//!
//! ```text
//! (V′ ⊗ V ⊗ V_J)^G = im Π,      Π = ∫_G π′(g) ⊗ π(g) ⊗ D^J(g) dλ(g),      dim = tr Π = ∫ χ′ χ χ_J dλ
//! ```
//!
//! For SO(3) and O(3) in space they are the Clebsch–Gordan tensors; for every other group they are columns of Π, which is the
//! specification of both.
//!
//! ```
//! use reynolds::group;
//! use reynolds::steerable::invariants;
//! let irreps = group::parse("SO3")?.irreps(1)?;
//! // Vectors to vectors: dot product, cross product, and the symmetric traceless part, once each.
//! for degree in 0..=2 {
//!     assert_eq!(invariants(&irreps[1], &irreps[1], degree, 3)?.ncols(), 1);
//! }
//! # Ok::<(), reynolds::Error>(())
//! ```

use faer::Mat;

use super::{SphericalIrrep, circular_action, clebsch_gordan, wigner_d};
use crate::error::{Error, Result};
use crate::group::{self, Element, Family, GroupRef, Spatial};
use crate::irrep::Irrep;
use crate::rep::Representation;

/// An orthonormal basis of (V′ ⊗ V ⊗ V_J)^G, `[d_out·d_in·dim Y_J, n]`, row-major `[d_out, d_in, m]` down each column.
/// [`Error::NoAction`] if the group does not act on ℝᵈ with d = `dims`.
pub fn invariants(codomain: &Irrep, domain: &Irrep, degree: usize, dims: usize) -> Result<Mat<f64>> {
    Invariants::new(&[codomain], &[domain], &[degree], dims)?.of(0, 0, 0)
}

/// The invariants of all pairs of two lists of irreps and all degrees of a third, with what they share computed once.
pub(super) enum Invariants {
    /// Of SO(3) or O(3).
    ClebschGordan { codomain: Vec<SphericalIrrep>, domain: Vec<SphericalIrrep>, degrees: Vec<usize> },
    /// All matrices at the nodes of a quadrature.
    Averages { weights: Vec<f64>, codomain: Vec<Table>, domain: Vec<Table>, harmonics: Vec<Table> },
}

impl Invariants {
    pub(super) fn new(codomain: &[&Irrep], domain: &[&Irrep], degrees: &[usize], dims: usize) -> Result<Self> {
        let Some(group) = codomain.iter().chain(domain).map(|irrep| irrep.group()).next() else {
            return Ok(Self::Averages { weights: vec![], codomain: vec![], domain: vec![], harmonics: vec![] });
        };
        for other in codomain.iter().chain(domain).map(|irrep| irrep.group()) {
            group::expect_same(group, other)?;
        }
        let parities = group.family() == Family::O3;
        if dims == 3 && (parities || group.family() == Family::SO3) {
            let inversion = Element::Spatial(Spatial { inverted: parities, ..Spatial::IDENTITY });
            let read = |irrep: &&Irrep| SphericalIrrep {
                degree: (irrep.dim() - 1) / 2,
                odd: parities.then(|| irrep.character(&inversion) < 0.0),
            };
            let (codomain, domain) = (codomain.iter().map(read).collect(), domain.iter().map(read).collect());
            return Ok(Self::ClebschGordan { codomain, domain, degrees: degrees.to_vec() });
        }
        Self::averages(group, codomain, domain, degrees, dims)
    }

    /// The specification, for any group.
    fn averages(
        group: &GroupRef,
        codomain: &[&Irrep],
        domain: &[&Irrep],
        degrees: &[usize],
        dims: usize,
    ) -> Result<Self> {
        let most = |irreps: &[&Irrep]| irreps.iter().map(|irrep| irrep.degree()).max().unwrap_or(0);
        let top = degrees.iter().copied().max().unwrap_or(0);
        let rule = group.quadrature(most(codomain) + most(domain) + top)?;
        let points: Result<Vec<Point>> = rule.nodes.iter().map(|g| Point::of(group, g, dims)).collect();
        let points = points?;
        let table = |irrep: &&Irrep| Table::new(irrep.dim(), rule.nodes.iter().map(|g| irrep.matrix(g)));
        let harmonic = |&degree: &usize| {
            let dim = points.first().map_or(1, |point| point.action(degree).nrows());
            Table::new(dim, points.iter().map(|point| point.action(degree)))
        };
        Ok(Self::Averages {
            codomain: codomain.iter().map(table).collect(),
            domain: domain.iter().map(table).collect(),
            harmonics: degrees.iter().map(harmonic).collect(),
            weights: rule.weights,
        })
    }

    /// The invariants of output irrep `o`, input irrep `i` and degree `degrees[j]`.
    pub(super) fn of(&self, o: usize, i: usize, j: usize) -> Result<Mat<f64>> {
        match self {
            Self::ClebschGordan { codomain, domain, degrees } => {
                let (out, into, degree) = (codomain[o], domain[i], degrees[j]);
                if !out.couples(into, degree) {
                    return Ok(Mat::zeros(out.dim() * into.dim() * (2 * degree + 1), 0));
                }
                let tensor = clebsch_gordan(out.degree, into.degree, degree)?;
                Ok(Mat::from_fn(tensor.entries.len(), 1, |row, _| tensor.entries[row]))
            }
            Self::Averages { weights, codomain, domain, harmonics } => {
                Ok(image_of_average(weights, [&codomain[o], &domain[i], &harmonics[j]]))
            }
        }
    }
}

/// How one element moves the points of the plane or of space.
enum Point {
    Plane([[f64; 2]; 2]),
    Space([[f64; 3]; 3]),
}

impl Point {
    /// A planar group turns space about the z axis.
    fn of(group: &GroupRef, g: &Element, dims: usize) -> Result<Self> {
        let fail = |reason: String| Err(Error::no_action(group.name(), format!("{dims}-dimensional space"), reason));
        let Some(matrix) = group.point_matrix(g) else { return fail("it is not given by matrices".into()) };
        let space = matrix.nrows();
        let entry = |i, j| if i < space && j < space { matrix[(i, j)] } else { f64::from(u8::from(i == j)) };
        match (space, dims) {
            (2, 2) => Ok(Self::Plane(std::array::from_fn(|i| std::array::from_fn(|j| entry(i, j))))),
            (2 | 3, 3) => Ok(Self::Space(std::array::from_fn(|i| std::array::from_fn(|j| entry(i, j))))),
            _ => fail(format!("it moves {space} coordinates")),
        }
    }

    /// D^J(g) on the harmonics of one degree.
    fn action(&self, degree: usize) -> Mat<f64> {
        match self {
            Self::Plane(matrix) => circular_action(degree, matrix),
            Self::Space(matrix) => wigner_d(degree, matrix),
        }
    }
}

/// The matrices of one representation at every node, one after the other, column by column.
pub(super) struct Table {
    dim: usize,
    entries: Vec<f64>,
}

impl Table {
    fn new(dim: usize, matrices: impl Iterator<Item = Mat<f64>>) -> Self {
        let mut entries = Vec::new();
        for matrix in matrices {
            (0..dim).for_each(|j| entries.extend((0..dim).map(|i| matrix[(i, j)])));
        }
        Self { dim, entries }
    }

    fn column(&self, node: usize, j: usize) -> &[f64] {
        &self.entries[(node * self.dim + j) * self.dim..][..self.dim]
    }

    fn trace(&self, node: usize) -> f64 {
        (0..self.dim).map(|i| self.column(node, i)[i]).sum()
    }
}

/// Orthonormal columns that span im Π, by pivoted Cholesky: stable, because every pivot of a projector is at least its remaining
/// rank over its size. Only the diagonal of Π and one column per invariant are ever computed.
fn image_of_average(weights: &[f64], [out, inn, harmonic]: [&Table; 3]) -> Mat<f64> {
    let size = out.dim * inn.dim * harmonic.dim;
    let traces = (0..weights.len()).map(|q| weights[q] * out.trace(q) * inn.trace(q) * harmonic.trace(q));
    let rank = traces.sum::<f64>().round() as usize;
    let mut image = Mat::<f64>::zeros(size, rank);
    if rank == 0 {
        return image;
    }
    let parts = |row: usize| (row / (inn.dim * harmonic.dim), row / harmonic.dim % inn.dim, row % harmonic.dim);
    let mut diagonal = vec![0.0; size];
    for (q, weight) in weights.iter().enumerate() {
        for (row, entry) in diagonal.iter_mut().enumerate() {
            let (o, i, m) = parts(row);
            *entry += weight * out.column(q, o)[o] * inn.column(q, i)[i] * harmonic.column(q, m)[m];
        }
    }
    for found in 0..rank {
        // Ties, up to rounding, go to the first: the choice must not depend on the last digit.
        let pivot = (0..size).fold(0, |best, row| if diagonal[row] > diagonal[best] + 1e-9 { row } else { best });
        let (o, i, m) = parts(pivot);
        let mut column = vec![0.0; size];
        for (q, weight) in weights.iter().enumerate() {
            let mut entries = column.iter_mut();
            for a in out.column(q, o) {
                for b in inn.column(q, i) {
                    let share = weight * a * b;
                    harmonic.column(q, m).iter().zip(&mut entries).for_each(|(c, entry)| *entry += share * c);
                }
            }
        }
        for earlier in 0..found {
            let share = image[(pivot, earlier)];
            column.iter_mut().enumerate().for_each(|(row, entry)| *entry -= share * image[(row, earlier)]);
        }
        let scale = column.iter().map(|entry| entry * entry).sum::<f64>().sqrt();
        for (row, entry) in column.iter().enumerate() {
            image[(row, found)] = entry / scale;
            diagonal[row] -= image[(row, found)].powi(2);
        }
    }
    image
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn invariants_are_the_image_of_the_whole_average() {
        let groups = [("SO3", 3), ("O3", 3), ("O", 3), ("I", 3), ("D4", 2), ("C5", 2), ("O2", 2), ("C4", 3)];
        for (name, dims) in groups {
            let group = group::parse(name).unwrap();
            let irreps = group.clone().irreps(2).unwrap();
            let some = [0, 1, irreps.len() / 2, irreps.len() - 1].map(|at| &irreps[at]);
            for (codomain, domain) in [(some[3], some[2]), (some[1], some[0]), (some[3], some[1])] {
                for degree in 0..=3 {
                    let found = invariants(codomain, domain, degree, dims).unwrap();
                    let rule = group.quadrature(codomain.degree() + domain.degree() + degree).unwrap();
                    let average = rule.integrate_matrix((found.nrows(), found.nrows()), |g| {
                        let action = Point::of(&group, g, dims).unwrap().action(degree);
                        codomain.matrix(g).kron(&domain.matrix(g)).kron(&action)
                    });
                    assert!((average - &found * found.transpose()).norm_max() < 1e-13, "{name} {degree}");
                }
            }
        }
    }

    #[test]
    fn planar_rotations_have_the_published_number_of_solutions() {
        let counts = |name: &str, m: usize, n: usize| {
            let irreps = group::parse(name).unwrap().irreps(3).unwrap();
            let find = |k: usize| irreps.iter().find(|irrep| irrep.label() == format!("irrep({k})")).unwrap();
            (0..=4).map(|degree| invariants(find(m), find(n), degree, 2).unwrap().ncols()).collect::<Vec<_>>()
        };
        // m, n > 0: two solutions at each of the frequencies |m − n| and m + n; half of them with a reflection.
        assert_eq!(counts("SO2", 1, 1), [2, 0, 2, 0, 0]);
        assert_eq!(counts("SO2", 3, 1), [0, 0, 2, 0, 2]);
        assert_eq!(counts("SO2", 2, 0), [0, 0, 2, 0, 0]);
        assert_eq!(counts("SO2", 0, 0), [1, 0, 0, 0, 0]);
        assert_eq!(counts("O2", 1, 1), [1, 0, 1, 0, 0]);
        // C4: frequencies mod 4, so that 4 is as good as 0.
        assert_eq!(counts("C4", 1, 1), [2, 0, 4, 0, 4]);
    }

    #[test]
    fn abstract_and_flat_groups_do_not_act_on_space() {
        let s3 = group::parse("S3").unwrap().irreps(0).unwrap();
        assert!(matches!(invariants(&s3[0], &s3[0], 0, 2), Err(Error::NoAction { .. })));
        let so3 = group::parse("SO3").unwrap().irreps(0).unwrap();
        assert!(matches!(invariants(&so3[0], &so3[0], 0, 2), Err(Error::NoAction { .. })));
        assert!(matches!(invariants(&so3[0], &s3[0], 0, 3), Err(Error::GroupMismatch { .. })));
    }
}
