//! Steerable kernels between two irreps of SO(3) or O(3), one a degree and a ring: the coordinates in which steerable networks are trained.
//!
//! ```text
//! K_{J,r}(x) = s φ_r(|x|) Σ_m C^J[·, ·, m] Y_Jm(x/|x|),      s² = d_out / Σ_x φ_r(|x|)²
//! ```
//!
//! They span what [`KernelBasis`](super::KernelBasis) spans, but neighbouring rings of one degree overlap. The scale is that of escnn: a
//! kernel with Σ_x tr K Kᵀ = d_out sends white noise to components of variance 1, so weights that are normal keep variances.
//!
//! ```
//! use reynolds::steerable::{RingsConfig, Shells, SphericalIrrep, ring_kernels};
//! let shells = Shells::new(3, 3, &RingsConfig::default())?;
//! let vector = SphericalIrrep { degree: 1, odd: None };
//! // Degree 0 at the centre, degrees 0, 1, 2 on the ring; with a parity, degree 1 would change it.
//! assert_eq!(ring_kernels(vector, vector, &shells)?.len(), 4);
//! let vector = SphericalIrrep { degree: 1, odd: Some(true) };
//! assert_eq!(ring_kernels(vector, vector, &shells)?.len(), 3);
//! # Ok::<(), reynolds::Error>(())
//! ```

use super::{Shells, clebsch_gordan};
use crate::error::{Error, Result};

/// An irrep of SO(3), or of O(3) if it has a parity.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct SphericalIrrep {
    /// l.
    pub degree: usize,
    /// For O(3): whether the point reflection acts as −1.
    pub odd: Option<bool>,
}

impl SphericalIrrep {
    /// 2l + 1.
    pub fn dim(self) -> usize {
        2 * self.degree + 1
    }

    /// Whether the group acts on it by 1.
    pub fn is_trivial(self) -> bool {
        self.degree == 0 && self.odd != Some(true)
    }

    /// Whether harmonics of degree J couple `domain` to it.
    pub fn couples(self, domain: Self, degree: usize) -> bool {
        let parity = match (self.odd, domain.odd) {
            (Some(out), Some(of)) => (degree % 2 == 1) == (out != of),
            _ => true,
        };
        parity && (self.degree.abs_diff(domain.degree)..=self.degree + domain.degree).contains(&degree)
    }
}

/// The kernels from `domain` to `codomain`, each row-major `[d_out, d_in, points]`, degrees J outer and rings inner, on shells in space.
pub fn ring_kernels(codomain: SphericalIrrep, domain: SphericalIrrep, shells: &Shells) -> Result<Vec<Vec<f64>>> {
    if shells.dims != 3 {
        return Err(Error::range("dimension of the grid", 3, shells.dims));
    }
    let points = shells.points.len();
    let mut kernels = Vec::new();
    for degree in (0..=shells.max_degree()).filter(|&degree| codomain.couples(domain, degree)) {
        let coupling = clebsch_gordan(codomain.degree, domain.degree, degree)?;
        let harmonics: Vec<_> = shells.points.iter().map(|&point| shells.harmonics(degree, point)).collect();
        let mut angular = Vec::with_capacity(codomain.dim() * domain.dim() * points);
        for (o, i) in (0..codomain.dim()).flat_map(|o| (0..domain.dim()).map(move |i| (o, i))) {
            let at = |y: &Vec<f64>| y.iter().enumerate().map(|(m, y)| coupling.at(o, i, m) * y).sum::<f64>();
            angular.extend(harmonics.iter().map(at));
        }
        for profile in shells.profiles(degree).col_iter() {
            let square: f64 = profile.iter().map(|value| value * value).sum();
            let scale = (codomain.dim() as f64 / square).sqrt();
            kernels.push(angular.iter().enumerate().map(|(at, value)| scale * profile[at % points] * value).collect());
        }
    }
    Ok(kernels)
}

#[cfg(test)]
mod tests {
    use faer::Mat;

    use super::*;
    use crate::group;
    use crate::rep::Representation;
    use crate::steerable::{Band, KernelBasis, RingsConfig};

    fn shells(side: usize) -> Shells {
        Shells::new(3, side, &RingsConfig::default()).unwrap()
    }

    #[test]
    fn they_span_the_orthonormal_basis_and_have_the_norm_of_escnn() {
        for (name, parities) in [("SO3", vec![None]), ("O3", vec![Some(false), Some(true)])] {
            let irreps = group::parse(name).unwrap().irreps(3).unwrap();
            let types: Vec<SphericalIrrep> =
                (0..=3).flat_map(|degree| parities.iter().map(move |&odd| SphericalIrrep { degree, odd })).collect();
            let find = |wanted: SphericalIrrep| {
                let parity = wanted.odd.map_or("", |odd| if odd { "o" } else { "e" });
                let label = format!("{}{parity}", wanted.degree);
                irreps.iter().find(|irrep| irrep.label() == label).unwrap()
            };
            for side in [1, 3, 5, 7] {
                let band = Band::new(shells(side)).unwrap();
                for (&out, &of) in types.iter().flat_map(|out| types.iter().map(move |of| (out, of))) {
                    let ours = ring_kernels(out, of, &shells(side)).unwrap();
                    let e = KernelBasis::new(find(out), find(of), &band).unwrap().sampled(&band);
                    assert_eq!(ours.len(), e.ncols(), "{name}, side {side}: {of:?} -> {out:?}");
                    for kernel in &ours {
                        let k = Mat::from_fn(kernel.len(), 1, |row, _| kernel[row]);
                        assert!((k.squared_norm_l2() - out.dim() as f64).abs() < 1e-12);
                        let rest = &k - &e * (e.transpose() * &k);
                        assert!(rest.norm_max() < 1e-12, "{name}, side {side}: {of:?} -> {out:?}");
                    }
                }
            }
        }
    }

    #[test]
    fn planar_shells_are_refused() {
        let plane = Shells::new(2, 3, &RingsConfig::default()).unwrap();
        let scalar = SphericalIrrep { degree: 0, odd: None };
        assert!(ring_kernels(scalar, scalar, &plane).is_err());
    }
}
