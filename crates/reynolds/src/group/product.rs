//! Direct products G × H.

use std::sync::Arc;

use faer::Mat;

use super::{Element, Family, Group, GroupRef, Homomorphism};
use crate::error::{Error, Result};
use crate::haar::Quadrature;
use crate::irrep::{Irrep, eigenvectors};
use crate::rep::{self, Rep, Representation};

/// The largest number of pairs of points that a product permutes.
const MAX_POINTS: usize = 1 << 26;

/// The largest number of factors.
const MAX_FACTORS: usize = 16;

/// The largest number of irreps that are listed.
const MAX_IRREPS: usize = 1 << 14;

/// The largest number of nodes of a quadrature.
const MAX_NODES: usize = 1 << 22;

/// G × H. If both are finite, the element (g, h) has the number g·|H| + h.
#[derive(Debug, Clone)]
pub struct Product {
    first: GroupRef,
    second: GroupRef,
}

impl Product {
    /// G × H, of at most 16 factors and an order below 2¹²⁸. A product of products associates to the left, G × (H × K) = (G × H) × K,
    /// so that equal names mean equal groups.
    pub fn new(first: &GroupRef, second: &GroupRef) -> Result<Self> {
        if let Some(nested) = second.as_product() {
            let left: GroupRef = Arc::new(Self::new(first, &nested.first)?);
            return Self::new(&left, &nested.second);
        }
        let factors = count_factors(first.as_ref()) + 1;
        if factors > MAX_FACTORS {
            return Err(Error::range("factors of a product of groups", format!("at most {MAX_FACTORS}"), factors));
        }
        if let (Some(a), Some(b)) = (first.order(), second.order())
            && a.checked_mul(b).is_none()
        {
            let name = format!("{} x {}", first.name(), second.name());
            return Err(Error::too_large(name, "numbering", u128::MAX, format!("{a} times {b}")));
        }
        Ok(Self { first: first.clone(), second: second.clone() })
    }

    /// The two factors: all but the last, and the last.
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
            _ => panic!("expected an element of {}, found {g:?}", self.name()),
        }
    }

    /// (g, h).
    pub(super) fn join(&self, g: Element, h: Element) -> Element {
        match self.radix() {
            Some(radix) => Element::Finite(g.index() * radix + h.index()),
            None => Element::Pair(Box::new((g, h))),
        }
    }
}

fn count_factors(group: &dyn Group) -> usize {
    group.as_product().map_or(1, |product| count_factors(product.first.as_ref()) + 1)
}

impl Group for Product {
    fn name(&self) -> String {
        format!("{} x {}", self.first.name(), self.second.name())
    }
    fn family(&self) -> Family {
        Family::Product
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
        let (m, n) = (a.nodes.len(), b.nodes.len());
        if m.saturating_mul(n) > MAX_NODES {
            return Err(Error::too_large(self.name(), "quadrature", MAX_NODES as u128, format!("{m} times {n} nodes")));
        }
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
    fn as_product(&self) -> Option<&Product> {
        Some(self)
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
        let second = self.second.clone().irreps(max_degree)?;
        let second = second.iter().map(|w| Ok((w, to_second.pull_back(w.rep())?))).collect::<Result<Vec<_>>>()?;
        let mut irreps = Vec::new();
        for v in self.first.clone().irreps(max_degree)? {
            let left = to_first.pull_back(v.rep())?;
            for (w, right) in &second {
                if irreps.len() >= MAX_IRREPS {
                    return Err(Error::too_large(self.name(), "listing all irreps", MAX_IRREPS as u128, "more"));
                }
                let label = format!("{}*{}", v.label(), w.label());
                irreps.extend(split_tensor(&label, &rep::tensor(&left, right)?, v.commutant(), w.commutant())?);
            }
        }
        Ok(irreps)
    }
}

/// The different irreps inside V ⊗ W, by the algebra End(V) ⊗ End(W), each factor in its basis 1, i (, j, k):
///
/// ```text
/// ℝ ⊗ D = D              V ⊗ W is irreducible of type D
/// ℂ ⊗ ℂ = ℂ ⊕ ℂ          two of type ℂ, where i ⊗ i = ±1
/// ℍ ⊗ ℂ = M₂(ℂ)          twice one of type ℂ, where i ⊗ i = 1
/// ℍ ⊗ ℍ = M₄(ℝ)          four times one of type ℝ, where i ⊗ i = j ⊗ j = 1
/// ```
fn split_tensor(label: &str, tensor: &Rep, a: &[Mat<f64>], b: &[Mat<f64>]) -> Result<Vec<Irrep>> {
    if a.len() == 1 || b.len() == 1 {
        let commutant = a.iter().flat_map(|x| b.iter().map(move |y| x.kron(y))).collect();
        return Ok(vec![Irrep::new(label, tensor.clone(), commutant)?]);
    }
    // i and j are antisymmetric with square −1, so i ⊗ i and j ⊗ j are symmetric with square 1; they commute.
    let one = Mat::<f64>::identity(tensor.dim(), tensor.dim());
    let i = a[1].kron(&b[1]);
    if a.len() == 4 && b.len() == 4 {
        let fixed = fixed_by(&((&one + i) * (&one + a[2].kron(&b[2])) * faer::Scale(0.25)))?;
        return Ok(vec![Irrep::of_real_type(label, rep::subspace(tensor, fixed))]);
    }
    // The unit of the complex factor commutes with i ⊗ i; that of ℍ would, but not with the rest of ℍ.
    let structure = if a.len() == 2 { a[1].kron(&b[0]) } else { a[0].kron(&b[1]) };
    let part = |label: String, involution: &Mat<f64>| {
        let fixed = fixed_by(&((&one + involution) * faer::Scale(0.5)))?;
        let n = fixed.ncols();
        let commutant = vec![Mat::identity(n, n), fixed.transpose() * &structure * &fixed];
        Irrep::new(label, rep::subspace(tensor, fixed), commutant)
    };
    if a.len() == b.len() {
        return Ok(vec![part(format!("{label}#0"), &i)?, part(format!("{label}#1"), &(-&i))?]);
    }
    Ok(vec![part(label.into(), &i)?])
}

/// An orthonormal basis, as columns, of the image of an orthogonal projection.
fn fixed_by(projection: &Mat<f64>) -> Result<Mat<f64>> {
    let (values, vectors) = eigenvectors(projection, "irreps of a product")?;
    let zeros = values.iter().filter(|&&value| value < 0.5).count();
    Ok(vectors.subcols(zeros, values.len() - zeros).to_owned())
}
