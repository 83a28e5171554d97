//! The settings of the experiment "medmnist": which volumes, how they are seen, and the network.

use std::path::{Path, PathBuf};

use crate::medmnist::data::shapes::ShapesConfig;
use crate::medmnist::data::{self, MedSet, Size};
use crate::medmnist::networks::VolumeNetConfig;
use crate::medmnist::sets::Set;
use serde::{Deserialize, Serialize};

use reynolds_train::config::{Settings, at_least_one, under};
use reynolds_train::error::{Error, Result};

/// How volumes get the side that networks see.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Resize {
    /// Linear between voxels along each axis, corners not aligned.
    #[default]
    Trilinear,
    /// The nearest voxel.
    Nearest,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct MedDataConfig {
    /// "shapes", which are generated, or a set of MedMNIST: "organ", "nodule", "adrenal", "fracture", "vessel" or "synapse".
    pub set: Set,
    /// Voxels along a side of MedMNIST's files: 28 or 64.
    pub size: usize,
    /// Where the files of MedMNIST lie; "" = `$REYNOLDS_DATA/medmnist`, or `data/medmnist` where that is not set.
    pub folder: String,
    /// Volumes of a minibatch, at least two.
    pub batch: usize,
    /// "trilinear" or "nearest": how 28³ or 64³ become the 29³ that networks see.
    pub resize: Resize,
    /// Test volumes that the defect is measured on, evenly spread over all; 0 = it is not measured.
    pub turned: usize,
    /// Minibatches of training volumes that the statistics of normalisations are measured on before an evaluation, at most an epoch; 0 = those
    /// that ran along in training, which lag behind weights that move fast.
    pub settled: usize,
    /// Of the generated set.
    pub shapes: ShapesConfig,
}

impl Default for MedDataConfig {
    fn default() -> Self {
        Self {
            set: Set::Shapes,
            size: Size::Small.side(),
            folder: String::new(),
            batch: 32,
            resize: Resize::Trilinear,
            turned: 16,
            settled: 8,
            shapes: ShapesConfig::default(),
        }
    }
}

impl MedDataConfig {
    /// The file of MedMNIST; `None` of generated shapes.
    pub fn file(&self) -> Result<Option<(MedSet, Size)>> {
        let size = Size::ALL.into_iter().find(|size| size.side() == self.size);
        let size = size.ok_or_else(|| Error::config("data.size", "28 or 64", self.size))?;
        match (self.set, size) {
            (Set::Shapes, Size::Small) => Ok(None),
            (Set::Shapes, Size::Large) => {
                Err(Error::config("data.size", "28, for generated shapes have data.shapes.side", self.size))
            }
            (Set::File(set), size) => Ok(Some((set, size))),
        }
    }

    /// The folder of MedMNIST's files.
    pub fn files(&self) -> PathBuf {
        data::folder((!self.folder.is_empty()).then_some(Path::new(&self.folder)))
    }
}

/// `[data]` and `[model]`.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct MedSettings {
    pub data: MedDataConfig,
    pub model: VolumeNetConfig,
}

impl Settings for MedSettings {
    fn validate(&self) -> Result<()> {
        self.model.validate().map_err(|error| under("model", error))?;
        let data = &self.data;
        data.file()?;
        if !(2..=4096).contains(&data.batch) {
            let expected = "from 2 to 4096, for a volume alone has no variance to normalise by";
            return Err(Error::config("data.batch", expected, data.batch));
        }
        if data.turned > 1_000_000 {
            return Err(Error::config("data.turned", "at most 1000000", data.turned));
        }
        data.shapes.validate().map_err(|error| match error {
            crate::data::Error::Setting { what, expected, found } => {
                Error::config(format!("data.shapes.{what}"), expected, found)
            }
            other => other.into(),
        })?;
        if data.shapes.train < 2 {
            return Err(Error::config("data.shapes.train", "at least 2", data.shapes.train));
        }
        at_least_one("data.shapes.validation", data.shapes.validation)?;
        at_least_one("data.shapes.test", data.shapes.test)?;
        match i64::try_from(data.shapes.seed) {
            Ok(_) => Ok(()),
            Err(_) => Err(Error::config("data.shapes.seed", "at most 2⁶³ − 1, which TOML can hold", data.shapes.seed)),
        }
    }
}
