//! The task of "medmnist" with small networks and volumes: minibatches, loss, metrics.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::rc::Rc;

use reynolds_paper::medmnist::data::volumes::{VolumeSet, Volumes};
use reynolds_paper::medmnist::networks::{Architecture, Network, Pass};
use reynolds_paper::medmnist::{ClassPairs, MedData, MedDataConfig, MedExperiment, MedTask, Resize, Scored};
use reynolds_testkit::golden::Golden;
use reynolds_torch::tch::{Device, Kind, Tensor};
use reynolds_torch::{Parameters, Precision, Result};
use reynolds_train::experiment::Experiment;
use reynolds_train::task::{Moment, Split, Task};

/// The voxels that a network averages.
#[derive(Clone, Copy)]
enum Sight {
    All,
    /// Those at one end of the first axis.
    Half,
    None,
}

/// Logits (0, scale · mean voxel); records the brightness of its volumes.
struct Looker {
    sight: Sight,
    prior: f64,
    seen: Seen,
}

impl Network for Looker {
    fn assemble(&self, parameters: &Parameters, _: Pass) -> Result<Vec<Tensor>> {
        Ok(vec![parameters.get("scale").unwrap()])
    }

    fn forward(&self, _: &Parameters, assembled: &[Tensor], volumes: &Tensor, _: Pass) -> Result<Tensor> {
        let all: &[i64] = &[1, 2, 3, 4];
        let brightness = (volumes.mean_dim(all, false, Kind::Float) + 1.0) * 127.5;
        self.seen.borrow_mut().push(Vec::try_from(brightness.round().to_kind(Kind::Int64)).unwrap());
        let value = match self.sight {
            Sight::All => volumes.mean_dim(all, false, Kind::Float),
            Sight::Half => volumes.narrow(2, 0, 14).mean_dim(all, false, Kind::Float),
            Sight::None => Tensor::zeros([volumes.size()[0]], (Kind::Float, Device::Cpu)) - 1.0,
        };
        Ok(Tensor::stack(&[value.zeros_like(), value * &assembled[0]], 1))
    }

    fn prior(&self, parameters: &Parameters) -> Result<Option<Tensor>> {
        let prior = parameters.get("scale").unwrap().square().sum(Kind::Float) * self.prior;
        Ok((self.prior > 0.0).then_some(prior))
    }
}

/// Volumes of side 8: number n is black but for the second half of its first axis, which has the level 10 (n + 1).
fn part(labels: &[u8]) -> Volumes {
    let volume = |level: u8| (0..512).map(move |at| if at < 256 { 0 } else { level });
    let images = (0..labels.len()).flat_map(|n| volume(10 * (n as u8 + 1))).collect();
    Volumes { side: 8, images, labels: labels.to_vec() }
}

type Seen = Rc<RefCell<Vec<Vec<i64>>>>;

fn data(train: &[u8], test: &[u8]) -> MedData {
    let classes = vec!["dark".into(), "bright".into()];
    let set =
        VolumeSet { name: "levels".into(), classes, train: part(train), validation: part(&[0, 1]), test: part(test) };
    let pairs = ClassPairs { rotation: vec![[0, 1]], reflection: vec![] };
    MedData::new(&set, pairs, Resize::Trilinear, Precision::F32, Device::Cpu).unwrap()
}

fn task(sight: Sight, prior: f64, train: &[u8], test: &[u8], batch: usize) -> MedTask {
    of_seed(sight, prior, data(train, test), batch, 3).0
}

fn of_seed(sight: Sight, prior: f64, data: MedData, batch: usize, seed: u64) -> (MedTask, Seen) {
    let mut builder = Parameters::builder();
    builder.real("scale", &[1], &[2.0]).unwrap();
    let parameters = builder.build(Kind::Float, Device::Cpu).unwrap();
    let seen = Seen::default();
    let network = Box::new(Looker { sight, prior, seen: Rc::clone(&seen) });
    let config = MedDataConfig { batch, ..MedDataConfig::default() };
    (MedTask::of(data, network, parameters, &config, Precision::F32, seed).unwrap(), seen)
}

/// The volumes of each minibatch of an epoch.
fn epoch(count: usize, batch: usize, epoch: usize, seed: u64) -> Vec<Vec<i64>> {
    let (task, seen) = of_seed(Sight::All, 0.0, data(&vec![0; count], &[0]), batch, seed);
    for step in 0..task.steps_per_epoch() {
        let _ = task.loss(Moment { epoch, step }).unwrap();
    }
    seen.take()
}

#[test]
fn an_epoch_sees_every_volume_once_and_none_alone() {
    for (count, batch, sizes) in
        [(4, 2, vec![2, 2]), (5, 2, vec![2, 3]), (3, 2, vec![3]), (2, 2, vec![2]), (5, 3, vec![3, 2]), (2, 4, vec![2])]
    {
        let seen = epoch(count, batch, 0, 3);
        assert_eq!(seen.iter().map(Vec::len).collect::<Vec<_>>(), sizes, "{count} by {batch}");
        assert_eq!(seen.concat().iter().collect::<BTreeSet<_>>().len(), count, "{seen:?}");
    }
    assert_eq!(epoch(8, 8, 1, 3), epoch(8, 8, 1, 3));
    assert_ne!(epoch(8, 8, 1, 3), epoch(8, 8, 2, 3));
}

#[test]
fn initial_weights_and_the_order_of_minibatches_are_those_of_the_seed() {
    assert_ne!(epoch(8, 2, 0, 3), epoch(8, 2, 0, 4));
    let mut settings = MedExperiment.defaults().settings;
    settings.model.width = 1;
    let mut weights = |architecture: Architecture, seed: u64| -> Vec<f32> {
        settings.model.architecture = architecture;
        let task = MedTask::new(data(&[0, 1], &[0]), &settings, Precision::F32, seed).unwrap();
        Vec::try_from(task.parameters().flat()).unwrap()
    };
    for architecture in [Architecture::Cnn, Architecture::Scnn, Architecture::Ours] {
        let [first, again, other] = [3, 3, 4].map(|seed| weights(architecture, seed));
        assert!(first == again && first != other, "{architecture:?}");
    }
}

#[test]
fn settled_statistics_follow_from_the_weights_alone() {
    let mut settings = MedExperiment.defaults().settings;
    settings.model.width = 1;
    settings.data.batch = 2;
    for architecture in [Architecture::Cnn, Architecture::Scnn, Architecture::Ours] {
        let mut task = |settled: usize| {
            settings.model.architecture = architecture;
            settings.data.settled = settled;
            MedTask::new(data(&[0, 1, 1, 0], &[0, 1]), &settings, Precision::F32, 3).unwrap()
        };
        let statistics = |task: &MedTask| Vec::<f32>::try_from(task.parameters().statistics()).unwrap();
        // Running statistics: an evaluation does not change them.
        let running = task(0);
        let before = statistics(&running);
        let _ = running.evaluate(Split::Validation).unwrap();
        assert_eq!(statistics(&running), before);
        // By hand: after a minibatch zeroed statistics are a tenth of those of the minibatch.
        let mut expected = vec![0.0; before.len()];
        for step in 0..2 {
            let _ = running.parameters().statistics().shallow_clone().zero_();
            let _ = running.loss(Moment { epoch: 0, step }).unwrap();
            expected.iter_mut().zip(statistics(&running)).for_each(|(sum, tenth)| *sum += tenth / 0.1 / 2.0);
        }
        let settled = task(2);
        let first = settled.evaluate(Split::Validation).unwrap();
        let found = statistics(&settled);
        let near = |(a, b): (&f32, &f32)| (a - b).abs() <= 1e-5 * (1.0 + b.abs());
        assert!(found.iter().zip(&expected).all(near), "{architecture:?}");
        assert_ne!(first, running.evaluate(Split::Validation).unwrap());
        // The same to the last bit whatever ran before, and with more minibatches than an epoch has.
        let _ = settled.parameters().statistics().shallow_clone().fill_(7.0);
        assert_eq!(settled.evaluate(Split::Validation).unwrap(), first);
        assert_eq!(statistics(&settled), found);
        let longer = task(9);
        assert_eq!(longer.evaluate(Split::Validation).unwrap(), first);
    }
}

#[test]
fn the_loss_is_the_mean_cross_entropy_and_what_the_network_adds() {
    let loss = |prior: f64| {
        let task = task(Sight::All, prior, &[0, 1, 1], &[0], 4);
        let loss = task.loss(Moment { epoch: 0, step: 0 }).unwrap().double_value(&[]);
        (loss, task.evaluate(Split::Train).unwrap()["loss"])
    };
    // Half of a volume has level 10 (n + 1), the rest is black: its mean is 10 (n + 1)/255 − 1.
    let logit = |n: f64| 2.0 * (10.0 * (n + 1.0) / 255.0 - 1.0);
    let entropy = |logit: f64, label: f64| (1.0 + logit.exp()).ln() - label * logit;
    let by_hand = (entropy(logit(0.0), 0.0) + entropy(logit(1.0), 1.0) + entropy(logit(2.0), 1.0)) / 3.0;
    let ((plain, evaluated), (with_prior, evaluated_too)) = (loss(0.0), loss(0.25));
    assert!((plain - by_hand).abs() < 1e-5 && (evaluated - by_hand).abs() < 1e-5, "{plain} {evaluated} {by_hand}");
    assert!((with_prior - plain - 0.25 * 4.0).abs() < 1e-6 && evaluated_too == evaluated, "{with_prior} {plain}");
}

#[test]
fn test_metrics_are_compared_with_the_class_most_common_in_training() {
    // The network always answers class 0; class 1 is more common in training; two of five test volumes are of it.
    let task = task(Sight::None, 0.0, &[1, 0, 1], &[0, 1, 0, 1, 0], 4);
    let metrics = task.evaluate(Split::Test).unwrap();
    let near = |name: &str, value: f64| assert!((metrics[name] - value).abs() < 1e-12, "{name}: {metrics:?}");
    near("accuracy", 0.6);
    near("majority", 0.4);
    near("gain/accuracy", 0.2);
    near("accuracy_se", (0.6 * 0.4 / 5.0_f64).sqrt());
    // The two are never right about the same volume: differences 1, −1, 1, −1, 1.
    near("gain/accuracy_se", ((1.0 - 0.04) / 5.0_f64).sqrt());
    near("auc", 0.5);
    near("pairs/rotation", 0.6);
    near("pairs/rotation_count", 5.0);
    near("pairs/solid", 1.0);
    let confusion = [(0, 0, 3.0), (0, 1, 0.0), (1, 0, 2.0), (1, 1, 0.0)];
    confusion.iter().for_each(|(truth, answer, count)| near(&format!("confusion/{truth}/{answer}"), *count));
    assert!(!metrics.contains_key("pairs/reflection") && !metrics.contains_key("weights/distance"), "{metrics:?}");
    assert!(!task.evaluate(Split::Validation).unwrap().contains_key("majority"));
}

#[test]
fn an_invariant_network_has_no_turning_error_and_another_has() {
    let defect = |sight, count| task(sight, 0.0, &[0, 1], &[0, 1, 1], 2).turning_error(Split::Test, count).unwrap();
    let still = defect(Sight::All, 3).unwrap();
    assert!(still.rotation < 1e-6 && still.reflection < 1e-6, "{still:?}");
    let moved = defect(Sight::Half, 3).unwrap();
    assert!(moved.rotation > 0.01 && moved.reflection > 0.01, "{moved:?}");
    // By hand, of the first volume: the first 14 of 29 layers are all black (r), all bright (s), or half of each (m) in 4, 4 and 16 turns.
    let task = task(Sight::Half, 0.0, &[0, 1], &[0], 2);
    let volume = task.data().volumes(Split::Test, 0, 1).unwrap();
    let mean = |axis: i64, first: i64| volume.narrow(axis, first, 14).mean(Kind::Double).double_value(&[]);
    let probability = |value: f64| 1.0 / (1.0 + (-2.0 * value).exp());
    let [r, s, m] = [mean(2, 0), mean(2, 15), mean(3, 0)].map(probability);
    let by_hand = 2.0_f64.sqrt() * (4.0 * (s - r).abs() + 16.0 * (m - r).abs()) / 24.0;
    let found = task.turning_error(Split::Test, 1).unwrap().unwrap();
    assert!([found.rotation, found.reflection].iter().all(|of| (of - by_hand).abs() < 1e-6), "{found:?} {by_hand}");
    assert_eq!(defect(Sight::Half, 0), None);
}

/// `golden/medmnist_metrics.py` has them from scikit-learn.
#[test]
fn accuracy_auc_loss_and_confusion_are_those_of_scikit_learn() {
    let golden = Golden::open("medmnist_metrics");
    for case in ["two", "eleven", "ties"] {
        let (shape, logits) = golden.tensor(&format!("{case}.logits"));
        let truth = golden.tensor(&format!("{case}.truth")).1.iter().map(|&label| label as usize).collect();
        let scored = Scored::new(shape[1], logits, truth);
        for (name, found) in [("accuracy", scored.accuracy()), ("auc", scored.auc()), ("loss", scored.loss())] {
            let expected = golden.tensor(&format!("{case}.{name}")).1[0];
            assert!((found - expected).abs() < 1e-12, "{case} {name}: {found} {expected}");
        }
        let confusion: Vec<f64> = scored.confusion().into_iter().map(|count| count as f64).collect();
        assert_eq!(confusion, golden.tensor(&format!("{case}.confusion")).1, "{case}");
    }
}
