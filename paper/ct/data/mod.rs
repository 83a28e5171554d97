//! Metal artefact reduction in computed tomography: pairs of slices with and without metal.
//!
//! ```text
//! slice (HU) ──scan──► sinogram ──reconstruction──► truth
//!     + metal ──scan──► sinogram ──reconstruction──► corrupted       trace of the metal bridged ──reconstruction──► interpolated
//! ```
//!
//! Images are linear attenuation in 1/cm with [`WATER`] for water: μ = WATER (1 + HU/1000).
//!
//! Paper: section "CT-Scan Metal Artifact Reduction", `app:details_ct_mar`.

pub mod aapm;
mod anatomy;
mod case;
mod draw;
mod fan;
mod file;
mod filter;
mod forward;
mod implant;
mod library;
pub mod masks;
mod materials;
mod noise;
mod phantom;
mod placement;
mod preview;
mod reconstruct;
mod resize;
mod scanner;
mod set;
mod simulate;
mod slice;
mod slices;
mod spectrum;
pub mod syndeeplesion;

pub use case::{Anatomy, Case, Subset};
pub use fan::Fan;
pub use file::{CtFile, generate};
pub use implant::{Implant, Shape};
pub use library::Library;
pub use masks::Mask;
pub use phantom::{Region, phantom};
pub use preview::{preview, preview_image};
pub use scanner::Scanner;
pub use set::{CtSet, SetConfig, Source};
pub use simulate::simulate;
pub use slice::{Material, Metal, Pair, Slice, WATER, attenuation, hounsfield};
pub use slices::Series;
pub use spectrum::Beam;
