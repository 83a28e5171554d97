//! The one training loop.
//!
//! ```text
//! for each epoch, for each step:
//!     g ← mean over the accumulated minibatches of ∇ task loss
//!     g ← g + 2λ_G P(W) + 2λ_⊥(t) (W − P(W))          once per step, before clipping
//!     g ← g · min(1, clip/‖g‖)
//!     W ← Adam(W, g, η(t))
//! then, once per epoch: read the loss, see that all is finite, evaluate, record, save
//! ```
//!
//! Nothing inside a step waits for the device. What a step does is a function of the seed and the moment only, so that a loop which goes
//! on from a saved moment does what one does that was never stopped.

mod trainer;

use crate::config::{PenaltySettings, TrainConfig};
use crate::error::Result;
use crate::interrupt::Interrupt;
use crate::journal::{Journal, Progress};
use crate::metrics::Summary;
use crate::progress::Observer;
use crate::task::Task;
pub use trainer::Trainer;

/// How a loop ended.
#[derive(Debug, Clone, PartialEq)]
pub enum Ending {
    /// All epochs are done, or early stopping ended it.
    Finished(Summary),
    /// Someone asked for a stop; the moment is saved.
    Interrupted {
        /// Epochs done.
        epoch: usize,
        /// Steps done in the epoch under way.
        step: usize,
    },
}

/// Trains the parameters of a task, from the journal's last moment if it has one, and leaves in them the weights that the settings select.
///
/// # Errors
/// [`crate::Error::NotFinite`] if the loss, the penalty, the weights or the metric that is looked at stop being finite;
/// [`crate::Error::Config`] if there is a penalty but nothing to hold against a group, or no such metric; what the journal and the task
/// fail with.
pub fn train(
    task: &dyn Task,
    config: &TrainConfig,
    penalty: &PenaltySettings,
    journal: &mut dyn Journal,
    observer: &mut dyn Observer,
    interrupt: &Interrupt,
) -> Result<Ending> {
    go_on(Trainer::new(task, config, penalty)?, journal, observer, interrupt)
}

/// As [`train`], with a trainer that is ready.
pub(crate) fn go_on(
    mut trainer: Trainer<'_>,
    journal: &mut dyn Journal,
    observer: &mut dyn Observer,
    interrupt: &Interrupt,
) -> Result<Ending> {
    if let Some(snapshot) = journal.restore(trainer.task.parameters())? {
        trainer.restore(&snapshot)?;
    }
    observer.begin(trainer.steps_done(), trainer.steps_in_all());
    let stopped = all_epochs(&mut trainer, journal, observer, interrupt);
    observer.end();
    let Progress { epoch, step, .. } = trainer.progress;
    Ok(if stopped? { Ending::Interrupted { epoch, step } } else { Ending::Finished(trainer.summary()?) })
}

/// Steps and epochs until all is done, or someone asks for a stop: whether that was so.
fn all_epochs(
    trainer: &mut Trainer<'_>,
    journal: &mut dyn Journal,
    observer: &mut dyn Observer,
    interrupt: &Interrupt,
) -> Result<bool> {
    while !trainer.is_over() {
        while !trainer.epoch_is_over() {
            trainer.step()?;
            let loss = if trainer.look_is_due() { Some(trainer.look(journal)?.0) } else { None };
            observer.step(trainer.steps_done(), loss);
            if interrupt.requested() {
                trainer.look(journal)?;
                journal.save(&trainer.snapshot(), trainer.task.parameters())?;
                return Ok(true);
            }
        }
        let record = trainer.end_epoch(journal)?;
        journal.record(&record)?;
        observer.epoch(&record, trainer.config.epochs);
        if trainer.save_is_due() {
            journal.save(&trainer.snapshot(), trainer.task.parameters())?;
        }
    }
    Ok(false)
}
