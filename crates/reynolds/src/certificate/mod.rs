//! A sound bound of the equivariance error of a whole network.
//!
//! For a chain T = f_k ∘ … ∘ f_1 of maps f_i(x) = W_i x + b_i and equivariant activations, and inputs ‖x‖ ≤ R₀,
//!
//! ```text
//! sup_{g, ‖x‖≤R₀} ‖π′(g) T(x) − T(π(g) x)‖  ≤  Σ_i (Π_{m>i} L_m) (‖ΔW_i‖_op · R_{i−1} + ‖Δb_i‖)
//! R_i = L_i R_{i−1} + ‖f_i(0)‖,      L_i = Lip f_i,      ‖ΔW_i‖_op = sup_g ‖Δ_g(W_i)‖_op
//! ```
//!
//! Proof: Δ_g(f ∘ h)(x) = Δ_g(f)(h(x)) + [f(π(g) h(x)) − f(h(π(g) x))], the bracket is at most Lip f · ‖Δ_g(h)(x)‖, and h(x) lies in
//! the ball of radius R. A convolution on ℓ² is a sum of shifts, so its operator norm is at most Σ_x ‖K(x)‖_op; the Frobenius
//! norm of its kernel bounds nothing. Pointwise activations are equivariant on permutation fields only (odd ones on signed
//! permutations too). A layer that has no bound, or at which a number overflows, is refused by name.
//!
//! The bound holds in exact arithmetic. Evaluation in floating point adds rounding: for an exactly equivariant network the bound is 0, and a
//! search may still find 10⁻¹⁶.
//!
//! Departs from the paper: `lem:defect_composition` multiplies by the Lipschitz constants of the maps *before* f_i, but an h that moves
//! its inputs away from 0 (a bias, a sigmoid) makes ‖Δ(f) ∘ h‖ arbitrarily large; the constant in the proof of `cor:bound_neural_net`
//! inherits that. The radius R_{i−1} bounds it.
//!
//! ```
//! use reynolds::certificate::{Activation, Network, Stage};
//! use reynolds::projection::KernelSpace;
//! use reynolds::{group, rep};
//! let c4 = group::parse("C4")?;
//! let (field, scalar) = (rep::regular(&c4)?, rep::trivial(&c4));
//! let first = KernelSpace::dense(&field, &field)?;
//! let head = KernelSpace::dense(&field, &scalar)?;
//! let mut w = vec![0.0; 16];
//! w[0] = 1.0; // not circulant
//! let network = Network::new(
//!     &field,
//!     None,
//!     vec![
//!         Stage::linear("first", &first, w, None),
//!         Stage::activation("relu", Activation::Relu),
//!         Stage::linear("head", &head, vec![1.0; 4], None),
//!     ],
//! )?;
//! let certificate = network.certify(1.0)?;
//! let found = network.search(1.0, 2000, 1)?;
//! assert!(found.value <= certificate.bound);
//! assert!((certificate.bound - 2.0).abs() < 1e-9); // ‖ΔW‖_op = 1 times ‖head‖ = 2
//! println!("{}", certificate.with_search(found));
//! # Ok::<(), reynolds::Error>(())
//! ```

mod activation;
mod bounds;
mod network;
mod report;
mod search;

pub use activation::Activation;
pub use network::{Network, Stage, StageKind};
pub use report::{Certificate, Term};
pub use search::SearchResult;
