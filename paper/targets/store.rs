//! What is finished of a target: a folder a point, read again by whoever goes on.
//!
//! ```text
//! <folder of the target>/points/<id>/config.toml     the settings of its run
//!                                    checkpoints/    what its training goes on from, if it was stopped
//!                                    summary.json    metrics, curves, and where it was trained
//! ```

use std::path::{Path, PathBuf};

use reynolds_torch::tch::Device;
use serde::{Deserialize, Serialize};

use super::point::{Point, PointSession, Trained};
use reynolds_train::environment::Environment;
use reynolds_train::error::Result;
use reynolds_train::interrupt::Interrupt;
use reynolds_train::point_folder::PointFolder;
use reynolds_train::progress::Observer;
use reynolds_train::{queue, threads};

/// A summary.json.
#[derive(Serialize, Deserialize)]
struct Kept {
    #[serde(flatten)]
    trained: Trained,
    /// Where it was trained.
    #[serde(default)]
    environment: Option<Environment>,
}

/// What came of points, in their order.
#[derive(Debug)]
pub(crate) struct Done {
    pub(crate) trained: Vec<Trained>,
    /// Where each was trained, if that is known.
    pub(crate) environments: Vec<Option<Environment>>,
    /// How many were trained now.
    pub(crate) now: usize,
}

/// Where finished points are kept.
pub(crate) struct Store {
    folder: PathBuf,
    /// What points are trained in from now on.
    environment: Environment,
}

impl Store {
    pub(crate) fn new(folder: &Path, environment: Environment) -> Self {
        Self { folder: folder.into(), environment }
    }

    fn folder(&self, point: &dyn Point) -> PointFolder {
        let config = toml::to_string(&point.settings()).expect("settings are tables of plain values");
        PointFolder::new(self.folder.join(point.id()), config)
    }

    /// A point that was finished with these settings, if there is one.
    fn load(&self, point: &dyn Point) -> Result<Option<(Trained, Option<Environment>)>> {
        let folder = self.folder(point);
        if !folder.is_there() || folder.difference()?.is_some() {
            return Ok(None);
        }
        let kept: Option<Kept> = folder.summary()?;
        Ok(kept.filter(|kept| point.suffices(&kept.trained)).map(|kept| (kept.trained, kept.environment)))
    }

    /// Whether a point was finished with these settings.
    pub(crate) fn has(&self, point: &dyn Point) -> Result<bool> {
        Ok(self.load(point)?.is_some())
    }

    /// Trains a point, from its last checkpoint if it has one.
    fn train(&self, point: &dyn Point, device: Device, interrupt: &Interrupt) -> Result<Option<Trained>> {
        let folder = self.folder(point);
        folder.begin_anew()?;
        point.train(&PointSession { device, interrupt, folder: folder.path() })
    }

    fn keep(&self, point: &dyn Point, trained: &Trained) -> Result<()> {
        let kept = Kept { trained: trained.clone(), environment: Some(self.environment.clone()) };
        self.folder(point).finish(&kept)
    }
}

/// What came of all points; `None` if someone interrupted. The observer is told of these and the `before` points of earlier phases.
pub(crate) fn train_all(
    points: &[Box<dyn Point>],
    before: usize,
    workers: usize,
    device: Device,
    store: &Store,
    observer: &mut dyn Observer,
    interrupt: &Interrupt,
) -> Result<Option<Done>> {
    let mut all: Vec<Option<(Trained, Option<Environment>)>> =
        points.iter().map(|point| store.load(point.as_ref())).collect::<Result<_>>()?;
    let missing: Vec<usize> = (0..points.len()).filter(|&index| all[index].is_none()).collect();
    let mut done = before + points.len() - missing.len();
    observer.counting("models");
    observer.begin(done, before + points.len());
    let (together, alone): (Vec<usize>, Vec<usize>) = missing.iter().partition(|&&index| !points[index].alone());
    let mut finished = |index: usize, trained: Option<Trained>| -> Result<()> {
        let Some(trained) = trained else { return Ok(()) };
        store.keep(points[index].as_ref(), &trained)?;
        all[index] = Some((trained, Some(store.environment.clone())));
        done += 1;
        observer.step(done, None);
        Ok(())
    };
    let train = |index: usize| {
        // One thread a point: sums are taken in one order however many workers there are.
        threads::set(1);
        store.train(points[index].as_ref(), device, interrupt)
    };
    let result = queue::in_turn(&together, workers, interrupt, &train, &mut finished)
        .and_then(|()| queue::in_turn(&alone, 1, interrupt, &train, &mut finished));
    observer.end();
    result?;
    Ok(all.into_iter().collect::<Option<Vec<_>>>().map(|all| {
        let (trained, environments) = all.into_iter().unzip();
        Done { trained, environments, now: missing.len() }
    }))
}

#[cfg(test)]
mod tests {
    use reynolds::penalty::Form;

    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;
    use crate::so2::{DiskAndArc, FigureSettings};
    use crate::targets::{Budget, boxed};
    use reynolds_train::progress::Silent;

    type Spec = crate::so2::Spec<DiskAndArc>;

    fn specs() -> Vec<Spec> {
        let mut settings = FigureSettings::of_budget(Budget::Quick);
        settings.run.train.epochs = 3;
        (0..5).map(|seed| Spec::penalised(&settings, Form::Squared, 0.0, 0.1, seed)).collect()
    }

    fn trained(specs: &[Spec], workers: usize, folder: &Path) -> (Vec<Trained>, usize) {
        let done = done(specs, workers, folder);
        (done.trained, done.now)
    }

    fn store(folder: &Path) -> Store {
        Store::new(folder, Environment::now(Device::Cpu))
    }

    fn done(specs: &[Spec], workers: usize, folder: &Path) -> Done {
        let models = boxed(specs.to_vec());
        train_all(&models, 0, workers, Device::Cpu, &store(folder), &mut Silent, &Interrupt::new()).unwrap().unwrap()
    }

    #[test]
    fn a_model_keeps_where_it_was_trained_and_an_old_file_does_not_say() {
        let folder = tempfile::tempdir().unwrap();
        let specs = &specs()[..2];
        let first = Environment { device: "cuda:7".into(), ..Environment::now(Device::Cpu) };
        let store = Store::new(folder.path(), first.clone());
        train_all(&boxed(specs.to_vec()), 0, 1, Device::Cpu, &store, &mut Silent, &Interrupt::new()).unwrap();
        let file = folder.path().join(format!("{}/summary.json", specs[1].id()));
        let mut kept: serde_json::Value = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
        kept.as_object_mut().unwrap().remove("environment").unwrap();
        std::fs::write(&file, kept.to_string()).unwrap();
        let again = done(specs, 1, folder.path());
        assert_eq!((again.environments, again.now), (vec![Some(first), None], 0));
    }

    #[test]
    fn the_number_of_workers_changes_nothing_and_finished_models_are_not_trained_again() {
        let (one, three) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let (specs, expected) = (specs(), trained(&specs(), 1, one.path()));
        assert_eq!(trained(&specs, 3, three.path()), expected);
        assert_eq!(trained(&specs, 2, one.path()), (expected.0.clone(), 0));
        std::fs::remove_file(one.path().join(format!("{}/summary.json", specs[2].id()))).unwrap();
        assert_eq!(trained(&specs, 2, one.path()), (expected.0.clone(), 1));
        let longer = |mut spec: Spec| {
            spec.run.train.epochs = 4;
            spec
        };
        let longer: Vec<Spec> = specs.iter().cloned().map(longer).collect();
        assert_eq!(trained(&longer, 2, one.path()).1, 5, "other settings are trained anew");
    }

    /// A model that notes how many are trained at the same time.
    struct Crowded<'a> {
        number: usize,
        alone: bool,
        /// Those under way, and those that are done.
        others: &'a [AtomicUsize; 2],
    }

    impl Point for Crowded<'_> {
        fn id(&self) -> String {
            format!("model{}", self.number)
        }

        fn settings(&self) -> serde_json::Value {
            serde_json::json!({})
        }

        fn train(&self, _: &PointSession<'_>) -> Result<Option<Trained>> {
            let [active, done] = self.others;
            let before = done.load(Ordering::SeqCst) as f64;
            let mut most = active.fetch_add(1, Ordering::SeqCst) + 1;
            for _ in 0..50 {
                most = most.max(active.load(Ordering::SeqCst));
                std::thread::sleep(std::time::Duration::from_millis(1));
            }
            active.fetch_sub(1, Ordering::SeqCst);
            done.fetch_add(1, Ordering::SeqCst);
            let metrics = [("most".to_string(), most as f64), ("before".to_string(), before)].into();
            Ok(Some(Trained { metrics, ..Trained::default() }))
        }

        fn alone(&self) -> bool {
            self.alone
        }
    }

    #[test]
    fn a_model_that_wants_to_be_alone_comes_after_the_others_and_has_no_neighbour() {
        static OTHERS: [AtomicUsize; 2] = [AtomicUsize::new(0), AtomicUsize::new(0)];
        let folder = tempfile::tempdir().unwrap();
        let models = boxed((0..6).map(|number| Crowded { number, alone: number % 2 == 0, others: &OTHERS }));
        let done = train_all(&models, 0, 3, Device::Cpu, &store(folder.path()), &mut Silent, &Interrupt::new());
        let trained = done.unwrap().unwrap().trained;
        let of = |metric: &str, first: usize| [0, 2, 4].map(|number| trained[first + number].metric(metric));
        assert_eq!(of("most", 0), [1.0; 3]);
        assert!(of("before", 0).iter().all(|before| *before >= 3.0));
        assert!(of("most", 1).iter().any(|most| *most > 1.0), "the others are trained together");
    }

    #[test]
    fn an_interrupt_leaves_what_is_finished() {
        let (folder, interrupt) = (tempfile::tempdir().unwrap(), Interrupt::new());
        interrupt.request();
        let store = store(folder.path());
        assert!(train_all(&boxed(specs()), 0, 2, Device::Cpu, &store, &mut Silent, &interrupt).unwrap().is_none());
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    }

    #[test]
    fn a_damaged_file_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let specs = specs();
        trained(&specs[..1], 1, folder.path());
        std::fs::write(folder.path().join(specs[0].id()).join("summary.json"), "{").unwrap();
        let store = store(folder.path());
        let error = train_all(&boxed(specs), 0, 1, Device::Cpu, &store, &mut Silent, &Interrupt::new()).unwrap_err();
        assert!(error.to_string().contains("summary.json: expected the summary of a run"), "{error}");
    }
}
