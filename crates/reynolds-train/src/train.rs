//! The one training loop.
//!
//! ```text
//! for each epoch, for each step:
//!     g ← mean over the accumulated minibatches of ∇ task loss
//!     g ← g + 2λ_G P(W) + 2λ_⊥(t) (W − P(W))          once per step, before clipping
//!     g ← g · min(1, clip/‖g‖)
//!     W ← Adam(W, g, η(t))                             with step = "decoupled" or a target: then a step of its own, see `decoupled`
//! then, once per epoch: read the loss, check that all is finite, evaluate, record, save
//! ```
//!
//! No step synchronises with the device; on CUDA it is captured in a graph and replayed where the task allows it, as passes of evaluations
//! are. A step is a function of the seed and the moment only, so that a resumed loop does what an uninterrupted one does.

mod replay;
mod trainer;

use crate::config::{PenaltySettings, TrainConfig};
use crate::error::{Error, Result};
use crate::interrupt::Interrupt;
use crate::journal::{Journal, Progress};
use crate::metrics::Summary;
use crate::progress::Observer;
use crate::task::Task;
pub use trainer::Trainer;

/// How a loop ended.
#[derive(Debug, Clone, PartialEq)]
pub enum Ending {
    /// All epochs are done, or early stopping ended the run.
    Finished(Summary),
    /// Cancelled, with a checkpoint.
    Interrupted {
        /// Epochs done.
        epoch: usize,
        /// Steps done in this epoch.
        step: usize,
    },
}

/// Trains the parameters of a task, from the journal's last checkpoint if it has one, and leaves the selected weights in them.
pub fn train(
    task: &mut dyn Task,
    config: &TrainConfig,
    penalty: &PenaltySettings,
    journal: &mut dyn Journal,
    observer: &mut dyn Observer,
    interrupt: &Interrupt,
) -> Result<Ending> {
    task.cancel_by(interrupt);
    let trainer = Trainer::new(task, config, penalty)?;
    go_on(task, trainer, journal, observer, interrupt)
}

/// [`train`] with a given trainer.
pub(crate) fn go_on(
    task: &mut dyn Task,
    mut trainer: Trainer<'_>,
    journal: &mut dyn Journal,
    observer: &mut dyn Observer,
    interrupt: &Interrupt,
) -> Result<Ending> {
    if let Some(snapshot) = journal.restore(task.parameters())? {
        trainer.restore(task, &snapshot)?;
    }
    observer.begin(trainer.steps_done(), trainer.steps_in_all());
    let done = all_epochs(task, &mut trainer, journal, observer, interrupt);
    observer.end();
    let Progress { epoch, step, .. } = trainer.progress;
    match done.and_then(|()| trainer.summary(task)) {
        Err(Error::Interrupted) => Ok(Ending::Interrupted { epoch, step }),
        summary => summary.map(Ending::Finished),
    }
}

/// Trains to the end; [`Error::Interrupted`] with a checkpoint if it was cancelled.
fn all_epochs(
    task: &mut dyn Task,
    trainer: &mut Trainer<'_>,
    journal: &mut dyn Journal,
    observer: &mut dyn Observer,
    interrupt: &Interrupt,
) -> Result<()> {
    while !trainer.is_over() {
        while !trainer.epoch_is_over() {
            trainer.step(task)?;
            if let Some(why) = trainer.not_captured() {
                observer.say(&why);
            }
            let loss = if trainer.look_is_due() { Some(trainer.look(task, journal)?.0) } else { None };
            observer.step(trainer.steps_done(), loss);
            if interrupt.requested() {
                trainer.look(task, journal)?;
                journal.save(&trainer.snapshot(task.parameters()), task.parameters())?;
                return Err(Error::Interrupted);
            }
        }
        let record = trainer.end_epoch(task, journal);
        if matches!(record, Err(Error::Interrupted)) {
            journal.save(&trainer.snapshot(task.parameters()), task.parameters())?;
        }
        let record = record?;
        journal.record(&record)?;
        observer.epoch(&record, trainer.config.epochs);
        if trainer.save_is_due() {
            journal.save(&trainer.snapshot(task.parameters()), task.parameters())?;
        }
    }
    Ok(())
}
