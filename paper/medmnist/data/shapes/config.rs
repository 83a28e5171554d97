//! The settings of a set of shapes.

use serde::{Deserialize, Serialize};

use crate::data::error::{Error, Result};

/// Most bytes of voxels of a part: what a .npz without extensions can hold.
const MOST: u64 = 1 << 31;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, clap::Args)]
#[serde(default, deny_unknown_fields)]
pub struct ShapesConfig {
    /// Number of training volumes.
    #[arg(long, value_name = "n", default_value_t = Self::default().train)]
    pub train: usize,
    /// Number of validation volumes.
    #[arg(long, value_name = "n", default_value_t = Self::default().validation)]
    pub validation: usize,
    /// Number of test volumes.
    #[arg(long, value_name = "n", default_value_t = Self::default().test)]
    pub test: usize,
    /// Voxels along an edge.
    #[arg(long, value_name = "n", default_value_t = Self::default().side)]
    pub side: usize,
    /// Symmetry breaking b in [0, 1], the probability that a volume has the pose of its class; best possible accuracy within a class pair is (1 + b)/2.
    #[arg(long, value_name = "b", default_value_t = Self::default().breaking)]
    pub breaking: f64,
    /// Largest random rotation away from the pose of the class, in degrees.
    #[arg(long, value_name = "degrees", default_value_t = Self::default().jitter)]
    pub jitter: f64,
    /// Largest random translation along each axis, in voxels.
    #[arg(long, value_name = "voxels", default_value_t = Self::default().shift)]
    pub shift: f64,
    /// Largest relative change of size.
    #[arg(long, value_name = "share", default_value_t = Self::default().size)]
    pub size: f64,
    /// Standard deviation of the noise of a voxel; a shape is 0.6 brighter than the background.
    #[arg(long, value_name = "sd", default_value_t = Self::default().noise)]
    pub noise: f64,
    /// Random seed.
    #[arg(long, value_name = "n", default_value_t = Self::default().seed)]
    pub seed: u64,
}

impl Default for ShapesConfig {
    fn default() -> Self {
        Self {
            train: 960,
            validation: 160,
            test: 320,
            side: 28,
            breaking: 1.0,
            jitter: 10.0,
            shift: 1.0,
            size: 0.1,
            noise: 0.1,
            seed: 0,
        }
    }
}

impl ShapesConfig {
    pub fn validate(&self) -> Result<()> {
        if !(8..=128).contains(&self.side) {
            return Err(Error::setting("side", "8 to 128", self.side));
        }
        let most = MOST / (self.side as u64).pow(3);
        for (what, count) in [("train", self.train), ("validation", self.validation), ("test", self.test)] {
            if count as u64 > most {
                return Err(Error::setting(what, format!("at most {most} at side {}", self.side), count));
            }
        }
        for (what, value, most) in [
            ("breaking", self.breaking, 1.0),
            ("jitter", self.jitter, 180.0),
            ("shift", self.shift, self.side as f64 / 4.0),
            ("size", self.size, 0.5),
            ("noise", self.noise, 10.0),
        ] {
            if !(0.0..=most).contains(&value) {
                return Err(Error::setting(what, format!("0 to {most}"), value));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_out_of_range_are_named() {
        let usual = ShapesConfig::default;
        assert!(usual().validate().is_ok());
        for (config, expected) in [
            (ShapesConfig { side: 7, ..usual() }, "side: expected 8 to 128, found 7"),
            (ShapesConfig { breaking: 1.5, ..usual() }, "breaking: expected 0 to 1, found 1.5"),
            (ShapesConfig { breaking: f64::NAN, ..usual() }, "breaking: expected 0 to 1, found NaN"),
            (ShapesConfig { jitter: -1.0, ..usual() }, "jitter: expected 0 to 180, found -1"),
            (ShapesConfig { shift: 8.0, ..usual() }, "shift: expected 0 to 7, found 8"),
            (ShapesConfig { size: 0.6, ..usual() }, "size: expected 0 to 0.5, found 0.6"),
            (ShapesConfig { noise: f64::INFINITY, ..usual() }, "noise: expected 0 to 10, found inf"),
            (ShapesConfig { test: 97_827, ..usual() }, "test: expected at most 97826 at side 28, found 97827"),
        ] {
            assert_eq!(config.validate().unwrap_err().to_string(), expected);
        }
    }
}
