//! Metal artefact reduction as a task: the minibatches, the loss and the modes.
//!
//! ```text
//! step: patches ──(sample-based: beside a turned copy)──► network ──► loss (+ weight · Σ_layers ‖g·y₀ − y₁‖)
//! test: W, or P(W) for regularised kernels where the settings project
//! ```

use std::collections::BTreeMap;
use std::rc::Rc;

use super::evaluation::{CaseQuality, Measured};
use super::patches::{CtBatch, CtData, CtSubset, Patch, Patches};
use super::settings::{CtDataConfig, CtSettings};
use crate::ct::networks::{self, Corrupted, MarNetConfig, Mode, Pass, Reduction};
use crate::epoch::EpochOrder;
use crate::network::Network;
use reynolds::random::Random;
use reynolds::{group, rep};
use reynolds_torch::action::FieldAction;
use reynolds_torch::binding::Residual;
use reynolds_torch::parametrisation::Parametrisation;
use reynolds_torch::sample_penalty::{OutputPairs, SamplePenalty, SamplePenaltyConfig};
use reynolds_torch::tch::{self, Cuda, Tensor};
use reynolds_torch::{Binding, Parameters, Precision};
use reynolds_train::config::under;
use reynolds_train::error::{Error, Result};
use reynolds_train::interrupt::Interrupt;
use reynolds_train::journal::Weights;
use reynolds_train::passes::Passes;
use reynolds_train::task::{Captured, Metrics, Moment, Split, Task};

/// A network that is evaluated: the final image, and the loss of all its images if the true one is given.
pub(super) type Evaluated<'a> = dyn Fn(&Corrupted, Option<&Tensor>) -> Result<Vec<Tensor>> + 'a;

/// The streams of random numbers of a seed.
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
    pub(super) interrupt: Interrupt,
    passes: Passes,
}

/// The sample-based penalty of Bai et al. on the outputs of regularised kernels.
struct SampleBased {
    penalty: SamplePenalty,
    /// Of outputs, by the number of channels.
    fields: BTreeMap<i64, FieldAction>,
}

impl SampleBased {
    fn new(config: SamplePenaltyConfig, binding: &Binding) -> Result<Self> {
        let c4 = group::parse("C4")?;
        let mut fields = BTreeMap::new();
        for bound in binding.bound() {
            let channels = bound.entry.shape[0];
            let regular = rep::parse_fields(&c4, &format!("{} regular", channels / 4))?;
            fields.insert(channels as i64, FieldAction::new(&regular));
        }
        let penalty = SamplePenalty::new(&FieldAction::new(&rep::trivial(&c4)), config);
        Ok(Self { penalty: penalty.map_err(|error| under("sample", error))?, fields })
    }

    /// Compares the halves of an output.
    fn compare(&self, pairs: &mut OutputPairs<'_>, output: &Tensor) -> reynolds_torch::Result<()> {
        let channels = output.size().get(1).copied().unwrap_or(0);
        let fields = self.fields.get(&channels).ok_or_else(|| {
            let known: Vec<_> = self.fields.keys().map(ToString::to_string).collect();
            reynolds_torch::Error::parameter("output", format!("{} channels", known.join(" or ")), channels)
        })?;
        pairs.compare(output, fields)
    }
}

impl CtTask {
    pub fn new(data: CtData, settings: &CtSettings, precision: Precision, seed: u64) -> Result<Self> {
        if data.device().is_cuda() {
            Cuda::cudnn_set_benchmark(true);
        }
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

    /// With a given network; the parameters have the number type and the device of the images.
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
            let expected = format!("from 1 to {}, the side of an image", data.side());
            return Err(Error::config("data.patch", expected, config.patch));
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
        let (epoch, interrupt, passes) = (EpochOrder::default(), Interrupt::new(), Passes::default());
        Ok(Self {
            parameters,
            network,
            binding,
            sample,
            data,
            config,
            projected,
            precision,
            seed,
            epoch,
            interrupt,
            passes,
        })
    }

    pub fn data(&self) -> &CtData {
        &self.data
    }

    /// Trained numbers: those of the network and, where regularised kernels are W = P(A) + B, those of B.
    pub fn trained_numbers(&self, parametrisation: Parametrisation) -> usize {
        let held = || self.binding.iter().flat_map(|binding| binding.bound()).map(|bound| bound.entry.len());
        self.parameters.len() + if parametrisation == Parametrisation::Residual { held().sum() } else { 0 }
    }

    /// Calls `what` with the weights that a part is evaluated with, and restores the weights.
    fn with_weights_of<T>(&self, part: CtSubset, what: impl FnOnce() -> Result<T>) -> Result<T> {
        let tested = matches!(part, CtSubset::Test | CtSubset::Figure);
        let Some(binding) = self.binding.as_ref().filter(|_| self.projected && tested) else { return what() };
        let _guard = tch::no_grad_guard();
        // A second handle of the storage: it is as it was on return, and `what` reads it through the task.
        let mut parameters = self.parameters.shallow_clone();
        let trained = Weights::of(&parameters).copied()?;
        let result = binding.project_in_place(&mut parameters).map_err(Error::from).and_then(|()| what());
        trained.assign_to(&mut parameters)?;
        result
    }

    /// Calls `what` with the network in evaluation, with the weights that a part is evaluated with and without the tape.
    pub(super) fn evaluated<T>(&self, part: CtSubset, what: impl FnOnce(&Evaluated<'_>) -> Result<T>) -> Result<T> {
        let _guard = tch::no_grad_guard();
        let pass = Pass { mode: Mode::Evaluate, precision: self.precision };
        self.with_weights_of(part, || {
            let assembled = self.network.assemble(&self.parameters, pass)?;
            let [image, with_loss] = [self.passes.of("image", &assembled)?, self.passes.of("loss", &assembled)?];
            what(&|input, truth| {
                let Corrupted { image: corrupted, interpolated, keep } = input;
                let inputs: Vec<Tensor> =
                    [corrupted, interpolated, keep].into_iter().chain(truth).map(Tensor::shallow_clone).collect();
                let captured = if truth.is_some() { &with_loss } else { &image };
                captured.run(&inputs, |assembled, inputs| {
                    let [image, interpolated, keep] = [0, 1, 2].map(|nth| inputs[nth].shallow_clone());
                    let input = Corrupted { image, interpolated, keep };
                    let reduction = self.network.forward(&self.parameters, assembled, &input, pass)?;
                    let loss = inputs.get(3).map(|truth| networks::loss(&reduction, &input, truth)).transpose()?;
                    Ok([reduction.image().shallow_clone()].into_iter().chain(loss).collect())
                })
            })
        })
    }

    /// The patches of an epoch: passes over the cases, each in another order.
    fn patches(&self, epoch: usize) -> Vec<Patch> {
        let CtDataConfig { batch, patch, steps, flips, .. } = self.config;
        let cases = self.data.count(CtSubset::Train);
        let wanted = if steps == 0 { cases } else { steps * batch };
        let mut order = Vec::with_capacity(wanted + cases);
        for pass in 0..wanted.div_ceil(cases) as u64 {
            let place = [Purpose::Order as u64, epoch as u64, pass];
            order.extend(Random::at(self.seed, &place).permutation(cases));
        }
        order.truncate(wanted);
        let room = self.data.side() - patch;
        let minibatch = |(step, cases): (usize, &[usize])| -> Vec<Patch> {
            let mut random = Random::at(self.seed, &[Purpose::Patch as u64, epoch as u64, step as u64]);
            cases.iter().map(|&case| Patch::draw(case, room, flips, &mut random)).collect()
        };
        order.chunks(batch).enumerate().flat_map(minibatch).collect()
    }

    /// Metrics of the network and, on the test, of the trivial answers.
    fn metrics(&self, part: CtSubset) -> Result<Metrics> {
        let (quality, loss) = self.quality_and_loss(part)?;
        let (psnr, psnr_error) = CaseQuality::mean(&quality.psnr);
        let mut metrics = Metrics::from([("psnr".into(), psnr), ("ssim".into(), CaseQuality::mean(&quality.ssim).0)]);
        if let Some(binding) = &self.binding {
            let residual = || Ok(binding.residual(self.parameters.flat())?);
            let Residual { absolute, relative } = self.with_weights_of(part, residual)?;
            metrics.extend([("weights/distance".into(), absolute), ("weights/relative_distance".into(), relative)]);
        }
        if part != CtSubset::Test {
            metrics.insert("loss".into(), loss);
            return Ok(metrics);
        }
        let interpolated = self.quality(part, Measured::Interpolated)?;
        let (gain, gain_error) = quality.gain_over(&interpolated);
        let [input, interpolated] = [self.quality(part, Measured::Input)?, interpolated]
            .map(|quality| [&quality.psnr, &quality.ssim].map(|values| CaseQuality::mean(values).0));
        let more = [
            ("psnr_se", psnr_error),
            ("input/psnr", input[0]),
            ("input/ssim", input[1]),
            ("interpolated/psnr", interpolated[0]),
            ("interpolated/ssim", interpolated[1]),
            ("gain/psnr", gain),
            ("gain/psnr_se", gain_error),
            ("equivariance_error", self.turning_error(part)?),
        ];
        metrics.extend(more.map(|(name, value)| (name.to_string(), value)));
        Ok(metrics)
    }
}

impl Captured for CtTask {
    /// Patches, `[5, N]`: see [`Patches`].
    fn minibatch(&self, moment: Moment) -> Result<Tensor> {
        let make = || Patches::new(&self.patches(moment.epoch), self.config.patch, self.data.device());
        let patches = self.epoch.of(moment.epoch, make)?;
        let first = moment.step * self.config.batch;
        patches.narrow(first, self.config.batch.min(patches.count() - first))
    }

    fn loss_of(&self, patches: &Tensor) -> Result<Tensor> {
        let batch = self.data.patches(patches, self.config.patch)?;
        let pass = Pass { mode: Mode::Train, precision: self.precision };
        let assembled = self.network.assemble(&self.parameters, pass)?;
        let reduction = self.network.forward(&self.parameters, &assembled, &batch.input, pass)?;
        Ok(networks::loss(&reduction, &batch.input, &batch.truth)?)
    }
}

impl Task for CtTask {
    fn parameters(&self) -> &Parameters {
        &self.parameters
    }

    fn parameters_mut(&mut self) -> &mut Parameters {
        &mut self.parameters
    }

    /// Where an epoch is one pass over the cases, its last minibatch may be shorter.
    fn steps_per_epoch(&self) -> usize {
        match self.config.steps {
            0 => self.data.count(CtSubset::Train).div_ceil(self.config.batch),
            steps => steps,
        }
    }

    /// With the sample-based penalty, if any: it is a penalty on outputs of layers, not on parameters.
    fn loss(&self, moment: Moment) -> Result<Tensor> {
        let patches = self.minibatch(moment)?;
        let Some(sample) = &self.sample else { return self.loss_of(&patches) };
        let batch = self.data.patches(&patches, self.config.patch)?;
        let pass = Pass { mode: Mode::Train, precision: self.precision };
        let assembled = self.network.assemble(&self.parameters, pass)?;
        let place = [Purpose::Turn as u64, moment.epoch as u64, moment.step as u64];
        let mut pairs = sample.penalty.draw(&mut Random::at(self.seed, &place))?;
        let twice = |images: &Tensor| pairs.double(images);
        let batch = CtBatch { input: batch.input.map(twice)?, truth: twice(&batch.truth)? };
        let mut see = |output: &Tensor| sample.compare(&mut pairs, output);
        let reduction = self.network.forward_seen(&self.parameters, &assembled, &batch.input, pass, &mut see)?;
        let loss = networks::loss(&reduction, &batch.input, &batch.truth)?;
        Ok(loss.f_add(&pairs.penalty()?.f_to_kind(loss.kind())?)?)
    }

    fn captured(&self) -> Result<&dyn Captured, &'static str> {
        if self.sample.is_some() { Err("the sample-based penalty draws its turns on the host") } else { Ok(self) }
    }

    /// "psnr" and "ssim", means over cases; "weights/distance" = √Σ‖W − P(W)‖² and "weights/relative_distance", its ratio to √Σ‖W‖². On training and
    /// validation cases "loss", as [`CtTask::quality_and_loss`]. On test cases "psnr_se"; "input/…" and "interpolated/…" of the slices that
    /// the network sees; "gain/psnr" over the latter case by case, with "gain/psnr_se"; "equivariance_error", [`CtTask::turning_error`].
    fn evaluate(&self, split: Split) -> Result<Metrics> {
        self.metrics(split.into())
    }

    fn cancel_by(&mut self, interrupt: &Interrupt) {
        self.interrupt = interrupt.clone();
    }

    fn pass_by(&mut self, passes: &Passes) {
        self.passes = passes.clone();
    }

    fn binding(&self) -> Result<Option<Rc<Binding>>> {
        Ok(self.binding.clone())
    }
}
