//! The band-limited scalar functions on a grid, and an orthonormal basis of them.
//!
//! ```text
//! F = { φ̃_{J,n}(|x|) Y_Jm(x/|x|) },      F = H R,      HᵀH = 1
//! ```
//!
//! Every band-limited kernel has its entries in the span of H, so a kernel `[out, in, points]` is first written in the few coordinates
//! `[out, in, functions]` that H gives, and all coupling happens there: 19 numbers instead of 125 on a 5×5×5 grid.
//!
//! ```
//! use reynolds::steerable::{Band, RingsConfig, Shells};
//! let band = Band::new(Shells::new(3, 5, &RingsConfig::default())?)?;
//! assert_eq!((band.functions.nrows(), band.functions.ncols()), (125, 19));
//! # Ok::<(), reynolds::Error>(())
//! ```

use faer::Mat;

use super::Shells;
use crate::error::{Error, Result};

/// Directions whose singular value is below this share of the largest are taken for linear dependence of the samples.
pub(super) const RANK_THRESHOLD: f64 = 1e-5;

/// The largest number of samples, points × functions, that is orthonormalised.
const MAX_SAMPLES: usize = 1 << 24;

/// The functions of one degree: `radial` radial functions times the harmonics.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BandDegree {
    /// J.
    pub degree: usize,
    /// dim Y_J.
    pub dim: usize,
    /// Number of radial functions φ̃_{J,n}.
    pub radial: usize,
    /// Number of the first of these functions; n is outer, m inner.
    pub offset: usize,
}

/// The span of all φ_r Y_Jm on a grid.
#[derive(Debug, Clone)]
pub struct Band {
    /// The shells it is made of.
    pub shells: Shells,
    /// The degrees with their functions.
    pub degrees: Vec<BandDegree>,
    /// H, `[points, rank]`, orthonormal columns.
    pub functions: Mat<f64>,
    /// R, `[rank, functions]`: column f holds the coordinates in H of function f.
    pub coordinates: Mat<f64>,
}

impl Band {
    /// Samples the functions, at most 2²⁴ values, and orthonormalises them by a singular value decomposition; directions under 1e-5
    /// of the strongest are dropped.
    pub fn new(shells: Shells) -> Result<Self> {
        let samples = shells.points.len().saturating_mul(shells.functions());
        if samples > MAX_SAMPLES {
            let what = "grid points times angular functions";
            return Err(Error::range(what, format!("at most {MAX_SAMPLES}"), samples));
        }
        let mut degrees = Vec::new();
        let mut columns: Vec<Vec<f64>> = Vec::new();
        for degree in 0..=shells.max_degree() {
            let radial = shells.radial(degree);
            let dim = shells.harmonic_dim(degree);
            let angular: Vec<_> = shells.points.iter().map(|&point| shells.harmonics(degree, point)).collect();
            degrees.push(BandDegree { degree, dim, radial: radial.ncols(), offset: columns.len() });
            for n in 0..radial.ncols() {
                for m in 0..dim {
                    columns.push(angular.iter().enumerate().map(|(p, y)| radial[(p, n)] * y[m]).collect());
                }
            }
        }
        if columns.is_empty() {
            return Err(Error::range("rings", "at least one with a grid point near", 0));
        }
        let sampled = Mat::from_fn(shells.points.len(), columns.len(), |p, f| columns[f][p]);
        let (functions, coordinates) = orthonormalise(&sampled)?;
        Ok(Self { shells, degrees, functions, coordinates })
    }
}

/// An orthonormal basis U of the span of the columns, `[rows, rank]`, and the columns in it, `[rank, columns]`.
pub(super) fn orthonormalise(columns: &Mat<f64>) -> Result<(Mat<f64>, Mat<f64>)> {
    let svd =
        columns.thin_svd().map_err(|error| Error::numerical("singular value decomposition", format!("{error:?}")))?;
    let values = svd.S().column_vector();
    let strongest = if values.nrows() == 0 { 0.0 } else { values[0] };
    let rank = values.iter().filter(|&&value| value > RANK_THRESHOLD * strongest).count();
    let basis = svd.U().subcols(0, rank).to_owned();
    let coordinates = basis.transpose() * columns;
    Ok((basis, coordinates))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::steerable::RingsConfig;

    #[test]
    fn functions_are_independent_on_every_usual_grid() {
        for dims in [2, 3] {
            for side in [1, 3, 5, 7] {
                let shells = Shells::new(dims, side, &RingsConfig::default()).unwrap();
                let count = shells.functions();
                let band = Band::new(shells).unwrap();
                assert_eq!(band.functions.ncols(), count, "{dims}-D, side {side}");
                let error = band.functions.transpose() * &band.functions - Mat::<f64>::identity(count, count);
                assert!(error.norm_max() < 1e-14);
            }
        }
    }

    #[test]
    fn huge_bands_are_refused_before_they_are_sampled() {
        let shells = Shells::new(3, 101, &RingsConfig::default()).unwrap();
        assert!(matches!(Band::new(shells), Err(Error::OutOfRange { .. })));
        let far = RingsConfig { radii: Some(vec![9.0]), widths: Some(vec![0.1]), max_degrees: Some(vec![0]) };
        assert!(matches!(Band::new(Shells::new(2, 3, &far).unwrap()), Err(Error::OutOfRange { .. })));
    }

    #[test]
    fn frequencies_beyond_the_grid_do_not_raise_the_rank() {
        // Nine points carry at most nine functions.
        let config = RingsConfig { max_degrees: Some(vec![0, 8]), ..RingsConfig::default() };
        let band = Band::new(Shells::new(2, 3, &config).unwrap()).unwrap();
        assert_eq!(band.functions.ncols(), 9);
        let back = &band.functions * &band.coordinates;
        let worst = &band.functions * (band.functions.transpose() * &back) - &back;
        assert!(worst.norm_max() < 1e-14);
    }
}
