//! Disjoint signed index lists, and how they are recognised in a basis.

use faer::Mat;

/// How exactly E Eᵀ must be an average over orbits to be taken for one.
const TOLERANCE: f64 = 1e-13;

/// Orbits of numbers that P averages with signs; numbers in no orbit project to zero.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SignedOrbits {
    members: Vec<u32>,
    /// Whether a member enters with a minus.
    negative: Vec<bool>,
    /// Where each orbit ends in `members`.
    ends: Vec<usize>,
    dead: Vec<u32>,
}

impl SignedOrbits {
    /// Orbits one after the other in `members`, each up to one of the `ends`; and the numbers in no orbit.
    pub(in crate::projection) fn new(members: Vec<u32>, negative: Vec<bool>, ends: Vec<usize>, dead: Vec<u32>) -> Self {
        Self { members, negative, ends, dead }
    }

    /// Number of orbits that survive: the rank of P.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether P is zero.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// Members and signs of every orbit.
    pub fn iter(&self) -> impl Iterator<Item = (&[u32], &[bool])> {
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        starts.zip(&self.ends).map(|(start, &end)| (&self.members[start..end], &self.negative[start..end]))
    }

    /// How many numbers there are.
    pub(in crate::projection) fn numbers(&self) -> usize {
        self.members.len() + self.dead.len()
    }

    /// The numbers that project to zero.
    pub fn dead(&self) -> &[u32] {
        &self.dead
    }

    /// Adds an orbit; a dead one only as numbers that project to zero.
    pub(in crate::projection) fn push(&mut self, orbit: impl IntoIterator<Item = (u32, bool)>, dead: bool) {
        if dead {
            self.dead.extend(orbit.into_iter().map(|(member, _)| member));
            return;
        }
        for (member, negative) in orbit {
            self.members.push(member);
            self.negative.push(negative);
        }
        self.ends.push(self.members.len());
    }

    /// The orbits of `count` equal tiles side by side, whose rows hold `segment` numbers each.
    pub(in crate::projection) fn side_by_side(&self, count: usize, segment: usize) -> Self {
        if count == 1 {
            return self.clone();
        }
        let mut all = Self::default();
        for copy in 0..count {
            let place = |at: u32| {
                let (row, column) = (at as usize / segment, at as usize % segment);
                ((row * count + copy) * segment + column) as u32
            };
            for (members, negative) in self.iter() {
                all.push(members.iter().map(|&at| place(at)).zip(negative.iter().copied()), false);
            }
            all.dead.extend(self.dead.iter().map(|&at| place(at)));
        }
        all
    }

    /// The same orbits on weights of `numbers` real numbers each, one orbit for each of them.
    pub(in crate::projection) fn spread(self, numbers: usize) -> Self {
        if numbers == 1 {
            return self;
        }
        let mut spread = Self::default();
        let part = |member: u32, part: usize| member * numbers as u32 + part as u32;
        for (members, negative) in self.iter() {
            for number in 0..numbers {
                spread.push(members.iter().zip(negative).map(|(&member, &n)| (part(member, number), n)), false);
            }
        }
        spread.dead =
            self.dead.iter().flat_map(|&member| (0..numbers).map(move |number| part(member, number))).collect();
        spread
    }

    /// The orbits that P = E Eᵀ averages over, if it does.
    pub(super) fn of_basis(basis: &Mat<f64>) -> Option<Self> {
        let n = basis.nrows();
        let mut found = Self::default();
        if basis.ncols() == 0 {
            found.push((0..n as u32).map(|at| (at, false)), true);
            return Some(found);
        }
        let p = basis * basis.transpose();
        let mut seen = vec![false; n];
        for i in 0..n {
            if seen[i] {
                continue;
            }
            if p[(i, i)] < TOLERANCE {
                found.push([(i as u32, false)], true);
                continue;
            }
            let share = 1.0 / (1.0 / p[(i, i)]).round();
            let members: Vec<usize> = (i..n).filter(|&j| p[(i, j)].abs() > 0.5 * share).collect();
            let negative = |j: usize| p[(i, j)] < 0.0;
            // Every entry in the rows of the members: ± the share among themselves, zero elsewhere.
            for &j in &members {
                for k in 0..n {
                    let inside = if members.contains(&k) { share } else { 0.0 };
                    let expected = if negative(j) == negative(k) { inside } else { -inside };
                    if (p[(j, k)] - expected).abs() > TOLERANCE {
                        return None;
                    }
                }
                seen[j] = true;
            }
            found.push(members.iter().map(|&j| (j as u32, negative(j))), false);
        }
        Some(found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn orbits_are_recognised_in_a_basis() {
        let found = |n: usize, columns: &[&[f64]]| {
            let orbits = SignedOrbits::of_basis(&Mat::from_fn(n, columns.len(), |i, j| columns[j][i]))?;
            let lists: Vec<_> = orbits.iter().map(|(members, signs)| (members.to_vec(), signs.to_vec())).collect();
            Some((lists, orbits.dead().to_vec()))
        };
        // End of a complex-type irrep: a·1 + b·i on 2×2 matrices.
        let half = 0.5_f64.sqrt();
        let pairs = vec![(vec![0, 3], vec![false, false]), (vec![1, 2], vec![false, true])];
        assert_eq!(found(4, &[&[half, 0.0, 0.0, half], &[0.0, -half, half, 0.0]]), Some((pairs, vec![])));
        // Masks: fixed and dead numbers.
        assert_eq!(found(3, &[&[0.0, 1.0, 0.0]]), Some((vec![(vec![1], vec![false])], vec![0, 2])));
        assert_eq!(found(2, &[]), Some((vec![], vec![0, 1])));
        // An oblique direction is no orbit; these two span one, though neither is one.
        assert_eq!(found(2, &[&[0.6, 0.8]]), None);
        assert!(found(4, &[&[0.5; 4], &[0.5, -0.5, 0.5, -0.5]]).is_some_and(|(lists, _)| lists.len() == 2));
    }
}
