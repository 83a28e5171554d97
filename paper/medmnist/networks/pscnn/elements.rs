//! Kernels that span all band-limited ones between two fields, by the irrep ψ under which they turn: for irreps of the output and the input, a
//! degree j, a ring r that carries it, a degree J of their product, and ψ in j ⊗ J of degree at most L′
//!
//! ```text
//! K_κ(x) = √(d_out (2J+1) d_ψ) φ_r(|x|)/‖φ_r‖ Σ_{m,s} C^{jJψ}[m, s, κ] C^J[·, ·, s] Y_jm(x/|x|),      κ = 1 … d_ψ
//! ρ_out(g)⁻¹ K_κ(gx) ρ_in(g) = Σ_c K_c(x) ψ(g)[κ, c]
//! ```

use std::collections::BTreeMap;

use super::*;
use reynolds::steerable::clebsch_gordan;

/// All K_κ of one ψ between two irreps of the output and the input.
#[derive(Debug, Clone, Copy)]
pub(super) struct Element {
    /// Of the irreps of the output and of the input.
    pub(super) place: [usize; 2],
    /// j, and its ring.
    pub(super) harmonic: [usize; 2],
    coupled: usize,
    degree: usize,
    pub(super) repeats: usize,
}

/// All elements of one ψ: K_κ go by κ, then by elements.
#[derive(Debug)]
pub(super) struct Segment {
    /// The place of ψ among all irreps up to L′, in the order of [`Symmetry::labels`](super::Symmetry::labels).
    pub(super) psi: usize,
    pub(super) dim: usize,
    pub(super) elements: Vec<Element>,
}

/// Every element between two fields, by ψ.
pub(super) fn segments(pair: &FieldPair, functions: &Functions, kernel_degree: usize) -> Vec<Segment> {
    let mut segments: BTreeMap<usize, Vec<Element>> = BTreeMap::new();
    for (o, codomain) in pair.codomain.iter().enumerate() {
        for (i, domain) in pair.domain.iter().enumerate() {
            let repeats = repeats(*codomain, *domain);
            for (j, rings) in functions.starts.iter().enumerate() {
                // Of O(3): the parity of ψ is that of the harmonic and of both irreps together.
                let odd = codomain.odd.is_some() && (codomain.odd != domain.odd) != (j % 2 == 1);
                for coupled in codomain.degree.abs_diff(domain.degree)..=codomain.degree + domain.degree {
                    for degree in j.abs_diff(coupled)..=(j + coupled).min(kernel_degree) {
                        let psi = degree + if odd { kernel_degree + 1 } else { 0 };
                        let element = |ring| Element { place: [o, i], harmonic: [j, ring], coupled, degree, repeats };
                        segments.entry(psi).or_default().extend((0..rings.len()).map(element));
                    }
                }
            }
        }
    }
    let segment = |(psi, elements): (usize, Vec<Element>)| Segment { psi, dim: 2 * elements[0].degree + 1, elements };
    segments.into_iter().map(segment).collect()
}

/// Weights of an element between two irreps: the published network of SO(3) lists its elements once for each J of the pair, which makes
/// 11,091,468 weights out of 3,734,508; that of O(3) does not.
fn repeats(codomain: SphericalIrrep, domain: SphericalIrrep) -> usize {
    if codomain.odd.is_some() { 1 } else { 2 * codomain.degree.min(domain.degree) + 1 }
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Column {
    pub(super) element: Element,
    component: usize,
    pub(super) number: usize,
}

/// All K_κ, by segments, κ, then elements.
pub(super) fn columns(segments: &[Segment]) -> Vec<Column> {
    let of_segment = |segment: &Segment| -> Vec<(Element, usize)> {
        (0..segment.dim).flat_map(|kappa| segment.elements.iter().map(move |&element| (element, kappa))).collect()
    };
    let all = segments.iter().flat_map(of_segment).enumerate();
    all.map(|(number, (element, component))| Column { element, component, number }).collect()
}

/// The functions φ_r Y_jm on a grid, φ_r of norm 1, in the order j, r, m.
pub(super) struct Functions {
    pub(super) points: usize,
    pub(super) count: usize,
    /// Where the functions of ring r of degree j begin, `[j][r]`.
    pub(super) starts: Vec<Vec<usize>>,
    /// `[points, count]`.
    pub(super) samples: Vec<f64>,
}

impl Functions {
    pub(super) fn new(shells: &Shells) -> Self {
        let (points, count) = (shells.points.len(), shells.functions());
        let mut samples = vec![0.0; points * count];
        let (mut starts, mut at) = (Vec::new(), 0);
        for degree in 0..=shells.max_degree() {
            let mut rings = Vec::new();
            for profile in shells.profiles(degree).col_iter() {
                let norm = profile.iter().map(|value| value * value).sum::<f64>().sqrt();
                for (point, &place) in shells.points.iter().enumerate() {
                    for (m, y) in shells.harmonics(degree, place).iter().enumerate() {
                        samples[point * count + at + m] = profile[point] / norm * y;
                    }
                }
                rings.push(at);
                at += 2 * degree + 1;
            }
            starts.push(rings);
        }
        Self { points, count, starts, samples }
    }
}

/// Places of equal irreps: those that share a basis.
pub(super) fn equal_irreps(irreps: &[SphericalIrrep]) -> Vec<Vec<usize>> {
    let mut groups: Vec<Vec<usize>> = Vec::new();
    for (place, irrep) in irreps.iter().enumerate() {
        match groups.iter_mut().find(|group| irreps[group[0]] == *irrep) {
            Some(group) => group.push(place),
            None => groups.push(vec![place]),
        }
    }
    groups
}

/// K_κ in coordinates of the functions: `[d_out·F·d_in, columns]`.
pub(super) fn basis(
    pair: &FieldPair,
    codomain: SphericalIrrep,
    functions: &Functions,
    columns: &[Column],
) -> Result<Constant> {
    let inputs = pair.dims()[1];
    let offsets: Vec<usize> =
        pair.domain.iter().scan(0, |at, irrep| Some(std::mem::replace(at, *at + irrep.dim()))).collect();
    let (outputs, count) = (codomain.dim(), functions.count);
    let mut basis = vec![0.0; outputs * count * inputs * columns.len()];
    for (at, Column { element, component, .. }) in columns.iter().enumerate() {
        let domain = pair.domain[element.place[1]];
        let ([j, ring], degree) = (element.harmonic, element.degree);
        let outer = clebsch_gordan(codomain.degree, domain.degree, element.coupled)?;
        let inner = clebsch_gordan(j, element.coupled, degree)?;
        let scale = ((codomain.dim() * (2 * element.coupled + 1) * (2 * degree + 1)) as f64).sqrt();
        for m in 0..=2 * j {
            let function = functions.starts[j][ring] + m;
            for (o, i) in (0..codomain.dim()).flat_map(|o| (0..domain.dim()).map(move |i| (o, i))) {
                let sum: f64 = (0..=2 * element.coupled).map(|s| inner.at(m, s, *component) * outer.at(o, i, s)).sum();
                let row = (o * count + function) * inputs + offsets[element.place[1]] + i;
                basis[row * columns.len() + at] = scale * sum;
            }
        }
    }
    Constant::new(&basis, &[(outputs * count * inputs) as i64, columns.len() as i64])
}
