//! Trains the points of a target, each in a folder of its own; finished points are read from there.
//!
//! ```text
//! <folder of the target>/points/<id>/config.toml     the settings of its run
//!                                    checkpoints/    of a training that was stopped
//!                                    summary.json    metrics, curves, and where it was trained
//! ```

use std::path::PathBuf;

use reynolds_torch::tch::Device;

use super::point::{Frame, Kept, Point, PointSession, Trained};
use reynolds_train::environment::Environment;
use reynolds_train::error::Result;
use reynolds_train::interrupt::Interrupt;
use reynolds_train::point_folder::PointFolder;
use reynolds_train::progress::Observer;
use reynolds_train::{queue, threads};

/// The folders of points, and how missing ones are trained.
pub(crate) struct Store {
    pub(crate) folder: PathBuf,
    /// Recorded with every point trained from now on.
    pub(crate) environment: Environment,
    pub(crate) device: Device,
    /// Points trained in parallel.
    pub(crate) workers: usize,
}

impl Store {
    fn folder(&self, point: &dyn Point) -> PointFolder {
        let config = toml::to_string(&point.settings()).expect("settings are tables of plain values");
        PointFolder::new(self.folder.join(point.id()), config)
    }

    /// A point that was finished with these settings, if there is one.
    fn load(&self, point: &dyn Point) -> Result<Option<Kept>> {
        let folder = self.folder(point);
        if !folder.is_there() || folder.difference()?.is_some() {
            return Ok(None);
        }
        Ok(folder.summary()?.filter(|kept: &Kept| point.suffices(&kept.trained)))
    }

    /// Whether one of these points is not finished.
    pub(crate) fn misses(&self, points: &[Box<dyn Point>]) -> Result<bool> {
        points.iter().try_fold(false, |misses, point| Ok(misses || self.load(point.as_ref())?.is_none()))
    }

    /// Adds the results of these points to `frame`, which holds those of earlier phases; returns how many were trained now, `None` if
    /// interrupted.
    pub(crate) fn train_all(
        &self,
        points: &[Box<dyn Point>],
        frame: &mut Frame,
        observer: &mut dyn Observer,
        interrupt: &Interrupt,
    ) -> Result<Option<usize>> {
        let total = frame.len() + points.len();
        let mut missing = Vec::new();
        for (index, point) in points.iter().enumerate() {
            match self.load(point.as_ref())? {
                Some(kept) => frame.insert(point.as_ref(), kept),
                None => missing.push(index),
            }
        }
        let mut done = total - missing.len();
        observer.counting("models");
        observer.begin(done, total);
        let (together, alone): (Vec<usize>, Vec<usize>) = missing.iter().partition(|&&index| !points[index].alone());
        let train = |index: usize| {
            // One thread a point: sums are taken in one order however many workers there are.
            threads::set(1);
            let folder = self.folder(points[index].as_ref());
            folder.begin_anew()?;
            points[index].train(&PointSession { device: self.device, interrupt, folder: folder.path() })
        };
        let mut finished = |index: usize, trained: Option<Trained>| -> Result<()> {
            let (point, Some(trained)) = (points[index].as_ref(), trained) else { return Ok(()) };
            let kept = Kept { trained, environment: Some(self.environment.clone()) };
            self.folder(point).finish(&kept)?;
            frame.insert(point, kept);
            done += 1;
            observer.step(done, None);
            Ok(())
        };
        let result = queue::run_jobs(&together, self.workers, interrupt, &train, &mut finished)
            .and_then(|()| queue::run_jobs(&alone, 1, interrupt, &train, &mut finished));
        observer.end();
        result?;
        Ok((done == total).then_some(missing.len()))
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use reynolds::penalty::Form;

    use super::*;
    use crate::so2::{DiskAndArc, FigureSettings};
    use crate::targets::{Budget, boxed};
    use reynolds_train::progress::Silent;

    type Spec = crate::so2::Spec<DiskAndArc>;

    fn specs(count: u64, epochs: usize) -> Vec<Spec> {
        let mut settings = FigureSettings::of_budget(Budget::Quick);
        settings.run.train.epochs = epochs;
        (0..count).map(|seed| Spec::penalised(&settings, Form::Squared, 0.0, 0.1, seed)).collect()
    }

    fn store(folder: &Path, workers: usize) -> Store {
        let environment = Environment::now(Device::Cpu);
        Store { folder: folder.into(), environment, device: Device::Cpu, workers }
    }

    fn outcome(
        store: &Store,
        points: impl IntoIterator<Item = impl Point + 'static>,
    ) -> Result<Option<(Frame, usize)>> {
        let mut frame = Frame::default();
        let now = store.train_all(&boxed(points), &mut frame, &mut Silent, &Interrupt::new())?;
        Ok(now.map(|now| (frame, now)))
    }

    /// Results, and how many were trained now.
    fn trained(specs: &[Spec], workers: usize, folder: &Path) -> (Vec<Trained>, usize) {
        let (frame, now) = outcome(&store(folder, workers), specs.to_vec()).unwrap().unwrap();
        (frame.iter().map(|entry| entry.trained.clone()).collect(), now)
    }

    #[test]
    fn a_model_keeps_where_it_was_trained_and_an_old_file_does_not_say() {
        let folder = tempfile::tempdir().unwrap();
        let specs = specs(2, 3);
        let first = Environment { device: "cuda:7".into(), ..Environment::now(Device::Cpu) };
        let elsewhere = Store { environment: first.clone(), ..store(folder.path(), 1) };
        outcome(&elsewhere, specs.clone()).unwrap();
        let file = folder.path().join(format!("{}/summary.json", specs[1].id()));
        let mut kept: serde_json::Value = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
        kept.as_object_mut().unwrap().retain(|key, _| !["environment", "crc32c"].contains(&&**key));
        std::fs::write(&file, kept.to_string()).unwrap();
        let (frame, now) = outcome(&store(folder.path(), 1), specs.clone()).unwrap().unwrap();
        let environments: Vec<_> = frame.iter().map(|entry| entry.environment.clone()).collect();
        assert_eq!((environments, now), (vec![Some(first), None], 0));
        std::fs::write(&file, "{").unwrap();
        let error = outcome(&elsewhere, specs).unwrap_err().to_string();
        assert!(error.contains("summary.json: expected the summary of a run"), "{error}");
    }

    #[test]
    fn a_changed_digit_in_a_finished_model_is_noticed() {
        let folder = tempfile::tempdir().unwrap();
        let specs = specs(1, 2);
        let before = trained(&specs, 1, folder.path());
        let file = folder.path().join(format!("{}/summary.json", specs[0].id()));
        let whole = std::fs::read(&file).unwrap();
        let digits: Vec<usize> = (0..whole.len()).filter(|&at| whole[at].is_ascii_digit()).collect();
        // Digits all over it, and the last of the checksum.
        for at in digits.iter().copied().step_by(digits.len() / 20).chain(digits.last().copied()) {
            let mut bytes = whole.clone();
            bytes[at] ^= 1;
            std::fs::write(&file, bytes).unwrap();
            let error = outcome(&store(folder.path(), 1), specs.clone()).unwrap_err().to_string();
            assert!(error.contains("summary.json: expected the summary of a run"), "{at}: {error}");
        }
        std::fs::write(&file, whole).unwrap();
        assert_eq!(trained(&specs, 1, folder.path()), (before.0, 0));
    }

    #[test]
    fn the_number_of_workers_changes_nothing_and_finished_models_are_not_trained_again() {
        let (one, three) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let specs = |epochs| specs(5, epochs);
        let expected = trained(&specs(3), 1, one.path());
        assert_eq!(trained(&specs(3), 3, three.path()), expected);
        assert_eq!(trained(&specs(3), 2, one.path()), (expected.0.clone(), 0));
        std::fs::remove_file(one.path().join(format!("{}/summary.json", specs(3)[2].id()))).unwrap();
        assert_eq!(trained(&specs(3), 2, one.path()), (expected.0, 1));
        assert_eq!(trained(&specs(4), 2, one.path()).1, 5, "other settings are trained anew");
    }

    /// A model that notes how many are trained at the same time.
    struct Crowded(usize);

    /// Models under way, and finished ones.
    static CROWD: [AtomicUsize; 2] = [AtomicUsize::new(0), AtomicUsize::new(0)];

    impl Point for Crowded {
        fn id(&self) -> String {
            format!("model{}", self.0)
        }

        fn settings(&self) -> serde_json::Value {
            serde_json::json!({})
        }

        fn train(&self, _: &PointSession<'_>) -> Result<Option<Trained>> {
            let [active, done] = &CROWD;
            let before = done.load(Ordering::SeqCst) as f64;
            let mut most = active.fetch_add(1, Ordering::SeqCst) + 1;
            for _ in 0..50 {
                most = most.max(active.load(Ordering::SeqCst));
                std::thread::sleep(std::time::Duration::from_millis(1));
            }
            active.fetch_sub(1, Ordering::SeqCst);
            done.fetch_add(1, Ordering::SeqCst);
            Ok(Some(crate::targets::synthetic::trained([("most", most as f64), ("before", before)])))
        }

        fn alone(&self) -> bool {
            self.0.is_multiple_of(2)
        }
    }

    #[test]
    fn a_model_that_wants_to_be_alone_comes_after_the_others_and_has_no_neighbour() {
        let folder = tempfile::tempdir().unwrap();
        let (frame, _) = outcome(&store(folder.path(), 3), (0..6).map(Crowded)).unwrap().unwrap();
        let of = |metric: &str, numbers: [usize; 3]| numbers.map(|number| frame.get(&Crowded(number)).metric(metric));
        assert_eq!(of("most", [0, 2, 4]), [1.0; 3]);
        assert!(of("before", [0, 2, 4]).iter().all(|before| *before >= 3.0));
        assert!(of("most", [1, 3, 5]).iter().any(|most| *most > 1.0), "the others are trained together");
    }

    #[test]
    fn an_interrupt_leaves_what_is_finished() {
        let (folder, interrupt) = (tempfile::tempdir().unwrap(), Interrupt::new());
        interrupt.request();
        let (store, points) = (store(folder.path(), 2), boxed(specs(5, 3)));
        assert!(store.train_all(&points, &mut Frame::default(), &mut Silent, &interrupt).unwrap().is_none());
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    }
}
