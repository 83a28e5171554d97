//! The loss of a rollout, errors of rollouts, and the penalty of the network.
//!
//! ```text
//! x₀ = the input frames      v̂_t = network(x_{t−1})       x_t = (x_{t−1} without its oldest frame, v̂_t)
//! loss = Σ_{t=1..n} mean (v̂_t − v_t)²  + (α c)²           c: the constraint of the architecture, if it has one
//! ```

use std::rc::Rc;

use crate::epoch::EpochOrder;
use crate::network::{Component, EVALUATE, Network, TRAIN};
use crate::smoke::data::Subset;
use crate::smoke::networks::{Frames, SmokeNetConfig, Symmetry};
use crate::step::Timer;
use reynolds::penalty::PenaltyConfig;
use reynolds::random::Random;
use reynolds_torch::Parameters;
use reynolds_torch::tch::{self, Device, Kind, Tensor};

use super::errors::RolloutErrors;
use super::experiment::SmokeDataConfig;
use super::frames::SmokeData;
use super::penalty::{AssembledPenalty, check, energies};
use reynolds_train::config::under;
use reynolds_train::error::Result;
use reynolds_train::interrupt::Interrupt;
use reynolds_train::passes::Passes;
use reynolds_train::regulariser::Regulariser;
use reynolds_train::task::{Captured, Metrics, Moment, Split, Task};

/// Windows of a minibatch in evaluation.
const EVALUATED: usize = 64;

/// Streams of random numbers.
#[derive(Debug, Clone, Copy)]
enum Purpose {
    Weights = 1,
    Order = 2,
}

/// A rollout of one window: frames `[2, side, side]` from the first step on.
#[derive(Debug, Clone, PartialEq)]
pub struct Rollout {
    pub side: usize,
    pub prediction: Vec<Vec<f32>>,
    pub truth: Vec<Vec<f32>>,
}

/// Data, network and loss of a run.
pub struct SmokeTask {
    parameters: Parameters,
    network: Rc<dyn Network>,
    data: SmokeData,
    config: SmokeDataConfig,
    alpha: f64,
    seed: u64,
    /// First rows `[windows]` on the device, in the order of the epoch.
    order: EpochOrder<Tensor>,
    interrupt: Interrupt,
    passes: Passes,
}

impl SmokeTask {
    /// The seed decides initial weights and the order of minibatches.
    pub fn new(data: SmokeData, model: &SmokeNetConfig, config: &SmokeDataConfig, seed: u64) -> Result<Self> {
        let mut builder = Parameters::builder();
        let mut random = Random::at(seed, &[Purpose::Weights as u64]);
        let network =
            model.build(config.kind, data.shape(), &mut builder, &mut random).map_err(|error| under("model", error))?;
        let parameters = builder.build(data.number_kind(), data.device())?;
        Ok(Self::of(data, network, parameters, config, model.alpha, seed))
    }

    /// Refuses a network that cannot be built for frames of the data sets.
    pub fn check(model: &SmokeNetConfig, symmetry: Symmetry) -> Result<()> {
        let built = model.build(symmetry, Frames::default(), &mut Parameters::builder(), &mut Random::new(0));
        built.map(drop).map_err(|error| under("model", error))
    }

    /// With any network; number type and device of the parameters are those of the frames.
    pub fn of(
        data: SmokeData,
        network: Box<dyn Network>,
        parameters: Parameters,
        config: &SmokeDataConfig,
        alpha: f64,
        seed: u64,
    ) -> Self {
        let (network, config, order) = (network.into(), config.clone(), EpochOrder::default());
        let (interrupt, passes) = (Interrupt::new(), Passes::default());
        Self { parameters, network, data, config, alpha, seed, order, interrupt, passes }
    }

    pub fn data(&self) -> &SmokeData {
        &self.data
    }

    /// The network in evaluation with the present weights, from frames to a prediction.
    fn evaluated(&self) -> Result<impl Fn(&Tensor) -> Result<Tensor> + '_> {
        let pass = self.passes.of("evaluation", &self.network.assemble(&self.parameters, EVALUATE)?)?;
        Ok(move |frames: &Tensor| {
            let prediction = pass.run(&[frames.shallow_clone()], |assembled, frames| {
                Ok(vec![self.network.forward(&self.parameters, assembled, &frames[0], EVALUATE)?])
            });
            Ok(prediction?.swap_remove(0))
        })
    }

    /// Calls `each` with prediction and truth `[N, 2, H, W]` at each step of a free-running rollout of `batch` `[N, 2 (seen + length), H, W]`.
    fn roll(
        &self,
        batch: &Tensor,
        length: usize,
        network: &dyn Fn(&Tensor) -> Result<Tensor>,
        mut each: impl FnMut(&Tensor, &Tensor) -> Result<()>,
    ) -> Result<()> {
        let seen = 2 * self.data.shape().count as i64;
        let mut frames = batch.f_narrow(1, 0, seen)?;
        for step in 0..length as i64 {
            let prediction = network(&frames)?;
            each(&prediction, &batch.f_narrow(1, seen + 2 * step, 2)?)?;
            if step + 1 < length as i64 {
                frames = Tensor::f_cat(&[&frames.f_narrow(1, 2, seen - 2)?, &prediction], 1)?;
            }
        }
        Ok(())
    }

    /// Times rollouts of all validation windows at once, as long as those of training, without the tape and with kernels ready.
    pub(super) fn timed_inference(&self, timed: Timer<'_>) -> Result<f64> {
        let _guard = tch::no_grad_guard();
        let length = self.config.out_length;
        let batch = self.data.select(&self.data.firsts(self.data.windows(Subset::Validation))?, length)?;
        let network = self.evaluated()?;
        timed(&mut || self.roll(&batch, length, &network, |_, _| Ok(())))
    }

    /// Errors of the network over rollouts of `length` steps of a part.
    pub fn errors(&self, part: Subset, length: usize) -> Result<RolloutErrors> {
        let _guard = tch::no_grad_guard();
        let network = self.evaluated()?;
        self.errors_of(part, length, |batch| {
            let mut steps = Vec::with_capacity(length);
            self.roll(batch, length, &network, |prediction, truth| {
                self.interrupt.check()?;
                steps.push(mean_square(prediction, truth)?);
                Ok(())
            })?;
            Ok(steps)
        })
    }

    /// Errors of the last input frame, repeated: the trivial forecast.
    pub fn persistence(&self, part: Subset, length: usize) -> Result<RolloutErrors> {
        let _guard = tch::no_grad_guard();
        let seen = 2 * self.data.shape().count as i64;
        self.errors_of(part, length, |batch| {
            let last = batch.f_narrow(1, seen - 2, 2)?;
            (0..length as i64).map(|step| mean_square(&last, &batch.f_narrow(1, seen + 2 * step, 2)?)).collect()
        })
    }

    /// `errors` gives mean squares `[N]` of a minibatch, one tensor for each step.
    fn errors_of(
        &self,
        part: Subset,
        length: usize,
        errors: impl Fn(&Tensor) -> Result<Vec<Tensor>>,
    ) -> Result<RolloutErrors> {
        let windows = self.data.windows(part);
        let firsts = self.data.firsts(windows)?;
        let mut squared = Vec::new();
        for start in (0..windows.len()).step_by(EVALUATED) {
            let count = EVALUATED.min(windows.len() - start);
            let batch = self.data.select(&firsts.f_narrow(0, start as i64, count as i64)?, length)?;
            squared.push(Tensor::f_stack(&errors(&batch)?, 1)?);
        }
        let squared = Tensor::f_cat(&squared, 0)?.f_view([-1])?.f_to_device(Device::Cpu)?;
        let simulations = windows.iter().map(|rows| rows.simulation).collect();
        Ok(RolloutErrors::new(simulations, length, Vec::<f64>::try_from(squared)?))
    }

    /// The rollout of one window of a part.
    pub fn rollout(&self, part: Subset, window: usize, length: usize) -> Result<Rollout> {
        let _guard = tch::no_grad_guard();
        let rows = self.data.windows(part)[window];
        let batch = self.data.select(&self.data.firsts(&[rows])?, length)?;
        let network = self.evaluated()?;
        let (mut prediction, mut truth) = (Vec::new(), Vec::new());
        let frame = |tensor: &Tensor| -> Result<Vec<f32>> {
            Ok(Vec::try_from(tensor.f_contiguous()?.f_view([-1])?.f_to_kind(Kind::Float)?.f_to_device(Device::Cpu)?)?)
        };
        self.roll(&batch, length, &network, |ours, theirs| {
            prediction.push(frame(ours)?);
            truth.push(frame(theirs)?);
            Ok(())
        })?;
        Ok(Rollout { side: self.data.shape().side, prediction, truth })
    }

    /// ‖W − P(W)‖/‖W‖ over the relaxed layers as √(e_⊥/(e_G + e_⊥)) of the two energies of the penalty; `None` if there are none. For changes
    /// of size P(W) and W − P(W) are not orthogonal, and the two differ. NaN if weights are NaN.
    pub fn relative_distance(&self) -> Result<Option<f64>> {
        let Some((held, rest)) = energies(&*self.network, &self.parameters)? else { return Ok(None) };
        Ok(Some(if rest == 0.0 && held.is_finite() { 0.0 } else { (rest / (held + rest)).sqrt() }))
    }
}

/// The mean square over components and pixels, `[N]` in double precision.
fn mean_square(prediction: &Tensor, truth: &Tensor) -> Result<Tensor> {
    Ok(prediction.f_sub(truth)?.f_square()?.f_mean_dim([1_i64, 2, 3].as_slice(), false, Kind::Double)?)
}

impl Captured for SmokeTask {
    /// First rows `[N]` of the windows.
    fn minibatch(&self, moment: Moment) -> Result<Tensor> {
        let windows = self.data.windows(Subset::Train);
        let firsts = self.order.of(moment.epoch, || {
            let mut random = Random::at(self.seed, &[Purpose::Order as u64, moment.epoch as u64]);
            let order = random.permutation(windows.len());
            self.data.firsts(&order.into_iter().map(|window| windows[window]).collect::<Vec<_>>())
        })?;
        let start = moment.step * self.config.batch;
        let count = self.config.batch.min(windows.len() - start);
        Ok(firsts.f_narrow(0, start as i64, count as i64)?)
    }

    fn loss_of(&self, firsts: &Tensor) -> Result<Tensor> {
        let batch = self.data.select(firsts, self.config.out_length)?;
        let assembled = self.network.assemble(&self.parameters, TRAIN)?;
        let mut terms = Vec::with_capacity(self.config.out_length + 1);
        let network = |frames: &Tensor| Ok(self.network.forward(&self.parameters, &assembled, frames, TRAIN)?);
        self.roll(&batch, self.config.out_length, &network, |prediction, truth| {
            terms.push(prediction.f_mse_loss(truth, tch::Reduction::Mean)?);
            Ok(())
        })?;
        if self.alpha > 0.0
            && let Some(constraint) = self.network.prior(&self.parameters)?
        {
            terms.push(constraint.f_mul_scalar(self.alpha)?.f_square()?);
        }
        Ok(Tensor::f_stack(&terms, 0)?.f_sum(terms[0].kind())?)
    }
}

impl Task for SmokeTask {
    fn parameters(&self) -> &Parameters {
        &self.parameters
    }

    fn parameters_mut(&mut self) -> &mut Parameters {
        &mut self.parameters
    }

    /// The last minibatch of an epoch may be shorter.
    fn steps_per_epoch(&self) -> usize {
        self.data.windows(Subset::Train).len().div_ceil(self.config.batch)
    }

    fn loss(&self, moment: Moment) -> Result<Tensor> {
        self.loss_of(&self.minibatch(moment)?)
    }

    fn captured(&self) -> Result<&dyn Captured, &'static str> {
        Ok(self)
    }

    /// Training and validation: "rmse" and "mse" over the steps of the loss. Test, under "future/" and "domain/": "rmse", "mse",
    /// "persistence_rmse" and "gain" (RMSE of persistence minus "rmse"), with standard errors "rmse_se" and "gain_se". All, where layers are
    /// relaxed: "weights/relative_distance", [`SmokeTask::relative_distance`].
    fn evaluate(&self, split: Split) -> Result<Metrics> {
        let mut metrics = Metrics::new();
        if let Some(distance) = self.relative_distance()? {
            metrics.insert("weights/relative_distance".into(), distance);
        }
        let part = match split {
            Split::Train => Subset::Train,
            Split::Validation => Subset::Validation,
            Split::Test => {
                for part in Subset::TESTS {
                    let errors = self.errors(part, self.config.rollout)?;
                    let persistence = self.persistence(part, self.config.rollout)?;
                    let (gain, gain_error) = errors.gain_over(&persistence);
                    for (metric, value) in [
                        ("rmse", errors.rmse()),
                        ("rmse_se", errors.rmse_error()),
                        ("mse", errors.mse()),
                        ("persistence_rmse", persistence.rmse()),
                        ("gain", gain),
                        ("gain_se", gain_error),
                    ] {
                        metrics.insert(format!("{}/{metric}", part.name()), value);
                    }
                }
                return Ok(metrics);
            }
        };
        let errors = self.errors(part, self.config.out_length)?;
        metrics.extend([("rmse".into(), errors.rmse()), ("mse".into(), errors.mse())]);
        Ok(metrics)
    }

    fn cancel_by(&mut self, interrupt: &Interrupt) {
        self.interrupt = interrupt.clone();
    }

    fn pass_by(&mut self, passes: &Passes) {
        self.passes = passes.clone();
    }

    /// Not by a plan: a relaxed layer assembles its kernel from filters and mixing weights, and P acts on the assembled kernel.
    fn regulariser(&self, penalty: PenaltyConfig) -> Result<Option<Box<dyn Regulariser>>> {
        check(&penalty)?;
        if self.network.energy(&self.parameters, Component::Perp)?.is_none() {
            return Ok(None);
        }
        let (network, strengths) = (Rc::clone(&self.network), [penalty.lambda_g, penalty.lambda_perp]);
        Ok(Some(Box::new(AssembledPenalty { network, strengths })))
    }
}
