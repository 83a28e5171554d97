//! Dihedral groups D_N: the turns and reflections of a regular N-gon.

use std::sync::Arc;

use faer::Mat;

use super::planar_irrep::{planar_irreps, turn};
use super::{Element, Family, Group};
use crate::error::{Error, Result};
use crate::irrep::Irrep;

/// D_N, of order 2N: r⁰ … r^{N−1}, then r⁰s … r^{N−1}s, with s applied first and s r s = r⁻¹.
#[derive(Debug, Clone)]
pub struct Dihedral {
    n: usize,
}

impl Dihedral {
    /// D_n.
    ///
    /// # Errors
    /// [`Error::OutOfRange`] unless 1 ≤ n ≤ 1,000,000.
    pub fn new(n: usize) -> Result<Self> {
        if (1..=1_000_000).contains(&n) { Ok(Self { n }) } else { Err(Error::range("N of D_N", "1 to 1000000", n)) }
    }

    /// Turn and reflection of an element.
    fn split(&self, g: &Element) -> (usize, bool) {
        let index = g.index() as usize;
        (index % self.n, index >= self.n)
    }

    fn join(&self, turn: usize, reflected: bool) -> Element {
        Element::Finite((turn % self.n + if reflected { self.n } else { 0 }) as u128)
    }
}

impl Group for Dihedral {
    fn name(&self) -> String {
        format!("D{}", self.n)
    }
    fn family(&self) -> Family {
        Family::Dihedral(self.n)
    }
    fn order(&self) -> Option<u128> {
        Some(2 * self.n as u128)
    }
    fn identity(&self) -> Element {
        Element::Finite(0)
    }
    fn multiply(&self, g: &Element, h: &Element) -> Element {
        let ((a, flipped), (b, then)) = (self.split(g), self.split(h));
        let b = if flipped { self.n - b } else { b };
        self.join(a + b, flipped != then)
    }
    fn inverse(&self, g: &Element) -> Element {
        match self.split(g) {
            (_, true) => g.clone(),
            (turn, false) => self.join(self.n - turn, false),
        }
    }
    fn generators(&self) -> Vec<Element> {
        let flip = self.join(0, true);
        if self.n == 1 { vec![flip] } else { vec![self.join(1, false), flip] }
    }
    fn point_matrix(&self, g: &Element) -> Option<Mat<f64>> {
        let (k, reflected) = self.split(g);
        Some(turn(k, self.n, reflected))
    }
    fn irreps(self: Arc<Self>, _max_degree: usize) -> Result<Vec<Irrep>> {
        let n = self.n;
        Ok(planar_irreps(self, Some(n), true, n / 2))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flip_then_turn_is_numbered_after_the_turns() {
        let d4 = Dihedral::new(4).unwrap();
        let (r, s) = (Element::Finite(1), Element::Finite(4));
        assert_eq!(d4.multiply(&r, &s), Element::Finite(5));
        // s r = r⁻¹ s = r³ s.
        assert_eq!(d4.multiply(&s, &r), Element::Finite(7));
    }
}
