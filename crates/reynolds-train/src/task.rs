//! What the training loop needs to know of an experiment.

use std::collections::BTreeMap;
use std::rc::Rc;

use reynolds::penalty::PenaltyConfig;
use reynolds::plan::SymmetryPlan;
use reynolds_torch::tch::Tensor;
use reynolds_torch::{Binding, Parameters, Penalty};

use crate::error::Result;
use crate::regulariser::Regulariser;

/// Named numbers in a fixed order: "accuracy", "defect", …
pub type Metrics = BTreeMap<String, f64>;

/// Which part of the data.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Split {
    /// What the loss is taken on.
    Train,
    /// What early stopping and selection look at.
    Validation,
    /// What is reported.
    Test,
}

impl Split {
    /// "train", "validation" or "test".
    pub fn name(self) -> &'static str {
        match self {
            Self::Train => "train",
            Self::Validation => "validation",
            Self::Test => "test",
        }
    }
}

/// A moment of a run: with the seed of the run it decides every random number, so that a resumed run sees what an uninterrupted one saw.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Moment {
    /// From 0.
    pub epoch: usize,
    /// Of this epoch, from 0.
    pub step: usize,
}

/// Data, network, loss and metrics of one run, on its device. Required are the parameters, the loss and the metrics.
pub trait Task {
    /// The parameters that are trained.
    fn parameters(&self) -> &Parameters;

    /// Minibatches in an epoch.
    fn steps_per_epoch(&self) -> usize {
        1
    }

    /// The task loss of one minibatch, a 0-d tensor on the tape. The penalty is no part of it.
    fn loss(&self, moment: Moment) -> Result<Tensor>;

    /// Metrics on a split, with the parameters as they are. `train.early_stopping` watches "loss" unless it names another.
    fn evaluate(&self, split: Split) -> Result<Metrics>;

    /// Which parameters are regularised towards which group; `None` if none is. From it come the penalty of `[penalty]` and the constraint
    /// of `[train.parametrisation]`.
    fn plan(&self) -> Result<Option<SymmetryPlan>> {
        Ok(None)
    }

    /// The plan bound to the parameters. Called at most twice a run: a task that needs the binding itself keeps it and returns it here.
    fn binding(&self) -> Result<Option<Rc<Binding>>> {
        let Some(plan) = self.plan()? else { return Ok(None) };
        Ok(Some(Rc::new(Binding::of_plan(self.parameters(), &plan)?)))
    }

    /// The penalty of `[penalty]`; `None` if no parameter is regularised. Called only if λ_G or λ_⊥ is above 0. Overridden where what is
    /// regularised is no parameter itself, but a weight assembled from several.
    fn regulariser(&self, penalty: PenaltyConfig) -> Result<Option<Box<dyn Regulariser>>> {
        let Some(binding) = self.binding()? else { return Ok(None) };
        Ok(Some(Box::new(Penalty::new(binding, penalty)?)))
    }
}
