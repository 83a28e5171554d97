//! A model of the SO(2) figures.

use std::collections::BTreeMap;

use reynolds::penalty::Form;
use reynolds_torch::tch::Device;

use super::weight_decay;
use crate::so2::{
    DiskAndArc, Network, PlaneData, PlaneExperiment, PlaneSettings, PlaneTask, WaveyRings, sample_logits,
};
use crate::targets::model::{Model, Models, Trained};
use crate::targets::sample::Sample;
use reynolds_train::config::{self, RunConfig};
use reynolds_train::error::Result;
use reynolds_train::experiment::Experiment;
use reynolds_train::interrupt::Interrupt;
use reynolds_train::journal::Memory;
use reynolds_train::progress::Silent;
use reynolds_train::task::{Metrics, Split, Task};
use reynolds_train::train::{Ending, train};

/// What is told apart.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Problem {
    /// A disk and an arc.
    DiskAndArc,
    /// Wavey rings.
    Rings {
        /// σ_⊥.
        sigma: f64,
    },
}

/// One model.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Spec {
    /// What is told apart.
    pub problem: Problem,
    /// By which network.
    pub network: Network,
    /// The penalty's form; the plain one puts λ_G on the whole W (paper, section 4.1), the squared one on P(W) (section 3).
    pub form: Form,
    /// λ_G.
    pub lambda_g: f64,
    /// λ_⊥.
    pub lambda_perp: f64,
    /// Decides points, initial weights and turns.
    pub seed: u64,
    /// As many steps.
    pub epochs: usize,
    /// Whether its logits are sampled for a figure.
    pub drawn: bool,
    /// Whether it is compared with weight decay.
    pub decay: bool,
}

/// The array of logits on the square of the figures, of a model that is drawn.
const LOGITS: &str = "logits";

/// "plain" or "squared".
pub(super) fn form_name(form: Form) -> &'static str {
    match form {
        Form::Plain => "plain",
        Form::Squared => "squared",
    }
}

impl Model for Spec {
    fn id(&self) -> String {
        let problem = match self.problem {
            Problem::DiskAndArc => "disk".to_string(),
            Problem::Rings { sigma } => format!("rings{sigma}"),
        };
        let decay = if self.decay { "-decay" } else { "" };
        match self.network {
            Network::Mlp => format!("{problem}-mlp-seed{}", self.seed),
            Network::So2 => {
                let Self { lambda_g, lambda_perp, seed, .. } = self;
                format!("{problem}-{}-g{lambda_g}-p{lambda_perp}-seed{seed}{decay}", form_name(self.form))
            }
        }
    }

    fn config(&self) -> toml::Table {
        match self.problem {
            Problem::DiskAndArc => config::tree(&self.disk_and_arc()),
            Problem::Rings { sigma } => config::tree(&self.rings(sigma)),
        }
    }

    fn train(&self, device: Device, interrupt: &Interrupt) -> Result<Option<Trained>> {
        match self.problem {
            Problem::DiskAndArc => self.train_with(&self.disk_and_arc(), device, interrupt),
            Problem::Rings { sigma } => self.train_with(&self.rings(sigma), device, interrupt),
        }
    }

    fn suffices(&self, trained: &Trained) -> bool {
        !self.drawn || trained.arrays.contains_key(LOGITS)
    }
}

impl Spec {
    /// A metric of the models that differ from this one in the seed alone.
    ///
    /// # Panics
    /// As [`Models::get`].
    pub fn over_seeds(&self, models: &Models, seeds: u64, metric: &str) -> Sample {
        models.sample((0..seeds).map(|seed| Spec { seed, ..*self }), metric)
    }

    /// The logits that were sampled of it; none if it is not drawn.
    ///
    /// # Panics
    /// As [`Models::get`].
    pub(super) fn logits(&self, models: &Models) -> Vec<f64> {
        models.get(self).array(LOGITS).iter().map(|&logit| f64::from(logit)).collect()
    }

    fn disk_and_arc(&self) -> RunConfig<PlaneSettings<DiskAndArc>> {
        self.adapted(PlaneExperiment::new().defaults())
    }

    fn rings(&self, sigma: f64) -> RunConfig<PlaneSettings<WaveyRings>> {
        let mut config = self.adapted(PlaneExperiment::<WaveyRings>::new().defaults());
        config.settings.data.sigma = sigma;
        config
    }

    fn adapted<D: PlaneData>(&self, mut config: RunConfig<PlaneSettings<D>>) -> RunConfig<PlaneSettings<D>> {
        config.seed = self.seed;
        config.settings.model.network = self.network;
        config.penalty.form = self.form;
        config.penalty.whole = self.form == Form::Plain;
        if self.network == Network::So2 {
            (config.penalty.lambda_g, config.penalty.lambda_perp) = (self.lambda_g, self.lambda_perp);
        }
        config.train.epochs = self.epochs;
        config.train.evaluate_every = self.epochs;
        config.train.checkpoint_every = self.epochs;
        config
    }

    fn train_with<D: PlaneData>(
        &self,
        config: &RunConfig<PlaneSettings<D>>,
        device: Device,
        interrupt: &Interrupt,
    ) -> Result<Option<Trained>> {
        config.validate()?;
        let task: PlaneTask = PlaneExperiment::<D>::new().task(config, device)?;
        let run = |task: &dyn Task| {
            train(task, &config.train, &config.penalty, &mut Memory::default(), &mut Silent, interrupt)
        };
        let Ending::Finished(summary) = run(&task)? else { return Ok(None) };
        // What the loop watches is the training part.
        let watched = format!("{}/", Split::Validation.name());
        let renamed = |(name, value): (&String, &f64)| match name.strip_prefix(&watched) {
            Some(name) => (format!("{}/{name}", Split::Train.name()), *value),
            None => (name.clone(), *value),
        };
        let mut metrics: Metrics = summary.metrics().iter().map(renamed).collect();
        if self.decay {
            let other = weight_decay::Decayed(PlaneExperiment::<D>::new().task(config, device)?);
            let Ending::Finished(_) = run(&other)? else { return Ok(None) };
            metrics.extend(weight_decay::compare(&task, &other, config.penalty.penalty())?);
        }
        let mut arrays = BTreeMap::new();
        if self.drawn {
            arrays.insert(LOGITS.to_string(), sample_logits(&task)?);
        }
        Ok(Some(Trained { metrics, arrays }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SPEC: Spec = Spec {
        problem: Problem::Rings { sigma: 0.5 },
        network: Network::So2,
        form: Form::Plain,
        lambda_g: 0.0,
        lambda_perp: 1.0,
        seed: 3,
        epochs: 2,
        drawn: true,
        decay: false,
    };

    #[test]
    fn a_spec_becomes_the_settings_of_a_run() {
        let config = SPEC.config();
        assert_eq!(config["experiment"].as_str(), Some("rings"));
        assert_eq!(config["data"]["sigma"].as_float(), Some(0.5));
        assert_eq!(config["penalty"]["whole"].as_bool(), Some(true));
        assert_eq!(Spec { form: Form::Squared, ..SPEC }.config()["penalty"]["whole"].as_bool(), Some(false));
        assert_eq!(SPEC.id(), "rings0.5-plain-g0-p1-seed3");
        assert_eq!(Spec { network: Network::Mlp, ..SPEC }.id(), "rings0.5-mlp-seed3");
    }

    #[test]
    fn a_model_is_the_same_each_time_and_stops_when_asked() {
        reynolds_train::threads::set(1);
        let once = || SPEC.train(Device::Cpu, &Interrupt::new()).unwrap().unwrap();
        let (a, b) = (once(), once());
        assert_eq!(a, b);
        assert!(a.metrics.contains_key("train/accuracy") && a.metrics.contains_key("test/defect_relative"));
        let interrupt = Interrupt::new();
        interrupt.request();
        assert_eq!(SPEC.train(Device::Cpu, &interrupt).unwrap(), None);
        let baseline = Spec { network: Network::Mlp, drawn: false, ..SPEC };
        assert!(baseline.train(Device::Cpu, &Interrupt::new()).unwrap().unwrap().arrays.is_empty());
    }
}
