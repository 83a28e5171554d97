//! A sound bound of the equivariance error of a whole network.
//!
//! For a chain T = f_k ∘ … ∘ f_1 of maps f_i(x) = W_i x + b_i and equivariant activations, and inputs ‖x‖ ≤ R₀,
//!
//! ```text
//! sup_{g, ‖x‖≤R₀} ‖π′(g) T(x) − T(π(g) x)‖  ≤  Σ_i (Π_{m>i} L_m) (‖ΔW_i‖_op · R_{i−1} + ‖Δb_i‖)
//! R_i = L_i R_{i−1} + ‖f_i(0)‖,      L_i = Lip f_i,      ‖ΔW_i‖_op = sup_g ‖Δ_g(W_i)‖_op
//! ```
//!
//! Why: Δ_g(f ∘ h)(x) = Δ_g(f)(h(x)) + [f(π(g) h(x)) − f(h(π(g) x))], the bracket is at most Lip f · ‖Δ_g(h)(x)‖, and h(x) lies in
//! the ball of radius R. A convolution on ℓ² is a sum of shifts, so its operator norm is at most Σ_x ‖K(x)‖_op; the Frobenius
//! norm of its kernel bounds nothing. Pointwise activations are equivariant on permutation fields only (odd ones on signed
//! permutations too). What has no bound is refused by name.
//!
//! This departs from the paper: `lem:defect_composition` multiplies by the Lipschitz constants of the maps *before* f_i, but an
//! h that pushes its inputs away from 0 (a bias, a sigmoid) makes ‖Δ(f) ∘ h‖ as large as it likes, and the constant in the proof
//! of `cor:bound_neural_net` inherits that. The radius R_{i−1} is what bounds it.
//!
//! ```
//! use reynolds::certificate::{Activation, Network, Feature, Layer};
//! use reynolds::projection::KernelSpace;
//! use reynolds::{group, rep};
//! let c4 = group::parse("C4")?;
//! let (field, scalar) = (rep::regular(&c4)?, rep::trivial(&c4));
//! let first = KernelSpace::dense(&field, &field)?;
//! let head = KernelSpace::dense(&field, &scalar)?;
//! let mut w = vec![0.0; 16];
//! w[0] = 1.0; // not circulant
//! let network = Network::new(
//!     Feature::vector(&field),
//!     vec![
//!         Layer::linear("first", &first, w, None),
//!         Layer::activation("relu", Activation::Relu),
//!         Layer::linear("head", &head, vec![1.0; 4], None),
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
mod feature;
mod network;
mod search;

use std::fmt;

pub use activation::Activation;
pub use feature::Feature;
pub use network::{Layer, LayerKind, Network};
pub use search::Searched;

/// What one layer adds to the bound.
#[derive(Debug, Clone, PartialEq)]
pub struct Term {
    /// Name of the layer.
    pub layer: String,
    /// L_i, an upper bound of its Lipschitz constant.
    pub lipschitz: f64,
    /// R_{i−1}, the radius of the ball its inputs lie in.
    pub radius: f64,
    /// ‖ΔW_i‖_op · R_{i−1} + ‖Δb_i‖.
    pub defect: f64,
    /// The same times the Lipschitz constants downstream.
    pub contribution: f64,
}

/// A proven bound of sup_{g, ‖x‖≤R} ‖π′(g) T(x) − T(π(g) x)‖ in the Euclidean norm of the output.
#[derive(Debug, Clone, PartialEq)]
pub struct Certificate {
    /// R₀.
    pub radius: f64,
    /// Layer by layer, in order.
    pub terms: Vec<Term>,
    /// The sum of the contributions.
    pub bound: f64,
    /// The worst case that a search found, a lower bound of the same quantity.
    pub searched: Option<Searched>,
}

impl Certificate {
    /// The certificate beside what a search found, so that its looseness is known.
    pub fn with_search(self, searched: Searched) -> Self {
        Self { searched: Some(searched), ..self }
    }

    /// bound / searched worst case: the true worst case lies between. 1 if the bound is 0, infinite if only the search found
    /// nothing, `None` before a search.
    pub fn looseness(&self) -> Option<f64> {
        self.searched.as_ref().map(|found| if self.bound == 0.0 { 1.0 } else { self.bound / found.value })
    }
}

impl fmt::Display for Certificate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{:24} {:>12} {:>12} {:>12} {:>12}", "layer", "Lipschitz", "radius in", "defect", "contribution")?;
        for term in &self.terms {
            writeln!(
                f,
                "{:24} {:>12.4e} {:>12.4e} {:>12.4e} {:>12.4e}",
                term.layer, term.lipschitz, term.radius, term.defect, term.contribution
            )?;
        }
        write!(f, "equivariance error at most {:.4e} on inputs of norm at most {}", self.bound, self.radius)?;
        match (&self.searched, self.looseness()) {
            (Some(found), Some(ratio)) if ratio.is_finite() => {
                write!(f, "; a search found {:.4e}, so the bound is loose by at most {ratio:.1}x", found.value)
            }
            (Some(_), _) => write!(f, "; a search found no error, so its looseness is unknown"),
            _ => write!(f, "; looseness unknown, no search was made"),
        }
    }
}
