//! Images, loss, gradients, running statistics and penalties of the networks that take metal artefacts out, in every mode.
//!
//! `golden/ct_forward.py` computes them from the equations in plain PyTorch; weights and images come from one formula on both sides.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use super::support::{distance, numbers, tensor};
use reynolds::group::{self, Element};
use reynolds::penalty::PenaltyConfig;
use reynolds::random::Random;
use reynolds::rep;
use reynolds_paper::ct::networks::RotatedKernels;
use reynolds_paper::ct::networks::{Architecture, Corrupted, MarNetConfig, Mode, Pass, Reduction, loss};
use reynolds_paper::network::{Network, Seen};
use reynolds_testkit::golden::Golden;
use reynolds_torch::action::FieldAction;
use reynolds_torch::parametrisation::{Parametrisation, Trained};
use reynolds_torch::sample_penalty::{SamplePenalty, SamplePenaltyConfig};
use reynolds_torch::tch::{Device, Kind, Tensor};
use reynolds_torch::{Binding, Parameters, Penalty, Precision};

const TOLERANCE: f64 = 1e-11;

/// Where the numbers of a weight lie, and how wide.
fn centre_and_width(name: &str) -> (f64, f64) {
    let last = name.rsplit('.').next().unwrap();
    if last == "running_var" || name.contains(".norm") && last == "weight" || name == "threshold" {
        (1.0, 1.0)
    } else if name.starts_with("step.") {
        if last == "m" { (1.0, 1.0) } else { (5.0, 2.0) }
    } else if name.contains(".conv") && matches!(last, "weight" | "equivariant") {
        (0.0, 0.12)
    } else if name.starts_with("dictionary") {
        (0.02, 0.4)
    } else if name == "auxiliary" || name.starts_with("k.") && last == "weight" {
        (0.02, 0.2)
    } else {
        (0.0, 1.0)
    }
}

fn values(name: &str, count: usize) -> Vec<f64> {
    numbers(name, count, centre_and_width(name))
}

fn close(found: f64, expected: f64, what: &str) {
    assert!((found - expected).abs() <= TOLERANCE * expected.abs().max(1.0), "{what}: {found}, expected {expected}");
}

/// The functions that OSCNet's kernels are made of, `[81, 4 · 81]`.
fn functions() -> Tensor {
    RotatedKernels::new(9, 9).unwrap().kernels(&Tensor::eye(81, (Kind::Double, Device::Cpu))).unwrap().view([81, 324])
}

/// A small network with the weights of the script, and its input and truth.
struct Case {
    name: String,
    network: Box<dyn Network<Corrupted, Reduction>>,
    parameters: Parameters,
    golden: Golden,
    turned: bool,
}

impl Case {
    fn new(architecture: Architecture) -> Self {
        let config = MarNetConfig { architecture, stages: 3, blocks: 1, ..MarNetConfig::default() };
        let mut builder = Parameters::builder();
        let network = config.build(&mut builder, &mut Random::new(1)).unwrap();
        let parameters = builder.build(Kind::Double, Device::Cpu).unwrap();
        let name = format!("{architecture:?}").to_lowercase();
        let turned = architecture == Architecture::Oscnet;
        let mut case = Self { name, network, parameters, golden: Golden::open("ct_forward"), turned };
        case.parameters.assign(&case.weights()).unwrap();
        case.reset_statistics();
        case
    }

    /// The weights of the script, flat; OSCNet's are those whose kernels are the turned copies of the script's base.
    fn weights(&self) -> Tensor {
        let parts: Vec<Tensor> =
            self.parameters.entries().iter().map(|entry| self.weight(&entry.name, entry.len())).collect();
        Tensor::cat(&parts, 0)
    }

    fn weight(&self, name: &str, count: usize) -> Tensor {
        let numbers = Tensor::from_slice(&values(name, count));
        if !(self.turned && name.starts_with("dictionary")) {
            return numbers;
        }
        let base = numbers.view([9, 9, 9]);
        let copies: Vec<Tensor> = (0..4).map(|turn| base.rot90(turn, [1, 2])).collect();
        Tensor::stack(&copies, 1).view([9, 324]).matmul(&functions().transpose(0, 1)).view([-1])
    }

    fn reset_statistics(&self) {
        for entry in self.parameters.statistics_entries() {
            let numbers = Tensor::from_slice(&values(&entry.name, entry.len()));
            self.parameters.statistic(&entry.name).unwrap().copy_(&numbers);
        }
    }

    fn part(&self, part: &str) -> Tensor {
        tensor(&self.golden, &format!("{}.{part}", self.name))
    }

    /// The input and the truth.
    fn images(&self) -> (Corrupted, Tensor) {
        let images = ["corrupted", "interpolated", "keep", "truth"].map(|name| tensor(&self.golden, name));
        let [image, interpolated, keep, truth] = images;
        (Corrupted { image, interpolated, keep }, truth)
    }

    fn run(&self, mode: Mode, input: &Corrupted, seen: Option<&mut Seen<'_>>) -> Reduction {
        let pass = Pass { mode, precision: Precision::F32 };
        let assembled = self.network.assemble(&self.parameters, pass).unwrap();
        match seen {
            Some(seen) => self.network.forward_seen(&self.parameters, &assembled, input, pass, seen).unwrap(),
            None => self.network.forward(&self.parameters, &assembled, input, pass).unwrap(),
        }
    }

    fn gradient(&self, loss: &Tensor) -> BTreeMap<String, Tensor> {
        self.by_name(&self.parameters.gradient(loss).unwrap())
    }

    fn by_name(&self, flat: &Tensor) -> BTreeMap<String, Tensor> {
        let entries = self.parameters.entries().iter();
        entries.map(|entry| (entry.name.clone(), flat.narrow(0, entry.start as i64, entry.len() as i64))).collect()
    }

    /// Norm and product with the probe of every gradient, in the order of names.
    fn expect_gradients(&self, found: BTreeMap<String, Tensor>, part: &str) {
        let expected = self.part(part);
        assert_eq!(expected.size(), [found.len() as i64, 2], "{} {part}: {:?}", self.name, found.keys());
        let whole = f64::try_from(expected.select(1, 0).norm()).unwrap();
        for ((name, gradient), row) in found.into_iter().zip(0..) {
            let gradient = match self.turned && name.starts_with("dictionary") {
                // By the base: four copies of it have length 2, and one of the four is as long as a half of the coefficients.
                true => gradient.view([9, 81]).matmul(&functions()).view([9, 4, 81]).select(1, 0).reshape([-1]) * 4.0,
                false => gradient,
            };
            let probe = Tensor::from_slice(&values(&format!("probe.{name}"), gradient.numel()));
            let found = [gradient.norm(), gradient.dot(&probe)].map(|number| number.double_value(&[]));
            let there = [0, 1].map(|column| expected.double_value(&[row, column]));
            let off = (found[0] - there[0]).abs().max((found[1] - there[1]).abs());
            let is_close = off <= TOLERANCE * (there[0] + 1e-4 * whole);
            assert!(is_close, "{} {part}, {name}: {found:?}, expected {there:?}; off by {off:e}", self.name);
        }
    }

    /// The X-nets' kernels against C4.
    fn binding(&self) -> Rc<Binding> {
        let plan = self.network.plan(&self.parameters).unwrap().unwrap();
        Rc::new(Binding::of_plan(&self.parameters, &plan).unwrap())
    }
}

#[test]
fn images_loss_gradients_and_statistics_are_those_of_the_equations() {
    for architecture in Architecture::ALL {
        let case = Case::new(architecture);
        assert_eq!(case.parameters.len() as f64, case.golden.number(&format!("{}.numbers", case.name)));
        let (input, truth) = case.images();
        for (mode, name) in [(Mode::Evaluate, "evaluate"), (Mode::Train, "train")] {
            let before = case.parameters.statistics().copy();
            let reduction = case.run(mode, &input, None);
            let early = reduction.early;
            assert_eq!(early, if architecture == Architecture::Acdnet { 2 } else { 0 });
            let mut parts = vec![
                ("start", reduction.start.shallow_clone()),
                ("images", Tensor::stack(&reduction.images[early..], 0)),
                ("artefacts", Tensor::stack(&reduction.artefacts[early..], 0)),
            ];
            if early > 0 {
                parts.push(("early_images", Tensor::stack(&reduction.images[..early], 0)));
                parts.push(("early_artefacts", Tensor::stack(&reduction.artefacts[..early], 0)));
            }
            for (part, found) in parts {
                let off = distance(&found, &case.part(&format!("{name}.{part}")));
                assert!(off < TOLERANCE, "{} {name}: {part} off by {off:e}", case.name);
            }
            let loss = loss(&reduction, &input, &truth).unwrap();
            close(loss.double_value(&[]), case.golden.number(&format!("{}.{name}.loss", case.name)), &case.name);
            case.expect_gradients(case.gradient(&loss), &format!("{name}.gradients"));
            match mode {
                Mode::Evaluate => {
                    assert_eq!(&before, case.parameters.statistics(), "{}: evaluation is seen", case.name)
                }
                Mode::Train => {
                    let names: BTreeSet<&String> =
                        case.parameters.statistics_entries().iter().map(|entry| &entry.name).collect();
                    let parts: Vec<Tensor> =
                        names.into_iter().map(|name| case.parameters.statistic(name).unwrap()).collect();
                    let off = distance(&Tensor::cat(&parts, 0), &case.part("after"));
                    assert!(off < TOLERANCE, "{}: running statistics off by {off:e}", case.name);
                }
            }
        }
    }
}

#[test]
fn the_sample_based_penalty_is_that_of_the_doubled_batch() {
    let c4 = group::parse("C4").unwrap();
    let scalars = FieldAction::new(&rep::trivial(&c4));
    let fields = FieldAction::new(&rep::parse_fields(&c4, "9 regular").unwrap());
    let penalty = SamplePenalty::new(&scalars, SamplePenaltyConfig { weight: 0.02, squared: false }).unwrap();
    for architecture in Architecture::ALL {
        let case = Case::new(architecture);
        let (input, truth) = case.images();
        for r in 0..4_u128 {
            let drawn = (0..).map(|seed| penalty.draw(&mut Random::new(seed)).unwrap());
            let mut pairs = drawn.into_iter().find(|pairs| *pairs.element() == Element::Finite(r)).unwrap();
            let doubled = input.map(|image| pairs.double(image)).unwrap();
            let truth = pairs.double(&truth).unwrap();
            case.reset_statistics();
            let mut layers = 0;
            let mut see = |output: &Tensor| {
                layers += 1;
                pairs.compare(output, &fields)
            };
            let reduction = case.run(Mode::Train, &doubled, Some(&mut see));
            assert_eq!(layers, case.binding().bound().len());
            let task = loss(&reduction, &doubled, &truth).unwrap();
            let (_, expected) = case.golden.tensor(&format!("{}.sample.{r}", case.name));
            close(task.double_value(&[]), expected[0], &case.name);
            let penalty = pairs.penalty().unwrap();
            // Norms are √(N² + 10⁻¹²) − 10⁻⁶, which have a gradient at 0.
            let expected = 0.02 * (expected[1] - if r == 0 { 0.0 } else { 1e-6 * layers as f64 });
            close(penalty.double_value(&[]), expected, &format!("{}: penalty at r = {r}", case.name));
            if r == 1 {
                case.expect_gradients(case.gradient(&(task + penalty)), "sample.gradients");
            }
        }
    }
}

#[test]
fn residual_pathways_have_the_loss_and_the_gradients_of_their_sum() {
    for architecture in Architecture::ALL {
        let mut case = Case::new(architecture);
        let binding = Some(case.binding());
        let mut trained = Trained::new(Parametrisation::Residual, &mut case.parameters, binding).unwrap();
        let held: Vec<String> = case.binding().bound().iter().map(|bound| bound.entry.name.clone()).collect();
        let pathway = |name: &str| name.replace(".weight", ".equivariant");
        let equivariant = case.parameters.entries().iter().map(|entry| match held.contains(&entry.name) {
            true => case.weight(&pathway(&entry.name), entry.len()),
            false => case.weight(&entry.name, entry.len()),
        });
        let halves = [Tensor::cat(&equivariant.collect::<Vec<_>>(), 0), case.weights()];
        trained.restore(&Tensor::cat(&halves, 0), &mut case.parameters).unwrap();
        let (input, truth) = case.images();
        let loss = loss(&case.run(Mode::Train, &input, None), &input, &truth).unwrap();
        close(loss.double_value(&[]), case.golden.number(&format!("{}.pathway.loss", case.name)), &case.name);
        let gradient = trained.pull_back(case.parameters.gradient(&loss).unwrap()).unwrap();
        let [first, second] = [0, 1].map(|half| case.by_name(&gradient.chunk(2, 0)[half]));
        let mut found = BTreeMap::new();
        for (name, gradient) in first {
            if held.contains(&name) {
                found.insert(pathway(&name), gradient);
                found.insert(name.clone(), second[&name].shallow_clone());
            } else {
                found.insert(name, gradient);
            }
        }
        case.expect_gradients(found, "pathway.gradients");
    }
}

#[test]
fn the_projection_penalty_is_what_lies_off_the_average() {
    for architecture in Architecture::ALL {
        let case = Case::new(architecture);
        let config = PenaltyConfig { lambda_perp: 1.0, ..PenaltyConfig::default() };
        let penalty = Penalty::new(case.binding(), config).unwrap();
        let mut gradient = case.parameters.flat().zeros_like();
        let value = penalty.add_gradient_with_value(case.parameters.flat(), &mut gradient).unwrap();
        let (_, expected) = case.golden.tensor(&format!("{}.off", case.name));
        close(value.double_value(&[]), expected[0], &case.name);
        assert!(expected[0] < 0.9 * expected[1], "{}: nothing is equivariant", case.name);
        case.expect_gradients(case.by_name(&gradient), "off.gradients");
    }
}

#[test]
fn rotated_kernels_are_those_of_the_series() {
    let golden = Golden::open("ct_forward");
    let name = "rotated.9.9.4";
    let rotated = RotatedKernels::new(9, 9).unwrap();
    let weights = Tensor::from_slice(&values(name, 2 * rotated.functions())).view([2, -1]);
    let off = distance(&rotated.kernels(&weights).unwrap(), &tensor(&golden, name));
    assert!(off < TOLERANCE, "off by {off:e}");
}
