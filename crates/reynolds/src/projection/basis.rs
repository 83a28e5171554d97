//! The projector onto band-limited steerable kernels: P = E Eᵀ, with E shared by all copies of an irrep pair.
//!
//! ```text
//! a = Eᵀw,      P(w) = E a,      ‖P(w)‖² = ‖a‖²
//! ```
//!
//! A k×k or k×k×k grid carries no action of SO(2) or SO(3), so this P is no group average: its specification is the Haar projector
//! in coefficient space V′ ⊗ V* ⊗ ⊕_J V_J, sampled on the grid and orthonormalised. It commutes with the rotations of the grid itself
//! and lies below their average, P_band P_grid = P_band.
//!
//! E is never formed. Weights go through three small steps, field by field and in their own precision: scalar harmonics Hᵀ (the same for
//! all channels), a change of basis for fields that are not irreps (regular, quotient), and the coupling of each irrep pair; then back.
//!
//! ```
//! use reynolds::projection::{Basis, Dimensions, Projector};
//! use reynolds::steerable::RingsConfig;
//! use reynolds::{group, rep};
//! let c4 = group::parse("C4")?;
//! let regular = rep::regular(&c4)?;
//! let basis = Basis::derive(&regular, &regular, 3, 2, &RingsConfig::default())?;
//! assert_eq!(basis.rank(), 24); // of the 36 that the grid rotations allow
//! let projected = basis.project(&vec![1.0_f32; 4 * 4 * 9])?;
//! assert!((projected[0] - projected[2]).abs() < 1e-6);
//! # Ok::<(), reynolds::Error>(())
//! ```

mod passes;
mod tiles;

use std::sync::Arc;

use faer::Mat;
use passes::{Passes, Scratch};

use super::fields::{Fields, by_rows};
use super::{Dimensions, Energies, Projector};
use crate::error::{Error, Result};
use crate::group;
use crate::irrep::Irrep;
use crate::rep::{self, Rep, Representation, decompose};
use crate::scalar::Weight;
use crate::steerable::{Band, KernelBasis, RingsConfig, Shells};

/// From this many weights on the work is shared between threads.
const PARALLEL: usize = 1 << 15;

/// The projector onto the band-limited steerable kernels `[out, in, k, k]` or `[out, in, k, k, k]`.
#[derive(Debug, Clone)]
pub struct Basis {
    band: Band,
    codomain: Channels,
    domain: Channels,
    /// `[kinds of codomain][kinds of domain]`.
    kernels: Vec<Vec<KernelBasis>>,
    passes: Passes,
    rank: usize,
}

/// What one irrep pair contributes to a [`Basis`].
#[derive(Debug, Clone)]
pub struct IrrepPair {
    /// Label of the output irrep.
    pub codomain: String,
    /// Label of the input irrep.
    pub domain: String,
    /// Number of orthonormal kernels for one pair of copies.
    pub columns: usize,
    /// Number of pairs of copies.
    pub copies: usize,
}

/// The channels on one side: fields, each made of irreps after a change of basis.
#[derive(Debug, Clone)]
struct Channels {
    dim: usize,
    irreps: Vec<Arc<Irrep>>,
    /// The different fields that occur.
    kinds: Vec<Field>,
    /// For each field: its kind and its first channel.
    placed: Vec<(usize, usize)>,
}

#[derive(Debug, Clone)]
struct Field {
    dim: usize,
    /// Q with π Q = Q ⊕ σ; `None` is the identity.
    change: Option<Mat<f64>>,
    /// Number of each irrep and its first channel inside the field.
    irreps: Vec<(usize, usize)>,
}

impl Basis {
    /// The projector for kernels from `domain` to `codomain` on a grid of `side` points in each of `dims` (2 or 3) directions.
    ///
    /// # Errors
    /// [`Error::NoAction`] if the group does not act on the plane or space; the errors of [`Shells::new`] and [`decompose`].
    pub fn derive(domain: &Rep, codomain: &Rep, side: usize, dims: usize, rings: &RingsConfig) -> Result<Self> {
        group::expect_same(domain.group(), codomain.group())?;
        if domain.dim() == 0 || codomain.dim() == 0 {
            return Err(Error::range("dimension of a representation", "at least 1", 0));
        }
        let band = Band::new(Shells::new(dims, side, rings)?)?;
        let input = Channels::new(domain)?;
        let output = if rep::same(domain, codomain) { input.clone() } else { Channels::new(codomain)? };
        let [outs, ins] = [&output, &input].map(|side| side.irreps.iter().map(Arc::as_ref).collect::<Vec<&Irrep>>());
        let kernels = KernelBasis::all(&outs, &ins, &band)?;
        let passes = Passes::new(&band, &output, &input, &kernels);
        let mut basis = Self { band, codomain: output, domain: input, kernels, passes, rank: 0 };
        basis.rank = basis.pairs().iter().map(|pair| pair.columns * pair.copies).sum();
        Ok(basis)
    }

    /// Every irrep pair with its number of kernels and copies: the rank is Σ columns · copies.
    pub fn pairs(&self) -> Vec<IrrepPair> {
        let mut pairs = Vec::new();
        for (o, row) in self.kernels.iter().enumerate() {
            for (i, kernel) in row.iter().enumerate() {
                pairs.push(IrrepPair {
                    codomain: self.codomain.irreps[o].label(),
                    domain: self.domain.irreps[i].label(),
                    columns: kernel.columns.ncols(),
                    copies: self.codomain.copies(o, |_| true).len() * self.domain.copies(i, |_| true).len(),
                });
            }
        }
        pairs
    }

    /// Row-major shape `[out, in, k…]`.
    pub fn shape(&self) -> Vec<usize> {
        let mut shape = vec![self.codomain.dim, self.domain.dim];
        shape.extend(vec![self.band.shells.side; self.band.shells.dims]);
        shape
    }

    /// Kind of each output field and the number of its weights.
    fn rows(&self) -> impl Iterator<Item = (usize, usize)> {
        let row = self.domain.dim * self.band.functions.nrows();
        self.codomain.placed.iter().map(move |&(kind, _)| (kind, self.codomain.kinds[kind].dim * row))
    }
}

impl Dimensions for Basis {
    fn len(&self) -> usize {
        self.shape().iter().product()
    }

    fn rank(&self) -> usize {
        self.rank
    }

    fn parts(&self) -> Vec<usize> {
        self.rows().map(|(_, weights)| weights).collect()
    }
}

impl<T: Weight> Projector<T> for Basis {
    fn apply(&self, weights: &[T], out: &mut [T]) -> Energies {
        let apply = |scratch: &mut Scratch<T::Real>, kind: usize, from: &[T], to: &mut [T]| {
            self.passes.apply(kind, from, to, scratch)
        };
        by_rows(self.rows(), weights.len() >= PARALLEL, (weights, out), Scratch::default, apply)
    }

    fn apply_part(&self, part: usize, weights: &[T], out: &mut [T]) -> Energies {
        self.passes.apply(self.codomain.placed[part].0, weights, out, &mut Scratch::default())
    }
}

impl Channels {
    fn new(rep: &Rep) -> Result<Self> {
        let fields = Fields::of(rep);
        let mut irreps: Vec<Arc<Irrep>> = Vec::new();
        let mut number = |irrep: &Arc<Irrep>| {
            // Canonical irreps of one group have distinct labels.
            let known = irreps.iter().position(|other| other.label() == irrep.label());
            known.unwrap_or_else(|| {
                irreps.push(irrep.clone());
                irreps.len() - 1
            })
        };
        let kinds = fields.pieces(decompose(rep)?).into_iter().map(|piece| Field {
            dim: piece.dim,
            irreps: piece.irreps.iter().map(|(irrep, at)| (number(irrep), *at)).collect(),
            change: piece.basis,
        });
        let kinds = kinds.collect();
        Ok(Self { dim: rep.dim(), irreps, kinds, placed: fields.placed })
    }

    /// First channels of all copies of an irrep in certain fields.
    fn copies(&self, irrep: usize, of: impl Fn(&Field) -> bool) -> Vec<usize> {
        let fields = self.placed.iter().map(|&(kind, start)| (&self.kinds[kind], start)).filter(|(field, _)| of(field));
        let places =
            fields.flat_map(|(field, start)| field.irreps.iter().map(move |&(number, at)| (number, start + at)));
        places.filter(|&(number, _)| number == irrep).map(|(_, at)| at).collect()
    }
}
