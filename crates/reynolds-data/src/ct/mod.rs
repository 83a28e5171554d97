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

mod fan;
mod filter;
mod forward;
mod interpolate;
mod materials;
mod noise;
mod reconstruct;
mod scanner;
mod simulate;
mod slice;
mod spectrum;

pub use fan::Fan;
pub use scanner::Scanner;
pub use simulate::simulate;
pub use slice::{Material, Metal, Pair, Slice, WATER, attenuation, hounsfield};
pub use spectrum::Beam;
