//! Where the training loop leaves what it learns: a run folder, or only memory.

use std::collections::BTreeMap;

use reynolds_torch::Parameters;
use reynolds_torch::tch::{self, Tensor};
use serde::{Deserialize, Serialize};

use crate::error::Result;
use crate::metrics::{Best, Record};

/// How far a run has come. With the seed it decides what follows, for every random number is a function of seed and moment.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Progress {
    /// Epochs done.
    pub epoch: usize,
    /// Steps of the optimiser done in the epoch under way.
    pub step: usize,
    /// Sum of the losses of the epoch under way.
    pub loss_sum: f64,
    /// The best evaluation so far.
    pub best: Option<Best>,
    /// Evaluations since the best.
    pub stale: usize,
    /// The last evaluations, oldest first, as many as the rule that ends a run looks at.
    #[serde(default)]
    pub recent: Vec<f64>,
    /// Whether early stopping has ended the run.
    pub stopped_early: bool,
}

/// What a network is at a moment.
#[derive(Debug)]
pub struct Weights {
    /// The flat parameters `[len]`.
    pub flat: Tensor,
    /// The running statistics `[m]`, empty where there are none.
    pub statistics: Tensor,
}

impl Weights {
    /// Those of `parameters`, sharing their storage.
    pub fn of(parameters: &Parameters) -> Self {
        Self { flat: parameters.flat().shallow_clone(), statistics: parameters.statistics().shallow_clone() }
    }

    /// The same numbers in a storage of their own.
    pub fn copied(&self) -> Result<Self> {
        Ok(Self { flat: copied(&self.flat)?, statistics: copied(&self.statistics)? })
    }

    pub(crate) fn shallow_clone(&self) -> Self {
        Self { flat: self.flat.shallow_clone(), statistics: self.statistics.shallow_clone() }
    }

    /// Overwrites `parameters`.
    pub fn assign_to(&self, parameters: &Parameters) -> Result<()> {
        parameters.assign(&self.flat)?;
        self.assign_statistics_to(parameters)
    }

    /// Overwrites the running statistics of `parameters` alone.
    pub(crate) fn assign_statistics_to(&self, parameters: &Parameters) -> Result<()> {
        let _guard = tch::no_grad_guard();
        let mut statistics = parameters.statistics().shallow_clone();
        if statistics.size() != self.statistics.size() {
            let [expected, found] = [&statistics, &self.statistics].map(|tensor| format!("{:?}", tensor.size()));
            return Err(reynolds_torch::Error::Setting { what: "running statistics".into(), expected, found }.into());
        }
        statistics.f_copy_(&self.statistics)?;
        Ok(())
    }
}

/// A tensor of its own with the same numbers.
fn copied(tensor: &Tensor) -> Result<Tensor> {
    let _guard = tch::no_grad_guard();
    let mut copy = tensor.f_empty_like()?;
    copy.f_copy_(tensor)?;
    Ok(copy)
}

/// All that is needed to go on from a moment, on whatever device it lies.
#[derive(Debug)]
pub struct Snapshot {
    /// How far.
    pub progress: Progress,
    /// Parameters and running statistics.
    pub weights: Weights,
    /// What makes the parameters, `[len]` or `[2 len]`, where they are constrained or residual.
    pub theta: Option<Tensor>,
    /// Adam's first moment, as long as what is trained.
    pub first: Tensor,
    /// Adam's second moment, as long as what is trained.
    pub second: Tensor,
    /// Steps of the optimiser done in all.
    pub steps: i64,
    /// Parameters and running statistics of the best evaluation, if there is one.
    pub best: Option<Weights>,
    /// State of a decoupled penalty or a target, by name.
    pub penalty: BTreeMap<String, Tensor>,
}

/// What the loop writes to, and reads back when it goes on.
pub trait Journal {
    /// The moment to go on from, if there is one; refused if it does not fit `parameters`.
    fn restore(&mut self, parameters: &Parameters) -> Result<Option<Snapshot>>;

    /// Takes the record of an epoch.
    fn record(&mut self, record: &Record) -> Result<()>;

    /// Takes a moment to go on from, whole or not at all: if it cannot be written, the one before is still there. Its numbers are finite.
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
