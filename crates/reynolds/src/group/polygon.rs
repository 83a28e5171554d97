//! The groups of the regular N-gon: C_N, its turns; D_N, with reflections; Z_n, the same turns as permutations of its corners.

use std::sync::Arc;

use faer::Mat;

use super::planar_irrep::{planar_irreps, turn};
use super::{Element, Family, Group};
use crate::error::{Error, Result};
use crate::irrep::Irrep;

/// C_N, of order N: r⁰ … r^{N−1}. D_N, of order 2N: those, then r⁰s … r^{N−1}s, with s applied first and s r s = r⁻¹. Z_n, of order n:
/// element k moves point j of n on a circle to j + k.
#[derive(Debug, Clone, Copy)]
pub struct Polygon {
    n: usize,
    family: Family,
}

impl Polygon {
    /// C_n, for 1 ≤ n ≤ 1,000,000; the same bound holds for D_n and Z_n.
    pub fn cyclic(n: usize) -> Result<Self> {
        Self::new(n, Family::Cyclic(n), "order of C_N")
    }

    /// D_n; D_1 is called `flip`.
    pub fn dihedral(n: usize) -> Result<Self> {
        Self::new(n, Family::Dihedral(n), "N of D_N")
    }

    /// Z_n.
    pub fn translations(n: usize) -> Result<Self> {
        Self::new(n, Family::Translations(n), "order of Z_n")
    }

    fn new(n: usize, family: Family, what: &str) -> Result<Self> {
        if (1..=1_000_000).contains(&n) { Ok(Self { n, family }) } else { Err(Error::range(what, "1 to 1000000", n)) }
    }

    fn is_dihedral(&self) -> bool {
        matches!(self.family, Family::Dihedral(_))
    }

    fn is_translations(&self) -> bool {
        matches!(self.family, Family::Translations(_))
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

impl Group for Polygon {
    fn name(&self) -> String {
        match self.family {
            Family::Dihedral(1) => "flip".into(),
            Family::Dihedral(n) => format!("D{n}"),
            Family::Translations(n) => format!("Z{n}"),
            _ => format!("C{}", self.n),
        }
    }
    fn family(&self) -> Family {
        self.family
    }
    fn order(&self) -> Option<u128> {
        Some(self.n as u128 * if self.is_dihedral() { 2 } else { 1 })
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
        let turn = (self.n > 1).then(|| self.join(1, false));
        let flip = self.is_dihedral().then(|| self.join(0, true));
        turn.into_iter().chain(flip).collect()
    }
    fn point_matrix(&self, g: &Element) -> Option<Mat<f64>> {
        let (k, reflected) = self.split(g);
        (!self.is_translations()).then(|| turn(k, self.n, reflected))
    }
    fn point_permutation(&self, g: &Element) -> Option<Vec<u32>> {
        let shift = g.index() as usize;
        self.is_translations().then(|| (0..self.n).map(|j| ((j + shift) % self.n) as u32).collect())
    }
    fn irreps(self: Arc<Self>, _max_degree: usize) -> Result<Vec<Irrep>> {
        let (n, reflections) = (self.n, self.is_dihedral());
        Ok(planar_irreps(self, Some(n), reflections, n / 2))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flip_then_turn_is_numbered_after_the_turns() {
        let d4 = Polygon::dihedral(4).unwrap();
        let (r, s) = (Element::Finite(1), Element::Finite(4));
        assert_eq!(d4.multiply(&r, &s), Element::Finite(5));
        // s r = r⁻¹ s = r³ s.
        assert_eq!(d4.multiply(&s, &r), Element::Finite(7));
    }
}
