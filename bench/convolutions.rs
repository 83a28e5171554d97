//! Overhead of the penalty on training steps of a stack of convolutions with ReLU, from interleaved pairs.

use std::cell::RefCell;
use std::rc::Rc;

use reynolds::penalty::{Form, PenaltyConfig};
use reynolds::random::Random;
use reynolds_torch::optimiser::{Adam, AdamConfig};
use reynolds_torch::tch::{Device, Kind, Tensor};
use reynolds_torch::{Binding, Parameters, Penalty};
use serde::Serialize;

use super::PenaltyBench;
use super::{Clock, Paired};
use reynolds_train::error::Result;

/// Pairs before the measured ones.
const WARMUP: usize = 3;
const LEARNING_RATE: f64 = 1e-6;

/// How the network is trained.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Convolutions {
    pub batch: usize,
    pub side: usize,
    pub pairs: usize,
}

/// Overhead on a training step.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct AddedToStep {
    /// "nothing" (the noise), "squared", "plain", or "tape" (squared, by automatic differentiation layer by layer, for C4).
    pub added: &'static str,
    pub batch: usize,
    pub side: usize,
    #[serde(flatten)]
    pub paired: Paired,
}

enum Added {
    Nothing,
    Flat(Box<Penalty>),
    Tape(PenaltyConfig),
}

struct Network {
    parameters: Parameters,
    images: Tensor,
    layers: usize,
    margin: i64,
}

impl Convolutions {
    /// All rows, measured on one network that trains on.
    pub(super) fn measure(&self, bench: &PenaltyBench, device: Device) -> Result<Vec<AddedToStep>> {
        let mut network = Network::new(bench, *self, device)?;
        let mut builder = Binding::builder(&network.parameters);
        builder.plan(&bench.plan()?)?;
        let binding = Rc::new(builder.build()?);
        let flat = |form: Form| -> Result<Added> {
            Ok(Added::Flat(Box::new(Penalty::new(binding.clone(), bench.config(form))?)))
        };
        let mut rows =
            vec![("nothing", Added::Nothing), ("squared", flat(Form::Squared)?), ("plain", flat(Form::Plain)?)];
        if bench.group == "C4" {
            rows.push(("tape", Added::Tape(bench.config(Form::Squared))));
        }
        let clock = Clock { device };
        let adam = Adam::new(AdamConfig::default(), network.parameters.flat())?;
        let training = RefCell::new((&mut network, adam));
        let step = |added: &Added| {
            let (network, adam) = &mut *training.borrow_mut();
            network.step(adam, added)
        };
        let measured = rows.iter().map(|(name, added)| {
            let paired = clock.paired(WARMUP, self.pairs, || step(&Added::Nothing), || step(added))?;
            Ok(AddedToStep { added: name, batch: self.batch, side: self.side, paired })
        });
        measured.collect()
    }
}

impl Network {
    fn new(bench: &PenaltyBench, sizes: Convolutions, device: Device) -> Result<Self> {
        let mut random = Random::new(1);
        let mut builder = Parameters::builder();
        let scale = (2.0 / (bench.channels * bench.kernel * bench.kernel) as f64).sqrt();
        for layer in 0..bench.layers {
            let numbers: Vec<f64> = (0..bench.layer_weights()).map(|_| scale * random.normal()).collect();
            builder.real(&format!("{layer}.weight"), &bench.shape(), &numbers)?;
            builder.real(&format!("{layer}.bias"), &[bench.channels], &vec![0.0; bench.channels])?;
        }
        let size = [sizes.batch, bench.channels, sizes.side, sizes.side].map(|side| side as i64);
        let images: Vec<f32> = (0..size.iter().product()).map(|_| random.normal() as f32).collect();
        Ok(Self {
            parameters: builder.build(Kind::Float, device)?,
            images: Tensor::f_from_slice(&images)?.f_view(size)?.f_to_device(device)?,
            layers: bench.layers,
            margin: (bench.kernel / 2) as i64,
        })
    }

    fn weights(&self) -> impl Iterator<Item = Result<Tensor>> + '_ {
        (0..self.layers).map(|layer| Ok(self.parameters.get(&format!("{layer}.weight"))?))
    }

    /// The mean square of the output.
    fn loss(&self) -> Result<Tensor> {
        let mut features = self.images.shallow_clone();
        for (layer, weight) in self.weights().enumerate() {
            let bias = self.parameters.get(&format!("{layer}.bias"))?;
            features = features.f_conv2d(&weight?, Some(&bias), [1, 1], [self.margin, self.margin], [1, 1], 1)?;
            if layer + 1 < self.layers {
                features = features.f_relu()?;
            }
        }
        Ok(features.f_square()?.f_mean(Kind::Float)?)
    }

    fn step(&mut self, adam: &mut Adam, added: &Added) -> Result<()> {
        let mut loss = self.loss()?;
        if let Added::Tape(config) = added {
            for weight in self.weights() {
                let weight = weight?;
                let projected = turned_mean(&weight)?;
                let perp =
                    weight.f_sub(&projected)?.f_square()?.f_sum(Kind::Float)?.f_mul_scalar(config.lambda_perp)?;
                let kept = projected.f_square()?.f_sum(Kind::Float)?.f_mul_scalar(config.lambda_g)?;
                loss = loss.f_add(&kept)?.f_add(&perp)?;
            }
        }
        let mut gradient = self.parameters.gradient(&loss)?;
        if let Added::Flat(penalty) = added {
            penalty.add_gradient(self.parameters.flat(), &mut gradient)?;
        }
        Ok(adam.step(self.parameters.flat_mut(), &gradient, LEARNING_RATE)?)
    }
}

/// P of a kernel `[4p, 4q, k, k]` between regular fields of C4: the mean of its four turns.
pub(super) fn turned_mean(weight: &Tensor) -> Result<Tensor> {
    let size = weight.size();
    let fields = weight.f_view([size[0] / 4, 4, size[1] / 4, 4, size[2], size[3]])?;
    let turn =
        |quarter: i64| -> Result<Tensor> { Ok(fields.f_roll([quarter, quarter], [1, 3])?.f_rot90(quarter, [4, 5])?) };
    let sum = turn(0)?.f_add(&turn(1)?)?.f_add(&turn(2)?)?.f_add(&turn(3)?)?;
    Ok(sum.f_div_scalar(4.0)?.f_reshape(size)?)
}
