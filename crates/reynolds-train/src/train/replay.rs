//! Steps that are captured in a CUDA graph, once for each shape of minibatches, and replayed.
//!
//! ```text
//! a shape   twice as it comes, on the side stream (cuDNN chooses its algorithms, tensors that are made once are made)
//!           captured at the third step, and replayed from it on
//! a replay  reads minibatch, λ, η and Adam's bias corrections from where the captured step read them
//! ```
//!
//! Graphs share one pool of memory.

use reynolds_torch::graph::{Graph, Recorder};
use reynolds_torch::tch::Tensor;

use crate::error::Result;
use crate::task::{Captured, Moment, Task};

/// Steps of a shape before it is captured.
const WARM_UP: usize = 2;

/// What a task that is captured offers.
pub(super) fn captured(task: &dyn Task) -> &dyn Captured {
    task.captured().expect("a task that offered it before")
}

/// A step on minibatches.
type Work<'a> = dyn FnMut(&mut dyn Task, &[Tensor]) -> Result<()> + 'a;

/// Captured steps of one task.
pub(super) struct Replay {
    recorder: Recorder,
    shapes: Vec<Shape>,
    /// Numbers that the captured steps have for good; how often they changed, and how many steps were replayed.
    baked: Option<[f64; 2]>,
    changes: usize,
    replays: usize,
}

/// Steps on minibatches of one shape.
struct Shape {
    /// The minibatches of a step, in fixed places.
    inputs: Vec<Tensor>,
    steps: usize,
    graph: Option<Graph>,
}

impl Replay {
    /// Or why steps of this task cannot be captured.
    pub(super) fn new(task: &dyn Task) -> Result<Self, String> {
        task.captured().map_err(ToString::to_string)?;
        let recorder = Recorder::new(task.parameters().device()).map_err(|error| error.to_string())?;
        Ok(Self { recorder, shapes: vec![], baked: None, changes: 0, replays: 0 })
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
            if self.changes > 3 && self.replays < 10 * self.changes {
                step(task, &minibatches)?;
                return Ok(Some("λ_⊥ or the learning rate of a step outside the kernels changes too often".into()));
            }
            self.shapes.clear();
        }
        let nth = self.shape(&minibatches)?;
        let Shape { inputs, steps, graph } = &mut self.shapes[nth];
        for (input, minibatch) in inputs.iter_mut().zip(&minibatches) {
            input.f_copy_(minibatch)?;
        }
        if graph.is_none() && *steps < WARM_UP {
            *steps += 1;
            return self.recorder.aside(|| step(task, inputs)).map(|()| None);
        }
        if graph.is_none() {
            match self.recorder.capture(|| step(task, inputs)) {
                Ok(captured) => *graph = Some(captured),
                Err(error) => return step(task, inputs).map(|()| Some(error.to_string())),
            }
        }
        self.replays += 1;
        graph.as_ref().expect("captured above").replay()?;
        Ok(None)
    }

    pub(super) fn replays(&self) -> usize {
        self.replays
    }

    /// The index of that of these minibatches.
    fn shape(&mut self, minibatches: &[Tensor]) -> Result<usize> {
        let fits = |shape: &Shape| shape.inputs.iter().map(Tensor::size).eq(minibatches.iter().map(Tensor::size));
        if let Some(known) = self.shapes.iter().position(fits) {
            return Ok(known);
        }
        let inputs = minibatches.iter().map(|minibatch| Ok(minibatch.f_contiguous()?.f_detach_copy()?));
        self.shapes.push(Shape { inputs: inputs.collect::<Result<_>>()?, steps: 0, graph: None });
        Ok(self.shapes.len() - 1)
    }
}
