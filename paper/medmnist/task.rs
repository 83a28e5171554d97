//! Classification of volumes: minibatches, loss and metrics.
//!
//! ```text
//! loss = mean cross entropy of a minibatch + the prior of the network (RPP: of the branches; P-SCNN: alignment and divergences)
//! running statistics:  s ← (1 − m) s + m b     b of a minibatch, m = 0.1: those of some ten steps ago
//! settled:             s = mean of b           over minibatches of training volumes, weights as they are
//! ```
//!
//! The last minibatch of an epoch may be short; a single volume left over joins the one before it, for the head normalises over volumes and
//! one alone has no variance. Weights move fast in the first hundreds of steps, and with running statistics networks of many normalisations
//! are then evaluated far from what they were trained as: at a learning rate of 5e-4 accuracies jump from epoch to epoch.

use std::rc::Rc;

use crate::epoch::EpochOrder;
use crate::medmnist::networks::{Mode, Network, Pass};
use reynolds::random::Random;
use reynolds_torch::binding::Residual;
use reynolds_torch::layers::BatchNorm;
use reynolds_torch::tch::{self, Kind, Reduction, Tensor};
use reynolds_torch::{Binding, Parameters, Precision};

use super::metrics::{Scored, binomial_error, majority_class};
use super::settings::{MedDataConfig, MedSettings};
use super::volumes::MedData;
use reynolds_train::config::under;
use reynolds_train::error::Result;
use reynolds_train::interrupt::Interrupt;
use reynolds_train::passes::Passes;
use reynolds_train::task::{Captured, Metrics, Moment, Split, Task};

/// Streams of random numbers.
enum Purpose {
    Weights = 1,
    Order = 2,
}

pub struct MedTask {
    parameters: Parameters,
    network: Box<dyn Network>,
    binding: Option<Rc<Binding>>,
    data: MedData,
    config: MedDataConfig,
    precision: Precision,
    seed: u64,
    /// `[n]`, on the device.
    order: EpochOrder<Tensor>,
    pub(super) interrupt: Interrupt,
    passes: Passes,
}

impl MedTask {
    pub fn new(data: MedData, settings: &MedSettings, precision: Precision, seed: u64) -> Result<Self> {
        let mut builder = Parameters::builder();
        let mut random = Random::at(seed, &[Purpose::Weights as u64]);
        let network = settings.model.build(data.classes.len(), &mut builder, &mut random);
        let network = network.map_err(|error| under("model", error))?;
        let parameters = builder.build(Kind::Float, data.device())?;
        Self::of(data, network, parameters, &settings.data, precision, seed)
    }

    /// With another network, whose parameters are on the device of the volumes.
    pub fn of(
        data: MedData,
        network: Box<dyn Network>,
        parameters: Parameters,
        config: &MedDataConfig,
        precision: Precision,
        seed: u64,
    ) -> Result<Self> {
        let binding =
            network.plan(&parameters)?.map(|plan| Binding::of_plan(&parameters, &plan)).transpose()?.map(Rc::new);
        let (config, order) = (config.clone(), EpochOrder::default());
        let (interrupt, passes) = (Interrupt::new(), Passes::default());
        Ok(Self { parameters, network, binding, data, config, precision, seed, order, interrupt, passes })
    }

    pub fn data(&self) -> &MedData {
        &self.data
    }

    /// Passes of evaluation with the present weights: logits `[n, classes]` of volumes.
    pub(super) fn evaluated(&self) -> Result<impl Fn(&Tensor) -> Result<Tensor> + '_> {
        self.passes(Mode::Evaluate)
    }

    fn passes(&self, mode: Mode) -> Result<impl Fn(&Tensor) -> Result<Tensor> + '_> {
        let pass = self.pass(mode);
        let name = if matches!(mode, Mode::Train) { "training" } else { "evaluation" };
        let captured = self.passes.of(name, &self.network.assemble(&self.parameters, pass)?)?;
        Ok(move |volumes: &Tensor| {
            let logits = captured.run(&[volumes.shallow_clone()], |assembled, volumes| {
                Ok(vec![self.network.forward(&self.parameters, assembled, &volumes[0], pass)?])
            });
            Ok(logits?.swap_remove(0))
        })
    }

    fn pass(&self, mode: Mode) -> Pass {
        Pass { mode, precision: self.precision }
    }

    /// Settles the statistics of the normalisations, always on the same minibatches; training never reads them.
    fn settle(&self) -> Result<()> {
        let minibatches = self.config.settled.min(self.steps_per_epoch());
        let mut statistics = self.parameters.statistics().shallow_clone();
        if minibatches == 0 || statistics.numel() == 0 {
            return Ok(());
        }
        let _guard = tch::no_grad_guard();
        let forward = self.passes(Mode::Train)?;
        let mut sum = statistics.f_zeros_like()?;
        for step in 0..minibatches {
            let numbers = self.minibatch(Moment { epoch: 0, step })?;
            let (volumes, _) = self.data.chosen(Split::Train, &numbers)?;
            let _ = statistics.f_zero_()?;
            let _ = forward(&volumes)?;
            let _ = sum.f_add_(&statistics)?;
        }
        statistics.f_copy_(&sum.f_div_scalar(minibatches as f64 * BatchNorm::MOMENTUM)?)?;
        Ok(())
    }

    fn order(&self, epoch: usize) -> Result<Tensor> {
        let mut random = Random::at(self.seed, &[Purpose::Order as u64, epoch as u64]);
        let order = random.permutation(self.data.count(Split::Train));
        let order: Vec<i64> = order.into_iter().map(|number| number as i64).collect();
        Ok(Tensor::f_from_slice(&order)?.f_to_device(self.data.device())?)
    }

    /// Metrics of the test volumes alone.
    fn tested(&self, scored: &Scored, metrics: &mut Metrics) -> Result<()> {
        let classes = self.data.classes.len();
        let (accuracy, count) = (scored.accuracy(), scored.count());
        let common = majority_class(self.data.truth(Split::Train), classes);
        let (gain, gain_error) = scored.gain_over(common);
        let common = self.data.truth(Split::Test).iter().filter(|&&label| label == common).count();
        for (name, value) in [
            ("accuracy_se", binomial_error(accuracy, count)),
            ("majority", common as f64 / count as f64),
            ("gain/accuracy", gain),
            ("gain/accuracy_se", gain_error),
        ] {
            metrics.insert(name.into(), value);
        }
        for (at, taken) in scored.confusion().into_iter().enumerate() {
            metrics.insert(format!("confusion/{}/{}", at / classes, at % classes), taken as f64);
        }
        if let Some(error) = self.turning_error(Split::Test, self.config.turned)? {
            metrics.insert("invariance_error".into(), error.rotation);
            metrics.insert("invariance_error/reflection".into(), error.reflection);
        }
        Ok(())
    }
}

impl Captured for MedTask {
    /// Numbers of the volumes, `[n]`.
    fn minibatch(&self, moment: Moment) -> Result<Tensor> {
        let order = self.order.of(moment.epoch, || self.order(moment.epoch))?;
        let (count, batch) = (self.data.count(Split::Train), self.config.batch);
        let first = moment.step * batch;
        let last = if moment.step + 1 == self.steps_per_epoch() { count } else { first + batch };
        Ok(order.f_narrow(0, first as i64, (last - first) as i64)?)
    }

    fn loss_of(&self, numbers: &Tensor) -> Result<Tensor> {
        let (volumes, labels) = self.data.chosen(Split::Train, numbers)?;
        let pass = self.pass(Mode::Train);
        let assembled = self.network.assemble(&self.parameters, pass)?;
        let logits = self.network.forward(&self.parameters, &assembled, &volumes, pass)?;
        let loss = logits.f_cross_entropy_loss::<Tensor>(&labels, None, Reduction::Mean, -100, 0.0)?;
        match self.network.prior(&self.parameters)? {
            Some(prior) => Ok(loss.f_add(&prior)?),
            None => Ok(loss),
        }
    }
}

impl Task for MedTask {
    fn parameters(&self) -> &Parameters {
        &self.parameters
    }

    fn parameters_mut(&mut self) -> &mut Parameters {
        &mut self.parameters
    }

    fn steps_per_epoch(&self) -> usize {
        let (count, batch) = (self.data.count(Split::Train), self.config.batch);
        let left_alone = count > batch && count % batch == 1;
        count.div_ceil(batch) - usize::from(left_alone)
    }

    fn loss(&self, moment: Moment) -> Result<Tensor> {
        self.loss_of(&self.minibatch(moment)?)
    }

    fn captured(&self) -> Result<&dyn Captured, &'static str> {
        Ok(self)
    }

    /// accuracy, auc, loss                the cross entropy alone
    /// pairs/rotation, pairs/reflection   of generated sets, each with …_count of volumes and …_se
    /// pairs/solid                        the share of volumes taken for either class of their pair
    /// weights/distance, weights/relative_distance       √Σ‖W − P(W)‖², and that by √Σ‖W‖²
    /// of the test: accuracy_se, majority (the class that is most common in training), gain/accuracy and gain/accuracy_se
    /// ([`Scored::gain_over`]), confusion/i/j (volumes of class i taken for j), invariance_error and invariance_error/reflection ([`super::TurningError`])
    fn evaluate(&self, split: Split) -> Result<Metrics> {
        self.settle()?;
        let scored = self.scored(split)?;
        let mut metrics = Metrics::from([
            ("accuracy".into(), scored.accuracy()),
            ("auc".into(), scored.auc()),
            ("loss".into(), scored.loss()),
        ]);
        let pairs = &self.data.pairs;
        for (name, pairs) in [("rotation", &pairs.rotation), ("reflection", &pairs.reflection)] {
            let (accuracy, count) = scored.pairs(pairs);
            if count > 0 {
                metrics.insert(format!("pairs/{name}"), accuracy);
                metrics.insert(format!("pairs/{name}_count"), count as f64);
                metrics.insert(format!("pairs/{name}_se"), binomial_error(accuracy, count));
            }
        }
        if let Some(share) = scored.solids(pairs.rotation.iter().chain(&pairs.reflection)) {
            metrics.insert("pairs/solid".into(), share);
        }
        if let Some(binding) = &self.binding {
            let Residual { absolute, relative } = binding.residual(self.parameters.flat())?;
            metrics.extend([("weights/distance".into(), absolute), ("weights/relative_distance".into(), relative)]);
        }
        if split == Split::Test {
            self.tested(&scored, &mut metrics)?;
        }
        Ok(metrics)
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
