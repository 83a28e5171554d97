//! One pair of a data set: all that determines its images.

use super::implant::{self, Implant, Shape};
use super::library::Library;
use super::phantom::{Region, phantom};
use super::resize::resize;
use super::scanner::Scanner;
use super::simulate::simulate;
use super::slice::{Material, Metal, Pair, Slice};
use crate::data::error::{Error, Result};
use serde::{Deserialize, Serialize};

/// To be changed whenever phantoms, implants or the simulation give other numbers: older files are then made again.
pub(super) const MAKER: &str = "ct pairs 2";

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Subset {
    Train,
    Validation,
    Test,
    /// One slice through the hips with two implants.
    Figure,
}

impl Subset {
    /// In the order of a data set.
    pub const ALL: [Subset; 4] = [Subset::Train, Subset::Validation, Subset::Test, Subset::Figure];

    pub fn name(self) -> &'static str {
        ["train", "validation", "test", "figure"][self as usize]
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase", deny_unknown_fields)]
pub enum Anatomy {
    Phantom {
        region: Region,
        seed: u64,
        number: u64,
    },
    Slice {
        series: String,
        number: usize,
        checksum: u32,
    },
    /// The pelvis of the library.
    Pelvis {
        checksum: u32,
    },
}

/// A slice, the metal in it and the scanner that sees both.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Case {
    /// Version of the generator.
    pub maker: String,
    /// The file is `name.npz`.
    pub name: String,
    pub part: Subset,
    pub anatomy: Anatomy,
    pub side: usize,
    pub material: Material,
    pub implants: Vec<Implant>,
    pub scanner: Scanner,
    /// Of the noise.
    pub seed: u64,
}

impl Case {
    /// The slice without metal.
    pub fn slice(&self, library: &Library) -> Result<Slice> {
        let missing = |found: String| Error::setting("slices", format!("what {} was made of", self.name), found);
        match &self.anatomy {
            Anatomy::Phantom { region, seed, number } => Ok(phantom(*region, *seed, *number, self.side)),
            Anatomy::Slice { series: name, number, checksum } => {
                let series = library.series.iter().find(|series| series.name() == name);
                let series = series.ok_or_else(|| missing(format!("no series {name}")))?;
                if *number >= series.count() || series.checksum(*number) != *checksum {
                    return Err(missing(format!("another slice {number} of {name}")));
                }
                Ok(series.slice(*number, self.side))
            }
            Anatomy::Pelvis { checksum } => {
                let pelvis = library.pelvis.as_ref().ok_or_else(|| missing("no phantom.vf".into()))?;
                if contents(pelvis) != *checksum {
                    return Err(missing("another phantom.vf".into()));
                }
                let pixel_mm = pelvis.pixel_mm * pelvis.side as f64 / self.side as f64;
                let hu = resize(&pelvis.hu, pelvis.side, self.side);
                Ok(Slice { name: pelvis.name.clone(), side: self.side, pixel_mm, hu })
            }
        }
    }

    /// The metal, on the grid of the slice.
    pub fn metal(&self, library: &Library, slice: &Slice) -> Result<Metal> {
        for implant in &self.implants {
            if let Shape::Mask { number, checksum } = implant.shape
                && library.masks.get(number).is_none_or(|mask| mask.checksum() != checksum)
            {
                let expected = format!("the shapes that {} was made with", self.name);
                return Err(Error::setting("metal masks", expected, format!("another shape {number}, or none")));
            }
        }
        let coverage = implant::coverage(&self.implants, &library.masks, slice.side, slice.pixel_mm);
        Ok(Metal { material: self.material, coverage })
    }

    pub fn pair(&self, library: &Library) -> Result<Pair> {
        let slice = self.slice(library)?;
        let metal = self.metal(library, &slice)?;
        simulate(&slice, &metal, &self.scanner, self.seed)
    }

    pub fn bytes(&self) -> usize {
        4 * 4 * self.side * self.side
    }
}

/// Checksum of a slice.
pub(super) fn contents(slice: &Slice) -> u32 {
    let mut crc = crc32fast::Hasher::new();
    crc.update(&slice.pixel_mm.to_le_bytes());
    slice.hu.iter().for_each(|hu| crc.update(&hu.to_le_bytes()));
    crc.finalize()
}
