//! How far the energy of P_G(W) is from its mean over random signs.
//!
//! ```text
//! E = Σ_O (Σ ε a)²/|O|      a the sums of W over the orbits of H inside the orbit O of G, ε = ±1 independent and fair;  p_j = Σ a^2j
//! mean = Σ p₁/|O|           variance = Σ 2(p₁² − p₂)/|O|²           third moment = Σ 8(p₁³ − 3p₁p₂ + 2p₃)/|O|³
//! ```

use super::lattice::Partition;
use super::tail;

/// An observed energy less its mean, with the moments of its law.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct Evidence {
    excess: f64,
    variance: f64,
    third: f64,
}

impl Evidence {
    /// Deviation from the mean in standard deviations; `None` where nothing is random.
    pub(super) fn z(&self) -> Option<f64> {
        (self.variance > 0.0).then(|| self.excess / self.variance.sqrt())
    }

    /// Probability of at least this energy: the gamma law with the three moments.
    pub(super) fn p(&self) -> f64 {
        self.z().map_or(1.0, |z| tail::upper(z, self.third / self.variance.powf(1.5)))
    }
}

impl std::ops::AddAssign for Evidence {
    fn add_assign(&mut self, other: Self) {
        self.excess += other.excess;
        self.variance += other.variance;
        self.third += other.third;
    }
}

/// The orbits of G that hold several orbits of H.
#[derive(Debug)]
pub(super) struct Step {
    /// Orbits of H, one orbit of G after the other.
    members: Vec<u32>,
    /// For each orbit of G: the end of its members, and its number of weights.
    ends: Vec<(usize, f64)>,
}

impl Step {
    /// From the orbits of H, or single weights, to those of G.
    pub(super) fn new(from: Option<&Partition>, to: &Partition) -> Self {
        // The orbit of G and the size of each orbit of H.
        let mut found = vec![(0, 0.0); from.map_or(to.labels.len(), |from| from.orbits)];
        for (weight, &orbit) in to.labels.iter().enumerate() {
            let (inside, size) = &mut found[from.map_or(weight, |from| from.labels[weight] as usize)];
            *inside = orbit;
            *size += 1.0;
        }
        let mut orbits: Vec<(Vec<u32>, f64)> = vec![(vec![], 0.0); to.orbits];
        for (member, &(orbit, size)) in found.iter().enumerate() {
            let (members, weights) = &mut orbits[orbit as usize];
            members.push(member as u32);
            *weights += size;
        }
        let (mut members, mut ends) = (Vec::new(), Vec::new());
        for (orbit, weights) in orbits.into_iter().filter(|(orbit, _)| orbit.len() > 1) {
            members.extend(orbit);
            ends.push((members.len(), weights));
        }
        Self { members, ends }
    }

    /// Adds one chunk, given as sums over the orbits of H.
    pub(super) fn add(&self, sums: &[f64], evidence: &mut Evidence) {
        let mut start = 0;
        for &(end, weights) in &self.ends {
            let [mut s, mut p1, mut p2, mut p3] = [0.0; 4];
            for &member in &self.members[start..end] {
                let a = sums[member as usize];
                let square = a * a;
                s += a;
                p1 += square;
                p2 += square * square;
                p3 += square * square * square;
            }
            evidence.excess += (s * s - p1) / weights;
            evidence.variance += 2.0 * (p1 * p1 - p2).max(0.0) / (weights * weights);
            evidence.third += 8.0 * (p1 * (p1 * p1 - 3.0 * p2) + 2.0 * p3).max(0.0) / (weights * weights * weights);
            start = end;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    /// The share of sign patterns with at least the observed energy, for orbits of these sums.
    fn exact(orbits: &[Vec<f64>]) -> f64 {
        let count: usize = orbits.iter().map(Vec::len).sum();
        let energy = |signs: u32| -> f64 {
            let mut bit = 0;
            let mut of_orbit = |orbit: &Vec<f64>| {
                let sum: f64 = orbit
                    .iter()
                    .map(|a| {
                        bit += 1;
                        if signs >> (bit - 1) & 1 == 1 { -a } else { *a }
                    })
                    .sum();
                sum * sum / orbit.len() as f64
            };
            orbits.iter().map(&mut of_orbit).sum()
        };
        let observed = energy(0) * (1.0 - 1e-12);
        (0..1_u32 << count).filter(|&signs| energy(signs) >= observed).count() as f64 / f64::from(1_u32 << count)
    }

    #[test]
    fn the_law_of_few_orbits_is_that_of_all_their_signs() {
        let mut random = Random::new(3);
        for lengths in [&[2; 9][..], &[4; 5], &[2, 2, 2, 4, 4, 4], &[8, 8], &[3; 6], &[18]] {
            for tilt in [0.0, 0.5, 1.0] {
                let orbits: Vec<Vec<f64>> =
                    lengths.iter().map(|&n| (0..n).map(|_| random.normal() + tilt).collect()).collect();
                let labels: Vec<u32> = lengths.iter().enumerate().flat_map(|(o, &n)| vec![o as u32; n]).collect();
                let step = Step::new(None, &Partition { labels, orbits: lengths.len() });
                let mut evidence = Evidence::default();
                step.add(&orbits.concat(), &mut evidence);
                let (found, exact) = (evidence.p(), exact(&orbits));
                assert!((found - exact).abs() < 0.05 + 0.3 * exact, "{lengths:?} {tilt}: {found}, exactly {exact}");
            }
        }
    }

    #[test]
    fn sums_over_smaller_orbits_take_the_place_of_weights() {
        let labels =
            |labels: &[u32]| Partition { labels: labels.to_vec(), orbits: 1 + *labels.iter().max().unwrap() as usize };
        let step = Step::new(Some(&labels(&[0, 0, 1, 2])), &labels(&[0, 0, 0, 1]));
        let mut evidence = Evidence::default();
        step.add(&[4.0, 1.0, 9.0], &mut evidence);
        // (4 ± 1)²/3: mean 17/3, deviation 8/3.
        assert!((evidence.excess - 8.0 / 3.0).abs() < 1e-12 && (evidence.variance - 64.0 / 9.0).abs() < 1e-12);
        assert_eq!((evidence.z(), Evidence::default().z(), Evidence::default().p()), (Some(1.0), None, 1.0));
    }
}
