//! Steps on random frames, to be timed.

use reynolds::random::Random;
use reynolds_torch::Parameters;
use reynolds_torch::tch::{Device, Tensor};
use reynolds_train::config::{RunConfig, under};
use reynolds_train::error::Result;

use super::frames::{Rows, SmokeData};
use super::{SmokeDataConfig, SmokeExperiment, SmokeSettings, SmokeTask};
use crate::smoke::data::{INPUT_FRAMES, SIDE, Subset};
use crate::step::{Laps, Timed, Timer};

impl Timed for SmokeExperiment {
    /// Windows; a step is a rollout of each.
    fn samples(settings: &SmokeSettings) -> usize {
        settings.data.batch
    }

    fn on_random_data(run: &RunConfig<SmokeSettings>, _: usize, device: Device, laps: &mut Laps) -> Result<SmokeTask> {
        let SmokeSettings { data, model } = &run.settings;
        let frames = random_frames(data, device)?;
        let mut builder = Parameters::builder();
        let network = laps.build(|| {
            let built = model.build(data.kind, frames.shape(), &mut builder, &mut Random::new(0));
            built.map_err(|error| under("model", error))
        })?;
        let parameters = builder.build(frames.number_kind(), device)?;
        Ok(SmokeTask::of(frames, network, parameters, data, model.alpha, 0))
    }

    fn timed_inference(task: &SmokeTask, timer: Timer<'_>) -> Result<f64> {
        task.timed_inference(timer)
    }
}

/// One minibatch of windows without common frames, to train and to evaluate.
fn random_frames(data: &SmokeDataConfig, device: Device) -> Result<SmokeData> {
    let length = INPUT_FRAMES + data.out_length;
    let shape = [data.batch * length, 2, SIDE, SIDE].map(|size| size as i64);
    let mut random = Random::new(0);
    let numbers: Vec<f32> = (0..shape.iter().product()).map(|_| random.normal() as f32).collect();
    let frames = Tensor::f_from_slice(&numbers)?.f_view(shape)?.f_to_device(device)?;
    let windows: Vec<Rows> = (0..data.batch).map(|window| Rows { first: window * length, simulation: 0 }).collect();
    Ok(SmokeData::new(frames, INPUT_FRAMES, Subset::ALL.map(|_| windows.clone())))
}
