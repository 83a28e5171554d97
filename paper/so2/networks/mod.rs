//! Networks, one a file.

use tch::Tensor;

use reynolds_torch::error::Result;
use reynolds_torch::parameters::Parameters;

mod mlp;
mod so2_net;

pub use mlp::Mlp;
pub use so2_net::{Form, So2Net, So2NetConfig};

/// A network that tells two classes of points apart.
pub trait Classifier: Send {
    /// What is computed of the points `[N, 2]` once, before any weight: `[N, features]`.
    ///
    /// # Errors
    /// [`Error::Torch`](reynolds_torch::Error::Torch) if the shape does not fit.
    fn features(&self, points: &Tensor) -> Result<Tensor>;

    /// The logit of the class +1, `[N]`, from [`Classifier::features`].
    ///
    /// # Errors
    /// [`Error::Torch`](reynolds_torch::Error::Torch) if the shape does not fit.
    fn logits(&self, parameters: &Parameters, features: &Tensor) -> Result<Tensor>;
}
