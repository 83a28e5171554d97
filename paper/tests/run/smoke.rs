//! Forecasts of tiny plumes: loss, feedback, errors, training.

use reynolds::penalty::PenaltyConfig;
use reynolds_paper::network::{self, Network};
use reynolds_paper::smoke::data::Subset;
use reynolds_paper::smoke::{Rows, SmokeData, SmokeDataConfig, SmokeTask};
use reynolds_torch::layers::Pass;
use reynolds_torch::tch::{Device, Kind, Tensor};
use reynolds_torch::{Error, Parameters};
use reynolds_train::config::{PenaltySettings, TrainConfig};
use reynolds_train::interrupt::Interrupt;
use reynolds_train::journal::Memory;
use reynolds_train::progress::Silent;
use reynolds_train::task::{Moment, Split, Task};
use reynolds_train::train::{Ending, train};

type Result<T> = std::result::Result<T, Error>;

/// v̂ = Σ_k w_k v_k over the input frames; c = |w₀|, and w₀ is regularised towards 0.
struct Mixture;

impl Network for Mixture {
    fn assemble(&self, parameters: &Parameters, _: Pass) -> Result<Vec<Tensor>> {
        Ok(vec![parameters.get("w")?])
    }

    fn forward(&self, _: &Parameters, assembled: &[Tensor], frames: &Tensor, _: Pass) -> Result<Tensor> {
        let size = frames.size();
        let frames = frames.view([size[0], -1, 2, size[2], size[3]]);
        Ok((frames * assembled[0].view([1, -1, 1, 1, 1])).sum_dim_intlist([1_i64].as_slice(), false, Kind::Double))
    }

    fn prior(&self, parameters: &Parameters) -> Result<Option<Tensor>> {
        Ok(Some(parameters.get("w")?.get(0).abs()))
    }

    fn energy(&self, parameters: &Parameters, part: network::Component) -> Result<Option<Tensor>> {
        let weights = parameters.get("w")?;
        let part = match part {
            network::Component::Equivariant => weights.f_narrow(0, 1, weights.size()[0] - 1)?,
            network::Component::Perp => weights.f_narrow(0, 0, 1)?,
        };
        Ok(Some(part.f_square()?.f_sum(weights.kind())?))
    }
}

/// Frames of constants: (values[r], 10 values[r]) at every pixel of row r.
fn constants(values: &[f64]) -> Tensor {
    let numbers: Vec<f64> = values.iter().flat_map(|value| [*value, 10.0 * value]).collect();
    let frames = Tensor::from_slice(&numbers).view([-1, 2, 1, 1]);
    frames.expand([-1, 2, 8, 8], false).contiguous()
}

fn rows(firsts: &[usize]) -> Vec<Rows> {
    firsts.iter().map(|&first| Rows { first, simulation: first }).collect()
}

/// Steps of a rollout in training and in tests, and windows of a minibatch.
fn lengths(out_length: usize, rollout: usize, batch: usize) -> SmokeDataConfig {
    SmokeDataConfig { out_length, rollout, batch, ..SmokeDataConfig::default() }
}

fn task(frames: Tensor, windows: [Vec<Rows>; 4], weights: &[f64], config: &SmokeDataConfig, alpha: f64) -> SmokeTask {
    let data = SmokeData::new(frames, weights.len(), windows);
    let mut builder = Parameters::builder();
    builder.real("w", &[weights.len()], weights).unwrap();
    let parameters = builder.build(Kind::Double, Device::Cpu).unwrap();
    SmokeTask::of(data, Box::new(Mixture), parameters, config, alpha, 3)
}

const VALUES: [f64; 8] = [1.0, 2.0, 4.0, 3.0, 0.0, 5.0, 1.0, 2.0];

fn close(a: f64, b: f64) {
    assert!((a - b).abs() <= 1e-12 * b.abs().max(1.0), "{a} {b}");
}

#[test]
fn the_loss_of_one_step_by_hand_with_the_constraint_squared() {
    let config = lengths(1, 1, 1);
    let windows = || [rows(&[1]), vec![], vec![], vec![]];
    // Seen 2, 4; forecast ¼·2 + ½·4 = 2.5 for 3: components are off by ½ and 5.
    let expected = (0.25 + 25.0) / 2.0;
    for (alpha, more) in [(0.0, 0.0), (2.0, (2.0_f64 * 0.25).powi(2))] {
        let task = task(constants(&VALUES), windows(), &[0.25, 0.5], &config, alpha);
        let loss = task.loss(Moment { epoch: 0, step: 0 }).unwrap();
        close(f64::try_from(&loss).unwrap(), expected + more);
        // ∂/∂w₁ of (w₀·2 + w₁·4 − 3)²·(1 + 100)/2, and of (α w₀)² by w₀.
        let gradient = Vec::<f64>::try_from(task.parameters().gradient(&loss).unwrap()).unwrap();
        close(gradient[1], 101.0 * -0.5 * 4.0);
        close(gradient[0], 101.0 * -0.5 * 2.0 + 2.0 * alpha * alpha * 0.25);
    }
}

#[test]
fn feedback_drops_the_oldest_frame_and_appends_the_forecast() {
    // Seen 1, 2, 4 with w = (1, 10, 100): 421; then 2, 4, 421 gives 42142; then 4, 421, 42142.
    let config = lengths(3, 3, 1);
    let windows = [rows(&[0]), rows(&[0]), rows(&[0]), rows(&[0, 1])];
    let task = task(constants(&VALUES), windows, &[1.0, 10.0, 100.0], &config, 0.0);
    let rollout = task.rollout(Subset::Domain, 0, 3).unwrap();
    let at_corner: Vec<f32> = rollout.prediction.iter().map(|frame| frame[0]).collect();
    assert_eq!((rollout.side, at_corner), (8, vec![421.0, 42142.0, 4218414.0]));
    assert_eq!(rollout.truth.iter().map(|frame| frame[127]).collect::<Vec<_>>(), [30.0, 0.0, 50.0]);
    let squares = [421.0 - 3.0, 42142.0, 4218414.0 - 5.0].map(|off: f64| 101.0 / 2.0 * off * off);
    let loss = f64::try_from(task.loss(Moment { epoch: 0, step: 0 }).unwrap()).unwrap();
    close(loss, squares.iter().sum());
    let metrics = task.evaluate(Split::Validation).unwrap();
    close(metrics["mse"], squares.iter().sum::<f64>() / 3.0);
    close(metrics["rmse"], metrics["mse"].sqrt());
    let (mut cancelled, interrupt) = (
        self::task(constants(&VALUES), [rows(&[0]), rows(&[0]), vec![], vec![]], &[1.0; 3], &config, 0.0),
        Interrupt::new(),
    );
    cancelled.cancel_by(&interrupt);
    cancelled.evaluate(Split::Validation).unwrap();
    interrupt.request();
    assert!(matches!(cancelled.evaluate(Split::Validation), Err(reynolds_train::Error::Interrupted)));
    for (found, expected) in task.errors(Subset::Validation, 3).unwrap().by_step().iter().zip(squares) {
        close(*found, expected.sqrt());
    }
}

#[test]
fn tests_are_over_all_windows_and_steps_beside_persistence() {
    let config = lengths(1, 2, 3);
    let windows = [rows(&[0]), rows(&[0]), rows(&[0, 1, 3]), rows(&[2, 4])];
    // Always forecasts half of the last frame.
    let task = task(constants(&VALUES), windows, &[0.0, 0.5], &config, 0.0);
    let metrics = task.evaluate(Split::Test).unwrap();
    let factor = 101.0 / 2.0;
    let mean = |offs: &[f64]| factor * offs.iter().map(|off| off * off).sum::<f64>() / offs.len() as f64;
    // Windows at 0: sees 1, 2, then come 4, 3; at 1: 2, 4, then 3, 0; at 3: 3, 0, then 5, 1.
    close(metrics["future/mse"], mean(&[1.0 - 4.0, 0.5 - 3.0, 2.0 - 3.0, 1.0, -5.0, -1.0]));
    close(metrics["future/rmse"], metrics["future/mse"].sqrt());
    close(metrics["future/persistence_rmse"], mean(&[2.0, 1.0, 1.0, 4.0, 5.0, 1.0]).sqrt());
    // At 2: sees 4, 3, then 0, 5; at 4: 0, 5, then 1, 2.
    close(metrics["domain/mse"], mean(&[1.5, 0.75 - 5.0, 2.5 - 1.0, 1.25 - 2.0]));
    close(metrics["domain/persistence_rmse"], mean(&[3.0, 2.0, 4.0, 3.0]).sqrt());
    close(metrics["domain/gain"], metrics["domain/persistence_rmse"] - metrics["domain/rmse"]);
    assert!(metrics["future/rmse_se"] > 0.0 && metrics["future/gain_se"] > 0.0);
    assert_eq!(metrics["weights/relative_distance"], 0.0);
}

#[test]
fn an_epoch_sees_every_window_once_in_an_order_of_its_own() {
    // One window's loss tells which it was: forecast 0, off by the next value.
    let values: Vec<f64> = (1..=8).map(f64::from).collect();
    let config = lengths(1, 1, 1);
    let task = task(constants(&values), [rows(&[0, 1, 2, 3, 4, 5, 6]), vec![], vec![], vec![]], &[0.0], &config, 0.0);
    assert_eq!(task.steps_per_epoch(), 7);
    let epoch = |epoch: usize| -> Vec<i64> {
        let seen = (0..7).map(|step| f64::try_from(task.loss(Moment { epoch, step }).unwrap()).unwrap());
        seen.map(|loss| (loss * 2.0 / 101.0).sqrt().round() as i64).collect()
    };
    let (first, second) = (epoch(0), epoch(1));
    assert!(first != second && first == epoch(0));
    for mut order in [first, second] {
        order.sort_unstable();
        assert_eq!(order, [2, 3, 4, 5, 6, 7, 8]);
    }
}

/// A plume that moves by the same amount at every step: v_{t+1} = 2v_t − v_{t−1}.
fn moving() -> SmokeTask {
    let values: Vec<f64> = (0..30).map(|time| 0.1 * f64::from(time)).collect();
    let windows = [rows(&[0, 2, 4, 6, 8]), rows(&[9, 10]), rows(&[11, 12]), rows(&[3, 7])];
    let config = lengths(3, 10, 2);
    task(constants(&values), windows, &[0.3, 0.3, 0.3], &config, 0.0)
}

fn trained(task: &mut SmokeTask, lambda_perp: f64) -> reynolds_train::metrics::Summary {
    let mut config = TrainConfig { epochs: 400, learning_rate: 0.02, ..TrainConfig::default() };
    config.early_stopping.metric = "rmse".into();
    let penalty = PenaltySettings { lambda_perp, ..PenaltySettings::default() };
    let ending = train(task, &config, &penalty, &mut Memory::default(), &mut Silent, &Interrupt::new());
    let Ok(Ending::Finished(summary)) = ending else { panic!("{ending:?}") };
    summary
}

#[test]
fn the_defect_of_weights_that_are_no_numbers_is_none() {
    let config = lengths(1, 1, 1);
    let defect = |weights: [f64; 2]| {
        let mut task = task(constants(&VALUES), [rows(&[1]), vec![], vec![], vec![]], &[0.5, 0.5], &config, 0.0);
        task.parameters_mut().assign(&Tensor::from_slice(&weights)).unwrap();
        task.relative_distance().unwrap().unwrap()
    };
    assert!(defect([f64::NAN, 0.5]).is_nan() && defect([0.0, f64::NAN]).is_nan());
    assert_eq!((defect([0.0, 0.5]), defect([0.0, 0.0])), (0.0, 0.0));
    close(defect([3.0, 4.0]), 0.6);
}

#[test]
fn training_finds_a_linear_motion_and_the_penalty_holds_what_it_should() {
    let mut task = moving();
    let before = task.evaluate(Split::Test).unwrap();
    let summary = trained(&mut task, 0.0);
    let after = &summary.last_metrics;
    assert!(after["test/future/rmse"] < 0.05 * before["future/rmse"], "{before:?} {after:?}");
    assert!(after["test/domain/gain"] > 3.0 * after["test/domain/gain_se"], "{after:?}");
    assert!(summary.best_metrics.contains_key("test/domain/rmse"));
    let mut held = moving();
    trained(&mut held, 1e4);
    let (free, held) = (task.relative_distance().unwrap().unwrap(), held.relative_distance().unwrap().unwrap());
    assert!(held < 0.02 * free, "{held} {free}");
    assert!(task.regulariser(PenaltyConfig { whole: true, ..PenaltyConfig::default() }).is_err());
}
