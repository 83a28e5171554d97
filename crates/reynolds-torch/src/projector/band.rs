//! Kernels that are compressed along their points before P couples channels.
//!
//! ```text
//! w [rows, points] ─· F→ coordinates [rows, functions] ─ couplings ─· Fᵀ→ P(w)      all layers of one F as one matrix
//! ```

use faer::Mat;
use tch::{Device, Kind, Tensor};

use super::sparse::Sparse;
use super::{FlatProjector, row_major};
use crate::device::upload;
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
    /// So many numbers and F.
    pub(super) fn new(numbers: usize, functions: Option<&Mat<f64>>, kind: Kind, device: Device) -> Result<Self> {
        let Some(f) = functions else {
            return Ok(Self { numbers: numbers as i64, coordinates: numbers as i64, functions: None });
        };
        let table = upload(&row_major(f), kind, device)?.f_view([f.nrows() as i64, -1])?;
        let coordinates = numbers / f.nrows() * f.ncols();
        let functions = Some([table.shallow_clone(), table.f_transpose(0, 1)?]);
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
        let mut start = 0;
        let mut changed = Vec::with_capacity(self.parts.len());
        for part in &self.parts {
            changed.push(part.times(table, &tensor.f_narrow(0, start, len(part))?)?);
            start += len(part);
        }
        match changed.len() {
            1 => Ok(changed.swap_remove(0)),
            _ => Ok(Tensor::f_cat(&changed, 0)?),
        }
    }

    pub(super) fn operations(&self) -> usize {
        let products = 2 * self.parts.iter().filter(|part| part.functions.is_some()).count();
        let joined = if self.parts.len() > 1 { 2 } else { 0 };
        let ordered = if self.order.is_some() { 2 } else { 0 };
        products + joined + ordered + self.inner.operations()
    }
}
