//! SO(3), the rotations of space, and the irreducible representations of SO(3) and O(3).
//!
//! ```text
//! D^l(R):  Y_l(Rx) = D^l(R) Y_l(x),      (l, p):  ±R ↦ (p if −) · D^l(R),      p = ±1
//! ```

use std::sync::Arc;

use faer::Mat;

use super::gauss_legendre::gauss_legendre;
use super::so2::{check_degree, equidistant};
use super::{Element, Family, Group, GroupRef, MAX_DEGREE, Spatial};
use crate::error::Result;
use crate::haar::Quadrature;
use crate::irrep::Irrep;
use crate::rep::{Rep, Representation, SignedPermutation};
use crate::steerable::wigner_d;

/// SO(3).
#[derive(Debug, Clone, Copy, Default)]
pub struct SO3;

/// D^l, of a parity if the group has the inversion.
#[derive(Debug)]
struct SphericalIrrep {
    group: GroupRef,
    l: usize,
    /// `None` on SO(3); else whether the inversion acts by −1.
    odd: Option<bool>,
}

impl Representation for SphericalIrrep {
    fn group(&self) -> &GroupRef {
        &self.group
    }
    fn dim(&self) -> usize {
        2 * self.l + 1
    }
    fn label(&self) -> String {
        format!("{}{}", self.l, self.odd.map_or("", |odd| if odd { "o" } else { "e" }))
    }
    fn degree(&self) -> usize {
        self.l
    }
    fn matrix(&self, g: &Element) -> Mat<f64> {
        let spatial = g.spatial();
        let matrix = wigner_d(self.l, &spatial.rotation);
        if spatial.inverted && self.odd == Some(true) { -matrix } else { matrix }
    }
    fn signed_permutation(&self, g: &Element) -> Option<SignedPermutation> {
        if self.l == 0 { SignedPermutation::from_matrix(&self.matrix(g)) } else { None }
    }
}

/// The irreps D^l, l ≤ `max_degree`, in both parities if `parities`.
pub(super) fn spherical_irreps(group: Arc<impl Group + 'static>, parities: bool, max_degree: usize) -> Vec<Irrep> {
    let group: GroupRef = group;
    let kinds: &[Option<bool>] = if parities { &[Some(false), Some(true)] } else { &[None] };
    let mut irreps = Vec::new();
    for l in 0..=max_degree {
        for &odd in kinds {
            let rep = SphericalIrrep { group: group.clone(), l, odd };
            let label = rep.label();
            let rep: Rep = Arc::new(rep);
            irreps.push(Irrep::of_real_type(label, rep));
        }
    }
    irreps
}

/// Euler angles: equidistant in α and γ, Gauss–Legendre in cos β. Exact for D^l with l ≤ `degree`.
pub(super) fn rotations(degree: usize) -> (Vec<Spatial>, Vec<f64>) {
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

impl Group for SO3 {
    fn name(&self) -> String {
        "SO3".into()
    }
    fn family(&self) -> Family {
        Family::SO3
    }
    fn order(&self) -> Option<u128> {
        None
    }
    fn identity(&self) -> Element {
        Element::Spatial(Spatial::IDENTITY)
    }
    fn multiply(&self, g: &Element, h: &Element) -> Element {
        Element::Spatial(g.spatial().multiply(h.spatial()))
    }
    fn inverse(&self, g: &Element) -> Element {
        Element::Spatial(g.spatial().inverse())
    }
    fn generators(&self) -> Vec<Element> {
        // One radian about z and about y: each dense in its circle, and the two circles generate SO(3).
        vec![Element::Spatial(Spatial::from_euler(1.0, 0.0, 0.0)), Element::Spatial(Spatial::from_euler(0.0, 1.0, 0.0))]
    }
    fn quadrature(&self, degree: usize) -> Result<Quadrature> {
        check_degree("degree of a quadrature on SO(3)", degree, 4 * MAX_DEGREE)?;
        let (elements, weights) = rotations(degree);
        Ok(Quadrature { nodes: elements.into_iter().map(Element::Spatial).collect(), weights })
    }
    fn point_matrix(&self, g: &Element) -> Option<Mat<f64>> {
        Some(g.spatial().matrix())
    }
    fn irreps(self: Arc<Self>, max_degree: usize) -> Result<Vec<Irrep>> {
        check_degree("degree l of SO(3)", max_degree, MAX_DEGREE)?;
        Ok(spherical_irreps(self, false, max_degree))
    }
}
