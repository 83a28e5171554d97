//! MedMNIST in three dimensions: six sets of labelled volumes.
//!
//! ```text
//! organmnist3d.npz, organmnist3d_64.npz:   {train,val,test}_images u8 [n, side, side, side],   {train,val,test}_labels u8 [n, 1]
//! ```
//!
//! The files are CC BY 4.0; classes, numbers of volumes and MD5 are those of the package `medmnist` 3.0 (medmnist/info.py).
//!
//! ```
//! use reynolds_paper::medmnist::data::{MedSet, Size};
//! let set: MedSet = "organ".parse()?;
//! assert_eq!((set, set.to_string().as_str()), ("organmnist3d".parse()?, "organ"));
//! assert_eq!(set.file_name(Size::Large), "organmnist3d_64.npz");
//! assert_eq!((set.classes().len(), set.counts()), (11, [971, 161, 610]));
//! # Ok::<(), reynolds_paper::data::Error>(())
//! ```
//!
//! Paper: section "MedMNIST", `tab:medmnist`.

mod file;
mod set;
pub mod shapes;
pub mod volumes;

pub use file::{Checked, md5_of_file, open, verify};
pub use set::{MedSet, PUBLISHER, Size};
