//! A model of the SO(2) figures.

use std::collections::BTreeMap;

use reynolds::penalty::Form;

use super::weight_decay;
use crate::so2::{FigureSettings, Network, PlaneData, PlaneExperiment, PlaneSettings, PlaneTask, sample_logits};
use crate::targets::point::{Frame, Point, PointSession, Trained};
use crate::targets::sample::Sample;
use reynolds_train::config::{PenaltyStep, RunConfig, Settings};
use reynolds_train::error::Result;
use reynolds_train::experiment::Experiment;
use reynolds_train::journal::{Journal, Memory};
use reynolds_train::progress::Silent;
use reynolds_train::task::{Metrics, Split, Task};
use reynolds_train::train::{Ending, train};

/// One model: the settings of its run, and what to compute beside metrics.
#[derive(Debug, Clone, PartialEq)]
pub struct Spec<D: PlaneData> {
    pub run: RunConfig<PlaneSettings<D>>,
    /// Whether its logits are sampled for a figure.
    pub drawn: bool,
    /// Whether it is compared with weight decay.
    pub decay: bool,
}

/// The array of logits on the square of the figures, of a model that is drawn.
const LOGITS: &str = "logits";

/// "plain" or "squared"; "decoupled plain" or "decoupled squared" where the penalty is a step of its own.
pub(super) fn form_name(form: Form, step: PenaltyStep) -> &'static str {
    match (form, step) {
        (Form::Plain, PenaltyStep::Gradient) => "plain",
        (Form::Squared, PenaltyStep::Gradient) => "squared",
        (Form::Plain, PenaltyStep::Decoupled) => "decoupled plain",
        (Form::Squared, PenaltyStep::Decoupled) => "decoupled squared",
    }
}

impl<D: PlaneData> Point for Spec<D> {
    fn id(&self) -> String {
        let problem = self.run.settings.data.sigma().map_or("disk".to_string(), |sigma| format!("rings{sigma}"));
        let decay = if self.decay { "-decay" } else { "" };
        let (penalty, seed) = (&self.run.penalty, self.run.seed);
        match self.run.settings.model.network {
            Network::Mlp => format!("{problem}-mlp-seed{seed}"),
            Network::So2 => {
                let (form, g, perp) = (self.form_name(), penalty.lambda_g, penalty.lambda_perp);
                let form = form.replace(' ', "-");
                format!("{problem}-{form}-g{g}-p{perp}-seed{seed}{decay}")
            }
        }
    }

    fn settings(&self) -> serde_json::Value {
        serde_json::to_value(&self.run).expect("settings are tables of plain values")
    }

    fn train(&self, session: &PointSession<'_>) -> Result<Option<Trained>> {
        let config = &self.run;
        config.validate()?;
        let mut task: PlaneTask = PlaneExperiment::<D>::new().task(config, session.device)?;
        let run = |task: &mut dyn Task, journal: &mut dyn Journal| {
            train(task, &config.train, &config.penalty, journal, &mut Silent, session.interrupt)
        };
        let Ending::Finished(summary) = run(&mut task, &mut session.journal(config))? else { return Ok(None) };
        // The validation part is the training part.
        let watched = format!("{}/", Split::Validation.name());
        let renamed = |(name, value): (&String, &f64)| match name.strip_prefix(&watched) {
            Some(name) => (format!("{}/{name}", Split::Train.name()), *value),
            None => (name.clone(), *value),
        };
        let mut metrics: Metrics = summary.metrics().iter().map(renamed).collect();
        if self.decay {
            let mut other = weight_decay::Decayed(PlaneExperiment::<D>::new().task(config, session.device)?);
            let Ending::Finished(_) = run(&mut other, &mut Memory::default())? else { return Ok(None) };
            metrics.extend(weight_decay::compare(&task, &other, config.penalty.penalty())?);
        }
        let mut arrays = BTreeMap::new();
        if self.drawn {
            arrays.insert(LOGITS.to_string(), sample_logits(&task)?);
        }
        Ok(Some(Trained { metrics, arrays, ..Trained::default() }))
    }

    fn suffices(&self, trained: &Trained) -> bool {
        !self.drawn || trained.arrays.contains_key(LOGITS)
    }
}

impl<D: PlaneData> Spec<D> {
    /// The penalised network with these strengths. The plain form puts λ_G on the whole W (paper, section 4.1), the squared one on P(W)
    /// (section 3).
    pub(crate) fn penalised(base: &FigureSettings<D>, form: Form, lambda_g: f64, lambda_perp: f64, seed: u64) -> Self {
        let mut run = base.run.clone();
        run.seed = seed;
        run.settings.model.network = Network::So2;
        (run.penalty.form, run.penalty.whole) = (form, form == Form::Plain);
        (run.penalty.lambda_g, run.penalty.lambda_perp) = (lambda_g, lambda_perp);
        run.train.evaluate_every = run.train.epochs;
        run.train.checkpoint_every = run.train.epochs;
        Self { run, drawn: seed == base.run.seed, decay: false }
    }

    /// The baseline: an MLP without a penalty.
    pub(super) fn baseline(base: &FigureSettings<D>, seed: u64) -> Self {
        let mut spec = Self::penalised(base, Form::Plain, 0.0, 0.0, seed);
        spec.run.settings.model.network = Network::Mlp;
        spec
    }

    pub(super) fn form_name(&self) -> &'static str {
        form_name(self.run.penalty.form, self.run.penalty.step)
    }

    /// λ_G and λ_⊥.
    pub(super) fn strengths(&self) -> (f64, f64) {
        (self.run.penalty.lambda_g, self.run.penalty.lambda_perp)
    }

    /// A metric of this model with `seeds` consecutive seeds, the first its own.
    pub fn over_seeds(&self, frame: &Frame, seeds: u64, metric: &str) -> Sample {
        let with = |seed: u64| Self { run: RunConfig { seed, ..self.run.clone() }, ..self.clone() };
        frame.sample((0..seeds).map(|number| with(self.run.seed + number)), metric)
    }

    /// Its sampled logits; empty if it is not drawn.
    pub(super) fn logits(&self, frame: &Frame) -> Vec<f64> {
        frame.get(self).array(LOGITS).iter().map(|&logit| f64::from(logit)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::so2::{DiskAndArc, WaveyRings};
    use crate::targets::Budget;
    use crate::targets::synthetic::train_point;
    use reynolds_torch::tch::Device;
    use reynolds_train::interrupt::Interrupt;

    fn spec() -> Spec<WaveyRings> {
        let mut base = FigureSettings::<WaveyRings>::of_budget(Budget::Quick);
        (base.run.train.epochs, base.run.seed) = (2, 3);
        Spec::penalised(&base, Form::Plain, 0.0, 1.0, 3)
    }

    #[test]
    fn a_spec_is_the_settings_of_a_run() {
        let (spec, config) = (spec(), spec().settings());
        assert_eq!(config["experiment"], "rings");
        assert_eq!((&config["data"]["sigma"], &config["penalty"]["whole"]), (&0.5.into(), &true.into()));
        assert_eq!(spec.id(), "rings0.5-plain-g0-p1-seed3");
        let base = FigureSettings::<DiskAndArc>::of_budget(Budget::Quick);
        let squared = Spec::penalised(&base, Form::Squared, 0.1, 0.01, 1);
        assert!(!squared.run.penalty.whole && !squared.drawn);
        assert_eq!(squared.id(), "disk-squared-g0.1-p0.01-seed1");
        assert_eq!(Spec::baseline(&base, 0).id(), "disk-mlp-seed0");
    }

    #[test]
    fn a_model_is_the_same_each_time_and_a_baseline_is_not_drawn() {
        reynolds_train::threads::set(1);
        let once = || train_point(&spec()).unwrap().unwrap();
        let (a, b) = (once(), once());
        assert_eq!(a, b);
        assert!(a.metrics.contains_key("train/accuracy") && a.metrics.contains_key("test/invariance_error_relative"));
        let mut base = FigureSettings::<WaveyRings>::of_budget(Budget::Quick);
        base.run.train.epochs = 2;
        let baseline = Spec { drawn: false, ..Spec::baseline(&base, 3) };
        assert!(train_point(&baseline).unwrap().unwrap().arrays.is_empty());
    }

    #[test]
    fn a_model_that_is_stopped_goes_on_from_its_checkpoint_to_the_same_numbers() {
        reynolds_train::threads::set(1);
        let (folder, stopped, free) = (tempfile::tempdir().unwrap(), Interrupt::new(), Interrupt::new());
        let trained = |interrupt| {
            spec().train(&PointSession { device: Device::Cpu, interrupt, folder: folder.path(), probe: None })
        };
        stopped.request();
        assert_eq!(trained(&stopped).unwrap(), None);
        let checkpoint = folder.path().join("checkpoints/last.safetensors");
        let first = std::fs::read(&checkpoint).unwrap();
        assert_eq!(trained(&stopped).unwrap(), None);
        assert_ne!(std::fs::read(&checkpoint).unwrap(), first, "a step further");
        assert_eq!(trained(&free).unwrap(), train_point(&spec()).unwrap());
    }
}
