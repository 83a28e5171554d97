//! The continuous groups: SO(2) and O(2) of the plane, SO(3) and O(3) of space.
//!
//! ```text
//! O(2) = {r(θ)} ∪ {r(θ)s},  s the flip diag(−1, 1)        O(3) = SO(3) × {1, −1}
//! D^l(R):  Y_l(Rx) = D^l(R) Y_l(x),      (l, p):  ±R ↦ (p if −) · D^l(R),      p = ±1
//! ```

use std::f64::consts::TAU;
use std::sync::Arc;

use faer::Mat;

use super::gauss_legendre::gauss_legendre;
use super::planar_irrep::planar_irreps;
use super::{Element, Family, Group, GroupRef, MAX_DEGREE, Planar, Spatial};
use crate::error::{Error, Result};
use crate::haar::Quadrature;
use crate::irrep::Irrep;
use crate::rep::Formula;
use crate::steerable::wigner_d;

/// SO(2), the turns of the plane.
pub const SO2: Orthogonal = Orthogonal { space: false, reflections: false };
/// O(2), the turns and reflections of the plane.
pub const O2: Orthogonal = Orthogonal { space: false, reflections: true };
/// SO(3), the rotations of space.
pub const SO3: Orthogonal = Orthogonal { space: true, reflections: false };
/// O(3), the rotations of space and the point reflection.
pub const O3: Orthogonal = Orthogonal { space: true, reflections: true };

/// One of [`SO2`], [`O2`], [`SO3`], [`O3`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Orthogonal {
    /// Of space, not the plane.
    space: bool,
    reflections: bool,
}

impl Orthogonal {
    /// Whether to reflect, for each component of the group: SO(n) has one, O(n) two.
    fn signs(self) -> &'static [bool] {
        if self.reflections { &[false, true] } else { &[false] }
    }

    fn letters(self) -> &'static str {
        if self.reflections { "O" } else { "SO" }
    }

    fn dims(self) -> usize {
        if self.space { 3 } else { 2 }
    }

    fn check_degree(self, what: &str, degree: usize, limit: usize) -> Result<()> {
        if degree <= limit {
            return Ok(());
        }
        let (name, dims) = (self.letters(), self.dims());
        Err(Error::range(format!("{what} {name}({dims})"), format!("at most {limit}"), degree))
    }
}

impl Group for Orthogonal {
    fn name(&self) -> String {
        format!("{}{}", self.letters(), self.dims())
    }
    fn family(&self) -> Family {
        match *self {
            SO2 => Family::SO2,
            O2 => Family::O2,
            SO3 => Family::SO3,
            _ => Family::O3,
        }
    }
    fn order(&self) -> Option<u128> {
        None
    }
    fn identity(&self) -> Element {
        if self.space { Element::Spatial(Spatial::IDENTITY) } else { Element::Planar(Planar::new(0.0, false)) }
    }
    fn multiply(&self, g: &Element, h: &Element) -> Element {
        match self.space {
            false => Element::Planar(g.planar().multiply(h.planar())),
            true => Element::Spatial(g.spatial().multiply(h.spatial())),
        }
    }
    fn inverse(&self, g: &Element) -> Element {
        match self.space {
            false => Element::Planar(g.planar().inverse()),
            true => Element::Spatial(g.spatial().inverse()),
        }
    }
    fn generators(&self) -> Vec<Element> {
        // One radian is no rational part of a turn, so its powers are dense; the circles about z and about y generate SO(3).
        let (mut generators, reflection) = match self.space {
            false => (vec![Element::Planar(Planar::new(1.0, false))], Element::Planar(Planar::new(0.0, true))),
            true => (
                [(1.0, 0.0), (0.0, 1.0)].map(|(z, y)| Element::Spatial(Spatial::from_euler(z, y, 0.0))).to_vec(),
                Element::Spatial(Spatial { inverted: true, ..Spatial::IDENTITY }),
            ),
        };
        generators.extend(self.reflections.then_some(reflection));
        generators
    }
    fn quadrature(&self, degree: usize) -> Result<Quadrature> {
        self.check_degree("degree of a quadrature on", degree, 4 * MAX_DEGREE)?;
        let signs = self.signs();
        if !self.space {
            let turns = |flip| equidistant(degree).map(move |angle| Element::Planar(Planar::new(angle, flip)));
            return Ok(Quadrature::uniform(signs.iter().flat_map(|&flip| turns(flip)).collect()));
        }
        let (rotations, weights) = rotations(degree);
        let signed = |inverted| rotations.iter().map(move |&g| Element::Spatial(Spatial { inverted, ..g }));
        let nodes = signs.iter().flat_map(|&inverted| signed(inverted)).collect();
        let shares = signs.iter().flat_map(|_| weights.iter().map(|weight| weight / signs.len() as f64));
        Ok(Quadrature { nodes, weights: shares.collect() })
    }
    fn point_matrix(&self, g: &Element) -> Option<Mat<f64>> {
        Some(if self.space { g.spatial().matrix() } else { g.planar().matrix() })
    }
    fn irreps(self: Arc<Self>, max_degree: usize) -> Result<Vec<Irrep>> {
        let what = if self.space { "degree l of" } else { "frequency of" };
        self.check_degree(what, max_degree, MAX_DEGREE)?;
        let reflections = self.reflections;
        if !self.space {
            return Ok(planar_irreps(self, None, reflections, max_degree));
        }
        let parities: &[Option<bool>] = if reflections { &[Some(false), Some(true)] } else { &[None] };
        let group: GroupRef = self;
        let both = |l| parities.iter().map(move |&odd| (l, odd));
        Ok((0..=max_degree).flat_map(both).map(|(l, odd)| spherical_irrep(&group, l, odd)).collect())
    }
}

/// D^l; `odd` is `None` on SO(3), else whether the inversion acts by −1.
fn spherical_irrep(group: &GroupRef, l: usize, odd: Option<bool>) -> Irrep {
    let label = format!("{l}{}", odd.map_or("", |odd| if odd { "o" } else { "e" }));
    let matrix = move |g: &Element| {
        let spatial = g.spatial();
        let matrix = wigner_d(l, &spatial.rotation);
        if spatial.inverted && odd == Some(true) { -matrix } else { matrix }
    };
    let rep = Formula::new(group, label.clone(), 2 * l + 1, matrix).degree(l).signed_if(l == 0);
    Irrep::of_real_type(label, rep.shared())
}

/// degree + 1 equidistant angles: exact for frequencies up to `degree`.
fn equidistant(degree: usize) -> impl Iterator<Item = f64> {
    (0..=degree).map(move |q| TAU * q as f64 / (degree + 1) as f64)
}

/// Euler angles: equidistant in α and γ, Gauss–Legendre in cos β. Exact for D^l with l ≤ `degree`.
fn rotations(degree: usize) -> (Vec<Spatial>, Vec<f64>) {
    // The integrals over α and γ leave P_l(cos β), a polynomial of degree l: n nodes serve up to 2n − 1.
    let nodes = degree / 2 + 1;
    let share = 0.5 / ((degree + 1) * (degree + 1)) as f64;
    let (mut elements, mut weights) = (Vec::new(), Vec::new());
    for (cosine, weight) in gauss_legendre(nodes) {
        for alpha in equidistant(degree) {
            for gamma in equidistant(degree) {
                elements.push(Spatial::from_euler(alpha, cosine.acos(), gamma));
                weights.push(weight * share);
            }
        }
    }
    (elements, weights)
}
