//! Logistic regression on generated points, with a complex parameter and a running statistic beside it, and faults on demand.

use std::cell::Cell;
use std::path::Path;

use reynolds_torch::Precision;
use reynolds_train::interrupt::Interrupt;
use reynolds_train::metrics::Summary;
use reynolds_train::prelude::*;
use reynolds_train::progress::Silent;
use reynolds_train::run::{Outcome, OutputFolder, Session, resume, run};
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Data {
    pub(crate) points: usize,
    pub(crate) batch: usize,
    pub(crate) centre: Vec<f64>,
    pub(crate) shuffled: bool,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Model {
    pub(crate) spread: f64,
    pub(crate) note: String,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct LogisticSettings {
    pub(crate) data: Data,
    pub(crate) model: Model,
}

impl Default for LogisticSettings {
    fn default() -> Self {
        let data = Data { points: 32, batch: 8, centre: vec![0.5, -0.5], shuffled: true };
        Self { data, model: Model { spread: 0.3, note: "plain".into() } }
    }
}

pub(crate) type Config = RunConfig<LogisticSettings>;

impl Settings for LogisticSettings {
    fn validate(&self) -> Result<()> {
        match self.data.points.is_multiple_of(self.data.batch.max(1)) {
            true => Ok(()),
            false => Err(Error::config("data.batch", format!("a divisor of {}", self.data.points), self.data.batch)),
        }
    }
}

/// A fault at the minibatch with this number.
#[derive(Debug, Clone, Default)]
pub(crate) enum Fault {
    #[default]
    None,
    /// The process is gone: no step, no checkpoint.
    Killed(usize),
    /// The step never ends.
    Stuck(usize),
    /// Ctrl-C.
    Interrupted(usize, Interrupt),
    /// Ctrl-C inside the evaluation with this number.
    Evaluating(usize, Interrupt),
    /// The loss is NaN.
    NotANumber(usize),
    /// The loss is finite and its gradient is not.
    Infinite(usize),
}

#[derive(Debug, Clone, Default)]
pub(crate) struct Logistic {
    pub(crate) fault: Fault,
}

impl Experiment for Logistic {
    type Settings = LogisticSettings;
    type Task = LogisticTask;

    fn name(&self) -> &'static str {
        "logistic"
    }

    fn about(&self) -> &'static str {
        "logistic regression"
    }

    fn defaults(&self) -> Config {
        let mut config = RunConfig::new("logistic", LogisticSettings::default());
        config.train.epochs = 5;
        config.train.learning_rate = 0.05;
        config.train.checkpoint_every = 2;
        config.train.threads = 1;
        config
    }

    fn precisions(&self) -> &'static [Precision] {
        &[Precision::F32, Precision::Bf16]
    }

    fn task(&self, config: &Config, device: Device) -> Result<LogisticTask> {
        LogisticTask::new(config, device, self.fault.clone())
    }

    fn finish(&self, _: &Config, task: &LogisticTask, summary: &Summary, folder: &Path) -> Result<()> {
        let accuracy = task.evaluate(Split::Test)?["accuracy"];
        assert_eq!(accuracy, summary.metrics()["test/accuracy"], "the task holds the weights that were selected");
        std::fs::write(folder.join("figure.txt"), format!("{accuracy}")).expect("the folder can be written");
        Ok(())
    }
}

pub(crate) struct LogisticTask {
    parameters: Parameters,
    inputs: Tensor,
    targets: Tensor,
    config: Config,
    fault: Fault,
    calls: Cell<usize>,
    evaluations: Cell<usize>,
    pub(crate) passes: Passes,
}

impl LogisticTask {
    pub(crate) fn new(config: &Config, device: Device, fault: Fault) -> Result<Self> {
        let mut random = Random::at(config.seed, &[0]);
        let mut builder = Parameters::builder();
        let spread = config.settings.model.spread;
        builder.real("weight", &[1, 2], &[spread * random.normal(), spread * random.normal()])?;
        builder.real("bias", &[1], &[0.1])?;
        builder.complex("phase", &[2], &[(random.normal(), 0.0), (0.0, random.normal())])?;
        builder.statistic("seen", &[2], &[0.0, 0.0])?;
        let (mut inputs, mut targets) = (Vec::new(), Vec::new());
        for point in 0..config.settings.data.points {
            let sign = if point % 2 == 0 { 1.0 } else { -1.0 };
            inputs.extend(config.settings.data.centre.iter().map(|centre| (sign * centre + random.normal()) as f32));
            targets.push(if point % 2 == 0 { 1.0_f32 } else { 0.0 });
        }
        Ok(Self {
            parameters: builder.build(Kind::Float, device)?,
            inputs: Tensor::from_slice(&inputs).view([-1, 2]).to_device(device),
            targets: Tensor::from_slice(&targets).view([-1, 1]).to_device(device),
            config: config.clone(),
            fault,
            calls: Cell::new(0),
            evaluations: Cell::new(0),
            passes: Passes::default(),
        })
    }

    fn loss_on(&self, inputs: &Tensor, targets: &Tensor) -> Result<Tensor> {
        let cast = |tensor: &Tensor| self.config.train.precision.cast(tensor);
        let (weight, bias) =
            (cast(&self.parameters.get("weight").unwrap())?, cast(&self.parameters.get("bias").unwrap())?);
        let logits = cast(inputs)?.f_linear(&weight, Some(bias))?.f_to_kind(Kind::Float)?;
        let none = None::<Tensor>;
        let loss = logits.f_binary_cross_entropy_with_logits(targets, None, none, Reduction::Mean)?;
        // |z₀ z₁ − 1|² / 10 has gradients that depend on the complex parameters.
        let phase = self.parameters.get("phase").unwrap();
        let product = phase.get(0) * phase.get(1) - 1.0;
        Ok(loss + product.abs().square() * 0.1)
    }

    /// The points of a minibatch: a permutation of the epoch, drawn from the seed.
    fn points(&self, moment: Moment) -> Vec<i64> {
        let Data { points, batch, shuffled, .. } = self.config.settings.data;
        let mut order: Vec<i64> = (0..points as i64).collect();
        let mut random = Random::at(self.config.seed, &[1, moment.epoch as u64]);
        if shuffled {
            (1..points).rev().for_each(|last| order.swap(last, random.below(last + 1)));
        }
        order[moment.step * batch..(moment.step + 1) * batch].to_vec()
    }
}

impl Captured for LogisticTask {
    fn minibatch(&self, moment: Moment) -> Result<Tensor> {
        Ok(Tensor::from_slice(&self.points(moment)).to_device(self.inputs.device()))
    }

    fn loss_of(&self, index: &Tensor) -> Result<Tensor> {
        let inputs = self.inputs.index_select(0, index);
        // A statistic follows the inputs, as that of a batch normalisation does.
        let seen = self.parameters.statistic("seen")?;
        let newest = inputs.mean_dim(0, false, Kind::Float);
        seen.shallow_clone().copy_(&(seen * 0.9 + newest * 0.1));
        self.loss_on(&inputs, &self.targets.index_select(0, index))
    }
}

impl Task for LogisticTask {
    fn parameters(&self) -> &Parameters {
        &self.parameters
    }

    fn parameters_mut(&mut self) -> &mut Parameters {
        &mut self.parameters
    }

    fn steps_per_epoch(&self) -> usize {
        self.config.settings.data.points / self.config.settings.data.batch
    }

    fn loss(&self, moment: Moment) -> Result<Tensor> {
        let call = self.calls.replace(self.calls.get() + 1);
        let loss = self.loss_of(&self.minibatch(moment)?)?;
        match &self.fault {
            Fault::Killed(at) if *at == call => return Err(Error::config("test", "to live", "killed")),
            Fault::Stuck(at) if *at == call => loop {
                std::thread::sleep(std::time::Duration::from_millis(10));
            },
            Fault::Interrupted(at, interrupt) if *at == call => interrupt.request(),
            Fault::NotANumber(at) if *at == call => return Ok(loss * f64::NAN),
            // √0 is 0 with slope ∞.
            Fault::Infinite(at) if *at == call => {
                let bias = self.parameters.get("bias").unwrap();
                return Ok(loss + (&bias - bias.detach()).abs().sqrt().sum(Kind::Float));
            }
            _ => {}
        }
        Ok(loss)
    }

    fn captured(&self) -> Result<&dyn Captured, &'static str> {
        if let Fault::None = self.fault { Ok(self) } else { Err("a fault is at one call") }
    }

    fn evaluate(&self, split: Split) -> Result<Metrics> {
        let evaluation = self.evaluations.replace(self.evaluations.get() + 1);
        if let Fault::Evaluating(at, interrupt) = &self.fault
            && *at == evaluation
        {
            interrupt.request();
            interrupt.check()?;
        }
        let half = self.inputs.size()[0] / 2;
        let start = if split == Split::Test { half } else { 0 };
        let (inputs, targets) = (self.inputs.narrow(0, start, half), self.targets.narrow(0, start, half));
        // Assembled outside of what is captured, as kernels are.
        let bias = self.parameters.get("bias")? * 1.0;
        let logits = self.passes.of("logits", &[bias])?.run(&[inputs.shallow_clone()], |common, inputs| {
            Ok(vec![inputs[0].f_linear(&self.parameters.get("weight")?, Some(&common[0]))?])
        })?;
        let logits = &logits[0];
        let right = logits.gt(0.0).to_kind(Kind::Float).eq_tensor(&targets).to_kind(Kind::Double).mean(Kind::Double);
        let seen = self.parameters.statistic("seen")?.square().sum(Kind::Double);
        let metrics = [("accuracy", right), ("loss", self.loss_on(&inputs, &targets)?), ("seen", seen)];
        Ok(metrics.map(|(name, value)| (name.into(), value.double_value(&[]))).into())
    }

    fn pass_by(&mut self, passes: &Passes) {
        self.passes = passes.clone();
    }

    /// The two inputs may change places.
    fn plan(&self) -> Result<Option<SymmetryPlan>> {
        let rule = "[[layer]]\nname = \"weight\"\ndomain = \"regular\"\ncodomain = \"trivial\"";
        Ok(Some(SymmetryPlan::from_toml(&format!("group = \"C2\"\n{rule}"))?))
    }
}

/// A session without progress callbacks.
pub(crate) fn session<'a>(silent: &'a mut Silent, device: Device, interrupt: &Interrupt) -> Session<'a> {
    Session { device, interrupt: interrupt.clone(), observer: silent }
}

impl Fault {
    fn interrupt(&self) -> Interrupt {
        match self {
            Self::Interrupted(_, interrupt) | Self::Evaluating(_, interrupt) => interrupt.clone(),
            _ => Interrupt::new(),
        }
    }
}

/// A run in exactly this folder, with a fault.
pub(crate) fn begin(fault: Fault, config: &Config, folder: &Path) -> Result<Outcome> {
    begin_on(Device::Cpu, fault, config, folder)
}

pub(crate) fn begin_on(device: Device, fault: Fault, config: &Config, folder: &Path) -> Result<Outcome> {
    let interrupt = fault.interrupt();
    run(&Logistic { fault }, config, &OutputFolder::Exactly(folder.into()), session(&mut Silent, device, &interrupt))
}

/// The run in this folder resumed, with a fault.
pub(crate) fn go_on(fault: Fault, folder: &Path) -> Result<Outcome> {
    go_on_on(Device::Cpu, fault, folder)
}

pub(crate) fn go_on_on(device: Device, fault: Fault, folder: &Path) -> Result<Outcome> {
    let interrupt = fault.interrupt();
    resume(&Logistic { fault }, folder, session(&mut Silent, device, &interrupt))
}
