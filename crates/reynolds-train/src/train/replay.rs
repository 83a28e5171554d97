//! Steps that are captured in a CUDA graph and replayed.
//!
//! ```text
//! a replay  reads minibatch, λ, η and Adam's bias corrections from where the captured step read them
//! ```

use reynolds_torch::tch::Tensor;

use crate::captures::Captures;
use crate::error::Result;
use crate::task::{Captured, Moment, Task};

/// What a task that is captured offers.
pub(super) fn captured(task: &dyn Task) -> &dyn Captured {
    task.captured().expect("a task that offered it before")
}

/// A step on minibatches.
type Work<'a> = dyn FnMut(&mut dyn Task, &[Tensor]) -> Result<()> + 'a;

/// Captured steps of one task.
pub(super) struct Replay {
    captures: Captures,
    /// Numbers that the captured steps have for good; how often they changed.
    baked: Option<[f64; 2]>,
    changes: usize,
}

impl Replay {
    /// Or why steps of this task cannot be captured.
    pub(super) fn new(task: &dyn Task) -> Result<Self, String> {
        task.captured().map_err(ToString::to_string)?;
        let captures = Captures::new(task.parameters().device()).map_err(|error| error.to_string())?;
        Ok(Self { captures, baked: None, changes: 0 })
    }

    /// Takes a step on the minibatches of `moments`, whose losses `step` sums up and descends along; returns why it could not be captured, if so.
    /// Steps with other `baked` numbers are captured anew.
    pub(super) fn step(
        &mut self,
        task: &mut dyn Task,
        moments: &[Moment],
        baked: [f64; 2],
        step: &mut Work<'_>,
    ) -> Result<Option<String>> {
        let minibatch = |&moment: &Moment| captured(task).minibatch(moment);
        let minibatches = moments.iter().map(minibatch).collect::<Result<Vec<Tensor>>>()?;
        if self.baked.replace(baked).is_some_and(|before| before != baked) {
            self.changes += 1;
            if self.changes > 3 && self.replays() < 10 * self.changes {
                step(task, &minibatches)?;
                return Ok(Some("λ_⊥ or the learning rate of a step outside the kernels changes too often".into()));
            }
            self.captures.clear();
        }
        let (_, why) = self.captures.call(&minibatches, &mut |inputs| step(task, inputs).map(|()| vec![]))?;
        Ok(why)
    }

    pub(super) fn replays(&self) -> usize {
        self.captures.replays()
    }
}
