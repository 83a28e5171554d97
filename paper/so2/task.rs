//! Classification of points: data, network, loss, error of invariance.

use crate::network::{Network, TRAIN};
use crate::so2::data::{PointCloud, Rings};
use crate::so2::networks::{Mlp, So2Net};
use reynolds::plan::SymmetryPlan;
use reynolds::random::Random;
use reynolds_torch::Parameters;
use reynolds_torch::tch::{self, Device, Kind, Reduction, Tensor};

use super::experiment::{self, ModelConfig};
use crate::so2::invariance::{invariance, random_angles};
use reynolds_train::error::Result;
use reynolds_train::passes::Passes;
use reynolds_train::task::{Captured, Metrics, Moment, Split, Task};

/// Names the stream of random numbers, with the seed.
#[derive(Debug, Clone, Copy)]
enum Purpose {
    Points = 1,
    Weights = 2,
    Turns = 3,
}

/// Rotations for the error of invariance on training points: all of them would take as long as the training.
const WATCHED_TURNS: usize = 8;

fn stream(seed: u64, purpose: Purpose) -> Random {
    Random::at(seed, &[purpose as u64])
}

/// The data of both experiments.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DataConfig {
    pub rings: Rings,
    pub points: usize,
    /// Share of them for training.
    pub train_fraction: f64,
    /// Number of random rotations for the error of invariance.
    pub turns: usize,
}

/// One part of the data, with its features.
struct SplitData {
    cloud: PointCloud,
    /// `[N, 2]` in double precision.
    points: Tensor,
    features: Tensor,
    /// 1 for the class +1, else 0, `[N]`.
    labels: Tensor,
}

/// The input of the network, from points `[N, 2]`; has no weights.
type Features = Box<dyn Fn(&Tensor) -> reynolds_torch::Result<Tensor> + Send>;

/// Two classes of points and a network. All training points are one minibatch.
///
/// There is no validation part: [`Split::Validation`] is the training part, so that nothing is selected on test points.
pub struct PlaneTask {
    parameters: Parameters,
    network: Box<dyn Network>,
    features: Features,
    train: SplitData,
    test: SplitData,
    /// Angles of the rotations that the error of invariance is measured with.
    angles: Vec<f64>,
    passes: Passes,
}

impl PlaneTask {
    /// Points and initial weights depend on the seed, not on the penalty; points do not depend on the network.
    pub fn new(data: &DataConfig, model: &ModelConfig, seed: u64, device: Device) -> Result<Self> {
        let (train, test) = Self::points(data, seed)?;
        let mut weights = stream(seed, Purpose::Weights);
        let mut builder = Parameters::builder();
        let (network, features): (Box<dyn Network>, Features) = match model.network {
            experiment::Network::So2 => {
                let net = So2Net::new(&mut builder, model.so2, &mut weights)?;
                (Box::new(net.clone()), Box::new(move |points| net.features(points)))
            }
            experiment::Network::Mlp => {
                let widths = [&[2], model.mlp.hidden.as_slice(), &[1]].concat();
                let mlp = Mlp::new(&mut builder, &widths, &mut weights)?;
                (Box::new(mlp), Box::new(|points| Ok(points.shallow_clone())))
            }
        };
        let parameters = builder.build(Kind::Float, device)?;
        let part = |cloud: PointCloud| -> Result<SplitData> {
            let points = tensor(cloud.points(), device)?;
            let features = features(&points.f_to_kind(Kind::Float)?)?;
            let labels: Vec<f32> = cloud.labels().iter().map(|&positive| f32::from(u8::from(positive))).collect();
            let labels = Tensor::f_from_slice(&labels)?.f_to_device(device)?;
            Ok(SplitData { cloud, points, features, labels })
        };
        let (train, test) = (part(train)?, part(test)?);
        let angles = random_angles(data.turns, &mut stream(seed, Purpose::Turns));
        Ok(Self { parameters, network, features, train, test, angles, passes: Passes::default() })
    }

    /// The training and the test points of a seed.
    pub fn points(data: &DataConfig, seed: u64) -> Result<(PointCloud, PointCloud)> {
        let mut random = stream(seed, Purpose::Points);
        Ok(data.rings.sample(data.points, &mut || random.uniform())?.split(data.train_fraction)?)
    }

    pub fn training_points(&self) -> &PointCloud {
        &self.train.cloud
    }

    pub fn logits_at(&self, points: &[[f64; 2]]) -> Result<Vec<f64>> {
        let _guard = tch::no_grad_guard();
        let logits = self.logits(&tensor(points, self.parameters.device())?)?;
        Ok(Vec::<f64>::try_from(logits.f_to_kind(Kind::Double)?.f_to_device(Device::Cpu)?)?)
    }

    fn logits(&self, points: &Tensor) -> Result<Tensor> {
        self.logits_of(&(self.features)(&points.f_to_kind(Kind::Float)?)?)
    }

    fn logits_of(&self, features: &Tensor) -> Result<Tensor> {
        Ok(self.network.forward(&self.parameters, &[], features, TRAIN)?)
    }

    /// Times passes over the training points, without the tape.
    pub(super) fn timed_inference<T>(
        &self,
        timed: impl FnOnce(&mut dyn FnMut() -> Result<()>) -> Result<T>,
    ) -> Result<T> {
        let _guard = tch::no_grad_guard();
        timed(&mut || self.logits_of(&self.train.features).map(drop))
    }

    fn part(&self, split: Split) -> &SplitData {
        match split {
            Split::Train | Split::Validation => &self.train,
            Split::Test => &self.test,
        }
    }
}

/// `[N, 2]` in double precision.
fn tensor(points: &[[f64; 2]], device: Device) -> Result<Tensor> {
    Ok(Tensor::f_from_slice(points.as_flattened())?.f_view([-1, 2])?.f_to_device(device)?)
}

fn cross_entropy(logits: &Tensor, labels: &Tensor) -> Result<Tensor> {
    Ok(logits.f_binary_cross_entropy_with_logits(labels, None::<Tensor>, None::<Tensor>, Reduction::Mean)?)
}

impl Captured for PlaneTask {
    /// All points at every step: nothing differs.
    fn minibatch(&self, _: Moment) -> Result<Tensor> {
        Ok(Tensor::f_zeros([0], (Kind::Float, self.parameters.device()))?)
    }

    fn loss_of(&self, _: &Tensor) -> Result<Tensor> {
        cross_entropy(&self.logits_of(&self.train.features)?, &self.train.labels)
    }
}

impl Task for PlaneTask {
    fn parameters(&self) -> &Parameters {
        &self.parameters
    }

    fn parameters_mut(&mut self) -> &mut Parameters {
        &mut self.parameters
    }

    fn steps_per_epoch(&self) -> usize {
        1
    }

    fn loss(&self, moment: Moment) -> Result<Tensor> {
        self.loss_of(&self.minibatch(moment)?)
    }

    fn captured(&self) -> Result<&dyn Captured, &'static str> {
        Ok(self)
    }

    /// "loss", "accuracy", "invariance_error_sum" (ℰ_emp), "invariance_error_mean" and "invariance_error_relative": with all rotations on test points, else with the first
    /// few.
    fn evaluate(&self, split: Split) -> Result<Metrics> {
        let part = self.part(split);
        let pass = self.passes.of("logits", &[])?;
        let logits_of = |features: Tensor| -> Result<Tensor> {
            Ok(pass.run(&[features], |_, features| Ok(vec![self.logits_of(&features[0])?]))?.swap_remove(0))
        };
        let logits = logits_of(part.features.shallow_clone())?;
        let right = logits.f_gt(0.0)?.f_eq_tensor(&part.labels.f_gt(0.5)?)?;
        let count = if split == Split::Test { self.angles.len() } else { WATCHED_TURNS.min(self.angles.len()) };
        let error = invariance(&part.points, &self.angles[..count], |points| {
            logits_of((self.features)(&points.f_to_kind(Kind::Float)?)?)
        })?;
        Ok(Metrics::from([
            ("loss".into(), cross_entropy(&logits, &part.labels)?.f_double_value(&[])?),
            ("accuracy".into(), right.f_to_kind(Kind::Double)?.f_mean(Kind::Double)?.f_double_value(&[])?),
            ("invariance_error_sum".into(), error.sum),
            ("invariance_error_mean".into(), error.mean),
            ("invariance_error_relative".into(), error.relative),
        ]))
    }

    fn pass_by(&mut self, passes: &Passes) {
        self.passes = passes.clone();
    }

    /// The complex layers, regularised towards SO(2).
    fn plan(&self) -> Result<Option<SymmetryPlan>> {
        Ok(self.network.plan(&self.parameters)?)
    }
}

#[cfg(test)]
mod tests {
    use reynolds::penalty::PenaltyConfig;

    use super::*;

    const DATA: DataConfig = DataConfig { rings: Rings::DiskAndArc, points: 100, train_fraction: 0.8, turns: 8 };

    fn task(network: experiment::Network, seed: u64) -> PlaneTask {
        PlaneTask::new(&DATA, &ModelConfig { network, ..ModelConfig::default() }, seed, Device::Cpu).unwrap()
    }

    fn weights(task: &PlaneTask) -> Vec<f32> {
        Vec::<f32>::try_from(task.parameters().flat()).unwrap()
    }

    #[test]
    fn a_task_is_a_function_of_its_seed() {
        let [a, b, c] = [1, 1, 2].map(|seed| task(experiment::Network::So2, seed));
        assert_eq!(a.training_points(), b.training_points());
        assert_eq!((weights(&a), &a.angles), (weights(&b), &b.angles));
        assert!(a.training_points() != c.training_points() && weights(&a) != weights(&c) && a.angles != c.angles);
        assert_eq!(a.training_points(), task(experiment::Network::Mlp, 1).training_points());
    }

    #[test]
    fn a_projected_network_is_invariant_on_the_data_and_keeps_its_other_metrics() {
        let mut task = task(experiment::Network::So2, 3);
        let before = task.evaluate(Split::Test).unwrap();
        task.binding().unwrap().unwrap().project_in_place(task.parameters_mut()).unwrap();
        let after = task.evaluate(Split::Test).unwrap();
        // Single precision, a few hundred products to a logit.
        let rounding = 300.0 * f64::from(f32::EPSILON);
        assert!(
            after["invariance_error_relative"] < rounding && before["invariance_error_relative"] > 0.05,
            "{before:?} {after:?}"
        );
        assert_eq!(before.keys().collect::<Vec<_>>(), after.keys().collect::<Vec<_>>());
        assert!((0.0..=1.0).contains(&after["accuracy"]));
        assert!((after["invariance_error_sum"] - after["invariance_error_mean"] * 40.0 * 8.0).abs() < 1e-12);
    }

    #[test]
    fn the_baseline_has_no_regularised_parameters() {
        assert!(task(experiment::Network::Mlp, 0).regulariser(PenaltyConfig::default()).unwrap().is_none());
        assert!(task(experiment::Network::So2, 0).regulariser(PenaltyConfig::default()).unwrap().is_some());
    }

    #[test]
    fn accuracy_and_loss_are_those_of_the_logits() {
        let task = task(experiment::Network::Mlp, 5);
        let metrics = task.evaluate(Split::Test).unwrap();
        let logits = task.logits_at(task.test.cloud.points()).unwrap();
        let labelled = || logits.iter().zip(task.test.cloud.labels());
        let right = labelled().filter(|(logit, label)| (**logit > 0.0) == **label).count();
        assert_eq!(metrics["accuracy"], right as f64 / 40.0);
        let surprise = |(logit, label): (&f64, &bool)| (1.0 + (if *label { -logit } else { *logit }).exp()).ln();
        let loss = labelled().map(surprise).sum::<f64>() / 40.0;
        assert!((metrics["loss"] - loss).abs() < 1e-6);
    }
}
