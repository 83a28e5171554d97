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

use super::fields::by_rows;
use super::{Dimensions, Energies, Projector};
use crate::error::{Error, Result};
use crate::group;
use crate::irrep::Irrep;
use crate::rep::{self, Rep, Representation, decompose};
use crate::scalar::Weight;
use crate::steerable::{Band, KernelBasis, RingsConfig, Shells};

/// Weights from which on threads pay.
const PARALLEL: usize = 1 << 15;

/// The projector onto the band-limited steerable kernels `[out, in, k, k]` or `[out, in, k, k, k]`.
#[derive(Debug, Clone)]
pub struct Basis {
    band: Band,
    codomain: Channels,
    domain: Channels,
    /// `[kinds of codomain][kinds of domain]`.
    kernels: Vec<Vec<KernelBasis>>,
    /// The same as it is multiplied with.
    passes: Passes,
    rank: usize,
}

/// What one irrep pair contributes to a [`Basis`].
#[derive(Debug, Clone, PartialEq, Eq)]
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

/// The channels on one side: fields in basis order, each made of irreps after a change of basis.
#[derive(Debug, Clone)]
struct Channels {
    dim: usize,
    kinds: Vec<Arc<Irrep>>,
    changes: Vec<Mat<f64>>,
    fields: Vec<Field>,
    /// First channel of every copy of each kind.
    copies: Vec<Vec<usize>>,
}

#[derive(Debug, Clone)]
struct Field {
    offset: usize,
    dim: usize,
    /// Which change of basis Q, π Q = Q ⊕ σ; `None` is the identity.
    change: Option<usize>,
    /// Kind of each irrep and its first channel inside the field.
    irreps: Vec<(usize, usize)>,
}

impl Basis {
    /// The projector for kernels from `domain` to `codomain` on a grid of `side` points in each of `dims` (2 or 3) directions.
    ///
    /// # Errors
    /// [`Error::GroupMismatch`] if the two belong to different groups; [`Error::NoAction`] if the group does not turn the plane or
    /// space; [`Error::OutOfRange`] for a grid or rings that [`Shells::new`] refuses, or a dimension of zero; [`Error::TooLarge`] and
    /// [`Error::Numerical`] from the decomposition of fields.
    pub fn derive(domain: &Rep, codomain: &Rep, side: usize, dims: usize, rings: &RingsConfig) -> Result<Self> {
        group::expect_same(domain.group(), codomain.group())?;
        if domain.dim() == 0 || codomain.dim() == 0 {
            return Err(Error::range("dimension of a representation", "at least 1", 0));
        }
        let band = Band::new(Shells::new(dims, side, rings)?)?;
        let input = Channels::new(domain)?;
        let output = if rep::same(domain, codomain) { input.clone() } else { Channels::new(codomain)? };
        let kernels = KernelBasis::all(&output.irreps(), &input.irreps(), &band)?;
        let copies = |o: usize, i: usize| output.copies[o].len() * input.copies[i].len();
        let columns =
            kernels.iter().enumerate().flat_map(|(o, row)| row.iter().enumerate().map(move |(i, k)| (o, i, k)));
        let rank = columns.map(|(o, i, kernel)| kernel.columns.ncols() * copies(o, i)).sum();
        let passes = Passes::new(&band, &output, &input, &kernels);
        Ok(Self { band, codomain: output, domain: input, kernels, passes, rank })
    }

    /// The scalar functions on the grid.
    pub fn band(&self) -> &Band {
        &self.band
    }

    /// Every irrep pair with its number of kernels and copies: the rank is Σ columns · copies.
    pub fn pairs(&self) -> Vec<IrrepPair> {
        let mut pairs = Vec::new();
        for (o, row) in self.kernels.iter().enumerate() {
            for (i, kernel) in row.iter().enumerate() {
                pairs.push(IrrepPair {
                    codomain: self.codomain.kinds[o].label(),
                    domain: self.domain.kinds[i].label(),
                    columns: kernel.columns.ncols(),
                    copies: self.codomain.copies[o].len() * self.domain.copies[i].len(),
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
}

impl Dimensions for Basis {
    fn len(&self) -> usize {
        self.shape().iter().product()
    }

    fn rank(&self) -> usize {
        self.rank
    }

    fn parts(&self) -> Vec<usize> {
        let row = self.domain.dim * self.band.functions.nrows();
        self.codomain.fields.iter().map(|field| field.dim * row).collect()
    }
}

impl<T: Weight> Projector<T> for Basis {
    fn apply(&self, weights: &[T], out: &mut [T]) -> Energies {
        let row = self.domain.dim * self.band.functions.nrows();
        let fields = self.codomain.fields.iter().map(|field| (field, field.dim * row));
        let apply = |scratch: &mut Scratch<T::Real>, field: &Field, from: &[T], to: &mut [T]| {
            self.passes.apply(field, from, to, scratch)
        };
        by_rows(fields, weights.len() >= PARALLEL, (weights, out), Scratch::default, apply)
    }

    fn apply_part(&self, part: usize, weights: &[T], out: &mut [T]) -> Energies {
        self.passes.apply(&self.codomain.fields[part], weights, out, &mut Scratch::default())
    }
}

impl Channels {
    fn new(rep: &Rep) -> Result<Self> {
        let mut channels =
            Self { dim: rep.dim(), kinds: Vec::new(), changes: Vec::new(), fields: Vec::new(), copies: Vec::new() };
        for piece in decompose(rep)?.pieces {
            let change = piece.basis.as_ref().map(|q| {
                let known = channels.changes.iter().position(|other| other == q);
                known.unwrap_or_else(|| {
                    channels.changes.push(q.clone());
                    channels.changes.len() - 1
                })
            });
            let irreps: Vec<_> = piece.irreps.iter().map(|(irrep, at)| (channels.kind(irrep), *at)).collect();
            for offset in piece.offsets() {
                irreps.iter().for_each(|&(kind, at)| channels.copies[kind].push(offset + at));
                channels.fields.push(Field { offset, dim: piece.dim, change, irreps: irreps.clone() });
            }
        }
        Ok(channels)
    }

    fn irreps(&self) -> Vec<&Irrep> {
        self.kinds.iter().map(Arc::as_ref).collect()
    }

    /// The number of an irrep among the kinds; canonical irreps of one group have distinct labels.
    fn kind(&mut self, irrep: &Arc<Irrep>) -> usize {
        let known = self.kinds.iter().position(|other| other.label() == irrep.label());
        known.unwrap_or_else(|| {
            self.kinds.push(irrep.clone());
            self.copies.push(Vec::new());
            self.kinds.len() - 1
        })
    }
}
