//! Generated solids whose labels break the symmetry of space by an adjustable amount.
//!
//! ```text
//! volume = s · g · π_y K_y + t + noise         g = a small turn           with probability b  (`breaking`)
//!                                                  Haar-random in O(3)    with probability 1 − b
//! rotation pairs    y, y′: one chiral solid K, poses π_y and π_y′ a quarter turn apart: no reflection makes them equal
//! reflection pairs  y, y′: one chiral solid K and its mirror image: no rotation makes them equal
//! ```
//!
//! All else is drawn from one O(3)-invariant law for all classes. So a model blind to rotations guesses within a rotation pair, and one blind
//! to reflections too guesses within a reflection pair. The best possible accuracy within a pair is b + (1 − b)/2 = ½ + b/2, up to the chance,
//! below 10⁻³ at the default jitter, that a random turn is a small one. At b = 0 both classes of a pair have one law, and full equivariance
//! loses nothing.
//!
//! ```
//! use reynolds_paper::medmnist::data::shapes::{self, ShapesConfig};
//! let config = ShapesConfig { train: 16, validation: 0, test: 8, side: 12, ..ShapesConfig::default() };
//! let set = shapes::generate(&config)?;
//! assert_eq!(set.classes[shapes::REFLECTION_PAIRS[1][0]], "helix left");
//! assert_eq!(set.train.counts(8), [2; 8]);
//! # Ok::<(), reynolds_paper::data::Error>(())
//! ```

mod class;
mod config;
mod draw;
mod matrix;
mod render;
mod set;
mod solid;

pub use class::{CLASSES, REFLECTION_PAIRS, ROTATION_PAIRS};
pub use config::ShapesConfig;
pub use set::{generate, write};
