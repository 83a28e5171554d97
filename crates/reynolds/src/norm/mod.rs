//! Norms of a weight matrix, and their (sub)gradients.
//!
//! A kernel `[out, in, k…]` is read as the matrix A with `out` rows and `in·k…` columns, row-major: a row is an output channel.
//!
//! ```text
//! ‖A‖_F = (Σ_ij |a_ij|²)^½              ‖A‖_spectral = σ₁(A)
//! ‖A‖_max = max_ij |a_ij|               ‖A‖_(p,q) = (Σ_i (Σ_j |a_ij|^p)^{q/p})^{1/q},   p, q ∈ {1, 2, 3}
//! ```
//!
//! Where a norm has a kink the gradient is the symmetric subgradient: the average over the tied leading singular pairs, or over
//! the tied largest entries, and 0 at A = 0. For complex weights it is ∂/∂Re + i ∂/∂Im, as in automatic differentiation.
//! [`Component`] carries the gradient through a projector.
//!
//! ```
//! use reynolds::norm::Norm;
//! let norm: Norm = "(2,1)".parse()?;                  // the rows' lengths, summed
//! let a = [3.0_f64, 4.0, 0.0, 2.0];                   // rows (3, 4) and (0, 2)
//! assert_eq!(norm.value(&a, 2)?, 7.0);
//! assert!((norm.value_and_gradient(&a, 2)?.1[1] - 0.8).abs() < 1e-15);
//! assert_eq!(norm.to_string(), "(2,1)");
//! # Ok::<(), reynolds::Error>(())
//! ```

mod component;
mod entrywise;
mod matrix_norm;
mod scale;
mod spectral;

pub use component::Component;
pub(crate) use matrix_norm::columns_of_rows;
pub use matrix_norm::{Exponent, Norm};
pub(crate) use scale::{length, scaled_down};
