//! Timed steps on random volumes.

use reynolds::random::Random;
use reynolds_torch::Parameters;
use reynolds_torch::tch::{Device, Kind};
use reynolds_train::config::{RunConfig, under};
use reynolds_train::error::Result;
use reynolds_train::task::Split;

use super::{ClassPairs, MedData, MedExperiment, MedSettings, MedTask};
use crate::medmnist::data::volumes::{VolumeSet, Volumes};
use crate::medmnist::networks::SIDE;
use crate::step::{Laps, Timed, Timer};

impl Timed for MedExperiment {
    fn samples(settings: &MedSettings) -> usize {
        settings.data.batch
    }

    fn on_random_data(run: &RunConfig<MedSettings>, _: usize, device: Device, laps: &mut Laps) -> Result<MedTask> {
        let MedSettings { data, model } = &run.settings;
        let (classes, precision) = (data.set.class_names(), run.train.precision);
        let mut builder = Parameters::builder();
        // First, so that nothing is cached.
        let network = laps.build(|| {
            model.build(classes.len(), &mut builder, &mut Random::new(0)).map_err(|error| under("model", error))
        })?;
        let volumes = random_volumes(data.batch, classes);
        let volumes = MedData::new(&volumes, ClassPairs::default(), data.resize, precision, device)?;
        laps.bind();
        let parameters = builder.build(Kind::Float, device)?;
        MedTask::of(volumes, network, parameters, data, precision, 0)
    }

    fn timed_inference(task: &MedTask, timer: Timer<'_>) -> Result<f64> {
        task.timed_inference(Split::Test, |pass| timer(pass))
    }
}

/// Random volumes: a minibatch to train on, and one to test on.
fn random_volumes(batch: usize, classes: Vec<String>) -> VolumeSet {
    let mut random = Random::new(0);
    let mut part = |count: usize| Volumes {
        side: SIDE,
        images: (0..count * SIDE.pow(3)).map(|_| random.below(256) as u8).collect(),
        labels: (0..count).map(|number| (number % classes.len()) as u8).collect(),
    };
    let (train, validation, test) = (part(batch), part(1), part(batch));
    VolumeSet { name: "random".into(), classes, train, validation, test }
}
