//! Kernels that are averaged over a group with a likelihood: equivariant if it is uniform, free if it is one element.
//!
//! ```text
//! K(x) = ∫ λ(g) ρ_out(g)⁻¹ K₀(gx) ρ_in(g) dg,      K₀ any band-limited kernel
//! ```
//!
//! This is the Reynolds operator with a weight. K₀ is written in a basis where the integral is a product of small matrices: for irreps
//! l_in and l_out, a degree j and a ring r that carries it, a degree J of l_out ⊗ l_in and an irrep ψ of j ⊗ J of degree at most L′,
//!
//! ```text
//! K_κ(x) = √(d_out (2J+1) d_ψ) φ_r(|x|)/‖φ_r‖ Σ_{m,s} C^{jJψ}[m, s, κ] C^J[·, ·, s] Y_jm(x/|x|),      κ = 1 … d_ψ
//! K₀ = Σ_κ w_κ K_κ      ⟹      K = Σ_c (λ̂(ψ) w)_c K_c
//! ```
//!
//! so that a likelihood multiplies weights and the basis is fixed. With a uniform likelihood only the trivial ψ survives, for which j = J and
//! K_κ is a kernel of the steerable convolution; with all mass on the identity K is K₀.
//!
//! Kernels are made in three steps: weights times λ̂(ψ), one product for each ψ; the basis in coordinates of φ_r Y_jm, one product for each
//! irrep of the output; φ_r Y_jm on the grid. For R2's second convolution (c = 6) these are 0.02, 1.4 and 0.08 billion multiply-adds.
//!
//! Departures from Veefkind and Cesa: elements are normalised as those of the steerable convolution, theirs are not. As in their code every
//! element of SO(3) has as many weights, which are added, as there are J for its irreps: see [`Partial::repeats`].

use std::collections::BTreeMap;

use reynolds::steerable::{RingsConfig, Shells, SphericalIrrep, clebsch_gordan};
use tch::{Kind, Tensor};

use super::likelihood::Likelihood;
use crate::error::Result;
use crate::layers::{Constant, FieldPair, Kernels};
use crate::parameters::Parameters;

/// All K_κ of one ψ between two irreps of the output and the input.
#[derive(Debug, Clone, Copy)]
struct Element {
    /// Which irrep of the output, of the input.
    place: [usize; 2],
    /// j, and the number of its ring among those that carry it.
    harmonic: [usize; 2],
    /// J.
    coupled: usize,
    /// The degree of ψ, and its place among all irreps up to L′.
    psi: [usize; 2],
}

/// The elements of one ψ that have equally many weights. Weights go by repeats, κ, then elements.
#[derive(Debug)]
struct Segment {
    psi: usize,
    dim: i64,
    repeats: i64,
    elements: Vec<Element>,
}

/// The kernels of equal irreps of the output: `[d_out·F·d_in, n]`, F functions φ_r Y_jm, d_in channels of a field.
#[derive(Debug)]
struct Rows {
    /// Places of these irreps in the output.
    places: Vec<usize>,
    dim: i64,
    columns: i64,
    basis: Constant,
}

/// Kernels under a likelihood.
pub(super) struct Partial {
    pair: FieldPair,
    likelihood: Likelihood,
    /// Name of f̂.
    coefficients: String,
    segments: Vec<Segment>,
    /// Which weight, after λ̂, each column of the bases takes: `rows` after `rows`, elements outer, equal irreps inner. Whole numbers.
    order: Constant,
    rows: Vec<Rows>,
    /// φ_r Y_jm, `[k³, F]`.
    functions: Constant,
}

impl Partial {
    /// Kernels between two fields whose likelihood is the parameter `coefficients`.
    pub(super) fn new(pair: &FieldPair, likelihood: Likelihood, coefficients: &str) -> Result<Self> {
        let shells = Shells::new(3, pair.side, &RingsConfig::default())?;
        let functions = Functions::new(&shells);
        let segments = segments(pair, &functions, likelihood.kernel_degree());
        let mut rows = Vec::new();
        let mut order = Vec::new();
        for places in equal_irreps(&pair.codomain) {
            let columns = columns(&segments, &places);
            order.extend(columns.iter().flat_map(|column| column.weights.iter().map(|&weight| weight as f64)));
            rows.push(Rows {
                dim: pair.codomain[places[0]].dim() as i64,
                columns: columns.len() as i64,
                basis: basis(pair, pair.codomain[places[0]], &functions, &columns)?,
                places,
            });
        }
        Ok(Self {
            pair: pair.clone(),
            likelihood,
            coefficients: coefficients.into(),
            segments,
            order: Constant::new(&order, &[order.len() as i64])?,
            rows,
            functions: Constant::new(&functions.samples, &[functions.points as i64, functions.count as i64])?,
        })
    }

    /// How many weights, which are added, an element between two irreps has: the published network of SO(3) lists its elements once for each J of
    /// the pair, which makes 11,091,468 weights out of 3,734,508; that of O(3) does not.
    fn repeats(codomain: SphericalIrrep, domain: SphericalIrrep) -> usize {
        if codomain.odd.is_some() { 1 } else { 2 * codomain.degree.min(domain.degree) + 1 }
    }

    /// λ̂(ψ) w, `[Σ d_ψ, copies]`, repeats added.
    fn average(&self, transforms: &[Tensor], weights: &Tensor) -> Result<Tensor> {
        let copies = weights.size()[1];
        let sizes: Vec<i64> = self.segments.iter().map(Segment::weights).collect();
        let parts = weights.f_split_with_sizes(sizes.as_slice(), 0)?;
        let averaged = self.segments.iter().zip(&parts).map(|(segment, part)| -> Result<Tensor> {
            let transform = transforms[segment.psi].f_repeat([1, segment.repeats])?;
            let product = transform.f_matmul(&part.f_reshape([segment.repeats * segment.dim, -1])?)?;
            Ok(product.f_reshape([-1, copies])?)
        });
        Ok(Tensor::f_cat(&averaged.collect::<Result<Vec<_>>>()?, 0)?)
    }

    /// K of weights `[n, copies]` for given λ̂(ψ), as [`Kernels::expand`].
    fn kernels(&self, transforms: &[Tensor], weights: &Tensor) -> Result<Tensor> {
        let copies = weights.size()[1];
        let averaged = self.average(transforms, weights)?;
        let order = self.order.like(weights)?.f_to_kind(Kind::Int64)?;
        let ordered = averaged.f_index_select(0, &order)?;
        let sizes: Vec<i64> = self.rows.iter().map(Rows::weights).collect();
        let mut blocks: Vec<Option<Tensor>> = self.pair.codomain.iter().map(|_| None).collect();
        for (rows, part) in self.rows.iter().zip(ordered.f_split_with_sizes(sizes.as_slice(), 0)?) {
            let equal = rows.places.len() as i64;
            let product = rows.basis.like(weights)?.f_matmul(&part.f_view([-1, equal * copies])?)?;
            let product = product.f_view([rows.dim, -1, equal, copies])?;
            for (&place, block) in rows.places.iter().zip(product.f_unbind(2)?) {
                blocks[place] = Some(block);
            }
        }
        let blocks: Vec<Tensor> = blocks.into_iter().flatten().collect();
        let functions = self.functions.like(weights)?;
        let coordinates = Tensor::f_cat(&blocks, 0)?;
        let dim = coordinates.size()[0];
        let coordinates = coordinates.f_view([dim, functions.size()[1], -1])?;
        Ok(functions.f_matmul(&coordinates)?.f_view([-1, copies])?)
    }
}

#[cfg(test)]
impl Partial {
    /// Weights `[n, copies]` whose kernels under a uniform likelihood are those of a steerable convolution with weights `steerable`.
    pub(super) fn lift(&self, steerable: &Tensor) -> Tensor {
        let copies = steerable.size()[1];
        let mut number = 0;
        let mut places = BTreeMap::new();
        let functions = Functions::new(&Shells::new(3, self.pair.side, &RingsConfig::default()).unwrap());
        for (o, codomain) in self.pair.codomain.iter().enumerate() {
            for (i, domain) in self.pair.domain.iter().enumerate() {
                for (j, rings) in functions.starts.iter().enumerate().filter(|(j, _)| codomain.couples(*domain, *j)) {
                    for ring in 0..rings.len() {
                        places.insert(([o, i], [j, ring]), number);
                        number += 1;
                    }
                }
            }
        }
        let of_segment = |segment: &Segment| {
            let zeros = Tensor::zeros([segment.weights(), copies], (steerable.kind(), steerable.device()));
            for (row, element) in segment.elements.iter().enumerate().filter(|_| segment.psi == 0) {
                let weight = steerable.get(places[&(element.place, element.harmonic)]);
                // All in the last of the repeats.
                zeros.get(segment.weights() - (segment.elements.len() - row) as i64).copy_(&weight);
            }
            zeros
        };
        Tensor::cat(&self.segments.iter().map(of_segment).collect::<Vec<_>>(), 0)
    }

    /// Weights without those of the trivial ψ.
    pub(super) fn beyond(&self, weights: &Tensor) -> Tensor {
        let sizes: Vec<i64> = self.segments.iter().map(Segment::weights).collect();
        let parts = weights.split_with_sizes(sizes.as_slice(), 0);
        let kept = self.segments.iter().zip(parts).map(|(segment, part)| part * f64::from(segment.psi > 0));
        Tensor::cat(&kept.collect::<Vec<_>>(), 0)
    }
}

impl Kernels for Partial {
    fn weights(&self) -> usize {
        self.segments.iter().map(|segment| segment.weights() as usize).sum()
    }

    fn deviations(&self, copies: usize) -> Vec<f64> {
        let mut counts = vec![vec![0; self.pair.domain.len()]; self.pair.codomain.len()];
        for segment in &self.segments {
            for element in &segment.elements {
                counts[element.place[0]][element.place[1]] += (segment.repeats * segment.dim) as usize;
            }
        }
        let deviations = self.pair.deviations(&counts, copies);
        let of_segment = |segment: &Segment| -> Vec<f64> {
            let once: Vec<f64> = segment.elements.iter().map(|e| deviations[e.place[0]][e.place[1]]).collect();
            once.repeat((segment.repeats * segment.dim) as usize)
        };
        self.segments.iter().flat_map(of_segment).collect()
    }

    fn expand(&self, parameters: &Parameters, weights: &Tensor) -> Result<Tensor> {
        self.kernels(&self.likelihood.transforms(&parameters.get(&self.coefficients))?, weights)
    }
}

impl Segment {
    fn weights(&self) -> i64 {
        self.repeats * self.dim * self.elements.len() as i64
    }
}

impl Rows {
    fn weights(&self) -> i64 {
        self.columns * self.places.len() as i64
    }
}

/// The functions φ_r Y_jm on a grid, φ_r of norm 1, in the order j, r, m.
struct Functions {
    points: usize,
    count: usize,
    /// Where the functions of ring r of degree j begin, `[j][r]`.
    starts: Vec<Vec<usize>>,
    /// `[points, count]`.
    samples: Vec<f64>,
}

impl Functions {
    fn new(shells: &Shells) -> Self {
        let (points, count) = (shells.points().len(), shells.functions());
        let mut samples = vec![0.0; points * count];
        let (mut starts, mut at) = (Vec::new(), 0);
        for degree in 0..=shells.max_degree() {
            let mut rings = Vec::new();
            for profile in shells.profiles(degree).col_iter() {
                let norm = profile.iter().map(|value| value * value).sum::<f64>().sqrt();
                for (point, &place) in shells.points().iter().enumerate() {
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

/// Every element between two fields, by ψ and number of weights.
fn segments(pair: &FieldPair, functions: &Functions, kernel_degree: usize) -> Vec<Segment> {
    let mut segments: BTreeMap<(usize, usize), Vec<Element>> = BTreeMap::new();
    for (o, codomain) in pair.codomain.iter().enumerate() {
        for (i, domain) in pair.domain.iter().enumerate() {
            for (j, rings) in functions.starts.iter().enumerate() {
                for coupled in codomain.degree.abs_diff(domain.degree)..=codomain.degree + domain.degree {
                    for degree in j.abs_diff(coupled)..=(j + coupled).min(kernel_degree) {
                        // Of O(3): the parity of ψ is that of the harmonic and of both irreps together.
                        let odd = (codomain.odd != domain.odd) != (j % 2 == 1) && codomain.odd.is_some();
                        let psi = degree + if odd { kernel_degree + 1 } else { 0 };
                        let elements = segments.entry((psi, Partial::repeats(*codomain, *domain))).or_default();
                        elements.extend((0..rings.len()).map(|ring| Element {
                            place: [o, i],
                            harmonic: [j, ring],
                            coupled,
                            psi: [degree, psi],
                        }));
                    }
                }
            }
        }
    }
    let segment = |((psi, repeats), elements): ((usize, usize), Vec<Element>)| {
        let dim = 2 * elements[0].psi[0] + 1;
        Segment { psi, dim: dim as i64, repeats: repeats as i64, elements }
    };
    segments.into_iter().map(segment).collect()
}

/// Places of equal irreps: those that share a basis.
fn equal_irreps(irreps: &[SphericalIrrep]) -> Vec<Vec<usize>> {
    let mut groups: Vec<Vec<usize>> = Vec::new();
    for (place, irrep) in irreps.iter().enumerate() {
        match groups.iter_mut().find(|group| irreps[group[0]] == *irrep) {
            Some(group) => group.push(place),
            None => groups.push(vec![place]),
        }
    }
    groups
}

/// One K_κ of equal irreps of the output.
struct Column {
    element: Element,
    /// κ.
    component: usize,
    /// Its weight for each of the equal irreps, counted after the repeats were added.
    weights: Vec<usize>,
}

/// The columns of the basis of equal irreps of the output: in the order of the weights of the first of them.
fn columns(segments: &[Segment], places: &[usize]) -> Vec<Column> {
    let mut columns = Vec::new();
    let mut start = 0;
    for segment in segments {
        let (count, dim) = (segment.elements.len(), segment.dim as usize);
        let of_place = |place: usize| segment.elements.iter().enumerate().filter(move |(_, e)| e.place[0] == place);
        let numbers: Vec<Vec<usize>> =
            places.iter().map(|&p| of_place(p).map(|(number, _)| number).collect()).collect();
        for (nth, (_, &element)) in of_place(places[0]).enumerate() {
            for component in 0..dim {
                let weights = numbers.iter().map(|numbers| start + component * count + numbers[nth]).collect();
                columns.push(Column { element, component, weights });
            }
        }
        start += dim * count;
    }
    columns
}

/// K_κ in coordinates of the functions: `[d_out·F·d_in, columns]`.
fn basis(pair: &FieldPair, codomain: SphericalIrrep, functions: &Functions, columns: &[Column]) -> Result<Constant> {
    let inputs = pair.dims()[1];
    let offsets: Vec<usize> =
        pair.domain.iter().scan(0, |at, irrep| Some(std::mem::replace(at, *at + irrep.dim()))).collect();
    let (outputs, count) = (codomain.dim(), functions.count);
    let mut basis = vec![0.0; outputs * count * inputs * columns.len()];
    for (number, Column { element, component, .. }) in columns.iter().enumerate() {
        let domain = pair.domain[element.place[1]];
        let ([j, ring], [degree, _]) = (element.harmonic, element.psi);
        let outer = clebsch_gordan(codomain.degree, domain.degree, element.coupled)?;
        let inner = clebsch_gordan(j, element.coupled, degree)?;
        let scale = ((codomain.dim() * (2 * element.coupled + 1) * (2 * degree + 1)) as f64).sqrt();
        for m in 0..=2 * j {
            let function = functions.starts[j][ring] + m;
            for (o, i) in (0..codomain.dim()).flat_map(|o| (0..domain.dim()).map(move |i| (o, i))) {
                let sum: f64 = (0..=2 * element.coupled).map(|s| inner.at(m, s, *component) * outer.at(o, i, s)).sum();
                let row = (o * count + function) * inputs + offsets[element.place[1]] + i;
                basis[row * columns.len() + number] = scale * sum;
            }
        }
    }
    Constant::new(&basis, &[(outputs * count * inputs) as i64, columns.len() as i64])
}

#[cfg(test)]
mod tests;
