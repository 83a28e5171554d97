//! A gradient-free search for the worst case, which shows how loose a certificate is.

use super::Network;
use super::network::check_radius;
use crate::defect::distance;
use crate::error::{Error, Result, finite};
use crate::group::{Element, elements};
use crate::haar;
use crate::norm::length;
use crate::random::Random;

/// The worst equivariance error found by a search: a lower bound of the true one.
#[derive(Debug, Clone, PartialEq)]
pub struct SearchResult {
    /// ‖π′(g) T(x) − T(π(g) x)‖.
    pub value: f64,
    /// g.
    pub element: Element,
    /// x, of norm at most the radius.
    pub input: Vec<f64>,
}

/// Group elements tried in one search.
const ELEMENTS: usize = 64;

impl Network {
    /// ‖π′(g) T(x) − T(π(g) x)‖, an error if the network overflows there.
    pub fn error_at(&self, g: &Element, x: &[f64]) -> Result<f64> {
        let error = distance(&self.output().act(g, &self.evaluate(x)?), &self.evaluate(&self.input().act(g, x))?);
        finite("equivariance error", error)
    }

    /// Climbs by random steps in the ball ‖x‖ ≤ `radius`, over up to 64 group elements, within `evaluations` of the error.
    ///
    /// # Errors
    /// [`Error::TooLarge`] for a group that can be neither listed nor sampled.
    pub fn search(&self, radius: f64, evaluations: usize, seed: u64) -> Result<SearchResult> {
        check_radius(radius)?;
        let candidates = self.candidates(seed)?;
        if evaluations < candidates.len() {
            return Err(Error::range("evaluations", format!("at least {}", candidates.len()), evaluations));
        }
        let mut random = Random::new(seed);
        let n = self.input().len();
        let mut point = |scale: f64| -> Vec<f64> { (0..n).map(|_| scale * random.normal()).collect() };
        // A fifth of the budget picks the element and the start, the rest climbs.
        let mut best: Option<SearchResult> = None;
        let starts = (evaluations / (5 * candidates.len())).max(1);
        let mut used = 0;
        for _ in 0..starts {
            let x = onto_sphere(point(1.0), radius);
            for g in &candidates {
                let value = self.error_at(g, &x)?;
                used += 1;
                if best.as_ref().is_none_or(|best| value > best.value) {
                    best = Some(SearchResult { value, element: g.clone(), input: x.clone() });
                }
            }
        }
        let mut best = best.expect("at least one start");
        let mut step = 0.5 * radius / (n as f64).sqrt();
        while used < evaluations {
            let moved = best.input.iter().zip(point(step)).map(|(x, d)| x + d).collect();
            let x = onto_sphere(moved, radius);
            let value = self.error_at(&best.element, &x)?;
            used += 1;
            if value > best.value {
                best = SearchResult { value, input: x, ..best };
                step *= 1.5;
            } else {
                step = (step * 0.97).max(1e-6 * radius);
            }
        }
        Ok(best)
    }

    fn candidates(&self, seed: u64) -> Result<Vec<Element>> {
        let group = self.input().group();
        let all = match group.order() {
            Some(order) if order <= ELEMENTS as u128 => return elements(group.as_ref()),
            Some(_) => return haar::sample(group.as_ref(), ELEMENTS, &mut Random::new(seed)),
            None => group.quadrature(2)?.nodes,
        };
        let stride = all.len().div_ceil(ELEMENTS);
        Ok(all.into_iter().step_by(stride).collect())
    }
}

fn onto_sphere(mut x: Vec<f64>, radius: f64) -> Vec<f64> {
    let norm = length(x.iter().copied());
    if norm > 0.0 {
        x.iter_mut().for_each(|v| *v = *v / norm * radius);
    }
    x
}
