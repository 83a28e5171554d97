//! Passes of a network in evaluation, which are captured in CUDA graphs and replayed where training steps are.
//!
//! ```
//! use reynolds_train::passes::Passes;
//! use reynolds_train::prelude::*;
//! // Without a GPU, or with `train.graph = false`, nothing is captured.
//! let weights = [Tensor::from_slice(&[2.0, 3.0])];
//! let pass = Passes::default().of("evaluation", &weights)?;
//! let output = pass.run(&[Tensor::from(10.0)], |weights, inputs| Ok(vec![&weights[0] * &inputs[0]]))?;
//! assert_eq!(Vec::<f64>::try_from(&output[0])?, [20.0, 30.0]);
//! # Ok::<(), reynolds_train::Error>(())
//! ```

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use reynolds_torch::tch::{self, Device, Tensor};

use crate::captures::Captures;
use crate::error::Result;

/// The captured passes of a task, which its clones share.
#[derive(Clone, Default)]
pub struct Passes(Option<Rc<Graphs>>);

struct Graphs {
    device: Device,
    known: RefCell<BTreeMap<&'static str, Known>>,
    why_not: RefCell<Option<String>>,
}

/// One function: what its passes have in common, in fixed places, and its captures; `None` if it cannot be captured.
struct Known {
    common: Vec<Tensor>,
    captures: Option<Captures>,
}

impl Passes {
    /// Those on a CUDA device are captured.
    pub fn on(device: Device) -> Self {
        Self(
            device
                .is_cuda()
                .then(|| Rc::new(Graphs { device, known: RefCell::default(), why_not: RefCell::default() })),
        )
    }

    /// A function with tensors that several passes have in common: assembled kernels, as a rule. All calls with one name must be of one
    /// function, which depends on nothing but shapes, what is in common, its inputs, and tensors that stay where they are, as parameters do.
    pub fn of(&self, name: &'static str, common: &[Tensor]) -> Result<Pass> {
        let _guard = tch::no_grad_guard();
        let handles = |tensors: &[Tensor]| tensors.iter().map(Tensor::shallow_clone).collect::<Vec<_>>();
        let Some(graphs) = &self.0 else { return Ok(Pass { graphs: None, common: handles(common) }) };
        let mut known = graphs.known.borrow_mut();
        let of = |tensor: &Tensor| (tensor.size(), tensor.kind());
        if known.get(name).is_none_or(|known| !known.common.iter().map(of).eq(common.iter().map(of))) {
            let places = common.iter().map(Tensor::f_detach_copy).collect::<Result<_, _>>()?;
            known.insert(name, Known { common: places, captures: Some(Captures::new(graphs.device)?) });
        }
        let found = known.get_mut(name).expect("inserted above");
        for (place, tensor) in found.common.iter_mut().zip(common) {
            place.f_copy_(tensor)?;
        }
        Ok(Pass { graphs: Some((Rc::clone(graphs), name)), common: handles(&found.common) })
    }

    /// Why passes are not captured though they should be; once.
    pub fn not_captured(&self) -> Option<String> {
        self.0.as_ref().and_then(|graphs| graphs.why_not.borrow_mut().take())
    }

    /// Passes that were replayed so far.
    pub fn replayed(&self) -> usize {
        let known = self.0.as_ref().map(|graphs| graphs.known.borrow());
        known.map_or(0, |known| known.values().filter_map(|known| known.captures.as_ref()).map(Captures::replays).sum())
    }
}

/// A function of tensors, without the tape.
pub struct Pass {
    graphs: Option<(Rc<Graphs>, &'static str)>,
    common: Vec<Tensor>,
}

impl Pass {
    /// What `work` makes of the tensors in common and the inputs.
    pub fn run(
        &self,
        inputs: &[Tensor],
        mut work: impl FnMut(&[Tensor], &[Tensor]) -> Result<Vec<Tensor>>,
    ) -> Result<Vec<Tensor>> {
        let _guard = tch::no_grad_guard();
        let Some((graphs, name)) = &self.graphs else { return work(&self.common, inputs) };
        let mut known = graphs.known.borrow_mut();
        let known = known.get_mut(name).expect("inserted with the pass");
        let Some(captures) = &mut known.captures else { return work(&self.common, inputs) };
        let (outputs, why) = captures.call(inputs, &mut |inputs| work(&self.common, inputs))?;
        if why.is_some() {
            known.captures = None;
            *graphs.why_not.borrow_mut() = why;
        }
        Ok(outputs)
    }
}
