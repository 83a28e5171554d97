//! Where the training loop leaves what it learns: a run folder, or only memory.

use reynolds_torch::Parameters;
use reynolds_torch::tch::Tensor;
use serde::{Deserialize, Serialize};

use crate::error::Result;
use crate::metrics::{Best, Record};

/// How far a run has come. With the seed it decides what follows, for every random number is a function of seed and moment.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct Progress {
    /// Epochs done.
    pub epoch: usize,
    /// Steps of the optimiser done in the epoch under way.
    pub step: usize,
    /// Sum of the losses of the epoch under way.
    pub loss_sum: f64,
    /// Sum of the penalties of the epoch under way.
    pub penalty_sum: f64,
    /// The best evaluation so far.
    pub best: Option<Best>,
    /// Evaluations since the best.
    pub stale: usize,
    /// Whether early stopping has ended the run.
    pub stopped_early: bool,
}

/// All that is needed to go on from a moment, on whatever device it lies.
#[derive(Debug)]
pub struct Snapshot {
    /// How far.
    pub progress: Progress,
    /// The flat parameters `[len]`.
    pub weights: Tensor,
    /// What makes the parameters, `[len]` or `[2 len]`, where they are constrained or residual.
    pub theta: Option<Tensor>,
    /// Adam's first moment, as long as what is trained.
    pub first: Tensor,
    /// Adam's second moment, as long as what is trained.
    pub second: Tensor,
    /// Steps of the optimiser done in all.
    pub steps: i64,
    /// The flat parameters of the best evaluation, if there is one.
    pub best: Option<Tensor>,
}

/// What the loop writes to, and reads back when it goes on.
pub trait Journal {
    /// The moment to go on from, if there is one; tensors fit `parameters`.
    ///
    /// # Errors
    /// If there is one that cannot be read or does not fit.
    fn restore(&mut self, parameters: &Parameters) -> Result<Option<Snapshot>>;

    /// Takes the record of an epoch.
    ///
    /// # Errors
    /// If it cannot be written.
    fn record(&mut self, record: &Record) -> Result<()>;

    /// Takes a moment to go on from, whole or not at all. The loop has seen that every number of it is finite.
    ///
    /// # Errors
    /// If it cannot be written; the one before is still there then.
    fn save(&mut self, snapshot: &Snapshot, parameters: &Parameters) -> Result<()>;

    /// Where the last moment was saved, for messages.
    fn last_saved(&self) -> Option<String>;
}

/// A journal that keeps the records and saves nothing.
#[derive(Debug, Default)]
pub struct Memory {
    /// One an epoch.
    pub records: Vec<Record>,
}

impl Journal for Memory {
    fn restore(&mut self, _: &Parameters) -> Result<Option<Snapshot>> {
        Ok(None)
    }

    fn record(&mut self, record: &Record) -> Result<()> {
        self.records.push(record.clone());
        Ok(())
    }

    fn save(&mut self, _: &Snapshot, _: &Parameters) -> Result<()> {
        Ok(())
    }

    fn last_saved(&self) -> Option<String> {
        None
    }
}
