//! Slices, the metal in them, and their reconstructions.

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
    /// "abdomen_tcga-ov/017", "phantom/00042".
    pub name: String,
    pub side: usize,
    pub pixel_mm: f64,
    /// Hounsfield units, row by row from the top, `[side, side]`.
    pub hu: Vec<f32>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Material {
    Amalgam,
    Steel,
    Copper,
    Cobalt,
    Titanium,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Metal {
    pub material: Material,
    /// The share of each pixel of the slice that is metal.
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
    /// 1 in the metal, 0 outside, fractions at its edge.
    pub metal: Vec<f32>,
}
