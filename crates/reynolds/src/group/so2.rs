//! SO(2), the turns of the plane.

use std::f64::consts::TAU;
use std::sync::Arc;

use faer::Mat;

use super::planar_irrep::planar_irreps;
use super::{Element, Family, Group, MAX_DEGREE, Planar};
use crate::error::{Error, Result};
use crate::haar::Quadrature;
use crate::irrep::Irrep;

/// SO(2) = {r(θ)}.
#[derive(Debug, Clone, Copy, Default)]
pub struct SO2;

/// An error unless 0 ≤ degree ≤ limit.
pub(super) fn check_degree(what: &str, degree: usize, limit: usize) -> Result<()> {
    if degree <= limit { Ok(()) } else { Err(Error::range(what, format!("at most {limit}"), degree)) }
}

/// degree + 1 equidistant angles: exact for frequencies up to `degree`.
pub(super) fn equidistant(degree: usize) -> impl Iterator<Item = f64> {
    (0..=degree).map(move |q| TAU * q as f64 / (degree + 1) as f64)
}

impl Group for SO2 {
    fn name(&self) -> String {
        "SO2".into()
    }
    fn family(&self) -> Family {
        Family::SO2
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
        // One radian is no rational part of a turn, so its powers are dense.
        vec![Element::Planar(Planar::new(1.0, false))]
    }
    fn quadrature(&self, degree: usize) -> Result<Quadrature> {
        check_degree("degree of a quadrature on SO(2)", degree, 4 * MAX_DEGREE)?;
        Ok(Quadrature::uniform(equidistant(degree).map(|angle| Element::Planar(Planar::new(angle, false))).collect()))
    }
    fn point_matrix(&self, g: &Element) -> Option<Mat<f64>> {
        Some(g.planar().matrix())
    }
    fn irreps(self: Arc<Self>, max_degree: usize) -> Result<Vec<Irrep>> {
        check_degree("frequency of SO(2)", max_degree, MAX_DEGREE)?;
        Ok(planar_irreps(self, None, false, max_degree))
    }
}
