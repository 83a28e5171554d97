//! Generation of a data set: every missing case, in parallel, each in a file of its own.
//!
//! Files appear whole or not at all, so an interrupted generation continues with the next call. Several processes may fill one folder.

use std::cmp::Reverse;
use std::fs;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use rayon::prelude::*;

use super::error::{Error, Result};
#[cfg(feature = "torch")]
use {
    reynolds_train::interrupt::Interrupt,
    reynolds_train::progress::{WorkProgress, say},
    reynolds_train::threads,
    std::sync::OnceLock,
    std::sync::atomic::{AtomicU64, Ordering},
};

#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub enum Event<'a, C> {
    Begun {
        cases: usize,
        /// Of all of them.
        work: u64,
    },
    /// A valid file of the same case exists.
    Kept(&'a C),
    /// A file exists, but is invalid and made again.
    Refused {
        case: &'a C,
        reason: &'a Error,
    },
    /// One of the [`Case::steps`] of a case.
    Stepped(&'a C),
    Made(&'a C),
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Summary {
    pub kept: usize,
    /// Cases that were made and written.
    pub made: usize,
}

/// Progress callback, called from the threads of the pool; `Break` stops the generation.
pub type Report<'a, C> = dyn Fn(Event<'_, C>) -> ControlFlow<()> + Sync + 'a;

/// A case of a data set.
pub trait Case: Sync {
    fn path(&self, folder: &Path) -> PathBuf;

    /// Reads its file and checksums.
    fn check(&self, folder: &Path) -> Result<()>;

    /// Relative duration: the longest cases are begun first.
    fn work(&self) -> u64 {
        1
    }

    /// Number of [`Event::Stepped`] events.
    fn steps(&self) -> u64 {
        1
    }

    /// `None` if there is no file; the inner error says why a file is invalid. A file that cannot be opened is an error and stays.
    fn found(&self, folder: &Path) -> Result<Option<Result<()>>> {
        if !self.path(folder).try_exists().unwrap_or(true) {
            return Ok(None);
        }
        match self.check(folder) {
            Err(error @ Error::File(reynolds_checkpoint::Error::Io { .. })) => Err(error),
            found => Ok(Some(found)),
        }
    }
}

/// Makes the missing cases in `folder`, which is created, on rayon's current pool. `make` writes the file of a case and reports its steps.
///
/// # Errors
/// [`Error::Interrupted`] when `report` broke off; [`Error::File`] when the folder cannot be written; as `make`. Files that were finished
/// before stay.
pub(crate) fn generate<C: Case>(
    folder: &Path,
    cases: &[C],
    report: &Report<'_, C>,
    make: impl Fn(&C) -> Result<()> + Sync,
) -> Result<Summary> {
    fs::create_dir_all(folder).map_err(Error::io(folder, "create"))?;
    let tell = |event: Event<'_, C>| match report(event) {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(()) => Err(Error::Interrupted { folder: folder.into() }),
    };
    tell(Event::Begun { cases: cases.len(), work: cases.iter().map(Case::work).sum() })?;
    let whole = |case: &C| match case.found(folder)? {
        Some(Ok(())) => tell(Event::Kept(case)).map(|()| true),
        Some(Err(reason)) => tell(Event::Refused { case, reason: &reason }).map(|()| false),
        None => Ok(false),
    };
    let kept: Vec<bool> = cases.par_iter().map(whole).collect::<Result<_>>()?;
    let mut missing: Vec<&C> = cases.iter().zip(kept).filter(|(_, kept)| !kept).map(|(case, _)| case).collect();
    missing.sort_by_key(|case| Reverse(case.work()));
    let make = |case: &&C| {
        if matches!(case.found(folder)?, Some(Ok(()))) {
            return tell(Event::Kept(case)).map(|()| false);
        }
        make(case)?;
        tell(Event::Made(case)).map(|()| true)
    };
    let made: Vec<bool> = missing.par_iter().with_max_len(1).map(make).collect::<Result<_>>()?;
    let made = made.into_iter().filter(|made| *made).count();
    Ok(Summary { kept: cases.len() - made, made })
}

/// Runs `generate` on a number of threads (0 = all), with a progress bar; `false` if it was interrupted.
#[cfg(feature = "torch")]
pub(crate) fn with_bar<C: Case>(
    what: &str,
    threads: usize,
    interrupt: &Interrupt,
    generate: impl FnOnce(&Report<'_, C>) -> Result<Summary> + Send,
) -> reynolds_train::Result<bool> {
    let (all, kept, work) = (AtomicU64::new(0), AtomicU64::new(0), OnceLock::new());
    // The bar begins with the first step: checking files is fast.
    let begin = || WorkProgress::begin(what, all.load(Ordering::SeqCst).saturating_sub(kept.load(Ordering::SeqCst)));
    let report = |event: Event<'_, C>| {
        match event {
            Event::Begun { work, .. } => all.store(work, Ordering::SeqCst),
            Event::Kept(case) => match work.get() {
                Some(work) => WorkProgress::advance(work, case.work()),
                None => drop(kept.fetch_add(case.work(), Ordering::SeqCst)),
            },
            Event::Stepped(case) => work.get_or_init(begin).advance(case.work() / case.steps()),
            Event::Refused { reason, .. } => say(&format!("made again: {reason}")),
            Event::Made(_) => {}
        }
        if interrupt.requested() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads::resolve(threads)).build();
    let pool =
        pool.map_err(|error| reynolds_train::Error::config("train.threads", "threads that can be started", error))?;
    match pool.install(|| generate(&report)) {
        Ok(_) => Ok(true),
        Err(Error::Interrupted { .. }) => Ok(false),
        Err(error) => Err(error.into()),
    }
}
