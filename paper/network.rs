//! The networks of the paper: functions of their parameters.
//!
//! ```text
//! parameters ──assemble──► kernels, once for all passes of one kind ──forward(input)──► output
//! regularised: parameters, by a plan; or kernels W = A(ψ, w), by the squared norms of A(ψ, P(w)) and A(ψ, w − P(w))
//! ```

use std::ops::RangeInclusive;

use reynolds::plan::SymmetryPlan;
use reynolds_torch::layers::{Mode, Pass};
use reynolds_torch::tch::Tensor;
use reynolds_torch::{Error, Parameters, Precision};

type Result<T> = reynolds_torch::Result<T>;

/// Refuses a size of a network outside a range.
pub(crate) fn within(what: &str, value: usize, range: RangeInclusive<usize>) -> Result<()> {
    if range.contains(&value) {
        return Ok(());
    }
    Err(Error::setting(what, format!("from {} to {}", range.start(), range.end()), value))
}

/// Called with the output `[N, C, …]` of every regularised convolution, bias included.
pub type Seen<'a> = dyn FnMut(&Tensor) -> Result<()> + 'a;

/// A pass in the type of the parameters.
pub const TRAIN: Pass = Pass { mode: Mode::Train, precision: Precision::F32 };
/// See [`TRAIN`].
pub const EVALUATE: Pass = Pass { mode: Mode::Evaluate, precision: Precision::F32 };

/// A component of mixing weights w: two orthogonal projections that add up to w.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Component {
    /// P(w).
    Equivariant,
    /// w − P(w).
    Perp,
}

/// A network from inputs to outputs; required is [`Network::forward`].
pub trait Network<Input: ?Sized = Tensor, Output = Tensor> {
    /// What all passes of one kind need of the parameters, on the tape: mixed or sampled kernels in their layout and precision.
    fn assemble(&self, parameters: &Parameters, pass: Pass) -> Result<Vec<Tensor>> {
        let _ = (parameters, pass);
        Ok(Vec::new())
    }

    /// `assembled` is from [`Network::assemble`] for the same `pass`.
    fn forward(&self, parameters: &Parameters, assembled: &[Tensor], input: &Input, pass: Pass) -> Result<Output>;

    /// As [`Network::forward`]; calls `seen` for the regularised convolutions in the order of the plan.
    fn forward_seen(
        &self,
        parameters: &Parameters,
        assembled: &[Tensor],
        input: &Input,
        pass: Pass,
        seen: &mut Seen<'_>,
    ) -> Result<Output> {
        let _ = seen;
        self.forward(parameters, assembled, input, pass)
    }

    /// The network's own term of the loss, 0-d, on the tape: a prior, or the constraint of a baseline, whose strength the task sets.
    fn prior(&self, parameters: &Parameters) -> Result<Option<Tensor>> {
        let _ = parameters;
        Ok(None)
    }

    /// The parameters that are regularised, with their fields.
    fn plan(&self, parameters: &Parameters) -> Result<Option<SymmetryPlan>> {
        let _ = parameters;
        Ok(None)
    }

    /// Σ‖A(ψ, component of w)‖² of layers with kernels assembled from filters ψ and mixing weights w, 0-d, on the tape.
    fn energy(&self, parameters: &Parameters, component: Component) -> Result<Option<Tensor>> {
        let _ = (parameters, component);
        Ok(None)
    }

    /// w ← P(w) in these layers.
    fn project(&self, parameters: &mut Parameters) -> Result<()> {
        let _ = parameters;
        Ok(())
    }
}
