//! P tile by tile: what an executor that knows no groups (a tensor library, a GPU) needs.
//!
//! A layer `[out, in, points]` splits into tiles, one for each pair of an output field and an input field, and P is block-diagonal over
//! them. Tiles of one kind share one small projector:
//!
//! ```text
//! P_tile = E Eᵀ,   E [numbers of the tile, rank] orthonormal,   or signed orbits:  P(w)[i] = ε_i mean over j of ε_j w[j]
//! ```
//!
//! Everything is real: a complex weight is the pair (re, im), the same two numbers in the same order as in memory, and P is a real-linear
//! orthogonal projector on pairs. A tile whose E Eᵀ happens to be an average over signed orbits (all real-type irreps, the SO(2) mask) is
//! found out and given as orbits. Neighbouring tiles may be one, if P couples neither to anything.
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

mod signed_orbits;

use faer::Mat;

pub use signed_orbits::SignedOrbits;

use super::Lowered;
use crate::error::{Error, Result};
use crate::scalar::Scalar;

/// Tiles up to this many numbers are examined for signed orbits.
const MAX_EXAMINED: usize = 512;
/// How far E may be from orthonormal.
const TOLERANCE: f64 = 1e-12;
/// The most numbers an E may have.
const MAX_BASIS: usize = 1 << 27;

/// A projector as tiles over the real numbers of a layer.
#[derive(Debug, Clone)]
pub struct Tiling {
    len: usize,
    stride: usize,
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
    /// E `[rows · segment, rank]`, orthonormal columns: P = E Eᵀ.
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

impl TileKind {
    /// Numbers in a tile.
    pub fn len(&self) -> usize {
        self.rows * self.segment
    }

    /// Never: fields have at least one channel.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Real dimension of the image of P.
    pub fn rank(&self) -> usize {
        match &self.projector {
            TileProjector::Orbits(orbits) => orbits.len(),
            TileProjector::Basis(basis) => basis.ncols(),
        }
    }
}

impl Tiling {
    /// Real numbers of the layer; twice the weights if they are complex.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Never: layers have weights.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Real numbers from one output channel to the next.
    pub fn stride(&self) -> usize {
        self.stride
    }

    /// The kinds of tiles.
    pub fn kinds(&self) -> &[TileKind] {
        &self.kinds
    }

    /// Every tile: together they cover each number once.
    pub fn tiles(&self) -> &[Tile] {
        &self.tiles
    }

    /// Real dimension of the image of P.
    pub fn rank(&self) -> usize {
        self.tiles.iter().map(|tile| self.kinds[tile.kind].rank()).sum()
    }

    /// Where the numbers of a tile lie in the layer, in the order of its kind.
    pub fn places(&self, tile: Tile) -> impl Iterator<Item = usize> + '_ {
        let TileKind { rows, segment, .. } = self.kinds[tile.kind];
        (0..rows).flat_map(move |row| (0..segment).map(move |at| tile.start + row * self.stride + at))
    }

    /// P on the real numbers of a layer, as the tiles say it: the specification of executors that take tiles.
    ///
    /// # Panics
    /// If `weights` has another length than [`Tiling::len`].
    pub fn project(&self, weights: &[f64]) -> Vec<f64> {
        assert_eq!(weights.len(), self.len, "as many numbers as the layer has");
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
    /// [`Error::OutOfRange`] if the basis of one kind of tile has over 2²⁷ numbers; [`Error::Numerical`] if one is not orthonormal.
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
fn numbers_per_weight<F: Scalar>() -> usize {
    if F::from_parts(0.0, 1.0) == F::ZERO { 1 } else { 2 }
}

/// The layer `[out, columns, points]` that a tiling is being made for.
pub(super) struct Builder {
    columns: usize,
    points: usize,
    numbers: usize,
    tiling: Tiling,
}

impl Builder {
    /// A layer of weights of `numbers` real numbers each.
    pub(super) fn new((rows, columns, points): (usize, usize, usize), numbers: usize) -> Self {
        let stride = columns * points * numbers;
        let tiling = Tiling { len: rows * stride, stride, kinds: vec![], tiles: vec![] };
        Self { columns, points, numbers, tiling }
    }

    /// A layer of weights over `F`.
    pub(super) fn over<F: Scalar>(shape: (usize, usize, usize)) -> Self {
        Self::new(shape, numbers_per_weight::<F>())
    }

    /// A kind of tile from fields of `rows` to fields of `columns` channels with the orthonormal `basis` `[rows·columns·points, rank]`.
    pub(super) fn basis<F: Scalar>(&mut self, rows: usize, columns: usize, basis: &Mat<F>) -> Result<usize> {
        let basis = real(basis, self.numbers)?;
        let error = basis.transpose() * &basis - Mat::<f64>::identity(basis.ncols(), basis.ncols());
        if error.norm_max() > TOLERANCE {
            let reason = format!("a basis is {:.1e} from orthonormal", error.norm_max());
            return Err(Error::Numerical { procedure: "tiling of a projector", reason });
        }
        let examined = (basis.nrows() <= MAX_EXAMINED).then(|| SignedOrbits::of_basis(&basis)).flatten();
        let projector = examined.map_or(TileProjector::Basis(basis), TileProjector::Orbits);
        Ok(self.kind(rows, columns * self.points * self.numbers, projector))
    }

    /// A kind of tile by its projector.
    pub(super) fn kind(&mut self, rows: usize, segment: usize, projector: TileProjector) -> usize {
        self.tiling.kinds.push(TileKind { rows, segment, projector });
        self.tiling.kinds.len() - 1
    }

    /// A tile by its first output and input channel.
    pub(super) fn place(&mut self, kind: usize, row: usize, column: usize) {
        self.place_at(kind, (row * self.columns + column) * self.points * self.numbers);
    }

    /// A tile by its first number.
    pub(super) fn place_at(&mut self, kind: usize, start: usize) {
        self.tiling.tiles.push(Tile { kind, start });
    }

    pub(super) fn build(self) -> Tiling {
        self.tiling
    }
}

/// A basis over the field of a representation as one over ℝ: of complex weights, e gives (re e, im e) and i·e = (−im e, re e).
fn real<F: Scalar>(basis: &Mat<F>, numbers: usize) -> Result<Mat<f64>> {
    let (rows, columns) = (basis.nrows() * numbers, basis.ncols() * numbers);
    if rows.saturating_mul(columns) > MAX_BASIS {
        let found = format!("{rows} x {columns}");
        return Err(Error::range("basis of one pair of fields", format!("at most {MAX_BASIS} numbers"), found));
    }
    let imaginary = |z: F| (F::from_parts(0.0, -1.0) * z).real();
    Ok(Mat::from_fn(rows, columns, |i, j| {
        let z = basis[(i / numbers, j / numbers)];
        match (i % numbers, j % numbers) {
            (0, 0) => z.real(),
            (1, 0) => imaginary(z),
            (0, _) => -imaginary(z),
            _ => z.real(),
        }
    }))
}
