//! The scheduler of sweeps and tables.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc;

use crate::error::{Error, Result};
use crate::interrupt::Interrupt;

/// Does the numbered jobs in order, `workers` at a time, and calls `ended` on this thread as each ends. After an error of a job or of
/// `ended`, or a cancellation, no further job starts, and those under way are waited for. Returns the error of the first in order.
pub fn run_jobs<T: Send>(
    order: &[usize],
    workers: usize,
    interrupt: &Interrupt,
    work: &(dyn Fn(usize) -> Result<T> + Sync),
    ended: &mut dyn FnMut(usize, T) -> Result<()>,
) -> Result<()> {
    let (next, stop) = (AtomicUsize::new(0), AtomicBool::new(false));
    let (sender, receiver) = mpsc::channel();
    let worker = |sender: mpsc::Sender<(usize, usize, Result<T>)>| {
        while !stop.load(Ordering::SeqCst) && !interrupt.requested() {
            let place = next.fetch_add(1, Ordering::SeqCst);
            let Some(&index) = order.get(place) else { break };
            let result = work(index);
            if result.is_err() {
                stop.store(true, Ordering::SeqCst);
            }
            if sender.send((place, index, result)).is_err() {
                break;
            }
        }
    };
    let mut failure: Option<(usize, Error)> = None;
    std::thread::scope(|scope| {
        for _ in 0..workers.max(1).min(order.len()) {
            let sender = sender.clone();
            scope.spawn(|| worker(sender));
        }
        drop(sender);
        for (place, index, result) in receiver {
            if let Err(error) = result.and_then(|result| ended(index, result)) {
                stop.store(true, Ordering::SeqCst);
                if failure.as_ref().is_none_or(|(first, _)| place < *first) {
                    failure = Some((place, error));
                }
            }
        }
    });
    failure.map_or(Ok(()), |(_, error)| Err(error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_job_is_done_once_and_reported_here() {
        let mut seen = Vec::new();
        let work = |index: usize| Ok(index * index);
        run_jobs(&[3, 1, 2], 2, &Interrupt::new(), &work, &mut |index, square| {
            seen.push((index, square));
            Ok(())
        })
        .unwrap();
        seen.sort_unstable();
        assert_eq!(seen, [(1, 1), (2, 4), (3, 9)]);
    }

    #[test]
    fn the_first_failure_in_order_is_the_reason_and_nothing_is_begun_after_it() {
        let begun = AtomicUsize::new(0);
        let work = |index: usize| -> Result<()> {
            begun.fetch_add(1, Ordering::SeqCst);
            if index >= 2 { Err(Error::config("job", "to go well", index)) } else { Ok(()) }
        };
        let order: Vec<usize> = (0..100).collect();
        let error = run_jobs(&order, 1, &Interrupt::new(), &work, &mut |_, ()| Ok(())).unwrap_err().to_string();
        assert!(error.ends_with("found 2") && begun.load(Ordering::SeqCst) == 3, "{error}");
    }

    #[test]
    fn a_stop_that_was_asked_for_begins_nothing() {
        let interrupt = Interrupt::new();
        interrupt.request();
        let work = |_: usize| -> Result<()> { panic!("nothing is begun") };
        run_jobs(&[0, 1], 2, &interrupt, &work, &mut |_, ()| Ok(())).unwrap();
    }
}
