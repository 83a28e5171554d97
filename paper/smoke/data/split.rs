//! Which windows of which simulations train, validate and test.
//!
//! ```text
//! window (simulation, s):   inputs s+2 … s+11   │   targets s+12 … s+11+n
//! train s = 0..159 · validation 160..199 · future 200..249 of the same simulations     domain s = 0..99 of others
//! ```
//!
//! n is 6 by default in training and validation, and 20 in both tests.

use std::ops::Range;

use super::setting::Symmetry;

/// Input frames of a network.
pub const INPUT_FRAMES: usize = 10;

/// Frames of a simulation before the first window's input.
const LEAD: usize = 2;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Subset {
    Train,
    /// The same simulations, later.
    Validation,
    /// The same simulations, later still.
    Future,
    Domain,
}

/// A sample: consecutive frames of one simulation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Window {
    /// Index in [`Symmetry::simulations`].
    pub simulation: usize,
    /// s.
    pub start: usize,
}

impl Window {
    pub fn inputs(self) -> Range<usize> {
        let first = self.start + LEAD;
        first..first + INPUT_FRAMES
    }

    pub fn targets(self, count: usize) -> Range<usize> {
        let first = self.inputs().end;
        first..first + count
    }
}

impl Subset {
    pub const ALL: [Subset; 4] = [Subset::Train, Subset::Validation, Subset::Future, Subset::Domain];
    pub const TESTS: [Subset; 2] = [Subset::Future, Subset::Domain];

    pub fn name(self) -> &'static str {
        match self {
            Subset::Train => "train",
            Subset::Validation => "validation",
            Subset::Future => "future",
            Subset::Domain => "domain",
        }
    }

    fn starts(self) -> Range<usize> {
        match self {
            Subset::Train => 0..160,
            Subset::Validation => 160..200,
            Subset::Future => 200..250,
            Subset::Domain => 0..100,
        }
    }
}

/// By symmetry: indices in [`Symmetry::simulations`] of the simulations seen in training, and of the others. Rotation leaves out 31.
const MEMBERS: [[&[usize]; 2]; 3] = [
    [
        &[26, 31, 3, 20, 34, 28, 25, 8, 30, 16, 32, 5, 22, 24, 29, 27, 11, 33, 17, 7, 1, 12, 2, 19, 0],
        &[18, 15, 13, 9, 10, 6, 23, 4, 14, 21],
    ],
    [
        &[26, 32, 2, 27, 8, 11, 21, 7, 29, 24, 15, 10, 22, 28, 35, 25, 0, 34, 18, 33, 3, 1, 6, 30, 16],
        &[5, 13, 14, 9, 17, 19, 23, 12, 20, 4],
    ],
    [
        &[27, 9, 7, 11, 4, 26, 35, 2, 29, 10, 34, 12, 37, 28, 18, 24, 8, 14, 1, 31, 25, 0, 19, 15, 36, 3, 20, 13],
        &[5, 30, 16, 23, 33, 6, 17, 22, 21, 32],
    ],
];

impl Symmetry {
    /// Indices in [`Symmetry::simulations`], in the order of the original.
    pub fn members(self, split: Subset) -> Vec<usize> {
        MEMBERS[self as usize][usize::from(split == Subset::Domain)].to_vec()
    }

    /// All windows of a part: simulation by simulation, by start.
    ///
    /// ```
    /// use reynolds_paper::smoke::data::{Symmetry, Subset};
    /// let windows = Symmetry::Rotation.windows(Subset::Future);
    /// assert_eq!((windows.len(), windows[0].simulation, windows[0].inputs()), (1250, 26, 202..212));
    /// ```
    pub fn windows(self, split: Subset) -> Vec<Window> {
        let starts = split.starts();
        let of = |simulation| starts.clone().map(move |start| Window { simulation, start });
        self.members(split).into_iter().flat_map(of).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn there_are_as_many_windows_as_in_the_original() {
        let counts = |kind: Symmetry| Subset::ALL.map(|split| kind.windows(split).len());
        assert_eq!(counts(Symmetry::Translation), [4000, 1000, 1250, 1000]);
        assert_eq!(counts(Symmetry::Rotation), [4000, 1000, 1250, 1000]);
        assert_eq!(counts(Symmetry::Scaling), [4480, 1120, 1400, 1000]);
    }

    #[test]
    fn parts_have_different_simulations_all_but_k_32_and_windows_lie_within_them() {
        for (kind, left) in Symmetry::ALL.into_iter().zip([None, Some(31), None]) {
            let simulations = kind.simulations();
            for window in Subset::ALL.into_iter().flat_map(|part| kind.windows(part)) {
                assert_eq!(window.inputs().end, window.targets(0).start);
                assert!(window.targets(20).end <= simulations[window.simulation].frames());
            }
            let used: Vec<usize> =
                [Subset::Train, Subset::Domain].into_iter().flat_map(|split| kind.members(split)).collect();
            let distinct: HashSet<usize> = used.iter().copied().collect();
            assert_eq!(used.len(), distinct.len());
            let rest: Vec<usize> = (0..simulations.len()).filter(|n| !distinct.contains(n)).collect();
            assert_eq!(rest, left.into_iter().collect::<Vec<_>>(), "{kind}");
        }
        let simulations = Symmetry::Translation.simulations();
        assert_eq!(simulations[Symmetry::Translation.members(Subset::Train)[0]].centre, [48.0, 10.0]);
        assert_eq!(simulations[Symmetry::Translation.members(Subset::Domain)[9]].centre, [40.0, 10.0]);
    }
}
