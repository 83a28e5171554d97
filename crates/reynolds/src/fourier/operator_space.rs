//! The operators between signals: what a matrix on samples means, its spectrum, and the untwisting of the fibres.

use std::sync::Arc;

use faer::{Mat, MatRef, c64};

use super::spectrum::Spectrum;
use super::transform::{FourierTransform, MAX_ENTRIES};
use crate::error::{Error, Result, all_finite};
use crate::group::GroupRef;
use crate::projection::KernelSpace;
use crate::rep::{self, Rep, Representation};
use crate::scalar::Scalar;

/// The linear operators from L²(G, V) to L²(G, V′), where G acts by
///
/// ```text
/// (τ ⊗ ρ)(g) f (x) = ρ(g) f(g⁻¹x),        untwisted: (Uf)(x) = ρ(x)⁻¹ f(x),   U (τ ⊗ ρ)(g) U⁻¹ = τ(g) ⊗ 1
/// ```
///
/// An operator is a matrix on samples, `[nodes · dim V′, nodes · dim V]`, index = node · dim + component. Nodes are those of
/// [`OperatorSpace::transform`]: all elements of a finite group; on a continuous one, those of a rule exact for signals of
/// degree `max_degree` with the twist of their fibres on top. There an operator is one on band-limited signals: what a
/// matrix does outside the band is dropped ([`OperatorSpace::band_limited`]).
///
/// ```
/// use reynolds::fourier::OperatorSpace;
/// use reynolds::random::Random;
/// use reynolds::{group, rep};
/// let s3 = group::parse("S3")?;
/// let points = rep::complexified(&rep::permutation(&s3)?);
/// let space = OperatorSpace::new(&points, &points, 0)?;
/// assert_eq!(space.shape(), (18, 18));
/// assert_eq!(space.dim_equivariant(), 6 * 3 * 3);
/// let t = Random::new(3).matrix(18, 18);
/// assert!((space.operator(&space.spectrum(&t)?)? - &t).norm_max() < 1e-13);
/// # Ok::<(), reynolds::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct OperatorSpace {
    fibres: KernelSpace<c64>,
    transform: Arc<FourierTransform>,
    /// The same nodes with the band that untwisted signals fill.
    untwisted: Arc<FourierTransform>,
    /// ρ(g_q) and ρ′(g_q).
    domain: Vec<Mat<c64>>,
    codomain: Vec<Mat<c64>>,
}

impl OperatorSpace {
    /// Operators from signals in `domain` V to signals in `codomain` V′, of degree at most `max_degree` if the group is
    /// continuous. Limits are those of [`FourierTransform::new`], for the degrees of signals and fibres together, and
    /// [`MAX_ENTRIES`] entries of an operator.
    pub fn new(domain: &Rep<c64>, codomain: &Rep<c64>, max_degree: usize) -> Result<Self> {
        let fibres = KernelSpace::dense(domain, codomain)?;
        let group = fibres.group();
        let twist = domain.degree().max(codomain.degree());
        let sampled = max_degree.saturating_add(twist);
        let untwisted = Arc::new(FourierTransform::oversampled(group, sampled, sampled)?);
        let transform = match twist {
            0 => untwisted.clone(),
            _ => Arc::new(FourierTransform::oversampled(group, max_degree, sampled)?),
        };
        let count = untwisted.nodes().len();
        let widest = domain.dim().max(codomain.dim());
        let entries = count.saturating_mul(widest).saturating_pow(2);
        if entries > MAX_ENTRIES {
            let what = format!("operators on {count} samples with fibres of dimension {widest}");
            return Err(Error::range(what, format!("at most {MAX_ENTRIES} entries"), entries));
        }
        let table = |rho: &Rep<c64>| untwisted.nodes().iter().map(|g| rho.matrix(g)).collect();
        let (domain, codomain) = (table(domain), table(codomain));
        Ok(Self { fibres, transform, untwisted, domain, codomain })
    }

    /// Operators L²(G) → L²(G) between scalar functions.
    pub fn scalar(group: &GroupRef, max_degree: usize) -> Result<Self> {
        let trivial = rep::complexified(&rep::trivial(group));
        Self::new(&trivial, &trivial, max_degree)
    }

    /// The transform of each component of a signal.
    pub fn transform(&self) -> &FourierTransform {
        &self.transform
    }

    /// The transform of untwisted signals, whose frequencies [`OperatorSpace::untwisted_spectrum`] has blocks for.
    pub fn untwisted(&self) -> &FourierTransform {
        &self.untwisted
    }

    /// V and V′.
    pub fn fibres(&self) -> &KernelSpace<c64> {
        &self.fibres
    }

    /// `(nodes · dim V′, nodes · dim V)`.
    pub fn shape(&self) -> (usize, usize) {
        let (into, out) = self.dims();
        (self.domain.len() * out, self.domain.len() * into)
    }

    /// dim Hom_G = ∫ |χ_τ|² χ̄_ρ χ_ρ′ dλ, with τ on the band; on a finite group |G| · dim V · dim V′.
    pub fn dim_equivariant(&self) -> usize {
        let dim = self.transform.rule().integrate(|g| {
            let terms = self.transform.dual().iter().map(|pi| pi.character(g) * c64::from_real(pi.dim() as f64));
            let translation = terms.fold(c64::ZERO, |sum, term| sum + term).abs_sq();
            let fibre = self.fibres.codomain().character(g) * self.fibres.domain().character(g).conjugate();
            (fibre * c64::from_real(translation)).real()
        });
        dim.round() as usize
    }

    /// Step i of the projection of scalar functions: the blocks T̂(π, σ) of T, of [`OperatorSpace::shape`].
    pub fn spectrum(&self, t: &Mat<c64>) -> Result<Spectrum> {
        check_operator("operator on signals", t, self.shape())?;
        self.analyse(&self.transform, t)
    }

    /// The operator on samples with these blocks: the inverse of [`OperatorSpace::spectrum`] on band-limited operators.
    pub fn operator(&self, spectrum: &Spectrum) -> Result<Mat<c64>> {
        self.synthesise(&self.transform, spectrum)
    }

    /// The part of T that takes signals in the band to signals in the band; on a finite group T itself.
    pub fn band_limited(&self, t: &Mat<c64>) -> Result<Mat<c64>> {
        self.operator(&self.spectrum(t)?)
    }

    /// Step i of the projection: the blocks of U′ T U⁻¹, on which G acts by τ ⊗ 1. They reach to the band limit plus the
    /// degree of the fibres.
    pub fn untwisted_spectrum(&self, t: &Mat<c64>) -> Result<Spectrum> {
        check_operator("operator on signals", t, self.shape())?;
        // On a finite group the band is everything.
        let limited = if self.fibres.group().order().is_some() { t.clone() } else { self.band_limited(t)? };
        let (into, out) = self.dims();
        let adjoint = |m: &Mat<c64>| m.adjoint().to_owned();
        let rows = on_fibres(&limited, out, |x| adjoint(&self.codomain[x]));
        let both = on_fibres(&adjoint(&rows), into, |x| adjoint(&self.domain[x]));
        self.analyse(&self.untwisted, &adjoint(&both))
    }

    /// Step iv of the projection: the operator T with these blocks of U′ T U⁻¹.
    pub fn twisted_operator(&self, spectrum: &Spectrum) -> Result<Mat<c64>> {
        let t = self.synthesise(&self.untwisted, spectrum)?;
        let (into, out) = self.dims();
        let rows = on_fibres(&t, out, |x| self.codomain[x].clone());
        let both = on_fibres(&rows.adjoint().to_owned(), into, |x| self.domain[x].clone());
        Ok(both.adjoint().to_owned())
    }

    /// dim V and dim V′.
    fn dims(&self) -> (usize, usize) {
        (self.fibres.domain().dim(), self.fibres.codomain().dim())
    }

    /// (A ⊗ 1) T (S ⊗ 1), with synthesis S = basis and analysis A = S* diag(w).
    fn analyse(&self, transform: &FourierTransform, t: &Mat<c64>) -> Result<Spectrum> {
        let (into, out) = self.dims();
        let weighted = weighted_basis(transform);
        let rows = on_samples(weighted.adjoint().to_owned().as_ref(), t, out);
        let both = on_samples(transform.basis().adjoint().to_owned().as_ref(), &rows.adjoint().to_owned(), into);
        Spectrum::new(transform.dual(), into, out, both.adjoint().to_owned())
    }

    /// (S ⊗ 1) T̂ (A ⊗ 1).
    fn synthesise(&self, transform: &FourierTransform, spectrum: &Spectrum) -> Result<Mat<c64>> {
        let dims: Vec<usize> = transform.dual().iter().map(|pi| pi.dim()).collect();
        if spectrum.dims() != dims || spectrum.fibres() != self.dims() {
            let describe = |dims: &[usize], fibres| format!("frequencies of dimension {dims:?} and fibres {fibres:?}");
            let got = describe(spectrum.dims(), spectrum.fibres());
            return Err(Error::shape("spectrum", describe(&dims, self.dims()), got));
        }
        let (into, out) = self.dims();
        let rows = on_samples(transform.basis(), &spectrum.matrix().to_owned(), out);
        let both = on_samples(weighted_basis(transform).as_ref(), &rows.adjoint().to_owned(), into);
        Ok(both.adjoint().to_owned())
    }
}

pub(super) fn expect_shape<F: Scalar>(what: &str, t: &Mat<F>, (rows, columns): (usize, usize)) -> Result<()> {
    if t.shape() != (rows, columns) {
        let got = format!("[{}, {}]", t.nrows(), t.ncols());
        return Err(Error::shape(what, format!("[{rows}, {columns}]"), got));
    }
    Ok(())
}

/// Refuses an operator of another shape, or with an entry that is NaN or infinite.
pub(super) fn check_operator<F: Scalar>(what: &str, t: &Mat<F>, (rows, columns): (usize, usize)) -> Result<()> {
    expect_shape(what, t, (rows, columns))?;
    all_finite(&(0..rows * columns).map(|index| t[(index / columns, index % columns)]).collect::<Vec<F>>())
}

/// diag(w) · basis, `[nodes, (π, k, j)]`: its adjoint takes samples to coefficients.
fn weighted_basis(transform: &FourierTransform) -> Mat<c64> {
    let (basis, rule) = (transform.basis(), transform.rule());
    Mat::from_fn(basis.nrows(), basis.ncols(), |q, c| basis[(q, c)] * c64::from_real(rule.weights[q]))
}

/// (M ⊗ 1) T, where rows of T are (sample, component) and there are `fibre` components.
fn on_samples(m: MatRef<'_, c64>, t: &Mat<c64>, fibre: usize) -> Mat<c64> {
    let mut out = Mat::zeros(m.nrows() * fibre, t.ncols());
    for v in 0..fibre {
        let component = Mat::from_fn(m.ncols(), t.ncols(), |x, column| t[(x * fibre + v, column)]);
        let moved = m * component;
        for column in 0..t.ncols() {
            for row in 0..m.nrows() {
                out[(row * fibre + v, column)] = moved[(row, column)];
            }
        }
    }
    out
}

/// ⊕_x M(x) · T, one matrix `[fibre, fibre]` for each sample x.
fn on_fibres(t: &Mat<c64>, fibre: usize, at: impl Fn(usize) -> Mat<c64>) -> Mat<c64> {
    let mut out = Mat::zeros(t.nrows(), t.ncols());
    for x in 0..t.nrows() / fibre {
        let moved = at(x) * t.subrows(x * fibre, fibre);
        out.subrows_mut(x * fibre, fibre).copy_from(moved);
    }
    out
}
