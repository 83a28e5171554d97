use tch::{Device, Kind};

use super::super::{Architecture, Mode, Precision};
use super::*;
use reynolds_torch::layers::convolve;

const SIDE: i64 = 12;
const TRAIN: Pass = Pass { mode: Mode::Train, precision: Precision::F32 };
const EVALUATE: Pass = Pass { mode: Mode::Evaluate, precision: Precision::F32 };

/// A network whose parameters are all away from what they begin with.
fn network(config: &MarNetConfig, kind: Kind) -> (Box<dyn Reducer>, Parameters) {
    let mut builder = Parameters::builder();
    let network = config.build(&mut builder, &mut Random::new(21)).unwrap();
    let parameters = builder.build(kind, Device::Cpu).unwrap();
    let mut random = Random::new(22);
    let noise: Vec<f64> = (0..parameters.len()).map(|_| 0.02 * random.normal()).collect();
    parameters.assign(&(parameters.flat() + Tensor::from_slice(&noise).to_kind(kind))).unwrap();
    (network, parameters)
}

fn config(stages: usize) -> MarNetConfig {
    MarNetConfig { architecture: Architecture::Acdnet, stages, blocks: 1, held: Held::X }
}

fn images(samples: i64, side: i64, kind: Kind) -> Corrupted {
    let mut random = Random::new(23);
    let mut draw = |scale: f64| {
        let values: Vec<f64> = (0..samples * side * side).map(|_| scale * random.uniform()).collect();
        Tensor::from_slice(&values).view([samples, 1, side, side]).to_kind(kind)
    };
    let (image, interpolated) = (draw(255.0), draw(255.0));
    // Fractional at the edge of the metal.
    let keep = (draw(8.0)).clamp(0.0, 1.0);
    Corrupted { image, interpolated, keep }
}

fn outputs(reduction: &Reduction) -> Vec<&Tensor> {
    let Reduction { start, images, artefacts, early_images, early_artefacts } = reduction;
    [start].into_iter().chain(images).chain(artefacts).chain(early_images).chain(early_artefacts).collect()
}

fn run(network: &dyn Reducer, parameters: &Parameters, input: &Corrupted, pass: Pass) -> Reduction {
    let assembled = network.assemble(parameters, pass).unwrap();
    network.forward(parameters, &assembled, input, pass, None).unwrap()
}

/// The equations as they are written, with the responses to all atoms, one sample after the other.
struct Literal<'a> {
    parameters: &'a Parameters,
    input: &'a Corrupted,
}

impl Literal<'_> {
    fn get(&self, name: &str) -> Tensor {
        self.parameters.get(name).unwrap().detach()
    }

    /// One residual block, normalised over the minibatch.
    fn block(&self, name: &str, input: &Tensor) -> Tensor {
        let half = |half: usize, input: &Tensor| {
            let part = |part: String| self.get(&format!("{name}.0.{part}"));
            let (kernel, bias) = (part(format!("conv{half}.weight")), part(format!("conv{half}.bias")));
            let output = convolve(input, &kernel, Some(&bias), 1).unwrap();
            let (scale, shift) = (part(format!("norm{half}.weight")), part(format!("norm{half}.bias")));
            let none = None::<&Tensor>;
            output.batch_norm(Some(&scale), Some(&shift), none, none, true, 0.1, 1e-5, false)
        };
        (input + half(2, &half(1, input).relu())).relu()
    }

    fn m_net(&self, number: usize, maps: &Tensor) -> Tensor {
        (self.block(&format!("m.{number}"), maps) - self.get(&format!("m.{number}.threshold")).view([-1, 1, 1])).relu()
    }

    fn k_net(&self, number: usize, flat: &Tensor) -> Tensor {
        let linear = |half: usize, input: &Tensor| {
            let part = |part: &str| self.get(&format!("k.{number}.{half}.{part}"));
            input.matmul(&part("weight").transpose(0, 1)) + part("bias")
        };
        let moved = (flat + linear(1, &linear(0, flat).relu())).relu().view([-1, 8, 32]);
        let norms = moved.square().sum_dim_intlist([2].as_slice(), true, Kind::Double).sqrt();
        moved / (norms + 1e-6)
    }

    /// Σ_n C_n ⋆ M_n with kernels `[N, 8, 9, 9]`.
    fn compose(&self, kernels: &Tensor, maps: &Tensor) -> Tensor {
        let each = (0..maps.size()[0]).map(|at| convolve(&maps.narrow(0, at, 1), &kernels.narrow(0, at, 1), None, 1));
        Tensor::cat(&each.collect::<Result<Vec<_>>>().unwrap(), 0)
    }

    fn analyse(&self, kernels: &Tensor, image: &Tensor) -> Tensor {
        let one = |at: i64| {
            let kernels = kernels.narrow(0, at, 1);
            image.narrow(0, at, 1).conv_transpose2d(&kernels, None::<Tensor>, [1, 1], [4, 4], [0, 0], 1, [1, 1])
        };
        Tensor::cat(&(0..image.size()[0]).map(one).collect::<Vec<_>>(), 0)
    }

    /// G `[N, 256]`.
    fn slopes(&self, maps: &Tensor, residual: &Tensor) -> Tensor {
        let atoms = self.get("dictionary") / 10.0;
        let samples = maps.size()[0];
        let responses = convolve(&maps.reshape([samples * 8, 1, SIDE, SIDE]), &atoms, None, 1).unwrap();
        let products = responses.view([samples, 8, 32, SIDE, SIDE]) * residual.unsqueeze(1);
        products.sum_dim_intlist([3, 4].as_slice(), false, Kind::Double).view([samples, 256])
    }

    /// Start, images, artefacts, early images, early artefacts, one after the other.
    fn forward(&self, adaptive: usize) -> Vec<Tensor> {
        let Corrupted { image: y, interpolated, keep } = self.input;
        let samples = y.size()[0];
        let step = |name: &str, at: usize| self.get(name).get(at as i64);
        let x_net = |number: usize, image: &Tensor, others: &Tensor| {
            let stream = self.block(&format!("x.{number}"), &Tensor::cat(&[image, others], 1));
            (stream.narrow(1, 0, 1), stream.narrow(1, 1, 35))
        };
        let others = convolve(interpolated, &self.get("auxiliary"), None, 1).unwrap();
        let (mut x, mut others) = x_net(0, interpolated, &others);
        let start = x.copy();
        let mut kernels = (self.get("dictionary.start") / 10.0).expand([samples, 8, 9, 9], false);
        let first = (keep * (y - &x) - self.get("threshold")).relu();
        let mut maps = self.m_net(0, &self.analyse(&kernels, &first));
        let (mut coefficients, mut images, mut artefacts) = (Tensor::new(), Vec::new(), Vec::new());
        let mut artefact = self.compose(&kernels, &maps);
        for stage in 0..adaptive + 2 {
            if stage == 2 {
                coefficients = self.k_net(0, &self.slopes(&maps, &(keep * (y - &x))));
            } else if stage > 2 {
                let slopes = self.slopes(&maps, &(keep * (y - &x - &artefact)));
                let step = step("step.k", stage - 2) / (50.0 * (SIDE * SIDE) as f64);
                coefficients = self.k_net(stage - 2, &(coefficients.view([samples, 256]) + step * slopes));
            }
            if stage >= 2 {
                kernels = coefficients.matmul(&(self.get("dictionary").view([32, 81]) / 10.0)).view([samples, 8, 9, 9]);
                artefact = self.compose(&kernels, &maps);
            }
            if stage >= 1 {
                let change = self.analyse(&kernels, &(keep * (y - &x - &artefact)));
                maps = self.m_net(stage, &(maps + step("step.m", stage) / 10.0 * change));
                artefact = self.compose(&kernels, &maps);
            }
            let weight = step("step.x", stage) / 10.0 * keep;
            x = (1.0 - &weight) * &x + weight * (y - &artefact);
            (x, others) = x_net(stage + 1, &x, &others);
            images.push(x.copy());
            artefacts.push(artefact.copy());
            if stage == 1 {
                maps = convolve(&maps.relu(), &self.get("mix.0"), None, 1).unwrap();
                maps = convolve(&maps, &self.get("mix.1"), None, 1).unwrap();
            }
        }
        images.push(x_net(adaptive + 3, &x, &others).0);
        let (late, late_artefacts) = (images.split_off(2), artefacts.split_off(2));
        [vec![start], late, late_artefacts, images, artefacts].into_iter().flatten().collect()
    }
}

#[test]
fn it_has_as_many_parameters_as_published() {
    let mut builder = Parameters::builder();
    let published = MarNetConfig { architecture: Architecture::Acdnet, ..MarNetConfig::default() };
    published.build(&mut builder, &mut Random::new(1)).unwrap();
    assert_eq!(builder.entries().iter().map(|entry| entry.numel()).sum::<usize>(), 4_169_814);
}

#[test]
fn it_is_the_equations_with_the_responses_to_all_atoms() {
    for stages in [2, 3] {
        let (network, parameters) = network(&config(stages), Kind::Double);
        let input = images(2, SIDE, Kind::Double);
        let found = run(network.as_ref(), &parameters, &input, TRAIN);
        assert_eq!([found.images.len(), found.artefacts.len()], [stages + 1, stages]);
        assert_eq!([found.early_images.len(), found.early_artefacts.len()], [2, 2]);
        let expected = Literal { parameters: &parameters, input: &input }.forward(stages);
        let found = outputs(&found);
        assert_eq!(found.len(), expected.len());
        for (number, (found, expected)) in found.iter().zip(&expected).enumerate() {
            let (far, size) = ((*found - expected).abs().max(), expected.abs().max());
            let (far, size) = (f64::try_from(far).unwrap(), f64::try_from(size).unwrap());
            assert!(far < 1e-9 * (1.0 + size) && size > 1e-3, "{stages} {number}: {far:e} of {size:e}");
        }
    }
}

#[test]
fn every_kind_of_parameter_has_the_slope_of_its_gradient() {
    let (network, parameters) = network(&config(2), Kind::Double);
    let input = images(2, SIDE, Kind::Double);
    let loss = || {
        let reduction = run(network.as_ref(), &parameters, &input, TRAIN);
        let terms = outputs(&reduction).into_iter().enumerate();
        let terms = terms.map(|(at, output)| (output * (0.01 + 0.003 * at as f64)).sin().mean(Kind::Double));
        Tensor::stack(&terms.collect::<Vec<_>>(), 0).sum(Kind::Double)
    };
    let gradient = Vec::<f64>::try_from(parameters.gradient(&loss()).unwrap()).unwrap();
    let begin = parameters.flat().copy();
    for (name, at) in [
        ("auxiliary", 4),
        ("x.0.0.conv1.weight", 12),
        ("x.3.0.norm2.weight", 0),
        ("x.5.0.conv2.weight", 12),
        ("m.0.0.conv1.weight", 12),
        ("m.2.0.conv2.weight", 12),
        ("m.3.threshold", 3),
        ("k.0.0.weight", 0),
        ("k.1.1.weight", 0),
        ("threshold", 0),
        ("step.x", 2),
        ("step.m", 1),
        ("step.m", 3),
        ("step.k", 1),
        ("dictionary.start", 40),
        ("dictionary", 81 + 40),
        ("mix.0", 0),
        ("mix.1", 9),
    ] {
        let entry = parameters.entries().iter().find(|entry| entry.name == name).unwrap();
        let place = match name.starts_with('k') {
            // Of these the largest: coefficients that are cut off have none.
            true => (entry.start..entry.start + entry.len())
                .max_by(|&a, &b| gradient[a].abs().total_cmp(&gradient[b].abs()))
                .unwrap(),
            false => entry.start + at,
        };
        let moved = |by: f64| {
            let values = begin.copy();
            let _ = values.narrow(0, place as i64, 1).g_add_scalar_(by);
            parameters.assign(&values).unwrap();
            loss().double_value(&[])
        };
        let size = 1e-6;
        let slope = (moved(size) - moved(-size)) / (2.0 * size);
        parameters.assign(&begin).unwrap();
        let off = (slope - gradient[place]).abs();
        assert!(off < 1e-4 * slope.abs() + 1e-9 && slope != 0.0, "{name}: {slope:e} {:e}", gradient[place]);
    }
}

#[test]
fn held_kernels_are_seen_in_their_order() {
    for held in [Held::X, Held::Xm] {
        let (network, parameters) = network(&MarNetConfig { held, ..config(2) }, Kind::Double);
        let input = images(2, SIDE, Kind::Double);
        let names = network.held();
        assert_eq!(names.len(), 2 * 6 + if held == Held::Xm { 2 * 4 } else { 0 });
        for pass in [TRAIN, EVALUATE] {
            let assembled = network.assemble(&parameters, pass).unwrap();
            let mut channels = Vec::new();
            let mut seen = |output: &Tensor| {
                channels.push(output.size()[1]);
                Ok(())
            };
            network.forward(&parameters, &assembled, &input, pass, Some(&mut seen)).unwrap();
            let expected: Vec<i64> = names.iter().map(|name| parameters.get(name).unwrap().size()[0]).collect();
            assert_eq!(channels, expected);
        }
    }
}

#[test]
fn samples_of_a_batch_do_not_see_each_other_in_evaluation() {
    let (network, parameters) = network(&config(2), Kind::Double);
    let input = images(2, SIDE, Kind::Double);
    let both = run(network.as_ref(), &parameters, &input, EVALUATE);
    for at in 0..2 {
        let one = |tensor: &Tensor| tensor.narrow(0, at, 1);
        let alone =
            Corrupted { image: one(&input.image), interpolated: one(&input.interpolated), keep: one(&input.keep) };
        let alone = run(network.as_ref(), &parameters, &alone, EVALUATE);
        for (both, alone) in outputs(&both).into_iter().zip(outputs(&alone)) {
            let far = f64::try_from((one(both) - alone).abs().max()).unwrap();
            assert!(far < 1e-9 * (1.0 + f64::try_from(alone.abs().max()).unwrap()), "{far:e}");
        }
    }
}

/// 8 bits of mantissa in the convolutions alone: images keep theirs, and what is shown has no padding.
#[test]
fn bf16_is_near_and_gives_images_in_the_type_of_the_parameters() {
    let (network, parameters) = network(&config(2), Kind::Float);
    let input = images(2, SIDE, Kind::Float);
    let full = run(network.as_ref(), &parameters, &input, EVALUATE);
    for mode in [Mode::Evaluate, Mode::Train] {
        let pass = Pass { mode, precision: Precision::Bf16 };
        let assembled = network.assemble(&parameters, pass).unwrap();
        let mut count = 0;
        let mut seen = |output: &Tensor| {
            count += 1;
            assert_eq!((output.size()[1], output.kind()), (36, Kind::BFloat16));
            Ok(())
        };
        let rounded = network.forward(&parameters, &assembled, &input, pass, Some(&mut seen)).unwrap();
        assert_eq!(count, network.held().len());
        for (rounded, full) in outputs(&rounded).into_iter().zip(outputs(&full)) {
            assert_eq!(rounded.kind(), Kind::Float);
            let error = f64::try_from((rounded - full).norm() / full.norm()).unwrap();
            assert!(mode == Mode::Train || error < 0.02, "{error}");
        }
    }
}

/// As published, from 0 to 255 in single precision: no sum over pixels is too much for the K-nets, forth and back.
#[test]
fn it_begins_finite_with_a_finite_gradient() {
    let published = MarNetConfig { architecture: Architecture::Acdnet, ..MarNetConfig::default() };
    let mut builder = Parameters::builder();
    let network = published.build(&mut builder, &mut Random::new(1)).unwrap();
    let parameters = builder.build(Kind::Float, Device::Cpu).unwrap();
    let reduction = run(network.as_ref(), &parameters, &images(2, 16, Kind::Float), TRAIN);
    let means: Vec<Tensor> = outputs(&reduction).iter().map(|output| output.square().mean(Kind::Float)).collect();
    let loss = Tensor::stack(&means, 0).sum(Kind::Float);
    assert!(f64::try_from(&loss).unwrap() < 1e8, "{loss:?}");
    let gradient = parameters.gradient(&loss).unwrap();
    assert!(f64::try_from(gradient.isfinite().all().to_kind(Kind::Double)).unwrap() == 1.0);
    assert!(f64::try_from(reduction.artefacts[9].abs().max()).unwrap() > 0.0);
}
