//! DICDNet and OSCNet as a whole.

mod equations;
mod precision;

use reynolds::random::Random;
use tch::{Device, Kind, Tensor};

use super::{Architecture, Corrupted, Held, MarNetConfig, Mode, Pass, Precision, Reducer, Reduction};
use reynolds_torch::parameters::Parameters;

const TRAIN: Pass = Pass { mode: Mode::Train, precision: Precision::F32 };
const EVALUATE: Pass = Pass { mode: Mode::Evaluate, precision: Precision::F32 };

fn network(config: &MarNetConfig, kind: Kind) -> (Box<dyn Reducer>, Parameters) {
    let mut builder = Parameters::builder();
    let network = config.build(&mut builder, &mut Random::new(5)).unwrap();
    (network, builder.build(kind, Device::Cpu).unwrap())
}

fn small(architecture: Architecture) -> MarNetConfig {
    MarNetConfig { architecture, stages: 3, blocks: 1, held: Held::X }
}

/// A smooth slice with a streak and a square of metal.
fn input(kind: Kind, samples: i64, side: i64) -> (Corrupted, Tensor) {
    let mut random = Random::new(9);
    let mut draw = |low: f64, high: f64| {
        let numbers: Vec<f64> = (0..samples * side * side).map(|_| low + (high - low) * random.uniform()).collect();
        Tensor::from_slice(&numbers).view([samples, 1, side, side])
    };
    let truth = draw(40.0, 80.0);
    let image = &truth + draw(-20.0, 40.0);
    let interpolated = &truth + draw(-8.0, 8.0);
    let keep = Tensor::ones([samples, 1, side, side], (Kind::Double, Device::Cpu));
    let _ = keep.narrow(2, 2, 2).narrow(3, 3, 2).fill_(0.0);
    let cast = |tensor: Tensor| tensor.to_kind(kind);
    (Corrupted { image: cast(image), interpolated: cast(interpolated), keep: cast(keep) }, cast(truth))
}

fn run(network: &dyn Reducer, parameters: &Parameters, input: &Corrupted, pass: Pass) -> Reduction {
    let assembled = network.assemble(parameters, pass).unwrap();
    network.forward(parameters, &assembled, input, pass, None).unwrap()
}

fn far(a: &Tensor, b: &Tensor) -> f64 {
    f64::try_from((a - b).abs().max().to_kind(Kind::Double)).unwrap()
}

#[test]
fn counts_are_those_of_the_published_geometry() {
    for (architecture, count) in [(Architecture::Dicdnet, 4_300_175), (Architecture::Oscnet, 4_293_209)] {
        let config = MarNetConfig { architecture, ..MarNetConfig::default() };
        let (network, parameters) = network(&config, Kind::Float);
        assert_eq!(parameters.len(), count, "{architecture:?}");
        assert_eq!(network.held().len(), 72);
        let (network, _) = self::network(&MarNetConfig { held: Held::Xm, ..config }, Kind::Float);
        assert_eq!(network.held().len(), 72 + 60);
    }
}

#[test]
fn a_reduction_has_all_its_parts() {
    for architecture in [Architecture::Dicdnet, Architecture::Oscnet] {
        let (network, parameters) = network(&small(architecture), Kind::Double);
        let (input, _) = input(Kind::Double, 2, 12);
        for pass in [TRAIN, EVALUATE] {
            let reduction = run(network.as_ref(), &parameters, &input, pass);
            assert_eq!((reduction.images.len(), reduction.artefacts.len()), (4, 3));
            assert!(reduction.early_images.is_empty() && reduction.early_artefacts.is_empty());
            for image in reduction.images.iter().chain(&reduction.artefacts).chain([&reduction.start]) {
                assert_eq!(image.size(), [2, 1, 12, 12]);
                assert!(bool::try_from(image.isfinite().all()).unwrap());
            }
        }
    }
}

#[test]
fn everything_held_is_seen_in_its_order_with_its_bias() {
    for held in [Held::X, Held::Xm] {
        let (network, parameters) = network(&MarNetConfig { held, ..small(Architecture::Dicdnet) }, Kind::Double);
        let names = network.held();
        let (input, _) = input(Kind::Double, 2, 12);
        for pass in [TRAIN, EVALUATE] {
            let assembled = network.assemble(&parameters, pass).unwrap();
            let mut outputs = Vec::new();
            let mut see = |output: &Tensor| {
                outputs.push(output.shallow_clone());
                Ok(())
            };
            let seeing = network.forward(&parameters, &assembled, &input, pass, Some(&mut see)).unwrap();
            let _ = see;
            assert_eq!(outputs.len(), names.len());
            // The gradient of the sum of an output by its own bias is the number of its pixels, and nothing seen before depends on it.
            for (number, name) in names.iter().enumerate() {
                let bias = parameters.get(&name.replace("weight", "bias")).unwrap();
                let sum = outputs[number].sum(Kind::Double);
                let slope = &Tensor::run_backward(&[sum], &[bias], true, false)[0];
                assert!(far(slope, &Tensor::full_like(slope, 288.0)) < 1e-9, "{name}");
            }
            // Seeing changes nothing.
            let blind = run(network.as_ref(), &parameters, &input, pass);
            assert!(far(blind.image(), seeing.image()) < 1e-9);
        }
    }
}
