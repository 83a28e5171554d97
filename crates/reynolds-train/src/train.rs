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
//!
//! ```
//! use reynolds_train::task::{Metrics, Moment, Split, Task};
//! use reynolds_train::{config::{PenaltySettings, TrainConfig}, interrupt::Interrupt, journal::Memory, progress::Silent, train::train};
//! use reynolds_torch::{Parameters, tch::{Device, Kind, Tensor}};
//!
//! /// Finds the minimum of (w − 3)².
//! struct Parabola(Parameters);
//! impl Task for Parabola {
//!     fn parameters(&self) -> &Parameters {
//!         &self.0
//!     }
//!     fn steps_per_epoch(&self) -> usize {
//!         20
//!     }
//!     fn loss(&self, _: Moment) -> reynolds_train::Result<Tensor> {
//!         Ok((self.0.get("w")? - 3.0).square().sum(Kind::Double))
//!     }
//!     fn evaluate(&self, _: Split) -> reynolds_train::Result<Metrics> {
//!         Ok(Metrics::from([("loss".into(), self.loss(Moment { epoch: 0, step: 0 })?.double_value(&[]))]))
//!     }
//! }
//!
//! let mut builder = Parameters::builder();
//! builder.real("w", &[1], &[0.0])?;
//! let task = Parabola(builder.build(Kind::Double, Device::Cpu)?);
//! let config = TrainConfig { epochs: 20, learning_rate: 0.1, ..TrainConfig::default() };
//! let mut records = Memory::default();
//! train(&task, &config, &PenaltySettings::default(), &mut records, &mut Silent, &Interrupt::new())?;
//! assert_eq!(records.records.len(), 20);
//! assert!((task.0.flat().double_value(&[0]) - 3.0).abs() < 1e-3);
//! # Ok::<(), reynolds_train::Error>(())
//! ```

mod trainer;

use crate::config::{PenaltySettings, TrainConfig};
use crate::error::Result;
use crate::interrupt::Interrupt;
use crate::journal::Journal;
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
pub fn go_on(
    mut trainer: Trainer<'_>,
    journal: &mut dyn Journal,
    observer: &mut dyn Observer,
    interrupt: &Interrupt,
) -> Result<Ending> {
    if let Some(snapshot) = journal.restore(trainer.task().parameters())? {
        trainer.restore(&snapshot)?;
    }
    observer.begin(trainer.steps_done(), trainer.steps_in_all());
    let stopped = all_epochs(&mut trainer, journal, observer, interrupt);
    observer.end();
    Ok(match stopped? {
        true => trainer.interrupted(),
        false => Ending::Finished(trainer.summary()?),
    })
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
                journal.save(&trainer.snapshot(), trainer.task().parameters())?;
                return Ok(true);
            }
        }
        let record = trainer.end_epoch(journal)?;
        journal.record(&record)?;
        observer.epoch(&record, trainer.epochs());
        if trainer.save_is_due() {
            journal.save(&trainer.snapshot(), trainer.task().parameters())?;
        }
    }
    Ok(false)
}
