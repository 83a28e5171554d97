//! What a set of shapes follows from.

use serde::{Deserialize, Serialize};

use crate::data::error::{Error, Result};

/// Bytes of voxels that a part may have: its array stays within what a .npz without extensions can hold.
const MOST: u64 = 1 << 31;

/// Settings of a set of shapes: it follows from them alone.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ShapesConfig {
    pub train: usize,
    pub validation: usize,
    pub test: usize,
    pub side: usize,
    /// How much orientation and hand say about the label, 0 to 1: the probability that a volume stands as its class does.
    pub breaking: f64,
    /// Degrees: a volume that stands as its class does is turned by at most this about a random axis.
    pub jitter: f64,
    /// Voxels that a solid is shifted by, along each axis, at most.
    pub shift: f64,
    /// By which share of it the size varies, at most.
    pub size: f64,
    /// Standard deviation of the noise of a voxel, where black is 0 and white is 1; a solid is 0.8, the space about it 0.2.
    pub noise: f64,
    /// Of everything drawn at random.
    pub seed: u64,
}

impl Default for ShapesConfig {
    fn default() -> ShapesConfig {
        ShapesConfig {
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

    fn refused(config: ShapesConfig) -> String {
        config.validate().unwrap_err().to_string()
    }

    #[test]
    fn what_is_out_of_range_is_named() {
        let one = ShapesConfig::default();
        assert!(one.validate().is_ok());
        assert_eq!(refused(ShapesConfig { side: 7, ..one.clone() }), "side: expected 8 to 128, found 7");
        assert_eq!(refused(ShapesConfig { breaking: 1.5, ..one.clone() }), "breaking: expected 0 to 1, found 1.5");
        assert_eq!(refused(ShapesConfig { breaking: f64::NAN, ..one.clone() }), "breaking: expected 0 to 1, found NaN");
        assert_eq!(refused(ShapesConfig { jitter: -1.0, ..one.clone() }), "jitter: expected 0 to 180, found -1");
        assert_eq!(refused(ShapesConfig { shift: 8.0, ..one.clone() }), "shift: expected 0 to 7, found 8");
        assert_eq!(refused(ShapesConfig { size: 0.6, ..one.clone() }), "size: expected 0 to 0.5, found 0.6");
        assert_eq!(refused(ShapesConfig { noise: f64::INFINITY, ..one.clone() }), "noise: expected 0 to 10, found inf");
        let found = refused(ShapesConfig { test: usize::MAX, ..one });
        assert_eq!(found, format!("test: expected at most 97826 at side 28, found {}", usize::MAX));
    }

    #[test]
    fn settings_that_are_not_given_are_the_default_ones_and_unknown_ones_are_refused() {
        let config: ShapesConfig = serde_json::from_str(r#"{"breaking": 0.5}"#).unwrap();
        assert_eq!(config, ShapesConfig { breaking: 0.5, ..ShapesConfig::default() });
        assert!(serde_json::from_str::<ShapesConfig>(r#"{"braking": 0.5}"#).is_err());
    }
}
