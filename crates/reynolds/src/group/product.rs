//! Direct products G × H.

use std::sync::Arc;

use faer::{Mat, Side};

use super::{Element, Group, GroupRef, Homomorphism};
use crate::error::{Error, Result};
use crate::haar::Quadrature;
use crate::irrep::{Irrep, commutant_basis};
use crate::random::Random;
use crate::rep::{self, Rep, Representation};

/// The largest number of pairs of points that a product permutes.
const MAX_POINTS: usize = 1 << 26;

/// G × H. If both are finite, the element (g, h) has the number g·|H| + h.
#[derive(Debug, Clone)]
pub struct Product {
    first: GroupRef,
    second: GroupRef,
}

impl Product {
    /// G × H.
    ///
    /// # Errors
    /// [`Error::TooLarge`] if the order overflows 128 bits.
    pub fn new(first: &GroupRef, second: &GroupRef) -> Result<Self> {
        if let (Some(a), Some(b)) = (first.order(), second.order())
            && a.checked_mul(b).is_none()
        {
            return Err(Error::TooLarge {
                group: format!("{} x {}", first.name(), second.name()),
                operation: "numbering",
                limit: u128::MAX,
                got: format!("{a} times {b}"),
            });
        }
        Ok(Self { first: first.clone(), second: second.clone() })
    }

    /// The two factors.
    pub fn factors(&self) -> (&GroupRef, &GroupRef) {
        (&self.first, &self.second)
    }

    /// The projections G × H → G and G × H → H, along which representations of a factor are pulled back.
    pub fn projections(self: &Arc<Self>) -> (Homomorphism, Homomorphism) {
        let source: GroupRef = self.clone();
        let (left, right) = (self.clone(), self.clone());
        (
            Homomorphism::trusted(&source, &self.first, Arc::new(move |g| left.split(g).0)),
            Homomorphism::trusted(&source, &self.second, Arc::new(move |g| right.split(g).1)),
        )
    }

    /// Order of the second factor, if both are finite.
    fn radix(&self) -> Option<u128> {
        self.first.order().and(self.second.order())
    }

    fn split(&self, g: &Element) -> (Element, Element) {
        match (g, self.radix()) {
            (Element::Finite(index), Some(radix)) => (Element::Finite(index / radix), Element::Finite(index % radix)),
            (Element::Pair(pair), _) => (pair.0.clone(), pair.1.clone()),
            _ => panic!("expected an element of {}, got {g:?}", self.name()),
        }
    }

    fn join(&self, g: Element, h: Element) -> Element {
        match self.radix() {
            Some(radix) => Element::Finite(g.index() * radix + h.index()),
            None => Element::Pair(Box::new((g, h))),
        }
    }
}

impl Group for Product {
    fn name(&self) -> String {
        format!("{} x {}", self.first.name(), self.second.name())
    }
    fn order(&self) -> Option<u128> {
        Some(self.first.order()? * self.second.order()?)
    }
    fn identity(&self) -> Element {
        self.join(self.first.identity(), self.second.identity())
    }
    fn multiply(&self, g: &Element, h: &Element) -> Element {
        let ((a, b), (c, d)) = (self.split(g), self.split(h));
        self.join(self.first.multiply(&a, &c), self.second.multiply(&b, &d))
    }
    fn inverse(&self, g: &Element) -> Element {
        let (a, b) = self.split(g);
        self.join(self.first.inverse(&a), self.second.inverse(&b))
    }
    fn generators(&self) -> Vec<Element> {
        let left = self.first.generators().into_iter().map(|g| self.join(g, self.second.identity()));
        let right = self.second.generators().into_iter().map(|h| self.join(self.first.identity(), h));
        left.chain(right).collect()
    }
    fn quadrature(&self, degree: usize) -> Result<Quadrature> {
        if self.order().is_some() {
            return Ok(Quadrature::uniform(super::elements(self)?));
        }
        let (a, b) = (self.first.quadrature(degree)?, self.second.quadrature(degree)?);
        let pairs = || a.iter().flat_map(|g| b.iter().map(move |h| (g, h)));
        let nodes = pairs().map(|((g, _), (h, _))| self.join(g.clone(), h.clone())).collect();
        let weights = pairs().map(|((_, v), (_, w))| v * w).collect();
        Ok(Quadrature { nodes, weights })
    }
    /// The product of permutation actions, on pairs in row-major order; `None` over 2²⁶ pairs.
    fn point_permutation(&self, g: &Element) -> Option<Vec<u32>> {
        let (a, b) = self.split(g);
        let (a, b) = (self.first.point_permutation(&a)?, self.second.point_permutation(&b)?);
        a.len().checked_mul(b.len()).filter(|&points| points <= MAX_POINTS)?;
        let columns = b.len() as u32;
        Some(a.iter().flat_map(|&i| b.iter().map(move |&j| i * columns + j)).collect())
    }
    /// Those of G, then those of H: the tails are subgroups K × H with K ≤ G, then subgroups of H.
    fn transversals(&self) -> Result<Vec<Vec<Element>>> {
        let (first, second) = (self.first.transversals()?, self.second.transversals()?);
        let left = |t: Vec<Element>| t.into_iter().map(|g| self.join(g, self.second.identity())).collect();
        let right = |t: Vec<Element>| t.into_iter().map(|h| self.join(self.first.identity(), h)).collect();
        Ok(first.into_iter().map(left).chain(second.into_iter().map(right)).collect())
    }
    /// V ⊗ W for irreps V of G and W of H, split further where End(V) ⊗ End(W) is no division algebra.
    fn irreps(self: Arc<Self>, max_degree: usize) -> Result<Vec<Irrep>> {
        let (to_first, to_second) = self.projections();
        let mut irreps = Vec::new();
        for v in self.first.clone().irreps(max_degree)? {
            for w in self.second.clone().irreps(max_degree)? {
                let label = format!("{}*{}", v.label(), w.label());
                let pulled = (to_first.pull_back(v.rep())?, to_second.pull_back(w.rep())?);
                let tensor = rep::tensor(&pulled.0, &pulled.1)?;
                irreps.extend(split_tensor(&label, &tensor, v.commutant(), w.commutant())?);
            }
        }
        Ok(irreps)
    }
}

/// The different irreps inside V ⊗ W. The commutant is spanned by a ⊗ b; eigenspaces of a random symmetric element of it are irreducible.
fn split_tensor(label: &str, tensor: &Rep, a: &[Mat<f64>], b: &[Mat<f64>]) -> Result<Vec<Irrep>> {
    if a.len() == 1 || b.len() == 1 {
        let commutant = a.iter().flat_map(|x| b.iter().map(move |y| x.kron(y))).collect();
        return Ok(vec![Irrep::new(label, tensor.clone(), commutant)?]);
    }
    let mut random = Random::new(tensor.dim() as u64);
    let mut symmetric = Mat::<f64>::zeros(tensor.dim(), tensor.dim());
    for x in a {
        for y in b {
            let term = x.kron(y);
            symmetric += random.normal() * (&term + term.transpose());
        }
    }
    let eigen = symmetric
        .self_adjoint_eigen(Side::Lower)
        .map_err(|error| Error::Numerical { procedure: "irreps of a product", reason: format!("{error:?}") })?;
    let values = eigen.S().column_vector();
    let mut found: Vec<Irrep> = Vec::new();
    let mut start = 0;
    for end in 1..=tensor.dim() {
        if end < tensor.dim() && values[end] - values[end - 1] < 1e-9 {
            continue;
        }
        let subspace = rep::subspace(tensor, eigen.U().subcols(start, end - start).to_owned());
        start = end;
        let algebra = crate::irrep::commutant_dim(&subspace)?;
        let mut is_new = true;
        for known in &found {
            is_new &= crate::irrep::hom_dim(&subspace, known.rep())? == 0;
        }
        if is_new {
            let commutant = commutant_basis(&subspace, algebra)?;
            found.push(Irrep::new(format!("{label}#{}", found.len()), subspace, commutant)?);
        }
    }
    Ok(found)
}
