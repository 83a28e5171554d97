//! What an experiment gives to the training loop.

use std::collections::BTreeMap;
use std::rc::Rc;

use reynolds::penalty::PenaltyConfig;
use reynolds::plan::SymmetryPlan;
use reynolds_torch::tch::Tensor;
use reynolds_torch::{Binding, Parameters, Penalty};

use crate::error::Result;
use crate::interrupt::Interrupt;
use crate::passes::Passes;
use crate::regulariser::Regulariser;

/// Named numbers in a fixed order: "accuracy", "defect", …
pub type Metrics = BTreeMap<String, f64>;

/// Which part of the data.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Split {
    /// For the loss.
    Train,
    /// For early stopping and selection.
    Validation,
    /// For the reported numbers.
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

/// With the seed it decides every random number of a run, so that a resumed run draws the same ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Moment {
    /// From 0.
    pub epoch: usize,
    /// Minibatch of this epoch, from 0.
    pub step: usize,
}

/// A loss that can be captured in a CUDA graph and replayed: its operations depend on nothing but shapes, and it reads nothing from the
/// host.
pub trait Captured {
    /// All that differs between two minibatches of one shape, on the device: as a rule the numbers of its samples.
    fn minibatch(&self, moment: Moment) -> Result<Tensor>;

    /// The loss of a minibatch, as [`Task::loss`].
    fn loss_of(&self, minibatch: &Tensor) -> Result<Tensor>;
}

/// Data, network, loss and metrics of one run, on its device.
pub trait Task {
    /// The parameters that are trained.
    fn parameters(&self) -> &Parameters;

    /// The same, to be changed by a step.
    fn parameters_mut(&mut self) -> &mut Parameters;

    /// Minibatches in an epoch.
    fn steps_per_epoch(&self) -> usize {
        1
    }

    /// The loss of one minibatch without the penalty: a 0-d tensor on the tape.
    fn loss(&self, moment: Moment) -> Result<Tensor>;

    /// The same loss as a function of one tensor of a fixed shape, for steps that are captured in a CUDA graph; else the reason why there is
    /// none.
    fn captured(&self) -> Result<&dyn Captured, &'static str> {
        Err("the experiment does not offer it")
    }

    /// Metrics of a split with the current parameters. `train.early_stopping` watches "loss" by default.
    fn evaluate(&self, split: Split) -> Result<Metrics>;

    /// A flag for evaluations that take long, to [check](Interrupt::check) every few seconds.
    fn cancel_by(&mut self, _interrupt: &Interrupt) {}

    /// Where evaluations [run](Passes::of) their passes, so that they are captured in a CUDA graph and replayed.
    fn pass_by(&mut self, _passes: &Passes) {}

    /// Which parameters are regularised towards which group, for `[penalty]` and `[train.parametrisation]`; `None` if none is.
    fn plan(&self) -> Result<Option<SymmetryPlan>> {
        Ok(None)
    }

    /// The plan bound to the parameters; called once or twice a run. Override it to share a binding that the task keeps.
    fn binding(&self) -> Result<Option<Rc<Binding>>> {
        let Some(plan) = self.plan()? else { return Ok(None) };
        Ok(Some(Rc::new(Binding::of_plan(self.parameters(), &plan)?)))
    }

    /// The penalty of `[penalty]` by its gradient; `None` if no parameter is regularised. Override it if the regularised weights are
    /// assembled from parameters.
    fn regulariser(&self, penalty: PenaltyConfig) -> Result<Option<Box<dyn Regulariser>>> {
        let Some(binding) = self.binding()? else { return Ok(None) };
        Ok(Some(Box::new(Penalty::new(binding, penalty)?)))
    }
}
