//! What the training loop writes records and checkpoints to: a run folder, or memory.

use std::collections::BTreeMap;

use reynolds_torch::Parameters;
use reynolds_torch::tch::{self, Tensor};
use serde::{Deserialize, Serialize};

use crate::error::Result;
use crate::metrics::{Best, Record};

/// How far a run has come. With the seed it decides what follows: every random number is a function of seed and moment.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Progress {
    /// Epochs done.
    pub epoch: usize,
    /// Optimiser steps done in this epoch.
    pub step: usize,
    /// Sum of the losses of this epoch.
    pub loss_sum: f64,
    /// The best evaluation so far.
    pub best: Option<Best>,
    /// Evaluations since the best.
    pub stale: usize,
    /// The last evaluations, oldest first, for `train.early_stopping.rule = "plateau"`.
    #[serde(default)]
    pub recent: Vec<f64>,
    /// Whether early stopping has ended the run.
    pub stopped_early: bool,
}

/// Weights and running statistics of a network.
#[derive(Debug)]
pub struct Weights {
    /// The flat parameters `[len]`.
    pub flat: Tensor,
    /// The running statistics `[m]`, empty where there are none.
    pub statistics: Tensor,
}

impl Weights {
    /// Shares the storage of `parameters`.
    pub fn of(parameters: &Parameters) -> Self {
        Self { flat: parameters.flat().shallow_clone(), statistics: parameters.statistics().shallow_clone() }
    }

    /// A copy with storage of its own.
    pub fn copied(&self) -> Result<Self> {
        Ok(Self { flat: copied(&self.flat)?, statistics: copied(&self.statistics)? })
    }

    pub(crate) fn shallow_clone(&self) -> Self {
        Self { flat: self.flat.shallow_clone(), statistics: self.statistics.shallow_clone() }
    }

    /// Overwrites `parameters`.
    pub fn assign_to(&self, parameters: &mut Parameters) -> Result<()> {
        parameters.assign(&self.flat)?;
        Ok(parameters.assign_statistics(&self.statistics)?)
    }
}

fn copied(tensor: &Tensor) -> Result<Tensor> {
    let _guard = tch::no_grad_guard();
    let mut copy = tensor.f_empty_like()?;
    copy.f_copy_(tensor)?;
    Ok(copy)
}

/// Everything that a run resumes from.
#[derive(Debug)]
pub struct Snapshot {
    /// Epoch, step, best evaluation.
    pub progress: Progress,
    /// Parameters and running statistics.
    pub weights: Weights,
    /// θ of constrained or residual weights, `[len]` or `[2 len]`.
    pub theta: Option<Tensor>,
    /// Adam's first moment.
    pub first: Tensor,
    /// Adam's second moment.
    pub second: Tensor,
    /// Optimiser steps done in all.
    pub steps: i64,
    /// Those of the best evaluation, if there is one.
    pub best: Option<Weights>,
    /// State of a decoupled penalty or a target, by name.
    pub penalty: BTreeMap<String, Tensor>,
}

/// Stores records and checkpoints.
pub trait Journal {
    /// The last checkpoint, if there is one; an error if it does not fit `parameters`.
    fn restore(&mut self, parameters: &Parameters) -> Result<Option<Snapshot>>;

    /// Stores the record of an epoch.
    fn record(&mut self, record: &Record) -> Result<()>;

    /// Stores a checkpoint with finite numbers, whole or not at all: if it cannot be written, the last one remains.
    fn save(&mut self, snapshot: &Snapshot, parameters: &Parameters) -> Result<()>;

    /// Path of the last checkpoint, for messages.
    fn last_saved(&self) -> Option<String>;
}

/// Keeps the records, saves no checkpoints.
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
