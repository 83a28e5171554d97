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
mod lattice;
mod tail;

use std::collections::HashMap;

pub use climb::SIGNIFICANCE;
use climb::{Energy, Order};
use evidence::{Evidence, Step};
use lattice::Lattice;

use super::Total;
use crate::error::{Error, Result};
use crate::group::{self, GroupRef, PLANAR, PermutationGroup, SPATIAL};
use crate::plan::{UniformFields, is_convolution};
use crate::values::Values;

/// What was found on some tensors or on one.
#[derive(Debug, Clone, PartialEq)]
pub struct Found {
    /// Name of the group; `None` if nothing is significant.
    pub group: Option<String>,
    /// Deviation from chance in standard deviations, at the weakest step of the climb, or of the best group that was refused.
    pub z: Option<f64>,
    /// Probability of that by chance, corrected for the number of groups tried.
    pub p: f64,
    /// Groups with the same orbits on every kernel.
    pub same_as: Vec<String>,
    /// Groups of prime order that are beyond chance by themselves, but not together with `group`.
    pub also: Vec<String>,
}

/// One candidate, against random signs of all weights.
#[derive(Debug, Clone, PartialEq)]
pub struct Ranked {
    /// Name of the group.
    pub group: String,
    /// Energy, chance and excess.
    pub total: Total,
    /// Deviation from chance in standard deviations; `None` where it has nothing to act on.
    pub z: Option<f64>,
    /// Probability of that by chance, corrected for the number of candidates.
    pub p: f64,
    /// Groups with the same orbits on every kernel.
    pub same_as: Vec<String>,
}

/// The symmetry of tensors of one kind.
#[derive(Debug, Clone)]
pub struct Ranking {
    /// The tensors.
    pub what: String,
    /// The fields that the channels of kernels were taken for; `None` for linear layers.
    pub fields: Option<UniformFields>,
    /// The group of all of them together.
    pub found: Found,
    /// The group of each tensor with numbers other than zero; its p is also corrected for the number of tensors.
    pub layers: Vec<(String, Found)>,
    /// All candidates, the largest z first.
    pub groups: Vec<Ranked>,
}

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

/// What one tensor says about each candidate.
#[derive(Debug, Clone)]
pub struct Weighed {
    norm: f64,
    weights: usize,
    /// ‖P(W)‖² and its mean over random signs, for each class.
    energies: Vec<(f64, f64)>,
    evidence: HashMap<(Option<usize>, usize), Evidence>,
}

impl Contest {
    /// The contests for these tensors: kernels with one to three axes, and linear layers under the permutations and the translations of the
    /// largest number of blocks into which their channels divide.
    pub fn all(tensors: &[(String, Vec<usize>)], fields: UniformFields) -> Result<Vec<Self>> {
        let mut contests = Vec::new();
        for (what, axes, candidates) in
            [("1-D kernels", 1, &["flip"][..]), ("2-D kernels", 2, &PLANAR[..]), ("3-D kernels", 3, &SPATIAL[..])]
        {
            let chosen = tensors.iter().filter(|(_, shape)| is_convolution(shape) && shape.len() == 2 + axes);
            let kind = Kind { what: format!("{what}, {fields} fields"), fields: Fields::Kernels(fields) };
            contests.push(Self::new(kind, candidates, chosen)?);
        }
        let matrices = || tensors.iter().filter(|(_, shape)| shape.len() == 2);
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

    /// Measures one tensor; `None` if it holds nothing but zeros, or a number that is not finite: neither is evidence.
    ///
    /// # Errors
    /// [`Error::Shape`] if the number of weights is not that of the tensor.
    pub fn weigh(&self, tensor: usize, values: &Values<'_>) -> Result<Option<Weighed>> {
        let (shape, lattice, steps) = &self.lattices[self.tensors[tensor].1];
        if values.len() != shape.iter().product::<usize>() {
            return Err(Error::shape("tensor", format!("{shape:?}"), format!("{} weights", values.len())));
        }
        if values.is_zero() || values.first_not_finite().is_some() {
            return Ok(None);
        }
        let mut weights = values.to_f64().into_owned();
        let largest = weights.iter().fold(0.0_f64, |largest, w| largest.max(w.abs()));
        weights.iter_mut().for_each(|w| *w /= largest);
        let energies = lattice.partitions.iter().map(|partition| {
            let (mut energy, mut chance) = (0.0, 0.0);
            let mut orbits = vec![(0.0, 0.0, 0.0); partition.orbits];
            for chunk in weights.chunks_exact(lattice.chunk) {
                orbits.fill((0.0, 0.0, 0.0));
                for (&w, &label) in chunk.iter().zip(&partition.labels) {
                    let (sum, square, count) = &mut orbits[label as usize];
                    *sum += w;
                    *square += w * w;
                    *count += 1.0;
                }
                energy += orbits.iter().map(|(sum, _, count)| sum * sum / count).sum::<f64>();
                chance += orbits.iter().map(|(_, square, count)| square / count).sum::<f64>();
            }
            (energy * largest * largest, chance * largest * largest)
        });
        let energies = energies.collect();
        let norm = weights.iter().map(|w| w * w).sum::<f64>() * largest * largest;
        if self.kind.fields == Fields::Points {
            // The mean of a whole matrix is invariant under every permutation, and says nothing about blocks.
            let mean = weights.iter().sum::<f64>() / weights.len() as f64;
            weights.iter_mut().for_each(|w| *w -= mean);
        }
        standardise(&mut weights, lattice.points);
        let mut evidence = HashMap::new();
        let mut starts: Vec<Option<usize>> = steps.iter().map(|step| step.0).collect();
        starts.dedup();
        for from in starts {
            let mut taken: Vec<(usize, &Step, Evidence)> = steps
                .iter()
                .filter(|step| step.0 == from)
                .map(|(_, to, step)| (*to, step, Evidence::default()))
                .collect();
            let mut sums = Vec::new();
            for chunk in weights.chunks_exact(lattice.chunk) {
                let members: &[f64] = match from.map(|class| &lattice.partitions[class]) {
                    None => chunk,
                    Some(partition) => {
                        sums.clear();
                        sums.resize(partition.orbits, 0.0);
                        chunk.iter().zip(&partition.labels).for_each(|(w, &label)| sums[label as usize] += w);
                        &sums
                    }
                };
                taken.iter_mut().for_each(|(_, step, evidence)| step.add(members, evidence));
            }
            evidence.extend(taken.into_iter().map(|(to, _, found)| ((from, to), found)));
        }
        Ok(Some(Weighed { norm, weights: weights.len(), energies, evidence }))
    }

    /// The verdict on what [`Contest::weigh`] measured of each tensor, in their order.
    pub fn judge(&self, weighed: &[Option<Weighed>]) -> Ranking {
        let used: Vec<(&(String, usize), &Weighed)> = self
            .tensors
            .iter()
            .zip(weighed)
            .filter_map(|(tensor, weighed)| Some((tensor, weighed.as_ref()?)))
            .collect();
        let mut layers = Vec::new();
        for &((name, number), weighed) in &used {
            let lattice = &self.lattices[*number].1;
            let classes: Vec<Vec<usize>> = (0..lattice.partitions.len())
                .map(|class| (0..self.names.len()).filter(|&c| lattice.class[c] == Some(class)).collect())
                .collect();
            let below = |a: usize, b: usize| a != b && lattice.partitions[a].refines(&lattice.partitions[b]);
            let evidence = |from, to| weighed.evidence.get(&(from, to)).copied().unwrap_or_default();
            let energies = |class: usize| {
                let (value, chance) = weighed.energies[class];
                Energy { value, chance, whole: weighed.norm }
            };
            let order = Order { classes: &classes, below: &below, evidence: &evidence, energies: &energies };
            if !classes.is_empty() {
                layers.push((name.clone(), self.found(&order, self.times * used.len())));
            }
        }
        self.together(&used, layers)
    }

    fn together(&self, used: &[(&(String, usize), &Weighed)], layers: Vec<(String, Found)>) -> Ranking {
        let lattice = |number: usize| &self.lattices[number].1;
        let key = |candidate: usize| -> Vec<Option<usize>> {
            self.lattices.iter().map(|(_, lattice, _)| lattice.class[candidate]).collect()
        };
        let mut classes: Vec<Vec<usize>> = Vec::new();
        for candidate in (0..self.names.len()).filter(|&candidate| key(candidate).iter().any(Option::is_some)) {
            match classes.iter_mut().find(|class| key(class[0]) == key(candidate)) {
                Some(class) => class.push(candidate),
                None => classes.push(vec![candidate]),
            }
        }
        let keys: Vec<Vec<Option<usize>>> = classes.iter().map(|class| key(class[0])).collect();
        let within = |a: usize, b: usize| {
            keys[a].iter().zip(&keys[b]).zip(&self.lattices).all(|((a, b), (_, lattice, _))| match (a, b) {
                (Some(a), Some(b)) => lattice.partitions[*a].refines(&lattice.partitions[*b]),
                _ => true,
            })
        };
        let below = |a: usize, b: usize| within(a, b) && !within(b, a);
        let evidence = |from: Option<usize>, to: usize| {
            let mut sum = Evidence::default();
            for &((_, number), weighed) in used {
                let from = from.and_then(|from| keys[from][*number]);
                if let Some(found) = keys[to][*number].and_then(|to| weighed.evidence.get(&(from, to))) {
                    sum += *found;
                }
            }
            sum
        };
        let mut totals = Vec::new();
        for class in 0..classes.len() {
            let mut total = Total::default();
            let mut chance = 0.0;
            for &((_, number), weighed) in used {
                let Some(class) = keys[class][*number] else { continue };
                let (energy, random) = weighed.energies[class];
                let partition = &lattice(*number).partitions[class];
                total.layers += 1;
                total.weights += weighed.weights;
                total.energies.equivariant += energy;
                total.energies.perp += (weighed.norm - energy).max(0.0);
                chance += random;
                total.dimension_share +=
                    partition.orbits as f64 / partition.labels.len() as f64 * weighed.weights as f64;
            }
            total.dimension_share /= total.weights.max(1) as f64;
            total.chance = chance / total.energies.total().max(f64::MIN_POSITIVE);
            totals.push(total);
        }
        let energies = |class: usize| {
            let (total, whole) = (&totals[class], totals[class].energies.total());
            Energy { value: total.energies.equivariant, chance: total.chance * whole, whole }
        };
        let order = Order { classes: &classes, below: &below, evidence: &evidence, energies: &energies };
        let mut groups = Vec::new();
        for (class, members) in classes.iter().enumerate() {
            let (total, found) = (totals[class], evidence(None, class));
            let tests = (classes.len() * self.times) as f64;
            let p = if energies(class).is_exact() { 0.0 } else { (found.p() * tests).min(1.0) };
            for &candidate in members {
                let same_as = members.iter().filter(|&&c| c != candidate).map(|&c| self.names[c].clone()).collect();
                let group = self.names[candidate].clone();
                groups.push(Ranked { group, total, z: found.z(), p, same_as });
            }
        }
        groups.sort_by(|a, b| b.z.unwrap_or(f64::NEG_INFINITY).total_cmp(&a.z.unwrap_or(f64::NEG_INFINITY)));
        let counted = used.iter().filter(|((_, number), _)| !lattice(*number).partitions.is_empty()).count();
        let what = format!("{}, on {counted} of {} tensors", self.kind.what, self.tensors.len());
        let fields = match self.kind.fields {
            Fields::Kernels(fields) => Some(fields),
            Fields::Points => None,
        };
        Ranking { what, fields, found: self.found(&order, self.times), layers, groups }
    }

    fn found(&self, order: &Order<'_>, times: usize) -> Found {
        let outcome = order.climb(times);
        let members = outcome.class.map_or(&[][..], |class| &order.classes[class]);
        let mut names = members.iter().map(|&candidate| self.names[candidate].clone());
        let others = outcome.class.map_or(vec![], |class| order.also(class));
        let also = others.iter().map(|&class| self.names[order.classes[class][0]].clone()).collect();
        Found { group: names.next(), same_as: names.collect(), z: outcome.z, p: outcome.p, also }
    }
}

impl Ranking {
    /// The verdict in one line, with z and p as in the row of the group it names.
    pub fn verdict(&self) -> String {
        let row = |is_it: &dyn Fn(&Ranked) -> bool| self.groups.iter().find(|row| is_it(row));
        let numbers = |row: Option<&Ranked>| {
            let (z, p) = row.map_or((self.found.z, self.found.p), |row| (row.z, row.p));
            format!("z {:.1}, corrected p {}", z.unwrap_or_default(), probability(p))
        };
        match (&self.found.group, self.found.z) {
            (None, None) => "nothing to compare: no candidate acts on weights other than zero".into(),
            (None, Some(_)) => {
                let best = row(&|row| row.z == self.found.z);
                let name = best.map_or(String::new(), |row| format!("{}, ", row.group));
                format!("no group is beyond chance with all its subgroups: best of prime order {name}{}", numbers(best))
            }
            (Some(group), z) => {
                let names = [std::slice::from_ref(group), &self.found.same_as[..]].concat().join(" = ");
                let named = row(&|row| row.group == *group);
                let excess = named.and_then(|row| row.total.excess());
                let weakest = match named {
                    Some(row) if row.z != z => {
                        format!("; weakest step on the way to it: {}", numbers(None))
                    }
                    _ => String::new(),
                };
                let meaning = meaning(group).map_or(String::new(), |words| format!(" ({words})"));
                let also = match &self.found.also[..] {
                    [] => String::new(),
                    also => format!("; beyond chance by itself, but not together with it: {}", also.join(", ")),
                };
                format!(
                    "{names}{meaning}: {}, excess {:.2} of 1{weakest}{also}",
                    numbers(named),
                    excess.unwrap_or_default()
                )
            }
        }
    }
}

/// A probability with two digits.
pub fn probability(p: f64) -> String {
    match p {
        p if p < 1e-99 => "< 1e-99".into(),
        p if p < 0.01 => format!("{p:.1e}"),
        p => format!("{p:.2}"),
    }
}

/// What a planar group does to an image.
fn meaning(group: &str) -> Option<&'static str> {
    Some(match group {
        "flip" => "left-right mirror",
        "flip-ud" => "up-down mirror",
        "flip-diag" => "transpose",
        "flip-anti" => "mirror in the other diagonal",
        "C2" => "half turn",
        "C4" => "quarter turns",
        "D2" => "left-right and up-down mirrors",
        "D2-diag" => "both diagonal mirrors",
        "D4" => "quarter turns and mirrors",
        _ => return None,
    })
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

/// Divides the weights at each point of the kernel by their root mean square, where there are enough to know it. A point without weights
/// worth mentioning is set to zero.
fn standardise(weights: &mut [f64], points: usize) {
    const NEGLIGIBLE: f64 = 1e-12;
    const ENOUGH: usize = 8;
    if weights.len() < ENOUGH * points {
        return;
    }
    let mut squares = vec![0.0; points];
    for kernel in weights.chunks_exact(points) {
        squares.iter_mut().zip(kernel).for_each(|(square, w)| *square += w * w);
    }
    let largest = squares.iter().fold(0.0_f64, |largest, &square| largest.max(square));
    let count = (weights.len() / points) as f64;
    let scale: Vec<f64> = squares
        .iter()
        .map(|&square| if square > NEGLIGIBLE * largest { (count / square).sqrt() } else { 0.0 })
        .collect();
    for kernel in weights.chunks_exact_mut(points) {
        kernel.iter_mut().zip(&scale).for_each(|(w, scale)| *w *= scale);
    }
}

/// The largest number of blocks into which both sides of a linear layer divide, if S_n of it is not too large to act.
fn blocks(shape: &[usize]) -> Option<usize> {
    let divides = |n: &usize| shape[0] > 0 && shape[0].is_multiple_of(*n) && shape[1].is_multiple_of(*n);
    (2..=PermutationGroup::MAX_SYMMETRIC).rev().find(divides)
}

#[cfg(test)]
mod tests {
    use super::*;

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
