//! Kernels that are compressed along their points before P couples channels.
//!
//! ```text
//! w [rows, points] ─· F→ coordinates [rows, functions] ─ couplings ─· Fᵀ→ P(w)      all layers of one F as one matrix
//! ```

use faer::Mat;
use tch::{Device, Kind, Tensor};

use super::sparse::Sparse;
use super::{FlatProjector, upload_matrix};
use crate::error::Result;

/// P of layers that are compressed by functions of their own.
#[derive(Debug)]
pub(crate) struct Band {
    /// From the order of the numbers to that of the parts and back, `[len]` (int32) both; `None` if they are the same.
    pub(super) order: Option<[Tensor; 2]>,
    pub(super) parts: Vec<Part>,
    /// P on the coordinates of all parts.
    pub(super) inner: FlatProjector,
    /// P at once, to be added to something on a GPU.
    pub(super) sparse: Option<Sparse>,
}

/// Layers that are compressed by the same functions.
#[derive(Debug)]
pub(super) struct Part {
    numbers: i64,
    coordinates: i64,
    /// F, `[points, functions]`, and Fᵀ; `None` if numbers are their own coordinates.
    functions: Option<[Tensor; 2]>,
}

impl Part {
    pub(super) fn new(numbers: usize, functions: Option<&Mat<f64>>, kind: Kind, device: Device) -> Result<Self> {
        let coordinates = functions.map_or(numbers, |f| numbers / f.nrows() * f.ncols());
        let functions = functions.map(|f| upload_matrix(f, (kind, device))).transpose()?;
        let functions = functions.map(<[Tensor; 2]>::from);
        Ok(Self { numbers: numbers as i64, coordinates: coordinates as i64, functions })
    }

    /// Every row of this part times a table: 0 compresses numbers, 1 spreads coordinates.
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
        let coordinates = self.each(&ordered(weights, 0)?, |part| part.numbers, 0)?;
        let kept = self.inner.apply(&coordinates)?;
        Ok(ordered(&self.each(&kept, |part| part.coordinates, 1)?, 1)?)
    }

    /// Each part times its table, one after the other.
    fn each(&self, tensor: &Tensor, len: impl Fn(&Part) -> i64, table: usize) -> Result<Tensor> {
        let parts = tensor.f_split_with_sizes(self.parts.iter().map(len).collect::<Vec<_>>(), 0)?;
        let changed = self.parts.iter().zip(&parts).map(|(part, rows)| part.times(table, rows));
        match &changed.collect::<Result<Vec<_>>>()?[..] {
            [one] => Ok(one.shallow_clone()),
            several => Ok(Tensor::f_cat(several, 0)?),
        }
    }

    pub(super) fn operations(&self) -> usize {
        let products = 2 * self.parts.iter().filter(|part| part.functions.is_some()).count();
        let joined = if self.parts.len() > 1 { 2 } else { 0 };
        let ordered = if self.order.is_some() { 2 } else { 0 };
        products + joined + ordered + self.inner.operations()
    }
}
