//! Cyclic groups: the turns C_N of the plane, and the translations Z_n of a periodic line.

use std::sync::Arc;

use faer::Mat;

use super::planar_irrep::{planar_irreps, turn};
use super::{Element, Family, Group};
use crate::error::{Error, Result};
use crate::irrep::Irrep;

/// The integers modulo n, which both groups are.
#[derive(Debug, Clone, Copy)]
struct Residues {
    n: usize,
}

impl Residues {
    fn new(name: &str, n: usize) -> Result<Self> {
        let known = (1..=1_000_000).contains(&n).then_some(Self { n });
        known.ok_or_else(|| Error::range(format!("order of {name}"), "1 to 1000000", n))
    }
    fn order(self) -> u128 {
        self.n as u128
    }
    fn add(self, g: &Element, h: &Element) -> Element {
        Element::Finite((g.index() + h.index()) % self.order())
    }
    fn negate(self, g: &Element) -> Element {
        Element::Finite((self.order() - g.index()) % self.order())
    }
    fn generators(self) -> Vec<Element> {
        if self.n == 1 { vec![] } else { vec![Element::Finite(1)] }
    }
    /// The irreps of either group, as turns.
    fn irreps(self, group: Arc<impl Group + 'static>) -> Vec<Irrep> {
        planar_irreps(group, Some(self.n), false, self.n / 2)
    }
}

/// C_N: the turns by 2πk/N; element k is rᵏ.
#[derive(Debug, Clone)]
pub struct Cyclic {
    residues: Residues,
}

impl Cyclic {
    /// C_n.
    ///
    /// # Errors
    /// [`Error::OutOfRange`] unless 1 ≤ n ≤ 1,000,000.
    pub fn new(n: usize) -> Result<Self> {
        Ok(Self { residues: Residues::new("C_N", n)? })
    }
}

impl Group for Cyclic {
    fn name(&self) -> String {
        format!("C{}", self.residues.n)
    }
    fn family(&self) -> Family {
        Family::Cyclic(self.residues.n)
    }
    fn order(&self) -> Option<u128> {
        Some(self.residues.order())
    }
    fn identity(&self) -> Element {
        Element::Finite(0)
    }
    fn multiply(&self, g: &Element, h: &Element) -> Element {
        self.residues.add(g, h)
    }
    fn inverse(&self, g: &Element) -> Element {
        self.residues.negate(g)
    }
    fn generators(&self) -> Vec<Element> {
        self.residues.generators()
    }
    fn point_matrix(&self, g: &Element) -> Option<Mat<f64>> {
        Some(turn(g.index() as usize, self.residues.n, false))
    }
    fn irreps(self: Arc<Self>, _max_degree: usize) -> Result<Vec<Irrep>> {
        let residues = self.residues;
        Ok(residues.irreps(self))
    }
}

/// Z_n: the translations of n points on a circle; element k moves point j to j + k.
#[derive(Debug, Clone)]
pub struct Translations {
    residues: Residues,
}

impl Translations {
    /// Z_n.
    ///
    /// # Errors
    /// [`Error::OutOfRange`] unless 1 ≤ n ≤ 1,000,000.
    pub fn new(n: usize) -> Result<Self> {
        Ok(Self { residues: Residues::new("Z_n", n)? })
    }
}

impl Group for Translations {
    fn name(&self) -> String {
        format!("Z{}", self.residues.n)
    }
    fn family(&self) -> Family {
        Family::Translations(self.residues.n)
    }
    fn order(&self) -> Option<u128> {
        Some(self.residues.order())
    }
    fn identity(&self) -> Element {
        Element::Finite(0)
    }
    fn multiply(&self, g: &Element, h: &Element) -> Element {
        self.residues.add(g, h)
    }
    fn inverse(&self, g: &Element) -> Element {
        self.residues.negate(g)
    }
    fn generators(&self) -> Vec<Element> {
        self.residues.generators()
    }
    fn point_permutation(&self, g: &Element) -> Option<Vec<u32>> {
        let shift = g.index() as usize;
        Some((0..self.residues.n).map(|j| ((j + shift) % self.residues.n) as u32).collect())
    }
    fn irreps(self: Arc<Self>, _max_degree: usize) -> Result<Vec<Irrep>> {
        let residues = self.residues;
        Ok(residues.irreps(self))
    }
}
