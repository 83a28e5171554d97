//! Which symmetry do the weights have? Candidate groups against random signs of the weights.
//!
//! ```text
//! z = (‖P_G(W)‖² − mean)/deviation      mean and deviation of ‖P_G(W)‖² over random signs of W
//! z of G above an accepted H            the same over random signs of the means of W over the orbits of H
//! ```
//!
//! The search starts at the group of prime order with the largest z and climbs from there: of the smallest groups that contain the accepted one
//! it takes the one with the largest z, as long as that is significant after correction for the number of groups tried. The largest significant
//! group would be wrong: a mirror shares orbits with the half turn, which is then significant, too. Groups with equal P on every kernel are one.
//! Before all that the points of a kernel are brought to one variance, so that no few points decide.
//!
//! ```
//! use reynolds::audit::ranking::Contest;
//! use reynolds::{Values, plan::UniformFields, random::Random};
//! let mut random = Random::new(1);
//! let mut kernels: Vec<f64> = (0..16 * 16 * 25).map(|_| random.normal()).collect();
//! kernels.chunks_exact_mut(5).for_each(|row| (row[3], row[4]) = (row[1], row[0])); // left-right mirror images
//! let tensors = [("conv.weight".to_string(), vec![16, 16, 5, 5])];
//! let contest = &Contest::all(&tensors, UniformFields::Trivial)?[0];
//! let weighed = contest.weigh(0, &Values::from(&kernels[..]))?;
//! let ranking = contest.judge(&[weighed]);
//! assert_eq!(ranking.found.group.as_deref(), Some("flip"));
//! # Ok::<(), reynolds::Error>(())
//! ```

mod climb;
mod evidence;
mod judge;
mod lattice;
mod tail;
mod verdict;
mod weigh;

pub use climb::SIGNIFICANCE;
use evidence::Step;
use lattice::Lattice;
pub use verdict::{Found, Ranked, Ranking, meaning, probability};
pub use weigh::Weighed;

use crate::error::Result;
use crate::group::{self, GroupRef, PLANAR, PermutationGroup, SPATIAL};
use crate::plan::{UniformFields, is_convolution, is_optimizer_state};

/// What the channels are taken for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fields {
    Kernels(UniformFields),
    /// As many channels as the group has points, permuted.
    Points,
}

/// Tensors that are compared under the same candidates.
#[derive(Debug)]
struct Kind {
    what: String,
    fields: Fields,
}

/// Candidates, and the tensors on which they compete.
#[derive(Debug)]
pub struct Contest {
    kind: Kind,
    names: Vec<String>,
    candidates: Vec<GroupRef>,
    lattices: Vec<(Vec<usize>, Lattice, Steps)>,
    /// Name, and the number of its shape.
    tensors: Vec<(String, usize)>,
    /// Contests that are decided at once.
    times: usize,
}

/// All steps from one class, or from single weights, to a larger one.
type Steps = Vec<(Option<usize>, usize, Step)>;

impl Contest {
    /// The contests for these tensors: kernels with one to three axes, and linear layers under the permutations and the translations of the
    /// largest number of blocks into which their channels divide.
    pub fn all(tensors: &[(String, Vec<usize>)], fields: UniformFields) -> Result<Vec<Self>> {
        let mut contests = Vec::new();
        // The moments of an optimiser follow the gradients and not the weights.
        let tensors: Vec<&(String, Vec<usize>)> =
            tensors.iter().filter(|(name, _)| !is_optimizer_state(name)).collect();
        for (what, axes, candidates) in
            [("1-D kernels", 1, &["flip"][..]), ("2-D kernels", 2, &PLANAR[..]), ("3-D kernels", 3, &SPATIAL[..])]
        {
            let chosen = tensors.iter().copied().filter(|(_, shape)| is_convolution(shape) && shape.len() == 2 + axes);
            let kind = Kind { what: format!("{what}, {fields} fields"), fields: Fields::Kernels(fields) };
            contests.push(Self::new(kind, candidates, chosen)?);
        }
        let matrices = || tensors.iter().copied().filter(|(_, shape)| shape.len() == 2);
        for n in (2..=PermutationGroup::MAX_SYMMETRIC).rev() {
            let chosen = matrices().filter(|(_, shape)| blocks(shape) == Some(n));
            let kind = Kind { what: format!("linear layers, channels in {n} blocks"), fields: Fields::Points };
            contests.push(Self::new(kind, &[format!("Z{n}"), format!("S{n}")], chosen)?);
        }
        contests.retain(|contest| !contest.tensors.is_empty());
        let linear = contests.iter().filter(|contest| contest.kind.fields == Fields::Points).count();
        contests.iter_mut().filter(|contest| contest.kind.fields == Fields::Points).for_each(|c| c.times = linear);
        Ok(contests)
    }

    fn new<'a>(
        kind: Kind,
        candidates: &[impl AsRef<str>],
        tensors: impl Iterator<Item = &'a (String, Vec<usize>)>,
    ) -> Result<Self> {
        let names: Vec<String> = candidates.iter().map(|name| name.as_ref().to_string()).collect();
        let candidates: Vec<GroupRef> = names.iter().map(|name| group::parse(name)).collect::<Result<_>>()?;
        let mut contest = Self { kind, names, candidates, lattices: vec![], tensors: vec![], times: 1 };
        for (name, shape) in tensors {
            let known = contest.lattices.iter().position(|(known, ..)| known == shape);
            let number = match known {
                Some(number) => number,
                None => {
                    let lattice = Lattice::new(&contest.candidates, &contest.kind, shape)?;
                    let steps = steps(&lattice);
                    contest.lattices.push((shape.clone(), lattice, steps));
                    contest.lattices.len() - 1
                }
            };
            contest.tensors.push((name.clone(), number));
        }
        Ok(contest)
    }

    /// Names of the tensors, in the order in which [`Contest::weigh`] numbers them.
    pub fn tensors(&self) -> impl Iterator<Item = &str> {
        self.tensors.iter().map(|(name, _)| name.as_str())
    }
}

/// Every pair of classes, one within the other; first those from single weights.
fn steps(lattice: &Lattice) -> Steps {
    let all = &lattice.partitions;
    let mut steps: Steps = all.iter().enumerate().map(|(to, target)| (None, to, Step::new(None, target))).collect();
    for (from, source) in all.iter().enumerate() {
        for (to, target) in all.iter().enumerate().filter(|(to, target)| *to != from && source.refines(target)) {
            steps.push((Some(from), to, Step::new(Some(source), target)));
        }
    }
    steps
}

/// The largest number of blocks into which both sides of a linear layer divide, if S_n of it is not too large to act.
fn blocks(shape: &[usize]) -> Option<usize> {
    let divides = |n: &usize| shape[0] > 0 && shape[0].is_multiple_of(*n) && shape[1].is_multiple_of(*n);
    (2..=PermutationGroup::MAX_SYMMETRIC).rev().find(divides)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::values::Values;

    #[test]
    fn linear_layers_divide_into_the_most_blocks() {
        for (shape, n) in [([10, 512], Some(2)), ([64, 32], Some(32)), ([7, 5], None), ([0, 5], None)] {
            assert_eq!(blocks(&shape), n);
        }
    }

    #[test]
    fn groups_with_equal_orbits_on_every_kernel_are_one() {
        let same = |shapes: &[[usize; 4]], fields| {
            let tensors: Vec<_> = shapes.iter().enumerate().map(|(i, s)| (format!("{i}"), s.to_vec())).collect();
            let contest = Contest::all(&tensors, fields).unwrap().remove(0);
            let weighed: Vec<_> = (0..shapes.len())
                .map(|i| {
                    let ramp: Vec<f64> = (0..shapes[i].iter().product()).map(|w: usize| (w as f64).sin()).collect();
                    contest.weigh(i, &Values::from(&ramp[..])).unwrap()
                })
                .collect();
            let ranking = contest.judge(&weighed);
            let row = ranking.groups.iter().find(|row| row.group == "D4").unwrap();
            row.same_as.join(" ")
        };
        assert_eq!(same(&[[8, 8, 3, 3]], UniformFields::Trivial), "C4");
        assert_eq!(same(&[[8, 8, 3, 3], [2, 8, 5, 5]], UniformFields::Trivial), "");
        assert_eq!(same(&[[8, 8, 3, 3]], UniformFields::Regular), "");
    }
}
