//! Forecasts, running statistics and initial values of every network of the smoke experiment.
//!
//! `golden/smoke_forward.py` computes the forecasts from the equations in plain PyTorch; weights come from one formula on both sides.

use std::collections::BTreeMap;

use reynolds::random::Random;
use reynolds_paper::network::{EVALUATE, Network, TRAIN};
use reynolds_paper::smoke::networks::{Architecture, Frames, SmokeNetConfig, Symmetry};
use reynolds_testkit::golden::Golden;
use reynolds_torch::Parameters;
use reynolds_torch::layers::Pass;
use reynolds_torch::parameters::Entry;
use reynolds_torch::tch::{Device, Kind, Tensor};

use crate::support::{distance, numbers, tensor};

/// Every network, 19 of them.
fn networks() -> impl Iterator<Item = (Symmetry, Architecture)> {
    use Architecture::{Clcnn, Conv, Equiv, Lift, Rgroup, Rpp, Rsteer};
    let all = [Conv, Equiv, Rpp, Clcnn, Lift, Rgroup, Rsteer];
    let pairs = Symmetry::ALL.into_iter().flat_map(move |symmetry| all.map(|architecture| (symmetry, architecture)));
    pairs.filter(|pair| !matches!(pair, (Symmetry::Translation, Conv | Rsteer)))
}

const FRAMES: Frames = Frames { count: 2, side: 6 };

fn network(symmetry: Symmetry, architecture: Architecture, hidden: usize, seed: u64) -> (Box<dyn Network>, Parameters) {
    let config = SmokeNetConfig { architecture, hidden, layers: 4, banks: 2, ..SmokeNetConfig::default() };
    let mut builder = Parameters::builder();
    let network = config.build(symmetry, FRAMES, &mut builder, &mut Random::new(seed)).unwrap();
    (network, builder.build(Kind::Double, Device::Cpu).unwrap())
}

fn name(symmetry: Symmetry, architecture: Architecture) -> String {
    format!("{symmetry:?}.{architecture:?}").to_lowercase()
}

/// The numbers that the script gives to a weight or a statistic.
fn values(entry: &Entry) -> Vec<f64> {
    numbers(&entry.name, entry.numel(), (f64::from(u8::from(entry.name.ends_with("running_var"))), 1.0))
}

#[test]
fn every_network_forecasts_what_its_equations_say() {
    let golden = Golden::open("smoke_forward");
    let frames = tensor(&golden, "frames");
    for (symmetry, architecture) in networks() {
        let case = name(symmetry, architecture);
        let (network, mut parameters) = network(symmetry, architecture, 4, 1);
        let entries = || parameters.entries().iter().chain(parameters.statistics_entries());
        let ours: BTreeMap<String, Vec<usize>> =
            entries().map(|entry| (entry.name.clone(), entry.shape.clone())).collect();
        let shapes = format!("{case}.shape.");
        let theirs = golden.names().into_iter().filter_map(|name| name.strip_prefix(&shapes));
        let theirs: BTreeMap<String, Vec<usize>> = theirs
            .map(|weight| {
                let (_, shape) = golden.tensor(&format!("{shapes}{weight}"));
                (weight.to_owned(), shape.iter().map(|&side| side as usize).collect())
            })
            .collect();
        assert_eq!(ours, theirs, "{case}");

        let flat: Vec<f64> = parameters.entries().iter().flat_map(values).collect();
        parameters.assign(&Tensor::from_slice(&flat)).unwrap();
        let set = |entry: &Entry| parameters.statistic(&entry.name).unwrap().copy_(&Tensor::from_slice(&values(entry)));
        parameters.statistics_entries().iter().for_each(set);
        let assembled = network.assemble(&parameters, EVALUATE).unwrap();
        let run = |pass: Pass| network.forward(&parameters, &assembled, &frames, pass).unwrap();
        let before = parameters.statistics().copy();
        let off = distance(&run(EVALUATE), &tensor(&golden, &format!("{case}.forecast")));
        assert!(off < 1e-12, "{case}: the forecast is off by {off:e}");
        assert_eq!(&before, parameters.statistics(), "{case}: evaluation changes the running statistics");
        if parameters.statistics_entries().is_empty() {
            continue;
        }
        let off = distance(&run(TRAIN), &tensor(&golden, &format!("{case}.trained")));
        assert!(off < 1e-12, "{case}: the forecast in training is off by {off:e}");
        for entry in parameters.statistics_entries() {
            let after = tensor(&golden, &format!("{case}.after.{}", entry.name));
            let off = distance(&parameters.statistic(&entry.name).unwrap(), &after);
            assert!(off < 1e-12, "{case}: {} is off by {off:e}", entry.name);
        }
    }
}

/// How a run of numbers begins.
#[derive(Debug, Clone, Copy)]
enum Begins {
    /// All the same.
    As(f64),
    /// Uniform in ± the bound of this many inputs, 1/√n.
    Uniform(f64),
    /// Normal with this deviation.
    Normal(f64),
}

/// `hidden` of the networks whose beginnings are looked at.
const HIDDEN: usize = 8;
/// How many of each, so that a few biases are numbers enough to fill most of their range.
const SEEDS: u64 = 8;

/// The deviation of He's rule: an output channel of `inputs` fields has twice their mean square.
fn he(golden: &Golden, codomain: &str, domain: &str, inputs: f64) -> Begins {
    let (shape, elements) = golden.tensor(&format!("{codomain}.{domain}.elements"));
    let energy: f64 = elements.iter().map(|value| value * value).sum();
    Begins::Normal((2.0 * shape[1] as f64 / (inputs * energy)).sqrt())
}

/// The beginnings of a weight, one for each run of numbers.
fn begins(symmetry: Symmetry, architecture: Architecture, name: &str, golden: &Golden) -> Vec<Begins> {
    use Architecture::{Equiv, Lift, Rgroup, Rpp, Rsteer};
    use Begins::{As, Uniform};
    use Symmetry::{Rotation, Scaling, Translation};
    let hidden = HIDDEN as f64;
    let (kind, layer) = match name.split('.').collect::<Vec<_>>()[..] {
        [kind, layer, ..] => (kind, layer.parse::<usize>().ok()),
        [kind, ..] => (kind, None),
        [] => ("", None),
    };
    // Channels or vectors, by what the first layer reads and what all others do.
    let reads = |first: f64, others: f64| if kind == "first" || layer == Some(0) { first } else { others };
    let (channels, bias) = (reads(4.0, hidden), name.ends_with("bias"));
    let told = |more: f64| if architecture == Lift && layer == Some(2) { more } else { 0.0 };
    if name.contains("norms.") {
        let one = name.ends_with("weight") || name.ends_with("running_var");
        return vec![As(f64::from(u8::from(one)))];
    }
    vec![match (symmetry, architecture, kind) {
        (Translation, Rgroup, "mixing") => As(0.5),
        (Translation, Rgroup, "bias") => return vec![Uniform(36.0), Uniform(9.0 * hidden), Uniform(9.0 * hidden)],
        (Rotation, Rgroup, "mixing") => As(0.125),
        (Rotation, Rgroup | Rsteer, _) => {
            if bias {
                As(0.0)
            } else {
                Uniform(9.0 * reads(2.0, hidden))
            }
        }
        (Rotation, Equiv | Lift, "layers") | (Rotation, Rpp, "steerable") => match layer {
            Some(0) => he(golden, "regular", "vector", 2.0),
            Some(3) => he(golden, "vector", "regular", hidden),
            _ => he(golden, "regular", "regular", hidden + told(hidden / 4.0)),
        },
        (Rotation, Rpp, "dense") => Uniform(9.0 * reads(4.0, 4.0 * hidden)),
        (Scaling, Rpp, "dense") => Uniform(25.0 * reads(4.0, 4.0 * hidden)),
        (Scaling, Equiv | Rpp | Lift | Rsteer, "layers") if bias => As(0.0),
        (Scaling, Equiv | Rpp | Lift, "layers") => Uniform(49.0 * (channels + told(hidden / 2.0))),
        // Kaiming's √(6/((1 + a²) n)) with a = √5/25.
        (Scaling, Rsteer, _) => Uniform(25.0 * 49.0 * channels * (1.0 + 5.0 / 625.0) / 6.0),
        (Scaling, Rgroup, "last") => Uniform(9.0 * 3.0 * hidden),
        (Scaling, Rgroup, _) if name.ends_with("mixing") => As(0.5),
        (_, Lift, "encoder") => Uniform(reads(144.0, hidden)),
        (Translation, Rpp, "down") => Uniform(36.0 * channels),
        (Translation, Rpp, "up") => Uniform(32.0),
        _ => Uniform(9.0 * (channels + told(hidden))),
    }]
}

/// The flat storage of weights or of running statistics.
type Storage = fn(&Parameters) -> &Tensor;

#[test]
fn every_weight_begins_as_stated() {
    let golden = Golden::open("smoke_networks");
    for (symmetry, architecture) in networks() {
        let drawn: Vec<Parameters> = (0..SEEDS).map(|seed| network(symmetry, architecture, HIDDEN, seed).1).collect();
        let weights = drawn[0].entries().iter().map(|entry| (entry, Parameters::flat as Storage));
        let statistics = drawn[0].statistics_entries().iter().map(|entry| (entry, Parameters::statistics as Storage));
        for (entry, storage) in weights.chain(statistics) {
            let runs = begins(symmetry, architecture, &entry.name, &golden);
            let length = (entry.len() / runs.len()) as i64;
            for (place, begins) in (0..).zip(runs) {
                let start = entry.start as i64 + place * length;
                let numbers = |parameters: &Parameters| {
                    Vec::<f64>::try_from(storage(parameters).narrow(0, start, length)).unwrap()
                };
                let run: Vec<f64> = drawn.iter().flat_map(numbers).collect();
                let what = format!("{}: {} begins {begins:?}", name(symmetry, architecture), entry.name);
                let (least, most) =
                    (run.iter().copied().fold(f64::MAX, f64::min), run.iter().copied().fold(f64::MIN, f64::max));
                let count: f64 = run.len() as f64;
                let mean_square = run.iter().map(|value| value * value).sum::<f64>() / count;
                match begins {
                    Begins::As(value) => assert!(least == value && most == value, "{what}: from {least} to {most}"),
                    Begins::Uniform(inputs) => {
                        let (least, most) = (least * inputs.sqrt(), most * inputs.sqrt());
                        // n numbers all stay below this one time in e⁵ at most.
                        let filled = (1.0 - 10.0 / count).min(0.9);
                        let within = (filled..=1.0).contains(&-least) && (filled..=1.0).contains(&most);
                        assert!(within, "{what}: from {least} to {most} bounds");
                    }
                    Begins::Normal(deviation) => {
                        let ratio = mean_square.sqrt() / deviation;
                        assert!((ratio - 1.0).abs() < 4.0 / (2.0 * count).sqrt(), "{what}: {ratio} of the deviation");
                        assert!(most.max(-least) > 2.0 * deviation, "{what}: at most {most}");
                    }
                }
            }
        }
    }
}
