//! P tile by tile, for executors that know no groups (a tensor library, a GPU).
//!
//! A layer `[out, in, points]` splits into tiles, one for each pair of an output field and an input field, and P is block-diagonal over
//! them. Tiles of one kind share one small projector:
//!
//! ```text
//! P_tile = E Eᵀ,   E [numbers of the tile, rank] orthonormal,   or signed orbits:  P(w)[i] = ε_i mean over j of ε_j w[j]
//! ```
//!
//! Everything is real: a complex weight is the pair (re, im), as in memory, and P is a real-linear orthogonal projector on pairs. A small
//! tile whose E Eᵀ is an average over signed orbits (all irreps of real type, the SO(2) mask) is given as orbits. Neighbouring tiles may be
//! joined.
//!
//! Band-limited kernels are first compressed along their points by functions F `[points, functions]` that all channels share; tiles are
//! then of the coordinates Fᵀw:
//!
//! ```text
//! P = (1 ⊗ F) X Xᵀ (1 ⊗ F)ᵀ,   X [coordinates of the tile, rank],   (1 ⊗ F) X orthonormal
//! ```
//!
//! F is orthonormal or, where that makes X sparser, the sampled harmonics themselves: each column of X then couples one degree on one ring.
//!
//! ```
//! use reynolds::projection::{KernelSpace, Projector, derive};
//! use reynolds::{group, rep};
//! let so3 = group::parse("SO3")?;
//! let fields = rep::parse_fields(&so3, "2x0 + 3x1")?;
//! let projector = derive(&KernelSpace::dense(&fields, &fields)?)?;
//! let tiling = projector.tiling()?;
//! assert_eq!((tiling.kinds().len(), tiling.rank()), (4, 2 * 2 + 3 * 3));
//! let weights: Vec<f64> = (0..121).map(|i| (i as f64).sin()).collect();
//! let (ours, expected) = (tiling.project(&weights), projector.project(&weights)?);
//! assert!(ours.iter().zip(&expected).all(|(a, b)| (a - b).abs() < 1e-14));
//! # Ok::<(), reynolds::Error>(())
//! ```

mod builder;
mod signed_orbits;

use faer::{Mat, MatRef};

pub(super) use builder::Builder;
pub use signed_orbits::SignedOrbits;

use super::Lowered;
use crate::error::Result;
use crate::scalar::Scalar;

/// A projector as tiles over the real numbers of a layer.
#[derive(Debug, Clone)]
pub struct Tiling {
    len: usize,
    /// Real numbers, or coordinates, from one output channel to the next.
    stride: usize,
    functions: Option<Mat<f64>>,
    kinds: Vec<TileKind>,
    tiles: Vec<Tile>,
}

/// What all tiles between equal fields have in common.
#[derive(Debug, Clone, PartialEq)]
pub struct TileKind {
    /// Rows of the tile: its output channels.
    pub rows: usize,
    /// Numbers that lie together: what one row holds of the tile.
    pub segment: usize,
    /// P on the tile's numbers, row after row.
    pub projector: TileProjector,
}

/// P on one kind of tile.
#[derive(Debug, Clone, PartialEq)]
pub enum TileProjector {
    /// Averages over signed orbits.
    Orbits(SignedOrbits),
    /// E `[rows · segment, rank]`, orthonormal columns: P = E Eᵀ. X where there are functions: then F makes them orthonormal.
    Basis(Mat<f64>),
}

/// One tile of a layer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tile {
    /// Its number in [`Tiling::kinds`].
    pub kind: usize,
    /// Where its first number lies in the layer.
    pub start: usize,
}

impl Tiling {
    /// Real numbers of the layer; twice the weights if they are complex.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Always false: layers have weights.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// F `[numbers, coordinates]`: Fᵀ compresses each run of numbers to the coordinates that tiles act on.
    pub fn functions(&self) -> Option<&Mat<f64>> {
        self.functions.as_ref()
    }

    /// Real numbers that tiles cover: those of the layer, or their coordinates.
    pub fn coordinates(&self) -> usize {
        self.functions.as_ref().map_or(self.len, |f| self.len / f.nrows() * f.ncols())
    }

    /// The kinds of tiles.
    pub fn kinds(&self) -> &[TileKind] {
        &self.kinds
    }

    /// Every tile: together they cover each number, or coordinate, once.
    pub fn tiles(&self) -> &[Tile] {
        &self.tiles
    }

    /// Real dimension of the image of P.
    pub fn rank(&self) -> usize {
        let rank = |tile: &Tile| match &self.kinds[tile.kind].projector {
            TileProjector::Orbits(orbits) => orbits.len(),
            TileProjector::Basis(basis) => basis.ncols(),
        };
        self.tiles.iter().map(rank).sum()
    }

    /// Where the numbers of a tile lie in the layer, or among its coordinates, in the order of its kind.
    pub fn places(&self, tile: Tile) -> impl Iterator<Item = usize> + '_ {
        let TileKind { rows, segment, .. } = self.kinds[tile.kind];
        (0..rows).flat_map(move |row| (0..segment).map(move |at| tile.start + row * self.stride + at))
    }

    /// P on the real numbers of a layer, tile by tile: the specification of executors that take tiles.
    pub fn project(&self, weights: &[f64]) -> Vec<f64> {
        assert_eq!(weights.len(), self.len, "numbers of the layer");
        let Some(f) = &self.functions else { return self.project_coordinates(weights) };
        let runs = weights.len() / f.nrows();
        let coordinates = f.transpose() * MatRef::from_column_major_slice(weights, f.nrows(), runs);
        let coordinates: Vec<f64> = coordinates.col_iter().flat_map(|run| run.iter().copied()).collect();
        let kept = self.project_coordinates(&coordinates);
        let spread = f * MatRef::from_column_major_slice(&kept, f.ncols(), runs);
        spread.col_iter().flat_map(|run| run.iter().copied()).collect()
    }

    fn project_coordinates(&self, weights: &[f64]) -> Vec<f64> {
        let mut out = vec![0.0; weights.len()];
        for &tile in &self.tiles {
            let places: Vec<usize> = self.places(tile).collect();
            match &self.kinds[tile.kind].projector {
                TileProjector::Orbits(orbits) => {
                    for (members, negative) in orbits.iter() {
                        let sign = |negative: bool| if negative { -1.0 } else { 1.0 };
                        let signed =
                            members.iter().zip(negative).map(|(&at, &n)| sign(n) * weights[places[at as usize]]);
                        let mean = signed.sum::<f64>() / members.len() as f64;
                        members.iter().zip(negative).for_each(|(&at, &n)| out[places[at as usize]] = sign(n) * mean);
                    }
                }
                TileProjector::Basis(basis) => {
                    let numbers = Mat::from_fn(places.len(), 1, |i, _| weights[places[i]]);
                    let kept = basis * (basis.transpose() * numbers);
                    places.iter().enumerate().for_each(|(i, &place)| out[place] = kept[(i, 0)]);
                }
            }
        }
        out
    }
}

impl<F: Scalar> Lowered<F> {
    /// The same projector tile by tile.
    ///
    /// # Errors
    /// [`crate::Error::OutOfRange`] if the basis of one kind of tile has over 2²⁷ numbers.
    pub fn tiling(&self) -> Result<Tiling> {
        match self {
            Self::Orbits(orbits) => Ok(orbits.tiling(numbers_per_weight::<F>())),
            Self::Blocks(blocks) => blocks.tiling(),
            Self::Chain(chain) => chain.tiling(),
            Self::Basis(basis) => basis.tiling(numbers_per_weight::<F>()),
        }
    }
}

/// 1 for real weights, 2 for complex ones.
pub(super) fn numbers_per_weight<F: Scalar>() -> usize {
    if F::from_real_parts([0.0, 1.0]) == F::ZERO { 1 } else { 2 }
}
