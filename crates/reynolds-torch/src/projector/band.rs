//! Kernels that are compressed along their points before P couples channels.
//!
//! ```text
//! w [rows, points] ─· F→ coordinates [rows, functions] ─ couplings ─· Fᵀ→ P(w)      all layers of one F as one matrix
//! ```

use faer::Mat;
use tch::{Device, Kind, Tensor};

use super::tiles::Tiles;
use super::{FlatProjector, upload_matrix};
use crate::error::Result;

/// P of layers that are compressed by functions of their own.
#[derive(Debug)]
pub(crate) struct Band {
    /// From the order of the numbers to that of `compressed` and back, `[len]` (int32) both; `None` if they are the same.
    pub(super) order: Option<[Tensor; 2]>,
    pub(super) compressed: Vec<CompressedLayers>,
    /// P on the coordinates of all `compressed`, one after the other.
    pub(super) inner: FlatProjector,
    /// The first number of each tile, `[tiles]` (int32), and P tile by tile, for kernels of a GPU.
    pub(super) tiles: Option<(Tensor, Tiles)>,
}

/// Layers that are compressed by the same functions.
#[derive(Debug)]
pub(super) struct CompressedLayers {
    numbers: i64,
    coordinates: i64,
    /// F, `[points, functions]`, and Fᵀ; `None` if numbers are their own coordinates.
    functions: Option<[Tensor; 2]>,
}

impl CompressedLayers {
    pub(super) fn new(numbers: usize, functions: Option<&Mat<f64>>, kind: Kind, device: Device) -> Result<Self> {
        let coordinates = functions.map_or(numbers, |f| numbers / f.nrows() * f.ncols());
        let functions = functions.map(|f| upload_matrix(f, (kind, device))).transpose()?;
        let functions = functions.map(<[Tensor; 2]>::from);
        Ok(Self { numbers: numbers as i64, coordinates: coordinates as i64, functions })
    }

    /// Every row of these layers times a table: 0 compresses numbers, 1 spreads coordinates.
    fn times(&self, table: usize, rows: &Tensor) -> Result<Tensor> {
        match &self.functions {
            Some(functions) => {
                let table = &functions[table];
                Ok(rows.f_view([-1, table.size()[0]])?.f_matmul(table)?.f_view([-1])?)
            }
            None => Ok(rows.shallow_clone()),
        }
    }
}

impl Band {
    pub(super) fn apply(&self, weights: &Tensor) -> Result<Tensor> {
        let ordered = |tensor: &Tensor, place: usize| match &self.order {
            Some(order) => tensor.f_index_select(0, &order[place]),
            None => Ok(tensor.shallow_clone()),
        };
        let coordinates = self.each(&ordered(weights, 0)?, |layers| layers.numbers, 0)?;
        let kept = self.inner.apply(&coordinates)?;
        Ok(ordered(&self.each(&kept, |layers| layers.coordinates, 1)?, 1)?)
    }

    /// All layers times their tables, one after the other.
    fn each(&self, tensor: &Tensor, len: impl Fn(&CompressedLayers) -> i64, table: usize) -> Result<Tensor> {
        let parts = tensor.f_split_with_sizes(self.compressed.iter().map(len).collect::<Vec<_>>(), 0)?;
        let changed = self.compressed.iter().zip(&parts).map(|(layers, rows)| layers.times(table, rows));
        match &changed.collect::<Result<Vec<_>>>()?[..] {
            [one] => Ok(one.shallow_clone()),
            several => Ok(Tensor::f_cat(several, 0)?),
        }
    }

    pub(super) fn operations(&self) -> usize {
        let products = 2 * self.compressed.iter().filter(|layers| layers.functions.is_some()).count();
        let joined = if self.compressed.len() > 1 { 2 } else { 0 };
        let ordered = if self.order.is_some() { 2 } else { 0 };
        products + joined + ordered + self.inner.operations()
    }
}
