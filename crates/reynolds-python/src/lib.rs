//! The compiled part of the Python package `reynolds`: plans, projectors, penalties, audits.
//!
//! ```text
//! Plan ─ resolve(names, shapes) ▶ Layers ─ project · energies · add_gradient · decoupled ▶ on the memory of CPU tensors
//!                                        ├ kernels ▶ on the memory of CUDA tensors, on torch's stream
//!                                        └ tiles ▶ index lists, for torch operations elsewhere
//! ```
//!
//! It links neither torch nor Python: tensors come as addresses, which `python/reynolds` checks (device, type, contiguity, size) before
//! it passes them on; everything else in Python is written there.

mod action;
mod audit;
mod certificate;
mod error;
mod fourier;
mod kernels;
mod layers;
mod memory;
mod penalty;
mod plan;

use pyo3::prelude::*;

#[pymodule(gil_used = false)]
fn _reynolds(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("Error", module.py().get_type::<error::ReynoldsError>())?;
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add_class::<plan::Plan>()?;
    module.add_class::<layers::Layers>()?;
    module.add_class::<penalty::Settings>()?;
    module.add_class::<kernels::Kernels>()?;
    module.add_class::<audit::Audit>()?;
    module.add_function(wrap_pyfunction!(audit::audit_file, module)?)?;
    module.add_function(wrap_pyfunction!(audit::audit_bytes, module)?)?;
    module.add_function(wrap_pyfunction!(audit::command_line, module)?)?;
    module.add_function(wrap_pyfunction!(certificate::certify, module)?)?;
    module.add_function(wrap_pyfunction!(fourier::fourier_blocks, module)?)?;
    module.add_function(wrap_pyfunction!(action::field_dimension, module)?)?;
    module.add_function(wrap_pyfunction!(action::channel_matrices, module)?)?;
    module.add_function(wrap_pyfunction!(action::grid_permutations, module)?)?;
    Ok(())
}
