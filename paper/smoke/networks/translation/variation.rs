//! How much a field changes from one pixel to the next.
//!
//! ```text
//! mean |w(y + 1, x) − w(y, x)| + mean |w(y, x + 1) − w(y, x)|
//! ```

use tch::Tensor;

use reynolds_torch::error::Result;

/// That sum for a field whose pixels lie along the axes `rows` and `columns`, a scalar on the tape.
///
/// # Errors
/// [`Error::Torch`](reynolds_torch::Error::Torch) if there is no such axis.
pub(super) fn variation(field: &Tensor, [rows, columns]: [i64; 2]) -> Result<Tensor> {
    let along = |axis: i64| -> Result<Tensor> {
        let less = field.size()[axis as usize] - 1;
        let difference = field.f_narrow(axis, 1, less)?.f_sub(&field.f_narrow(axis, 0, less)?)?;
        Ok(difference.f_abs()?.f_mean(field.kind())?)
    };
    Ok(along(rows)?.f_add(&along(columns)?)?)
}
