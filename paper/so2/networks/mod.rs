//! Networks that tell two classes of points apart, one a file: features `[N, …]` to the logit of the class +1, `[N]`.

mod mlp;
mod so2_net;

pub use mlp::Mlp;
pub use so2_net::{Form, So2Net, So2NetConfig};
