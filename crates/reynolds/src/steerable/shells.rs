//! Radial shells on a k×k or k×k×k grid, and the angular degrees each of them can carry.
//!
//! ```text
//! φ_r(x) = exp(−(|x| − r)² / 2σ_r²),      r = 0, 1, …, (k−1)/2,      degrees J ≤ L_r
//! σ = 0.005 at r = 0, 0.4 on the outermost ring, 0.6 between
//! L_r = min(2r, ⌊k/2⌋ − r + 2) in space;   0 at r = 0, 2 on the outermost ring, 2r or (r even) 2r − 1 between, in the plane
//! ```
//!
//! For one degree J the Gram matrix of sampled steerable kernels is that of the radial functions alone, since Σ_m Y_Jm² is
//! constant. [`Shells::radial`] therefore orthonormalises, per degree, exactly the rings that carry it; the centre counts
//! for J = 0 only, where the harmonics do not vanish.
//!
//! ```
//! use reynolds::steerable::{RingsConfig, Shells};
//! let shells = Shells::new(3, 7, &RingsConfig::default())?;
//! assert_eq!(shells.rings.iter().map(|ring| ring.max_degree).collect::<Vec<_>>(), [0, 2, 3, 2]);
//! assert_eq!(shells.functions(), 35);
//! assert_eq!(shells.radial(3).ncols(), 1);
//! # Ok::<(), reynolds::Error>(())
//! ```

use faer::Mat;

use super::{circular_harmonics, spherical_harmonics};
use crate::error::{Error, Result};
use crate::group::MAX_DEGREE;

/// The largest number of grid points served.
const MAX_POINTS: usize = 1 << 20;

/// A radial function whose squared norm on the grid is not above this has no grid point near its ring: it is left out.
const FAINT: f64 = 1e-2;

/// A radial function is dropped as dependent if orthogonalising it against earlier rings leaves less than this share of its norm.
const DEPENDENT: f64 = 1e-5;

/// Rings to use instead of the usual ones; `None` keeps the default of the module.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct RingsConfig {
    /// Radius of each ring, in grid steps. Needs the other two as well.
    pub radii: Option<Vec<f64>>,
    /// Width σ of each ring.
    pub widths: Option<Vec<f64>>,
    /// Largest angular degree of each ring.
    pub max_degrees: Option<Vec<usize>>,
}

/// One radial shell.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Ring {
    /// Its radius r, in grid steps.
    pub radius: f64,
    /// Its width σ.
    pub width: f64,
    /// L, the largest degree it carries.
    pub max_degree: usize,
}

/// The shells of one grid.
#[derive(Debug, Clone)]
pub struct Shells {
    /// 2 or 3.
    pub dims: usize,
    /// Number of points along each axis.
    pub side: usize,
    /// The rings, from the centre outwards.
    pub rings: Vec<Ring>,
    /// The grid points (x, y, z) from its centre, x fastest; z = 0 in the plane.
    pub points: Vec<[f64; 3]>,
}

impl Shells {
    /// The rings of a grid with `side` points in each of `dims` (2 or 3) directions, at most 2²⁰ in all. An even side needs rings of
    /// its own.
    pub fn new(dims: usize, side: usize, config: &RingsConfig) -> Result<Self> {
        if !matches!(dims, 2 | 3) {
            return Err(Error::range("dimension of the grid", "2 or 3", dims));
        }
        let count = side.checked_pow(dims as u32).filter(|&n| (1..=MAX_POINTS).contains(&n));
        let Some(count) = count else {
            return Err(Error::range("side of the grid", format!("1 to {MAX_POINTS} points"), side));
        };
        let rings = rings(dims, side, config)?;
        let middle = (side as f64 - 1.0) / 2.0;
        let coordinate = |index: usize| index as f64 - middle;
        let points = (0..count).map(|p| {
            let z = if dims == 3 { coordinate(p / (side * side)) } else { 0.0 };
            [coordinate(p % side), coordinate(p / side % side), z]
        });
        Ok(Self { dims, side, rings, points: points.collect() })
    }

    /// The largest degree on any ring.
    pub fn max_degree(&self) -> usize {
        self.rings.iter().map(|ring| ring.max_degree).max().unwrap_or(0)
    }

    /// Dimension of the harmonics of one degree: 2J + 1 in space, 1 or 2 in the plane.
    pub fn harmonic_dim(&self, degree: usize) -> usize {
        if self.dims == 3 { 2 * degree + 1 } else { 1 + usize::from(degree > 0) }
    }

    /// Y_J at a point of the grid.
    pub fn harmonics(&self, degree: usize, point: [f64; 3]) -> Vec<f64> {
        if self.dims == 3 {
            spherical_harmonics(degree, point)
        } else {
            circular_harmonics(degree, [point[0], point[1]])
        }
    }

    /// Number of scalar functions φ_r Y_Jm.
    pub fn functions(&self) -> usize {
        self.rings.iter().flat_map(|ring| 0..=ring.max_degree).map(|degree| self.harmonic_dim(degree)).sum()
    }

    /// The rings that carry degree J, sampled: `[points, rings]`, as they are.
    pub fn profiles(&self, degree: usize) -> Mat<f64> {
        let carrying: Vec<_> = self.rings.iter().filter(|ring| ring.max_degree >= degree).collect();
        Mat::from_fn(self.points.len(), carrying.len(), |p, r| {
            let [x, y, z] = self.points[p];
            let distance = (x * x + y * y + z * z).sqrt();
            let offset = (distance - carrying[r].radius) / carrying[r].width;
            if degree > 0 && distance == 0.0 { 0.0 } else { (-0.5 * offset * offset).exp() }
        })
    }

    /// Orthonormal radial functions φ̃ of degree J, `[points, n]`: the span of [`Shells::profiles`] in ring order.
    ///
    /// n is the number of rings that carry J, less those without a grid point near (squared norm at most 1e-2) and those
    /// that depend on the rings before them (less than 1e-5 of their norm is new).
    pub fn radial(&self, degree: usize) -> Mat<f64> {
        let profiles = self.profiles(degree);
        let mut kept: Vec<Vec<f64>> = Vec::new();
        for column in profiles.col_iter() {
            let mut function: Vec<f64> = column.iter().copied().collect();
            let before = dot(&function, &function);
            if before <= FAINT {
                continue;
            }
            // Twice is enough: the second round removes the rounding errors of the first.
            for _ in 0..2 {
                for other in &kept {
                    let share = dot(&function, other);
                    function.iter_mut().zip(other).for_each(|(f, o)| *f -= share * o);
                }
            }
            let norm = dot(&function, &function).sqrt();
            if norm > DEPENDENT * before.sqrt() {
                function.iter_mut().for_each(|f| *f /= norm);
                kept.push(function);
            }
        }
        Mat::from_fn(self.points.len(), kept.len(), |p, r| kept[r][p])
    }
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(x, y)| x * y).sum()
}

/// The rings of a configuration, checked.
fn rings(dims: usize, side: usize, config: &RingsConfig) -> Result<Vec<Ring>> {
    let custom = config.radii.is_some();
    if custom && (config.widths.is_none() || config.max_degrees.is_none()) {
        return Err(Error::range("rings", "widths and max_degrees beside radii", "radii alone"));
    }
    if !custom && side.is_multiple_of(2) {
        return Err(Error::range("side of the grid", "an odd number, or rings of its own", side));
    }
    let outer = (side - 1) / 2;
    let radii = config.radii.clone().unwrap_or_else(|| (0..=outer).map(|r| r as f64).collect());
    let width = |r| if r == 0 { 0.005 } else { if r == outer { 0.4 } else { 0.6 } };
    let widths = config.widths.clone().unwrap_or_else(|| (0..=outer).map(width).collect());
    let usual = || (0..=outer).map(|r| default_degree(dims, side, r)).collect();
    let degrees = config.max_degrees.clone().unwrap_or_else(usual);
    for (what, length) in [("ring widths", widths.len()), ("ring degrees", degrees.len())] {
        if length != radii.len() || radii.is_empty() {
            return Err(Error::range(format!("number of {what}"), radii.len().max(1), length));
        }
    }
    let mut rings = Vec::with_capacity(radii.len());
    for ((radius, width), max_degree) in radii.into_iter().zip(widths).zip(degrees) {
        if !(radius.is_finite() && radius >= 0.0) {
            return Err(Error::range("radius of a ring", "a finite number, at least 0", radius));
        }
        if !(width.is_finite() && width > 0.0) {
            return Err(Error::range("width of a ring", "a finite number over 0", width));
        }
        if max_degree > MAX_DEGREE {
            return Err(Error::range("degree of a ring", format!("at most {MAX_DEGREE}"), max_degree));
        }
        rings.push(Ring { radius, width, max_degree });
    }
    Ok(rings)
}

/// L_r of the module documentation.
fn default_degree(dims: usize, side: usize, r: usize) -> usize {
    let limit = match dims {
        3 => side / 2 + 2 - r,
        _ if r == (side - 1) / 2 => 2,
        _ => (2 * r).saturating_sub((r + 1) % 2),
    };
    limit.min(2 * r).min(MAX_DEGREE)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shells(dims: usize, side: usize) -> Shells {
        Shells::new(dims, side, &RingsConfig::default()).unwrap()
    }

    #[test]
    fn plane_carries_six_functions_on_3x3() {
        let degrees = |side| shells(2, side).rings.iter().map(|ring| ring.max_degree).collect::<Vec<_>>();
        assert_eq!(shells(2, 3).functions(), 6);
        assert_eq!(degrees(3), [0, 2]);
        assert_eq!(degrees(5), [0, 2, 2]);
        assert_eq!(degrees(7), [0, 2, 3, 2]);
        assert_eq!(degrees(9), [0, 2, 3, 6, 2]);
    }

    #[test]
    fn radial_functions_are_orthonormal_over_the_rings_that_carry_a_degree() {
        let shells = shells(3, 7);
        for (degree, rings) in [(0, 4), (1, 3), (2, 3), (3, 1)] {
            let radial = shells.radial(degree);
            assert_eq!(radial.ncols(), rings);
            let error = radial.transpose() * &radial - Mat::<f64>::identity(rings, rings);
            assert!(error.norm_max() < 1e-14);
            let centre = shells.points.len() / 2;
            assert!(degree == 0 || (0..rings).all(|r| radial[(centre, r)] == 0.0));
        }
        // The one function of degree 3 is ring 2 itself, untouched by ring 1: their cosine is not 0.
        let (alone, all) = (shells.radial(3), shells.radial(2));
        let cosine: f64 = (0..343).map(|p| alone[(p, 0)] * all[(p, 1)]).sum();
        assert!((cosine - 0.846).abs() < 5e-4, "{cosine}");
    }

    #[test]
    fn far_and_repeated_rings_are_left_out() {
        let config = RingsConfig {
            radii: Some(vec![0.0, 1.0, 1.0, 40.0]),
            widths: Some(vec![0.2, 0.5, 0.5, 0.5]),
            max_degrees: Some(vec![0, 1, 1, 1]),
        };
        let shells = Shells::new(2, 4, &config).unwrap();
        assert_eq!((shells.radial(0).ncols(), shells.radial(1).ncols()), (1, 1));
    }

    #[test]
    fn bad_rings_are_errors() {
        let new = |dims, side, config: &RingsConfig| Shells::new(dims, side, config).map(|_| ());
        let usual = RingsConfig::default();
        assert!(new(4, 3, &usual).is_err() && new(2, 0, &usual).is_err() && new(3, 4, &usual).is_err());
        assert!(new(3, 10_001, &usual).is_err());
        let radii = RingsConfig { radii: Some(vec![0.0, 1.0]), ..usual.clone() };
        assert!(new(2, 3, &radii).is_err());
        for bad in [vec![0.5], vec![0.5, 0.0], vec![0.5, f64::NAN]] {
            assert!(new(2, 3, &RingsConfig { widths: Some(bad), ..usual.clone() }).is_err());
        }
        assert!(new(2, 3, &RingsConfig { max_degrees: Some(vec![0, 33]), ..usual }).is_err());
    }
}
