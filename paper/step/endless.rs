//! A task whose epoch never ends: its minibatches repeat.

use std::rc::Rc;

use reynolds::penalty::PenaltyConfig;
use reynolds_torch::tch::Tensor;
use reynolds_torch::{Binding, Parameters};
use reynolds_train::error::Result;
use reynolds_train::passes::Passes;
use reynolds_train::regulariser::Regulariser;
use reynolds_train::task::{Captured, Metrics, Moment, Split, Task};

pub(super) struct Endless<T>(pub(super) T);

impl<T: Task> Endless<T> {
    fn repeated(&self, moment: Moment) -> Moment {
        Moment { epoch: 0, step: moment.step % self.0.steps_per_epoch() }
    }
}

impl<T: Task> Captured for Endless<T> {
    fn minibatch(&self, moment: Moment) -> Result<Tensor> {
        self.0.captured().expect("asked before").minibatch(self.repeated(moment))
    }

    fn loss_of(&self, minibatch: &Tensor) -> Result<Tensor> {
        self.0.captured().expect("asked before").loss_of(minibatch)
    }
}

impl<T: Task> Task for Endless<T> {
    fn parameters(&self) -> &Parameters {
        self.0.parameters()
    }

    fn parameters_mut(&mut self) -> &mut Parameters {
        self.0.parameters_mut()
    }

    fn steps_per_epoch(&self) -> usize {
        1_000_000
    }

    fn loss(&self, moment: Moment) -> Result<Tensor> {
        self.0.loss(self.repeated(moment))
    }

    fn captured(&self) -> Result<&dyn Captured, &'static str> {
        self.0.captured().map(|_| self as &dyn Captured)
    }

    fn evaluate(&self, split: Split) -> Result<Metrics> {
        self.0.evaluate(split)
    }

    fn pass_by(&mut self, passes: &Passes) {
        self.0.pass_by(passes);
    }

    fn regulariser(&self, penalty: PenaltyConfig) -> Result<Option<Box<dyn Regulariser>>> {
        self.0.regulariser(penalty)
    }

    fn binding(&self) -> Result<Option<Rc<Binding>>> {
        self.0.binding()
    }
}
