//! A certificate: the bound, layer by layer.

use std::fmt;

use super::SearchResult;

/// The contribution of one layer to the bound.
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

/// A proven bound of sup_{g, ‖x‖≤R} ‖π′(g) T(x) − T(π(g) x)‖ in the Euclidean norm of the output, for T in exact arithmetic.
#[derive(Debug, Clone, PartialEq)]
pub struct Certificate {
    /// R₀.
    pub radius: f64,
    /// Layer by layer, in order.
    pub terms: Vec<Term>,
    /// The sum of the contributions.
    pub bound: f64,
    /// The worst case found by a search, a lower bound.
    pub searched: Option<SearchResult>,
}

impl Certificate {
    /// Adds what a search found, which gives the looseness.
    pub fn with_search(self, searched: SearchResult) -> Self {
        Self { searched: Some(searched), ..self }
    }

    /// bound / searched worst case; the true worst case lies between the two. 1 if the bound is 0, infinite if the search found no error,
    /// `None` before a search.
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
        write!(
            f,
            "equivariance error at most {:.4e} in exact arithmetic on inputs of norm at most {}",
            self.bound, self.radius
        )?;
        match (&self.searched, self.looseness()) {
            (Some(found), _) if found.value > self.bound => {
                write!(f, "; a search found {:.4e}, which only rounding of the evaluation can explain", found.value)
            }
            (Some(found), Some(ratio)) if ratio.is_finite() => {
                write!(f, "; a search found {:.4e}, so the bound is loose by at most {ratio:.1}x", found.value)
            }
            (Some(_), _) => write!(f, "; a search found no error, so its looseness is unknown"),
            _ => write!(f, "; looseness unknown, no search was made"),
        }
    }
}
