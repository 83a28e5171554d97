//! Cyclic groups: the turns C_N of the plane, and the translations Z_n of a periodic line.

use std::sync::Arc;

use faer::Mat;

use super::planar_irrep::{planar_irreps, turn};
use super::{Element, Group};
use crate::error::{Error, Result};
use crate::irrep::Irrep;

fn check_order(name: &str, n: usize) -> Result<usize> {
    if (1..=1_000_000).contains(&n) { Ok(n) } else { Err(Error::range(format!("order of {name}"), "1 to 1000000", n)) }
}

/// C_N: the turns by 2πk/N; element k is rᵏ.
#[derive(Debug, Clone)]
pub struct Cyclic {
    n: usize,
}

impl Cyclic {
    /// C_n.
    ///
    /// # Errors
    /// [`Error::OutOfRange`] unless 1 ≤ n ≤ 1,000,000.
    pub fn new(n: usize) -> Result<Self> {
        Ok(Self { n: check_order("C_N", n)? })
    }
}

impl Group for Cyclic {
    fn name(&self) -> String {
        format!("C{}", self.n)
    }
    fn order(&self) -> Option<u128> {
        Some(self.n as u128)
    }
    fn identity(&self) -> Element {
        Element::Finite(0)
    }
    fn multiply(&self, g: &Element, h: &Element) -> Element {
        Element::Finite((g.index() + h.index()) % self.n as u128)
    }
    fn inverse(&self, g: &Element) -> Element {
        Element::Finite((self.n as u128 - g.index()) % self.n as u128)
    }
    fn generators(&self) -> Vec<Element> {
        if self.n == 1 { vec![] } else { vec![Element::Finite(1)] }
    }
    fn point_matrix(&self, g: &Element) -> Option<Mat<f64>> {
        Some(turn(g.index() as usize, self.n, false))
    }
    fn irreps(self: Arc<Self>, _max_degree: usize) -> Result<Vec<Irrep>> {
        let n = self.n;
        Ok(planar_irreps(self, Some(n), false, n / 2))
    }
}

/// Z_n: the translations of n points on a circle; element k moves point j to j + k.
#[derive(Debug, Clone)]
pub struct Translations {
    n: usize,
}

impl Translations {
    /// Z_n.
    ///
    /// # Errors
    /// [`Error::OutOfRange`] unless 1 ≤ n ≤ 1,000,000.
    pub fn new(n: usize) -> Result<Self> {
        Ok(Self { n: check_order("Z_n", n)? })
    }
}

impl Group for Translations {
    fn name(&self) -> String {
        format!("Z{}", self.n)
    }
    fn order(&self) -> Option<u128> {
        Some(self.n as u128)
    }
    fn identity(&self) -> Element {
        Element::Finite(0)
    }
    fn multiply(&self, g: &Element, h: &Element) -> Element {
        Element::Finite((g.index() + h.index()) % self.n as u128)
    }
    fn inverse(&self, g: &Element) -> Element {
        Element::Finite((self.n as u128 - g.index()) % self.n as u128)
    }
    fn generators(&self) -> Vec<Element> {
        if self.n == 1 { vec![] } else { vec![Element::Finite(1)] }
    }
    fn point_permutation(&self, g: &Element) -> Option<Vec<u32>> {
        let shift = g.index() as usize;
        Some((0..self.n).map(|j| ((j + shift) % self.n) as u32).collect())
    }
    fn irreps(self: Arc<Self>, _max_degree: usize) -> Result<Vec<Irrep>> {
        let n = self.n;
        Ok(planar_irreps(self, Some(n), false, n / 2))
    }
}
