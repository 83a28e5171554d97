//! What the loop does at a check of the loss, after an epoch and at the end: evaluation, selection, early stopping.

use reynolds_torch::tch::{self, Kind, Tensor};

use super::Trainer;
use crate::config::Selection;
use crate::error::{Error, Result};
use crate::journal::{Journal, Progress, Weights};
use crate::metrics::{Best, Record, Summary, prefixed};
use crate::regulariser::Regularisation;
use crate::task::{Metrics, Split, Task};

impl Trainer<'_> {
    /// Checks that the task has the watched metrics; evaluates once.
    pub(crate) fn check_metric(&self, task: &dyn Task) -> Result<()> {
        match self.config.early_stopping.metric.is_empty() {
            true => Ok(()),
            false => self.watched(&evaluate(task, Split::Validation)?).map(drop),
        }
    }

    /// The watched metric, and the one that decides ties.
    fn watched(&self, metrics: &Metrics) -> Result<(f64, Option<f64>)> {
        let stopping = &self.config.early_stopping;
        let value = watched(metrics, "metric", &stopping.metric)?;
        let tie = (!stopping.ties.is_empty()).then(|| watched(metrics, "ties", &stopping.ties));
        Ok((value, tie.transpose()?))
    }

    /// Synchronises, checks that everything is finite, and returns the mean loss of this epoch and the current penalty.
    pub(in crate::train) fn look(&mut self, task: &dyn Task, journal: &dyn Journal) -> Result<(f64, Option<f64>)> {
        let parameters = task.parameters();
        let (_, second, _) = self.optimiser.state();
        let weights = zero_if_finite(parameters.flat())?;
        let statistics = zero_if_finite(parameters.statistics())?;
        // With the λ_⊥ of the last step: a resumed run has not set it.
        let lambda_perp = self.lambda_perp_at(self.progress.step.saturating_sub(1));
        let mut penalty = None;
        if let Some(regularisation) = &mut self.regularisation {
            regularisation.set_lambda_perp(lambda_perp)?;
            penalty = regularisation.value(parameters)?;
        }
        let (zero, penalised) = (self.loss_sum.f_zeros_like()?, penalty.is_some());
        let penalty = penalty.unwrap_or(zero);
        let numbers = [&self.loss_sum, &weights, &penalty, &zero_if_finite(second)?, &statistics];
        let numbers = Tensor::f_stack(&numbers, 0)?;
        let numbers = Vec::<f64>::try_from(&numbers)?;
        self.progress.loss_sum = numbers[0];
        let quantity = match numbers[..] {
            [loss, ..] if !loss.is_finite() => "the loss",
            [_, weights, ..] if weights != 0.0 => "a weight",
            // An infinite one is larger than any number; gradients tell whether the step was.
            [_, _, penalty, ..] if penalty.is_nan() => "the penalty",
            [_, _, _, second, _] if second != 0.0 => "the square of a gradient",
            [.., statistics] if statistics != 0.0 => "a running statistic",
            _ => {
                let loss = self.progress.loss_sum / self.minibatches_done().max(1) as f64;
                return Ok((loss, penalised.then_some(numbers[2])));
            }
        };
        Err(self.not_finite(quantity, journal))
    }

    fn not_finite(&self, quantity: &str, journal: &dyn Journal) -> Error {
        let checkpoint = match journal.last_saved() {
            Some(place) => format!("the last good checkpoint is {place}"),
            None => "there is no checkpoint yet".into(),
        };
        Error::NotFinite { epoch: self.progress.epoch + 1, quantity: quantity.into(), checkpoint }
    }

    /// Reads the loss, evaluates if due, and moves on to the next epoch.
    pub(in crate::train) fn end_epoch(&mut self, task: &dyn Task, journal: &dyn Journal) -> Result<Record> {
        let (loss, penalty) = self.look(task, journal)?;
        let last_step = self.progress.step - 1;
        let rate = self.rate_at(last_step);
        let mut values = Metrics::from([("train/loss".into(), loss), ("learning_rate".into(), rate)]);
        if let Some(penalty) = penalty {
            values.insert("penalty".into(), penalty);
            values.insert("lambda_perp".into(), self.lambda_perp_at(last_step));
        }
        if let Some(regularisation) = &self.regularisation {
            values.extend(regularisation.metrics(task.parameters().flat(), rate)?);
        }
        let epoch = self.progress.epoch + 1;
        if epoch.is_multiple_of(self.config.evaluate_every) || epoch == self.config.epochs {
            let metrics = evaluate(task, Split::Validation)?;
            self.select(task, &metrics, journal)?;
            self.validated = Some((epoch, metrics.clone()));
            values.extend(prefixed(Split::Validation, metrics));
        }
        let kept = std::mem::take(&mut self.progress);
        self.progress = Progress { epoch, step: 0, loss_sum: 0.0, ..kept };
        let _ = self.loss_sum.f_zero_()?;
        Ok(Record { epoch, step: self.steps_done(), values })
    }

    /// Keeps the weights if they are the best so far; decides on early stopping.
    fn select(&mut self, task: &dyn Task, metrics: &Metrics, journal: &dyn Journal) -> Result<()> {
        let stopping = &self.config.early_stopping;
        if stopping.metric.is_empty() {
            return Ok(());
        }
        let (value, tie) = self.watched(metrics)?;
        for (number, name) in [(Some(value), &stopping.metric), (tie, &stopping.ties)] {
            if number.is_some_and(|number| !number.is_finite()) {
                return Err(self.not_finite(&format!("validation/{name}"), journal));
            }
        }
        if self.progress.best.is_none_or(|best| stopping.beats(value, tie, &best)) {
            self.progress.best = Some(Best { epoch: self.progress.epoch + 1, value, tie });
            self.progress.stale = 0;
            self.best_weights = Some(Weights::of(task.parameters()).copied()?);
        } else {
            self.progress.stale += 1;
        }
        stopping.remember(&mut self.progress.recent, value);
        let Progress { epoch, stale, ref recent, .. } = self.progress;
        self.progress.stopped_early = stopping.is_time(epoch + 1, stale, recent);
        Ok(())
    }

    /// Evaluates the last and the best weights, and leaves the selected ones in the task.
    pub(in crate::train) fn summary(&self, task: &mut dyn Task) -> Result<Summary> {
        let validated = self.validated.as_ref().filter(|(epoch, _)| *epoch == self.progress.epoch);
        let last_metrics = final_metrics(task, validated.map(|(_, metrics)| metrics.clone()))?;
        let mut best_metrics = Metrics::new();
        if self.progress.best.is_some_and(|best| best.epoch == self.progress.epoch) {
            best_metrics.clone_from(&last_metrics);
        } else if let Some(best) = &self.best_weights {
            let last = Weights::of(task.parameters()).copied()?;
            best.assign_to(task.parameters_mut())?;
            best_metrics = final_metrics(task, None)?;
            if self.config.weights == Selection::Last {
                last.assign_to(task.parameters_mut())?;
            }
        }
        let mut exact_since =
            self.regularisation.as_ref().map_or(Ok(Default::default()), Regularisation::exact_since)?;
        // Of the selected weights: those of an earlier epoch may not have been exact yet.
        if let (Selection::Best, Some(best)) = (self.config.weights, self.progress.best) {
            exact_since.retain(|_, since| *since <= best.epoch * self.steps_per_epoch());
        }
        Ok(Summary {
            epochs: self.progress.epoch,
            steps: self.steps_done(),
            stopped_early: self.progress.stopped_early,
            weights: self.config.weights,
            best: self.progress.best,
            last_metrics,
            best_metrics,
            exact_since,
        })
    }
}

/// The metric that `train.early_stopping` names under `key`.
fn watched(metrics: &Metrics, key: &str, name: &str) -> Result<f64> {
    metrics.get(name).copied().ok_or_else(|| {
        let names: Vec<_> = metrics.keys().map(|name| format!("\"{name}\"")).collect();
        let expected = format!("one of {} (or \"\" for none)", names.join(", "));
        Error::config(format!("train.early_stopping.{key}"), expected, format!("\"{name}\""))
    })
}

fn evaluate(task: &dyn Task, split: Split) -> Result<Metrics> {
    let _guard = tch::no_grad_guard();
    task.evaluate(split)
}

/// Metrics of the current weights; validates unless the result is given.
fn final_metrics(task: &dyn Task, validated: Option<Metrics>) -> Result<Metrics> {
    let validated = validated.map_or_else(|| evaluate(task, Split::Validation), Ok)?;
    let mut metrics: Metrics = prefixed(Split::Validation, validated).collect();
    metrics.extend(prefixed(Split::Test, evaluate(task, Split::Test)?));
    Ok(metrics)
}

/// 0 if all numbers of a tensor are finite, else NaN, as a 0-d tensor. x − x is 0 iff x is finite; `isfinite` takes ten times as long.
fn zero_if_finite(tensor: &Tensor) -> Result<Tensor> {
    Ok(tensor.f_sub(tensor)?.f_sum(tensor.kind())?.f_to_kind(Kind::Double)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn infinities_are_found_and_large_numbers_are_none() {
        let zero = |numbers: &[f32]| zero_if_finite(&Tensor::from_slice(numbers)).unwrap().double_value(&[]) == 0.0;
        assert!(zero(&[]) && zero(&[0.0, -1.0, f32::MIN_POSITIVE]) && zero(&[f32::MAX, f32::MAX, f32::MIN]));
        for bad in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
            assert!(!zero(&[bad]) && !zero(&[1.0, bad, 2.0]));
        }
        assert!(!zero(&[f32::INFINITY, f32::NEG_INFINITY]));
    }
}
