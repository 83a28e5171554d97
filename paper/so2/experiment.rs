//! The experiments "so2" and "rings": two classes of points, symmetric under turns or almost so.
//!
//! ```text
//! so2:    disk and arc, λ_G and λ_⊥ decide how invariant the network becomes where the data say nothing
//! rings:  wavey rings, σ_⊥ decides how far the data are from invariant
//! ```
//!
//! Paper: `sec:so2_equivariance`, `app:details_so2`. Chosen here, for the paper does not say: 350 points of each class in the disk and the
//! arc, too, all of them in one minibatch; 16 hidden channels; 64 rotations; an MLP of 2-64-64-1 with ReLU; initial weights as in
//! [`So2Net`](crate::so2::networks::So2Net). There is no validation part: "validation" is the training part, and nothing is selected on test
//! points.

use std::marker::PhantomData;
use std::path::Path;

use crate::so2::data::Rings;
use crate::so2::networks::So2NetConfig;
use reynolds::penalty::Form;
use reynolds_torch::tch::Device;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::task::{DataConfig, PlaneTask};
use reynolds_checkpoint::whole_file;
use reynolds_report::figure::{Colour, Field, Key, Plane, Sheet};
use reynolds_train::config::{RunConfig, Settings, within};
use reynolds_train::error::{Error, Result};
use reynolds_train::experiment::Experiment;
use reynolds_train::metrics::Summary;

/// The square that figures show: [−4, 4]².
pub(crate) const REACH: f64 = 4.0;
/// Samples along a side of it.
pub(crate) const SIDE: usize = 121;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Network {
    /// The approximately SO(2)-invariant network.
    #[default]
    So2,
    /// The baseline on raw coordinates; it takes no penalty.
    Mlp,
}

#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ModelConfig {
    /// `so2`, the SO(2) network, or `mlp`, a baseline without penalty.
    pub network: Network,
    pub so2: So2NetConfig,
    pub mlp: MlpConfig,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct MlpConfig {
    /// Widths of the hidden layers.
    pub hidden: Vec<usize>,
}

impl Default for MlpConfig {
    fn default() -> Self {
        Self { hidden: vec![64, 64] }
    }
}

/// `[data]` of one of the two experiments.
pub trait PlaneData:
    Serialize + DeserializeOwned + Clone + PartialEq + std::fmt::Debug + Default + Send + Sync + 'static
{
    const NAME: &'static str;
    const ABOUT: &'static str;

    fn data(&self) -> DataConfig;

    /// σ_⊥, where there are waves.
    fn sigma(&self) -> Option<f64> {
        None
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct DiskAndArc {
    /// Number of points.
    pub points: usize,
    /// Share of the points for training; the others are for testing. `validation/…` is measured on the training points.
    pub train_fraction: f64,
    /// Number of random rotations for the error of invariance.
    pub turns: usize,
}

impl Default for DiskAndArc {
    fn default() -> Self {
        Self { points: 350, train_fraction: 0.8, turns: 64 }
    }
}

impl PlaneData for DiskAndArc {
    const NAME: &'static str = "so2";
    const ABOUT: &'static str =
        "classify points of a disk and an arc with an approximately SO(2)-invariant network (paper, section 4.1)";

    fn data(&self) -> DataConfig {
        let Self { points, train_fraction, turns } = *self;
        DataConfig { rings: Rings::DiskAndArc, points, train_fraction, turns }
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct WaveyRings {
    /// Number of points.
    pub points: usize,
    /// Share of the points for training; the others are for testing. `validation/…` is measured on the training points.
    pub train_fraction: f64,
    /// Number of random rotations for the error of invariance.
    pub turns: usize,
    /// Of `rings` alone: σ_⊥, the amplitude of the wave.
    pub sigma: f64,
}

impl Default for WaveyRings {
    fn default() -> Self {
        Self { points: 350, train_fraction: 0.8, turns: 64, sigma: 0.5 }
    }
}

impl PlaneData for WaveyRings {
    const NAME: &'static str = "rings";
    const ABOUT: &'static str =
        "classify points of two rings; sigma makes the radius depend on the angle (paper, section 4.1 and appendix)";

    fn data(&self) -> DataConfig {
        let Self { points, train_fraction, turns, sigma } = *self;
        DataConfig { rings: Rings::Wavey { amplitude: sigma }, points, train_fraction, turns }
    }

    fn sigma(&self) -> Option<f64> {
        Some(self.sigma)
    }
}

#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(bound = "D: PlaneData")]
pub struct PlaneSettings<D> {
    pub data: D,
    pub model: ModelConfig,
}

impl<D: PlaneData> Settings for PlaneSettings<D> {
    fn validate(&self) -> Result<()> {
        let DataConfig { rings, points, train_fraction, turns } = self.data.data();
        // A mistyped zero is an error, not a huge allocation.
        within("data.points", points, 1..=10_000_000)?;
        within("data.turns", turns, 1..=1_000_000)?;
        within("model.so2.radial_channels", self.model.so2.radial_channels, 1..=1024)?;
        within("model.so2.hidden_channels", self.model.so2.hidden_channels, 1..=1024)?;
        for &width in &self.model.mlp.hidden {
            within("model.mlp.hidden", width, 1..=16_384)?;
        }
        if self.model.so2.max_degree > reynolds::group::MAX_DEGREE {
            let expected = format!("at most {}", reynolds::group::MAX_DEGREE);
            return Err(Error::config("model.so2.max_degree", expected, self.model.so2.max_degree));
        }
        let taken = (train_fraction * points as f64).round();
        if !(taken >= 1.0 && taken < points as f64) {
            let expected = format!("a part that leaves both sides some of {points} points");
            return Err(Error::config("data.train_fraction", expected, train_fraction));
        }
        match rings {
            Rings::Wavey { amplitude } if !(amplitude.is_finite() && amplitude >= 0.0) => {
                Err(Error::config("data.sigma", "a finite number, at least 0", amplitude))
            }
            _ => Ok(()),
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct PlaneExperiment<D>(PhantomData<D>);

impl<D> PlaneExperiment<D> {
    pub fn new() -> Self {
        Self(PhantomData)
    }
}

impl<D: PlaneData> Experiment for PlaneExperiment<D> {
    type Settings = PlaneSettings<D>;
    type Task = PlaneTask;

    fn name(&self) -> &'static str {
        D::NAME
    }

    fn about(&self) -> &'static str {
        D::ABOUT
    }

    fn meanings(&self) -> &'static [(&'static str, &'static str)] {
        &[
            ("invariance_error_mean", "|T(gx) − T(x)|, T the logit, mean over points x and rotations g"),
            (
                "invariance_error_relative",
                "that, divided by the standard deviation of T over the points: 0 is invariant",
            ),
            ("invariance_error_sum", "the paper's ℰ_emp: the sum over all pairs of x and g"),
        ]
    }

    /// Adam at 0.003 for 200 epochs; the penalty in the plain form with λ_G on the whole W, at λ_G = 0, λ_⊥ = 0.
    fn defaults(&self) -> RunConfig<Self::Settings> {
        let mut config = RunConfig::new(D::NAME, PlaneSettings::default());
        config.penalty.form = Form::Plain;
        config.penalty.whole = true;
        config.train.epochs = 200;
        config.train.learning_rate = 0.003;
        config.train.evaluate_every = 10;
        config.train.checkpoint_every = 50;
        config.train.threads = 1;
        config.train.early_stopping.metric = String::new();
        config
    }

    fn task(&self, config: &RunConfig<Self::Settings>, device: Device) -> Result<PlaneTask> {
        PlaneTask::new(&config.settings.data.data(), &config.settings.model, config.seed, device)
    }

    fn finish(&self, _: &RunConfig<Self::Settings>, task: &PlaneTask, summary: &Summary, folder: &Path) -> Result<()> {
        let logits = sample_logits(task)?.into_iter().map(f64::from).collect();
        let field = Field::square(REACH, SIDE, logits);
        let mut plane = Plane::new(REACH);
        let cloud = task.training_points();
        plane.level_sets(&field, field.magnitude_quantile(0.95)).points(cloud.points(), cloud.labels());
        plane.boundary(&field, Colour::NAVY, false);
        let metric = |name: &str| summary.metrics().get(&format!("test/{name}")).copied().unwrap_or(f64::NAN);
        let caption = vec![
            format!(
                "ℰ_{{emp}} = {:.4}, relative {:.4}",
                metric("invariance_error_sum"),
                metric("invariance_error_relative")
            ),
            format!("test accuracy {:.2} %", 100.0 * metric("accuracy")),
        ];
        let mut sheet = Sheet::new(1, 300.0);
        sheet.add("", plane, caption);
        sheet.legend = legend(false);
        sheet.colour_bar = COLOUR_BAR.into();
        let figures = folder.join("figures");
        std::fs::create_dir_all(&figures).map_err(Error::io(&figures, "create"))?;
        Ok(whole_file::write(&figures.join("boundary.svg"), sheet.svg().as_bytes())?)
    }
}

pub(crate) const COLOUR_BAR: &str = "logit T, divided by the 95th percentile of |T| in the panel";

pub(crate) fn legend(baseline: bool) -> Vec<Key> {
    let mut keys = vec![
        Key::Points(true, "class +1".into()),
        Key::Points(false, "class −1".into()),
        Key::Line(Colour::NAVY, false, "decision boundary T = 0".into()),
    ];
    if baseline {
        keys.push(Key::Line(Colour::ORANGE, true, "of the MLP".into()));
    }
    keys
}

/// The logits on the square that figures show, at [`Field::square_points`].
pub(crate) fn sample_logits(task: &PlaneTask) -> Result<Vec<f32>> {
    Ok(task.logits_at(&Field::square_points(REACH, SIDE))?.into_iter().map(|logit| logit as f32).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use reynolds_train::config;
    use reynolds_train::interrupt::Interrupt;
    use reynolds_train::journal::Memory;
    use reynolds_train::progress::Silent;
    use reynolds_train::task::{Metrics, Task};
    use reynolds_train::train::{Ending, train};

    /// Trains a small problem for a few epochs; the final metrics.
    fn trained(task: &mut dyn Task, config: &RunConfig<PlaneSettings<DiskAndArc>>) -> Metrics {
        reynolds_train::threads::set(1);
        let ending =
            train(task, &config.train, &config.penalty, &mut Memory::default(), &mut Silent, &Interrupt::new());
        let Ending::Finished(summary) = ending.unwrap() else { panic!("nobody interrupts a test") };
        summary.metrics().clone()
    }

    fn small(lambda_g: f64, lambda_perp: f64, form: Form) -> RunConfig<PlaneSettings<DiskAndArc>> {
        let mut config = PlaneExperiment::<DiskAndArc>::new().defaults();
        config.settings.data.points = 50;
        config.settings.model.so2.hidden_channels = 4;
        config.train.epochs = 120;
        config.train.learning_rate = 0.01;
        config.train.evaluate_every = 120;
        config.penalty.form = form;
        config.penalty.whole = form == Form::Plain;
        (config.penalty.lambda_g, config.penalty.lambda_perp) = (lambda_g, lambda_perp);
        config
    }

    fn task(config: &RunConfig<PlaneSettings<DiskAndArc>>) -> PlaneTask {
        PlaneExperiment::<DiskAndArc>::new().task(config, Device::Cpu).unwrap()
    }

    #[test]
    fn training_tells_the_classes_apart_and_lambda_perp_makes_the_network_invariant() {
        let (free, held) = (small(0.0, 0.0, Form::Plain), small(0.0, 0.1, Form::Plain));
        let [free, held] = [free, held].map(|config| trained(&mut task(&config), &config));
        assert!(free["test/accuracy"] > 0.95 && held["test/accuracy"] > 0.95, "{free:?} {held:?}");
        assert!(
            held["test/invariance_error_relative"] < 0.1 * free["test/invariance_error_relative"],
            "{free:?} {held:?}"
        );
    }

    #[test]
    fn settings_out_of_range_are_named() {
        let defaults = PlaneExperiment::<WaveyRings>::new().defaults();
        for (text, key) in [
            ("[data]\nsigma = -1.0", "data.sigma"),
            ("[data]\npoints = 0", "data.points"),
            ("[data]\ntrain_fraction = 1.0", "data.train_fraction"),
            ("[model.so2]\nhidden_channels = 0", "model.so2.hidden_channels"),
            ("[model.so2]\nmax_degree = 99", "model.so2.max_degree"),
            ("[model.mlp]\nhidden = [0]", "model.mlp.hidden"),
            ("[model]\nnetwork = \"cnn\"", "model.network"),
            ("[model.so2]\nform = \"folded\"", "model.so2.form"),
            ("[data]\npoints = -1", "data.points"),
        ] {
            let message = config::parse(&defaults, text, "f.toml").unwrap_err().to_string();
            assert!(message.starts_with(&format!("f.toml: {key}: expected ")), "{message}");
        }
        assert!(config::parse(&defaults, "[data]\nsigma = 0", "f.toml").is_ok());
        assert!(config::parse(&PlaneExperiment::<DiskAndArc>::new().defaults(), "[data]\nsigma = 0", "f").is_err());
    }

    #[test]
    fn a_finished_run_draws_its_boundary() {
        let config = small(0.0, 0.0, Form::Plain);
        let (folder, mut task) = (tempfile::tempdir().unwrap(), task(&config));
        let ending =
            train(&mut task, &config.train, &config.penalty, &mut Memory::default(), &mut Silent, &Interrupt::new());
        let Ending::Finished(summary) = ending.unwrap() else { panic!("nobody interrupts a test") };
        PlaneExperiment::<DiskAndArc>::new().finish(&config, &task, &summary, folder.path()).unwrap();
        let svg = std::fs::read_to_string(folder.path().join("figures/boundary.svg")).unwrap();
        assert!(svg.starts_with("<svg") && svg.contains("test accuracy"));
    }
}
