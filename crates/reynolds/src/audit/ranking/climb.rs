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
    /// ‖P(W)‖² of a class with its mean over random signs, and ‖W‖², of the weights as they are.
    pub(super) energies: &'a dyn Fn(usize) -> Energy,
}

/// An energy, its mean over random signs and the largest it can be.
#[derive(Debug, Clone, Copy)]
pub(super) struct Energy {
    pub(super) value: f64,
    pub(super) chance: f64,
    pub(super) whole: f64,
}

impl Energy {
    /// Whether the weights are invariant up to the rounding of single precision: no accident, however few they are.
    pub(super) fn is_exact(self) -> bool {
        self.whole - self.value < 1e-10 * self.whole
    }
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

    /// Whether a class is significant by itself, in the weights as they are too: standardised points may count small weights most.
    pub(super) fn is_beyond_chance(&self, class: usize) -> bool {
        let energy = (self.energies)(class);
        energy.is_exact() || (energy.value > energy.chance && (self.evidence)(None, class).p() < SIGNIFICANCE)
    }

    /// Minimal classes that are beyond chance after correction for `tests`, too, but are not in the group that was accepted.
    pub(super) fn also(&self, accepted: usize, tests: usize) -> Vec<usize> {
        let outside = |class: &usize| *class != accepted && !(self.below)(*class, accepted);
        let corrected = |class: usize| {
            (self.energies)(class).is_exact() || (self.evidence)(None, class).p() * (tests as f64) < SIGNIFICANCE
        };
        let beyond = |class: &usize| self.is_beyond_chance(*class) && corrected(*class);
        self.minimal().into_iter().filter(outside).filter(beyond).collect()
    }

    /// The smallest classes above one.
    fn covers(&self, of: usize) -> Vec<usize> {
        let above: Vec<usize> = (0..self.classes.len()).filter(|&class| (self.below)(of, class)).collect();
        let between = |class: usize| above.iter().any(|&other| (self.below)(other, class));
        above.iter().copied().filter(|&class| !between(class)).collect()
    }

    /// Climbs while the best group of the next size is significant after correction for the tests of this step and for `times` such climbs.
    ///
    /// A group is tried only if each minimal subgroup of it is beyond chance by itself: kernels that are even under two mirrors more often
    /// than not may still be odd under the half turn, and then they have not the group of the two.
    pub(super) fn climb(&self, times: usize) -> Outcome {
        let minimal = self.minimal();
        let is_exact = |class: usize| (self.energies)(class).is_exact();
        let mut outcome = Outcome { class: None, z: None, p: 1.0 };
        loop {
            let from = outcome.class;
            let next = from.map_or_else(|| minimal.clone(), |class| self.covers(class));
            let tests = (next.len() * times) as f64;
            let sound = |class: &usize| {
                from.is_none()
                    || minimal.iter().all(|&small| !(self.below)(small, *class) || self.is_beyond_chance(small))
            };
            let tried = next.into_iter().filter(sound).filter_map(|class| {
                let evidence = (self.evidence)(from, class);
                let p = if is_exact(class) { 0.0 } else { (evidence.p() * tests).min(1.0) };
                Some((class, evidence.z()?, p))
            });
            let best = tried.max_by(|a, b| is_exact(a.0).cmp(&is_exact(b.0)).then(a.1.total_cmp(&b.1)));
            let Some((class, z, p)) = best else { return outcome };
            let energy = (self.energies)(class);
            let accepted = p < SIGNIFICANCE && energy.value > energy.chance;
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
