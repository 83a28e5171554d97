//! How a group acts: on the channels of a field, and on the points of an array.

use pyo3::prelude::*;
use reynolds::group::{self, GroupRef};
use reynolds::rep::{Grid, parse_fields};

use crate::error::of_core;

fn elements(group: &str) -> PyResult<(GroupRef, Vec<reynolds::group::Element>)> {
    let group = group::parse(group).map_err(of_core)?;
    let elements = group::elements(group.as_ref()).map_err(of_core)?;
    Ok((group, elements))
}

/// The matrices of all elements of a finite group on fields, row-major, and their size.
#[pyfunction]
pub(crate) fn channel_matrices(group: &str, fields: &str) -> PyResult<(usize, Vec<Vec<f64>>)> {
    let (group, elements) = elements(group)?;
    let fields = parse_fields(&group, fields).map_err(of_core)?;
    let of = |element| {
        let matrix = fields.matrix(element);
        (0..matrix.nrows())
            .flat_map(|row| (0..matrix.ncols()).map(move |column| (row, column)))
            .map(|at| matrix[at])
            .collect()
    };
    Ok((fields.dim(), elements.iter().map(of).collect()))
}

/// dim V of fields.
#[pyfunction]
pub(crate) fn field_dimension(group: &str, fields: &str) -> PyResult<usize> {
    let group = group::parse(group).map_err(of_core)?;
    Ok(parse_fields(&group, fields).map_err(of_core)?.dim())
}

/// Where every point of a square or cubic array goes under each element, in row-major order.
#[pyfunction]
pub(crate) fn grid_permutations(group: &str, side: usize, dims: usize) -> PyResult<Vec<Vec<u32>>> {
    let (group, elements) = elements(group)?;
    let grid = Grid::new(&group, side, dims).map_err(of_core)?;
    Ok(elements.iter().map(|element| grid.permutation(element)).collect())
}
