//! The orbits of one tile (one pair of fields), read off the signed sets.

use super::union_find::SignedSets;

/// Members of every orbit, orbit after orbit, each in ascending order.
pub(super) struct TileOrbits {
    /// Weight and whether it is the opposite of the first member.
    members: Vec<(u32, bool)>,
    /// Where each orbit ends in `members`, and whether it projects to zero.
    ends: Vec<(usize, bool)>,
}

impl TileOrbits {
    pub(super) fn new(n: usize, mut sets: SignedSets) -> Self {
        // Counting sort by root keeps members ascending, so that neighbours stay together.
        let found: Vec<(u32, bool)> = (0..n as u32).map(|weight| sets.find(weight)).collect();
        let mut start = vec![0_u32; n + 1];
        for &(root, _) in &found {
            start[root as usize + 1] += 1;
        }
        for root in 0..n {
            start[root + 1] += start[root];
        }
        let mut members = vec![(0, false); n];
        let mut next = start.clone();
        for (weight, &(root, negative)) in found.iter().enumerate() {
            let at = &mut next[root as usize];
            members[*at as usize] = (weight as u32, negative);
            *at += 1;
        }
        let mut ends = Vec::new();
        for root in 0..n {
            let orbit = &mut members[start[root] as usize..start[root + 1] as usize];
            if let Some(&(_, reference)) = orbit.first() {
                orbit.iter_mut().for_each(|(_, negative)| *negative ^= reference);
                ends.push((start[root + 1] as usize, sets.is_dead(root as u32)));
            }
        }
        Self { members, ends }
    }

    /// Every orbit, and whether it projects to zero.
    pub(super) fn iter(&self) -> impl Iterator<Item = (&[(u32, bool)], bool)> {
        let starts = std::iter::once(0).chain(self.ends.iter().map(|&(end, _)| end));
        starts.zip(&self.ends).map(|(start, &(end, dead))| (&self.members[start..end], dead))
    }

    /// Number of weights.
    pub(super) fn weights(&self) -> usize {
        self.members.len()
    }

    /// Number of orbits.
    pub(super) fn len(&self) -> usize {
        self.ends.len()
    }

    /// Number of weights in the largest orbit.
    pub(super) fn largest(&self) -> usize {
        self.iter().map(|(members, _)| members.len()).max().unwrap_or(0)
    }

    /// Number of orbits that survive: the rank of P on this tile.
    pub(super) fn alive(&self) -> usize {
        self.ends.iter().filter(|(_, dead)| !dead).count()
    }
}
