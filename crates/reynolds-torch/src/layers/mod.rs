//! Layers, one a file: equation, shapes, example.
//!
//! A layer adds its parameters to a [`parameters::Builder`](crate::parameters::Builder) when it is made and reads them from the built
//! [`Parameters`](crate::Parameters) when it is applied; it holds no tensor of its own that is trained.

mod batch_norm;
mod circular_harmonics;
pub(crate) mod complex_linear;
mod constant;
mod conv2d;
mod conv3d;
mod folded_conv3d;
mod gated;
mod hermite_gauss;
mod iid_norm;
mod linear;
mod locally_connected;
mod minibatch_norm;
mod mode;
mod pool3d;
mod rotated_kernels;
mod steerable_conv3d;
mod tensor_product;
mod volume_layout;

pub use batch_norm::BatchNorm;
pub use circular_harmonics::CircularHarmonics;
pub(crate) use circular_harmonics::irreps as circular_irreps;
pub use complex_linear::ComplexLinear;
pub(crate) use constant::Constant;
pub use conv2d::Conv2d;
pub(crate) use conv2d::{convolve, kernel_layout, uniform};
pub use conv3d::{Conv3d, Layout, Window};
pub use gated::Gate;
pub use hermite_gauss::HermiteGauss;
pub use iid_norm::{Affine, IidNorm};
pub use linear::Linear;
pub use locally_connected::LocallyConnected;
pub(crate) use minibatch_norm::normalise;
pub use mode::{Mode, Pass};
pub use pool3d::Pool3d;
pub use rotated_kernels::RotatedKernels;
pub(crate) use steerable_conv3d::{FieldPair, Kernels, Steerable, SteerableConv3d};
pub use tensor_product::TensorProduct;
