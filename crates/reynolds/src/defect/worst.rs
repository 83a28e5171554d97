//! The worst case ℰ(T) = sup_g ‖Δ_g(T)‖_F, exactly or between proven bounds.

use rayon::prelude::*;

use super::correlation::Correlation;
use super::{planar, spatial};
use crate::error::{Error, Result, all_finite, finite};
use crate::group::{ENUMERATION_LIMIT, Element, Family, Group, elements};
use crate::haar;
use crate::norm::scaled_down;
use crate::projection::{KernelSpace, Projector};
use crate::random::Random;
use crate::scalar::{Scalar, Weight};

/// Bounds of ℰ(T), with the worst element seen.
#[derive(Debug, Clone, PartialEq)]
pub struct Bracket {
    /// ℰ(T) is at least this.
    pub lower: f64,
    /// ℰ(T) is at most this.
    pub upper: f64,
    /// The element with the largest defect that was evaluated; `None` for an equivariant map.
    pub found: Option<Element>,
}

impl Bracket {
    /// upper/lower − 1; 0 for an equivariant map.
    pub fn width(&self) -> f64 {
        if self.upper == 0.0 { 0.0 } else { self.upper / self.lower - 1.0 }
    }

    /// The bracket of a value that was computed with these errors, relative and absolute.
    pub(crate) fn widened(self, relative: f64, absolute: f64) -> Self {
        let lower = (self.lower * (1.0 - relative) - absolute).max(0.0);
        Self { lower, upper: self.upper * (1.0 + relative) + absolute, ..self }
    }
}

/// How far rounding of T − P(T) moves ℰ(T): by a few units in the last place of every entry.
pub(crate) fn rounding_of_projection<F: Weight>(t: &[F]) -> f64 {
    let parts = t.iter().map(|w| w.to_c64()).map(|z| z.re.abs().max(z.im.abs()));
    4.0 * f64::EPSILON * (t.len() as f64).sqrt() * parts.fold(0.0, f64::max)
}

/// ℰ(T) for `t` of the shape of `space`; `projector` is P on that space.
///
/// - Finite G up to [`ENUMERATION_LIMIT`]: every element is tried; the bracket is as wide as rounding.
/// - Larger finite G: √(2|G|/(|G|−1))·d ≤ ℰ ≤ 2d, the lower end raised by a search over generators and random elements.
/// - SO(2), O(2), and SO(3), O(3) up to degree l_in + l_out = 24: a grid with a proven covering angle; upper/lower − 1 is at most 1 %.
/// - Any other continuous group: √2·d ≤ ℰ ≤ 2d, the lower end raised by the nodes of the Haar quadrature.
///
/// Squares are taken of T − P(T) divided by a power of two, so that neither end over- or underflows before ℰ itself does.
///
/// Paper: `lem:proj-defect`.
///
/// # Errors
/// [`Error::OutOfRange`] if P(T) or ℰ overflows.
pub fn worst<F: Scalar + Weight>(space: &KernelSpace<F>, projector: &dyn Projector<F>, t: &[F]) -> Result<Bracket> {
    let (scale, perp) = scaled_perp(space, projector, t)?;
    if scale == 0.0 {
        return Ok(Bracket { lower: 0.0, upper: 0.0, found: None });
    }
    let (lower, upper, found) = squared_ends(space, &Correlation::new(space, &perp))?;
    let [lower, upper] = [lower, upper].map(|square| finite("defect", square.sqrt() * scale));
    let bracket = Bracket { lower: lower?, upper: upper?, found: Some(found) };
    Ok(bracket.widened(relative_rounding(t.len()), rounding_of_projection(t)))
}

/// T − P(T) divided by a power of two near its largest entry, and that power; 0 if there is no difference.
///
/// Not through [`Projector::project_into`], which refuses weights whose squares over- or underflow: no square is taken here.
pub(crate) fn scaled_perp<F: Scalar + Weight>(
    space: &KernelSpace<F>,
    projector: &dyn Projector<F>,
    t: &[F],
) -> Result<(f64, Vec<F>)> {
    if projector.len() != space.len() {
        return Err(Error::shape("projector", format!("{} weights", space.len()), projector.len()));
    }
    if t.is_empty() || t.len() != space.len() {
        return Err(Error::shape("weights", format!("{} weights", space.len().max(1)), t.len()));
    }
    all_finite(t)?;
    let mut perp = vec![F::default(); t.len()];
    projector.apply(t, &mut perp);
    perp.iter_mut().zip(t).for_each(|(p, &w)| *p = w - *p);
    match perp.iter().find(|w| !w.is_finite_weight()) {
        Some(bad) => Err(Error::range("T − P(T)", "sums that do not overflow", format!("{bad:?}"))),
        None => Ok(scaled_down(&perp)),
    }
}

/// Bounds of sup_g ‖Δ_g(D)‖² for D ≠ 0 with P(D) = 0, and the worst element seen.
fn squared_ends<F: Scalar>(space: &KernelSpace<F>, correlation: &Correlation<'_, F>) -> Result<(f64, f64, Element)> {
    let (group, degree) = (space.group(), space.degree());
    let found = match (group.order(), group.family()) {
        (Some(order), _) if order <= ENUMERATION_LIMIT => {
            let (value, g) = best_of(correlation, elements(group.as_ref())?);
            return Ok((value, value, g));
        }
        (Some(_), _) => None,
        (None, Family::SO2) => Some(planar::supremum(correlation, degree, false)),
        (None, Family::O2) => Some(planar::supremum(correlation, degree, true)),
        (None, Family::SO3) if degree <= spatial::MAX_DEGREE => Some(spatial::supremum(correlation, degree, false)),
        (None, Family::O3) if degree <= spatial::MAX_DEGREE => Some(spatial::supremum(correlation, degree, true)),
        (None, _) => None,
    };
    let (value, g, proven) = match found {
        Some(found) => (correlation.defect_squared(&found.element), found.element, found.upper),
        None => {
            let (value, g) = search(correlation, group.as_ref(), degree)?;
            (value, g, f64::INFINITY)
        }
    };
    let mean = group.order().map_or(2.0, |n| 2.0 * n as f64 / (n - 1) as f64) * correlation.energy;
    let upper = proven.min(4.0 * correlation.energy);
    let lower = value.max(mean);
    // The bounds hold in exact arithmetic. Where they meet rounding may let them cross, by no more than a sum of this length loses;
    // then the upper end gives way, since the lower one was attained.
    let rounding = relative_rounding(correlation.map.len());
    debug_assert!(lower <= upper * (1.0 + rounding), "bounds cross: {lower:e} over {upper:e}");
    Ok((lower, upper.max(lower), g))
}

/// Relative error of sums of squares over so many weights.
fn relative_rounding(len: usize) -> f64 {
    1e-12 + 2.0 * f64::EPSILON * len as f64
}

/// ‖Δ_g(T)‖² at each of some elements, for `t` of the shape of `space`; `projector` is P on that space.
///
/// # Errors
/// [`Error::OutOfRange`] if a square overflows.
pub fn squares<F: Scalar + Weight>(
    space: &KernelSpace<F>,
    projector: &dyn Projector<F>,
    t: &[F],
    at: &[Element],
) -> Result<Vec<f64>> {
    let (scale, perp) = scaled_perp(space, projector, t)?;
    let correlation = Correlation::new(space, &perp);
    at.par_iter().map(|g| finite("defect", correlation.defect_squared(g) * scale * scale)).collect()
}

/// The largest ‖Δ_g‖² among the candidates.
fn best_of<F: Scalar>(correlation: &Correlation<'_, F>, candidates: Vec<Element>) -> (f64, Element) {
    candidates
        .into_par_iter()
        .map(|g| (correlation.defect_squared(&g), g))
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .expect("a group has at least one element")
}

/// Tries generators and random elements, then multiplies the best by a pool of moves while that helps.
fn search<F: Scalar>(correlation: &Correlation<'_, F>, group: &dyn Group, degree: usize) -> Result<(f64, Element)> {
    // Weights touched in all, so that a million weights are searched in seconds.
    const WORK: usize = 1 << 31;
    let evaluations = WORK / correlation.map.len();
    let mut random = Random::new(0);
    let generators = group.generators();
    let draws = (evaluations / (8 * generators.len().max(1))).clamp(4, 64);
    let mut moves = generators.clone();
    let mut candidates = generators.clone();
    match group.order() {
        Some(_) => {
            for h in haar::sample(group, draws, &mut random)? {
                // Conjugates of generators are the natural small steps: for S_n all the transpositions.
                for g in &generators {
                    moves.push(group.multiply(&group.multiply(&h, g), &group.inverse(&h)));
                }
                candidates.push(h);
            }
        }
        None => candidates.extend(group.quadrature(degree)?.nodes),
    }
    let (mut value, mut best) = best_of(correlation, candidates);
    for _ in 0..(evaluations / moves.len()).clamp(1, 32) {
        let neighbours = moves.iter().map(|h| group.multiply(h, &best)).collect();
        let (next, g) = best_of(correlation, neighbours);
        if next <= value {
            break;
        }
        (value, best) = (next, g);
    }
    Ok((value, best))
}
