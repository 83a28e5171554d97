//! Steps of the networks of the plane; a minibatch is all training points.

use reynolds_torch::tch::Device;
use reynolds_train::config::RunConfig;
use reynolds_train::error::Result;

use super::{PlaneData, PlaneExperiment, PlaneSettings, PlaneTask};
use crate::step::{Laps, Timed, Timer};

impl<D: PlaneData> Timed for PlaneExperiment<D> {
    fn samples(settings: &PlaneSettings<D>) -> usize {
        let data = settings.data.data();
        2 * (data.train_fraction * data.points as f64).round() as usize
    }

    fn on_random_data(
        run: &RunConfig<PlaneSettings<D>>,
        _: usize,
        device: Device,
        laps: &mut Laps,
    ) -> Result<PlaneTask> {
        laps.build(|| PlaneTask::new(&run.settings.data.data(), &run.settings.model, run.seed, device))
    }

    fn timed_inference(task: &PlaneTask, timer: Timer<'_>) -> Result<f64> {
        task.timed_inference(|pass| timer(pass))
    }
}
