//! What the training loop needs to know of an experiment.

use std::collections::BTreeMap;
use std::rc::Rc;

use reynolds::penalty::PenaltyConfig;
use reynolds_torch::tch::Tensor;
use reynolds_torch::{Binding, Parameters};

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

/// Data, network and loss of one run, on its device.
pub trait Task {
    /// The parameters that are trained.
    fn parameters(&self) -> &Parameters;

    /// Minibatches in an epoch.
    fn steps_per_epoch(&self) -> usize;

    /// The task loss of one minibatch, a scalar on the tape. The penalty is no part of it.
    ///
    /// # Errors
    /// Whatever libtorch may fail with.
    fn loss(&self, moment: Moment) -> Result<Tensor>;

    /// Metrics on a split, with the parameters as they are.
    ///
    /// # Errors
    /// Whatever libtorch may fail with.
    fn evaluate(&self, split: Split) -> Result<Metrics>;

    /// The penalty of the run's `[penalty]` on these parameters; `None` if none of them is held against a group. Asked for only where the
    /// penalty is not 0.
    ///
    /// # Errors
    /// If the parameters do not fit.
    fn regulariser(&self, penalty: PenaltyConfig) -> Result<Option<Box<dyn Regulariser>>> {
        let _ = penalty;
        Ok(None)
    }

    /// What is held against a group: by what `[train.parametrisation]` constrains the parameters. `None` if nothing is.
    ///
    /// # Errors
    /// If the parameters do not fit.
    fn binding(&self) -> Result<Option<Rc<Binding>>> {
        Ok(None)
    }
}
