//! Times of calls that only send work to a device, which is waited for at the ends of groups of them.

use std::time::Instant;

use reynolds_torch::tch::{Cuda, Device};
use serde::Serialize;

use super::Median;
use reynolds_train::error::Result;

/// Groups of steps that are timed together.
const GROUPS: usize = 10;

/// What the projection penalty adds to a step, step by step.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Paired {
    /// Pairs.
    pub pairs: usize,
    /// Median of a step without it, in µs.
    pub without_us: f64,
    /// Median of the differences of neighbouring steps with and without, in µs.
    pub added_us: f64,
    /// Below that with 97.5 % confidence.
    pub low_us: f64,
    /// Above that with 97.5 % confidence.
    pub high_us: f64,
}

/// How calls are timed.
#[derive(Debug, Clone, Copy)]
pub struct Stopwatch {
    /// Where the work is done.
    pub device: Device,
    /// Calls that are timed.
    pub steps: usize,
    /// Calls before that.
    pub warmup: usize,
}

impl Stopwatch {
    /// The median seconds of a call: some go before, the rest are timed in groups, between which the device is waited for.
    pub fn median(self, mut call: impl FnMut() -> Result<()>) -> Result<f64> {
        (0..self.warmup).try_for_each(|_| call())?;
        let group = self.steps.div_ceil(GROUPS);
        let mut seconds = Vec::with_capacity(GROUPS);
        for first in (0..self.steps).step_by(group) {
            let calls = group.min(self.steps - first);
            self.wait();
            let start = Instant::now();
            (0..calls).try_for_each(|_| call())?;
            self.wait();
            seconds.push(start.elapsed().as_secs_f64() / calls as f64);
        }
        Ok(Median::of(seconds).middle)
    }

    /// Calls without and with something by turns, each waited for.
    pub fn paired(
        self,
        pairs: usize,
        mut without: impl FnMut() -> Result<()>,
        mut with: impl FnMut() -> Result<()>,
    ) -> Result<Paired> {
        let (mut base, mut added) = (Vec::new(), Vec::new());
        for pair in 0..pairs + self.warmup {
            let mut seconds = [0.0; 2];
            for which in if pair % 2 == 0 { [0, 1] } else { [1, 0] } {
                let start = Instant::now();
                if which == 0 {
                    without()?
                } else {
                    with()?
                }
                self.wait();
                seconds[which] = start.elapsed().as_secs_f64();
            }
            if pair >= self.warmup {
                base.push(1e6 * seconds[0]);
                added.push(1e6 * (seconds[1] - seconds[0]));
            }
        }
        let added = Median::of(added);
        let without_us = Median::of(base).middle;
        Ok(Paired { pairs, without_us, added_us: added.middle, low_us: added.low, high_us: added.high })
    }

    fn wait(self) {
        if let Device::Cuda(number) = self.device {
            Cuda::synchronize(number as i64);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_call_is_made_once_and_pairs_change_places() {
        let watch = Stopwatch { device: Device::Cpu, steps: 23, warmup: 4 };
        let mut calls = 0;
        assert!(
            watch
                .median(|| {
                    calls += 1;
                    Ok(())
                })
                .unwrap()
                >= 0.0
        );
        assert_eq!(calls, 27);
        let order = std::cell::RefCell::new(String::new());
        let call = |letter| order.borrow_mut().push(letter);
        let watch = Stopwatch { warmup: 1, ..watch };
        let paired = watch
            .paired(
                2,
                || {
                    call('a');
                    Ok(())
                },
                || {
                    call('b');
                    Ok(())
                },
            )
            .unwrap();
        assert_eq!((order.into_inner().as_str(), paired.pairs), ("abbaab", 2));
        assert!(paired.low_us <= paired.added_us && paired.added_us <= paired.high_us);
    }
}
