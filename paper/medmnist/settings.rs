//! The settings of the experiment "medmnist".

use std::path::PathBuf;

use crate::medmnist::data::shapes::ShapesConfig;
use crate::medmnist::data::{MedSet, Size};
use crate::medmnist::networks::VolumeNetConfig;
use crate::medmnist::sets::Set;
use serde::{Deserialize, Serialize};

use reynolds_train::config::{Settings, at_least_one, under};
use reynolds_train::error::{Error, Result};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Resize {
    /// Linear between voxels along each axis, corners not aligned.
    #[default]
    Trilinear,
    Nearest,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct MedDataConfig {
    /// `shapes` (generated), or a set of MedMNIST: `organ`, `nodule`, `adrenal`, `fracture`, `vessel` or `synapse`.
    pub set: Set,
    /// Voxels along a side of MedMNIST's files: 28 or 64.
    pub size: usize,
    /// Folder of MedMNIST's files; "" = `$REYNOLDS_DATA/medmnist`, or `data/medmnist` where that is not set.
    pub folder: String,
    /// Volumes of a minibatch, at least two.
    pub batch: usize,
    /// Interpolation from 28³ or 64³ to the 29³ that networks see: `trilinear` or `nearest`.
    pub resize: Resize,
    /// Number of test volumes on which the error of invariance is measured; 0 = off.
    pub turned: usize,
    /// Minibatches of training volumes, at most an epoch, that the statistics of normalisations are measured on before an evaluation; 0 = running
    /// statistics, which lag behind fast weights.
    pub settled: usize,
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
        match (self.set.file(), size) {
            (_, None) => Err(Error::config("data.size", "28 or 64", self.size)),
            (None, Some(Size::Small)) => Ok(None),
            (None, _) => Err(Error::config("data.size", "28 (the side of shapes is data.shapes.side)", self.size)),
            (Some(set), Some(size)) => Ok(Some((set, size))),
        }
    }

    pub fn files(&self) -> PathBuf {
        crate::data::folder(&self.folder, "medmnist")
    }
}

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
            let expected = "from 2 to 4096 (one volume has no variance to normalise by)";
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
        let too_large =
            |_| Error::config("data.shapes.seed", "at most 2⁶³ − 1 (the largest of TOML)", data.shapes.seed);
        i64::try_from(data.shapes.seed).map(drop).map_err(too_large)
    }
}
