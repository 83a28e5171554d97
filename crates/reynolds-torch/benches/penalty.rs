//! What the penalty adds to a training step: pairs of steps, one without and one with it, in alternating order.
//!
//! ```text
//! cargo bench -p reynolds-torch --bench penalty -- --device cuda:0 --layers 72 --batch 4 --side 256
//! ```
//!
//! A row is the median of the paired differences with its 95 % interval from order statistics, which assumes nothing about the noise. The
//! bar is on the upper limit: at most max(0.5 % of the step, 100 µs). Beside the flat closed form: the same penalty as one would write it,
//! layer by layer with rot90 and roll on the tape.

#![allow(clippy::print_stdout, clippy::unwrap_used, reason = "a benchmark prints, and stops at the first surprise")]

use std::time::Instant;

use reynolds::penalty::{Form, PenaltyConfig};
use reynolds::plan::{SymmetryPlan, UniformFields};
use reynolds::projection::{Basis, Lowered};
use reynolds::random::Random;
use reynolds::steerable::RingsConfig;
use reynolds::{group, rep};
use reynolds_torch::binding::TileProducts;
use reynolds_torch::optimiser::{Adam, AdamConfig};
use reynolds_torch::tch::{Cuda, Device, Kind, Tensor};
use reynolds_torch::{Binding, Parameters, Penalty, device, tch};

/// The sizes of the network and of the measurement.
struct Settings {
    device: Device,
    layers: usize,
    channels: usize,
    kernel: usize,
    batch: usize,
    side: usize,
    pairs: usize,
    threads: usize,
    /// Only rows whose name holds this.
    rows: String,
}

impl Settings {
    fn from_arguments() -> Self {
        let mut settings = Self {
            device: Device::Cpu,
            layers: 6,
            channels: 36,
            kernel: 5,
            batch: 2,
            side: 32,
            pairs: 200,
            threads: 0,
            rows: String::new(),
        };
        let mut arguments = std::env::args().skip(1).filter(|argument| argument != "--bench");
        while let Some(name) = arguments.next() {
            let value = arguments.next().unwrap_or_else(|| panic!("{name}: expected a value"));
            let number = || value.parse().unwrap_or_else(|_| panic!("{name}: expected a number, found {value}"));
            match name.as_str() {
                "--device" => settings.device = device::parse(&value).unwrap(),
                "--layers" => settings.layers = number(),
                "--channels" => settings.channels = number(),
                "--kernel" => settings.kernel = number(),
                "--batch" => settings.batch = number(),
                "--side" => settings.side = number(),
                "--pairs" => settings.pairs = number(),
                "--threads" => settings.threads = number(),
                "--rows" => settings.rows = value.clone(),
                _ => panic!(
                    "{name}: expected --device, --layers, --channels, --kernel, --batch, --side, --pairs, --threads or --rows"
                ),
            }
        }
        settings
    }
}

/// A stack of convolutions between regular fields of C4, with ReLU.
struct Network {
    parameters: Parameters,
    images: Tensor,
    layers: usize,
    margin: i64,
}

impl Network {
    fn new(settings: &Settings) -> Self {
        let mut random = Random::new(1);
        let mut builder = Parameters::builder();
        let (channels, kernel) = (settings.channels, settings.kernel);
        let shape = [channels, channels, kernel, kernel];
        let scale = (2.0 / (channels * kernel * kernel) as f64).sqrt();
        for layer in 0..settings.layers {
            let numbers: Vec<f64> = (0..shape.iter().product()).map(|_| scale * random.normal()).collect();
            builder.real(&format!("{layer}.weight"), &shape, &numbers).unwrap();
            builder.real(&format!("{layer}.bias"), &[channels], &vec![0.0; channels]).unwrap();
        }
        let size = [settings.batch, channels, settings.side, settings.side].map(|side| side as i64);
        let images: Vec<f32> = (0..size.iter().product()).map(|_| random.normal() as f32).collect();
        Self {
            parameters: builder.build(Kind::Float, settings.device).unwrap(),
            images: Tensor::from_slice(&images).view(size).to_device(settings.device),
            layers: settings.layers,
            margin: (kernel / 2) as i64,
        }
    }

    fn weights(&self) -> impl Iterator<Item = Tensor> + '_ {
        (0..self.layers).map(|layer| self.parameters.get(&format!("{layer}.weight")))
    }

    fn loss(&self) -> Tensor {
        let mut features = self.images.shallow_clone();
        for (layer, weight) in self.weights().enumerate() {
            let bias = self.parameters.get(&format!("{layer}.bias"));
            features = features.conv2d(&weight, Some(&bias), [1, 1], [self.margin, self.margin], [1, 1], 1);
            if layer + 1 < self.layers {
                features = features.relu();
            }
        }
        features.square().mean(Kind::Float)
    }
}

/// P of a kernel between regular fields of C4 as one would write it: the mean of its four turns.
fn turned_mean(weight: &Tensor) -> Tensor {
    let size = weight.size();
    let fields = weight.view([size[0] / 4, 4, size[1] / 4, 4, size[2], size[3]]);
    let turn = |quarter: i64| fields.roll([quarter, quarter], [1, 3]).rot90(quarter, [4, 5]);
    ((turn(0) + turn(1) + turn(2) + turn(3)) / 4.0).reshape(size)
}

/// What is added to a step.
enum Added<'a> {
    Nothing,
    Flat(&'a Penalty),
    PerLayer(PenaltyConfig),
}

/// One training step, waited for; its seconds.
fn step(network: &Network, adam: &mut Adam, added: &Added<'_>) -> f64 {
    let start = Instant::now();
    let parameters = &network.parameters;
    let mut loss = network.loss();
    if let Added::PerLayer(config) = added {
        for weight in network.weights() {
            let projected = turned_mean(&weight);
            let perp = (&weight - &projected).square().sum(Kind::Float);
            loss = loss + projected.square().sum(Kind::Float) * config.lambda_g + perp * config.lambda_perp;
        }
    }
    let gradient = parameters.gradient(&loss).unwrap();
    if let Added::Flat(penalty) = added {
        let _ = penalty.add_gradient(parameters.flat(), &gradient).unwrap();
    }
    adam.step(parameters.flat(), &gradient, 1e-6).unwrap();
    wait(parameters.device());
    start.elapsed().as_secs_f64()
}

/// The median, and the order statistics that hold it with 95 % confidence.
fn median(mut values: Vec<f64>) -> [f64; 3] {
    values.sort_by(f64::total_cmp);
    let n = values.len() as f64;
    let half_width = 0.98 * n.sqrt();
    let at = |rank: f64| values[(rank.max(0.0) as usize).min(values.len() - 1)];
    [at(n / 2.0 - half_width), at(n / 2.0), at((n / 2.0 + half_width).ceil())]
}

fn main() {
    let settings = Settings::from_arguments();
    if settings.threads > 0 {
        tch::set_num_threads(settings.threads as i32);
    }
    let network = Network::new(&settings);
    let parameters = &network.parameters;
    let mut builder = Binding::builder(parameters);
    let plan = SymmetryPlan::uniform(&group::parse("C4").unwrap(), UniformFields::Regular).unwrap();
    let bound_in = Instant::now();
    builder.plan(&plan).unwrap();
    let binding = std::rc::Rc::new(builder.build().unwrap());
    let bound_in = bound_in.elapsed().as_secs_f64();
    let projected = binding.project(parameters.flat()).unwrap();
    let by_hand = turned_mean(&parameters.get("0.weight")).detach().reshape([-1]);
    let difference = (projected.narrow(0, 0, by_hand.size()[0]) - by_hand).abs().max().double_value(&[]);
    assert!(difference < 1e-6, "the two ways differ by {difference}");

    let squared = PenaltyConfig { lambda_g: 1e-6, lambda_perp: 1e-4, ..PenaltyConfig::default() };
    let plain = PenaltyConfig { form: Form::Plain, ..squared };
    let (squared_penalty, plain_penalty) =
        (Penalty::new(binding.clone(), squared).unwrap(), Penalty::new(binding.clone(), plain).unwrap());
    let rows = [
        ("nothing (the noise)", Added::Nothing),
        ("flat, closed form, squared", Added::Flat(&squared_penalty)),
        ("flat, closed form, plain", Added::Flat(&plain_penalty)),
        ("layer by layer on the tape", Added::PerLayer(squared)),
    ];
    let Settings { layers, channels, kernel, batch, side, pairs, .. } = settings;
    println!(
        "{layers} convolutions {channels}x{channels}x{kernel}x{kernel}, C4 regular, batch {batch}, {side}x{side}, {:?}",
        settings.device
    );
    println!(
        "{} parameters bound in {:.0} ms; P takes {} operations\n",
        parameters.len(),
        bound_in * 1e3,
        binding.operations()
    );
    println!(
        "{:<28} {:>11} {:>12} {:>24} {:>9} {:>10}",
        "added to a step", "without, ms", "added, us", "95 % interval, us", "added, %", "alone, us"
    );
    let mut adam = Adam::new(AdamConfig::default(), parameters.flat()).unwrap();
    for (name, added) in rows.iter().filter(|(name, _)| name.contains(&settings.rows)) {
        let (mut without, mut differences) = (Vec::with_capacity(pairs), Vec::with_capacity(pairs));
        for pair in 0..pairs + 3 {
            let (first, second) = if pair % 2 == 0 { (&Added::Nothing, added) } else { (added, &Added::Nothing) };
            let (a, b) = (step(&network, &mut adam, first), step(&network, &mut adam, second));
            let (base, with) = if pair % 2 == 0 { (a, b) } else { (b, a) };
            // The first pairs warm up.
            if pair >= 3 {
                without.push(base);
                differences.push(with - base);
            }
        }
        let ([low, middle, high], [_, base, _]) = (median(differences), median(without));
        let bar = (0.005 * base).max(1e-4);
        let verdict = match added {
            Added::Flat(_) if high <= bar => "within the bar",
            Added::Flat(_) if low > bar => "OVER the bar",
            Added::Flat(_) => "undecided: too much noise",
            _ => "",
        };
        println!(
            "{name:<28} {:>11.2} {:>12.1} {:>24} {:>9.2} {:>10} {verdict}",
            base * 1e3,
            middle * 1e6,
            format!("[{:.1}, {:.1}]", low * 1e6, high * 1e6),
            100.0 * middle / base,
            alone(added, parameters, pairs)
        );
    }
    tile_products(&settings);
}

/// Microseconds of the penalty by itself, waited for; the host's own time is in it.
fn alone(added: &Added<'_>, parameters: &Parameters, calls: usize) -> String {
    let Added::Flat(penalty) = added else { return String::new() };
    let gradient = parameters.flat().zeros_like();
    let mut call = || drop(penalty.add_gradient(parameters.flat(), &gradient).unwrap());
    format!("{:.1}", 1e6 * times(parameters.device(), calls, &mut [&mut call])[0])
}

/// Median seconds of each work, in turns, waited for.
fn times(device: Device, rounds: usize, works: &mut [&mut dyn FnMut()]) -> Vec<f64> {
    let mut seconds = vec![Vec::with_capacity(rounds); works.len()];
    for _ in 0..rounds {
        for (work, seconds) in works.iter_mut().zip(&mut seconds) {
            let start = Instant::now();
            work();
            wait(device);
            seconds.push(start.elapsed().as_secs_f64());
        }
    }
    seconds.into_iter().map(|seconds| median(seconds)[1]).collect()
}

fn wait(device: Device) {
    if let Device::Cuda(number) = device {
        Cuda::synchronize(number as i64);
    }
}

/// The two ways to multiply tiles, on the band-limited kernels of a small SO(3) network.
fn tile_products(settings: &Settings) {
    let so3 = group::parse("SO3").unwrap();
    let degrees =
        |copies: usize, most: usize| (0..=most).map(|l| format!("{copies}x{l}")).collect::<Vec<_>>().join(" + ");
    let layers =
        [(1, 0, 2, 2, 7), (2, 2, 4, 3, 5), (2, 2, 4, 3, 7), (4, 3, 8, 3, 3), (8, 3, 8, 3, 3), (8, 3, 12, 2, 3)];
    let mut builder = Parameters::builder();
    let mut projectors = Vec::new();
    let mut random = Random::new(2);
    for (number, (copies, degree, copies_out, degree_out, side)) in layers.into_iter().enumerate() {
        let fields = |copies, degree| rep::parse_fields(&so3, &degrees(copies, degree)).unwrap();
        let (domain, codomain) = (fields(copies, degree), fields(copies_out, degree_out));
        let basis = Basis::derive(&domain, &codomain, side, 3, &RingsConfig::default()).unwrap();
        let numbers: Vec<f64> = (0..basis.shape().iter().product()).map(|_| random.normal()).collect();
        builder.real(&number.to_string(), &basis.shape(), &numbers).unwrap();
        projectors.push(Lowered::<f64>::Basis(Box::new(basis)));
    }
    let parameters = builder.build(Kind::Float, settings.device).unwrap();
    let bind = |products: TileProducts| {
        let mut builder = Binding::builder(&parameters);
        builder.tile_products(products);
        projectors.iter().enumerate().for_each(|(number, p)| builder.projector(&number.to_string(), p).unwrap());
        builder.build().unwrap()
    };
    let start = Instant::now();
    let (per_kind, lists) = (bind(TileProducts::PerKind), bind(TileProducts::Lists));
    let built = start.elapsed().as_secs_f64() / 2.0;
    let project = |binding: &Binding| drop(binding.project(parameters.flat()).unwrap());
    let times = times(settings.device, settings.pairs, &mut [&mut || project(&per_kind), &mut || project(&lists)]);
    println!("\n6 band-limited SO(3) kernels, {} weights, bound in {:.0} ms; P alone", parameters.len(), built * 1e3);
    for (name, binding, time) in
        [("products a kind of tile", &per_kind, times[0]), ("weighted lists", &lists, times[1])]
    {
        println!("  {name:<26} {:>4} operations {:>12.1} us", binding.operations(), time * 1e6);
    }
}
