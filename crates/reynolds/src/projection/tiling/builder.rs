//! How the lowered forms make their tilings.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use faer::Mat;

use super::{SignedOrbits, Tile, TileKind, TileProjector, Tiling};
use crate::error::{Error, Result};
use crate::scalar::Scalar;

/// Tiles up to this many numbers are examined for signed orbits.
const MAX_EXAMINED: usize = 512;
/// How far E may be from orthonormal.
const TOLERANCE: f64 = 1e-12;
/// The most numbers an E may have.
const MAX_BASIS: usize = 1 << 27;

/// The layer `[out, columns, points]` that a tiling is being made for, of weights of `numbers` real numbers each.
pub(in crate::projection) struct Builder {
    columns: usize,
    points: usize,
    numbers: usize,
    tiling: Tiling,
}

impl Builder {
    pub(in crate::projection) fn new((rows, columns, points): (usize, usize, usize), numbers: usize) -> Self {
        let stride = columns * points * numbers;
        let tiling = Tiling { len: rows * stride, stride, functions: None, kinds: vec![], tiles: vec![] };
        Self { columns, points, numbers, tiling }
    }

    /// Compresses the points by `functions` F `[points, functions]`; the layer was given as many points as there are functions.
    pub(in crate::projection) fn compress(&mut self, functions: &Mat<f64>) {
        assert_eq!(functions.ncols(), self.points, "a point for each function");
        let n = self.numbers;
        let same = |i: usize, j: usize| if i % n == j % n { functions[(i / n, j / n)] } else { 0.0 };
        self.tiling.len = self.tiling.len / functions.ncols() * functions.nrows();
        self.tiling.functions = Some(Mat::from_fn(n * functions.nrows(), n * functions.ncols(), same));
    }

    /// A tile for every pair of fields, which are given by kind and first channel. An output field of a kind has `rows` channels; `basis`
    /// is the orthonormal E `[rows·columns·points, rank]` of two kinds, or X if points are compressed.
    pub(in crate::projection) fn pairs<F: Scalar>(
        mut self,
        outputs: &[(usize, usize)],
        inputs: &[(usize, usize)],
        rows: impl Fn(usize) -> usize,
        basis: impl Fn(usize, usize) -> Mat<F>,
    ) -> Result<Tiling> {
        let mut kinds = HashMap::new();
        for &(out, row) in outputs {
            for &(into, column) in inputs {
                let kind = match kinds.entry((out, into)) {
                    Entry::Occupied(known) => *known.get(),
                    Entry::Vacant(place) => *place.insert(self.basis(rows(out), &basis(out, into))?),
                };
                self.place(kind, row, column);
            }
        }
        Ok(self.tiling)
    }

    fn basis<F: Scalar>(&mut self, rows: usize, basis: &Mat<F>) -> Result<usize> {
        let basis = real(basis, self.numbers)?;
        let segment = basis.nrows() / rows;
        let mut error = -Mat::<f64>::identity(basis.ncols(), basis.ncols());
        let projector = if let Some(functions) = &self.tiling.functions {
            let (run, gram) = (functions.ncols(), functions.transpose() * functions);
            for part in (0..basis.nrows() / run).map(|channel| basis.subrows(channel * run, run)) {
                error += part.transpose() * &gram * part;
            }
            TileProjector::Basis(basis)
        } else {
            error += basis.transpose() * &basis;
            let examined = basis.ncols() == 0 || basis.nrows() <= MAX_EXAMINED;
            let orbits = examined.then(|| SignedOrbits::of_basis(&basis)).flatten();
            orbits.map_or(TileProjector::Basis(basis), TileProjector::Orbits)
        };
        if error.norm_max() > TOLERANCE {
            let reason = format!("a basis is {:.1e} from orthonormal", error.norm_max());
            return Err(Error::numerical("tiling of a projector", reason));
        }
        Ok(self.kind(rows, segment, projector))
    }

    /// The number of a new kind of tile.
    pub(in crate::projection) fn kind(&mut self, rows: usize, segment: usize, projector: TileProjector) -> usize {
        self.tiling.kinds.push(TileKind { rows, segment, projector });
        self.tiling.kinds.len() - 1
    }

    /// Adds a tile by its first output and input channel.
    pub(in crate::projection) fn place(&mut self, kind: usize, row: usize, column: usize) {
        let start = (row * self.columns + column) * self.points * self.numbers;
        self.tiling.tiles.push(Tile { kind, start });
    }

    pub(in crate::projection) fn build(self) -> Tiling {
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
    Ok(Mat::from_fn(rows, columns, |i, j| {
        let [re, im] = basis[(i / numbers, j / numbers)].real_parts();
        [[re, -im], [im, re]][i % numbers][j % numbers]
    }))
}
