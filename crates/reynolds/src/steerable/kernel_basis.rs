//! Orthonormal bases of the steerable kernels between two irreps.
//!
//! ```text
//! (V′ ⊗ V ⊗ V_J)^G = im ∫_G π′(g) ⊗ π(g) ⊗ D^J(g) dλ(g),      K(x) = φ̃_{J,n}(|x|) Σ_m C[·, ·, m] Y_Jm(x/|x|)
//! ```
//!
//! For SO(3) and O(3) the invariants C are the Clebsch–Gordan tensors; for every other group they are read off the Haar average,
//! which is the specification of both. Sampled kernels of SO(2), O(2), SO(3), O(3) are orthonormal as they come. Those of a finite
//! group may overlap, since its harmonics of different degree can hold equal irreps: they are orthonormalised numerically.
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

use super::band::orthonormalise;
use super::{Band, circular_action, clebsch_gordan, wigner_d};
use crate::error::{Error, Result};
use crate::group::{Element, GroupRef, Spatial};
use crate::haar::Quadrature;
use crate::irrep::Irrep;
use crate::rep::Representation;

/// An orthonormal basis of the band-limited steerable kernels from one irrep to another, in the coordinates of a [`Band`].
#[derive(Debug, Clone)]
pub struct KernelBasis {
    columns: Mat<f64>,
    shape: [usize; 2],
}

impl KernelBasis {
    /// The kernels from `domain` to `codomain`.
    ///
    /// # Errors
    /// As [`invariants`]; [`Error::Numerical`] if an orthonormalisation does not converge.
    pub fn new(codomain: &Irrep, domain: &Irrep, band: &Band) -> Result<Self> {
        let dims = band.shells().dims();
        let invariant: Result<Vec<_>> =
            band.degrees().iter().map(|part| invariants(codomain, domain, part.degree, dims)).collect();
        Self::from_invariants(&invariant?, [codomain.dim(), domain.dim()], band)
    }

    /// The kernels made of the given invariants, one matrix `[d_out·d_in·dim Y_J, n]` per degree of the band.
    fn from_invariants(invariants: &[Mat<f64>], shape: [usize; 2], band: &Band) -> Result<Self> {
        let functions = band.coordinates().nrows();
        let channels = shape[0] * shape[1];
        let count = band.degrees().iter().zip(invariants).map(|(part, c)| part.radial * c.ncols()).sum();
        let mut columns = Mat::zeros(functions * channels, count);
        let mut at = 0;
        for (part, tensors) in band.degrees().iter().zip(invariants) {
            for n in 0..part.radial {
                let block = band.coordinates().subcols(part.offset + n * part.dim, part.dim);
                for tensor in tensors.col_iter() {
                    // Coordinates [functions, in, out], functions fastest: one harmonic expansion per channel pair.
                    let expansion = Mat::from_fn(part.dim, channels, |m, channel| tensor[channel * part.dim + m]);
                    let kernel = block * expansion;
                    for channel in 0..channels {
                        for f in 0..functions {
                            columns[(channel * functions + f, at)] = kernel[(f, channel)];
                        }
                    }
                    at += 1;
                }
            }
        }
        let gram = columns.transpose() * &columns;
        if (gram - Mat::<f64>::identity(count, count)).norm_max() > 1e-13 {
            columns = orthonormalise(&columns)?.0;
        }
        Ok(Self { columns, shape })
    }

    /// Number of basis kernels.
    pub fn len(&self) -> usize {
        self.columns.ncols()
    }

    /// Whether no kernel is steerable.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The orthonormal coordinates, `[d_out·d_in·functions, len]`, functions fastest, the input channel next.
    pub fn columns(&self) -> &Mat<f64> {
        &self.columns
    }

    /// E, `[d_out·d_in·points, len]`: the kernels on the grid, row-major `[d_out, d_in, points]` down each column.
    pub fn sampled(&self, band: &Band) -> Mat<f64> {
        let (points, functions) = (band.functions().nrows(), band.functions().ncols());
        let channels = self.shape[0] * self.shape[1];
        let mut sampled = Mat::zeros(channels * points, self.len());
        for channel in 0..channels {
            let part = band.functions() * self.columns.subrows(channel * functions, functions);
            sampled.subrows_mut(channel * points, points).copy_from(&part);
        }
        sampled
    }
}

/// An orthonormal basis of (V′ ⊗ V ⊗ V_J)^G, `[d_out·d_in·dim Y_J, n]`, row-major `[d_out, d_in, m]` down each column.
///
/// # Errors
/// [`Error::NoAction`] if the group does not act on ℝᵈ with d = `dims`; [`Error::TooLarge`] or [`Error::OutOfRange`] if it has no
/// quadrature of the degree needed.
pub fn invariants(codomain: &Irrep, domain: &Irrep, degree: usize, dims: usize) -> Result<Mat<f64>> {
    let parity = match (codomain.group().name().as_str(), dims) {
        ("SO3", 3) => Some(true),
        ("O3", 3) => {
            let inversion = Element::Spatial(Spatial { inverted: true, ..Spatial::IDENTITY });
            let sign = codomain.character(&inversion) * domain.character(&inversion);
            Some((sign > 0.0) == degree.is_multiple_of(2))
        }
        _ => None,
    };
    match parity {
        Some(even) => coupled(codomain, domain, degree, even),
        None => averaged(codomain, domain, degree, dims),
    }
}

/// The Clebsch–Gordan tensor, if the degrees couple and the parities multiply to that of Y_J.
fn coupled(codomain: &Irrep, domain: &Irrep, degree: usize, even: bool) -> Result<Mat<f64>> {
    let (l_out, l_in) = ((codomain.dim() - 1) / 2, (domain.dim() - 1) / 2);
    if !even || !(l_out.abs_diff(l_in)..=l_out + l_in).contains(&degree) {
        return Ok(Mat::zeros(codomain.dim() * domain.dim() * (2 * degree + 1), 0));
    }
    let tensor = clebsch_gordan(l_out, l_in, degree)?;
    Ok(Mat::from_fn(tensor.entries().len(), 1, |row, _| tensor.entries()[row]))
}

/// The image of the Haar average: the specification.
fn averaged(codomain: &Irrep, domain: &Irrep, degree: usize, dims: usize) -> Result<Mat<f64>> {
    let group = codomain.group();
    let rule: Quadrature = group.quadrature(codomain.degree() + domain.degree() + degree)?;
    let harmonic = harmonic_action(group, &group.identity(), degree, dims)?.nrows();
    let n = codomain.dim() * domain.dim() * harmonic;
    let mut average = Mat::<f64>::zeros(n, n);
    for (g, weight) in rule.iter() {
        let action = harmonic_action(group, g, degree, dims)?;
        let product = codomain.matrix(g).kron(&domain.matrix(g)).kron(&action);
        average += faer::Scale(weight) * product;
    }
    Ok(image_of_projector(average))
}

/// D^J(g) on the harmonics of one degree. A planar group turns space about the z axis.
fn harmonic_action(group: &GroupRef, g: &Element, degree: usize, dims: usize) -> Result<Mat<f64>> {
    let fail =
        |reason: String| Error::NoAction { group: group.name(), target: format!("{dims}-dimensional space"), reason };
    let matrix = group.point_matrix(g).ok_or_else(|| fail("it is not given by matrices".into()))?;
    let space = matrix.nrows();
    let entry = |i: usize, j: usize| if i < space && j < space { matrix[(i, j)] } else { f64::from(u8::from(i == j)) };
    match (space, dims) {
        (2, 2) => Ok(circular_action(degree, &std::array::from_fn(|i| std::array::from_fn(|j| entry(i, j))))),
        (2 | 3, 3) => Ok(wigner_d(degree, &std::array::from_fn(|i| std::array::from_fn(|j| entry(i, j))))),
        _ => Err(fail(format!("it moves {space} coordinates"))),
    }
}

/// Orthonormal columns that span the image of an orthogonal projector: pivoted Cholesky, exact because every pivot is at least
/// the remaining rank over n.
fn image_of_projector(mut projector: Mat<f64>) -> Mat<f64> {
    let n = projector.nrows();
    let rank = (0..n).map(|i| projector[(i, i)]).sum::<f64>().round() as usize;
    let mut image = Mat::zeros(n, rank);
    for column in 0..rank {
        let largest = |best: usize, i: usize| if projector[(i, i)] > projector[(best, best)] + 1e-9 { i } else { best };
        let pivot = (0..n).fold(0, largest);
        let scale = projector[(pivot, pivot)].sqrt();
        let vector: Vec<f64> = (0..n).map(|i| projector[(i, pivot)] / scale).collect();
        for j in 0..n {
            for i in 0..n {
                projector[(i, j)] -= vector[i] * vector[j];
            }
            image[(j, column)] = vector[j];
        }
    }
    image
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::group;
    use crate::steerable::{RingsConfig, Shells};

    fn band(dims: usize, side: usize) -> Band {
        Band::new(Shells::new(dims, side, &RingsConfig::default()).unwrap()).unwrap()
    }

    #[test]
    fn clebsch_gordan_tensors_span_the_image_of_the_haar_average() {
        for name in ["SO3", "O3"] {
            let irreps = group::parse(name).unwrap().irreps(2).unwrap();
            for codomain in &irreps {
                for domain in &irreps {
                    for degree in 0..=3 {
                        let fast = invariants(codomain, domain, degree, 3).unwrap();
                        let slow = averaged(codomain, domain, degree, 3).unwrap();
                        assert_eq!(fast.ncols(), slow.ncols());
                        let error = &fast * fast.transpose() - &slow * slow.transpose();
                        assert!(error.norm_max() < 1e-13, "{name} {} {}", codomain.label(), domain.label());
                    }
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
    fn kernels_are_orthonormal_on_the_grid() {
        for (name, dims, side) in
            [("SO3", 3, 5), ("O3", 3, 3), ("SO2", 2, 5), ("O2", 2, 7), ("C4", 2, 3), ("D8", 2, 5), ("O", 3, 5)]
        {
            let band = band(dims, side);
            let irreps = group::parse(name).unwrap().irreps(2).unwrap();
            for codomain in &irreps {
                for domain in &irreps {
                    let basis = KernelBasis::new(codomain, domain, &band).unwrap();
                    let e = basis.sampled(&band);
                    let error = e.transpose() * &e - Mat::<f64>::identity(basis.len(), basis.len());
                    assert!(error.norm_max() < 1e-13, "{name}: {} -> {}", domain.label(), codomain.label());
                }
            }
        }
    }

    #[test]
    fn continuous_groups_need_no_orthonormalisation() {
        for (name, dims, side) in [("SO3", 3, 5), ("O3", 3, 7), ("SO2", 2, 7), ("O2", 2, 5)] {
            let band = band(dims, side);
            let irreps = group::parse(name).unwrap().irreps(2).unwrap();
            for (codomain, domain) in irreps.iter().flat_map(|a| irreps.iter().map(move |b| (a, b))) {
                let e = KernelBasis::new(codomain, domain, &band).unwrap().sampled(&band);
                let mut column = 0;
                for part in band.degrees() {
                    let radial = band.shells().radial(part.degree);
                    let tensors = invariants(codomain, domain, part.degree, dims).unwrap();
                    for (n, tensor) in (0..part.radial).flat_map(|n| tensors.col_iter().map(move |tensor| (n, tensor)))
                    {
                        for (p, &point) in band.shells().points().iter().enumerate() {
                            let y = band.shells().harmonics(part.degree, point);
                            for channel in 0..codomain.dim() * domain.dim() {
                                let sum: f64 = (0..part.dim).map(|m| tensor[channel * part.dim + m] * y[m]).sum();
                                let difference = e[(channel * radial.nrows() + p, column)] - radial[(p, n)] * sum;
                                assert!(difference.abs() < 1e-13, "{name}: {} -> {}", domain.label(), codomain.label());
                            }
                        }
                        column += 1;
                    }
                }
                assert_eq!(column, e.ncols());
            }
        }
    }

    #[test]
    fn abstract_and_flat_groups_do_not_act_on_space() {
        let s3 = group::parse("S3").unwrap().irreps(0).unwrap();
        assert!(matches!(invariants(&s3[0], &s3[0], 0, 2), Err(Error::NoAction { .. })));
        let so3 = group::parse("SO3").unwrap().irreps(0).unwrap();
        assert!(matches!(invariants(&so3[0], &so3[0], 0, 2), Err(Error::NoAction { .. })));
    }
}
