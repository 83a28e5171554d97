//! Training steps of the relaxed networks of smoke, and what the projection penalty adds to them: pairs of steps, one without and one with
//! it, in alternating order. The same steps in PyTorch are `peers/smoke.py`.
//!
//! ```text
//! cargo bench -p reynolds-torch --bench smoke -- --device cuda:0 --symmetry rotation --architecture rsteer --hidden 92 --batch 16
//! ```
//!
//! A step unrolls the network over --out-length frames, sums the mean squared errors and takes one step of Adam. The bar is on the upper
//! 95 % limit of the median paired difference: at most max(0.5 % of the step, 100 µs).

#![allow(clippy::print_stdout, clippy::unwrap_used, reason = "a benchmark prints, and stops at the first surprise")]

use std::time::Instant;

use reynolds::random::Random;
use reynolds_torch::models::smoke::{
    Architecture, Forecaster, Frames, Held, Mode, NetworkPenalty, SmokeNetConfig, Symmetry,
};
use reynolds_torch::optimiser::{Adam, AdamConfig};
use reynolds_torch::tch::{Cuda, Device, Kind, Reduction, Tensor};
use reynolds_torch::{Parameters, device, tch};

/// The sizes of the network and of the measurement.
struct Settings {
    device: Device,
    symmetry: Symmetry,
    network: SmokeNetConfig,
    batch: i64,
    side: usize,
    out_length: i64,
    pairs: usize,
    warm_up: usize,
    threads: i32,
}

impl Settings {
    fn from_arguments() -> Self {
        let mut settings = Self {
            device: Device::Cpu,
            symmetry: Symmetry::Rotation,
            network: SmokeNetConfig { hidden: 8, ..SmokeNetConfig::default() },
            batch: 2,
            side: 32,
            out_length: 6,
            pairs: 20,
            warm_up: 3,
            threads: 0,
        };
        let mut arguments = std::env::args().skip(1).filter(|argument| argument != "--bench");
        while let Some(name) = arguments.next() {
            let value = arguments.next().unwrap_or_else(|| panic!("{name}: expected a value"));
            let number =
                || -> usize { value.parse().unwrap_or_else(|_| panic!("{name}: expected a number, found {value}")) };
            match name.as_str() {
                "--device" => settings.device = device::parse(&value).unwrap(),
                "--symmetry" => {
                    settings.symmetry = match value.as_str() {
                        "translation" => Symmetry::Translation,
                        "rotation" => Symmetry::Rotation,
                        "scaling" => Symmetry::Scaling,
                        _ => panic!("--symmetry: expected translation, rotation or scaling, found {value}"),
                    }
                }
                "--architecture" => {
                    settings.network.architecture = match value.as_str() {
                        "rgroup" => Architecture::Rgroup,
                        "rsteer" => Architecture::Rsteer,
                        _ => panic!("--architecture: expected rgroup or rsteer, found {value}"),
                    }
                }
                "--held" => {
                    settings.network.held = match value.as_str() {
                        "operator" => Held::Operator,
                        "mixing" => Held::Mixing,
                        _ => panic!("--held: expected operator or mixing, found {value}"),
                    }
                }
                "--hidden" => settings.network.hidden = number(),
                "--layers" => settings.network.layers = number(),
                "--banks" => settings.network.banks = number(),
                "--batch" => settings.batch = number() as i64,
                "--side" => settings.side = number(),
                "--out-length" => settings.out_length = number() as i64,
                "--pairs" => settings.pairs = number().max(1),
                "--warm-up" => settings.warm_up = number(),
                "--threads" => settings.threads = number() as i32,
                _ => panic!(
                    "{name}: expected --device, --symmetry, --architecture, --held, --hidden, --layers, --banks, --batch, --side, \
                     --out-length, --pairs, --warm-up or --threads"
                ),
            }
        }
        settings
    }
}

/// A network, its data and its optimiser.
struct Training {
    network: Box<dyn Forecaster>,
    parameters: Parameters,
    penalty: Box<dyn NetworkPenalty>,
    adam: Adam,
    /// `[N, 2T, H, W]`.
    frames: Tensor,
    /// `[steps, N, 2, H, W]`.
    targets: Tensor,
}

impl Training {
    fn new(settings: &Settings) -> Self {
        let mut builder = Parameters::builder();
        let shape = Frames { side: settings.side, ..Frames::default() };
        let network = settings.network.build(settings.symmetry, shape, &mut builder, &mut Random::new(1)).unwrap();
        let parameters = builder.build(Kind::Float, settings.device).unwrap();
        let penalty = network.penalty(&parameters, settings.network.held).unwrap();
        let adam = Adam::new(AdamConfig { weight_decay: 4e-4, ..AdamConfig::default() }, parameters.flat()).unwrap();
        let mut random = Random::new(2);
        let mut normal = |size: &[i64]| {
            let values: Vec<f32> = (0..size.iter().product()).map(|_| random.normal() as f32).collect();
            Tensor::from_slice(&values).view(size).to_device(settings.device)
        };
        let (batch, side) = (settings.batch, settings.side as i64);
        Self {
            frames: normal(&[batch, 2 * shape.count as i64, side, side]),
            targets: normal(&[settings.out_length, batch, 2, side, side]),
            penalty: penalty.expect("relaxed networks have a penalty"),
            network,
            parameters,
            adam,
        }
    }

    fn loss(&self) -> Tensor {
        let assembled = self.network.assemble(&self.parameters).unwrap();
        let mut frames = self.frames.shallow_clone();
        let mut terms = Vec::new();
        for target in self.targets.unbind(0) {
            let prediction = self.network.forward(&self.parameters, &assembled, &frames, Mode::Train).unwrap();
            terms.push(prediction.mse_loss(&target, Reduction::Mean));
            frames = Tensor::cat(&[frames.narrow(1, 2, frames.size()[1] - 2), prediction], 1);
        }
        Tensor::stack(&terms, 0).sum(Kind::Float)
    }

    /// One training step, waited for; its seconds.
    fn step(&mut self, with_penalty: bool) -> f64 {
        let start = Instant::now();
        let gradient = self.parameters.gradient(&self.loss()).unwrap();
        if with_penalty {
            let _ = self.penalty.add_gradient(&self.parameters, 0.0, 1e-4, &gradient).unwrap();
        }
        self.adam.step(self.parameters.flat(), &gradient, 1e-6).unwrap();
        wait(self.parameters.device());
        start.elapsed().as_secs_f64()
    }

    /// Median seconds of the penalty by itself, waited for; the host's own time is in it.
    fn alone(&self, calls: usize) -> f64 {
        let gradient = self.parameters.flat().zeros_like();
        let seconds = (0..calls).map(|_| {
            let start = Instant::now();
            let _ = self.penalty.add_gradient(&self.parameters, 0.0, 1e-4, &gradient).unwrap();
            wait(self.parameters.device());
            start.elapsed().as_secs_f64()
        });
        median(seconds.collect())[1]
    }
}

/// The median, and the order statistics that hold it with 95 % confidence.
fn median(mut values: Vec<f64>) -> [f64; 3] {
    values.sort_by(f64::total_cmp);
    let n = values.len() as f64;
    let half_width = 0.98 * n.sqrt();
    let at = |rank: f64| values[(rank.max(0.0) as usize).min(values.len() - 1)];
    [at(n / 2.0 - half_width), at(n / 2.0), at((n / 2.0 + half_width).ceil())]
}

fn wait(device: Device) {
    if let Device::Cuda(number) = device {
        Cuda::synchronize(number as i64);
    }
}

fn main() {
    let settings = Settings::from_arguments();
    if settings.threads > 0 {
        tch::set_num_threads(settings.threads);
    }
    let mut training = Training::new(&settings);
    let (mut without, mut with, mut differences) = (Vec::new(), Vec::new(), Vec::new());
    for pair in 0..settings.warm_up + settings.pairs {
        let penalty_first = pair % 2 == 1;
        let (first, second) = (training.step(penalty_first), training.step(!penalty_first));
        let (base, held) = if penalty_first { (second, first) } else { (first, second) };
        if pair >= settings.warm_up {
            without.push(base);
            with.push(held);
            differences.push(held - base);
        }
    }
    let ([low, middle, high], [_, base, _], [_, held, _]) = (median(differences), median(without), median(with));
    let bar = (0.005 * base).max(1e-4);
    let verdict = match (high <= bar, low > bar) {
        (true, _) => "within the bar",
        (_, true) => "OVER the bar",
        _ => "undecided: too much noise",
    };
    let Settings { network, batch, side, out_length, pairs, .. } = &settings;
    println!(
        "{:?} {:?}: hidden {}, layers {}, banks {}, batch {batch}, {side}x{side}, {out_length} frames, {:?}, {} parameters",
        settings.symmetry,
        network.architecture,
        network.hidden,
        network.layers,
        network.banks,
        settings.device,
        training.parameters.len()
    );
    let samples = |seconds: f64| *batch as f64 / seconds;
    println!("step without the penalty {:>10.3} ms {:>10.2} samples/s", base * 1e3, samples(base));
    println!("step with it             {:>10.3} ms {:>10.2} samples/s", held * 1e3, samples(held));
    println!(
        "added in {pairs} pairs {:.1} us, 95 % [{:.1}, {:.1}], {:.3} %; alone {:.1} us; {verdict}",
        middle * 1e6,
        low * 1e6,
        high * 1e6,
        100.0 * middle / base,
        1e6 * training.alone(20.min(*pairs))
    );
}
