//! Layers, one a file: equation and shapes; [`Module`] shows some at work.
//!
//! A layer adds its parameters to a [`parameters::Builder`](crate::parameters::Builder) when it is made and reads them from the built
//! [`Parameters`](crate::Parameters) when it is applied; it holds no tensor of its own that is trained.

mod batch_norm;
mod circular_harmonics;
pub mod complex_linear;
mod constant;
mod conv2d;
mod conv3d;
mod folded_conv3d;
mod gated;
mod iid_norm;
mod linear;
mod minibatch_norm;
mod mode;
mod module;
mod pool3d;
mod steerable_conv3d;
mod tensor_product;
mod volume_layout;

pub use batch_norm::BatchNorm;
pub use circular_harmonics::CircularHarmonics;
pub use circular_harmonics::irreps as circular_irreps;
pub use complex_linear::ComplexLinear;
pub use constant::Constant;
pub use conv2d::Conv2d;
pub use conv2d::{convolve, kernel_layout, uniform};
pub use conv3d::{Conv3d, Layout, Window};
pub use gated::Gate;
pub use iid_norm::{Affine, IidNorm};
pub use linear::Linear;
pub use minibatch_norm::normalise;
pub use mode::{Mode, Pass};
pub use module::{Forward, Module};
pub use pool3d::Pool3d;
pub use steerable_conv3d::{FieldPair, Kernels, Steerable, SteerableConv3d};
pub use tensor_product::TensorProduct;
