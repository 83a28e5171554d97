//! O(2), the turns and reflections of the plane.

use std::sync::Arc;

use faer::Mat;

use super::planar_irrep::planar_irreps;
use super::so2::{check_degree, equidistant};
use super::{Element, Family, Group, MAX_DEGREE, Planar};
use crate::error::Result;
use crate::haar::Quadrature;
use crate::irrep::Irrep;

/// O(2) = {r(θ)} ∪ {r(θ)s}, s the flip diag(−1, 1).
#[derive(Debug, Clone, Copy, Default)]
pub struct O2;

impl Group for O2 {
    fn name(&self) -> String {
        "O2".into()
    }
    fn family(&self) -> Family {
        Family::O2
    }
    fn order(&self) -> Option<u128> {
        None
    }
    fn identity(&self) -> Element {
        Element::Planar(Planar::new(0.0, false))
    }
    fn multiply(&self, g: &Element, h: &Element) -> Element {
        Element::Planar(g.planar().multiply(h.planar()))
    }
    fn inverse(&self, g: &Element) -> Element {
        Element::Planar(g.planar().inverse())
    }
    fn generators(&self) -> Vec<Element> {
        vec![Element::Planar(Planar::new(1.0, false)), Element::Planar(Planar::new(0.0, true))]
    }
    fn quadrature(&self, degree: usize) -> Result<Quadrature> {
        check_degree("degree of a quadrature on O(2)", degree, 4 * MAX_DEGREE)?;
        let both = [false, true].into_iter();
        let nodes = both.flat_map(|flip| equidistant(degree).map(move |a| Element::Planar(Planar::new(a, flip))));
        Ok(Quadrature::uniform(nodes.collect()))
    }
    fn point_matrix(&self, g: &Element) -> Option<Mat<f64>> {
        Some(g.planar().matrix())
    }
    fn irreps(self: Arc<Self>, max_degree: usize) -> Result<Vec<Irrep>> {
        check_degree("frequency of O(2)", max_degree, MAX_DEGREE)?;
        Ok(planar_irreps(self, None, true, max_degree))
    }
}
