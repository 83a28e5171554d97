//! A likelihood over SO(3) or O(3), learned: which elements of the group a layer is averaged over.
//!
//! ```text
//! f(g) = Σ_π √d_π Σ_{c,r} f̂(π)[c, r] π(g)[r, c],      degrees ≤ L
//! λ(g) = exp f(g) / ∫ exp f,      λ̂(ψ) = ∫ λ(g) ψ(g)⁻¹ dg,      degrees ≤ L′
//! ```
//!
//! The parameters f̂ begin at 1 for the trivial irrep and 0 elsewhere, the uniform λ = 1. Layers need the transforms λ̂(ψ) alone.
//!
//! Departure: Veefkind and Cesa take means over 331 points spread by repulsion and fit λ̂ by least squares. Here integrals are those of the
//! core's Haar rule of degree 2(L + L′) (1183 rotations for L = 2, L′ = 4); both agree on functions of these degrees.

use super::*;
use reynolds::group::{Element, Spatial};
use reynolds::irrep::Irrep;
use reynolds::rep::Representation;

/// The irreps of a group up to a degree, in the order of [`Symmetry::labels`].
pub(super) fn irreps(symmetry: Symmetry, max_degree: usize) -> Result<Vec<Irrep>> {
    let all = symmetry.group()?.irreps(max_degree)?;
    let labels = symmetry.labels(max_degree);
    Ok(labels.iter().filter_map(|label| all.iter().find(|irrep| irrep.label() == *label)).cloned().collect())
}

pub(super) struct Likelihood {
    /// The length of f̂: 35 for SO(3) and 70 for O(3) if L = 2.
    coefficients: usize,
    /// `[N, coefficients]`: f at the nodes.
    functions: Constant,
    /// `[1 + M, coefficients]`: f at the identity, then at points around it, where the largest logit is looked for too.
    around_identity: Constant,
    /// `[N]`: logarithms of the weights of the nodes.
    log_weights: Constant,
    /// `[Σ d_ψ², N]`: ψ(g_q)[κ, c], rows in the order ψ, c, κ.
    transform: Constant,
    /// d_ψ.
    dims: Vec<i64>,
    pub(super) kernel_degree: usize,
}

pub(super) struct Density {
    /// f, `[N]`.
    pub(super) logits: Tensor,
    /// log ∫ exp f, a number.
    pub(super) log_normaliser: Tensor,
    /// w_q λ(g_q), `[N]`: they sum to one.
    pub(super) masses: Tensor,
}

impl Likelihood {
    pub(super) fn new(symmetry: Symmetry, config: &LikelihoodConfig) -> Result<Self> {
        let (inner, outer) = (irreps(symmetry, config.degree)?, irreps(symmetry, config.kernel_degree)?);
        let rule = symmetry.group()?.quadrature(2 * (config.degree + config.kernel_degree))?;
        let (count, coefficients) = (rule.nodes.len(), inner.iter().map(|irrep| irrep.dim().pow(2)).sum::<usize>());
        let functions: Vec<f64> = rule.nodes.iter().flat_map(|g| matrix_elements(&inner, g)).collect();
        let near: Vec<f64> = around_identity().iter().flat_map(|g| matrix_elements(&inner, g)).collect();
        let log_weights: Vec<f64> = rule.weights.iter().map(|weight| weight.ln()).collect();
        let mut transform = Vec::new();
        for psi in &outer {
            let matrices: Vec<_> = rule.nodes.iter().map(|g| psi.matrix(g)).collect();
            for (c, k) in (0..psi.dim()).flat_map(|c| (0..psi.dim()).map(move |k| (c, k))) {
                transform.extend(matrices.iter().map(|matrix| matrix[(k, c)]));
            }
        }
        let rows = (transform.len() / count) as i64;
        let (points, columns) = ((near.len() / coefficients) as i64, coefficients as i64);
        Ok(Self {
            coefficients,
            functions: Constant::new(&functions, &[count as i64, columns])?,
            around_identity: Constant::new(&near, &[points, columns])?,
            log_weights: Constant::new(&log_weights, &[count as i64])?,
            transform: Constant::new(&transform, &[rows, count as i64])?,
            dims: outer.iter().map(|psi| psi.dim() as i64).collect(),
            kernel_degree: config.kernel_degree,
        })
    }

    /// The same without a copy on the host.
    pub(super) fn share(&self) -> Self {
        Self {
            functions: self.functions.share(),
            around_identity: self.around_identity.share(),
            log_weights: self.log_weights.share(),
            transform: self.transform.share(),
            dims: self.dims.clone(),
            ..*self
        }
    }

    /// f̂ of the uniform likelihood: 1, 0, 0, …
    pub(super) fn uniform(&self) -> Vec<f64> {
        let mut values = vec![0.0; self.coefficients];
        values[0] = 1.0;
        values
    }

    /// λ of f̂ `[coefficients]`, on the tape.
    pub(super) fn density(&self, coefficients: &Tensor) -> Result<Density> {
        let logits = self.functions.like(coefficients)?.f_mv(coefficients)?;
        let weighted = &logits + self.log_weights.like(coefficients)?;
        let log_normaliser = weighted.f_logsumexp([0], false)?;
        let masses = weighted.f_sub(&log_normaliser)?.f_exp()?;
        Ok(Density { logits, log_normaliser, masses })
    }

    /// λ̂(ψ), `[d_ψ, d_ψ]` each, in the order of [`irreps`], of f̂ `[coefficients]`.
    pub(super) fn transforms(&self, coefficients: &Tensor) -> Result<Vec<Tensor>> {
        let flat = self.transform.like(coefficients)?.f_mv(&self.density(coefficients)?.masses)?;
        let sizes: Vec<i64> = self.dims.iter().map(|dim| dim * dim).collect();
        let parts = flat.f_split_with_sizes(sizes.as_slice(), 0)?;
        parts.iter().zip(&self.dims).map(|(part, &dim)| Ok(part.f_view([dim, dim])?)).collect()
    }

    /// The term of the loss for likelihoods f̂₁, f̂₂, … of consecutive layers:
    ///
    /// ```text
    /// alignment Σ_b (max f_b − f_b(1)) + uniform/B KL(λ₁ ‖ 1) + divergence/B Σ_{b>1} KL(λ_b ‖ λ_{b−1})
    /// ```
    ///
    /// The maximum is over the nodes and points around the identity; λ_{b−1} is held fixed.
    pub(super) fn prior(&self, likelihoods: &[Tensor], config: &LikelihoodConfig) -> Result<Tensor> {
        let share = 1.0 / likelihoods.len() as f64;
        let mut terms = Vec::new();
        let mut before: Option<(Tensor, Tensor)> = None;
        for coefficients in likelihoods {
            let Density { logits, log_normaliser, masses } = self.density(coefficients)?;
            let near = self.around_identity.like(coefficients)?.f_mv(coefficients)?;
            let largest = Tensor::f_cat(&[&logits, &near], 0)?.f_max()?;
            terms.push((largest - near.f_select(0, 0)?) * config.alignment);
            let own = masses.f_dot(&logits)? - &log_normaliser;
            terms.push(match &before {
                None => own * (config.uniform * share),
                Some((other, normaliser)) => (own - masses.f_dot(other)? + normaliser) * (config.divergence * share),
            });
            before = Some((logits.f_detach()?, log_normaliser.f_detach()?));
        }
        let terms = Tensor::f_stack(&terms, 0)?;
        Ok(terms.f_sum(terms.kind())?)
    }
}

/// √d_π π(g)[r, c] in the order π, c, r.
fn matrix_elements(irreps: &[Irrep], g: &Element) -> Vec<f64> {
    let mut elements = Vec::new();
    for irrep in irreps {
        let (matrix, root) = (irrep.matrix(g), (irrep.dim() as f64).sqrt());
        for column in matrix.col_iter() {
            elements.extend(column.iter().map(|entry| root * entry));
        }
    }
    elements
}

/// f̂ of a function that is largest at the identity: Σ_π d_π tr π(g).
#[cfg(test)]
pub(super) fn peak_at_identity(symmetry: Symmetry, max_degree: usize) -> Tensor {
    let identity = Element::Spatial(Spatial::IDENTITY);
    Tensor::from_slice(&matrix_elements(&irreps(symmetry, max_degree).unwrap(), &identity))
}

/// The identity, then turns by up to half a radian: the nodes are too far apart to tell whether f is largest at the identity.
fn around_identity() -> Vec<Element> {
    let mut elements = vec![Element::Spatial(Spatial::IDENTITY)];
    for (tilt, direction) in
        [0.1, 0.2, 0.3, 0.4].into_iter().flat_map(|tilt| (0..8).map(move |of| (tilt, f64::from(of))))
    {
        let alpha = direction * std::f64::consts::FRAC_PI_4;
        let turn = |twist| Element::Spatial(Spatial::from_euler(alpha, tilt, twist - alpha));
        elements.extend([-0.3, 0.0, 0.3].map(turn));
    }
    elements
}

#[cfg(test)]
mod tests {

    use super::*;

    fn likelihood(symmetry: Symmetry) -> Likelihood {
        Likelihood::new(symmetry, &LikelihoodConfig::default()).unwrap()
    }

    fn random(likelihood: &Likelihood, scale: f64) -> Tensor {
        let mut random = Random::new(7);
        Tensor::from_slice(&(0..likelihood.coefficients).map(|_| scale * random.normal()).collect::<Vec<_>>())
    }

    fn number(tensor: &Tensor) -> f64 {
        f64::try_from(tensor).unwrap()
    }

    #[test]
    fn a_likelihood_begins_uniform_and_masses_sum_to_one_and_transforms_contract() {
        for (symmetry, count) in [(Symmetry::So3, 35), (Symmetry::O3, 70)] {
            let likelihood = likelihood(symmetry);
            assert_eq!(likelihood.coefficients, count);
            let transforms = likelihood.transforms(&Tensor::from_slice(&likelihood.uniform())).unwrap();
            for (psi, transform) in transforms.iter().enumerate() {
                let expected = if psi == 0 { 1.0 } else { 0.0 };
                assert!(number(&(transform - expected).abs().max()) < 1e-13, "{symmetry:?} {psi}");
            }
            let coefficients = random(&likelihood, 0.7);
            assert!((number(&likelihood.density(&coefficients).unwrap().masses.sum(Kind::Double)) - 1.0).abs() < 1e-13);
            for transform in likelihood.transforms(&coefficients).unwrap() {
                let gain = number(&transform.svd(true, true).1.max());
                assert!(gain < 1.0 + 1e-12, "{gain}");
            }
        }
    }

    #[test]
    fn the_prior_by_hand() {
        // f = 1 + t √3 π₁(g)[0, 0] depends on one cosine x, uniform in −1..1 like the entries of a Haar rotation: ∫ exp(t√3 x) = sinh(a)/a.
        let likelihood = likelihood(Symmetry::So3);
        let single = |t: f64| {
            let mut values = likelihood.uniform();
            values[1] = t;
            Tensor::from_slice(&values)
        };
        let normaliser = |a: f64| (a.sinh() / a).ln();
        let mean = |a: f64| 1.0 / a.tanh() - 1.0 / a;
        let prior = |maps: &[Tensor], [alignment, uniform, divergence]: [f64; 3]| {
            let config = LikelihoodConfig { alignment, uniform, divergence, ..LikelihoodConfig::default() };
            number(&likelihood.prior(maps, &config).unwrap())
        };
        let (t, u) = (0.4, 0.15);
        let (a, b) = (t * 3f64.sqrt(), u * 3f64.sqrt());
        let from_uniform = a * mean(a) - normaliser(a);
        assert!((prior(&[single(t)], [0.0, 2.0, 9.0]) - 2.0 * from_uniform).abs() < 1e-9);
        let maps = [single(t), single(u), single(u)];
        let from_before = (b - a) * mean(b) - normaliser(b) + normaliser(a);
        assert!((prior(&maps, [0.0, 0.0, 1.0]) - from_before / 3.0).abs() < 1e-9);
        // Largest at x = 1, where the identity is; with the other sign the identity is 2a below the largest, at half turns.
        assert!(prior(&[single(t)], [5.0, 0.0, 0.0]).abs() < 1e-13);
        let far = prior(&[single(-t)], [5.0, 0.0, 0.0]);
        assert!(far <= 10.0 * a && far > 9.5 * a, "{far} {}", 10.0 * a);
    }

    #[test]
    fn a_likelihood_largest_near_the_identity_is_not_aligned() {
        // f = s Σ_π d_π tr(π(h)⁻¹ π(g)) is 35 s at h, and s Σ_l (2l + 1) χ_l(θ) at the identity, θ the angle of h: less than nodes can tell.
        let (likelihood, s, theta) = (likelihood(Symmetry::So3), 0.1, 0.2_f64);
        let h = Element::Spatial(Spatial::from_euler(0.0, theta, 0.0));
        let peak = Tensor::from_slice(&matrix_elements(&irreps(Symmetry::So3, 2).unwrap(), &h)) * s;
        let config = LikelihoodConfig { alignment: 2.0, uniform: 0.0, divergence: 0.0, ..LikelihoodConfig::default() };
        let character = |dim: f64| dim * (dim * theta / 2.0).sin() / (theta / 2.0).sin();
        let expected = 2.0 * s * (35.0 - [1.0, 3.0, 5.0].map(character).iter().sum::<f64>());
        let prior = number(&likelihood.prior(&[peak], &config).unwrap());
        assert!((prior - expected).abs() < 1e-12, "{prior} {expected}");
    }

    #[test]
    fn the_likelihood_before_is_held_fixed() {
        let likelihood = likelihood(Symmetry::So3);
        let first = random(&likelihood, 0.3).set_requires_grad(true);
        let second = (random(&likelihood, -0.2)).set_requires_grad(true);
        let config = LikelihoodConfig { alignment: 0.0, uniform: 0.0, ..LikelihoodConfig::default() };
        let prior = likelihood.prior(&[first.shallow_clone(), second.shallow_clone()], &config).unwrap();
        let gradients = Tensor::run_backward(&[prior], &[first, second], false, false);
        assert_eq!(number(&gradients[0].abs().max()), 0.0);
        assert!(number(&gradients[1].abs().max()) > 0.01);
    }
}
