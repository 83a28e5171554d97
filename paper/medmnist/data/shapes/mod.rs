//! Generated solids whose labels break the symmetry of space as much as one likes.
//!
//! ```text
//! volume = s · g · π_y K_y + t + noise         g = a small turn           with probability b  (`breaking`)
//!                                                  Haar-random in O(3)    with probability 1 − b
//! rotation pairs    y, y′: one solid K, poses π_y and π_y′ a quarter turn apart: no reflection makes them equal, for K is chiral
//! reflection pairs  y, y′: one chiral solid K and its mirror image: no rotation makes them equal
//! ```
//!
//! The two classes of a pair differ by that and by nothing else, and every other number is drawn from one law for all classes, one that turns
//! and mirror images leave as it is. So whoever is blind to rotations guesses between the two of a rotation pair, and whoever is blind to
//! reflections too guesses between the two of a reflection pair. With the orientation known, the best anyone can do within a pair is
//!
//! ```text
//! b + (1 − b)/2 = ½ + b/2
//! ```
//!
//! (up to the chance, below 10⁻³ at the default jitter, that a random turn is a small one). At b = 1 the label of a pair is all orientation or
//! hand; at b = 0 both classes of a pair have one law, which O(3) leaves as it is, and only the four solids can be told apart: then full
//! equivariance loses nothing.
//!
//! ```
//! use reynolds_paper::medmnist::data::shapes::{self, ShapesConfig};
//! let config = ShapesConfig { train: 16, validation: 0, test: 8, side: 12, ..ShapesConfig::default() };
//! let set = shapes::generate(&config)?;
//! assert_eq!(set.classes[usize::from(shapes::reflection_pairs()[1].0)], "helix left");
//! assert_eq!(set.train.counts(8), [2; 8]);
//! # Ok::<(), reynolds_paper::data::Error>(())
//! ```

mod class;
mod config;
mod draw;
mod file;
mod generate;
mod matrix;
mod render;
mod solid;

pub use class::{CLASSES, reflection_pairs, rotation_pairs};
pub use config::ShapesConfig;
pub use file::write;
pub use generate::generate;
