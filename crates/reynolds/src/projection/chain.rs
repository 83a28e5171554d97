//! The chain form: any finite group given by matrices, averaged through a tower of subgroups.
//!
//! ```text
//! G = T₁T₂⋯T_k  (transversals)      P = A(T₁) A(T₂) ⋯ A(T_k),      A(T) = (1/|T|) Σ_{t∈T} A(t)
//! ```
//!
//! Σ|Tᵢ| actions instead of |G|. The order matters: T_k, a subgroup, first. A single factor is no projector in general.
//!
//! ```
//! use reynolds::projection::{Chain, Dimensions, KernelSpace};
//! use reynolds::{group, rep};
//! let oh = group::parse("Oh")?;
//! let grid = rep::Grid::new(&oh, 3, 3)?;
//! let field = rep::parse_fields(&oh, "2 irrep(4)")?; // two-dimensional: no permutation of coordinates
//! let space = KernelSpace::kernel(&field, &field, &grid)?;
//! assert_eq!(Chain::derive(&space)?.rank(), space.dim_equivariant()?); // by 11 actions in place of 48
//! # Ok::<(), reynolds::Error>(())
//! ```

use std::collections::HashMap;

use faer::{Col, Mat};
use rayon::prelude::*;

use super::fields::{Fields, by_rows};
use super::tiling::{Builder, Tiling, numbers_per_weight};
use super::{Dimensions, Energies, KernelSpace, Projector};
use crate::error::{Error, Result};
use crate::group::Element;
use crate::random::Random;
use crate::scalar::{Scalar, Weight};

/// From this many weights on the work is shared between threads.
const PARALLEL: usize = 1 << 12;
/// Up to this order the rank comes from characters; above, from the chain itself.
const CHARACTER_ORDER: u128 = 1024;
/// A sample is in the span of the kernels found so far if at most this fraction of it is left; a new kernel hardly ever leaves less.
const NOTHING: f64 = 1e-9;

/// A projector held as the actions of a chain of transversals.
#[derive(Debug, Clone)]
pub struct Chain<F: Scalar = f64> {
    len: usize,
    rank: usize,
    points: usize,
    columns: usize,
    domain: Fields<F>,
    codomain: Fields<F>,
    /// T_k first.
    factors: Vec<Vec<Action<F>>>,
}

/// One element, as it acts on each kind of field and on the grid.
#[derive(Debug, Clone)]
struct Action<F: Scalar> {
    domain: Vec<Mat<F>>,
    codomain: Vec<Mat<F>>,
    grid: Option<Vec<u32>>,
}

impl<F: Scalar> Chain<F> {
    /// The projector of a kernel space over a finite group.
    ///
    /// # Errors
    /// [`crate::Error::TooLarge`] if the group is continuous or has no transversals within reach.
    pub fn derive(space: &KernelSpace<F>) -> Result<Self> {
        let (domain, codomain) = (Fields::of(space.domain()), Fields::of(space.codomain()));
        let action = |g: &Element| Action {
            domain: domain.kinds.iter().map(|kind| kind.matrix(g)).collect(),
            codomain: codomain.kinds.iter().map(|kind| kind.matrix(g)).collect(),
            grid: space.grid().map(|grid| grid.permutation(g)),
        };
        let transversals = space.group().transversals()?;
        let factors = transversals.iter().rev().map(|factor| factor.iter().map(action).collect()).collect();
        let mut chain = Self {
            len: space.len(),
            rank: 0,
            points: space.points(),
            columns: space.domain().dim(),
            domain,
            codomain,
            factors,
        };
        let enumerable = space.group().order().is_some_and(|order| order <= CHARACTER_ORDER);
        chain.rank = if enumerable { space.dim_equivariant()? } else { chain.trace() };
        Ok(chain)
    }

    /// tr P, one kind of tile after the other.
    fn trace(&self) -> usize {
        let pairs =
            self.codomain.placed.iter().flat_map(|out| self.domain.placed.iter().map(move |into| (out.0, into.0)));
        let mut known: HashMap<(usize, usize), usize> = HashMap::new();
        pairs.map(|pair| *known.entry(pair).or_insert_with(|| self.tile_trace(pair))).sum()
    }

    /// The trace of P on one kind of tile: Σ_e ⟨e, P e⟩ over its unit kernels.
    fn tile_trace(&self, (out, into): (usize, usize)) -> usize {
        let n = self.codomain.dim(out) * self.domain.dim(into) * self.points;
        let term = |unit: usize| {
            let mut tile = vec![F::ZERO; n];
            tile[unit] = F::ONE;
            self.average(&mut tile, out, into);
            tile[unit].real()
        };
        (0..n).into_par_iter().map(term).sum::<f64>().round() as usize
    }

    /// Averages one tile `[d_out, d_in, points]` in place, factor after factor.
    fn average(&self, tile: &mut Vec<F>, out: usize, into: usize) {
        for factor in &self.factors {
            let share = F::from_real(1.0 / factor.len() as f64);
            let mut sum = vec![F::ZERO; tile.len()];
            for action in factor {
                action.add(tile, &mut sum, out, into, self.points, share);
            }
            *tile = sum;
        }
    }

    /// This projector tile by tile.
    pub(super) fn tiling(&self) -> Result<Tiling> {
        let (inputs, outputs) = (&self.domain, &self.codomain);
        let shape = (self.len / self.columns / self.points, self.columns, self.points);
        let numbers = numbers_per_weight::<F>();
        let basis = |out, into| self.tile_basis(out, into);
        let tiling =
            Builder::new(shape, numbers).pairs(&outputs.placed, &inputs.placed, |out| outputs.dim(out), basis)?;
        let (found, expected) = (tiling.rank(), self.rank * numbers);
        if found != expected {
            let reason = format!("tiles of rank {found}, expected {expected}");
            return Err(Error::numerical("tiling of a chain", reason));
        }
        Ok(tiling)
    }

    /// An orthonormal basis of the image of P on one kind of tile: averages of random tiles, each made orthogonal to those before it,
    /// until one brings nothing new.
    fn tile_basis(&self, out: usize, into: usize) -> Mat<F> {
        let n = self.codomain.dim(out) * self.domain.dim(into) * self.points;
        let mut random = Random::at(0, &[out as u64, into as u64]);
        let mut found: Vec<Col<F>> = Vec::new();
        while found.len() < n {
            let mut tile: Vec<F> = random.matrix::<F>(n, 1).col(0).iter().copied().collect();
            let length = tile.iter().map(|w| w.abs_sq()).sum::<f64>().sqrt();
            self.average(&mut tile, out, into);
            let mut rest = Col::from_fn(n, |i| tile[i]);
            // Twice is enough.
            for _ in 0..2 {
                for kernel in &found {
                    let overlap = kernel.adjoint() * &rest;
                    rest -= Col::from_fn(n, |i| kernel[i] * overlap);
                }
            }
            let left = rest.norm_l2();
            if left <= NOTHING * length {
                break;
            }
            found.push(Col::from_fn(n, |i| rest[i] * F::from_real(1.0 / left)));
        }
        Mat::from_fn(n, found.len(), |i, k| found[k][i])
    }
}

impl<F: Scalar> Action<F> {
    /// `sum += share · π′(g) K(g⁻¹x) π(g)*` on one tile.
    fn add(&self, tile: &[F], sum: &mut [F], out: usize, into: usize, points: usize, share: F) {
        let (left, right) = (&self.codomain[out], &self.domain[into]);
        let (rows, columns) = (left.nrows(), right.nrows());
        // K π(g)*, then π′(g) from the left; both matrices are small and often sparse.
        let mut half = vec![F::ZERO; tile.len()];
        for i in 0..columns {
            for j in 0..columns {
                let factor = right[(i, j)].conjugate() * share;
                if factor == F::ZERO {
                    continue;
                }
                for o in 0..rows {
                    let (from, to) = ((o * columns + j) * points, (o * columns + i) * points);
                    for x in 0..points {
                        half[to + x] += tile[from + x] * factor;
                    }
                }
            }
        }
        for o in 0..rows {
            for p in 0..rows {
                let factor = left[(o, p)];
                if factor == F::ZERO {
                    continue;
                }
                for i in 0..columns {
                    let (from, to) = ((p * columns + i) * points, (o * columns + i) * points);
                    for x in 0..points {
                        let moved = self.grid.as_ref().map_or(x, |grid| grid[x] as usize);
                        sum[to + moved] += half[from + x] * factor;
                    }
                }
            }
        }
    }
}

impl<F: Scalar> Dimensions for Chain<F> {
    fn len(&self) -> usize {
        self.len
    }

    fn rank(&self) -> usize {
        self.rank
    }
}

impl<F: Scalar, T: Weight<Field = F>> Projector<T> for Chain<F> {
    fn apply(&self, weights: &[T], out: &mut [T]) -> Energies {
        let row = self.columns * self.points;
        let kinds = self.codomain.placed.iter().map(|&(kind, _)| (kind, self.codomain.dim(kind) * row));
        let apply = |_: &mut (), kind: usize, weights: &[T], into: &mut [T]| {
            let rows = self.codomain.dim(kind);
            let mut energies = Energies::default();
            for &(field, start) in &self.domain.placed {
                let columns = self.domain.dim(field);
                let span = columns * self.points;
                let place = |index: usize| index / span * row + start * self.points + index % span;
                let before: Vec<F> = (0..rows * span).map(|index| weights[place(index)].lift()).collect();
                let mut tile = before.clone();
                self.average(&mut tile, kind, field);
                for (index, (&from, &to)) in before.iter().zip(&tile).enumerate() {
                    energies.equivariant += to.abs_sq();
                    energies.perp += (from - to).abs_sq();
                    into[place(index)] = T::lower(to);
                }
            }
            energies
        };
        by_rows(kinds, self.len >= PARALLEL, (weights, out), || (), apply)
    }
}
