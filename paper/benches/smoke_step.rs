//! Training steps of the relaxed networks that forecast smoke, and what the projection penalty adds to them.
//!
//! ```text
//! cargo bench -p reynolds-paper --bench smoke_step -- --model rsteer-rotation --device cuda:0 --reg 1 [--pairs 200] [--json]
//! ```
//!
//! A step is a rollout of `--out-length` frames whose mean squared errors are summed, its gradient, and Adam with weight decay 4e-4; the
//! data are random. The flags, the sizes and the numbers printed are those of peers/smoke.py, the same step in PyTorch. With `--pairs` a
//! second row is the median of the paired differences with and without the penalty and its 95 % interval from order statistics, in
//! alternating order; the bar is on the upper limit: at most max(0.5 % of the step, 100 µs). Without arguments: all networks, small.

#![allow(clippy::print_stdout, clippy::unwrap_used, reason = "a benchmark prints, and stops at the first surprise")]

use std::time::Instant;

use reynolds::random::Random;
use reynolds_paper::network::{Network, TRAIN};
use reynolds_paper::smoke::networks::{Architecture, Frames, Held, SmokeNetConfig, Symmetry};
use reynolds_paper::smoke::penalty;
use reynolds_torch::optimiser::{Adam, AdamConfig};
use reynolds_torch::tch::{Cuda, Device, Kind, Reduction, Tensor};
use reynolds_torch::{Parameters, device, tch};
use serde_json::{Value, json};

/// Name, network, and hidden size, banks and batch as published or as near to it as the cap on parameters allows.
const MODELS: [(&str, Symmetry, Architecture, [usize; 3]); 5] = [
    ("rgroup-translation", Symmetry::Translation, Architecture::Rgroup, [128, 2, 8]),
    ("rgroup-rotation", Symmetry::Rotation, Architecture::Rgroup, [130, 3, 16]),
    ("rsteer-rotation", Symmetry::Rotation, Architecture::Rsteer, [92, 1, 16]),
    ("rgroup-scale", Symmetry::Scaling, Architecture::Rgroup, [32, 1, 8]),
    ("rsteer-scale", Symmetry::Scaling, Architecture::Rsteer, [48, 1, 8]),
];
const LEARNING_RATE: f64 = 1e-3;

/// The network and the measurement.
#[derive(Debug, Clone)]
struct Settings {
    model: String,
    /// Hidden, banks and batch; 0 = those of [`MODELS`].
    sizes: [usize; 3],
    layers: usize,
    side: usize,
    out_length: usize,
    reg: usize,
    strength: f64,
    held: Held,
    device: String,
    steps: usize,
    warmup: usize,
    pairs: usize,
    threads: usize,
    json: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            model: "rsteer-rotation".into(),
            sizes: [0; 3],
            layers: 5,
            side: 64,
            out_length: 6,
            reg: 0,
            strength: 1e-4,
            held: Held::Operator,
            device: "cpu".into(),
            steps: 20,
            warmup: 3,
            pairs: 0,
            threads: 2,
            json: false,
        }
    }
}

impl Settings {
    fn from_arguments(arguments: Vec<String>) -> Self {
        let mut settings = Self::default();
        let mut arguments = arguments.into_iter();
        while let Some(name) = arguments.next() {
            if name == "--json" {
                settings.json = true;
                continue;
            }
            let value = arguments.next().unwrap_or_else(|| panic!("{name}: expected a value"));
            let number = || value.parse().unwrap_or_else(|_| panic!("{name}: expected a number, found {value}"));
            match name.as_str() {
                "--model" => settings.model = value,
                "--hidden" => settings.sizes[0] = number(),
                "--banks" => settings.sizes[1] = number(),
                "--batch" => settings.sizes[2] = number(),
                "--layers" => settings.layers = number(),
                "--side" => settings.side = number(),
                "--out-length" => settings.out_length = number(),
                "--reg" => settings.reg = number(),
                "--strength" => settings.strength = value.parse().expect("--strength: expected a number"),
                "--held" if value == "operator" => settings.held = Held::Operator,
                "--held" if value == "mixing" => settings.held = Held::Mixing,
                "--device" => settings.device = value,
                "--steps" => settings.steps = number().max(1),
                "--warmup" => settings.warmup = number(),
                "--pairs" => settings.pairs = number(),
                "--threads" => settings.threads = number(),
                _ => panic!(
                    "{name} {value}: expected --model, --hidden, --layers, --banks, --batch, --side, --out-length, --reg, --strength, \
                     --held operator|mixing, --device, --steps, --warmup, --pairs, --threads or --json"
                ),
            }
        }
        settings
    }

    /// What is measured if nothing is asked for: every network, small.
    fn small() -> Vec<Self> {
        let of = |model: &str| Self {
            model: model.into(),
            sizes: [8, 2, 2],
            side: 32,
            out_length: 3,
            steps: 10,
            pairs: 30,
            ..Self::default()
        };
        MODELS.iter().map(|(model, ..)| of(model)).collect()
    }

    fn options(&self) -> Value {
        let Self { model, sizes: [hidden, banks, batch], layers, side, out_length, reg, strength, .. } = self;
        let Self { held, device, steps, warmup, pairs, threads, .. } = self;
        json!({
            "model": model, "hidden": hidden, "layers": layers, "banks": banks, "batch": batch, "side": side,
            "out_length": out_length, "reg": reg, "strength": strength, "held": held, "device": device, "steps": steps,
            "warmup": warmup, "pairs": pairs, "threads": threads,
        })
    }
}

/// A network in training on random data.
struct Training {
    network: Box<dyn Network>,
    parameters: Parameters,
    adam: Adam,
    frames: Tensor,
    targets: Tensor,
    strength: f64,
    loss: Tensor,
}

impl Training {
    /// Settles the sizes that were not given.
    fn new(settings: &mut Settings) -> Self {
        let known = || MODELS.map(|(model, ..)| model).join(", ");
        let (_, symmetry, architecture, sizes) = MODELS
            .into_iter()
            .find(|(model, ..)| *model == settings.model)
            .unwrap_or_else(|| panic!("--model: expected one of {}, found {}", known(), settings.model));
        settings.sizes.iter_mut().zip(sizes).filter(|(size, _)| **size == 0).for_each(|(size, usual)| *size = usual);
        let [hidden, banks, batch] = settings.sizes;
        let device = device::parse(&settings.device).unwrap();
        if device.is_cuda() {
            Cuda::cudnn_set_benchmark(true);
        }
        let Settings { layers, held, .. } = *settings;
        let config = SmokeNetConfig { architecture, hidden, layers, banks, held, ..SmokeNetConfig::default() };
        let mut random = Random::new(0);
        let mut builder = Parameters::builder();
        let shape = Frames { count: 10, side: settings.side };
        let network =
            config.build(symmetry, shape, &mut builder, &mut random).unwrap_or_else(|error| panic!("{error}"));
        let parameters = builder.build(Kind::Float, device).unwrap();
        let mut images = |channels: usize| {
            let size = [batch, channels, settings.side, settings.side].map(|side| side as i64);
            let numbers: Vec<f32> = (0..size.iter().product()).map(|_| random.normal() as f32).collect();
            Tensor::from_slice(&numbers).view(size).to_device(device)
        };
        let adam = Adam::new(AdamConfig { weight_decay: 4e-4, ..AdamConfig::default() }, parameters.flat()).unwrap();
        Self {
            frames: images(2 * shape.count),
            targets: images(2 * settings.out_length),
            strength: settings.strength,
            loss: Tensor::from(f32::NAN),
            network,
            parameters,
            adam,
        }
    }

    fn rollout(&self) -> Tensor {
        let assembled = self.network.assemble(&self.parameters, TRAIN).unwrap();
        let mut frames = self.frames.shallow_clone();
        let seen = frames.size()[1];
        let targets = self.targets.split(2, 1);
        let mut losses = Vec::with_capacity(targets.len());
        for (number, target) in targets.iter().enumerate() {
            let prediction = self.network.forward(&self.parameters, &assembled, &frames, TRAIN).unwrap();
            losses.push(prediction.mse_loss(target, Reduction::Mean));
            if number + 1 < targets.len() {
                frames = Tensor::cat(&[frames.narrow(1, 2, seen - 2), prediction], 1);
            }
        }
        Tensor::stack(&losses, 0).sum(Kind::Float)
    }

    /// One training step, waited for; its seconds.
    fn step(&mut self, penalised: bool) -> f64 {
        let start = Instant::now();
        let loss = self.rollout();
        let gradient = self.parameters.gradient(&loss).unwrap();
        if penalised {
            self.penalise(&gradient);
        }
        self.adam.step(self.parameters.flat(), &gradient, LEARNING_RATE).unwrap();
        self.wait();
        let seconds = start.elapsed().as_secs_f64();
        self.loss = loss.detach();
        seconds
    }

    fn penalise(&self, gradient: &Tensor) {
        let strengths = [0.0, self.strength];
        let _ = penalty::add_gradient(self.network.as_ref(), &self.parameters, strengths, gradient).unwrap();
    }

    fn wait(&self) {
        if let Device::Cuda(number) = self.parameters.device() {
            Cuda::synchronize(number as i64);
        }
    }

    /// Median seconds of the penalty by itself, waited for; the host's own time is in it.
    fn alone(&self, calls: usize) -> f64 {
        let gradient = self.parameters.flat().zeros_like();
        let seconds = (0..calls).map(|_| {
            let start = Instant::now();
            self.penalise(&gradient);
            self.wait();
            start.elapsed().as_secs_f64()
        });
        median(seconds.collect())[1]
    }

    fn last_loss(&self) -> f64 {
        f64::from(f32::try_from(&self.loss).unwrap())
    }

    /// Seconds without the penalty and what it adds, with the limits of the latter.
    fn pairs(&mut self, pairs: usize, warmup: usize) -> (f64, [f64; 3]) {
        let (mut without, mut added) = (Vec::with_capacity(pairs), Vec::with_capacity(pairs));
        for pair in 0..pairs + warmup {
            let first = self.step(pair % 2 == 1);
            let second = self.step(pair % 2 == 0);
            let (base, with) = if pair % 2 == 0 { (first, second) } else { (second, first) };
            if pair >= warmup {
                without.push(base);
                added.push(with - base);
            }
        }
        (median(without)[1], median(added))
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

fn measure(mut settings: Settings) {
    tch::set_num_threads(settings.threads as i32);
    let mut training = Training::new(&mut settings);
    let [hidden, _, batch] = settings.sizes;
    let _ = training.step(settings.reg == 1);
    let first_loss = training.last_loss();
    for _ in 1..settings.warmup {
        let _ = training.step(settings.reg == 1);
    }
    let times: Vec<f64> = (0..settings.steps).map(|_| training.step(settings.reg == 1)).collect();
    let (fastest, slowest) = times.iter().fold((f64::MAX, 0.0_f64), |(low, high), &t| (low.min(t), high.max(t)));
    let [_, seconds, _] = median(times);
    let row = format!(
        "reynolds: {}, hidden {hidden}, batch {batch}, reg {}, {}",
        settings.model, settings.reg, settings.device
    );
    let last_loss = training.last_loss();
    let mut result = json!({
        "row": row, "seconds": seconds, "versions": { "reynolds": env!("CARGO_PKG_VERSION") },
        "samples_per_second": batch as f64 / seconds, "parameters": training.parameters.len(),
        "first_loss": first_loss, "last_loss": last_loss, "fastest": fastest, "slowest": slowest,
        "options": settings.options(),
    });
    let paired = (settings.pairs > 0).then(|| training.pairs(settings.pairs, settings.warmup));
    let paired = paired.map(|(without, added)| (without, added, training.alone(settings.pairs)));
    if let Some((without, [low, added, high], alone)) = paired {
        result["pairs"] = json!({ "without": without, "added": added, "low": low, "high": high, "alone": alone });
    }
    if settings.json {
        println!("{result}");
        return;
    }
    println!("{row:<75} {:>12}", format!("{:.3} ms", seconds * 1e3));
    println!(
        "{:.2} samples/s, {} parameters, loss {first_loss:.3} to {last_loss:.3}, steps of {:.2} to {:.2} ms",
        batch as f64 / seconds,
        training.parameters.len(),
        fastest * 1e3,
        slowest * 1e3
    );
    if let Some((without, [low, added, high], alone)) = paired {
        let bar = (0.005 * without).max(1e-4);
        let verdict = match (high <= bar, low > bar) {
            (true, _) => "within the bar",
            (_, true) => "OVER the bar",
            _ => "undecided: too much noise",
        };
        println!(
            "penalty: {:+.1} us [{:.1}, {:.1}] on {:.2} ms, {:+.2} %, alone {:.1} us: {verdict}",
            added * 1e6,
            low * 1e6,
            high * 1e6,
            without * 1e3,
            100.0 * added / without,
            alone * 1e6
        );
    }
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|argument| argument != "--bench").collect();
    match arguments.is_empty() {
        true => Settings::small().into_iter().for_each(measure),
        false => measure(Settings::from_arguments(arguments)),
    }
}
