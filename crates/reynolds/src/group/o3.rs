//! O(3), the rotations of space and the point reflection.

use std::sync::Arc;

use faer::Mat;

use super::so2::check_degree;
use super::so3::{SO3, rotations, spherical_irreps};
use super::{Element, Family, Group, MAX_DEGREE, Spatial};
use crate::error::Result;
use crate::haar::Quadrature;
use crate::irrep::Irrep;

/// O(3) = SO(3) × {1, −1}.
#[derive(Debug, Clone, Copy, Default)]
pub struct O3;

impl Group for O3 {
    fn name(&self) -> String {
        "O3".into()
    }
    fn family(&self) -> Family {
        Family::O3
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
        let mut generators = SO3.generators();
        generators.push(Element::Spatial(Spatial { inverted: true, ..Spatial::IDENTITY }));
        generators
    }
    fn quadrature(&self, degree: usize) -> Result<Quadrature> {
        check_degree("degree of a quadrature on O(3)", degree, 4 * MAX_DEGREE)?;
        let (elements, weights) = rotations(degree);
        let signed = |inverted| elements.iter().map(move |&g| Element::Spatial(Spatial { inverted, ..g }));
        let nodes = signed(false).chain(signed(true)).collect();
        let weights = weights.iter().chain(&weights).map(|weight| weight / 2.0).collect();
        Ok(Quadrature { nodes, weights })
    }
    fn point_matrix(&self, g: &Element) -> Option<Mat<f64>> {
        Some(g.spatial().matrix())
    }
    fn irreps(self: Arc<Self>, max_degree: usize) -> Result<Vec<Irrep>> {
        check_degree("degree l of O(3)", max_degree, MAX_DEGREE)?;
        Ok(spherical_irreps(self, true, max_degree))
    }
}
