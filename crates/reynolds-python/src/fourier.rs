//! Blocks of an operator on signals over a group.

use faer::{Mat, c64};
use pyo3::prelude::*;
use reynolds::fourier::OperatorSpace;
use reynolds::group;
use reynolds::rep::{self, Representation, parse_fields};

use crate::error::of_core;

/// Label and dimension.
type IrrepOf = (String, usize);

/// A block: numbers of π and σ, its rows, and its entries, row-major.
type Block = (usize, usize, usize, Vec<(f64, f64)>);

/// Labels and dimensions of the irreps, the blocks T̂(π, σ) of an operator `[rows, columns]`, and ‖T̂ − P(T̂)‖².
#[pyfunction]
pub(crate) fn fourier_blocks(
    group: &str,
    domain: &str,
    codomain: &str,
    max_degree: usize,
    entries: Vec<(f64, f64)>,
    columns: usize,
) -> PyResult<(Vec<IrrepOf>, Vec<Block>, f64)> {
    let group = group::parse(group).map_err(of_core)?;
    let fields = |text| parse_fields(&group, text).map(|rep| rep::complexified(&rep)).map_err(of_core);
    let space = OperatorSpace::new(&fields(domain)?, &fields(codomain)?, max_degree).map_err(of_core)?;
    let rows = entries.len().checked_div(columns).unwrap_or(0);
    let t = Mat::from_fn(rows, columns, |row, column| {
        let (re, im) = entries[row * columns + column];
        c64::new(re, im)
    });
    let spectrum = space.untwisted_spectrum(&t).map_err(of_core)?;
    let dual = space.untwisted().dual();
    let mut blocks = Vec::with_capacity(dual.len() * dual.len());
    for pi in 0..dual.len() {
        for sigma in 0..dual.len() {
            let block = spectrum.block(pi, sigma).map_err(of_core)?;
            let entries = (0..block.nrows())
                .flat_map(|row| (0..block.ncols()).map(move |column| (row, column)))
                .map(|at| (block[at].re, block[at].im));
            blocks.push((pi, sigma, block.nrows(), entries.collect()));
        }
    }
    let irreps = dual.iter().map(|pi| (pi.label(), pi.dim())).collect();
    let perp = (spectrum.matrix() - spectrum.project().matrix()).squared_norm_l2();
    Ok((irreps, blocks, perp))
}
