//! Labelled volumes in memory: what MedMNIST's files and the generated shapes have in common.
//!
//! ```text
//! images u8 [count, side, side, side], row-major;   labels u8 [count], each below the number of classes
//! ```
//!
//! ```
//! use reynolds_paper::medmnist::data::volumes::Volumes;
//! let volumes = Volumes { side: 2, images: (0..16).collect(), labels: vec![1, 0] };
//! assert_eq!(volumes.count(), 2);
//! assert_eq!(volumes.image(1), [8, 9, 10, 11, 12, 13, 14, 15]);
//! assert_eq!(volumes.counts(3), [1, 1, 0]);
//! ```

mod preview;
mod set;

pub use preview::preview;
pub use set::{VolumeSet, Volumes};
