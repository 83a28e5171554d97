//! Functions of tensors that are captured in a CUDA graph, once for each shape of their inputs, and replayed.
//!
//! ```text
//! a shape   twice as it comes, on the side stream (cuDNN chooses its algorithms, tensors that are made once are made)
//!           captured at the third call, and replayed from it on
//! ```
//!
//! Graphs of one [`Captures`] share one pool of memory.

use reynolds_torch::graph::{Graph, Recorder};
use reynolds_torch::tch::{Device, Tensor};

use crate::error::Result;

/// Calls of a shape before it is captured.
const WARM_UP: usize = 2;

/// Work on the tensors it is given and on others that stay where they are; makes new tensors.
type Work<'a> = dyn FnMut(&[Tensor]) -> Result<Vec<Tensor>> + 'a;

/// One function and its captures.
pub(crate) struct Captures {
    recorder: Recorder,
    shapes: Vec<Shape>,
    replays: usize,
}

/// Calls on inputs of one shape.
struct Shape {
    /// The inputs of a call, in fixed places.
    inputs: Vec<Tensor>,
    outputs: Vec<Tensor>,
    calls: usize,
    graph: Option<Graph>,
}

impl Captures {
    /// # Errors
    /// On a device without CUDA graphs.
    pub(crate) fn new(device: Device) -> Result<Self> {
        Ok(Self { recorder: Recorder::new(device)?, shapes: vec![], replays: 0 })
    }

    /// What `work` makes of the inputs; and why it could not be captured, if so.
    pub(crate) fn call(&mut self, inputs: &[Tensor], work: &mut Work<'_>) -> Result<(Vec<Tensor>, Option<String>)> {
        let nth = self.shape(inputs)?;
        let Shape { inputs: places, outputs, calls, graph } = &mut self.shapes[nth];
        for (place, input) in places.iter_mut().zip(inputs) {
            place.f_copy_(input)?;
        }
        if graph.is_none() && *calls < WARM_UP {
            *calls += 1;
            return Ok((self.recorder.aside(|| work(places))?, None));
        }
        if graph.is_none() {
            let captured: Result<Graph> = self.recorder.capture(|| {
                *outputs = work(places)?;
                Ok(())
            });
            match captured {
                Ok(captured) => *graph = Some(captured),
                Err(error) => return Ok((work(places)?, Some(error.to_string()))),
            }
        }
        self.replays += 1;
        graph.as_ref().expect("captured above").replay()?;
        // The next replay overwrites them.
        Ok((outputs.iter().map(Tensor::f_detach_copy).collect::<Result<_, _>>()?, None))
    }

    /// Calls that were replayed so far.
    pub(crate) fn replays(&self) -> usize {
        self.replays
    }

    /// What is captured no longer fits.
    pub(crate) fn clear(&mut self) {
        self.shapes.clear();
    }

    /// The index of that of these inputs.
    fn shape(&mut self, inputs: &[Tensor]) -> Result<usize> {
        let of = |tensor: &Tensor| (tensor.size(), tensor.kind());
        let fits = |shape: &Shape| shape.inputs.iter().map(of).eq(inputs.iter().map(of));
        if let Some(known) = self.shapes.iter().position(fits) {
            return Ok(known);
        }
        let inputs = inputs.iter().map(|input| Ok(input.f_contiguous()?.f_detach_copy()?)).collect::<Result<_>>()?;
        self.shapes.push(Shape { inputs, outputs: vec![], calls: 0, graph: None });
        Ok(self.shapes.len() - 1)
    }
}
