//! How long works take that take turns.

use std::time::Instant;

use reynolds_torch::tch::{Cuda, Device};

use crate::Quartiles;
use reynolds_train::error::Result;

/// Something that is timed.
pub(super) type Work<'a> = Box<dyn FnMut() -> Result<()> + 'a>;

/// A call that takes so many seconds needs no other to warm up.
const SLOW: f64 = 0.25;

/// Seconds that are spent on one work at one point, beyond which it has fewer turns.
const LONG: f64 = 1.0;

/// How works are timed.
#[derive(Debug, Clone, Copy)]
pub(super) struct Clock {
    /// Turns of each.
    pub(super) turns: usize,
    /// Seconds that all turns of a work take together, at least.
    pub(super) least: f64,
    /// Seconds of a call beyond which a work is left out.
    pub(super) longest: f64,
    /// What is waited for at the end of a turn.
    pub(super) device: Device,
}

impl Clock {
    /// Seconds of a call of each work, over its turns. They take turns, so that what disturbs the machine disturbs all of them.
    pub(super) fn quartiles(&self, works: &mut [Work<'_>]) -> Result<Vec<Quartiles>> {
        let mut plans = Vec::with_capacity(works.len());
        for work in works.iter_mut() {
            let mut once = self.seconds(work, 1)?;
            if once < SLOW {
                once = self.seconds(work, 1)?;
            }
            let once = once.max(1e-9);
            let turns = self.turns.min(((LONG / once) as usize).max(1));
            let calls = (self.least / (turns as f64 * once)).ceil().max(1.0) as usize;
            plans.push((turns, calls));
        }
        let mut seconds = vec![Vec::new(); works.len()];
        for turn in 0..self.turns {
            for ((work, &(turns, calls)), seconds) in works.iter_mut().zip(&plans).zip(&mut seconds) {
                if turn < turns {
                    seconds.push(self.seconds(work, calls)? / calls as f64);
                }
            }
        }
        Ok(seconds.into_iter().map(Quartiles::of).collect())
    }

    /// Seconds of so many calls.
    fn seconds(&self, work: &mut Work<'_>, calls: usize) -> Result<f64> {
        self.wait();
        let start = Instant::now();
        (0..calls).try_for_each(|_| work())?;
        self.wait();
        Ok(start.elapsed().as_secs_f64())
    }

    fn wait(&self) {
        if let Device::Cuda(number) = self.device {
            Cuda::synchronize(number as i64);
        }
    }
}

/// Leaves out what would take too long, judged by what was measured before it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Patience {
    longest: f64,
    /// Operations and seconds of the last.
    last: Option<(f64, f64)>,
}

impl Patience {
    /// For calls of so many seconds.
    pub(super) fn of(longest: f64) -> Self {
        Self { longest, last: None }
    }

    /// Whether so many operations are within reach; the first always are.
    pub(super) fn bears(&self, operations: f64) -> bool {
        self.last.is_none_or(|(known, seconds)| seconds * operations / known <= self.longest)
    }

    /// So many operations took so many seconds.
    pub(super) fn learn(&mut self, operations: f64, seconds: f64) {
        self.last = Some((operations, seconds));
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::*;

    #[test]
    fn works_take_turns_and_each_is_measured() {
        let order = RefCell::new(String::new());
        let clock = Clock { turns: 3, least: 0.0, longest: 1.0, device: Device::Cpu };
        let work = |letter: char| -> Work<'_> {
            let order = &order;
            Box::new(move || {
                order.borrow_mut().push(letter);
                Ok(())
            })
        };
        let found = clock.quartiles(&mut [work('a'), work('b')]).unwrap();
        assert!(
            found.len() == 2 && found.iter().all(|seconds| seconds.low <= seconds.high && seconds.high.is_finite())
        );
        assert_eq!(order.borrow().as_str(), "aabbababab");
    }

    #[test]
    fn patience_is_judged_by_the_last() {
        let mut patience = Patience::of(2.0);
        assert!(patience.bears(1e30));
        patience.learn(10.0, 0.5);
        assert!(patience.bears(40.0) && !patience.bears(41.0));
    }
}
