//! Which windows of which simulations train, validate and test.
//!
//! ```text
//! window (simulation, s):   inputs s+2 … s+11   │   targets s+12 … s+11+n
//! train s = 0..159 · validation 160..199 · future 200..249 of the same simulations     domain s = 0..99 of others
//! ```
//!
//! n is 6, or whatever a run says, for training and validation, and 20 for both tests.

use std::ops::Range;

use super::setting::Kind;

/// Frames that a network sees.
pub const INPUT_FRAMES: usize = 10;

/// Frames that both tests predict.
pub const TEST_FRAMES: usize = 20;

/// Frames of a simulation before the first window's input.
const LEAD: usize = 2;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Split {
    Train,
    /// What settings are chosen by: the same simulations, later.
    Validation,
    /// The same simulations, later still.
    Future,
    Domain,
}

/// One sample: consecutive frames of one simulation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Window {
    /// Number of the simulation in [`Kind::simulations`].
    pub simulation: usize,
    /// s.
    pub start: usize,
}

impl Window {
    pub fn inputs(self) -> Range<usize> {
        let first = self.start + LEAD;
        first..first + INPUT_FRAMES
    }

    /// The `count` frames to predict.
    pub fn targets(self, count: usize) -> Range<usize> {
        let first = self.inputs().end;
        first..first + count
    }
}

impl Split {
    pub const ALL: [Split; 4] = [Split::Train, Split::Validation, Split::Future, Split::Domain];

    fn starts(self) -> Range<usize> {
        match self {
            Split::Train => 0..160,
            Split::Validation => 160..200,
            Split::Future => 200..250,
            Split::Domain => 0..100,
        }
    }
}

const TRANSLATION_SEEN: [(usize, usize); 25] = [
    (48, 10),
    (56, 10),
    (8, 20),
    (40, 5),
    (56, 25),
    (48, 20),
    (48, 5),
    (16, 20),
    (56, 5),
    (32, 10),
    (56, 15),
    (16, 5),
    (40, 15),
    (40, 25),
    (48, 25),
    (48, 15),
    (24, 10),
    (56, 20),
    (32, 15),
    (16, 15),
    (8, 10),
    (24, 15),
    (8, 15),
    (32, 25),
    (8, 5),
];
const TRANSLATION_UNSEEN: [(usize, usize); 10] =
    [(32, 20), (32, 5), (24, 20), (16, 25), (24, 5), (16, 10), (40, 20), (8, 25), (24, 25), (40, 10)];
/// k; 32 is in neither.
const ROTATION_SEEN: [usize; 25] =
    [27, 33, 3, 28, 9, 12, 22, 8, 30, 25, 16, 11, 23, 29, 36, 26, 1, 35, 19, 34, 4, 2, 7, 31, 17];
const ROTATION_UNSEEN: [usize; 10] = [6, 14, 15, 10, 18, 20, 24, 13, 21, 5];
const SCALING_SEEN: [usize; 28] =
    [27, 9, 7, 11, 4, 26, 35, 2, 29, 10, 34, 12, 37, 28, 18, 24, 8, 14, 1, 31, 25, 0, 19, 15, 36, 3, 20, 13];
const SCALING_UNSEEN: [usize; 10] = [5, 30, 16, 23, 33, 6, 17, 22, 21, 32];

impl Kind {
    /// Numbers in [`Kind::simulations`] of the simulations of a part, in the order of the original.
    pub fn members(self, split: Split) -> Vec<usize> {
        let unseen = split == Split::Domain;
        let places = |places: &[(usize, usize)]| places.iter().map(|(x, y)| (x / 8 - 1) * 5 + y / 5 - 1).collect();
        match (self, unseen) {
            (Kind::Translation, false) => places(&TRANSLATION_SEEN),
            (Kind::Translation, true) => places(&TRANSLATION_UNSEEN),
            (Kind::Rotation, false) => ROTATION_SEEN.map(|k| k - 1).to_vec(),
            (Kind::Rotation, true) => ROTATION_UNSEEN.map(|k| k - 1).to_vec(),
            (Kind::Scaling, false) => SCALING_SEEN.to_vec(),
            (Kind::Scaling, true) => SCALING_UNSEEN.to_vec(),
        }
    }

    /// All windows of a part: simulation by simulation, by start.
    ///
    /// ```
    /// use reynolds_paper::smoke::data::{Kind, Split};
    /// let windows = Kind::Rotation.windows(Split::Future);
    /// assert_eq!((windows.len(), windows[0].simulation, windows[0].inputs()), (1250, 26, 202..212));
    /// ```
    pub fn windows(self, split: Split) -> Vec<Window> {
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
        let counts = |kind: Kind| Split::ALL.map(|split| kind.windows(split).len());
        assert_eq!(counts(Kind::Translation), [4000, 1000, 1250, 1000]);
        assert_eq!(counts(Kind::Rotation), [4000, 1000, 1250, 1000]);
        assert_eq!(counts(Kind::Scaling), [4480, 1120, 1400, 1000]);
    }

    #[test]
    fn seen_and_unseen_simulations_are_different_and_all_but_k_32() {
        for (kind, left) in [(Kind::Translation, None), (Kind::Rotation, Some(31)), (Kind::Scaling, None)] {
            let used: Vec<usize> =
                [Split::Train, Split::Domain].into_iter().flat_map(|split| kind.members(split)).collect();
            let distinct: HashSet<usize> = used.iter().copied().collect();
            assert_eq!(used.len(), distinct.len());
            let rest: Vec<usize> = (0..kind.simulations().len()).filter(|n| !distinct.contains(n)).collect();
            assert_eq!(rest, left.into_iter().collect::<Vec<_>>(), "{kind}");
        }
        let simulations = Kind::Translation.simulations();
        assert_eq!(simulations[Kind::Translation.members(Split::Train)[0]].centre, [48.0, 10.0]);
        assert_eq!(simulations[Kind::Translation.members(Split::Domain)[9]].centre, [40.0, 10.0]);
    }

    #[test]
    fn every_window_lies_within_its_simulation() {
        for kind in Kind::ALL {
            let simulations = kind.simulations();
            for split in Split::ALL {
                for window in kind.windows(split) {
                    assert_eq!(window.inputs().end, window.targets(0).start);
                    assert!(window.targets(TEST_FRAMES).end <= simulations[window.simulation].frames());
                }
            }
        }
    }
}
