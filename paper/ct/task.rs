//! Taking metal artefacts out: the minibatches, the loss and the modes.
//!
//! ```text
//! step: patches ──(sample-based: beside a turned copy)──► network ──► loss (+ weight · Σ_layers ‖g·y₀ − y₁‖)
//! test: W, or P(W) for held kernels where the settings project
//! ```
//!
//! Which patches an epoch sees is decided before it, and put on the device once.

use std::rc::Rc;

use crate::ct::networks::{self, Corrupted, MarNetConfig, Mode, Pass, Reduction};
use crate::epoch::{EpochOrder, shuffled};
use crate::network::Network;
use reynolds::random::Random;
use reynolds_torch::binding::Residual;
use reynolds_torch::parametrisation::Parametrisation;
use reynolds_torch::tch::{self, Tensor};
use reynolds_torch::{Binding, Parameters, Precision};

use super::evaluation::{CaseQuality, Measured};
use super::patches::{CtBatch, CtData, CtPart, Patch, Patches};
use super::settings::{CtDataConfig, CtSettings};
use super::symmetry::SampleBased;
use reynolds_train::config::under;
use reynolds_train::error::{Error, Result};
use reynolds_train::journal::Weights;
use reynolds_train::task::{Metrics, Moment, Split, Task};

/// What random numbers are drawn for; with the seed, the name of their stream.
#[derive(Debug, Clone, Copy)]
enum Purpose {
    Weights = 1,
    Order = 2,
    Patch = 3,
    Turn = 4,
}

/// Data, network and loss of a run.
pub struct CtTask {
    parameters: Parameters,
    network: Box<dyn Network<Corrupted, Reduction>>,
    binding: Option<Rc<Binding>>,
    sample: Option<SampleBased>,
    data: CtData,
    config: CtDataConfig,
    projected: bool,
    precision: Precision,
    seed: u64,
    /// Patches, in the order in which they are trained on.
    epoch: EpochOrder<Patches>,
}

impl CtTask {
    /// Initial weights, patches and turns are those of the seed.
    pub fn new(data: CtData, settings: &CtSettings, precision: Precision, seed: u64) -> Result<Self> {
        let mut builder = Parameters::builder();
        let mut random = Random::at(seed, &[Purpose::Weights as u64]);
        let network = settings.model.build(&mut builder, &mut random).map_err(|error| under("model", error))?;
        let parameters = builder.build(data.number_kind(), data.device())?;
        Self::of(data, network, parameters, settings, precision, seed)
    }

    /// Refuses a network that cannot be built.
    pub fn check(model: &MarNetConfig) -> Result<()> {
        let built = model.build(&mut Parameters::builder(), &mut Random::new(0));
        built.map(drop).map_err(|error| under("model", error))
    }

    /// With a network of one's own; the parameters are of the number type of the images and lie where they do.
    pub fn of(
        data: CtData,
        network: Box<dyn Network<Corrupted, Reduction>>,
        parameters: Parameters,
        settings: &CtSettings,
        precision: Precision,
        seed: u64,
    ) -> Result<Self> {
        let CtSettings { projected, data: config, sample, .. } = settings.clone();
        if !(1..=data.side()).contains(&config.patch) {
            return Err(Error::config(
                "data.patch",
                format!("from 1 to {}, the side of an image", data.side()),
                config.patch,
            ));
        }
        let plan = network.plan(&parameters)?;
        let binding = plan.map(|plan| Binding::of_plan(&parameters, &plan)).transpose()?.map(Rc::new);
        let nothing = |key: &str, expected: &str, found: &dyn ToString| {
            let expected = format!("{expected} (this network has no kernels regularised towards C4)");
            Error::config(key, expected, found.to_string())
        };
        let sample = match (sample.weight, &binding) {
            (0.0, _) => None,
            (_, Some(binding)) => Some(SampleBased::new(sample, binding)?),
            (weight, None) => return Err(nothing("sample.weight", "0", &weight)),
        };
        if projected && binding.is_none() {
            return Err(nothing("projected", "false", &projected));
        }
        let epoch = EpochOrder::default();
        Ok(Self { parameters, network, binding, sample, data, config, projected, precision, seed, epoch })
    }

    pub fn data(&self) -> &CtData {
        &self.data
    }

    /// Numbers that are trained: those of the network and, where held kernels are W = P(A) + B, those of B.
    pub fn trained_numbers(&self, parametrisation: Parametrisation) -> usize {
        let held = || self.binding.iter().flat_map(|binding| binding.bound()).map(|bound| bound.entry.len());
        self.parameters.len() + if parametrisation == Parametrisation::Residual { held().sum() } else { 0 }
    }

    /// ‖W − P(W)‖ over the regularised kernels of the weights that a part is evaluated with; `None` if there are none.
    pub fn held_residual(&self, part: CtPart) -> Result<Option<Residual>> {
        let Some(binding) = &self.binding else { return Ok(None) };
        self.with_weights_of(part, || Ok(Some(binding.residual(self.parameters.flat())?)))
    }

    /// What `what` comes to with the weights that a part is evaluated with; afterwards the weights are what they were.
    pub(super) fn with_weights_of<T>(&self, part: CtPart, what: impl FnOnce() -> Result<T>) -> Result<T> {
        let tested = matches!(part, CtPart::Test | CtPart::Figure);
        let Some(binding) = self.binding.as_ref().filter(|_| self.projected && tested) else { return what() };
        let _guard = tch::no_grad_guard();
        let trained = Weights::of(&self.parameters).copied()?;
        let result = binding.project_in_place(&self.parameters).map_err(Error::from).and_then(|()| what());
        trained.assign_to(&self.parameters)?;
        result
    }

    /// Kernels of passes that only evaluate.
    pub(super) fn assemble_evaluated(&self) -> Result<Vec<Tensor>> {
        Ok(self.network.assemble(&self.parameters, self.pass(Mode::Evaluate))?)
    }

    /// A pass that only evaluates.
    pub(super) fn evaluated(&self, assembled: &[Tensor], input: &Corrupted) -> Result<Reduction> {
        Ok(self.network.forward(&self.parameters, assembled, input, self.pass(Mode::Evaluate))?)
    }

    /// The loss of a minibatch, a scalar.
    pub(super) fn task_loss(&self, reduction: &Reduction, batch: &CtBatch) -> Result<Tensor> {
        Ok(networks::loss(reduction, &batch.input, &batch.truth)?)
    }

    fn pass(&self, mode: Mode) -> Pass {
        Pass { mode, precision: self.precision }
    }

    /// The patches of a minibatch, on the device.
    fn minibatch(&self, moment: Moment) -> Result<CtBatch> {
        let make = || Patches::new(&self.patches(moment.epoch), self.config.patch, self.data.device());
        let patches = self.epoch.of(moment.epoch, make)?;
        let first = moment.step * self.config.batch;
        self.data.patches(&patches.narrow(first, self.config.batch.min(patches.count() - first))?)
    }

    /// The patches of an epoch: as many passes over the cases as it takes, each in an order of its own.
    fn patches(&self, epoch: usize) -> Vec<Patch> {
        let CtDataConfig { batch, patch, steps, flips, .. } = self.config;
        let cases = self.data.count(CtPart::Train);
        let wanted = if steps == 0 { cases } else { steps * batch };
        let mut order = Vec::with_capacity(wanted + cases);
        for pass in 0..wanted.div_ceil(cases) as u64 {
            let place = [Purpose::Order as u64, epoch as u64, pass];
            order.extend(shuffled(cases, &mut Random::at(self.seed, &place)));
        }
        order.truncate(wanted);
        let room = self.data.side() - patch;
        let steps = order.chunks(batch).enumerate();
        let minibatch = |(step, cases): (usize, &[usize])| -> Vec<Patch> {
            let mut random = Random::at(self.seed, &[Purpose::Patch as u64, epoch as u64, step as u64]);
            cases.iter().map(|&case| Patch::draw(case, room, flips, &mut random)).collect()
        };
        steps.flat_map(minibatch).collect()
    }

    /// Metrics of the network, and of the trivial ways beside it on the test.
    fn metrics(&self, part: CtPart) -> Result<Metrics> {
        let (quality, loss) = self.quality_and_loss(part)?;
        let (psnr, psnr_error) = CaseQuality::mean(&quality.psnr);
        let mut metrics = Metrics::from([("psnr".into(), psnr), ("ssim".into(), CaseQuality::mean(&quality.ssim).0)]);
        if let Some(Residual { absolute, relative }) = self.held_residual(part)? {
            metrics.extend([("held/residual".into(), absolute), ("held/relative".into(), relative)]);
        }
        if part != CtPart::Test {
            metrics.insert("loss".into(), loss);
            return Ok(metrics);
        }
        let interpolated = self.quality(part, Measured::Interpolated)?;
        let (gain, gain_error) = quality.gain_over(&interpolated);
        let [input, interpolated] = [self.quality(part, Measured::Input)?, interpolated]
            .map(|quality| [&quality.psnr, &quality.ssim].map(|values| CaseQuality::mean(values).0));
        for (name, value) in [
            ("psnr_se", psnr_error),
            ("input/psnr", input[0]),
            ("input/ssim", input[1]),
            ("interpolated/psnr", interpolated[0]),
            ("interpolated/ssim", interpolated[1]),
            ("gain/psnr", gain),
            ("gain/psnr_se", gain_error),
            ("defect", self.turning_defect(part)?),
        ] {
            metrics.insert(name.into(), value);
        }
        Ok(metrics)
    }
}

impl Task for CtTask {
    fn parameters(&self) -> &Parameters {
        &self.parameters
    }

    /// Where an epoch is one pass over the cases, its last minibatch may be shorter.
    fn steps_per_epoch(&self) -> usize {
        match self.config.steps {
            0 => self.data.count(CtPart::Train).div_ceil(self.config.batch),
            steps => steps,
        }
    }

    /// With the sample-based penalty, where there is one: it looks at what layers make, so that it is no penalty on parameters.
    fn loss(&self, moment: Moment) -> Result<Tensor> {
        let batch = self.minibatch(moment)?;
        let pass = self.pass(Mode::Train);
        let assembled = self.network.assemble(&self.parameters, pass)?;
        let Some(sample) = &self.sample else {
            let reduction = self.network.forward(&self.parameters, &assembled, &batch.input, pass)?;
            return self.task_loss(&reduction, &batch);
        };
        let place = [Purpose::Turn as u64, moment.epoch as u64, moment.step as u64];
        let mut witness = sample.draw(&mut Random::at(self.seed, &place))?;
        let batch = sample.double(&witness, &batch)?;
        let mut see = |output: &Tensor| sample.see(&mut witness, output);
        let reduction = self.network.forward_seen(&self.parameters, &assembled, &batch.input, pass, &mut see)?;
        let loss = self.task_loss(&reduction, &batch)?;
        Ok(loss.f_add(&witness.penalty()?.f_to_kind(loss.kind())?)?)
    }

    /// "psnr" and "ssim", means over cases, "held/residual" = √Σ‖W − P(W)‖² and "held/relative", that by √Σ‖W‖², of the weights that are
    /// evaluated. On training and validation cases "loss", as [`CtTask::quality_and_loss`]. On test cases "psnr_se"; "input/…" and
    /// "interpolated/…" of the slices as the network sees them; "gain/psnr", how far the network is above the latter case by case, with
    /// "gain/psnr_se"; "defect", [`CtTask::turning_defect`].
    fn evaluate(&self, split: Split) -> Result<Metrics> {
        self.metrics(split.into())
    }

    fn binding(&self) -> Result<Option<Rc<Binding>>> {
        Ok(self.binding.clone())
    }
}
