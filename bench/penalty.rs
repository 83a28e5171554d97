//! The penalty by itself, on a stack of equal convolutions between regular fields: what its gradient and its decoupled steps cost.
//!
//! ```text
//! gradient        W read, gradient read and written:       12 bytes a weight = 1.5 copies, with an index read for each 16
//! squared step    W read and written:                       8 bytes a weight = 1 copy,                                 12
//! plain, target   W read, then read and written:           12 bytes a weight = 1.5 copies,                             20
//! ```
//!
//! A copy of all weights, measured on the same device, moves 8 bytes a weight.

use std::path::Path;
use std::rc::Rc;
use std::time::Instant;

use reynolds::group;
use reynolds::penalty::{Form, PenaltyConfig};
use reynolds::plan::{SymmetryPlan, UniformFields};
use reynolds::random::Random;
use reynolds_checkpoint::Values;
use reynolds_torch::optimiser::{Adam, AdamConfig};
use reynolds_torch::parameters::Entry;
use reynolds_torch::tch::{self, Device, Kind, Tensor};
use reynolds_torch::{Binding, Penalty, device};
use serde::Serialize;

use super::convolutions::{AddedToStep, Convolutions};
use super::decoupled::DecoupledRow;
use super::{Array, Clock, Paired};
use reynolds_train::config::at_least_one;
use reynolds_train::error::{Error, Result};

/// λ_G and λ_⊥; peers/penalty.py has the same.
pub(super) const STRENGTHS: [f64; 2] = [1e-3, 1e-1];
/// Calls before those that are timed.
pub(super) const WARMUP: usize = 3;
/// So small that weights stay what they are.
const LEARNING_RATE: f64 = 1e-9;

#[derive(Debug, Clone, PartialEq)]
pub struct PenaltyBench {
    /// The group, by name: of the plane.
    pub group: String,
    /// Convolutions `[channels, channels, kernel, kernel]`.
    pub layers: usize,
    /// Of each: regular fields of the group.
    pub channels: usize,
    /// Points along a side of a kernel.
    pub kernel: usize,
    /// Their numbers, layer by layer; `None`: random ones.
    pub weights: Option<Vec<f32>>,
    /// Calls that are timed, and pairs of optimiser steps.
    pub repeats: usize,
    /// A network of these layers whose training steps are measured with and without the penalty.
    pub network: Option<Convolutions>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PenaltyBenchRow {
    pub row: &'static str,
    pub who: &'static str,
    pub group: String,
    pub layers: usize,
    pub channels: usize,
    /// Points along a side of a kernel.
    pub kernel: usize,
    pub weights: usize,
    pub device: String,
    /// Processor threads inside an operation.
    pub threads: i32,
    /// Operations on the device that P takes.
    pub operations: usize,
    /// Whether the squared penalty takes one pass instead: by the core's executors on a CPU, by a kernel on a GPU.
    pub one_pass: bool,
    /// From the projector of a layer to P of all of them on the device.
    pub bind_seconds: f64,
    /// The penalty at the weights, squared form.
    pub value: f64,
    /// Median of adding the gradient, squared form: what every training step does.
    pub seconds: f64,
    /// The same with the value, which stays on the device.
    pub with_value: f64,
    /// Median of adding the gradient, plain form.
    pub plain_seconds: f64,
    /// Median of a step of Adam on the same numbers.
    pub adam_seconds: f64,
    /// What the squared form adds to a step of Adam, step by step.
    pub beside_adam: Paired,
    /// Median of a copy of the weights.
    pub copy_seconds: f64,
    /// 12 bytes a weight at the speed of that copy.
    pub floor_seconds: f64,
    /// 16 bytes a weight at the speed of that copy.
    pub indexed_floor_seconds: f64,
    /// The penalty as a step of its own after the optimiser's.
    pub decoupled: Vec<DecoupledRow>,
    /// What penalties add to training steps of a network.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub network: Option<Vec<AddedToStep>>,
}

impl PenaltyBench {
    /// Layers, channels, kernel and weights of the array `weights` `[layers, c, c, k, k]` of an .npz file.
    pub fn with_weights(mut self, path: &Path) -> Result<Self> {
        let array = Array::read(path, "weights")?;
        match array.shape[..] {
            [layers, rows, columns, height, width]
                if rows == columns && height == width && !array.values.is_empty() =>
            {
                (self.layers, self.channels, self.kernel) = (layers, rows, height);
            }
            _ => {
                let expected = "an array \"weights\" [layers, channels, channels, kernel, kernel]";
                return Err(Error::file(path, expected, format!("{:?}", array.shape)));
            }
        }
        self.weights = Some(array.values.to_f32().into_owned());
        Ok(self)
    }

    pub fn layer_weights(&self) -> usize {
        self.channels * self.channels * self.kernel * self.kernel
    }

    /// Measures on `device`; `out` takes the gradient of the squared form as the array `gradient` `[layers, c, c, k, k]` of an .npz file.
    pub fn measure(&self, device: Device, out: Option<&Path>) -> Result<PenaltyBenchRow> {
        at_least_one("repeats", self.repeats)?;
        let weights = self.flat(device)?;
        let (binding, bind_seconds) = self.bind(device)?;
        let penalty = |form| Penalty::new(binding.clone(), self.config(form));
        let (squared, plain) = (penalty(Form::Squared)?, penalty(Form::Plain)?);
        let mut gradient = weights.f_zeros_like()?;
        squared.add_gradient(&weights, &mut gradient)?;
        let value = squared.value(&weights)?.f_double_value(&[])?;
        if let Some(out) = out {
            self.write(&gradient, out)?;
        }
        let (clock, steps) = (Clock { device }, self.repeats);
        // Every clone has the same storage.
        let add =
            |penalty: &Penalty| -> Result<()> { Ok(penalty.add_gradient(&weights, &mut gradient.shallow_clone())?) };
        let seconds = clock.median(WARMUP, steps, || add(&squared))?;
        let with_value = clock.median(WARMUP, steps, || {
            Ok(squared.add_gradient_with_value(&weights, &mut gradient.shallow_clone()).map(drop)?)
        })?;
        let plain_seconds = clock.median(WARMUP, steps, || add(&plain))?;
        let mut copy = weights.f_zeros_like()?;
        let copy_seconds = clock.median(WARMUP, steps, || Ok(copy.f_copy_(&weights)?))?;
        let decoupled = self.decoupled(&binding, &weights, &mut copy, copy_seconds, clock)?;
        drop(copy);
        let adam = std::cell::RefCell::new(Adam::new(AdamConfig::default(), &weights)?);
        let step =
            || -> Result<()> { Ok(adam.borrow_mut().step(&mut weights.shallow_clone(), &gradient, LEARNING_RATE)?) };
        let adam_seconds = clock.median(WARMUP, steps, step)?;
        let beside_adam = clock.paired(WARMUP, steps, step, || {
            add(&squared)?;
            step()
        })?;
        let network = self.network.as_ref().map(|network| network.measure(self, device)).transpose()?;
        Ok(PenaltyBenchRow {
            row: "penalty",
            who: "reynolds",
            group: self.group.clone(),
            layers: self.layers,
            channels: self.channels,
            kernel: self.kernel,
            weights: self.layers * self.layer_weights(),
            device: device::name(device),
            threads: tch::get_num_threads(),
            operations: binding.operations(),
            one_pass: binding.takes_one_pass(),
            bind_seconds,
            value,
            seconds,
            with_value,
            plain_seconds,
            adam_seconds,
            beside_adam,
            copy_seconds,
            floor_seconds: 1.5 * copy_seconds,
            indexed_floor_seconds: 2.0 * copy_seconds,
            decoupled,
            network,
        })
    }

    pub(super) fn config(&self, form: Form) -> PenaltyConfig {
        let [lambda_g, lambda_perp] = STRENGTHS;
        PenaltyConfig { lambda_g, lambda_perp, form, ..PenaltyConfig::default() }
    }

    /// Every channel a part of a regular field.
    pub(super) fn plan(&self) -> Result<SymmetryPlan> {
        let group = group::parse(&self.group).map_err(Error::argument("--group"))?;
        SymmetryPlan::uniform(&group, UniformFields::Regular).map_err(Error::argument("--group"))
    }

    /// `[out, in, k, k]`.
    pub(super) fn shape(&self) -> [usize; 4] {
        [self.channels, self.channels, self.kernel, self.kernel]
    }

    /// All weights, one layer after the other.
    pub(super) fn flat(&self, device: Device) -> Result<Tensor> {
        at_least_one("layers", self.layers)?;
        let scale = (2.0 / (self.channels * self.kernel * self.kernel) as f64).sqrt();
        let mut random = Random::new(1);
        let numbers = || (0..self.layers * self.layer_weights()).map(|_| (scale * random.normal()) as f32).collect();
        let numbers: Vec<f32> = self.weights.clone().unwrap_or_else(numbers);
        Ok(Tensor::f_from_slice(&numbers)?.f_to_device(device)?)
    }

    /// P of all layers on the device, and how long that took. The projector of one layer, which all share, is derived before.
    pub(super) fn bind(&self, device: Device) -> Result<(Rc<Binding>, f64)> {
        let resolved = self.plan()?.resolve(&[("convolution".into(), self.shape().to_vec())])?;
        let Some(layer) = resolved.layers.first() else {
            let reason = resolved.untyped.first().map_or("", |untyped| untyped.reason.as_str());
            return Err(Error::config("channels", format!("regular fields of {}", self.group), reason));
        };
        let start = Instant::now();
        let len = self.layer_weights();
        let entry =
            |k: usize| Entry { name: k.to_string(), shape: self.shape().to_vec(), complex: false, start: k * len };
        let entries: Vec<Entry> = (0..self.layers).map(entry).collect();
        let mut builder = Binding::builder_over(&entries, Kind::Float, device);
        for entry in &entries {
            builder.projector(&entry.name, &layer.projector)?;
        }
        let binding = builder.build()?;
        Ok((Rc::new(binding), start.elapsed().as_secs_f64()))
    }

    fn write(&self, gradient: &Tensor, out: &Path) -> Result<()> {
        let shape = [self.layers].into_iter().chain(self.shape()).collect();
        let values = Values::F32(Vec::<f32>::try_from(gradient)?.into());
        Array { shape, values }.write(out, "gradient")
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::convolutions::turned_mean;

    pub(crate) fn bench(layers: usize) -> PenaltyBench {
        PenaltyBench {
            group: "C4".into(),
            layers,
            channels: 8,
            kernel: 3,
            weights: None,
            repeats: 2,
            network: Some(Convolutions { batch: 1, side: 4, pairs: 2 }),
        }
    }

    #[test]
    fn value_and_gradient_are_those_of_the_mean_of_four_turns() {
        let bench = bench(3);
        let folder = tempfile::tempdir().unwrap();
        let out = folder.path().join("gradient.npz");
        let row = bench.measure(Device::Cpu, Some(&out)).unwrap();
        let weights = bench.flat(Device::Cpu).unwrap().view([3, 8, 8, 3, 3]);
        let projected = Tensor::stack(&(0..3).map(|k| turned_mean(&weights.get(k)).unwrap()).collect::<Vec<_>>(), 0);
        let perp = &weights - &projected;
        let [g, p] = STRENGTHS;
        let energy = |part: &Tensor| part.square().sum(Kind::Double).double_value(&[]);
        let value = g * energy(&projected) + p * energy(&perp);
        assert!((row.value - value).abs() < 1e-5 * value, "{} {value}", row.value);
        let found = Array::read(&out, "gradient").unwrap();
        assert_eq!(found.shape, [3, 8, 8, 3, 3]);
        let expected = (2.0 * g * projected + 2.0 * p * perp).view([-1]);
        let difference = (Tensor::from_slice(&found.values.to_f32()) - &expected).abs().max().double_value(&[]);
        assert!(difference < 1e-6 * expected.abs().max().double_value(&[]), "{difference}");
    }

    #[test]
    fn layers_cost_no_more_operations_and_the_floor_is_in_copies() {
        let [one, three] = [1, 3].map(|layers| bench(layers).measure(Device::Cpu, None).unwrap());
        assert_eq!(one.operations, three.operations);
        assert_eq!([one.weights, three.weights], [576, 1728]);
        assert_eq!((one.floor_seconds, one.indexed_floor_seconds), (1.5 * one.copy_seconds, 2.0 * one.copy_seconds));
        let steps: Vec<_> = three.decoupled.iter().map(|row| (row.step, row.floor_bytes)).collect();
        assert_eq!(steps, [("squared", 8), ("plain", 12), ("target", 12)]);
        for row in &three.decoupled {
            assert_eq!(row.floor_seconds, f64::from(row.floor_bytes) / 8.0 * three.copy_seconds);
            // What kernels do is nothing of a CPU.
            assert!((row.launches, row.indexed_bytes) == (None, None) && row.operations_seconds.is_some(), "{row:?}");
        }
        let names: Vec<&str> = one.network.iter().flatten().map(|added| added.added).collect();
        assert_eq!(names, ["nothing", "squared", "plain", "tape"]);
    }
}
