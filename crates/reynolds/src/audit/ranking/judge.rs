//! The verdict on what was measured of all tensors: each by itself, and together.

use super::super::Total;
use super::climb::{Energy, Order};
use super::evidence::Evidence;
use super::{Contest, Fields, Found, Ranked, Ranking, Weighed};

impl Contest {
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
        let others = outcome.class.map_or(vec![], |class| order.also(class, order.classes.len() * times));
        let also = others.iter().map(|&class| self.names[order.classes[class][0]].clone()).collect();
        Found { group: names.next(), same_as: names.collect(), z: outcome.z, p: outcome.p, also }
    }
}
