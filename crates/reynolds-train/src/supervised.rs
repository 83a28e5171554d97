//! An experiment in one trait: examples with targets, a network, a loss and metrics.
//!
//! ```text
//! data(split) ─► inputs, targets   [N, …] each      network ─► layers on the flat parameters      loss(outputs, targets)
//! ```
//!
//! The library moves the data to the device, draws the minibatches of an epoch from the seed, and evaluates every split. On CUDA steps and
//! evaluations are captured in graphs: `outputs` and `loss` depend on nothing but tensors. What does not fit here implements [`Experiment`] and [`Task`] itself.
//!
//! ```
//! use reynolds_train::prelude::*;
//! use reynolds_train::reynolds_torch::layers::Linear;
//! use serde::{Deserialize, Serialize};
//!
//! #[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
//! struct Sums { noise: f64 }
//! impl Settings for Sums {}
//!
//! impl Supervised for Sums {
//!     const NAME: &'static str = "sums";
//!     type Network = Linear;
//!     fn data(&self, _: Split, random: &mut Random) -> Result<(Tensor, Tensor)> {
//!         let inputs: Vec<f32> = (0..60).map(|_| random.normal() as f32).collect();
//!         let inputs = Tensor::from_slice(&inputs).view([20, 3]);
//!         let targets = inputs.sum_dim_intlist(1, true, Kind::Float) + self.noise * random.normal();
//!         Ok((inputs, targets))
//!     }
//!     fn network(&self, builder: &mut Builder, random: &mut Random) -> Result<Linear> {
//!         Ok(Linear::new(builder, "sum", 3, 1, random)?)
//!     }
//!     fn outputs(network: &Linear, parameters: &Parameters, inputs: &Tensor) -> Result<Tensor> {
//!         Ok(network.forward(parameters, inputs)?)
//!     }
//!     fn loss(outputs: &Tensor, targets: &Tensor) -> Result<Tensor> {
//!         Ok(outputs.f_mse_loss(targets, Reduction::Mean)?)
//!     }
//! }
//! // fn main() -> std::process::ExitCode { reynolds_train::main([supervised::<Sums>()]) }
//! assert_eq!(supervised::<Sums>().name(), "sums");
//! ```

use std::marker::PhantomData;

use reynolds::plan::SymmetryPlan;
use reynolds::random::Random;
use reynolds_torch::Parameters;
use reynolds_torch::parameters::Builder;
use reynolds_torch::tch::{Device, Kind, Tensor};

use crate::config::{RunConfig, Settings};
use crate::error::{Error, Result};
use crate::experiment::{AnyExperiment, Experiment};
use crate::passes::Passes;
use crate::task::{Captured, Metrics, Moment, Split, Task};

/// Settings that say what the data are, with a network that learns them.
pub trait Supervised: Settings + Default + Send + Sync + 'static {
    /// Name on the command line.
    const NAME: &'static str;

    /// Examples in a minibatch; the last one of an epoch may have fewer. 0: all in one.
    const BATCH: usize = 0;

    /// The layers; their numbers lie in the [`Parameters`].
    type Network;

    /// All settings of a run with nothing given.
    fn defaults() -> RunConfig<Self> {
        RunConfig::new(Self::NAME, Self::default())
    }

    /// Inputs and targets of a split, `[N, …]` each.
    fn data(&self, split: Split, random: &mut Random) -> Result<(Tensor, Tensor)>;

    /// Adds the parameters to `builder`.
    fn network(&self, builder: &mut Builder, random: &mut Random) -> Result<Self::Network>;

    /// Outputs of the network for inputs `[N, …]`, on the tape.
    fn outputs(network: &Self::Network, parameters: &Parameters, inputs: &Tensor) -> Result<Tensor>;

    /// The loss without the penalty: a 0-d tensor on the tape.
    fn loss(outputs: &Tensor, targets: &Tensor) -> Result<Tensor>;

    /// Metrics beside "loss".
    fn metrics(_outputs: &Tensor, _targets: &Tensor) -> Result<Metrics> {
        Ok(Metrics::new())
    }

    /// Which parameters are regularised towards which group; `None` if none is.
    fn plan(&self) -> Result<Option<SymmetryPlan>> {
        Ok(None)
    }
}

/// The experiment of a [`Supervised`], for [`crate::main`].
pub fn supervised<S: Supervised>() -> AnyExperiment {
    Whole::<S>(PhantomData).into()
}

struct Whole<S>(PhantomData<S>);

/// What a run draws random numbers for.
enum Purpose {
    Network,
    Data,
    Order,
}

impl<S: Supervised> Experiment for Whole<S> {
    type Settings = S;
    type Task = SupervisedTask<S>;

    fn name(&self) -> &'static str {
        S::NAME
    }

    fn defaults(&self) -> RunConfig<S> {
        S::defaults()
    }

    fn task(&self, config: &RunConfig<S>, device: Device) -> Result<SupervisedTask<S>> {
        let (settings, seed) = (config.settings.clone(), config.seed);
        let mut builder = Parameters::builder();
        let network = settings.network(&mut builder, &mut Random::at(seed, &[Purpose::Network as u64]))?;
        let part = |split: Split| -> Result<(Tensor, Tensor)> {
            let place = [Purpose::Data as u64, split as u64];
            let (inputs, targets) = settings.data(split, &mut Random::at(seed, &place))?;
            let [count, others] = [&inputs, &targets].map(|tensor| tensor.size().first().copied().unwrap_or(0));
            if count == 0 || count != others {
                let expected = format!("as many targets as inputs, at least one of each ({})", split.name());
                return Err(Error::config("data", expected, format!("{count} inputs and {others} targets")));
            }
            Ok((inputs.f_to_device(device)?, targets.f_to_device(device)?))
        };
        let data = [part(Split::Train)?, part(Split::Validation)?, part(Split::Test)?];
        let (parameters, passes) = (builder.build(Kind::Float, device)?, Passes::default());
        Ok(SupervisedTask { parameters, network, data, settings, seed, passes })
    }
}

/// The task of a [`Supervised`].
struct SupervisedTask<S: Supervised> {
    settings: S,
    seed: u64,
    parameters: Parameters,
    network: S::Network,
    /// Inputs and targets of training, validation and test.
    data: [(Tensor, Tensor); 3],
    passes: Passes,
}

impl<S: Supervised> SupervisedTask<S> {
    /// Examples of training.
    fn count(&self) -> usize {
        self.data[0].0.size()[0] as usize
    }

    /// The training examples of a minibatch: a permutation of the epoch, drawn from the seed.
    fn chosen(&self, moment: Moment) -> Vec<i64> {
        let mut random = Random::at(self.seed, &[Purpose::Order as u64, moment.epoch as u64]);
        let order = random.permutation(self.count());
        let chosen = order.chunks(S::BATCH).nth(moment.step).unwrap_or_default();
        chosen.iter().map(|&number| number as i64).collect()
    }

    fn outputs(&self, inputs: &Tensor) -> Result<Tensor> {
        S::outputs(&self.network, &self.parameters, inputs)
    }
}

impl<S: Supervised> Captured for SupervisedTask<S> {
    /// Numbers of the examples `[n]`; none where all are in one minibatch.
    fn minibatch(&self, moment: Moment) -> Result<Tensor> {
        let chosen = if S::BATCH == 0 { vec![] } else { self.chosen(moment) };
        Ok(Tensor::f_from_slice(&chosen)?.f_to_device(self.parameters.device())?)
    }

    fn loss_of(&self, chosen: &Tensor) -> Result<Tensor> {
        let (inputs, targets) = &self.data[0];
        if S::BATCH == 0 {
            return S::loss(&self.outputs(inputs)?, targets);
        }
        S::loss(&self.outputs(&inputs.f_index_select(0, chosen)?)?, &targets.f_index_select(0, chosen)?)
    }
}

impl<S: Supervised> Task for SupervisedTask<S> {
    fn parameters(&self) -> &Parameters {
        &self.parameters
    }

    fn parameters_mut(&mut self) -> &mut Parameters {
        &mut self.parameters
    }

    fn steps_per_epoch(&self) -> usize {
        if S::BATCH == 0 { 1 } else { self.count().div_ceil(S::BATCH) }
    }

    fn loss(&self, moment: Moment) -> Result<Tensor> {
        self.loss_of(&self.minibatch(moment)?)
    }

    fn captured(&self) -> Result<&dyn Captured, &'static str> {
        Ok(self)
    }

    fn evaluate(&self, split: Split) -> Result<Metrics> {
        let (inputs, targets) = &self.data[split as usize];
        let pass = self.passes.of("outputs", &[])?;
        let outputs = pass.run(&[inputs.shallow_clone()], |_, inputs| Ok(vec![self.outputs(&inputs[0])?]))?;
        let outputs = &outputs[0];
        let mut metrics = S::metrics(outputs, targets)?;
        metrics.insert("loss".into(), S::loss(outputs, targets)?.f_double_value(&[])?);
        Ok(metrics)
    }

    fn pass_by(&mut self, passes: &Passes) {
        self.passes = passes.clone();
    }

    fn plan(&self) -> Result<Option<SymmetryPlan>> {
        self.settings.plan()
    }
}

#[cfg(test)]
mod tests {
    use serde::{Deserialize, Serialize};

    use super::*;

    /// Counts: example n has the input n and the target 2n.
    #[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
    struct Count {
        /// Targets left out.
        missing: usize,
    }
    impl Settings for Count {}

    impl Supervised for Count {
        const NAME: &'static str = "count";
        const BATCH: usize = 4;
        type Network = ();

        fn data(&self, split: Split, _: &mut Random) -> Result<(Tensor, Tensor)> {
            let numbers = Tensor::arange(if split == Split::Train { 10 } else { 3 }, (Kind::Float, Device::Cpu));
            let targets = &numbers * 2.0;
            Ok((numbers, targets.narrow(0, 0, targets.size()[0] - self.missing as i64)))
        }

        fn network(&self, builder: &mut Builder, _: &mut Random) -> Result<()> {
            Ok(builder.real("factor", &[1], &[1.0])?)
        }

        fn outputs((): &(), parameters: &Parameters, inputs: &Tensor) -> Result<Tensor> {
            Ok(inputs * parameters.get("factor")?)
        }

        /// The sum of what is left: n for an example at the factor 1.
        fn loss(outputs: &Tensor, targets: &Tensor) -> Result<Tensor> {
            Ok((targets - outputs).sum(Kind::Float))
        }
    }

    fn task(seed: u64, missing: usize) -> Result<SupervisedTask<Count>> {
        let config = RunConfig { seed, ..RunConfig::new("count", Count { missing }) };
        Whole::<Count>(PhantomData).task(&config, Device::Cpu)
    }

    #[test]
    fn every_example_is_in_one_minibatch_of_an_epoch_and_the_order_is_that_of_seed_and_epoch() {
        let of = |seed, epoch| {
            let task = task(seed, 0).unwrap();
            assert_eq!(task.steps_per_epoch(), 3);
            let steps = (0..3).map(|step| task.chosen(Moment { epoch, step })).collect::<Vec<_>>();
            let losses = (0..3).map(|step| task.loss(Moment { epoch, step }).unwrap().double_value(&[]));
            let sums = steps.iter().map(|chosen| chosen.iter().sum::<i64>() as f64);
            assert!(losses.eq(sums), "targets go with their inputs");
            steps
        };
        let mut all = of(0, 0).concat();
        assert_eq!(of(0, 0).iter().map(Vec::len).collect::<Vec<_>>(), [4, 4, 2]);
        all.sort_unstable();
        assert_eq!(all, (0..10).collect::<Vec<_>>());
        assert_eq!(of(0, 0), of(0, 0));
        assert!(of(0, 0) != of(0, 1) && of(0, 0) != of(1, 0));
    }

    #[test]
    fn a_split_is_evaluated_whole_and_data_without_targets_are_refused() {
        let evaluated = task(0, 0).unwrap().evaluate(Split::Test).unwrap();
        assert_eq!(evaluated, Metrics::from([("loss".into(), 3.0)]));
        let message = task(0, 1).err().unwrap().to_string();
        let expected = "config: data: expected as many targets as inputs, at least one of each (train), found 10 inputs and 9 targets";
        assert_eq!(message, expected);
    }
}
