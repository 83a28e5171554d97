//! What is scanned, what is put into it, and what comes of it.

use serde::{Deserialize, Serialize};

/// The linear attenuation of water in 1/cm that images are normalised to.
pub const WATER: f32 = 0.192;

/// μ in 1/cm of Hounsfield units.
pub fn attenuation(hounsfield: f32) -> f32 {
    WATER * (1.0 + hounsfield / 1000.0)
}

/// Hounsfield units of μ in 1/cm.
pub fn hounsfield(attenuation: f32) -> f32 {
    1000.0 * (attenuation / WATER - 1.0)
}

#[derive(Debug, Clone, PartialEq)]
pub struct Slice {
    /// Which: "abdomen_tcga-ov/017", "phantom/00042".
    pub name: String,
    pub side: usize,
    /// Millimetres along a side of a pixel.
    pub pixel_mm: f64,
    /// Hounsfield units, row by row from the top, `[side, side]`.
    pub hu: Vec<f32>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Material {
    Amalgam,
    /// Stainless steel.
    Steel,
    Copper,
    /// Cobalt-chromium.
    Cobalt,
    Titanium,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Metal {
    /// Of all of them.
    pub material: Material,
    /// How much of each pixel is metal, from 0 to 1, on the grid of the slice.
    pub coverage: Vec<f32>,
}

/// A slice as a scanner shows it, with and without metal; `[side, side]` each, μ in 1/cm.
#[derive(Debug, Clone, PartialEq)]
pub struct Pair {
    pub side: usize,
    pub truth: Vec<f32>,
    pub corrupted: Vec<f32>,
    /// With metal, its trace in the sinogram bridged by linear interpolation.
    pub interpolated: Vec<f32>,
    /// 1 where there is metal, 0 elsewhere, fractions at its edge.
    pub metal: Vec<f32>,
}
