//! Couplings that share no coordinate: weighted lists, all of them in five operations.
//!
//! ```text
//! a_k = Σ_i X_ik t_i   over the list of column k       (X Xᵀ t)_i = X_ik a_k   with the one column k that i is in
//! ```
//!
//! Kernels of one degree on one ring between two irreps are such a column. Lists are filled up to the longest with zeros.

use tch::{Device, Kind, Tensor};

use super::upload;
use crate::error::Result;

/// The longest list for which filling up is no waste worth avoiding.
const LONGEST: usize = 256;

/// Disjoint columns on a device.
#[derive(Debug)]
pub(crate) struct Columns {
    /// Coordinates of each column, `[columns · longest]` (int32), and their factors, `[columns, longest]`.
    members: Tensor,
    factors: Tensor,
    /// The column of each coordinate, `[coordinates]` (int32), and its factor there.
    owner: Tensor,
    back: Tensor,
}

/// Columns that are being collected.
#[derive(Debug, Default)]
pub(super) struct ColumnsBuilder {
    /// Coordinate and factor of every entry, column after column.
    entries: Vec<(i32, f64)>,
    /// Where each column ends.
    ends: Vec<usize>,
    /// Coordinates in no column, perhaps, and the column that stands for them with factor zero.
    dead: Vec<(i32, i32)>,
}

impl ColumnsBuilder {
    /// Adds a column; `None` if it is too long.
    pub(super) fn push(&mut self, column: impl IntoIterator<Item = (i32, f64)>) -> Option<()> {
        let start = self.entries.len();
        self.entries.extend(column);
        self.ends.push(self.entries.len());
        (self.entries.len() - start <= LONGEST).then_some(())
    }

    /// Those of `coordinates` that are in no column project to zero. The column added last is of their own tile, so that what is wrong in one
    /// tile stays there.
    pub(super) fn dead(&mut self, coordinates: &[i32]) {
        let last = self.ends.len() as i32 - 1;
        self.dead.extend(coordinates.iter().map(|&coordinate| (coordinate, last)));
    }

    /// The columns.
    pub(super) fn columns(&self) -> impl Iterator<Item = &[(i32, f64)]> {
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        starts.zip(&self.ends).map(|(start, &end)| &self.entries[start..end])
    }

    /// On a device, for so many coordinates.
    pub(super) fn build(&self, coordinates: usize, kind: Kind, device: Device) -> Result<Columns> {
        let longest = self.columns().map(<[_]>::len).max().unwrap_or(1);
        let (mut members, mut factors) = (Vec::new(), Vec::new());
        let (mut owner, mut back) = (vec![0_i32; coordinates], vec![0.0; coordinates]);
        self.dead.iter().for_each(|&(coordinate, column)| owner[coordinate as usize] = column);
        for (number, column) in self.columns().enumerate() {
            for &(member, factor) in column {
                owner[member as usize] = number as i32;
                back[member as usize] = factor;
            }
            let filled = column.iter().copied().chain(std::iter::repeat((column[0].0, 0.0)));
            filled.take(longest).for_each(|(member, factor)| {
                members.push(member);
                factors.push(factor);
            });
        }
        Ok(Columns {
            members: upload(&members, Kind::Int, device)?,
            factors: upload(&factors, kind, device)?.f_view([-1, longest as i64])?,
            owner: upload(&owner, Kind::Int, device)?,
            back: upload(&back, kind, device)?,
        })
    }
}

impl Columns {
    /// Operations that one application takes.
    pub(super) const OPERATIONS: usize = 5;

    /// X Xᵀ t, `[coordinates]`.
    pub(super) fn apply(&self, coordinates: &Tensor) -> Result<Tensor> {
        let terms = coordinates.f_index_select(0, &self.members)?.f_view(self.factors.size().as_slice())?;
        let columns = terms.f_mul(&self.factors)?.f_sum_dim_intlist(1, false, None)?;
        Ok(columns.f_index_select(0, &self.owner)?.f_mul(&self.back)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_by_hand_and_a_coordinate_in_none() {
        let mut builder = ColumnsBuilder::default();
        builder.push([(1, 0.6), (3, -0.8)]).unwrap();
        builder.push([(0, 2.0)]).unwrap();
        builder.dead(&[0, 1, 2, 3]);
        let columns = builder.build(4, Kind::Double, Device::Cpu).unwrap();
        let projected = columns.apply(&Tensor::from_slice(&[5.0, 1.0, 7.0, 2.0])).unwrap();
        let found = Vec::<f64>::try_from(projected).unwrap();
        assert!(found.iter().zip([20.0, -0.6, 0.0, 0.8]).all(|(a, b)| (a - b).abs() < 1e-15), "{found:?}");
    }

    #[test]
    fn what_is_wrong_in_one_tile_stays_there() {
        let mut builder = ColumnsBuilder::default();
        builder.push([(0, 1.0)]).unwrap();
        builder.dead(&[0, 1]);
        builder.push([(2, 0.6), (3, 0.8)]).unwrap();
        builder.dead(&[2, 3, 4]);
        let columns = builder.build(5, Kind::Double, Device::Cpu).unwrap();
        let projected = columns.apply(&Tensor::from_slice(&[f64::NAN, 1.0, 0.0, 1.0, 1.0])).unwrap();
        assert!(Vec::<f64>::try_from(projected).unwrap()[2..].iter().all(|number| number.is_finite()));
        let too_long = (0..1 + LONGEST as i32).map(|member| (member, 1.0));
        assert!(builder.push(too_long).is_none());
    }
}
