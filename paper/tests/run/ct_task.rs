//! What the task of "ct" counts, adds and measures, on images made here.

use std::sync::{Arc, Mutex};

use reynolds::plan::SymmetryPlan;
use reynolds::random::Random;
use reynolds_paper::ct::networks::{Architecture, Corrupted, Pass, Reduction, regular_plan};
use reynolds_paper::ct::{CtData, CtSettings, CtSubset, CtTask, Measured};
use reynolds_paper::network::{Network, Seen};
use reynolds_torch::parametrisation::Parametrisation;
use reynolds_torch::tch::{Device, Kind, Tensor};
use reynolds_torch::{Parameters, Precision};
use reynolds_train::config::{PenaltySettings, TrainConfig};
use reynolds_train::interrupt::Interrupt;
use reynolds_train::journal::Memory;
use reynolds_train::progress::Silent;
use reynolds_train::schedule::Shape;
use reynolds_train::task::{Moment, Split, Task};
use reynolds_train::train::{Ending, train};

/// Eight cases of noise, six of them for training.
fn data(side: i64) -> CtData {
    let mut random = Random::new(7);
    let numbers: Vec<f32> = (0..3 * 8 * side * side).map(|_| 100.0 * random.uniform() as f32).collect();
    let images = Tensor::from_slice(&numbers).view([3, 8, side, side]);
    let keep = Tensor::ones([1, 8, side, side], (Kind::Float, Device::Cpu));
    let _ = keep.narrow(2, 2, 3).narrow(3, 1, 2).fill_(0.0);
    CtData::new(Tensor::cat(&[images, keep], 0), [6, 1, 1, 0]).unwrap()
}

fn settings(side: usize) -> CtSettings {
    let mut settings = CtSettings::default();
    (settings.data.side, settings.data.patch, settings.data.batch, settings.data.steps) = (side, side, 2, 0);
    (settings.model.stages, settings.model.blocks) = (2, 1);
    settings
}

#[test]
fn the_networks_have_the_published_numbers_of_parameters_in_plain_and_residual_form() {
    for (architecture, plain, residual) in [
        (Architecture::Acdnet, 4_169_814, 6_891_414),
        (Architecture::Dicdnet, 4_300_175, 6_632_975),
        (Architecture::Oscnet, 4_293_209, 6_626_009),
    ] {
        let mut settings = settings(16);
        (settings.model.architecture, settings.model.stages, settings.model.blocks) = (architecture, 10, 3);
        let task = CtTask::new(data(16), &settings, Precision::F32, 0).unwrap();
        let counts = [Parametrisation::Free, Parametrisation::Residual].map(|kind| task.trained_numbers(kind));
        assert_eq!(counts, [plain, residual], "{architecture:?}");
    }
}

#[test]
fn an_epoch_is_one_pass_or_as_many_minibatches_as_asked_for() {
    let steps = |batch: usize, steps: usize| {
        let mut settings = settings(16);
        (settings.data.batch, settings.data.steps) = (batch, steps);
        let task = CtTask::new(data(16), &settings, Precision::F32, 0).unwrap();
        let last = Moment { epoch: 3, step: task.steps_per_epoch() - 1 };
        assert!(task.loss(last).unwrap().double_value(&[]).is_finite());
        task.steps_per_epoch()
    };
    assert_eq!([steps(4, 0), steps(2, 0), steps(4, 5)], [2, 3, 5]);
}

#[test]
fn the_sample_based_penalty_grows_with_its_weight_and_is_none_where_nothing_is_turned() {
    let loss = |weight: f64, step: usize| {
        let mut settings = settings(16);
        settings.sample.weight = weight;
        let task = CtTask::new(data(16), &settings, Precision::F32, 5).unwrap();
        task.loss(Moment { epoch: 0, step }).unwrap().double_value(&[])
    };
    let mut turned = 0;
    for step in 0..3 {
        let [one, two, three] = [1e-2, 2e-2, 3e-2].map(|weight| loss(weight, step));
        assert!((three - two - (two - one)).abs() < 1e-4 * three.abs(), "{one} {two} {three}");
        turned += usize::from(two - one > 1e-3);
    }
    // One of four turns is none; of these three draws at least one is another.
    assert!(turned > 0);
}

type Result<T> = reynolds_torch::Result<T>;

/// X = scale · shifted L: turns with its input if it is not shifted. Remembers every L it saw.
#[derive(Default)]
struct Echo {
    shift: i64,
    /// A kernel that is held, of one regular field.
    held: bool,
    seen: Arc<Mutex<Vec<Tensor>>>,
}

impl Network<Corrupted, Reduction> for Echo {
    fn assemble(&self, parameters: &Parameters, _: Pass) -> Result<Vec<Tensor>> {
        Ok(vec![parameters.get("scale").unwrap()])
    }

    fn forward(&self, _: &Parameters, assembled: &[Tensor], input: &Corrupted, _: Pass) -> Result<Reduction> {
        self.seen.lock().unwrap().push(input.interpolated.copy());
        let image = input.interpolated.roll([self.shift], [3]) * &assembled[0];
        let artefacts = vec![&input.image - &image];
        let images = vec![image.shallow_clone(), image.shallow_clone()];
        Ok(Reduction { start: image, images, artefacts, early: 0 })
    }

    fn forward_seen(
        &self,
        parameters: &Parameters,
        assembled: &[Tensor],
        input: &Corrupted,
        pass: Pass,
        seen: &mut Seen<'_>,
    ) -> Result<Reduction> {
        let size = input.interpolated.size();
        seen(&Tensor::zeros([size[0], 4, size[2], size[3]], (Kind::Float, Device::Cpu)))?;
        self.forward(parameters, assembled, input, pass)
    }

    fn plan(&self, parameters: &Parameters) -> Result<Option<SymmetryPlan>> {
        if self.held { regular_plan(parameters, &["kernel".into()]) } else { Ok(None) }
    }
}

fn echo(shift: i64, settings: &CtSettings) -> reynolds_train::Result<CtTask> {
    echo_of(data(16), Echo { shift, ..Echo::default() }, settings)
}

fn echo_of(data: CtData, network: Echo, settings: &CtSettings) -> reynolds_train::Result<CtTask> {
    let mut builder = Parameters::builder();
    builder.real("scale", &[1], &[1.0]).unwrap();
    let mut random = Random::new(2);
    builder.real("kernel", &[4, 4, 3, 3], &(0..144).map(|_| random.normal()).collect::<Vec<_>>()).unwrap();
    let parameters = builder.build(Kind::Float, Device::Cpu).unwrap();
    CtTask::of(data, Box::new(network), parameters, settings, Precision::F32, 0)
}

#[test]
fn truth_and_metal_are_turned_with_what_the_network_sees() {
    // The truth is the input outside the metal: a network that returns its input has no error.
    let images = Tensor::arange(8 * 256, (Kind::Float, Device::Cpu)).sin().view([1, 8, 16, 16]);
    let keep = Tensor::ones([1, 8, 16, 16], (Kind::Float, Device::Cpu));
    let _ = keep.narrow(2, 2, 3).narrow(3, 1, 2).fill_(0.0);
    let interpolated = &images + 50.0 * (1.0 - &keep);
    let data = CtData::new(Tensor::cat(&[&images, &images, &interpolated, &keep], 0), [6, 1, 1, 0]).unwrap();
    let mut settings = settings(16);
    (settings.sample.weight, settings.data.steps) = (1.0, 8);
    let network = Echo { held: true, ..Echo::default() };
    let seen = Arc::clone(&network.seen);
    let task = echo_of(data, network, &settings).unwrap();
    for step in 0..8 {
        assert_eq!(task.loss(Moment { epoch: 0, step }).unwrap().double_value(&[]), 0.0, "step {step}");
    }
    let turned = |doubled: &Tensor| !doubled.narrow(0, 0, 2).equal(&doubled.narrow(0, 2, 2));
    assert!(seen.lock().unwrap().iter().any(turned));
}

#[test]
fn an_epoch_sees_every_case_once_in_an_order_and_at_places_of_its_own() {
    let epochs = |patch: usize, flips: bool| {
        let mut settings = settings(16);
        (settings.data.patch, settings.data.flips) = (patch, flips);
        let network = Echo::default();
        let seen = Arc::clone(&network.seen);
        let task = echo_of(data(16), network, &settings).unwrap();
        let steps = (0..2).flat_map(|epoch| (0..3).map(move |step| Moment { epoch, step }));
        steps.for_each(|moment| drop(task.loss(moment).unwrap()));
        let patches: Vec<Tensor> = seen.lock().unwrap().iter().flat_map(|batch| batch.unbind(0)).collect();
        patches
    };
    let sums = |patches: &[Tensor]| -> Vec<f64> {
        patches.iter().map(|patch| patch.to_kind(Kind::Double).sum(Kind::Double).double_value(&[]).round()).collect()
    };
    let whole = sums(&epochs(16, false));
    let (mut first, mut second) = (whole[..6].to_vec(), whole[6..].to_vec());
    assert_ne!(first, second);
    [&mut first, &mut second].into_iter().for_each(|sums| sums.sort_by(f64::total_cmp));
    assert_eq!(first, second);
    assert!(first.windows(2).all(|pair| pair[0] < pair[1]));
    // Smaller patches lie elsewhere in the second epoch.
    let mut corners = sums(&epochs(8, false));
    corners.sort_by(f64::total_cmp);
    assert!(corners.windows(2).filter(|pair| pair[0] < pair[1]).count() > 8);
    let flipped = epochs(16, true);
    assert!(flipped.iter().zip(epochs(16, false)).any(|(a, b)| !a.equal(&b)));
}

#[test]
fn held_kernels_are_regular_fields_in_and_out() {
    let mut task = echo_of(data(16), Echo { held: true, ..Echo::default() }, &settings(16)).unwrap();
    let binding = task.binding().unwrap().unwrap();
    binding.project_in_place(task.parameters_mut()).unwrap();
    let kernel = task.parameters().get("kernel").unwrap().detach();
    // A quarter turn of the grid is the next orientation of output and input.
    let turned = kernel.rot90(1, [2, 3]).roll([1, 1], [0, 1]);
    assert!(f64::try_from((&kernel - turned).abs().max().to_kind(Kind::Double)).unwrap() < 1e-6);
    assert!(f64::try_from((&kernel - kernel.rot90(1, [2, 3])).abs().max().to_kind(Kind::Double)).unwrap() > 0.1);
}

#[test]
fn a_network_that_turns_with_its_input_has_no_defect_and_another_has() {
    let task = echo(0, &settings(16)).unwrap();
    let metrics = task.evaluate(Split::Test).unwrap();
    assert_eq!(metrics["equivariance_error"], 0.0);
    // It hands on what it is given.
    assert_eq!((metrics["gain/psnr"], metrics["psnr"]), (0.0, metrics["interpolated/psnr"]));
    assert!(!metrics.contains_key("weights/distance"));
    assert_eq!(task.reduce(CtSubset::Test, 0).unwrap(), task.data().images(CtSubset::Test, 0).unwrap().interpolated);
    let quality = |measured| task.quality(CtSubset::Test, measured).unwrap();
    assert_eq!(quality(Measured::Network), quality(Measured::Interpolated));
    assert!(echo(1, &settings(16)).unwrap().evaluate(Split::Test).unwrap()["equivariance_error"] > 0.1);
}

#[test]
fn modes_that_need_held_kernels_are_refused_where_there_are_none() {
    let mut projected = settings(16);
    projected.projected = true;
    let mut sample = settings(16);
    sample.sample.weight = 1.0;
    let mut large = settings(16);
    large.data.patch = 17;
    for (settings, key) in [(projected, "projected"), (sample, "sample.weight"), (large, "data.patch")] {
        let Err(error) = echo(0, &settings) else { panic!("{key}") };
        assert!(error.to_string().starts_with(&format!("config: {key}: expected ")), "{error}");
    }
}

#[test]
fn a_strong_penalty_leaves_nothing_that_does_not_turn_and_every_norm_has_a_gradient() {
    let trained = |lambda_perp: f64, norm: &str, epochs: usize| {
        let mut task = CtTask::new(data(16), &settings(16), Precision::F32, 1).unwrap();
        let mut config = TrainConfig { epochs, evaluate_every: epochs, learning_rate: 0.01, ..TrainConfig::default() };
        config.schedule.shape = Shape::Cosine;
        config.early_stopping.metric = "psnr".into();
        let penalty = PenaltySettings { lambda_perp, norm: norm.parse().unwrap(), ..PenaltySettings::default() };
        let ending = train(&mut task, &config, &penalty, &mut Memory::default(), &mut Silent, &Interrupt::new());
        let Ok(Ending::Finished(summary)) = ending else { panic!("{norm}: {ending:?}") };
        let weights = Vec::<f32>::try_from(task.parameters().flat()).unwrap();
        (summary.last_metrics["test/weights/relative_distance"], weights)
    };
    let ((free, _), (held, _)) = (trained(0.0, "frobenius", 20), trained(1e6, "frobenius", 20));
    assert!(free > 0.5 && held < 0.05, "{free} {held}");
    let (_, plain) = trained(0.0, "frobenius", 1);
    for norm in ["spectral", "max", "(1,1)", "(1,2)", "(2,3)", "(3,3)"] {
        let (_, weights) = trained(1e6, norm, 1);
        assert!(weights != plain && weights.iter().all(|weight| weight.is_finite()), "{norm}");
    }
}
