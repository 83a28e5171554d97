//! Integration over a compact group: [`Quadrature`], nodes and weights for the Haar measure λ.
//!
//! ```text
//! ∫_G f(g) dλ(g) = Σ_q w_q f(g_q)
//! ```
//! exactly, for every f on a finite group, and for every f in the span of matrix elements up to the requested degree on
//! SO(2), O(2), SO(3), O(3).
//!
//! ```
//! use reynolds::group;
//! // x² has mean 1/3 over the rotations of a unit vector: a matrix element of degree 2.
//! let so3 = group::parse("SO3")?;
//! let rule = so3.quadrature(2)?;
//! let mean = rule.integrate(|g| so3.point_matrix(g).expect("acts on space")[(0, 0)].powi(2));
//! assert!((mean - 1.0 / 3.0).abs() < 1e-14);
//! # Ok::<(), reynolds::Error>(())
//! ```

use crate::group::Element;

/// Nodes and weights that integrate over a compact group. The weights sum to one.
#[derive(Debug, Clone)]
pub struct Quadrature {
    /// The group elements g_q.
    pub nodes: Vec<Element>,
    /// The weights w_q.
    pub weights: Vec<f64>,
}

impl Quadrature {
    /// Equal weights on the given nodes.
    pub fn uniform(nodes: Vec<Element>) -> Self {
        let weights = vec![1.0 / nodes.len() as f64; nodes.len()];
        Self { nodes, weights }
    }

    /// `Σ_q w_q f(g_q)`.
    pub fn integrate(&self, mut f: impl FnMut(&Element) -> f64) -> f64 {
        self.iter().map(|(g, weight)| weight * f(g)).sum()
    }

    /// Pairs of node and weight.
    pub fn iter(&self) -> impl Iterator<Item = (&Element, f64)> {
        self.nodes.iter().zip(self.weights.iter().copied())
    }

    /// Number of nodes.
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Whether there is no node; never so for a rule of a group.
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }
}
