//! Union–find with signs: which weights are equal, opposite or zero in the image of P.

use super::super::tiling::SignedOrbits;

/// Disjoint sets of weights, each weight ± its root; a set that contains a weight and its own opposite is dead.
pub(super) struct SignedSets {
    parent: Vec<u32>,
    /// Whether a weight is the opposite of its parent.
    flipped: Vec<bool>,
    size: Vec<u32>,
    dead: Vec<bool>,
}

impl SignedSets {
    pub(super) fn new(n: usize) -> Self {
        Self { parent: (0..n as u32).collect(), flipped: vec![false; n], size: vec![1; n], dead: vec![false; n] }
    }

    /// The root of a weight, and whether the weight is its opposite.
    pub(super) fn find(&mut self, weight: u32) -> (u32, bool) {
        let (mut root, mut sign) = (weight, false);
        while self.parent[root as usize] != root {
            sign ^= self.flipped[root as usize];
            root = self.parent[root as usize];
        }
        // Second walk: path compression.
        let (mut at, mut rest) = (weight, sign);
        while self.parent[at as usize] != root && at != root {
            let (next, step) = (self.parent[at as usize], self.flipped[at as usize]);
            self.parent[at as usize] = root;
            self.flipped[at as usize] = rest;
            rest ^= step;
            at = next;
        }
        (root, sign)
    }

    /// Requires a = b, or a = −b if `opposite`.
    pub(super) fn join(&mut self, a: u32, b: u32, opposite: bool) {
        let ((a, sign_a), (b, sign_b)) = (self.find(a), self.find(b));
        let opposite = opposite ^ sign_a ^ sign_b;
        if a == b {
            self.dead[a as usize] |= opposite;
            return;
        }
        let (small, large) = if self.size[a as usize] < self.size[b as usize] { (a, b) } else { (b, a) };
        self.parent[small as usize] = large;
        self.flipped[small as usize] = opposite;
        self.size[large as usize] += self.size[small as usize];
        self.dead[large as usize] |= self.dead[small as usize];
    }

    /// The sets as orbits, each in ascending order with signs relative to its first member.
    pub(super) fn into_orbits(mut self) -> SignedOrbits {
        let n = self.parent.len();
        let found: Vec<(u32, bool)> = (0..n as u32).map(|weight| self.find(weight)).collect();
        // Counting sort by root keeps members ascending, so that neighbours stay together.
        let mut start = vec![0_u32; n + 1];
        for &(root, _) in &found {
            start[root as usize + 1] += u32::from(!self.dead[root as usize]);
        }
        for root in 0..n {
            start[root + 1] += start[root];
        }
        let (mut members, mut negative) = (vec![0; start[n] as usize], vec![false; start[n] as usize]);
        let (mut next, mut dead) = (start.clone(), Vec::new());
        for (weight, &(root, flipped)) in found.iter().enumerate() {
            if self.dead[root as usize] {
                dead.push(weight as u32);
                continue;
            }
            let at = &mut next[root as usize];
            (members[*at as usize], negative[*at as usize]) = (weight as u32, flipped);
            *at += 1;
        }
        let mut ends = Vec::new();
        for (&from, &to) in start.iter().zip(&start[1..]).filter(|(from, to)| from < to) {
            let signs = &mut negative[from as usize..to as usize];
            let reference = signs[0];
            signs.iter_mut().for_each(|sign| *sign ^= reference);
            ends.push(to as usize);
        }
        SignedOrbits::new(members, negative, ends, dead)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_weight_that_equals_its_own_opposite_is_dead() {
        let orbits = |joins: &[(u32, u32, bool)]| {
            let mut sets = SignedSets::new(4);
            joins.iter().for_each(|&(a, b, opposite)| sets.join(a, b, opposite));
            let orbits = sets.into_orbits();
            (orbits.iter().map(|(members, signs)| (members.to_vec(), signs.to_vec())).collect(), orbits.dead().to_vec())
        };
        let three = (vec![0, 1, 2], vec![false, true, false]);
        let joins = [(0, 1, true), (1, 2, true), (0, 2, true)];
        assert_eq!(orbits(&joins[..2]), (vec![three, (vec![3], vec![false])], vec![]));
        assert_eq!(orbits(&joins), (vec![(vec![3], vec![false])], vec![0, 1, 2]));
    }
}
