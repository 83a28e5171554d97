//! From the best subgroup of prime order upwards.

use super::evidence::Evidence;

/// Corrected probability below which a group is accepted. Small, since each step upwards is one more occasion to err.
pub const SIGNIFICANCE: f64 = 2e-3;

/// Groups with their inclusions on some tensors: classes of candidates with equal orbits.
pub(super) struct Order<'a> {
    /// The candidates of each class.
    pub(super) classes: &'a [Vec<usize>],
    /// Whether the orbits of the first class lie in those of the second, and are not the same.
    pub(super) below: &'a dyn Fn(usize, usize) -> bool,
    /// Evidence for a class over random signs of single weights, or of the orbits of a smaller one.
    pub(super) evidence: &'a dyn Fn(Option<usize>, usize) -> Evidence,
    /// Whether the weights are invariant under a class: no accident, however few they are.
    pub(super) is_exact: &'a dyn Fn(usize) -> bool,
}

/// The class that was accepted, with the z and the corrected p of the weakest step to it, or of the first step that was refused.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Outcome {
    pub(super) class: Option<usize>,
    pub(super) z: Option<f64>,
    pub(super) p: f64,
}

impl Order<'_> {
    /// Classes with no other below them.
    pub(super) fn minimal(&self) -> Vec<usize> {
        let all = 0..self.classes.len();
        all.clone().filter(|&class| !all.clone().any(|other| (self.below)(other, class))).collect()
    }

    /// The smallest classes above one.
    fn covers(&self, of: usize) -> Vec<usize> {
        let above: Vec<usize> = (0..self.classes.len()).filter(|&class| (self.below)(of, class)).collect();
        let between = |class: usize| above.iter().any(|&other| (self.below)(other, class));
        above.iter().copied().filter(|&class| !between(class)).collect()
    }

    /// Climbs while the best group of the next size is significant after correction for the tests of this step and for `times` such climbs.
    ///
    /// A group is tried only if each minimal subgroup of it is beyond chance by itself: an image that is even under two mirrors more often
    /// than not may still be odd under the half turn, and then it has not the group of the two.
    pub(super) fn climb(&self, times: usize) -> Outcome {
        let minimal = self.minimal();
        let beyond = |class: usize| (self.is_exact)(class) || (self.evidence)(None, class).p() < SIGNIFICANCE;
        let mut outcome = Outcome { class: None, z: None, p: 1.0 };
        loop {
            let from = outcome.class;
            let next = from.map_or_else(|| minimal.clone(), |class| self.covers(class));
            let tests = (next.len() * times) as f64;
            let sound = |class: &usize| {
                from.is_none() || minimal.iter().all(|&small| !(self.below)(small, *class) || beyond(small))
            };
            let tried = next.into_iter().filter(sound).filter_map(|class| {
                let evidence = (self.evidence)(from, class);
                let p = if (self.is_exact)(class) { 0.0 } else { (evidence.p() * tests).min(1.0) };
                Some((class, evidence.z()?, p))
            });
            let best = tried.max_by(|a, b| (self.is_exact)(a.0).cmp(&(self.is_exact)(b.0)).then(a.1.total_cmp(&b.1)));
            let Some((class, z, p)) = best else { return outcome };
            let accepted = p < SIGNIFICANCE;
            if from.is_none() || (accepted && p > outcome.p) {
                (outcome.z, outcome.p) = (Some(z), p);
            }
            if !accepted {
                return outcome;
            }
            outcome.class = Some(class);
        }
    }
}
