//! The clock of all measurements. It waits for the device whenever it is read.
//!
//! ```text
//! turns     works in alternation, so that what disturbs the machine disturbs all of them
//! median    calls that only send work to a device, in ten groups; the device is waited for between groups
//! paired    without, with, with, without, …: the median difference of neighbours and its 95 % limits
//! ```

use std::time::Instant;

use reynolds_torch::tch::{Cuda, Device};
use serde::{Deserialize, Serialize};

use reynolds_train::error::Result;

/// Groups of calls that are timed together.
const GROUPS: usize = 10;
/// Seconds of a call from which on it needs no second one to warm up.
const SLOW: f64 = 0.25;

pub type Work<'a> = Box<dyn FnMut() -> Result<()> + 'a>;

/// Measured numbers, at least one, in increasing order.
///
/// ```
/// use reynolds_bench::Times;
/// let times = Times::new((0..101).rev().map(f64::from).collect());
/// assert_eq!((times.median(), times.quartiles(), times.limits()), (50.0, [25.0, 75.0], [40.0, 61.0]));
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Times(Vec<f64>);

impl Times {
    /// # Panics
    /// If there is none.
    pub fn new(mut values: Vec<f64>) -> Self {
        assert!(!values.is_empty(), "at least one measurement");
        values.sort_by(f64::total_cmp);
        Self(values)
    }

    /// The middle one; of an even number the larger of the two.
    pub fn median(&self) -> f64 {
        self.0[self.0.len() / 2]
    }

    /// Half of the numbers lie between these two of them.
    pub fn quartiles(&self) -> [f64; 2] {
        let quarter = self.0.len() / 4;
        [self.0[quarter], self.0[self.0.len() - 1 - quarter]]
    }

    /// The order statistics that hold the median with 95 % confidence.
    pub fn limits(&self) -> [f64; 2] {
        // Numbers below the median are binomial: n/2 of them, give or take 1.96 √n/2.
        let n = self.0.len() as f64;
        let half_width = 0.98 * n.sqrt();
        let at = |rank: f64| self.0[(rank.max(0.0) as usize).min(self.0.len() - 1)];
        [at(n / 2.0 - half_width), at((n / 2.0 + half_width).ceil())]
    }
}

/// How often works are timed that take turns.
#[derive(Debug, Clone, Copy)]
pub struct Turns {
    /// Turns of each work.
    pub count: usize,
    /// Seconds that all turns of a work take together at least: a short work is called several times a turn.
    pub least: f64,
    /// Seconds that all turns of a work take together at most: a long one has fewer turns, but one at least.
    pub most: f64,
}

impl Turns {
    /// So many turns of one call each.
    pub fn exactly(count: usize) -> Self {
        Self { count, least: 0.0, most: f64::INFINITY }
    }
}

/// Overhead of something on a step, from pairs of neighbouring steps.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Paired {
    pub pairs: usize,
    /// Median of a step without it, in µs.
    pub without_us: f64,
    /// Median of the differences of neighbouring steps with and without, in µs.
    pub added_us: f64,
    /// 95 % confidence limits of `added_us`.
    pub low_us: f64,
    pub high_us: f64,
}

impl Paired {
    /// "+12.3 us [8.0, 16.1] on 4.20 ms, +0.29 %, 200 pairs".
    pub fn text(&self) -> String {
        let Self { pairs, without_us, added_us, low_us, high_us } = self;
        let (step, share) = (without_us / 1e3, 100.0 * added_us / without_us);
        format!("{added_us:+.1} us [{low_us:.1}, {high_us:.1}] on {step:.2} ms, {share:+.2} %, {pairs} pairs")
    }

    /// The verdict on a penalty, whose upper limit must lie below the bar max(0.5 % of the step, 100 µs).
    pub fn verdict(&self) -> &'static str {
        let bar = (0.005 * self.without_us).max(100.0);
        match (self.high_us <= bar, self.low_us > bar) {
            (true, _) => "within the bar",
            (_, true) => "OVER the bar",
            _ => "undecided: too much noise",
        }
    }
}

#[derive(Debug, Clone, Copy)]
pub struct Clock {
    pub device: Device,
}

impl Clock {
    pub const HOST: Self = Self { device: Device::Cpu };

    /// Seconds of `calls` calls together.
    pub fn seconds(self, calls: usize, mut call: impl FnMut() -> Result<()>) -> Result<f64> {
        self.wait();
        let start = Instant::now();
        (0..calls).try_for_each(|_| call())?;
        self.wait();
        Ok(start.elapsed().as_secs_f64())
    }

    /// Seconds of a call of each work, one number a turn; calls before the first turn warm up.
    pub fn turns(self, turns: Turns, works: &mut [Work<'_>]) -> Result<Vec<Times>> {
        let mut plans = Vec::with_capacity(works.len());
        for work in works.iter_mut() {
            let mut once = self.seconds(1, &mut *work)?;
            if once < SLOW {
                once = self.seconds(1, &mut *work)?;
            }
            let once = once.max(1e-9);
            let count = turns.count.min(((turns.most / once) as usize).max(1));
            plans.push((count, (turns.least / (count as f64 * once)).ceil().max(1.0) as usize));
        }
        let mut seconds = vec![Vec::new(); works.len()];
        for turn in 0..turns.count {
            for ((work, &(count, calls)), seconds) in works.iter_mut().zip(&plans).zip(&mut seconds) {
                if turn < count {
                    seconds.push(self.seconds(calls, &mut *work)? / calls as f64);
                }
            }
        }
        Ok(seconds.into_iter().map(Times::new).collect())
    }

    /// Median seconds of a call, after `warmup` calls; `steps` calls are timed in groups.
    pub fn median(self, warmup: usize, steps: usize, mut call: impl FnMut() -> Result<()>) -> Result<f64> {
        (0..warmup).try_for_each(|_| call())?;
        let group = steps.div_ceil(GROUPS);
        let groups = (0..steps).step_by(group).map(|first| group.min(steps - first));
        let seconds = groups.map(|calls| Ok(self.seconds(calls, &mut call)? / calls as f64));
        Ok(Times::new(seconds.collect::<Result<_>>()?).median())
    }

    /// Calls without and with something in alternation, each waited for, after `warmup` pairs.
    pub fn paired(
        self,
        warmup: usize,
        pairs: usize,
        mut without: impl FnMut() -> Result<()>,
        mut with: impl FnMut() -> Result<()>,
    ) -> Result<Paired> {
        let (mut base, mut added) = (Vec::new(), Vec::new());
        for pair in 0..pairs + warmup {
            let (less, more) = if pair % 2 == 0 {
                let less = self.seconds(1, &mut without)?;
                (less, self.seconds(1, &mut with)?)
            } else {
                let more = self.seconds(1, &mut with)?;
                (self.seconds(1, &mut without)?, more)
            };
            if pair >= warmup {
                base.push(1e6 * less);
                added.push(1e6 * (more - less));
            }
        }
        let added = Times::new(added);
        let [low_us, high_us] = added.limits();
        Ok(Paired { pairs, without_us: Times::new(base).median(), added_us: added.median(), low_us, high_us })
    }

    /// Waits until the device has finished.
    pub fn wait(self) {
        if let Device::Cuda(number) = self.device {
            Cuda::synchronize(number as i64);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::*;

    #[test]
    fn limits_of_few_numbers_are_their_ends() {
        for values in [vec![3.0, 1.0, 2.0], vec![7.0]] {
            let times = Times::new(values.clone());
            let [low, high] = [f64::min, f64::max].map(|of| values.iter().copied().reduce(of).unwrap());
            assert_eq!(times.limits(), [low, high]);
        }
        let times = Times::new((0..15).rev().map(f64::from).collect());
        assert_eq!((times.median(), times.quartiles()), (7.0, [3.0, 11.0]));
    }

    #[test]
    fn every_call_is_made_once_and_pairs_and_works_take_turns() {
        let order = RefCell::new(String::new());
        let call = |letter: char| {
            let order = &order;
            move || {
                order.borrow_mut().push(letter);
                Ok(())
            }
        };
        assert!(Clock::HOST.median(4, 23, call('c')).unwrap() >= 0.0);
        assert_eq!(order.take().len(), 27);
        let paired = Clock::HOST.paired(1, 2, call('a'), call('b')).unwrap();
        assert_eq!((order.take().as_str(), paired.pairs), ("abbaab", 2));
        assert!(paired.low_us <= paired.added_us && paired.added_us <= paired.high_us);
        let found = Clock::HOST.turns(Turns::exactly(3), &mut [Box::new(call('a')), Box::new(call('b'))]).unwrap();
        assert!(found.len() == 2 && found.iter().all(|times| times.median().is_finite()));
        assert_eq!(order.take(), "aabbababab");
    }

    #[test]
    fn the_bar_is_on_the_upper_limit() {
        let of = |low_us, high_us, without_us| {
            Paired { pairs: 9, without_us, added_us: 0.5 * (low_us + high_us), low_us, high_us }.verdict()
        };
        assert_eq!([of(0.0, 100.0, 1e3), of(101.0, 120.0, 1e3)], ["within the bar", "OVER the bar"]);
        assert_eq!([of(90.0, 110.0, 1e3), of(90.0, 110.0, 1e5)], ["undecided: too much noise", "within the bar"]);
    }
}
