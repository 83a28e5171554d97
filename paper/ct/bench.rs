//! Steps of the CT networks on random images.

use super::{CtData, CtDataConfig, CtExperiment, CtSettings, CtSubset, CtTask};
use crate::step::{Laps, Timed, Timer};
use reynolds::random::Random;
use reynolds_torch::Parameters;
use reynolds_torch::tch::{self, Device, Kind, Tensor};
use reynolds_train::config::{RunConfig, under};
use reynolds_train::error::Result;

impl Timed for CtExperiment {
    /// Without turned copies.
    fn samples(settings: &CtSettings) -> usize {
        settings.data.batch
    }

    fn on_random_data(run: &RunConfig<CtSettings>, steps: usize, device: Device, laps: &mut Laps) -> Result<CtTask> {
        let mut settings = run.settings.clone();
        settings.data.steps = steps;
        let CtDataConfig { batch, side, .. } = settings.data;
        let mut builder = Parameters::builder();
        let build = || settings.model.build(&mut builder, &mut Random::new(0)).map_err(|error| under("model", error));
        let network = laps.build(build)?;
        let data = random_images(batch, side, device)?;
        laps.bind();
        let parameters = builder.build(data.number_kind(), device)?;
        CtTask::of(data, network, parameters, &settings, run.train.precision, 0)
    }

    fn timed_inference(task: &CtTask, timer: Timer<'_>) -> Result<f64> {
        task.timed_inference(CtSubset::Test, |pass| timer(pass))
    }

    fn parameters(task: &CtTask, run: &RunConfig<CtSettings>) -> usize {
        task.trained_numbers(run.train.parametrisation.kind)
    }
}

/// `count` cases of each part that is used: streaks on noise, and a square of metal.
fn random_images(count: usize, side: usize, device: Device) -> Result<CtData> {
    let _guard = tch::no_grad_guard();
    let mut random = Random::new(0);
    let cases = 2 * count + 1;
    let shape = [cases as i64, side as i64, side as i64];
    let mut noise = |scale: f64| -> Result<Tensor> {
        let numbers: Vec<f32> = (0..cases * side * side).map(|_| (scale * random.uniform()) as f32).collect();
        Ok(Tensor::f_from_slice(&numbers)?.f_view(shape)?)
    };
    let truth = noise(20.0)?.f_add_scalar(40.0)?;
    let (corrupted, interpolated) = (truth.f_add(&noise(30.0)?)?, truth.f_add(&noise(10.0)?)?);
    let keep = Tensor::f_ones(shape, (Kind::Float, Device::Cpu))?;
    let metal = (side / 8).max(1) as i64;
    let _ = keep.f_narrow(1, 2 * metal, metal)?.f_narrow(2, metal, metal)?.f_zero_()?;
    let images = Tensor::f_stack(&[truth, corrupted, interpolated, keep], 0)?;
    CtData::new(images.f_to_device(device)?, [count, 1, count, 0])
}
