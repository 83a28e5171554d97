//! The P-SCNN's kernels, averaged over a group with a likelihood: equivariant if it is uniform, free if it is one element.
//!
//! ```text
//! K(x) = ∫ λ(g) ρ_out(g)⁻¹ K₀(gx) ρ_in(g) dg,      K₀ any band-limited kernel
//! K₀ = Σ_κ w_κ K_κ      ⟹      K = Σ_c (λ̂(ψ) w)_c K_c,      the K_κ of [`elements`]
//! ```
//!
//! This is the Reynolds operator with a weight: a likelihood multiplies weights, the basis is fixed. With a uniform likelihood only the
//! trivial ψ survives, whose K_κ are kernels of the steerable convolution; with all mass on the identity K is K₀.
//!
//! Kernels are made in three steps: weights times λ̂(ψ), one product for each ψ; the elements in coordinates of φ_r Y_jm, one product for each
//! irrep of the output; φ_r Y_jm on the grid. For R2's second convolution of SO(3), c = 6, these are 0.01, 1.4 and 0.07 billion multiply-adds,
//! for the network 2.4 in all, where the convolutions of one volume take 35.
//!
//! Departures from Veefkind and Cesa: elements are normalised as those of the steerable convolution, theirs are not. As in their code an
//! element of SO(3) has one weight for each J of its irreps, and these are added.

mod elements;

use std::collections::BTreeMap;

use self::elements::{Column, Functions, Segment, basis, columns, equal_irreps, segments};
use super::likelihood::Likelihood;
use super::*;
use reynolds::steerable::RingsConfig;

/// The elements with equally many weights: all of the first repeat, then all of the second, …
#[derive(Debug)]
struct Tier {
    repeats: usize,
    columns: Vec<Column>,
}

/// The kernels of equal irreps of the output: `[d_out·F·d_in, n]`, F functions φ_r Y_jm, d_in channels of a field.
#[derive(Debug)]
struct Rows {
    places: Vec<usize>,
    dim: i64,
    columns: i64,
    basis: Constant,
}

pub(super) struct Partial {
    pair: FieldPair,
    likelihood: Likelihood,
    coefficients: String,
    segments: Vec<Segment>,
    tiers: Vec<Tier>,
    /// Place among the tiers of each K_κ by segments. Whole numbers.
    by_segments: Constant,
    /// Place among the segments of each K_κ by `rows`, equal irreps innermost. Whole numbers.
    by_rows: Constant,
    rows: Vec<Rows>,
    /// φ_r Y_jm, `[k³, F]`.
    functions: Constant,
}

impl Partial {
    pub(super) fn new(pair: &FieldPair, likelihood: Likelihood, coefficients: &str) -> Result<Self> {
        let functions = Functions::new(&Shells::new(3, pair.side, &RingsConfig::default())?);
        let segments = segments(pair, &functions, likelihood.kernel_degree);
        let all = columns(&segments);
        let (mut rows, mut by_rows) = (Vec::new(), Vec::new());
        for places in equal_irreps(&pair.codomain) {
            let of_place = |place: usize| all.iter().copied().filter(move |column| column.element.place[0] == place);
            let numbers: Vec<Vec<usize>> = places.iter().map(|&p| of_place(p).map(|c| c.number).collect()).collect();
            let own: Vec<Column> = of_place(places[0]).collect();
            by_rows.extend((0..own.len()).flat_map(|nth| numbers.iter().map(move |numbers| numbers[nth])));
            let irrep = pair.codomain[places[0]];
            let basis = basis(pair, irrep, &functions, &own)?;
            rows.push(Rows { dim: irrep.dim() as i64, columns: own.len() as i64, basis, places });
        }
        let tiers = tiers(&all);
        let mut by_segments = vec![0; all.len()];
        for (at, column) in tiers.iter().flat_map(|tier| &tier.columns).enumerate() {
            by_segments[column.number] = at;
        }
        Ok(Self {
            pair: pair.clone(),
            likelihood,
            coefficients: coefficients.into(),
            segments,
            tiers,
            by_segments: indices(&by_segments)?,
            by_rows: indices(&by_rows)?,
            rows,
            functions: Constant::new(&functions.samples, &[functions.points as i64, functions.count as i64])?,
        })
    }

    /// λ̂(ψ) w, `[K_κ by segments, copies]`, repeats added.
    fn average(&self, transforms: &[Tensor], weights: &Tensor) -> Result<Tensor> {
        let copies = weights.size()[1];
        let sizes: Vec<i64> = self.tiers.iter().map(Tier::weights).collect();
        let parts = weights.f_split_with_sizes(sizes.as_slice(), 0)?;
        let once = self.tiers.iter().zip(&parts).map(|(tier, part)| -> Result<Tensor> {
            if tier.repeats == 1 {
                return Ok(part.shallow_clone());
            }
            let repeats = part.f_view([tier.repeats as i64, -1, copies])?;
            Ok(repeats.f_sum_dim_intlist([0_i64].as_slice(), false, part.kind())?)
        });
        let once = Tensor::f_cat(&once.collect::<Result<Vec<_>>>()?, 0)?;
        let by_segments = once.f_index_select(0, &self.by_segments.like(weights)?.f_to_kind(Kind::Int64)?)?;
        let size = |segment: &Segment| (segment.dim * segment.elements.len()) as i64;
        let sizes: Vec<i64> = self.segments.iter().map(size).collect();
        let parts = by_segments.f_split_with_sizes(sizes.as_slice(), 0)?;
        let averaged = self.segments.iter().zip(&parts).map(|(segment, part)| -> Result<Tensor> {
            let product = transforms[segment.psi].f_matmul(&part.f_view([segment.dim as i64, -1])?)?;
            Ok(product.f_view([-1, copies])?)
        });
        Ok(Tensor::f_cat(&averaged.collect::<Result<Vec<_>>>()?, 0)?)
    }

    /// K of weights `[n, copies]` for given λ̂(ψ), as [`Kernels::expand`].
    fn kernels(&self, transforms: &[Tensor], weights: &Tensor) -> Result<Tensor> {
        let copies = weights.size()[1];
        let averaged = self.average(transforms, weights)?;
        let ordered = averaged.f_index_select(0, &self.by_rows.like(weights)?.f_to_kind(Kind::Int64)?)?;
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

impl Kernels for Partial {
    fn weights(&self) -> usize {
        self.tiers.iter().map(|tier| tier.weights() as usize).sum()
    }

    fn deviations(&self, copies: usize) -> Vec<f64> {
        let mut counts = vec![vec![0; self.pair.domain.len()]; self.pair.codomain.len()];
        for Column { element, .. } in self.tiers.iter().flat_map(|tier| &tier.columns) {
            counts[element.place[0]][element.place[1]] += element.repeats;
        }
        let deviations = self.pair.deviations(&counts, copies);
        let deviation = |column: &Column| deviations[column.element.place[0]][column.element.place[1]];
        let of_tier = |tier: &Tier| tier.columns.iter().map(deviation).collect::<Vec<_>>().repeat(tier.repeats);
        self.tiers.iter().flat_map(of_tier).collect()
    }

    fn expand(&self, parameters: &Parameters, weights: &Tensor) -> Result<Tensor> {
        self.kernels(&self.likelihood.transforms(&parameters.get(&self.coefficients)?)?, weights)
    }
}

impl Tier {
    fn weights(&self) -> i64 {
        (self.repeats * self.columns.len()) as i64
    }
}

impl Rows {
    fn weights(&self) -> i64 {
        self.columns * self.places.len() as i64
    }
}

/// The K_κ by how many weights they have, fewest first.
fn tiers(columns: &[Column]) -> Vec<Tier> {
    let mut tiers: BTreeMap<usize, Vec<Column>> = BTreeMap::new();
    for column in columns {
        tiers.entry(column.element.repeats).or_default().push(*column);
    }
    tiers.into_iter().map(|(repeats, columns)| Tier { repeats, columns }).collect()
}

/// Whole numbers as a constant, which holds them exactly in f32 too.
fn indices(numbers: &[usize]) -> Result<Constant> {
    let values: Vec<f64> = numbers.iter().map(|&number| number as f64).collect();
    Constant::new(&values, &[values.len() as i64])
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
        let of_tier = |tier: &Tier| {
            let zeros = Tensor::zeros([tier.weights(), copies], (steerable.kind(), steerable.device()));
            let own = self.trivial(tier);
            for (at, column) in tier.columns.iter().enumerate().filter(|(at, _)| own[*at]) {
                let weight = steerable.get(places[&(column.element.place, column.element.harmonic)]);
                // All in the last of the repeats.
                zeros.get(tier.weights() - (tier.columns.len() - at) as i64).copy_(&weight);
            }
            zeros
        };
        Tensor::cat(&self.tiers.iter().map(of_tier).collect::<Vec<_>>(), 0)
    }

    /// Weights without those of the trivial ψ.
    pub(super) fn beyond(&self, weights: &Tensor) -> Tensor {
        let kept: Vec<f64> = self
            .tiers
            .iter()
            .flat_map(|tier| self.trivial(tier).repeat(tier.repeats))
            .map(|trivial| f64::from(!trivial))
            .collect();
        weights * Tensor::from_slice(&kept).view([-1, 1])
    }

    /// Which K_κ of a tier are those of the trivial ψ, whose segment is the first.
    fn trivial(&self, tier: &Tier) -> Vec<bool> {
        assert_eq!(self.segments[0].psi, 0);
        tier.columns.iter().map(|column| column.number < self.segments[0].elements.len()).collect()
    }
}

#[cfg(test)]
mod tests;
