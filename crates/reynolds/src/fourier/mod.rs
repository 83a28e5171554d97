//! Fourier analysis on a compact group (Peter–Weyl), and the equivariant projection in Fourier space.
//!
//! ```text
//! f̂(π) = ∫_G f(g) π(g)* dλ(g) ∈ End(V_π),        f(g) = Σ_π d_π tr( f̂(π) π(g) ),        π ∈ Ĝ
//! T̂(π, σ): V_σ ⊗ V_σ* → V_π ⊗ V_π*,             P:  T̂(π, σ) ↦ δ_{πσ} · I ⊗ B_π,   B_π = (1/d_π) Tr T̂(π, π)
//! ```
//!
//! [`FourierTransform`] is the first line: exact on a finite group (functions in the order of its elements) and on functions
//! of degree at most L on a continuous one (sampled on the nodes of an exact Haar rule). [`Spectrum`] holds the blocks of an
//! operator, and [`OperatorSpace`] the operators themselves: from L²(G, V) to L²(G, V′), V and V′ any representations, trivial
//! for scalar functions.
//!
//! The two algorithms of the paper's Figure `alg:projection` are [`project_finite_sum`] (in space, a sum over G) and
//! [`project_fourier`] (in Fourier space, steps i–iv); they agree:
//!
//! ```
//! use reynolds::fourier::{OperatorSpace, project_finite_sum, project_fourier};
//! use reynolds::random::Random;
//! use reynolds::{group, rep};
//! let d4 = group::parse("D4")?;
//! let t = Random::new(1).matrix(8, 8);
//! let regular = rep::complexified(&rep::regular(&d4)?);
//! let in_space = project_finite_sum(&regular, &regular, &t)?;
//! let in_frequency = project_fourier(&OperatorSpace::scalar(&d4, 0)?, &t)?;
//! assert!((in_space - in_frequency).norm_max() < 1e-14);
//! # Ok::<(), reynolds::Error>(())
//! ```
//!
//! ## Which factor moves
//!
//! Coefficients are stored in the orthonormal basis e_{π,k,j}(g) = √d_π π(g)_{kj}, k outermost: c_{kj} = √d_π f̂(π)_{jk},
//! the columns of √d_π f̂(π) one below the other. The left translation (τ(h)f)(x) = f(h⁻¹x) gives f̂(π) ↦ f̂(π) π(h)*, so it
//! moves k (by the conjugate of π) and leaves j alone. An equivariant T therefore reads I ⊗ B_π on (k, j), that is, it
//! multiplies f̂(π) by B_π **on the left**. The paper's `cor:right-mult` prints the right; that would be so for ∫ f π,
//! without the star.
//!
//! ## Vector-valued signals
//!
//! On L²(G, V) with (τ⊗ρ)(g)f(x) = ρ(g)f(g⁻¹x) the blocks of an equivariant T are in general **not** diagonal in π: ρ moves
//! the frequencies. They become so after the untwisting (Uf)(x) = ρ(x)⁻¹f(x), which turns the action into τ ⊗ I; then B_π is
//! any map V_π ⊗ V → V_π ⊗ V′, with no average over the fibre. The paper's `thm:vector_block` omits U and averages instead,
//! which is a different map (a test shows it on S₃).

mod operator_space;
mod project;
mod spectrum;
mod transform;

pub use operator_space::OperatorSpace;
pub use project::{project_finite_sum, project_fourier, project_invariant};
pub use spectrum::Spectrum;
pub use transform::{FourierTransform, MAX_ENTRIES};
