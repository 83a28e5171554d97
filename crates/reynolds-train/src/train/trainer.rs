//! The state of the loop, and what it does in a step.

mod epoch;

use reynolds_torch::Parameters;
use reynolds_torch::optimiser::Adam;
use reynolds_torch::parametrisation::{Parametrisation, Trained};
use reynolds_torch::tch::{Kind, Tensor};

use crate::config::{PenaltySettings, TrainConfig};
use crate::error::{Error, Result};
use crate::journal::{Progress, Snapshot, Weights};
use crate::passes::Passes;
use crate::regulariser::Regularisation;
use crate::task::{Metrics, Moment, Task};
use crate::train::replay::{Replay, captured};

/// The loss of a minibatch of a step.
type Loss<'a> = dyn Fn(&dyn Task, usize) -> Result<Tensor> + 'a;

/// Added to the norm that clipping divides by, as in PyTorch.
const CLIP_EPSILON: f64 = 1e-6;

/// The state of the loop beside the weights, which are the task's.
pub struct Trainer<'a> {
    pub(super) config: &'a TrainConfig,
    penalty: &'a PenaltySettings,
    regularisation: Option<Regularisation>,
    trained: Trained,
    optimiser: Adam,
    pub(super) progress: Progress,
    /// Minibatches in an epoch.
    minibatches: usize,
    /// Sum of the losses of this epoch, 0-d in double precision.
    loss_sum: Tensor,
    /// Captured steps, on CUDA; or why there are none, until it is said.
    replay: Result<Replay, Option<String>>,
    /// Captured passes of evaluations.
    passes: Passes,
    best_weights: Option<Weights>,
    /// The last epoch that was evaluated in this session, and its validation metrics.
    validated: Option<(usize, Metrics)>,
}

impl<'a> Trainer<'a> {
    /// The loop before its first step; refuses settings that the task cannot be trained with.
    pub fn new(task: &mut dyn Task, config: &'a TrainConfig, penalty: &'a PenaltySettings) -> Result<Self> {
        config.check_device(task.parameters().device())?;
        let minibatches = task.steps_per_epoch();
        if minibatches == 0 {
            return Err(Error::config("data", "at least one minibatch an epoch", "none"));
        }
        // Settings are checked also where no strength makes them act.
        let regularisation = match Regularisation::new(task, penalty)? {
            None if !(penalty.is_zero() && penalty.per_layer.is_empty()) => return Err(penalty.not_applicable()),
            regularisation => regularisation.filter(|_| !penalty.is_zero()),
        };
        let parametrisation = config.parametrisation;
        let free = parametrisation.kind == Parametrisation::Free;
        // Deriving projectors takes as long as some steps.
        let binding = if free { None } else { task.binding()? };
        if binding.is_none() && !free {
            let found = format!("\"{:?}\"", parametrisation.kind).to_lowercase();
            let expected = "\"free\": this model has no regularised parameters";
            return Err(Error::config("train.parametrisation.kind", expected, found));
        }
        let replay = match config.graph && task.parameters().device().is_cuda() {
            true => Replay::new(task).map_err(Some),
            false => Err(None),
        };
        let passes = if config.graph { Passes::on(task.parameters().device()) } else { Passes::default() };
        task.pass_by(&passes);
        let parameters = task.parameters_mut();
        let trained = Trained::new(parametrisation, parameters, binding)?;
        Ok(Self {
            config,
            penalty,
            regularisation,
            optimiser: Adam::new(config.optimiser, trained.theta(parameters))?,
            trained,
            progress: Progress::default(),
            minibatches,
            loss_sum: Tensor::f_zeros([0_i64; 0], (Kind::Double, parameters.device()))?,
            replay,
            passes,
            best_weights: None,
            validated: None,
        })
    }

    pub(super) fn restore(&mut self, task: &mut dyn Task, snapshot: &Snapshot) -> Result<()> {
        let parameters = task.parameters_mut();
        self.trained.restore(snapshot.theta.as_ref().unwrap_or(&snapshot.weights.flat), parameters)?;
        parameters.assign_statistics(&snapshot.weights.statistics)?;
        self.optimiser.restore(&snapshot.first, &snapshot.second, snapshot.steps)?;
        if let Some(regularisation) = &mut self.regularisation {
            regularisation.restore(&snapshot.penalty, snapshot.steps)?;
        }
        self.progress = snapshot.progress.clone();
        let _ = self.loss_sum.f_fill_(snapshot.progress.loss_sum)?;
        self.best_weights = snapshot.best.as_ref().map(Weights::shallow_clone);
        self.validated = None;
        Ok(())
    }

    /// One step of the optimiser on the task it was made for; does not synchronise, unless it is captured in a CUDA graph.
    pub fn step(&mut self, task: &mut dyn Task) -> Result<()> {
        let (lambda_perp, rate) = (self.lambda_perp_at(self.progress.step), self.rate_at(self.progress.step));
        if let Some(regularisation) = &mut self.regularisation {
            regularisation.prepare(lambda_perp, rate)?;
        }
        self.optimiser.prepare(rate)?;
        let first = self.progress.step * self.config.accumulate;
        let last = (first + self.config.accumulate).min(self.minibatches);
        let moment = |step: usize| Moment { epoch: self.progress.epoch, step };
        let moments: Vec<Moment> = (first..last).map(moment).collect();
        match std::mem::replace(&mut self.replay, Err(None)) {
            Ok(mut replay) => {
                let baked = self.regularisation.as_ref().map_or([0.0; 2], |all| all.baked(lambda_perp, rate));
                let done = replay.step(task, &moments, baked, &mut |task, inputs| {
                    self.prepared_step(task, inputs.len(), &|task, nth| captured(task).loss_of(&inputs[nth]))
                });
                self.replay = done?.map_or(Ok(replay), |why| Err(Some(why)));
            }
            Err(why) => {
                self.replay = Err(why);
                self.prepared_step(task, moments.len(), &|task, nth| task.loss(moments[nth]))?;
            }
        }
        self.progress.step += 1;
        Ok(())
    }

    /// Steps that were replayed from a CUDA graph so far.
    pub fn replayed(&self) -> usize {
        self.replay.as_ref().map_or(0, Replay::replays)
    }

    /// Why steps or passes of evaluations are not captured in a CUDA graph where that was asked for; once each.
    pub fn not_captured(&mut self) -> Option<String> {
        let why = self.replay.as_mut().err().and_then(Option::take).map(|why| ("steps", why));
        let (what, why) = why.or_else(|| self.passes.not_captured().map(|why| ("evaluations", why)))?;
        Some(format!("{what} are not captured in a CUDA graph: {why}"))
    }

    /// The operations of a step, whose numbers are prepared, with so many minibatches. What it does to the host is lost when it is replayed.
    fn prepared_step(&mut self, task: &mut dyn Task, minibatches: usize, loss: &Loss<'_>) -> Result<()> {
        let mut gradient = self.accumulated_gradient(task, minibatches, loss)?;
        let parameters = task.parameters_mut();
        if let Some(regularisation) = &mut self.regularisation {
            regularisation.add_gradient(parameters, &mut gradient)?;
        }
        let mut gradient = self.trained.pull_back(gradient)?;
        if self.config.clip > 0.0 {
            clip(&mut gradient, self.config.clip)?;
        }
        self.optimiser.step_prepared(self.trained.theta_mut(parameters), &gradient)?;
        self.trained.refresh(parameters)?;
        match &mut self.regularisation {
            Some(regularisation) => regularisation.after_step(parameters.flat_mut()),
            None => Ok(()),
        }
    }

    /// The mean gradient `[len]` over the minibatches of this step; the last step of an epoch may have fewer.
    fn accumulated_gradient(&mut self, task: &dyn Task, minibatches: usize, loss: &Loss<'_>) -> Result<Tensor> {
        let mut sum: Option<Tensor> = None;
        for nth in 0..minibatches {
            let loss = loss(task, nth)?;
            let gradient = task.parameters().gradient(&loss)?;
            let _ = self.loss_sum.f_add_(&loss.f_detach()?.f_to_kind(Kind::Double)?)?;
            sum = Some(match sum {
                Some(mut sum) => sum.f_add_(&gradient)?,
                None => gradient,
            });
        }
        let mut sum = sum.expect("an epoch has at least one minibatch");
        Ok(if minibatches > 1 { sum.f_div_scalar_(minibatches as f64)? } else { sum })
    }

    /// The current state; shares its tensors.
    pub(super) fn snapshot(&self, parameters: &Parameters) -> Snapshot {
        let (first, second, steps) = self.optimiser.state();
        Snapshot {
            progress: self.progress.clone(),
            weights: Weights::of(parameters),
            theta: (!self.trained.is_free()).then(|| self.trained.theta(parameters).shallow_clone()),
            first: first.shallow_clone(),
            second: second.shallow_clone(),
            steps,
            best: self.best_weights.as_ref().map(Weights::shallow_clone),
            penalty: self.regularisation.as_ref().map(Regularisation::state).unwrap_or_default(),
        }
    }

    /// Optimiser steps in an epoch.
    fn steps_per_epoch(&self) -> usize {
        self.minibatches.div_ceil(self.config.accumulate)
    }

    fn minibatches_done(&self) -> usize {
        (self.progress.step * self.config.accumulate).min(self.minibatches)
    }

    /// λ_⊥ at a step of this epoch.
    fn lambda_perp_at(&self, step: usize) -> f64 {
        self.penalty.lambda_perp_at(self.progress.epoch as f64 + step as f64 / self.steps_per_epoch() as f64)
    }

    /// The learning rate at a step of this epoch.
    fn rate_at(&self, step: usize) -> f64 {
        let Progress { epoch, .. } = self.progress;
        let total = epoch * self.steps_per_epoch() + step;
        self.config.schedule.rate(self.config.learning_rate, epoch, self.config.epochs, total)
    }

    pub(super) fn steps_done(&self) -> usize {
        self.progress.epoch * self.steps_per_epoch() + self.progress.step
    }

    pub(super) fn steps_in_all(&self) -> usize {
        self.config.epochs * self.steps_per_epoch()
    }

    pub(super) fn is_over(&self) -> bool {
        self.progress.epoch >= self.config.epochs || self.progress.stopped_early
    }

    pub(super) fn epoch_is_over(&self) -> bool {
        self.progress.step >= self.steps_per_epoch()
    }

    /// Whether the loss is to be checked now.
    pub(super) fn look_is_due(&self) -> bool {
        self.config.look_every > 0 && self.progress.step.is_multiple_of(self.config.look_every) && !self.epoch_is_over()
    }

    pub(super) fn save_is_due(&self) -> bool {
        self.is_over() || self.progress.epoch.is_multiple_of(self.config.checkpoint_every)
    }
}

/// Scales a gradient `[len]` in place so that its Euclidean norm is at most `largest`.
fn clip(gradient: &mut Tensor, largest: f64) -> Result<()> {
    let norm = gradient.f_norm()?.f_add_scalar(CLIP_EPSILON)?;
    let factor = norm.f_reciprocal()?.f_mul_scalar(largest)?.f_clamp_max(1.0)?;
    let _ = gradient.f_mul_(&factor)?;
    Ok(())
}
