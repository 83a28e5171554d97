//! Logits, loss, gradients and running statistics of the networks that classify volumes.
//!
//! `golden/medmnist_forward.py` computes them from the equations in plain PyTorch; weights and volumes come from one formula on both sides.
//! A steerable kernel there is 12 P(W), P the projection on escnn's span: here its coefficients are solved for, and gradients by coefficients
//! are brought back to kernels, so that only the span of our basis matters.

use std::collections::BTreeMap;

use super::support::{distance, numbers, tensor};
use reynolds::random::Random;
use reynolds_paper::medmnist::networks::{Architecture, Network, Nonlinearity, Pass, SIDE, Symmetry, VolumeNetConfig};
use reynolds_paper::network::{EVALUATE, TRAIN};
use reynolds_testkit::golden::Golden;
use reynolds_torch::Parameters;
use reynolds_torch::tch::{Device, Kind, Tensor, no_grad};

const TOLERANCE: f64 = 1e-10;
/// Of steerable kernels.
const GAIN: f64 = 12.0;
const SAMPLES: usize = 3;
const CLASSES: usize = 3;
const LABELS: [i64; SAMPLES] = [0, 2, 1];
/// Copies of the fields before and after each convolution at c = 1, and the side of its kernels.
const STEERABLE: [(&str, i64, i64, i64); 9] = [
    ("r1.conv1", 1, 1, 7),
    ("r1.conv2", 1, 2, 5),
    ("r1.skip", 1, 2, 7),
    ("r2.conv1", 2, 4, 3),
    ("r2.conv2", 4, 6, 3),
    ("r2.skip", 2, 6, 3),
    ("r3.conv1", 6, 6, 3),
    ("r3.conv2", 6, 8, 1),
    ("r3.skip", 6, 8, 3),
];

fn values(name: &str, shape: &[usize]) -> Tensor {
    let last = name.rsplit('.').next().unwrap();
    let probe = name.starts_with("probe.");
    let fan_in: usize = shape.iter().skip(1).product();
    let (centre, width) = if last == "running_var" || name.contains("norm") && last == "weight" {
        (1.0, 1.0)
    } else if last == "weight" && !probe {
        (0.0, 3.4 / (fan_in as f64).sqrt())
    } else if name == "volumes" || probe {
        (0.0, 2.0)
    } else {
        (0.0, 0.5)
    };
    let shape: Vec<i64> = shape.iter().map(|&side| side as i64).collect();
    let count = shape.iter().product::<i64>() as usize;
    Tensor::from_slice(&numbers(name, count, (centre, width))).view(shape.as_slice())
}

fn build(config: &VolumeNetConfig) -> (Box<dyn Network>, Parameters) {
    let mut builder = Parameters::builder();
    let network = config.build(CLASSES, &mut builder, &mut Random::new(1)).unwrap();
    (network, builder.build(Kind::Double, Device::Cpu).unwrap())
}

/// c = 1.
fn small(architecture: Architecture, group: Symmetry) -> VolumeNetConfig {
    VolumeNetConfig { architecture, group, width: 1, ..VolumeNetConfig::default() }
}

/// The kernels of a steerable layer between two fields.
struct Span {
    /// B, `[n, components out · components in · k³]`.
    kernels: Tensor,
    /// Components out, copies out, components in, copies in, k³.
    sizes: [i64; 5],
}

impl Span {
    /// Of every layer of the SCNN with c = 1, from the kernels of unit weights of the first copies.
    fn all(group: Symmetry) -> BTreeMap<String, Self> {
        let (network, parameters) = build(&small(Architecture::Scnn, group));
        let weights = STEERABLE.map(|(name, ..)| parameters.get(&format!("{name}.weight")).unwrap().detach());
        let most = weights.iter().map(|weight| weight.size()[0]).max().unwrap();
        let mut found: Vec<Vec<Tensor>> = weights.iter().map(|_| Vec::new()).collect();
        for number in 0..most {
            for weight in &weights {
                let _ = weight.shallow_clone().zero_();
                if number < weight.size()[0] {
                    let _ = weight.get(number).get(0).get(0).fill_(1.0);
                }
            }
            let assembled = network.assemble(&parameters, TRAIN).unwrap();
            for ((kernel, weight), (list, (_, into, out, _))) in
                assembled.iter().zip(&weights).zip(found.iter_mut().zip(STEERABLE))
            {
                if number < weight.size()[0] {
                    list.push(kernel.detach().slice(0, 0, None, out).slice(1, 0, None, into).reshape([-1]));
                }
            }
        }
        let assembled = network.assemble(&parameters, TRAIN).unwrap();
        let spans = STEERABLE.into_iter().zip(found).zip(assembled).map(|(((name, into, out, side), list), kernel)| {
            let sizes = [kernel.size()[0] / out, out, kernel.size()[1] / into, into, side.pow(3)];
            (format!("{name}.weight"), Self { kernels: Tensor::stack(&list, 0), sizes })
        });
        spans.collect()
    }

    fn shape(&self) -> Vec<usize> {
        let [o, a, i, b, points] = self.sizes;
        let side = (points as f64).cbrt().round() as usize;
        vec![(o * a) as usize, (i * b) as usize, side, side, side]
    }

    /// (B Bᵀ)⁻¹ on the left.
    fn solve(&self, right: &Tensor) -> Tensor {
        Tensor::linalg_solve(&self.kernels.matmul(&self.kernels.transpose(0, 1)), right, true)
    }

    /// Weights `[n, copies out · copies in]` of the kernel in the span that is nearest to this one.
    fn weights(&self, kernel: &Tensor) -> Tensor {
        let blocks = kernel.view(self.sizes).permute([0, 2, 4, 1, 3]).reshape([self.kernels.size()[1], -1]);
        self.solve(&self.kernels.matmul(&blocks))
    }

    /// P of the gradient by the kernel, of that by weights.
    fn gradient(&self, by_weights: &Tensor) -> Tensor {
        let [o, a, i, b, points] = self.sizes;
        let solved = self.solve(&by_weights.view([self.kernels.size()[0], a * b]));
        let blocks = self.kernels.transpose(0, 1).matmul(&solved);
        blocks.view([o, i, points, a, b]).permute([0, 3, 1, 4, 2]).reshape([-1])
    }
}

/// A small network with the weights of the script.
struct Case {
    name: String,
    network: Box<dyn Network>,
    parameters: Parameters,
    golden: Golden,
    spans: BTreeMap<String, Span>,
}

impl Case {
    /// Of this kind in the script.
    fn new(kind: &str, config: VolumeNetConfig) -> Self {
        let (network, parameters) = build(&config);
        let spans = match config.architecture {
            Architecture::Scnn | Architecture::Rpp => Span::all(config.group),
            _ => BTreeMap::new(),
        };
        let name = format!("{kind}.{}", config.group.name());
        let mut case = Self { name, network, parameters, golden: Golden::open("medmnist_forward"), spans };
        let weights = case.parameters.entries().iter().map(|entry| match case.spans.get(&entry.name) {
            Some(span) => (span.weights(&values(&entry.name, &span.shape())) * GAIN).reshape([-1]),
            None => values(&entry.name, &entry.shape).view([-1]),
        });
        case.parameters.assign(&Tensor::cat(&weights.collect::<Vec<_>>(), 0)).unwrap();
        for entry in case.parameters.statistics_entries() {
            case.parameters.statistic(&entry.name).unwrap().copy_(&values(&entry.name, &entry.shape));
        }
        case
    }

    fn part(&self, part: &str) -> Tensor {
        tensor(&self.golden, &format!("{}.{part}", self.name))
    }

    /// Norm and product with the probe of every gradient, in the order of names.
    fn expect_gradients(&self, flat: &Tensor, part: &str) {
        let expected = self.part(part);
        let entries: BTreeMap<&String, _> =
            self.parameters.entries().iter().map(|entry| (&entry.name, entry)).collect();
        assert_eq!(expected.size(), [entries.len() as i64, 2], "{} {part}: {:?}", self.name, entries.keys());
        let whole = f64::try_from(expected.select(1, 0).norm()).unwrap();
        for ((name, entry), row) in entries.into_iter().zip(0..) {
            let gradient = flat.narrow(0, entry.start as i64, entry.len() as i64);
            let gradient = self.spans.get(name).map_or(gradient.shallow_clone(), |span| span.gradient(&gradient));
            let probe = values(&format!("probe.{name}"), &[gradient.numel()]);
            let (norm, product) = (gradient.norm().double_value(&[]), gradient.dot(&probe).double_value(&[]));
            let (norm_there, product_there) = (expected.double_value(&[row, 0]), expected.double_value(&[row, 1]));
            let allowed = TOLERANCE * (norm_there + 1e-4 * whole);
            let off = (norm - norm_there).abs().max((product - product_there).abs());
            assert!(off <= allowed, "{} {part}, {name}: norm {norm}, expected {norm_there}; off by {off:e}", self.name);
        }
    }

    fn expect(&self) {
        let near = |found: &Tensor, part: &str| {
            let off = distance(found, &self.part(part));
            assert!(off < TOLERANCE, "{}: {part} off by {off:e}", self.name);
        };
        let (volumes, labels) = (values("volumes", &[SAMPLES, 1, SIDE, SIDE, SIDE]), Tensor::from_slice(&LABELS));
        let forward = |volumes: &Tensor, pass: Pass| {
            let assembled = self.network.assemble(&self.parameters, pass).unwrap();
            self.network.forward(&self.parameters, &assembled, volumes, pass).unwrap()
        };
        let before = self.parameters.statistics().copy();
        near(&no_grad(|| forward(&volumes.narrow(0, 0, 1), EVALUATE)), "evaluate.logits");
        assert_eq!(&before, self.parameters.statistics(), "{}: evaluation changes statistics", self.name);

        let logits = forward(&volumes, TRAIN);
        near(&logits, "train.logits");
        let loss = logits.log_softmax(-1, Kind::Double).nll_loss(&labels);
        near(&loss.view([1]), "train.loss");
        self.expect_gradients(&self.parameters.gradient(&loss).unwrap(), "train.gradients");
        for entry in self.parameters.statistics_entries() {
            near(&self.parameters.statistic(&entry.name).unwrap().view([-1]), &entry.name);
        }
    }
}

#[test]
fn networks_are_those_of_their_equations() {
    use Architecture::{Cnn, Ours, Rpp, Scnn};
    let gated = VolumeNetConfig { nonlinearity: Nonlinearity::Gated, ..small(Ours, Symmetry::So3) };
    for (kind, config) in [
        ("dense", small(Cnn, Symmetry::So3)),
        ("scnn", small(Scnn, Symmetry::So3)),
        ("scnn", small(Scnn, Symmetry::O3)),
        ("rpp", small(Rpp, Symmetry::So3)),
        ("gated", gated),
    ] {
        Case::new(kind, config).expect();
    }
}
